# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where each constraint and the goal stand in every state of a plan, as a row of lights.

The automata are those of `verify.monitors`, which the verdict and the run-time monitor come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from safegen_ros.language.english import constraint_sentence, formula_words
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.ground import Grounder, goal_tests
from safegen_ros.pddl.model import Problem, State
from safegen_ros.pddl.plan import Step
from safegen_ros.pddl.writer import constraint_text, formula_text
from safegen_ros.record.present.html import part
from safegen_ros.verify.monitors import MonitorSet, Status

RULE, GOAL = 'rule', 'goal'

MOST_LIGHTS = 30
"""Most constraints that are drawn; those that are not kept come before the others then."""

WORDS = {Status.SATISFIED: 'kept', Status.PENDING: 'still open', Status.VIOLATED: 'broken'}
"""What a light says."""

_GOAL_WORDS = {Status.SATISFIED: 'reached', Status.PENDING: 'not reached yet'}


@dataclass(frozen=True, slots=True)
class Light:
    """A constraint, or the goal, over the states of a plan.

    Attributes:
        kind: `RULE` or `GOAL`.
        formula: PDDL.
        plain: the same in words.
        standings: where it stands in s0 and after each step; the goal is satisfied or pending.
    """

    kind: str
    formula: str
    plain: str
    standings: tuple[Status, ...]


def trajectory(problem: Problem, steps: Sequence[Step]) -> tuple[State, ...]:
    """s0 and the state after each step, up to the first step that does not apply."""
    table = AtomTable(problem, fold_static=False)
    grounder = Grounder(problem, table)
    bits = table.encode(problem.init)
    found = [problem.init]
    for step in steps:
        try:
            action = grounder.action(step)
        except (KeyError, ValueError):
            break
        if not action.applicable(bits):
            break
        bits = action.apply(bits)
        found.append(table.decode(bits))
    return tuple(found)


def lights(problem: Problem, steps: Sequence[Step]) -> tuple[Light, ...]:
    """A light for each constraint and, as the last one, for the goal, as far as the steps apply."""
    return lights_observed(problem, trajectory(problem, steps))


def lights_observed(problem: Problem, states: Sequence[State]) -> tuple[Light, ...]:
    """The same for states that were observed; the first one is the initial state.

    There are no lights where something changes over time, and none for a rule with a deadline in
    seconds: steps alone do not show it.
    """
    if problem.timed:
        return ()
    table = AtomTable(problem, fold_static=False)
    monitors = MonitorSet(problem, table)
    goals = goal_tests(problem, table)
    rows: list[list[Status]] = [[] for _ in monitors.monitors]
    reached: list[Status] = []
    standing = 0
    for index, state in enumerate(states):
        bits = table.encode(state)
        standing = monitors.progress(standing, bits) if index else monitors.start(bits)
        for row, monitor in zip(rows, monitors.monitors, strict=True):
            row.append(monitor.status(standing))
        met = all(test(bits) for _, test in goals)
        reached.append(Status.SATISFIED if met else Status.PENDING)
    found = [
        Light(
            RULE,
            constraint_text(monitor.constraint),
            constraint_sentence(monitor.constraint, problem),
            tuple(row),
        )
        for row, monitor in zip(rows, monitors.monitors, strict=True)
        if monitor.constraint in problem.constraints  # and not wider, see `flatten.sequential`
    ]
    wanted = problem.goal_conjuncts()
    goal = formula_words(wanted[0] if len(wanted) == 1 else problem.goal, problem)
    return (*found, Light(GOAL, formula_text(problem.goal), goal, tuple(reached)))


def light_words(
    light: Light, now: int | None = None, ended: bool = False, planned: bool = False
) -> str:
    """What a light says in a few words.

    Args:
        now: index of the state that is the present; None for the last one.
        ended: whether no step comes any more, so that what is open stays so.
        planned: whether they are the states of a plan, perhaps never executed.
    """
    by = ' by this plan' if planned and ended else ''
    shown = light.standings if now is None else light.standings[: now + 1]
    if not shown:
        return 'not looked at yet'
    if light.kind == GOAL:
        if ended and shown[-1] is Status.PENDING:
            return f'not reached{by}'
        return f'{_GOAL_WORDS[shown[-1]]}{by}'
    if Status.VIOLATED in shown:
        return f'broken {_moment(shown.index(Status.VIOLATED))}'
    if shown[-1] is Status.PENDING:
        return 'not kept by the end' if ended else WORDS[Status.PENDING]
    return f'kept{by}' if ended else 'kept so far'


def _moment(index: int) -> str:
    return f'by step {index}' if index else 'at the start'


def lights_html(
    shown: Sequence[Light],
    now: int | None = None,
    fail: int | None = None,
    ended: bool = False,
    planned: bool = False,
) -> str:
    """The lights as figures, each with its words and a row of signs.

    Args:
        shown: what `lights` returned.
        now: index of the state that is the present, after which all is foreseen; None for the end,
            or for the state in which a plan fails.
        fail: index of the state in which a plan fails; None where it does not.
        ended: whether no step comes any more.
        planned: whether they are the states of a plan, perhaps never executed.
    """
    if not shown:
        return ''
    now = fail if now is None else now
    drawn = [
        {
            'title': 'Goal' if light.kind == GOAL else f'Rule {number}',
            'state': light_words(light, now, ended, planned),
            'plain': light.plain,
            'spoken': _spoken(light),
            'standings': [status.name for status in light.standings],
        }
        for number, light in _drawn(shown)
    ]
    return part('lights', drawn, len(shown) - len(drawn), now, fail)


def _drawn(shown: Sequence[Light]) -> list[tuple[int, Light]]:
    """The lights that there is room for, with their numbers from 1."""
    numbered = list(enumerate(shown, 1))
    if len(numbered) <= MOST_LIGHTS:
        return numbered

    def rank(pair: tuple[int, Light]) -> int:
        light = pair[1]
        if light.kind == GOAL or Status.VIOLATED in light.standings:
            return 0
        return 1 if light.standings[-1:] == (Status.PENDING,) else 2

    return sorted(sorted(numbered, key=rank)[:MOST_LIGHTS])


def legend_html() -> str:
    """What the signs mean."""
    return part('legend', [(status.name, WORDS[status]) for status in Status])


def _spoken(light: Light) -> str:
    """The whole row in words."""
    words = _GOAL_WORDS if light.kind == GOAL else WORDS
    told = []
    for status, members in groupby(enumerate(light.standings), key=lambda pair: pair[1]):
        indices = [index for index, _ in members]
        first, last = indices[0], indices[-1]
        begin = f'step {first}' if first else 'start'
        when = begin if first == last else f'{begin} to step {last}'
        told.append(f'{when}: {words[status]}')
    return '; '.join(told)
