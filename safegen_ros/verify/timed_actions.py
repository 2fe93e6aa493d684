# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What steps of durative actions need and change at which moments, and how long they take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Context, Decimal, Inexact
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import groupby
from operator import attrgetter, itemgetter, or_

from safegen_ros.pddl.bits import AtomTable, WatchingClosure, no_tick
from safegen_ros.pddl.expressions import bound, bound_atom
from safegen_ros.pddl.facts import exact
from safegen_ros.pddl.flatten import part, remembered_predicates
from safegen_ros.pddl.formulas import instances, leaves
from safegen_ros.pddl.ground import GroundAction, Grounder, NumericAction
from safegen_ros.pddl.model import (
    DURATION,
    Action,
    And,
    Atom,
    AtomFormula,
    Comparison,
    Effect,
    Formula,
    Moment,
    Number,
    NumericEffect,
    Problem,
    functions_of,
)
from safegen_ros.pddl.moments import END, LITERALS, PlanMoment
from safegen_ros.pddl.numbers import WIDTH, Evaluate, NoNumber, NumberTable, Values
from safegen_ros.pddl.plan import Plan, Step

EPSILON = Decimal('0.001')
"""Least time between two happenings that interfere, and by how much a duration may differ [s]."""

EXACT = Context(prec=2000, traps=[Inexact])
"""Adds and subtracts times without rounding, those of a clock, which are floats, included."""

_MOST_KEPT = 4096  # steps of which something is remembered
_DIGITS = Decimal('0.001')  # of a duration that has to be rounded


@dataclass(frozen=True, slots=True)
class Touched:
    """The functions that a happening reads, adds to, and changes otherwise."""

    read: frozenset[Atom]
    added: frozenset[Atom]
    assigned: frozenset[Atom]

    def clash(self, other: Touched) -> frozenset[Atom]:
        """The functions over which two happenings interfere; both may add to one."""
        changed, others = self.added | self.assigned, other.added | other.assigned
        read = (self.read & others) | (other.read & changed)
        return read | (self.assigned & others) | (other.assigned & changed)


