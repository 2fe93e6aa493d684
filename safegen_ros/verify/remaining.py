# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The remaining trajectory constraints after some states, as constraints of PDDL3 again.

The ten operators are closed under progression: what a constraint still asks of the states to come
can be said with the same operators, since none of them can stand inside another. `(within 5 f)` is
`(within 2 f)` three steps later, an `at-most-once f` whose interval is over is `(always (not f))`,
a debt is a separate `sometime` or `within`. So the rest of a task is a task. A plan solves it if
and only if it solves the whole after the executed steps, and any planner can plan it, a model that
reads PDDL included.
"""

from __future__ import annotations

from dataclasses import replace

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.deciding import without_wishes
from safegen_ros.pddl.model import Constraint, Not, Problem, State
from safegen_ros.pddl.writer import constraint_text, timed_text
from safegen_ros.verify.monitors import ConstraintMonitor, MonitorSet, Standing, Status

OBLIGATIONS = frozenset(('sometime', 'sometime-after', 'at end'))
"""What no state can break: a plan that is not at its end yet need not have done it."""


def tied_to_clock(problem: Problem) -> str:
    """Why no other plan may go on in the middle of a run; empty where one may.

    A plan is proved on a clock that starts with it. How long planning takes is not known before.
    """
    timed = [constraint_text(each) for each in problem.constraints if each.exact and not each.times]
    timed += map(timed_text, problem.timed)
    if not timed:
        return ''
    return f'no other plan may go on, since {timed[0]} counts seconds from the start of the run'


def refuse_clocked(problem: Problem) -> None:
    """Raises `SafegenError` where no other plan may go on in the middle of a run."""
    if clocked := tied_to_clock(problem):
        raise SafegenError(f'{clocked}: run the whole plan', ErrorCode.UNSUPPORTED_FEATURE)


def remaining_problem(
    problem: Problem, monitors: MonitorSet, standing: Standing, state: State, time: int
) -> Problem:
    """The rest of a problem: from a state on, with its remaining constraints.

    Preferences are about the whole plan, and are left out.

    Args:
        time: the number of steps that led there.

    Raises:
        ValueError: a constraint is violated, so that nothing can be asked any more.
        SafegenError: something in it counts seconds.
    """
    domain = problem.domain
    refuse_clocked(problem)
    if domain.constraint_tree is not None:  # its constraints are among those that are progressed
        domain = replace(domain, constraint_tree=None)
    constraints = remaining_constraints(monitors, standing, time)
    whole = without_wishes(replace(problem, domain=domain, constraints=constraints))
    return replace(whole, init=state)


def remaining_constraints(
    monitors: MonitorSet, standing: Standing, time: int
) -> tuple[Constraint, ...]:
    """What constraints still ask of the states from the present one on, which is s0 for them.

    Args:
        time: the number of steps that led there.

    Raises:
        ValueError: a constraint is violated.
    """
    found: list[Constraint] = []
    for monitor in monitors.monitors:
        if monitor.status(standing) is Status.VIOLATED:
            raise ValueError(f'nothing remains of a broken constraint: {monitor.explain()}')
        value = (standing >> monitor.shift) & monitor.limit
        found += _remaining(monitor, value, time)
    return tuple(dict.fromkeys(found))


def _remaining(monitor: ConstraintMonitor, value: int, time: int) -> list[Constraint]:
    """See `monitors` for the meaning of the values of each automaton."""
    own = monitor.constraint
    operator, first, last = own.operator, own.arguments[0], own.arguments[-1]
    if operator in ('sometime', 'within', 'sometime-before') and value == 1:
        return []
    if operator == 'within':
        return [replace(own, times=(own.times[0] - time,))]
    if operator == 'at-most-once' and value == 2:
        return [replace(own, operator='always', arguments=(Not(first),))]
    if operator == 'sometime-after' and value == 1:
        return [own, replace(own, operator='sometime', arguments=(last,))]
    if operator == 'always-within' and value:
        left = own.times[0] - (value - 1)
        return [own, replace(own, operator='within', arguments=(last,), times=(left,))]
    if operator in ('hold-during', 'hold-after'):
        times = tuple(max(0, each - time) for each in own.times)
        over = operator == 'hold-during' and not times[1]
        return [] if over else [replace(own, times=times)]
    return [own]
