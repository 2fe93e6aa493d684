# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a format writes it reads back unchanged, and what is not text of it is refused."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
from hypothesis import given
from support import strategies

from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.pddl.model import (
    ALL_OF,
    ANY_OF,
    And,
    AtomFormula,
    Constraint,
    Domain,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Problem,
)
from safegen_ros.pddl.reader import read_domain
from safegen_ros.pddl.sexpr import MAX_TEXT
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.kit import DomainKit
from safegen_ros.tasks.pddl3.formats import FORMATS

EVERY = pytest.mark.parametrize('name', FORMATS)


def _equal(name: str, problem: Problem) -> bool:
    form = FORMATS[name]
    text = form.write(problem)
    again = form.read(text, problem.domain, 'x')
    assert form.domain_name(text, 'x') == problem.domain.name
    # Comparing problems does not look at the order of objects.
    return again == problem and sorted(again.objects) == sorted(problem.objects)


@EVERY
@strategies.examples(80)
@given(strategies.SEEDS)
def test_any_problem_is_read_back_unchanged(name: str, seed: int) -> None:
    problem = strategies.problem(random.Random(seed))
    assert _equal(name, problem), FORMATS[name].write(problem)


@EVERY
@pytest.mark.parametrize('kit', kits().values(), ids=list(kits()))
def test_every_family_is_read_back_unchanged(name: str, kit: DomainKit) -> None:
    for family in kit.families:
        for seed in range(3):
            problem = kit.problem(seed, family=family).problem
            assert _equal(name, problem), FORMATS[name].write(problem)


def _deep(depth: int, domain: Domain) -> Problem:
    body: Formula = AtomFormula('clear', ('?x0',))
    for level in range(depth):
        body = [
            Not(body),
            And((body, body)) if level < 8 else And((body,)),
            Or((body,)),
            Forall(((f'?y{level}', 'object'),), body),
        ][level % 4]
    body = Exists((('?x0', 'object'),), body)
    constraint = Constraint('always', (body,))
    return Problem('deep', domain, {'a': 'object'}, frozenset(), And(()), (constraint,))


@EVERY
def test_deep_formulas_are_read_back(name: str) -> None:
    assert _equal(name, _deep(90, strategies.BLOCKSWORLD))


ODD = """(define (domain the) (:types if - object or then - if)
  (:predicates (is ?x - if) (at) (not-true ?x ?y) (every ?x - (either or then)))
  (:action for :parameters (?a - if) :effect (is ?a)))"""
ODD_PROBLEM = """(define (problem problem) (:domain the)
  (:objects and or - or the some - then b1 5 - if nothing x)
  (:init (is and) (at) (not-true the x) (every some))
  (:goal (exists (?x ?is - (either or then) ?5 - if) (and (every ?x) (is ?is) (not (= ?5 x)))))
  (:constraints (and (always (or (is or) (not (is the)) (not-true nothing 5)))
    (forall (?and - or) (hold-during 2 7 (forall (?x) (imply (= ?x ?and) (exists (?x) (= ?x x))))))
    (within 1 (and)) (at end (or)) (sometime (not (not (at)))))))"""


@EVERY
def test_names_that_are_words_of_a_format(name: str) -> None:
    problem = FORMATS['pddl'].read(ODD_PROBLEM, read_domain(ODD), 'x')
    assert len(problem.constraints) == 6
    assert _equal(name, problem), FORMATS[name].write(problem)


WORDS = (
    'is are and or not the a if then for every some of type nothing at all any both there be true '
    'before after time times problem domain goal rules start end when whenever within step steps '
    'holds does hold same as define object objects init always sometime imply exists forall either '
    'pred args name formula variables x y b1 1 42 007 a-b a--b _ __x 9to5 X-1'
).lower().split()  # fmt: skip
"""Legal names that are words or marks of one format or another."""


HEADS = {'and', 'or', 'not', 'imply', 'exists', 'forall', 'when'}
"""Those of them that PDDL does not take as names of predicates."""


