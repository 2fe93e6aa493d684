# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a goal may ask of the planning loop: levels in order, and how much of a verdict is shown.

It imports no planner, so that a command line can list the levels at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.planning.loop import MODEL, SEARCH
from safegen_ros.verdict import Verdict

HIERARCHY, SHIELD = 'hierarchy', 'shield'

LEVELS = {
    MODEL: 'the model, again and again, told what was wrong with its last plan',
    'best of N': 'N answers of the model to the same question, until one is proved',
    'repair': 'the valid beginning of a refused plan, whose end the model writes again',
    SHIELD: 'the model, kept from every step that is not admissible',
    'beam N': "a search over admissible steps that follows the model's N most likely plans",
    'backtracking N': 'beam N, with leave to go back to plans that it had left',
    'beam': 'beam 2, beam 4, beam 8, backtracking 8',
    HIERARCHY: 'the model, asked for one part of the task after the other',
    SEARCH: 'the search planner, which knows no model',
}
"""The levels with their proposers; N is a number from 1 to 64."""

DEFAULT = f'{MODEL}, beam, {HIERARCHY}, {SEARCH}'

BEAMS = ('beam 2', 'beam 4', 'beam 8')
"""What comes first in the level `beam`, and all that a part of a divided task is tried with."""

_BEAM = (*BEAMS, 'backtracking 8')

MOST = 64

_NAME = re.compile(
    r'model|repair|shield|hierarchy|search|beam|(?:best of|beam|backtracking) ([1-9][0-9]?)',
    re.ASCII,
)


def level_names(strategy: str) -> tuple[str, ...]:
    """The levels that a strategy names, separated by commas, with `beam` written out.

    Raises:
        SafegenError: it names none, or one that there is not (`UNKNOWN_STRATEGY`).
    """
    found: list[str] = []
    for part in strategy.split(','):
        name = ' '.join(part.split())
        match = _NAME.fullmatch(name)
        if match is None or int(match[1] or 1) > MOST:
            raise SafegenError(
                f'strategy {strategy[:80]!a}: {name[:40]!a} is not a planner: name one or more of '
                f'{", ".join(LEVELS)} with commas between them, N from 1 to {MOST}',
                ErrorCode.UNKNOWN_STRATEGY,
            )
        found += _BEAM if name == 'beam' else [name]
    return tuple(found)


FEEDBACK: dict[str, Callable[[Verdict], Verdict]] = {
    'binary': lambda verdict: Verdict(),
    'category': lambda verdict: Verdict(verdict.category),
    'diagnosis': lambda verdict: verdict,
}
"""How much of a verdict a model is shown: that the plan was refused, the kind of its failure, or
the failing step and the reason. A prompt style leaves out parts that it has no words for.
"""

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
