# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is legal in a problem and looks wrong: goals, constraints and actions without a use.

The relaxed task, in which true facts stay true, gives the facts that can ever change. So each
finding is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from safegen_ros.errors import SafegenError
from safegen_ros.language.additions import contradictions
from safegen_ros.lint.findings import NOTE, WARNING, LintFinding, Place, SourceMap
from safegen_ros.pddl.bits import AtomTable, Condition, Junction, Literals, compile_test, condition
from safegen_ros.pddl.ground import GroundAction, Grounder
from safegen_ros.pddl.model import Action, AtomFormula, Constraint, Formula, Problem, conjuncts
from safegen_ros.pddl.writer import constraint_text, formula_text
from safegen_ros.search.budget import Budget
from safegen_ros.search.task import reachable_actions
from safegen_ros.verify.monitors import MonitorSet

_TIME_S, _MEMORY_MB = 10.0, 1024.0
_MOST = 20  # findings of one kind

_PLACE = re.compile(r'(?P<source>.*):(?P<line>\d+):(?P<column>\d+)')


@dataclass(frozen=True, slots=True)
class _Reach:
    """What can happen in the relaxed task.

    Attributes:
        true: the atoms that are true in every state, as a mask.
        false: the atoms that are false in every state, likewise.
        actions: the names of the actions that may become applicable.
        atoms: the predicates of atoms that can be true.
    """

    true: int
    false: int
    actions: frozenset[str]
    atoms: frozenset[str]


def problem_findings(problem: Problem, places: SourceMap, domain: SourceMap) -> list[LintFinding]:
    """What looks wrong in a problem."""
    found = [*places.unjoined(), *_quantifiers(problem, places)]
    try:
        for each in _states(problem, places, domain):
            found.append(each)
    except SafegenError as error:  # too large for the search, or beyond what it knows
        what = 'what goal, constraints and actions come to was not looked at'
        found.append(places.finding(NOTE, 'not-looked-at', (0, 0), what, error.message))
    return found


def _states(problem: Problem, places: SourceMap, domain: SourceMap) -> Iterator[LintFinding]:
    """What looks wrong by the states that a plan can reach."""
    table = AtomTable(problem)
    start = table.encode(problem.init)
    monitors = MonitorSet(problem, table)
    if compile_test(condition(problem.goal, table))(start):
        yield places.finding(
            WARNING, 'goal-holds', places.section(':goal'), 'the goal holds in the initial state',
            'the empty plan reaches it: ask for more',
        )  # fmt: skip
    broken = {each.constraint for each in monitors.violated(monitors.start(start))}
    for constraint in problem.constraints:
        if constraint in broken:
            what = f'{constraint_text(constraint)} is broken in the initial state'
            cure = 'no plan can keep it: change it or :init'
            yield _at(constraint, places, 'constraint-broken', what, cure)
    if problem.domain.durative or table.numbers is not None:
        return  # actions beside each other reach more, and numbers are not relaxed here
    if not broken:
        for text in contradictions(problem):
            yield places.finding(
                WARNING, 'contradiction', places.section(':goal'), text,
                'no plan can do both: change one',
            )  # fmt: skip
    parts = [[condition(a, table) for a in each.arguments] for each in problem.constraints]
    goals = [(part, condition(part, table)) for part in problem.goal_conjuncts()]
    actions = reachable_actions(Grounder(problem, table), Budget(_TIME_S, _MEMORY_MB))
    reach = _reach(problem, table, start, actions)
    yield from _objects(problem, actions, places)
    yield from _goals(goals, reach, places)
    yield from _actions(problem, reach, domain)
    for constraint, conditions in zip(problem.constraints, parts, strict=True):
        if constraint not in broken and _holds(constraint, conditions, reach, start):
            what = f'{constraint_text(constraint)} holds whatever a plan does'
            cure = 'ask for something that a plan can break, or remove it'
            yield _at(constraint, places, 'constraint-holds', what, cure)


def _at(constraint: Constraint, places: SourceMap, rule: str, what: str, cure: str) -> LintFinding:
    """A finding where a constraint was written, which may be in the domain."""
    place = _PLACE.fullmatch(constraint.place)
    if place is None:
        return places.finding(WARNING, rule, places.section(':constraints'), what, cure)
    line, column = int(place['line']), int(place['column'])
    return LintFinding(WARNING, rule, place['source'], line, column, what, cure)