def _odd_kind(rng: random.Random, types: dict[str, str], joint: str) -> str:
    if len(types) > 1 and rng.random() < 0.2:
        return joint.join(sorted(rng.sample(list(types), rng.randint(2, min(3, len(types))))))
    return rng.choice(list(types) or ['object'])


def _odd(rng: random.Random) -> Problem:
    """A problem whose predicates, types, constants and objects are odd words, often the same."""
    pool = rng.sample(sorted(set(WORDS) - {'object', 'either'}), 20)
    kinds = rng.sample(pool, rng.randint(1, 4)) if rng.random() < 0.7 else []
    types = {kind: rng.choice([*kinds[:place], 'object']) for place, kind in enumerate(kinds)}
    names = rng.sample(pool, rng.randint(1, 8))
    constants = {name: _odd_kind(rng, types, ALL_OF) for name in names[: rng.randint(0, 2)]}
    objects = {
        **constants,
        **{n: _odd_kind(rng, types, ALL_OF) for n in names if n not in constants},
    }
    heads = rng.sample([word for word in pool if word not in HEADS], 5)
    predicates = {
        predicate: tuple(_odd_kind(rng, types, ANY_OF) for _ in range(arity))
        for predicate, arity in zip(heads, (0, 1, 2, 4, rng.randint(3, 7)), strict=True)
    }
    domain = Domain(rng.choice(pool), types, constants, predicates, {})
    init = frozenset(strategies.ground_atom(rng, domain, objects) for _ in range(4))
    goal = _with_odd_variables(rng, strategies.formula(rng, domain, objects, 3))
    constraints = [strategies.constraint(rng, domain, objects) for _ in range(rng.randint(0, 4))]
    odd = tuple(
        replace(c, arguments=tuple(_with_odd_variables(rng, f) for f in c.arguments))
        for c in dict.fromkeys(constraints)
    )
    return Problem(rng.choice(pool), domain, objects, init, goal, tuple(dict.fromkeys(odd)))


def _with_odd_variables(rng: random.Random, formula: Formula) -> Formula:
    """The formula with odd words for its variables x, y and z, the same ones everywhere."""
    words = iter(rng.sample(WORDS, 3))
    new = {f'?{old}': f'?{word}' for old, word in zip('xyz', words, strict=True)}

    def renamed(part: Formula) -> Formula:
        if isinstance(part, (Forall, Exists)):
            variables = tuple((new[name], kind) for name, kind in part.variables)
            return replace(part, variables=variables, body=renamed(part.body))
        if isinstance(part, (And, Or)):
            return replace(part, parts=tuple(map(renamed, part.parts)))
        if isinstance(part, Imply):
            return Imply(renamed(part.premise), renamed(part.conclusion))
        if isinstance(part, Not):
            return Not(renamed(part.body))
        if isinstance(part, Equals):
            return Equals(new.get(part.left, part.left), new.get(part.right, part.right))
        return replace(part, terms=tuple(new.get(term, term) for term in part.terms))

    return renamed(formula)


@EVERY
@strategies.examples(120)
@given(strategies.SEEDS)
def test_odd_names_are_read_back(name: str, seed: int) -> None:
    problem = _odd(random.Random(seed))
    assert _equal(name, problem), FORMATS[name].write(problem)


def test_odd_problems_have_everything_in_them() -> None:
    """Otherwise the test above would show little."""
    problems = [_odd(random.Random(seed)) for seed in range(300)]
    assert {c.operator for p in problems for c in p.constraints} == set(strategies.OPERATORS)
    texts = ' '.join(FORMATS['pddl'].write(p) for p in problems)
    for word in ('(and', '(or', '(not', '(imply', '(forall', '(exists', '(either', '(= '):
        assert word in texts
    assert any({*p.objects} & {*p.domain.predicates} & {*p.domain.types} for p in problems)
    assert any(len(atom) > 6 for p in problems for atom in p.init)
    assert any(p.domain.constants for p in problems)
    assert any(not p.domain.types for p in problems)


