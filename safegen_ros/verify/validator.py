# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Verifies a plan against a problem with trajectory constraints (SafeGen-LLM IV-C1).

The states are s0 (the initial one) and s_k after step k. The earliest failure by state decides: a
constraint that breaks in s_k comes before the precondition of step k+1. In the last state unmet
goals come first; with the goals met, a constraint that is broken there or never satisfied is a
safety violation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from safegen_ros.errors import PlanFormatError
from safegen_ros.pddl.bits import AtomTable, no_tick
from safegen_ros.pddl.deciding import has_wishes
from safegen_ros.pddl.diagnostics import suggestion
from safegen_ros.pddl.ground import Grounder, goal_tests
from safegen_ros.pddl.model import Formula, Problem
from safegen_ros.pddl.plan import Plan, Step, parse_plan
from safegen_ros.pddl.writer import constraint_text, formula_text, names_text
from safegen_ros.verdict import BrokenConstraint, Category, Verdict, joined, step_name
from safegen_ros.verify.cost import broken_wishes, told_wishes
from safegen_ros.verify.monitors import ConstraintMonitor, MonitorSet, Standing, Status
from safegen_ros.verify.temporal import TemporalProof

_MOST_MOVES = 4096  # that a validator remembers
_MOST_VALUES = 50_000  # tuples of numbers; some tens of megabytes


def verify(problem: Problem, plan: Plan | str, tick: Callable[[], None] = no_tick) -> Verdict:
    """Verifies one plan.

    Args:
        plan: a plan, or text for `parse_plan`.
        tick: as of `AtomTable`.

    Returns:
        The verdict; a text that is not a plan is a `FORMAT_ERROR`, not an exception.
    """
    return Validator(problem, tick).verify(plan)


class _Place:
    """A state with where the automata stand there, and the places that steps lead to.

    Plans for one problem share most of their way, and following a step that was followed before is
    one look-up.
    """

    __slots__ = ('after', 'broken', 'fraction', 'good', 'standing', 'state')

    def __init__(self, state: int, standing: Standing, broken: bool) -> None:
        self.state = state
        self.standing = standing
        self.broken = broken  # whether some constraint can no longer be satisfied
        self.after: dict[Step, _Place] = {}
        self.good = False  # whether it is known that a plan may end here
        self.fraction = -1.0  # of the goal's conjuncts that hold; -1 until asked for


class _Reached:
    """How far a plan was followed."""

    __slots__ = ('index', 'place', 'plan')

    def __init__(self, plan: Plan, index: int, place: _Place) -> None:
        self.plan = plan
        self.index = index  # of the step that comes next, and of the state
        self.place = place

    def before(self) -> str:
        """Names the moment, for messages."""
        if self.index == 0:
            return 'in the initial state'
        return f'after {step_name(self.plan.steps, self.index - 1)}'

    def culprit(self) -> int:
        """Index of the step that led here; in the initial state, of the first one if any."""
        return min(max(self.index - 1, 0), len(self.plan) - 1)


def _with_numbers(reason: str, numbers: str) -> str:
    """A reason with the values that it comes from."""
    return f'{reason} ({numbers})' if numbers else reason