def _quantifiers(problem: Problem, places: SourceMap) -> Iterator[LintFinding]:
    for note in problem.notes[len(problem.domain.remarks) :]:
        place, _, what = note.partition(': ')
        found = _PLACE.fullmatch(place)
        at: Place = (int(found['line']), int(found['column'])) if found else (0, 0)
        source = found['source'] if found else places.source
        cure = 'declare an object of that type, or remove the constraint'
        yield LintFinding(WARNING, 'empty-quantifier', source, *at, what, cure)


def _objects(
    problem: Problem, actions: list[GroundAction], places: SourceMap
) -> Iterator[LintFinding]:
    names = [name for name in problem.objects if name not in problem.domain.constants]
    words = {word for word, _, place in places.words() if place >= places.section(':init')}
    words.update(*(action.step.arguments for action in actions))
    unused = [name for name in names if name not in words]
    for name in unused[:_MOST]:
        yield places.finding(
            NOTE, 'unused-object', places.declared(':objects', name),
            f'no fact and no action is about object {name!r}', 'state a fact of it, or remove it',
        )  # fmt: skip


def _reach(problem: Problem, table: AtomTable, start: int, actions: list[GroundAction]) -> _Reach:
    add = delete = 0
    for action in actions:
        add |= action.add
        delete |= action.delete
        for _, more, less in action.conditional:
            add |= more
            delete |= less
    derived = 0 if table.closure is None else table.closure.heads
    predicates = {atom[0] for atom in problem.init} | {a[0] for a in table.atoms(start | add)}
    predicates |= problem.domain.derived_predicates()
    names = frozenset(action.step.action for action in actions)
    return _Reach(
        start & ~delete & ~derived, ~(start | add | derived), names, frozenset(predicates)
    )


def _value(formula: Condition, true: int, false: int) -> bool | None:
    """Whether a condition holds where some atoms are true and some false; None if that is open."""
    if isinstance(formula, Literals):
        good = (formula.true & true) | (formula.false & false)
        bad = (formula.true & false) | (formula.false & true)
        if formula.conjunctive:
            return False if bad else True if good == formula.mask else None
        return True if good else False if bad == formula.mask else None
    if not isinstance(formula, Junction):
        return None
    values = [_value(part, true, false) for part in formula.parts]
    decisive = not formula.conjunctive
    if decisive in values:
        return decisive
    return None if None in values else not decisive


def _goals(
    goals: list[tuple[Formula, Condition]], reach: _Reach, places: SourceMap
) -> Iterator[LintFinding]:
    for part, needed in goals:
        if _value(needed, reach.true, reach.false) is False:
            yield places.finding(
                WARNING, 'goal-unreachable', places.section(':goal'),
                f'no sequence of actions makes {formula_text(part)} of the goal hold',
                'give an action that effect, or correct :init',
            )  # fmt: skip


def _actions(problem: Problem, reach: _Reach, domain: SourceMap) -> Iterator[LintFinding]:
    for action in problem.domain.actions.values():
        if action.name not in reach.actions:
            missing = _missing(action, reach)
            why = f': {missing}' if missing else ''
            yield domain.finding(
                WARNING, 'unreachable-action', domain.action(action.name),
                f'action {action.name!r} can never be applied in problem {problem.name!r}{why}',
                'correct :init, the objects or the precondition',
            )  # fmt: skip


def _missing(action: Action, reach: _Reach) -> str:
    """Why an action cannot be applied, where that is one predicate."""
    for part in conjuncts(action.precondition):
        if isinstance(part, AtomFormula) and part.predicate not in reach.atoms:
            return f'{part.predicate!r} is never true'
    return ''


def _holds(constraint: Constraint, parts: list[Condition], reach: _Reach, start: int) -> bool:
    """Whether a constraint holds whatever a plan does."""
    values = [_value(part, reach.true, reach.false) for part in parts]
    first, last = values[0], values[-1]
    operator = constraint.operator
    if operator in ('sometime', 'within'):
        return compile_test(parts[0])(start)
    if operator == 'at-most-once':
        return first is not None
    if operator == 'sometime-before':
        return first is False
    if operator in ('sometime-after', 'always-within'):
        return first is False or last is True
    return first is True  # always, at end, hold-during and hold-after