class TimedActions:
    """What the steps of one problem do at their starts and at their ends.

    Args:
        ranking: as of `AtomTable`.
        fold_static: as of `AtomTable`.
        tick: as of `AtomTable`.
    """

    def __init__(
        self,
        problem: Problem,
        ranking: frozenset[str] = frozenset(),
        *,
        fold_static: bool = True,
        tick: Callable[[], None] = no_tick,
    ) -> None:
        self.problem = problem
        domain = problem.domain
        actions = {n: each for n, each in domain.actions.items() if n not in domain.durative}
        for name, action in domain.durative.items():
            actions |= {_part_name(moment, name): part(action, moment) for moment in Moment}
        literals = _literal_actions(problem)
        actions |= {action.name: action for action in literals.values()}
        predicates = {**domain.predicates, **remembered_predicates(domain)}
        domain = replace(domain, actions=actions, predicates=predicates)
        self._parts = replace(problem, domain=domain)
        self.table = AtomTable(self._parts, fold_static=fold_static, ranking=ranking, tick=tick)
        self._derived = domain.derived_predicates()
        self._needs: dict[Atom, tuple[int, set[Atom]]] = {}  # what derived atoms come from
        kept = [each for action in domain.durative.values() for each in action.remembered]
        if watched := [each for moment, each in kept if moment is Moment.OVER_ALL]:
            self.table.closure = WatchingClosure(self.table, watched)
        self._grounding = Grounder(self._parts, self.table)
        self._idle: dict[str, GroundAction] = {}  # what asks for nothing over all
        self._by_duration = {
            name
            for name, action in actions.items()
            if DURATION in functions_of(*(each.value for each in action.numeric))
        }
        self._lasting: dict[str, Grounder] = {}  # of those, by their durations
        self.numbers = self.table.numbers or NumberTable(problem, frozenset(), True)
        self.literals = [(t, self._grounding.action(Step(a.name))) for t, a in literals.items()]
        self._reads: dict[Step, int] = {}
        self._touched: dict[Step, Touched] = {}
        self._bounds: dict[Step, list[tuple[str, Evaluate]]] = {}
        self._fixed: dict[str, Sequence[tuple[str, Number | None]]] = {}  # those that are constant
        for name, action in domain.durative.items():
            values = [
                (op, exact(value)) for op, value in action.duration if isinstance(value, Decimal)
            ]
            if len(values) == len(action.duration):
                self._fixed[name] = values

    def timed(self, plan: Plan) -> Plan:
        """The plan with times; where it has none its steps follow each other, `EPSILON` apart."""
        if plan.times:
            return plan
        now, state = Decimal(0), self.table.encode(self.problem.init)
        times = []
        for step in plan.steps:
            duration = self.least_duration(step, state)
            times.append((now, duration))
            now = EXACT.add(now, EXACT.add(duration, EPSILON))
            try:
                for action in self.happenings(step, duration):
                    state = action.apply(state)
            except NoNumber:
                pass  # the plan fails here or earlier
        return Plan(plan.steps, tuple(times))

    def happenings(self, step: Step, duration: Decimal) -> list[GroundAction]:
        """The happenings of a step that takes some time [s], in order."""
        if step.action not in self.problem.domain.durative:
            return [self._grounding.action(step)]
        ends = (Moment.AT_START, Moment.AT_END)
        found = (self._part(step, moment, duration) for moment in ends)
        return [grounder.action(part) for grounder, part in found]

    def check(self, step: Step) -> None:
        """Checks that a step is one of the problem's; raises as `Grounder.check`."""
        lasts = step.action in self.problem.domain.durative
        name = _part_name(Moment.AT_START, step.action) if lasts else step.action
        self._grounding.check(Step(name, step.arguments))

    def ground(self, step: Step, moment: Moment, duration: Decimal) -> GroundAction:
        """The start or the end of a step that is known to be one of the problem's; not kept."""
        grounder, found = self._part(step, moment, duration)
        return grounder.ground(found)

    def after(self, together: Iterable[GroundAction], state: int) -> int:
        """The state after some happenings of one moment, which do not interfere.

        Raises:
            NoNumber: a number cannot be changed.
        """
        added = deleted = 0
        changed = state
        for action in together:
            more, less = changes(action, state)
            added, deleted = added | more, deleted | less
            if isinstance(action, NumericAction):
                changed = changed >> WIDTH << WIDTH | action.changes.after(changed)
        return self.table.closed((changed & ~deleted) | added)

    def of_moment(self, moment: PlanMoment) -> list[GroundAction]:
        """What happens at a moment of a plan, the literals of that time included."""
        found = [
            self.happenings(step, duration)[-1 if kind == END else 0]
            for kind, step, duration in moment.happenings
            if kind not in LITERALS
        ]
        return [*found, *(action for time, action in self.literals if time == moment.time)]

    def states(self, plan: Plan) -> Iterator[tuple[Decimal, int]]:
        """The initial state, and that after each moment in which something happens, with its time.

        Args:
            plan: with times, and proved as far as it is followed.

        Raises:
            NoNumber: a number cannot be changed.
        """
        state = self.table.encode(self.problem.init)
        yield Decimal(0), state
        for time, together in self.moments(plan):
            state = self.after(together, state)
            yield time, state

    def moments(self, plan: Plan) -> list[tuple[Decimal, list[GroundAction]]]:
        """What happens at each moment of a plan with times, timed literals included."""
        moments: dict[Decimal, list[GroundAction]] = {}
        for step, (start, duration) in zip(plan.steps, plan.times, strict=True):
            first, *last = self.happenings(step, duration)
            moments.setdefault(start, []).append(first)
            moments.setdefault(EXACT.add(start, duration), []).extend(last)
        for time, action in self.literals:
            moments.setdefault(time, []).append(action)
        return sorted(moments.items(), key=itemgetter(0))

    def during(self, step: Step) -> GroundAction:
        """What a step of a durative action asks for over all."""
        name = _part_name(Moment.OVER_ALL, step.action)
        found = self._idle.get(name)
        if found is None:
            found = self._grounding.action(Step(name, step.arguments))
            if self._parts.domain.actions[name].precondition == And(()):
                self._idle[name] = found  # whatever its objects
        return found

    def _part(self, step: Step, moment: Moment, duration: Decimal) -> tuple[Grounder, Step]:
        name = _part_name(moment, step.action)
        if name in self._by_duration:
            schema = self.problem.domain.durative[step.action]
            name = f'{name} {duration.normalize()}'
            if name not in self._lasting:
                self._lasting[name] = self._grounder_of(part(schema, moment, duration), name)
        return self._grounder(name), Step(name, step.arguments)

    def _grounder_of(self, action: Action, name: str) -> Grounder:
        domain = replace(self._parts.domain, actions={name: action})
        return Grounder(replace(self._parts, domain=domain), self.table)

    def _grounder(self, name: str) -> Grounder:
        return self._lasting.get(name, self._grounding)

    def missing(self, action: GroundAction, state: int) -> tuple[tuple[str, ...], str]:
        """What an action that does not apply lacks, as PDDL, and numbers in words."""
        return self._grounder(action.step.action).lacking(action, state)

    def least_duration(self, step: Step, state: int) -> Decimal:
        """Default duration of a step that starts in a state [s]."""
        if step.action not in self.problem.domain.durative:
            return Decimal(0)
        bounds = self.duration(step, state)
        wanted = [value for operator, value in bounds if operator != '<=']
        found = [value for value in wanted or dict(bounds).values() if value is not None]
        return decimal_of(max(found, default=0))

    def duration(self, step: Step, state: int) -> Sequence[tuple[str, Number | None]]:
        """The bounds of the duration of a step that starts in a state; None for no value."""
        fixed = self._fixed.get(step.action)
        if fixed is not None:
            return fixed
        bounds = self._bounds.get(step)
        if bounds is None:
            schema = self.problem.domain.durative[step.action]
            binding = dict(zip((n for n, _ in schema.parameters), step.arguments, strict=True))
            evaluation = self.numbers.evaluation
            bounds = [(op, evaluation(bound(each, binding))) for op, each in schema.duration]
            if len(self._bounds) >= _MOST_KEPT:
                self._bounds.clear()
            self._bounds[step] = bounds
        values = self.numbers.values(state)
        return [(operator, _result(evaluate, values)) for operator, evaluate in bounds]

    def fits(self, step: Step, duration: Decimal) -> bool:
        """Whether a step has exactly the duration that its action has in every state."""
        fixed = self._fixed.get(step.action)
        return fixed is not None and duration > 0 and all(duration == each for _, each in fixed)

    def schema(self, action: GroundAction) -> Action:
        """The schema of a happening."""
        name = action.step.action
        return self._grounder(name).problem.domain.actions[name]

    def reads(self, action: GroundAction) -> int:
        """Every atom in the conditions of an action, with any result."""
        found = self._reads.get(action.step)
        if found is None:
            schema = self.schema(action)
            names = (name for name, _ in schema.parameters)
            binding = dict(zip(names, action.step.arguments, strict=True))
            found = self._mentioned(schema.precondition, binding, {})
            effects: tuple[Effect | NumericEffect, ...] = (*schema.effects, *schema.numeric)
            for effect in effects:
                found |= self._mentioned(effect.condition, binding, dict(effect.variables))
            self._reads[action.step] = found
        return found

    def touched(self, action: GroundAction) -> Touched:
        """The numbers that an action reads and changes, whatever comes of its conditions."""
        found = self._touched.get(action.step)
        if found is None:
            found = self._touched[action.step] = self._touch(action)
        return found

    def _touch(self, action: GroundAction) -> Touched:
        schema = self.schema(action)
        names = (name for name, _ in schema.parameters)
        binding = dict(zip(names, action.step.arguments, strict=True))
        objects = self.table.objects
        read = list(self._functions(schema.precondition, binding, {}))
        if schema.name.startswith(Moment.AT_START.value):
            durative = self.problem.domain.durative[schema.name.removeprefix('at start ')]
            lengths = functions_of(*(value for _, value in durative.duration))
            read += [bound_atom(each, binding) for each in lengths]
        added: set[Atom] = set()
        assigned: set[Atom] = set()
        effects: tuple[Effect | NumericEffect, ...] = (*schema.effects, *schema.numeric)
        for effect in effects:
            kinds = dict(effect.variables)
            if not all(objects[kind] for kind in kinds.values()):
                continue
            read += self._functions(effect.condition, binding, kinds)
            if isinstance(effect, NumericEffect):
                for each in functions_of(effect.value):
                    read += instances(each, kinds, binding, objects)
                adding = effect.operator in ('increase', 'decrease')
                (added if adding else assigned).update(
                    instances(effect.target, kinds, binding, objects)
                )
        changing = self.numbers.changing
        return Touched(
            *(
                frozenset(each for each in part_ if each[0] in changing)
                for part_ in (read, added, assigned)
            )
        )

    def _functions(
        self, formula: Formula, binding: Mapping[str, str], kinds: Mapping[str, str]
    ) -> Iterator[Atom]:
        objects = self.table.objects
        for leaf, inner in leaves(formula, objects, kinds):
            if isinstance(leaf, Comparison):
                for each in functions_of(leaf):
                    yield from instances(each, inner, binding, objects)

    def _mentioned(
        self, formula: Formula, binding: Mapping[str, str], kinds: Mapping[str, str]
    ) -> int:
        """The atoms in a formula, and those that its derived atoms may be derived from."""
        found, waiting = self._direct(formula, binding, kinds)
        seen = set(waiting)
        while waiting:
            atom = waiting.pop()
            if atom not in self._needs:
                rules = (r for r in self.problem.domain.derived if r.predicate == atom[0])
                each = [
                    self._direct(
                        r.body, dict(zip((n for n, _ in r.variables), atom[1:], strict=True)), {}
                    )
                    for r in rules
                ]
                self._needs[atom] = (
                    reduce(or_, (bits for bits, _ in each), 0), set().union(*(d for _, d in each)),
                )  # fmt: skip
            bits, more = self._needs[atom]
            found |= bits
            waiting |= more - seen
            seen |= more
        return found

    def _direct(
        self, formula: Formula, binding: Mapping[str, str], kinds: Mapping[str, str]
    ) -> tuple[int, set[Atom]]:
        """The atoms in a formula that are not derived, and those that are."""
        objects, found, derived = self.table.objects, 0, set[Atom]()
        if not all(objects[kind] for kind in kinds.values()):
            return 0, derived
        for leaf, inner in leaves(formula, objects, kinds):
            if isinstance(leaf, Comparison):
                continue
            atoms = instances(leaf, inner, binding, objects)
            if leaf.predicate in self._derived:
                derived.update(atoms)
            else:
                found |= self.table.mask(atoms)
        return found, derived


