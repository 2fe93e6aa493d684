# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans whose actions overlap in time, as a sequence: what happens at one moment is one step.

Such a step is `(at 5.001) (end move r1 a b [5]) (start move r2 c d [5])`: its time since the
beginning of the plan [s], then the actions that end or start there, each with its duration, and
those that take no time, `(do close d)`, and the timed initial literals, `(becomes open d)` and
`(ceases open d)`. So a node that hands plans on need not know of times.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import TimedLiteral
from safegen_ros.pddl.plan import Plan, Step

AT, START, END, DO = 'at', 'start', 'end', 'do'
BECOMES, CEASES = 'becomes', 'ceases'

LITERALS = (BECOMES, CEASES)
"""An event of no action: it happens at its time."""

_SLACK = Decimal('0.002')
"""By how much a step may start after the end of the one before, and still follow it [s]."""

_NUMBER = re.compile(r'\d{1,20}(?:\.\d{1,20})?', re.ASCII)
_DURATION = re.compile(rf'\[({_NUMBER.pattern})\]', re.ASCII)


class Happening(NamedTuple):
    """The start or the end of an action, one that takes no time, or a literal.

    Attributes:
        kind: `START`, `END`, `DO`, `BECOMES` or `CEASES`.
        step: the action; the atom of a literal.
        duration: how long the action takes [s]; 0 for one that takes no time.
    """

    kind: str
    step: Step
    duration: Decimal


class PlanMoment(NamedTuple):
    """What happens at once.

    Attributes:
        time: since the beginning of the plan [s].
        happenings: in the order of the plan, the ends first.
    """

    time: Decimal
    happenings: tuple[Happening, ...]


def steps_of_plan(
    plan: Plan, literals: Sequence[TimedLiteral] = ()
) -> tuple[tuple[Step, ...], ...]:
    """A plan as steps one after the other: its actions, or its moments where it needs its times.

    It needs them where actions overlap, or wait for longer than to be apart, and where there are
    timed initial literals. Those after the end of the plan are not waited for.

    Args:
        plan: with times, where there are literals.
        literals: of the problem, in the order of their times.
    """
    if follows(plan) and not literals:
        return tuple((step,) for step in plan.steps)
    found: dict[Decimal, list[Happening]] = {}
    last = max((start + duration for start, duration in plan.times), default=Decimal(0))
    for each in literals:
        if each.time <= last:
            kind = BECOMES if each.value else CEASES
            happening = Happening(kind, Step(each.atom[0], each.atom[1:]), Decimal(0))
            found.setdefault(each.time, []).append(happening)
    starts: list[tuple[Decimal, Happening]] = []
    for step, (start, duration) in zip(plan.steps, plan.times, strict=True):
        if duration:
            found.setdefault(start + duration, []).append(Happening(END, step, duration))
        starts.append((start, Happening(START if duration else DO, step, duration)))
    for time, happening in starts:
        found.setdefault(time, []).append(happening)
    return tuple(_written(PlanMoment(time, tuple(found[time]))) for time in sorted(found))


def follows(plan: Plan) -> bool:
    """Whether the steps of a plan follow each other, without a wait."""
    before = Decimal(0)
    for start, duration in plan.times:
        if not before <= start <= before + _SLACK:
            return False
        before = start + duration
    return True


def plan_of_steps(steps: Sequence[Sequence[Step]]) -> Plan:
    """The plan of steps, whichever way `steps_of_plan` has taken.

    Raises:
        SafegenError: a step is neither one action nor a moment, or something ends that has not
            started then (`PLAN_REFUSED`).
    """
    if not any(map(is_moment, steps)):
        for number, step in enumerate(steps, 1):
            if len(step) != 1:
                raise _refused(
                    f'step {number} has {len(step)} actions, and a PDDL task has one robot: give '
                    'it one'
                )
        return Plan(tuple(action for (action,) in steps))
    actions: list[Step] = []
    times: list[tuple[Decimal, Decimal]] = []
    running: set[tuple[Decimal, Happening]] = set()
    last = Decimal(-1)
    for number, step in enumerate(steps, 1):
        moment = moment_of(step)
        if moment is None or moment.time <= last:
            raise _refused(
                f'step {number} is not a later moment of a plan with times: send moments in their '
                'order, each as one step'
            )
        last = moment.time
        for happening in moment.happenings:
            if happening.kind in LITERALS:
                continue
            started = last - happening.duration, happening._replace(kind=START)
            if happening.kind == END:
                if started not in running:
                    raise _refused(f'step {number} ends {happening.step}, which does not run then')
                running.remove(started)
                continue
            if happening.kind == START:
                begun = last, happening
                if begun in running:
                    raise _refused(f'step {number} starts {happening.step} twice')
                running.add(begun)
            actions.append(happening.step)
            times.append((last, happening.duration))
    if running:
        _, happening = min(running)
        raise _refused(f'{happening.step} is started and never ended: send its end, too')
    return Plan(tuple(actions), tuple(times))


def is_moment(step: Sequence[Step]) -> bool:
    """Whether a step is written as a moment: no action has a time for its object."""
    return len(step) > 1 and step[0].action == AT and len(step[0].arguments) == 1


def moment_of(step: Sequence[Step]) -> PlanMoment | None:
    """The moment that a step is; None for any other step."""
    if not is_moment(step) or not _NUMBER.fullmatch(step[0].arguments[0]):
        return None
    happenings = []
    for kind, words in step[1:]:
        timed = kind in (START, END)
        found = _DURATION.fullmatch(words[-1]) if timed and len(words) > 1 else None
        if kind not in (START, END, DO, *LITERALS) or not words or timed is not (found is not None):
            return None
        duration = Decimal(found[1]) if found else Decimal(0)
        if timed and not duration:
            return None
        name, *arguments = words[:-1] if timed else words
        happenings.append(Happening(kind, Step(name, tuple(arguments)), duration))
    return PlanMoment(Decimal(step[0].arguments[0]), tuple(happenings))


def _written(moment: PlanMoment) -> tuple[Step, ...]:
    found = [Step(AT, (_plain(moment.time),))]
    for kind, step, duration in moment.happenings:
        lasting = (f'[{_plain(duration)}]',) if kind in (START, END) else ()
        found.append(Step(kind, (step.action, *step.arguments, *lasting)))
    return tuple(found)


def _plain(time: Decimal) -> str:
    """A time without an exponent or closing zeros."""
    return f'{time.normalize() + 0:f}'


def _refused(message: str) -> SafegenError:
    return SafegenError(message, ErrorCode.PLAN_REFUSED)