class Validator:
    """Verifies plans for one problem; results for one plan are kept for the next."""

    def __init__(self, problem: Problem, tick: Callable[[], None] = no_tick) -> None:
        self.problem = problem
        timed = self._over_time = TemporalProof(problem, tick) if problem.domain.durative else None
        self._table = timed.actions.table if timed else AtomTable(problem, tick=tick)
        self._grounder = Grounder(problem, self._table)
        self._soft = has_wishes(problem)
        self._actions = ''  # the names of all, once asked for
        if self._over_time is not None:
            return  # what follows is for steps without time
        self._monitors = MonitorSet(problem, self._table)
        goals = goal_tests(problem, self._table)
        self._goals = [(formula, formula_text(formula), test) for formula, test in goals]
        self._places: dict[tuple[int, Standing], _Place] = {}
        self._moves = 0
        state = self._table.encode(problem.init)
        self._start = self._place(state, self._monitors.start(state))
        self._told: dict[int, tuple[str, str]] = {}

    def verify(self, plan: Plan | str) -> Verdict:
        """The verdict on one plan."""
        verdict = self._verdict(plan)
        if not (self._soft and verdict.ok):
            return verdict
        timed = self._over_time is not None
        steps = parse_plan(plan, timed=timed) if isinstance(plan, str) else plan
        wishes = told_wishes(self.problem, steps, broken_wishes(self.problem, steps))
        broken = joined([str(wish) for wish in wishes], ', ')
        told = f'wishes broken: {broken}' if wishes else 'every wish is met'
        return replace(verdict, reason=f'{verdict.reason}; {told}', wishes=wishes)

    def _verdict(self, plan: Plan | str) -> Verdict:
        if self._over_time is not None:
            return self._verify_over_time(self._over_time, plan)
        try:
            steps = parse_plan(plan) if isinstance(plan, str) else plan
        except PlanFormatError as error:
            return Verdict(Category.FORMAT_ERROR, error.message)
        if self._table.numbers is not None and len(self._table.numbers) > _MOST_VALUES:
            vars(self).update(vars(Validator(self.problem)))
        place = self._start
        for index, step in enumerate(steps.steps):
            after = place.after.get(step) or self._follow(place, step)
            if after is None or place.broken:
                return self._stopped(_Reached(steps, index, place))
            place = after
        return self._ended(_Reached(steps, len(steps), place))

    def _verify_over_time(self, proof: TemporalProof, plan: Plan | str) -> Verdict:
        try:
            steps = parse_plan(plan, timed=True) if isinstance(plan, str) else plan
        except PlanFormatError as error:
            return Verdict(Category.FORMAT_ERROR, error.message)
        return proof.verify(steps, self._not_a_step)

    def _follow(self, place: _Place, step: Step) -> _Place | None:
        """Where a step leads; None when it is not an action of the problem or does not apply."""
        try:
            action = self._grounder.action(step)
        except (KeyError, ValueError):
            return None
        if not action.applicable(place.state):
            return None
        state = action.apply(place.state)
        standing = self._monitors.progress(place.standing, state, place.state ^ state)
        if self._moves >= _MOST_MOVES:
            self._forget()
        self._moves += 1
        found = place.after[step] = self._place(state, standing)
        return found

    def _place(self, state: int, standing: Standing) -> _Place:
        found = self._places.get((state, standing))
        if found is None:
            found = _Place(state, standing, self._monitors.broken(standing))
            self._places[state, standing] = found
        return found

    def _forget(self) -> None:
        for place in self._places.values():  # they lead to each other in circles
            place.after.clear()
        self._places = {(self._start.state, self._start.standing): self._start}
        self._moves = 0

    def _stopped(self, at: _Reached) -> Verdict:
        """The verdict on a plan whose next step cannot be followed, or comes too late."""
        unreadable = self._not_a_step(
            at.plan, at.index
        )  # before all else, however late in the plan it is
        if unreadable is not None:
            return unreadable
        return self._broken(at) if at.place.broken else self._inapplicable(at)

    def _ended(self, at: _Reached) -> Verdict:
        """The verdict on a plan that was followed to its end."""
        if not at.place.good:
            state = at.place.state
            unmet = [(formula, text) for formula, text, test in self._goals if not test(state)]
            if unmet:
                return self._short(at, unmet)
            if self._monitors.unsatisfied(at.place.standing):
                return self._broken(at)
            at.place.good = True
        asked = (
            'every constraint is satisfied' if self._monitors.monitors else 'no constraint is set'
        )
        reason = f'all {at.index} steps apply, the goal holds, {asked}'
        if self.problem.notes:
            reason += f'; note: {joined(self.problem.notes, "; ")}'
        return Verdict(Category.SUCCESS, reason, -1, at.index, 1.0)

    def _not_a_step(self, plan: Plan, first: int = 0) -> Verdict | None:
        """The verdict on a plan with a step, from the first on, that is not an action."""
        for index in self._grounder.unknown(plan.steps, first):
            try:
                self._grounder.check(plan.steps[index])
            except KeyError:
                return self._unknown_action(plan, index, plan.steps[index])
            except ValueError as error:
                reason = f'{step_name(plan.steps, index)} is not an action of this problem: {error}'
                return Verdict(Category.FORMAT_ERROR, reason, index, len(plan))
        return None

    def _unknown_action(self, plan: Plan, index: int, step: Step) -> Verdict:
        if not self._actions:
            self._actions = names_text(self.problem.domain.actions)
        close = suggestion(step.action, self.problem.domain.actions)
        what = f'{step.action[:40]!r} is not an action ({close}actions: {self._actions})'
        reason = f'{step_name(plan.steps, index)}: {what}'
        return Verdict(Category.FORMAT_ERROR, reason, index, len(plan))

    def _goal_fraction(self, place: _Place) -> float:
        if place.fraction < 0:
            held = [test(place.state) for _, _, test in self._goals]
            place.fraction = sum(held) / len(held) if held else 1.0
        return place.fraction

    def _broken(self, at: _Reached) -> Verdict:
        """The verdict on a constraint that is violated here, or open in the last state."""
        ended = at.index == len(at.plan)
        standing = at.place.standing
        now = self._monitors.unsatisfied(standing) if ended else self._monitors.violated(standing)
        found = [self._report(monitor, at.index, at.place) for monitor in now]
        later, blocked = ([], False) if ended else self._broken_later(at)
        return Verdict(
            Category.SAFETY_VIOLATION,
            f'{at.before()}: {joined([str(each) for each in found], "; ")}',
            at.culprit() if at.place.broken else -1,
            len(at.plan),
            self._goal_fraction(at.place),
            (*found, *later),
            (),
            at.index,
            blocked,
        )

    def _broken_later(self, at: _Reached) -> tuple[list[BrokenConstraint], bool]:
        """What else breaks further on, as far as the steps apply; whether the first does not."""
        known = {monitor.shift for monitor in self._monitors.violated(at.place.standing)}
        found: list[BrokenConstraint] = []
        place = at.place
        for index in range(at.index, len(at.plan)):
            step = at.plan.steps[index]
            after = place.after.get(step) or self._follow(place, step)
            if after is None:
                return found, index == at.index
            if after.standing != place.standing:
                for monitor in self._monitors.violated(after.standing):
                    if monitor.shift not in known:
                        known.add(monitor.shift)
                        found.append(self._report(monitor, index + 1, after))
            place = after
        return found, False

    def _inapplicable(self, at: _Reached) -> Verdict:
        action = self._grounder.action(at.plan.steps[at.index])
        missing, numbers = self._grounder.lacking(action, at.place.state)
        lacks = f'needs {joined(missing, " and ")}, which does not hold'
        reason = f'{lacks if missing else "does not apply"} {at.before()}'
        return Verdict(
            Category.PRECONDITION_VIOLATION,
            _with_numbers(f'{step_name(at.plan.steps, at.index)} {reason}', numbers),
            at.index,
            len(at.plan),
            self._goal_fraction(at.place),
            (),
            missing,
            at.index,
        )

    def _short(self, at: _Reached, unmet: list[tuple[Formula, str]]) -> Verdict:
        standing = at.place.standing
        found = tuple(
            self._report(m, at.index, at.place) for m in self._monitors.unsatisfied(standing)
        )
        lacking = tuple([text for _, text in unmet])
        texts = [each.text for each in found]
        extra = f'; not satisfied either: {joined(texts, " ")}' if texts else ''
        return Verdict(
            Category.GOAL_NOT_SATISFIED,
            _with_numbers(
                f'the plan ends {at.before()} without {joined(lacking, " and ")}',
                self._table.told([formula for formula, _ in unmet], at.place.state),
            )
            + extra,
            -1,
            len(at.plan),
            self._goal_fraction(at.place),
            found,
            lacking,
            at.index,
        )

    def _report(self, monitor: ConstraintMonitor, index: int, place: _Place) -> BrokenConstraint:
        """The verdict on a constraint that is violated, or open, in the state of an index."""
        constraint = monitor.constraint
        told = self._told.get(monitor.shift)
        if told is None:
            told = self._told[monitor.shift] = constraint_text(constraint), monitor.explain()
        step = index - 1 if monitor.status(place.standing) is Status.VIOLATED else -1
        reason = _with_numbers(told[1], self._table.told(constraint.arguments, place.state))
        return BrokenConstraint(told[0], constraint.binding, index, step, reason, constraint.place)
