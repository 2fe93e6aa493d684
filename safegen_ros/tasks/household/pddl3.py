# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Households in PDDL 3: constraints that the core's monitors watch, traces that it verifies.

The objects are those of the household and all pieces that they can become; those that are not
there have no atom. The predicates are the fields of AI2-THOR's metadata in lower case, `in` for
things in or on another one, however deep, and `present`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from safegen_ros.pddl.model import Atom, Domain, Problem, State
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.tasks.household.constraints import (
    FLAGS,
    TEXTS,
    Constraint,
    ObjectCondition,
    Objects,
    StepConstraint,
    SubGoal,
    known_texts,
)
from safegen_ros.tasks.household.kinds import kinds, members


@lru_cache(maxsize=4096)  # asked for every object at every moment
def object_name(name: str) -> str:
    """The PDDL name of an object, `mug-1` for `Mug (1)`; other characters become `-`."""
    return ''.join(c if c.isalnum() else '-' for c in name.lower().replace(' (', '-').rstrip(')'))


def universe(objects: Objects) -> dict[str, str]:
    """The PDDL names of all objects that there can be, with their classes."""
    named = [each for each in objects if each['objectType'] in kinds()]
    found = {object_name(each['objectId']): each['objectType'] for each in named}
    counts = Counter(each['objectType'] for each in named)
    for name, number in list(counts.items()):
        kind = kinds()[name]
        if kind.becomes:
            counts[kind.becomes] += number * kind.pieces
        if kind.breaks:
            counts[kind.breaks] += number
    for name, number in counts.items():
        for each in range(1, number + 1):
            found.setdefault(object_name(f'{name} ({each})'), name)
    return found


def atoms(objects: Objects) -> State:
    """What is true of the objects; those of classes that nothing can name are left out."""
    found: set[Atom] = set()
    types = {each['objectId']: each['objectType'] for each in objects}
    for each in objects:
        if each['objectType'] not in kinds():
            continue
        name = object_name(each['objectId'])
        found.add(('present', name))
        found.update((flag.lower(), name) for flag in FLAGS if each[flag])
        for key, field in TEXTS.items():
            if each[field]:
                found.add((_valued(key, each[field]), name))
        found.update(
            ('in', name, object_name(parent))
            for parent in each['parentReceptacles'] or ()
            if types.get(parent) in kinds()
        )
    return frozenset(found)


def constraint_text(constraint: Constraint) -> str:
    """A constraint in PDDL 3."""
    trigger = _formula(constraint.trigger, '?x')
    if isinstance(constraint, StepConstraint):
        body = f'(always-within {constraint.within} {trigger} {_formula(constraint.goal, "?x")})'
    else:
        body = f'(always (not (and {trigger} {_formula(constraint.avoid, "?x")})))'
    return f'(forall (?x - {_type(constraint.classes)}) {body})'


def triggered_text(constraint: Constraint) -> str:
    """That the trigger of a constraint holds at some time, in PDDL 3."""
    body = f'(exists (?x - {_type(constraint.classes)}) {_formula(constraint.trigger, "?x")})'
    return f'(sometime {body})'


def goal_text(goal: SubGoal) -> str:
    """A sub-goal in PDDL."""
    return f'(exists (?x - {_type(members(goal.name))}) {_formula(goal.condition, "?x")})'


def domain_text(objects: str = '', actions: Iterable[str] = ()) -> str:
    """The domain."""
    values = [_valued(key, value) for key, values in known_texts().items() for value in values]
    unary = ['present', *(flag.lower() for flag in FLAGS), *values]
    return '\n'.join(
        [
            '(define (domain household)',
            '(:requirements :adl :constraints)',
            f'(:types {" ".join(name.lower() for name in kinds())} - object)',
            *([f'(:constants {objects})'] if objects else []),
            '(:predicates (in ?x ?y)',
            *(f'  ({name} ?x)' for name in unary),
            ')',
            *actions,
            ')',
        ]
    )


def problem(objects: Objects, constraints: Iterable[str], goals: Iterable[SubGoal] = ()) -> Problem:
    """A problem that asks for constraints, and perhaps for sub-goals.

    Args:
        objects: what is there at first.
        constraints: in PDDL 3.
    """
    goal = f'(and {" ".join(goal_text(each) for each in goals)})'
    return read_problem(_problem_text(objects, constraints, goal), _observed_domain())


@cache
def _observed_domain() -> Domain:
    return read_domain(domain_text())


def trace_texts(
    trace: Sequence[Objects], constraints: Sequence[Constraint], goals: Sequence[SubGoal]
) -> tuple[str, str, str]:
    """A trace as domain, problem and plan, for any PDDL 3 validator.

    Each step is a separate action, `(step-1)`, with the observed effects.
    """
    states = [atoms(objects) for objects in trace]
    actions = [
        _action(number, before, after) for number, (before, after) in enumerate(pairwise(states), 1)
    ]
    texts = [constraint_text(constraint) for constraint in constraints]
    goal = f'(and {" ".join(goal_text(each) for each in goals)})'
    plan = '\n'.join(f'(step-{number})' for number in range(1, len(trace)))
    domain = domain_text(_typed(trace[0]), actions)
    return domain, _problem_text(trace[0], texts, goal, declared=False), plan


def _action(number: int, before: State, after: State) -> str:
    effects = [
        *(_atom(atom) for atom in sorted(after - before)),
        *(f'(not {_atom(atom)})' for atom in sorted(before - after)),
    ]
    done = ' '.join(effects)
    return f'(:action step-{number} :parameters () :precondition (and) :effect (and {done}))'


def _typed(objects: Objects) -> str:
    return ' '.join(f'{name} - {kind.lower()}' for name, kind in universe(objects).items())


def _problem_text(
    objects: Objects, constraints: Iterable[str], goal: str, *, declared: bool = True
) -> str:
    return '\n'.join(
        [
            '(define (problem household-trace) (:domain household)',
            f'(:objects {_typed(objects) if declared else ""})',
            f'(:init {" ".join(_atom(atom) for atom in sorted(atoms(objects)))})',
            f'(:goal {goal})',
            f'(:constraints (and {" ".join(constraints)})))',
        ]
    )


def _formula(condition: ObjectCondition, variable: str) -> str:
    parts = [f'(present {variable})']
    for key, value in condition.fields:
        if isinstance(value, str):
            parts.append(f'({_valued(key, value)} {variable})')
        else:
            atom = f'({key.lower()} {variable})'
            parts.append(atom if value else f'(not {atom})')
    if condition.child:
        parts.append(f'(exists (?y - {_type(condition.child)}) (in ?y {variable}))')
    if condition.parent:
        parts.append(f'(exists (?z - {_type(condition.parent)}) (in {variable} ?z))')
    if condition.not_on:
        parts.append(f'(not (exists (?z - {_type(condition.not_on)}) (in {variable} ?z)))')
    return f'(and {" ".join(parts)})'


def _valued(key: str, value: str) -> str:
    return f'{key.lower().replace("_", "-")}-{value.lower()}'


def _type(classes: Sequence[str]) -> str:
    names = [name.lower() for name in classes]
    return names[0] if len(names) == 1 else f'(either {" ".join(names)})'


def _atom(atom: Atom) -> str:
    return f'({" ".join(atom)})'