def _mutated(rng: random.Random, text: str) -> str:
    pieces = re.findall(r'\w+|\s+|.', text)
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(pieces))
        kind = rng.randrange(5)
        if kind == 0:
            pieces[place] = ''
        elif kind == 1:
            pieces.insert(place, rng.choice(pieces))
        elif kind == 2:
            pieces[place] = rng.choice(['', '"', '(', ')', '{', ']', '?', '\\', '-', '\u2028', '9'])
        elif kind == 3:
            other = rng.randrange(len(pieces))
            pieces[place], pieces[other] = pieces[other], pieces[place]
        else:
            pieces = pieces[: place + 1]
    return ''.join(pieces)


@EVERY
@strategies.examples(120)
@given(strategies.SEEDS)
def test_a_spoilt_text_is_refused_at_a_place_in_it_or_says_something_else(
    name: str, seed: int
) -> None:
    rng = random.Random(seed)
    problem = strategies.problem(rng)
    text = _mutated(rng, FORMATS[name].write(problem))
    try:
        again = FORMATS[name].read(text, problem.domain, 'spoilt')
    except PddlError as error:
        lines = text.split('\n')
        for each in error.errors:
            assert each.source == 'spoilt'
            assert 1 <= each.line <= len(lines)
            assert 1 <= each.column <= len(lines[each.line - 1]) + 1
            assert '<words>' not in each.message
    else:
        assert _equal(name, again)


@EVERY
def test_an_error_in_a_name_stands_where_the_name_does(name: str) -> None:
    problem = kits()['grippers'].problem(1, family='delivery-order').problem
    text = FORMATS[name].write(problem)
    before, after = text.rsplit('ball', 1)
    with pytest.raises(PddlError, match='declared') as caught:
        FORMATS[name].read(f'{before}boll{after}', problem.domain, 'p')
    spoilt = f'{before}boll{after}'.split('\n')[caught.value.line - 1]
    assert spoilt[caught.value.column - 1 :].lstrip('"').startswith('boll')


@EVERY
def test_constraints_know_where_they_were_written(name: str) -> None:
    problem = kits()['spanner'].problem(1, family='tightening-order').problem
    text = FORMATS[name].write(problem)
    again = FORMATS[name].read(text, problem.domain, 'p.txt')
    lines = [int(constraint.place.split(':')[1]) for constraint in again.constraints]
    assert all(constraint.place.startswith('p.txt:') for constraint in again.constraints)
    assert lines == sorted(set(lines))
    assert all(re.search('ight|shed', text.split('\n')[line - 1]) for line in lines)


@EVERY
def test_another_domain_is_refused(name: str) -> None:
    problem = kits()['spanner'].problem(1).problem
    text = FORMATS[name].write(problem)
    with pytest.raises(PddlError, match="for domain 'spanner', not 'blocksworld'") as caught:
        FORMATS[name].read(text, strategies.BLOCKSWORLD, 'p')
    assert caught.value.code is ErrorCode.UNKNOWN_DOMAIN


@EVERY
@pytest.mark.parametrize('text', ['', ' \n', 'x' * (MAX_TEXT + 1), '\x00', '(((', '{"a"', '\ud800'])
def test_what_is_no_text_of_a_format_is_refused(name: str, text: str) -> None:
    with pytest.raises(PddlError):
        FORMATS[name].read(text, strategies.BLOCKSWORLD, 'p')
    with pytest.raises(PddlError):
        FORMATS[name].domain_name(text, 'p')


@pytest.mark.parametrize(
    ('more', 'said'),
    [
        (':durative-action a :parameters () :duration (= ?duration 1)', 'take time'),
        (':action a :parameters () :precondition (> (n) 1)', 'does not know numbers'),
        (':constraints (preference w (sometime (p)))', 'no words for the preferences'),
    ],
)
def test_what_english_cannot_say_is_refused_by_name(more: str, said: str) -> None:
    domain = read_domain(f'(define (domain d) (:predicates (p)) (:functions (n)) ({more}))')
    goal = '(preference w (p))' if 'preference' in more else '(p)'
    text = f'(define (problem x) (:domain d) (:init (= (n) 2)) (:goal {goal}))'
    problem = FORMATS['pddl'].read(text, domain, 'x')
    with pytest.raises(SafegenError, match=said):
        FORMATS['english'].write(problem)
    assert _equal('json', problem)
