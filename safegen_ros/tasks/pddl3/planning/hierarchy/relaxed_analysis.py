# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A problem seen through its relaxation: how far its goal is, and what matters for a part of it.

Whether a task is complex is measured, so that the answer has a reason and is the same each time;
SafePilot (arXiv 2603.21523) asks a language model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import inf

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.bits import AtomTable, Condition, Literals, single_bits
from safegen_ros.pddl.deciding import state_functions
from safegen_ros.pddl.ground import goal_tests
from safegen_ros.pddl.model import Problem, State
from safegen_ros.search.budget import Budget, SearchLimit, Unsolvable
from safegen_ros.search.heuristic import RelaxedPlanner
from safegen_ros.search.relaxation import Consumables, Relaxation
from safegen_ros.search.solve import MEMORY_LIMIT_MB
from safegen_ros.search.task import SearchTask
from safegen_ros.verify.monitors import Standing


class RelaxedAnalysis:
    """The relaxed task of one problem, asked from any moment of a plan for it.

    Args:
        budget: asked while this is built and whenever it answers.

    Raises:
        SearchLimit: the budget is used up; every method raises this, too.
        Canceled: the caller wants to stop; likewise.
        Unsolvable: the initial state breaks a constraint.
    """

    def __init__(self, problem: Problem, budget: Budget) -> None:
        self.task = SearchTask(problem, budget)
        self._problem = problem
        self._relaxation = Relaxation(self.task, budget)
        supplies = Consumables(self.task, self._relaxation)
        self._planner = RelaxedPlanner(self._relaxation, supplies, budget)

    def steps(self, state: State, standing: Standing) -> int | None:
        """The length of a relaxed plan from a moment to the goal; None when there is none.

        Args:
            standing: where the constraints stand then, as a `MonitorSet` of the problem has it.
        """
        estimate = self._planner.estimate(self._facts(state, standing))
        return None if estimate is None else estimate.length

    def objects(
        self, state: State, standing: Standing, wanted: Iterable[Condition] | None
    ) -> frozenset[str] | None:
        """The objects in the steps of a relaxed plan from a moment to some conditions.

        Args:
            wanted: conditions over the atoms of `task`, parts of its goal or of a constraint; None
                for all of them. Where one is not a conjunction of literals, all of them are meant.

        Returns:
            None when not all of them can be reached, whether wanted or not.
        """
        mask = self._relaxation.goal if wanted is None else 0
        for each in wanted or ():
            if isinstance(each, Literals) and each.conjunctive:
                mask |= self._relaxation.facts_of(each)
            else:
                mask |= self._relaxation.goal
        actions = self._planner.actions(self._facts(state, standing), mask)
        if actions is None:
            return None
        steps = (self.task.actions[number].step for number in actions)
        return frozenset(name for step in steps for name in step.arguments)

    def resource_goals(self, goals: int) -> list[list[int]]:
        """What has to be at hand before goals are reached that use something up.

        Where every action that reaches some goals uses up something that none makes, as a spanner
        is that tightens one nut, such goals may shut each other out: the first one may take the
        supplies of the others. What an action needs besides its supply is what has to be at hand.

        Returns:
            Bits of atoms that do not hold at the start, the nearest first: with a supply for each
            goal, the nearest ones, then with all that there are. Empty where not at least two goals
            use something up.
        """
        task, now = self.task, self.task.init
        facts = self._facts(self._problem.init, task.start)
        made = 0
        for action in task.actions:
            made |= action.add
            for _, more, _ in action.conditional:
                made |= more
        costs: dict[int, float] = {}

        def cost(atoms: int) -> float:
            for atom in single_bits(atoms):
                if atom not in costs:  # none of them holds, so that no action means no way
                    costs[atom] = len(self._planner.actions(facts, atom) or ()) or inf
            return sum(costs[atom] for atom in single_bits(atoms))

        ways = {
            goal: [
                (action.want & ~now, action.want & action.delete & ~made)
                for number, action in enumerate(task.actions)
                if action.add & goal and number not in self._relaxation.impossible
            ]
            for goal in single_bits(goals & ~now)
        }
        seen = shared = 0
        for of_goal in ways.values():
            own = 0
            for _, supply in of_goal:
                own |= supply
            seen, shared = seen | own, shared | seen & own
        chosen: dict[int, int] = {}  # the needs of each supply that a goal was given
        known: dict[int, int] = {}  # likewise for all supplies
        for of_goal in ways.values():
            at_hand = [
                (cost(needed), needed, supply & shared)
                for needed, supply in of_goal
                if supply & shared & now and cost(needed) < inf
            ]
            if not all(supply & shared for _, supply in of_goal):
                continue
            at_hand.sort()
            for _, needed, supply in at_hand:
                known.setdefault(supply, needed)
            free = [each for each in at_hand if each[2] not in chosen]
            if free:
                chosen[free[0][2]] = free[0][1]
        if len(chosen) < 2:
            return []
        found = []
        for needs in (chosen, known):
            atoms = 0
            for needed in needs.values():
                atoms |= needed
            found.append(sorted(single_bits(atoms), key=lambda atom: (cost(atom), atom)))
        return found

    def _facts(self, state: State, standing: Standing) -> int:
        return self._relaxation.facts(self.task.table.encode(state), standing)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The largest values of a simple task.

    Attributes:
        open_goals: conjuncts of the goal that do not hold at the start.
        relaxed_steps: length of a relaxed plan, which is roughly two thirds of a real one.
    """

    objects: int = 17
    open_goals: int = 7
    relaxed_steps: int = 20


TRAINED = Thresholds()
"""The largest values in the wide ranges of the built-in domains (`DomainKit.sizes`), from which the
training problems of the shipped models are drawn. A model trained on others has others."""

_OBJECTS = {
    'blocksworld': 7,
    'blocksworld-4ops': 7,
    'ferry': 9,
    'gripper-strips': 14,
    'grippers': 14,
}
"""Objects of the largest such problem, in the domains where there are less than `TRAINED` says."""


def trained_on(domain: str) -> Thresholds:
    """The largest values in the training problems of a domain; of all domains for another one."""
    return replace(TRAINED, objects=_OBJECTS.get(domain, TRAINED.objects))


def thresholds_of(
    domain: str, objects: int = 0, open_goals: int = 0, relaxed_steps: int = 0
) -> Thresholds:
    """Thresholds for tasks of a domain; 0 takes what `trained_on` says.

    Args:
        objects: as in `Thresholds`.
        open_goals: as in `Thresholds`.
        relaxed_steps: as in `Thresholds`.
    """
    usual = trained_on(domain)
    return Thresholds(
        objects or usual.objects,
        open_goals or usual.open_goals,
        relaxed_steps or usual.relaxed_steps,
    )


@dataclass(frozen=True, slots=True)
class ComplexityAssessment:
    """The analysis of a task.

    Attributes:
        complex: whether it should be divided.
        objects: as in `Thresholds`.
        open_goals: as in `Thresholds`.
        relaxed_steps: as in `Thresholds`; -1 when it was decided without.
    """

    complex: bool
    reason: str
    objects: int
    open_goals: int
    relaxed_steps: int = -1


def assess(
    problem: Problem,
    ask: Callable[[Problem], object] = lambda problem: None,
    *,
    thresholds: Thresholds | None = None,
    time_limit_s: float = 1.0,
    cancelled: Callable[[], bool] = lambda: False,
) -> ComplexityAssessment:
    """Finds out whether a task is simple or complex.

    Args:
        ask: writes the question to the model, as `PromptStyle.messages` with no history does, and
            raises `SafegenError` when the task cannot be put to it: it is complex where that is
            `TASK_TOO_LARGE`, and all else is raised here, too.
        thresholds: the largest values of a simple task; None for those of `trained_on`.
        time_limit_s: how long it may be looked at; a task that takes longer is complex [s].

    Raises:
        Unsolvable: there is no plan, as the relaxed task shows.
        Canceled: `cancelled` said so.
    """
    limits = thresholds or trained_on(problem.domain.name)
    table = AtomTable(problem)
    state = table.encode(problem.init)
    open_goals = sum(not test(state) for _, test in goal_tests(problem, table))
    objects = len(problem.objects)

    def found(reason: str, steps: int = -1, complex: bool = True) -> ComplexityAssessment:
        return ComplexityAssessment(complex, reason, objects, open_goals, steps)

    try:
        ask(problem)
    except SafegenError as error:
        if error.code is not ErrorCode.TASK_TOO_LARGE:
            raise
        return found(f'it cannot be put to the model as a whole: {error.message}')
    if state_functions(problem):
        return found('its plans depend on numbers, which no division knows', complex=False)
    if objects > limits.objects:
        return found(f'it has {objects} objects, more than {limits.objects}')
    if open_goals > limits.open_goals:
        return found(f'it has {open_goals} open goals, more than {limits.open_goals}')
    try:
        survey = RelaxedAnalysis(problem, Budget(time_limit_s, MEMORY_LIMIT_MB, cancelled))
        steps = survey.steps(problem.init, survey.task.start)
    except SearchLimit:
        return found(f'looking at its actions takes more than {time_limit_s:g} s')
    if steps is None:
        raise Unsolvable(survey.task.problem.name, 'that is proved before any search')
    if steps > limits.relaxed_steps:
        return found(f'it takes {steps} steps or more, over {limits.relaxed_steps}', steps)
    reason = f'{objects} objects, {open_goals} open goals and about {steps} steps are few'
    return found(reason, steps, complex=False)
