# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What an operator answered about a plan, with the signature as it came."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256

from safegen_ros.keys.authority import Command, signed_bytes
from safegen_ros.keys.key_pair import PublicKey


@dataclass(frozen=True, slots=True)
class ApprovalRecord:
    """An answer of an operator about a plan.

    Attributes:
        approved: whether the plan may be executed.
        digest: of task, plan and site rules, see `PendingPlan.msg`.
        stack: the ROS domain and namespace in which the answer counts, such as `0/cell1`.
        public: the operator's key in the operators file then; empty without keys.
        nonce: that was signed.
        time: of the signature, since the epoch [ns].
        signature: hexadecimal; empty without keys.
        about: JSON text whose SHA-256 is the digest, as `looked_at` makes it; empty in records of
            an earlier version.
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
    about: str = ''

    def fits(self, plans: Collection[tuple[str, ...]]) -> bool:
        """Whether the digest is that of steps of one of the plans, computed from the record."""
        if not self.about:
            return True
        try:
            steps = tuple(map(_step_text, json.loads(self.about)[3]))
        except (ValueError, LookupError, TypeError):
            return False
        same = sha256(self.about.encode()).hexdigest() == self.digest
        return same and any(
            steps == plan[first : first + len(steps)]
            for plan in plans
            for first in range(len(plan) + 1)
        )

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

    def in_words(self, plans: Collection[tuple[str, ...]]) -> str:
        """The answer for a person; `plans` are those of the record."""
        if not self.fits(plans):
            return f'answer of {self.by}, but the DIGEST IS NOT THAT OF A RECORDED PLAN'
        said = f'{"approved" if self.approved else "refused"} by {self.by}'
        if self.verified is None:
            return f'{said}, not signed'
        if not self.verified:
            return f'{said}, but the SIGNATURE IS WRONG'
        return f'{said}, signed by {PublicKey(self.public).fingerprint}'


def looked_at(
    domain: str, problem: str, form: str, steps: Sequence[object], request: str, site: str
) -> str:
    """The text whose SHA-256 is the digest by which a plan is approved.

    Args:
        domain: text of the task's domain, or its name.
        steps: each as a list of action, arguments, and such lists for the actions beside it.
        request: in plain words, of which a model made the task; empty where it was sent as it is.
        site: digest of the site file; empty: none.
    """
    return json.dumps([domain, problem, form, steps, request, site])


def _step_text(step: list[str | list[str]]) -> str:
    """A step of such a text as a record has it."""
    words = [each for each in step if isinstance(each, str)]
    beside = [each for each in step if isinstance(each, list)]
    return ' '.join(f'({" ".join(each)})' for each in (words, *beside))


_DOUBT, _REQUEST = 'In doubt: ', '\nRequest: '


def shown_request(text: str, doubts: str) -> str:
    """A request as an operator sees it, with the doubts about its reading, if there are any."""
    return f'{_DOUBT}{"; ".join(doubts.splitlines())}.{_REQUEST}{text}' if doubts else text


def doubts_and_request(shown: str) -> tuple[str, str]:
    """The two parts of `shown_request`; the doubts, if there are any, are its first line."""
    doubts, between, text = shown.partition(_REQUEST)
    return (doubts, text) if between and doubts.startswith(_DOUBT) else ('', shown)
