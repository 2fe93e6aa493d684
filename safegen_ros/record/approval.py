# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What an operator answered about a plan, with the signature as it came."""

from __future__ import annotations

from dataclasses import dataclass

from safegen_ros.keys.authority import Command, signed_bytes
from safegen_ros.keys.key_pair import PublicKey


@dataclass(frozen=True, slots=True)
class ApprovalRecord:
    """An answer of an operator about a plan.

    Attributes:
        approved: whether the plan may be executed.
        digest: of task, plan and site rules, see `PendingPlan.msg`.
        by: who answered.
        reason: why.
        stack: the ROS domain and namespace in which the answer counts, such as `0/cell1`.
        public: the operator's key in the operators file then; empty without keys.
        nonce: that was signed.
        time: of the signature, since the epoch [ns].
        signature: hexadecimal; empty without keys.
    """

    approved: bool
    digest: str
    by: str
    reason: str
    stack: str
    public: str = ''
    nonce: str = ''
    time: int = 0
    signature: str = ''

    @property
    def verified(self) -> bool | None:
        """Whether the signature is one of the key over just this answer; None without one."""
        if not self.signature:
            return None
        name = 'approve' if self.approved else 'refuse'
        command = Command(self.stack, name, self.digest, self.reason)
        try:
            value = bytes.fromhex(self.signature)
            signed = signed_bytes(command, self.by, self.nonce, self.time)
            return PublicKey(self.public).verifies(signed, value)
        except ValueError:
            return False

    def in_words(self) -> str:
        """The answer for a person."""
        said = f'{"approved" if self.approved else "refused"} by {self.by}'
        if self.verified is None:
            return f'{said}, not signed'
        if not self.verified:
            return f'{said}, but the SIGNATURE IS WRONG'
        return f'{said}, signed by {PublicKey(self.public).fingerprint}'