def _result(evaluate: Evaluate, values: Values) -> Number | None:
    try:
        return evaluate(values)
    except NoNumber:
        return None


def changes(action: GroundAction, state: int) -> tuple[int, int]:
    """What an action adds in a state, and what it deletes; what is in both becomes true."""
    more, less = action.add, action.delete
    for test, added, deleted in action.conditional:
        if test(state):
            more |= added
            less |= deleted
    return more, less


def _literal_actions(problem: Problem) -> dict[Decimal, Action]:
    """What the timed literals of each time do, as an action without conditions."""
    found: dict[Decimal, Action] = {}
    for time, together in groupby(problem.timed, attrgetter('time')):
        effects = []
        for each in together:
            atoms = (AtomFormula(each.atom[0], each.atom[1:]),)
            effects.append(
                Effect((), And(()), atoms, ()) if each.value else Effect((), And(()), (), atoms)
            )
        found[time] = Action(f'at {time:f}', (), And(()), tuple(effects))
    return found


def _part_name(moment: Moment, name: str) -> str:
    return f'{moment.value} {name}'  # no action has a name with a space


def decimal_of(value: Number) -> Decimal:
    """A time as a plan writes it, rounded to the clock of a plan where it has to be."""
    found = Decimal(value.numerator) / Decimal(value.denominator)
    if Fraction(found) == value:
        return found
    return found.quantize(_DIGITS, ROUND_HALF_EVEN)


@lru_cache(1 << 12)
def seconds_text(value: Number | Decimal) -> str:
    """A time for a message [s]."""
    return f'{(value if isinstance(value, Decimal) else decimal_of(value)).normalize():f}'
