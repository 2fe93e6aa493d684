# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How much of a verdict a model is told when it is asked again."""

from __future__ import annotations

from collections.abc import Callable

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.verdict import Verdict

FEEDBACK: dict[str, Callable[[Verdict], Verdict]] = {
    'binary': lambda verdict: Verdict(),
    'category': lambda verdict: Verdict(verdict.category),
    'diagnosis': lambda verdict: verdict,
}
"""How much of a verdict a model is shown: that the plan was refused, of what kind its failure is,
or which step fails and why. A prompt style leaves out what it has no words for."""

DIAGNOSIS = 'diagnosis'


def feedback_named(name: str) -> Callable[[Verdict], Verdict]:
    """What a kind of feedback leaves of a verdict.

    Raises:
        SafegenError: there is no such kind (`UNKNOWN_STRATEGY`).
    """
    if name not in FEEDBACK:
        raise SafegenError(
            f'feedback {name[:40]!a} is not known: use one of {" ".join(FEEDBACK)}',
            ErrorCode.UNKNOWN_STRATEGY,
        )
    return FEEDBACK[name]
