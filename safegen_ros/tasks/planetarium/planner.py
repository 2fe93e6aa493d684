# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans for the three domains without search, and plans that distinguish two goals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from safegen_ros.errors import SafegenError
from safegen_ros.pddl.formulas import substitute
from safegen_ros.pddl.model import And, Formula, Not, Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.search.budget import Budget, SearchLimit, Unsolvable
from safegen_ros.search.in_process import solve_in_process
from safegen_ros.search.solve import MEMORY_LIMIT_MB, solve
from safegen_ros.tasks.planetarium.domains import rules_for
from safegen_ros.tasks.planetarium.generic import NOT, as_formula, literals_of
from safegen_ros.tasks.planetarium.graphs import Bijection
from safegen_ros.tasks.planetarium.pair import ProblemPair
from safegen_ros.tasks.planetarium.state_rules import StripsTask
from safegen_ros.verify.validator import verify


def find_plan(
    problem: Problem, time_limit_s: float = 60.0, cancelled: Callable[[], bool] = lambda: False
) -> Plan:
    """A plan that the validator accepts: by the rules of the domain, else by search.

    Plans by rules are found in milliseconds and are not the shortest ones. They know nothing of
    trajectory constraints, so a problem with constraints is searched unless its plan keeps them.

    Raises:
        Unsolvable: there is none.
        SearchLimit: time or memory of the search ran out.
        Canceled: `cancelled` said so.
    """
    task = StripsTask.of(problem)
    rules = None if task is None else rules_for(problem.domain, task)
    if rules is not None:
        state = rules.goal_state()
        if state is None:
            raise Unsolvable(
                f'problem {problem.name} has no plan, for no state that can be reached satisfies '
                'its goal: change the goal'
            )
        plan = Plan(rules.steps_to(state))
        verdict = verify(problem, plan)
        if verdict.ok:
            return plan
        if not problem.constraints:
            raise _unproved(verdict.reason)
    return solve(problem, time_limit_s=time_limit_s, cancelled=cancelled).plan


@dataclass(frozen=True)
class Witness:
    """A state that satisfies one goal and not the other, and how it is reached.

    Attributes:
        plan: leads there from the initial state; the validator has followed it.
        problem: the problem whose objects the plan names and whose goal is satisfied.
        other_goal: what the other problem asks for and is not satisfied, with the same objects.
    """

    plan: Plan
    problem: Problem
    other_goal: Formula


def find_witness(
    one: Problem, other: Problem, names: Bijection, time_limit_s: float = 10.0
) -> Witness | None:
    """A plan to a state that satisfies the goal of one problem and not that of the other.

    Args:
        other: another one of the same domain.
        names: the objects of the first with those of the second that stand for them; it must map
            the initial states onto each other.
        time_limit_s: wall-clock limit [s].

    Returns:
        A witness that refutes this bijection; None when there is none, or none was found in time.
    """
    pair = ProblemPair(one, other, Budget(time_limit_s, MEMORY_LIMIT_MB))
    back = {second: first for first, second in names.items()}
    for place, goal in ((1, substitute(one.goal, names)), (0, substitute(other.goal, back))):
        problem = replace(pair.problems[place], constraints=())
        for part in _parts(goal):
            wanted = And((problem.goal, Not(part)))
            try:
                plan = _plan_without(pair, place, replace(problem, goal=wanted), part)
            except (Unsolvable, SearchLimit):
                continue
            verdict = verify(replace(problem, goal=wanted), plan)
            if not verdict.ok:
                raise _unproved(verdict.reason)
            return Witness(plan, pair.problems[place], part)
    return None


def _plan_without(pair: ProblemPair, place: int, wanted: Problem, part: Formula) -> Plan:
    """A plan for one goal that leaves a part of the other open; raises as `solve_in_process`."""
    rules = pair.rules[place]
    literals = literals_of(part)
    if rules is None or literals is None or any(each[0].startswith(NOT) for each in literals):
        return solve_in_process(wanted, pair.budget).plan
    (atom,) = literals
    state = rules.goal_state(without=atom)
    if state is None:
        raise Unsolvable('every goal state has the atom')
    return Plan(rules.steps_to(state))


def _parts(goal: Formula) -> Iterator[Formula]:
    """The literals of a goal one by one; a goal with other parts as a whole."""
    literals = literals_of(goal)
    if literals is None:
        yield goal
    else:
        yield from map(as_formula, sorted(literals))


def _unproved(reason: str) -> SafegenError:
    return SafegenError(f'the rules of the domain made a plan that does not verify: {reason}')
