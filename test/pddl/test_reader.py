# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the reader accepts, and the place and the cure in each refusal."""

from __future__ import annotations

import re

import pytest
from support import strategies

from safegen_ros.errors import ErrorCode, PddlError
from safegen_ros.pddl.model import (
    And,
    AtomFormula,
    Constraint,
    Domain,
    Equals,
    Exists,
    Forall,
    Imply,
    Not,
    Or,
    Problem,
)
from safegen_ros.pddl.reader import (
    UNUSED_REQUIREMENTS,
    problem_domain_name,
    read_domain,
    read_problem,
)
from safegen_ros.pddl.writer import domain_text, problem_text

DOMAIN = """(define (domain depot)
  (:requirements :typing)
  (:types truck crate - thing place)
  (:constants hub - place)
  (:predicates (at ?t - thing ?p - place) (in ?c - crate ?t - truck) (open) (seen ?x))
  (:action drive
    :parameters (?t - truck ?a ?b - place)
    :precondition (at ?t ?a)
    :effect (and (not (at ?t ?a)) (at ?t ?b))))
"""
DEPOT = read_domain(DOMAIN)


def _problem(
    objects: str = 't - truck c - crate p - place',
    init: str = '(at t p)',
    goal: str = '(open)',
    constraints: str = '',
) -> str:
    return (
        f'(define (problem one) (:domain depot)\n(:objects {objects})\n(:init {init})\n'
        f'(:goal {goal})\n{constraints})'
    )


# Line 1 is the title, 2 the objects, 3 the initial state, 4 the goal, 5 the constraints.
PROBLEMS = {
    'undeclared object': (_problem(goal='(at t q)'), 4, 14, "object 'q' is not declared"),
    'undeclared predicate': (_problem(goal='(att t p)'), 4, 8, "predicate 'att' is not declared"),
    'undeclared type': (_problem(objects='t - lorry'), 2, 15, "type 'lorry' is not declared"),
    'unbound variable': (_problem(goal='(at ?t p)'), 4, 12, "variable '?t' is not bound"),
    'variable out of scope': (
        _problem(goal='(and (forall (?x - truck) (at ?x p)) (at ?x p))'), 4, 49, 'is not bound'
    ),
    'too few arguments': (_problem(goal='(at t)'), 4, 8, "'at' takes 2 arguments, found 1"),
    'too many arguments': (_problem(init='(at t p p)'), 3, 8, "'at' takes 2 arguments, found 3"),
    'wrong type': (_problem(goal='(in t t)'), 4, 12, "'t' is of type truck, but 'in' takes crate"),
    'wider type': (
        _problem(goal='(forall (?x - thing) (in ?x t))'), 4, 33, "'?x' is of type thing, but 'in'"
    ),
    'variable in init': (_problem(init='(at ?t p)'), 3, 12, "variable '?t' is not bound"),
    'formula in init': (_problem(init='(and (open))'), 3, 8, "'and' in :init, which lists atoms"),
    'contradictory init': (_problem(init='(open) (not (open))'), 3, 15, 'both true and false'),
    'duplicate object': (_problem(objects='t t - truck'), 2, 13, "'t' is declared twice"),
    'constant as object': (_problem(objects='hub - crate'), 2, 1, "'hub' is a constant of type"),
    'object name': (_problem(objects='t.2 - truck'), 2, 11, "'t.2' is not a name"),
    'dash without name': (_problem(objects='- truck'), 2, 11, "'-' needs a name before it"),
    'dash without type': (_problem(objects='t -'), 2, 13, 'and a type behind it'),
    'second section': (_problem(constraints='(:goal (open))'), 5, 1, 'a second :goal section'),
    'second constraints': (
        _problem(constraints='(:constraints (always (open))) (:constraints (always (open)))'),
        5, 32, 'a second :constraints section',
    ),
    'unknown section': (_problem(constraints='(:gaol (open))'), 5, 1, "':gaol' is not a section"),
    'action in a problem': (_problem(constraints='(:action go)'), 5, 1, "':action' is not a"),
    'word as a section': (_problem(constraints='open'), 5, 1, "found 'open'"),
    'two goals': (_problem(goal='(open) (open)'), 4, 1, ':goal holds 2 formulas, not one'),
    'no goal formula': (_problem(goal=''), 4, 1, ':goal holds 0 formulas, not one'),
    'word as a goal': (_problem(goal='open'), 4, 8, "expected a formula such as (on a b)"),
    'list as an operator': (_problem(goal='((open))'), 4, 8, 'starts with a predicate'),
    'not of two': (_problem(goal='(not (open) (open))'), 4, 8, "'not' takes 1 arguments, found 2"),
    'imply of one': (_problem(goal='(imply (open))'), 4, 8, "'imply' takes 2 arguments"),
    'forall of one': (_problem(goal='(forall (?x))'), 4, 8, "'forall' takes 2 arguments"),
    'list as a term': (_problem(goal='(at (t) p)'), 4, 12, 'found a list'),
    'bad variable': (_problem(goal='(exists (x) (seen x))'), 4, 17, "'x' is not a variable"),
    'never closed': ('(define (problem one)\n (:domain depot)', 1, 1, "'(' is never closed"),
    'inner never closed': ('(define\n  (problem one', 2, 3, "'(' is never closed"),
    'closes nothing': (')', 1, 1, "')' closes nothing"),
    'one too many': (_problem() + '\n )', 6, 2, 'after the end of the definition'),
    'trailing prose': (_problem() + ' done', 5, 3, "'done' after the end of the definition"),
    'plan text': ('(pickup b1)\n(stack b1 b2)', 2, 1, 'after the end of the definition'),
    'one step': ('(pickup b1)', 1, 1, 'expected (define (problem ...) ...)'),
    'prose': ('Here is the problem:', 1, 1, "expected (define ...), found 'here'"),
    'a domain': (DOMAIN, 1, 9, 'expected (problem NAME)'),
    'no domain': ('(define (problem one) (:init) (:goal ()))', 1, 1, 'names no domain'),
    'empty domain': ('(define (problem one) (:domain))', 1, 23, ':domain takes one name'),
    'no init': ('(define (problem one) (:domain depot) (:goal ()))', 1, 1, 'has no :init'),
    'no goal': ('(define (problem one) (:domain depot) (:init))', 1, 1, 'has no :goal'),
    'title': ('(define problem)', 1, 9, "expected (problem NAME), found 'problem'"),
    'title of one': ('(define (problem))', 1, 9, 'expected (problem NAME)'),
    'odd name': ('(define (problem a/b))', 1, 18, "'a/b' is not a name for the problem"),
    'NUL': (_problem(goal='(op\0en)'), 4, 9, 'is not plain ASCII'),
    'non-ASCII': (_problem(goal='(at t \u0440)'), 4, 14, 'is not plain ASCII'),
    'a letter that folds to ASCII': (_problem(goal='(\u212a)'), 4, 9, 'is not plain ASCII'),
    'no-break space': (_problem(goal='(at\u00a0t p)'), 4, 9, 'is not plain ASCII'),
    'hidden line': (_problem(goal='(open) ; note\u2028 (at t p)\n'), 4, 15, 'a control character'),
}  # fmt: skip


@pytest.mark.parametrize('case', PROBLEMS)
def test_a_bad_problem_is_refused_at_its_place(case: str) -> None:
    text, line, column, what = PROBLEMS[case]
    with pytest.raises(PddlError) as caught:
        read_problem(text, DEPOT, 'p.pddl')
    error = caught.value
    assert what in error.what
    assert (error.line, error.column) == (line, column)
    assert error.cure
    assert error.message == f'p.pddl:{line}:{column}: {error.what}: {error.cure}'


def _domain(rest: str) -> str:
    return f'(define (domain d)\n(:predicates (p ?x) (q))\n{rest})'


def _effect(text: str) -> str:
    return _domain(f'(:action a :parameters (?x)\n:effect {text})')


UNSUPPORTED = {
    ':process': (_domain('(:process a)'), 3, 1),
    ':sensing-action': (_domain('(:sensing-action a)'), 3, 1),
    "the operator 'probabilistic'": (_effect('(probabilistic 0.5 (q))'), 4, 9),
    "the requirement ':strip'": ('(define (domain d) (:requirements :strip))', 1, 35),
    "the requirement ':open-world'": ('(define (domain d) (:requirements :open-world))', 1, 35),
    'a preference in this place': (
        _domain('(:action a :precondition (not (preference x (q))))'), 3, 31,
    ),
    'an object fluent, a function with values of type truck,': (
        _domain('(:functions (home ?x) - truck)'), 3, 25,
    ),
    'an action that senses (:sensing)': (
        _domain('(:requirements :contingent) (:action a :sensing (q))'), 3, 40,
    ),
    ':length': (_problem(constraints='(:length 3)'), 5, 1),
}  # fmt: skip


@pytest.mark.parametrize('feature', UNSUPPORTED)
def test_unsupported_features_are_refused_by_name(feature: str) -> None:
    text, line, column = UNSUPPORTED[feature]
    with pytest.raises(PddlError) as caught:
        read_problem(text, DEPOT) if '(problem' in text else read_domain(text)
    assert caught.value.code is ErrorCode.UNSUPPORTED_FEATURE
    assert caught.value.what == f'{feature} is not supported'
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.cure


@pytest.mark.parametrize('flag', sorted(UNUSED_REQUIREMENTS))
def test_a_flag_that_is_not_used_is_read(flag: str) -> None:
    domain = read_domain(f'(define (domain d) (:requirements :strips {flag}) (:predicates (q)))')
    assert list(domain.predicates) == ['q']


DOMAINS = {
    'section inside an action': (
        _domain('(:action a :effect (q)\n(:action b :effect (q))'), 4, 1,
        '(:action b ...) begins inside (:action a ...) of line 3',
    ),
    'action inside predicates': (
        '(define (domain d) (:predicates (q)\n(:action a :effect (q)))', 2, 1,
        '(:action a ...) begins inside (:predicates ...) of line 1',
    ),
    'ends too early': (
        '(define (domain d) (:predicates (q)))\n(:action a :effect (q)))', 2, 1,
        "'(' after the end of the definition, which is in line 1: remove a ')' that is too many up",
    ),
    'oneof in effect': (_effect('(oneof (q) (p))'), 4, 9, "operator 'oneof' is not supported"),
    'reserved predicate': ('(define (domain d)\n(:predicates (not ?x)))', 2, 14, "'not' cannot"),
    'type as predicate': (
        '(define (domain d) (:types a) (:predicates (p))\n(:action go :precondition (a x)))', 2, 27,
        "predicate 'a' is not declared",
    ),
    'predicate of two arities': (_domain('').replace('(q)', '(p)'), 2, 21, "with 1 arguments and"),
    'empty predicate': (_domain('').replace('(q)', '()'), 2, 21, 'an empty predicate'),
    'action twice': (_domain('(:action a)\n(:action a)'), 4, 1, "action 'a' is declared twice"),
    'nameless action': (_domain('(:action)'), 3, 1, 'an action without a name'),
    'unknown key': (_domain('(:action a :efect (q))'), 3, 12, "':efect' is out of place"),
    'sensing': (_domain('(:action a :observe (q))'), 3, 12, 'an action that senses (:observe)'),
    'key twice': (_domain('(:action a :effect (q) :effect (q))'), 3, 24, 'a second :effect in'),
    'key outside': (
        _domain('(:action a)\n:effect (q)'), 4, 1, "before it: remove the ')' in line 3"
    ),
    'list for a key': (_domain('(:action a :effect (q) (q))'), 3, 24, 'a list behind :effect of'),
    'key without value': (_domain('(:action a :effect)'), 3, 12, 'has no value'),
    'unbound in effect': (_effect('(p ?y)'), 4, 12, "variable '?y' is not bound"),
    'or in effect': (_effect('(or (q) (q))'), 4, 9, "'or' cannot stand where an atom must"),
    'when of one': (_effect('(when (q))'), 4, 9, "'when' takes 2 arguments"),
    'variable twice': (_domain('(:action a :parameters (?x ?x))'), 3, 28, "'?x' is declared twice"),
    'hidden variable': (
        _effect('(when (p ?x) (forall (?x) (p ?x)))'), 4, 30, "'?x' is bound already"
    ),
    'cyclic types': ('(define (domain d)\n(:types a - b b - a))', 2, 1, 'is above itself'),
    'object twice': ('(define (domain d)\n(:types object object))', 2, 16, "is declared twice"),
    'odd type': ('(define (domain d)\n(:types a! - b))', 2, 9, "'a!' is not a name for type"),
    'list as a predicate': (_domain('(:action a :effect ((q)))'), 3, 21, 'expected a predicate'),
}  # fmt: skip


@pytest.mark.parametrize('case', DOMAINS)
def test_a_bad_domain_is_refused_at_its_place(case: str) -> None:
    text, line, column, what = DOMAINS[case]
    with pytest.raises(PddlError) as caught:
        read_domain(text)
    assert what in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.cure


@pytest.mark.parametrize('text', ['', ' \n\t ', '; only\n; comments'])
def test_an_empty_text_has_its_own_code(text: str) -> None:
    with pytest.raises(PddlError, match='empty') as caught:
        read_problem(text, DEPOT)
    assert caught.value.code is ErrorCode.EMPTY_TASK


def test_another_domain_has_its_own_code() -> None:
    with pytest.raises(PddlError, match="for domain 'depot', not 'blocksworld'") as caught:
        read_problem(_problem(), strategies.BLOCKSWORLD)
    assert caught.value.code is ErrorCode.UNKNOWN_DOMAIN
    assert problem_domain_name(_problem()).text == 'depot'


MANY = ' '.join(f'o{index}' for index in range(1000))
TOO_LARGE = {
    'ten megabytes': 'x' * 10_000_000,
    'constraints': _problem(
        objects=MANY, init='', constraints='(:constraints (forall (?x ?y) (always (seen ?x))))'
    ),
    'nested quantifiers': _problem(
        goal='(forall (?x) (exists (?x) ' * 40 + '(seen ?x)' + '))' * 40
    ),
    'many variables': _problem(
        goal='(forall (' + ' '.join(f'?x{i}' for i in range(90)) + ') (seen ?x1))'
    ),
    'very many variables': _problem(
        goal='(forall (' + ' '.join(f'?x{i}' for i in range(9_000)) + ') (seen ?x1))'
    ),
}


@pytest.mark.parametrize('case', TOO_LARGE)
def test_what_would_not_fit_into_memory_is_refused(case: str) -> None:
    with pytest.raises(PddlError) as caught:
        read_problem(TOO_LARGE[case], DEPOT)
    assert caught.value.code is ErrorCode.TASK_TOO_LARGE


def test_an_action_that_would_not_fit_is_refused_with_the_objects() -> None:
    wide = read_domain(_domain('(:action a :precondition (forall (?x ?y ?z) (p ?x)))'))
    text = '(define (problem one) (:domain d) (:objects {}) (:init) (:goal (q)))'
    assert read_problem(text.format('a b'), wide).objects == {'a': 'object', 'b': 'object'}
    with pytest.raises(PddlError, match='parts of action a') as caught:
        read_problem(text.format(MANY), wide)
    assert caught.value.code is ErrorCode.TASK_TOO_LARGE


def test_many_effects_behind_a_long_condition_are_refused_at_once() -> None:
    effects = f'(when (and {"(q) " * 3000}) (and {"(q) (not (q)) " * 3000}))'
    with pytest.raises(PddlError, match='parts of actions') as caught:
        read_domain(_domain(f'(:action a :effect {effects})'))
    assert caught.value.code is ErrorCode.TASK_TOO_LARGE


@pytest.mark.parametrize('text', ['(' * 100_000 + ')' * 100_000, '(' * 100_000, ')' * 100_000])
def test_depth_is_bounded_without_recursion(text: str) -> None:
    with pytest.raises(PddlError):
        read_problem(text, DEPOT)
    with pytest.raises(PddlError):
        read_domain(text)


def test_case_line_ends_and_comments_do_not_matter() -> None:
    plain = read_problem(_problem(constraints='(:constraints (always (not (open))))'), DEPOT)
    loud = '(:Constraints (Always\r\n(NOT ; why \u2713\r\n (Open))))'
    loud = _problem(constraints=loud).upper().replace('\n', '\r\n').replace('\r\r', '\r')
    assert read_problem(loud, DEPOT) == plain


def test_a_lone_carriage_return_ends_a_comment() -> None:
    hidden = _problem(constraints='; note\r(:constraints (always (open)))\n')
    assert len(read_problem(hidden, DEPOT).constraints) == 1


def test_sections_may_come_in_any_order() -> None:
    text = """(define (problem one) (:constraints (sometime (open))) (:goal (open)) (:init)
      (:objects p - place) (:requirements :constraints) (:domain depot))"""
    assert read_problem(text, DEPOT).constraints == (
        Constraint('sometime', (AtomFormula('open', ()),)),
    )


def test_goal_formulas_of_every_kind() -> None:
    text = """(or (not (open)) (imply (open) (= t t))
                  (forall (?x - truck ?p - place) (exists (?x - crate) (at ?x ?p))))"""
    goal = read_problem(_problem(goal=text), DEPOT).goal
    assert isinstance(goal, Or)
    assert isinstance(goal.parts[0], Not)
    assert isinstance(goal.parts[1], Imply)
    assert goal.parts[2] == Forall(
        (('?x', 'truck'), ('?p', 'place')),
        Exists((('?x', 'crate'),), AtomFormula('at', ('?x', '?p'))),
    )
    assert read_problem(_problem(goal='()'), DEPOT).goal == And(())


def test_object_is_the_root_unless_it_is_declared_beside_other_types() -> None:
    root = read_problem(_problem(), DEPOT)
    assert root.objects_by_type()['object'] == ('hub', 't', 'c', 'p')
    assert root.objects_by_type()['thing'] == ('t', 'c')
    grippers = read_domain(
        """(define (domain gripper-strips) (:types room object robot gripper)
          (:predicates (at-robby ?r - robot ?x - room) (at ?o - object ?x - room))
          (:action lift :parameters (?o - object) :effect ()))"""
    )
    text = """(define (problem g) (:domain gripper-strips) (:objects r1 - room ball - object)
      (:init (at ball r1)) (:goal (forall (?o - object) (at ?o r1))))"""
    problem = read_problem(text, grippers)
    assert problem.objects_by_type()['object'] == ('ball',)
    assert problem.objects_by_type()['room'] == ('r1',)
    with pytest.raises(PddlError, match="'r1' is of type room, but 'at' takes object"):
        read_problem(text.replace('(at ball r1)', '(at r1 r1)'), grippers)


def test_an_action_needs_neither_parameters_nor_precondition() -> None:
    action = read_domain(_domain('(:action a :effect (q))')).actions['a']
    assert action.precondition == And(())
    assert action.parameters == ()
    for text in ('()', '(and)'):
        action = read_domain(_domain(f'(:action a :precondition {text} :effect (q))')).actions['a']
        assert action.precondition == And(())


@pytest.mark.parametrize('name', ['4-0', '2b', '7', '_x', 'a_b-c', 'at', 'end', 'within'])
def test_names_that_other_readers_fail_on(name: str) -> None:
    domain = read_domain(
        f'(define (domain {name}) (:types {name}) (:predicates ({name} ?{name} - {name}))'
        f'(:action {name} :parameters (?x - {name}) :effect ({name} ?x)))'
    )
    text = f'(define (problem {name}) (:domain {name}) (:objects {name} - {name})'
    problem = read_problem(f'{text} (:init ({name} {name})) (:goal ({name} {name})))', domain)
    assert problem.init == {(name, name)}


def test_an_object_that_looks_like_a_number_is_an_object() -> None:
    domain = read_domain('(define (domain d) (:predicates (p ?x)))')
    text = '(define (problem q) (:domain d) (:objects 1 2) (:init (p 1)) (:goal (not (= 1 2))))'
    assert read_problem(text, domain).goal == Not(Equals('1', '2'))


def test_a_dash_may_stand_right_before_its_type_and_a_variable_behind_a_name() -> None:
    domain = read_domain(
        '(define (domain d) (:types a b -c) (:predicates (p ?x -a ?y - b))'
        '(:action go :parameters (?x -b ?y -a) :effect (and (p?y ?x))))'
    )
    assert domain.types == {'a': 'c', 'b': 'c', 'c': 'object'}
    assert domain.predicates == {'p': ('a', 'b')}
    assert domain.actions['go'].parameters == (('?x', 'b'), ('?y', 'a'))
    assert domain.actions['go'].effects[0].add == (AtomFormula('p', ('?y', '?x')),)


def test_a_predicate_may_use_one_variable_for_several_places() -> None:
    domain = read_domain('(define (domain d) (:predicates (in ?obj ?obj)))')
    assert domain.predicates == {'in': ('object', 'object')}


def test_in_a_domain_without_types_objects_may_have_any() -> None:
    domain = read_domain('(define (domain d) (:predicates (p ?x)))')
    text = '(define (problem q) (:domain d) (:objects a - block b) (:init (p a)) (:goal (p b)))'
    assert read_problem(text, domain).objects == {'a': 'object', 'b': 'object'}
    with pytest.raises(PddlError, match="type 'block' is not declared"):
        read_problem(text.replace('(p b)', '(forall (?x - block) (p ?x))'), domain)


def test_a_problem_may_name_another_domain_only_when_that_is_asked_for() -> None:
    with pytest.raises(PddlError) as caught:
        read_problem(_problem().replace('depot', 'd' * 70_000), DEPOT)
    assert len(caught.value.message) < 500
    text = _problem().replace('depot', 'depots')
    with pytest.raises(PddlError, match="for domain 'depots', not 'depot'"):
        read_problem(text, DEPOT)
    assert read_problem(text, DEPOT, any_name=True) == read_problem(_problem(), DEPOT)


def test_an_object_may_start_with_an_at_sign_and_nothing_else_may() -> None:
    text = '(define (domain d) (:types t) (:constants @sink - t) (:predicates (p ?x - t)) {})'
    domain = read_domain(text.format('(:action a :effect (p @sink))'))
    problem = read_problem(
        '(define (problem one) (:domain d) (:objects @Cup - t) (:init (p @cup)) (:goal (p @sink)))',
        domain,
    )
    assert set(problem.objects) == {'@sink', '@cup'}
    for wrong in ('(:action @a :effect (p @sink))', '(:action a :parameters (?@x - t))'):
        with pytest.raises(PddlError, match='is not a name'):
            read_domain(text.format(wrong))


def _undeclared(what: str) -> str:
    return (
        f'(define (domain d) {what} (:predicates (at ?t - truck ?p - place) (open ?p - place))'
        '(:action go :parameters (?t - truck ?p - place) :precondition (not (at ?t ?p))'
        ':effect (at ?t ?p))'
    )


ASSUMED = {
    'types': (_undeclared('') + ')', ['truck', 'place'], 'truck - object place - object'),
    'objects': (
        _undeclared('(:types truck place) (:constants hub1 - place)')
        + '(:action open :parameters (?t - truck ?x - place)'
        ':precondition (and (at ?t hub) (not (= ?x p))) :effect (open hub)))',
        ['hub', 'p'],
        'hub1 - place hub - place p - place)',
    ),
    'a function': (
        _undeclared('(:types truck place)')
        + '(:action toll :parameters (?t - truck) :effect (increase (total-cost) (fee ?t))))',
        ['fee'],
        '(fee ?x0 - object)',
    ),
    'a function with other arguments': (
        _undeclared('(:types truck place) (:functions (fee) - number)')
        + '(:action toll :parameters (?t - truck) :effect (increase (total-cost) (fee ?t))))',
        ['fee'],
        '(fee ?x0 - object)',
    ),
    'the predicate of a rule': (
        _undeclared('(:types truck place)')
        + '(:derived (busy ?p - place) (exists (?t - truck) (at ?t ?p))))',
        ['busy'],
        '(busy ?x0 - place)',
    ),
    'a predicate': (
        _undeclared('(:types truck place)')
        + '(:action a :parameters (?t - truck ?p - place) :precondition (not (seen ?t))'
        ':effect (and (seen ?t) (seen ?p))))',
        ['seen'],
        '(seen ?x0 - (either place truck))',
    ),
    'a predicate with other arguments': (
        _undeclared('(:types truck place)')
        + '(:action a :parameters (?t - truck ?p - place) :effect (open ?t ?p)))',
        ['open'],
        '(open ?x0 - truck ?x1 - place)',
    ),
    'a variable of another type': (
        _undeclared('(:types truck place)')
        + '(:action a :parameters (?p - place) :precondition (at ?p ?p)))',
        ['at 1 place'],
        '(at ?x0 - (either place truck) ?x1 - place)',
    ),
    'a constant of another type': (
        _undeclared('(:types truck place) (:constants depot - place)')
        + '(:action a :parameters (?p - place) :effect (at depot ?p)))',
        ['at 1 place'],
        '(at ?x0 - (either place truck) ?x1 - place)',
    ),
    'a variable of a wider type': (
        _undeclared('(:types truck place - thing)')
        + '(:constraints (forall (?x) (always (not (open ?x))))))',
        ['open 1'],
        '(open ?x0 - object)',
    ),
}


@pytest.mark.parametrize('case', ASSUMED)
def test_what_a_domain_leaves_undeclared_and_has_one_meaning_is_read_with_a_remark(
    case: str,
) -> None:
    text, names, written = ASSUMED[case]
    domain = read_domain(text)
    assert [each.name for each in domain.remarks] == names
    declared = domain_text(domain, constraints=True)
    assert written in declared
    assert read_domain(declared) == domain
    assert not read_domain(declared).remarks
    task = (
        '(define (problem q) (:domain d) (:objects t - truck p hub - place) (:init) (:goal (and)))'
    )
    problem = read_problem(task, domain)
    assert problem.notes == tuple(map(str, domain.remarks))
    assert read_problem(problem_text(problem), domain) == problem


def test_a_slip_of_the_pen_in_a_domain_is_no_declaration() -> None:
    typed = _undeclared('(:types truck place)')
    for slip, error in (
        ('(:action a :parameters (?t - truck) :precondition (at t ?t))', "did you mean '?t'?"),
        (
            '(:action a :parameters (?p - place) :precondition (open ?p) :effect (open ?p ?p))',
            "predicate 'open' takes 1 arguments, found 2",
        ),
        (
            '(:action a :parameters (?p - place) :precondition (open ?p ?p) :effect (open ?p))',
            "predicate 'open' takes 2 arguments, found 1",
        ),
        (
            '(:action a :effect (open)) (:derived (open ?p) (exists (?t - truck) (at ?t ?p)))',
            "predicate 'open' takes 1 arguments, found 0",
        ),
        ('(:constraints (always (open)))', "predicate 'open' takes 1 arguments, found 0"),
        ('(:constraints (forall (?p - place) (always (at ?p ?p))))', 'of type place, but'),
        ('(:constraints (forall (?p - plaec) (always (open ?p))))', "mean 'place'? declare it in"),
        ('(:action a :effect (increase (fee) 1))', "function 'fee' is not declared"),
        ('(:action a :precondition (< (fee) 1))', "function 'fee' is not declared"),
        ('(:constraints (always (seen)))', "predicate 'seen' is not declared"),
        ('(:action a :effect (opened))', "predicate 'opened' is not declared in domain d: did you"),
        ('(:action a :effect (place))', 'it is a type, which is not a predicate'),
        ('(:action a :precondition (equal t t))', "'equal' is not supported: write (= A B)"),
        (
            '(:action a :parameters (?t - truck) :precondition (seen) :effect (seen ?t))',
            "predicate 'seen' takes 0 arguments, found 1",
        ),
        (
            '(:action a :effect (seen)) (:action b :effect (and (seen) (seeen)))',
            "predicate 'seeen' is not declared in domain d: did you mean 'seen'?",
        ),
    ):
        with pytest.raises(PddlError, match=re.escape(error)):
            read_domain(f'{typed}{slip})')
    task = '(define (problem q) (:domain d) (:objects t - truck) (:init) (:goal (and)))'
    many = ' '.join(f'(seen {chr(97 + n // 26) * 5}{chr(97 + n % 26) * 5})' for n in range(150))
    with pytest.raises(PddlError, match='is not declared: what a domain names must stand in its'):
        read_domain(f'(define (domain d) (:predicates (seen ?x)) (:action a :effect (and {many})))')
    with pytest.raises(PddlError, match="type 'place' is not declared in the domain, nor here"):
        read_problem(task, read_domain(ASSUMED['types'][0]))
    with pytest.raises(PddlError, match=r"object 'hub' .* nor here: did you mean 'hub1'\?"):
        read_problem(task, read_domain(ASSUMED['objects'][0]))
    with pytest.raises(PddlError, match=r"type 'trucks' .* nor here: did you mean 'truck'\?"):
        read_problem(task, read_domain(f'{typed}(:action a :parameters (?t - trucks)))'))


WAITING = '(:action wait :parameters (?p - place) :precondition {} :effect {})'
NEVER = '(always (not (at p p)))'


@pytest.mark.parametrize(
    ('asked', 'effect', 'init', 'constraint', 'read'),
    [
        ('(at ?p ?p)', '(open ?p)', '', '(and)', True),  # the action never applies
        ('(not (at ?p ?p))', '(open ?p)', '', '(and)', False),
        ('(imply (at ?p ?p) (open ?p))', '(open ?p)', '', '(and)', False),
        ('(open ?p)', '(when (at ?p ?p) (not (open ?p)))', '', '(and)', False),
        ('(at ?p ?p)', '(open ?p)', '', NEVER, False),
        ('(not (at ?p ?p))', '(open ?p)', '(at p p)', '(and)', True),
        ('(not (at ?p ?p))', '(open ?p)', '(at t p)', '(and)', False),
        ('(not (at ?p ?p))', '(at ?p ?p)', '', NEVER, True),
        ('(open ?p)', '(not (at ?p ?p))', '', NEVER, False),
    ],
)
def test_an_atom_of_another_type_that_nothing_makes_true_asks_for_nothing(
    asked: str, effect: str, init: str, constraint: str, read: bool
) -> None:
    text = f'{_undeclared("(:types truck place)")} {WAITING.format(asked, effect)})'
    task = (
        f'(define (problem q) (:domain d) (:objects t - truck p - place) (:init {init})'
        f'(:goal (and)) (:constraints {constraint}))'
    )
    if read:
        assert len(read_problem(task, read_domain(text)).notes) == 1
        return
    with pytest.raises(PddlError, match='takes truck here, and nothing makes it true of one'):
        read_problem(task, read_domain(text))


@pytest.mark.parametrize(
    ('asked', 'effect', 'init', 'goal', 'read'),
    [
        ('(shut ?p)', '(open ?p)', '', '(and)', True),  # the action never applies
        ('(shut ?p)', '(open ?p)', '', '(not (shut p))', False),
        ('(not (shut ?p))', '(open ?p)', '', '(and)', False),
        ('(not (shut ?p))', '(not (shut ?p))', '', '(and)', False),
        ('(not (shut ?p))', '(shut ?p)', '', '(shut p)', True),
        ('(not (shut ?p))', '(open ?p)', '(shut p)', '(and)', True),
    ],
)
def test_an_undeclared_atom_that_nothing_makes_true_asks_for_nothing(
    asked: str, effect: str, init: str, goal: str, read: bool
) -> None:
    domain = read_domain(f'{_undeclared("(:types truck place)")} {WAITING.format(asked, effect)})')
    task = f'(define (problem q) (:domain d) (:objects p - place) (:init {init}) (:goal {goal}))'
    if read:
        assert len(read_problem(task, domain).notes) == 1
        return
    with pytest.raises(PddlError, match="'shut' is not declared, and nothing makes it true"):
        read_problem(task, domain)


TYPED = read_domain(
    """(define (domain d) (:types a b a - top small - a both - (either b a) top other)
      (:constants k - (either b other))
      (:predicates (pa ?x - a) (pb ?x - b) (pab ?x - (either b a)) (any ?x))
      (:action go :parameters (?x - (either a b a) ?y - (either other))
        :effect (and (pab ?x) (any ?y))))"""
)


def _typed(objects: str, goal: str = '()', domain: Domain = TYPED) -> Problem:
    return read_problem(
        f'(define (problem p) (:domain d) (:objects {objects}) (:init) (:goal {goal}))', domain
    )


def test_either_of_a_place_is_one_of_its_types_and_of_a_thing_all_of_them() -> None:
    assert TYPED.predicates['pab'] == ('a|b',)
    assert TYPED.actions['go'].parameters == (('?x', 'a|b'), ('?y', 'other'))
    assert TYPED.types['both'] == 'a&b'
    assert TYPED.constants == {'k': 'b&other'}
    assert read_domain(domain_text(TYPED)) == TYPED


@pytest.mark.parametrize(
    ('kind', 'wanted', 'fits'),
    [
        ('a', 'a|b', True), ('small', 'a|b', True), ('other', 'a|b', False),
        ('a|b', 'a', False), ('a|b', 'a|b', True), ('a|b', 'top', True), ('a|small', 'a', True),
        ('a|b', 'object', True), ('a|b', 'a|b|other', True), ('a|other', 'a|b', False),
        ('both', 'a', True), ('both', 'b', True), ('both', 'top', True), ('a', 'both', False),
        ('b&other', 'b', True), ('b&other', 'other', True), ('b&other', 'a', False),
        ('b&other', 'a|other', True), ('both|small', 'a', True), ('object', 'a', False),
    ],
)  # fmt: skip
def test_which_type_may_stand_for_which(kind: str, wanted: str, fits: bool) -> None:
    assert TYPED.is_subtype(kind, wanted) is fits


def test_what_a_variable_ranges_over() -> None:
    problem = _typed('x - a y - b z - small w - both v - (either a other) o - other')
    objects = problem.objects_by_type()
    assert objects['a'] == ('x', 'z', 'w', 'v')
    assert objects['b'] == ('k', 'y', 'w')
    assert objects['a|b'] == ('k', 'x', 'y', 'z', 'w', 'v')
    assert objects['other|small'] == ('k', 'z', 'v', 'o')
    assert objects['object'] == tuple(problem.objects)
    with pytest.raises(KeyError):
        objects['a|lorry']
    assert read_problem(problem_text(problem), TYPED) == problem


@pytest.mark.parametrize(
    ('goal', 'refused'),
    [
        ('(and (pa w) (pb w) (pab w))', ''),
        ('(and (pa v) (pab v))', ''),
        ('(pb v)', "'v' is of type a&other, but 'pb' takes b here"),
        ('(forall (?x - (either a b)) (pab ?x))', ''),
        ('(forall (?x - (either a b)) (pa ?x))', "'?x' is of type a|b, but 'pa' takes a here"),
        ('(exists (?x - (either small both)) (pa ?x))', ''),
        ('(exists (?x - (either a lorry)) (any ?x))', "type 'lorry' is not declared"),
        ('(exists (?x - (either)) (any ?x))', "'either' names no type"),
        ('(exists (?x - (either (either a))) (any ?x))', 'expected a type, found a list'),
    ],
)
def test_either_in_formulas(goal: str, refused: str) -> None:
    objects = 'w - both v - (either a other)'
    if refused:
        with pytest.raises(PddlError) as caught:
            _typed(objects, goal)
        assert refused in caught.value.what
    else:
        _typed(objects, goal)


@pytest.mark.parametrize(
    ('goal', 'cure'),
    [
        ('(exists (?x) (pab ?x))', 'declare ?x - (either a b)'),
        ('(exists (?x) (pa ?x))', 'declare ?x - a'),
        ('(exists (?x - other) (pa ?x))', 'change one'),
    ],
)
def test_a_variable_of_a_wider_type_is_told_the_type_to_declare(goal: str, cure: str) -> None:
    with pytest.raises(PddlError) as caught:
        _typed('w - a', goal)
    assert caught.value.cure == cure


def test_a_type_listed_twice_has_both_parents() -> None:
    # The Storage domain of the fifth planning competition is written so.
    domain = read_domain(
        """(define (domain d) (:types hoist surface place area - object depot - place
          storearea - area area crate - surface) (:predicates (on ?x - surface)))"""
    )
    assert domain.types['area'] == 'surface'  # `object` is above all of them anyhow
    assert domain.is_subtype('storearea', 'surface')
    twice = read_domain('(define (domain d) (:types top - object a b - top c - a c - b c - top))')
    assert twice.types['c'] == 'a&b&top'
    assert read_domain(domain_text(twice)) == twice


def test_an_object_listed_twice_has_both_types() -> None:
    # The full Miconic domain of the second planning competition has such passengers.
    problem = _typed('x y - a x - b')
    assert problem.objects == {'k': 'b&other', 'x': 'a&b', 'y': 'a'}
    assert problem.objects_by_type()['b'] == ('k', 'x')
    with pytest.raises(PddlError, match="object 'x' is declared twice"):
        _typed('x y - a x - a')


def test_a_type_before_itself_is_above_the_others() -> None:
    # As VAL and Fast Downward read it; models write it often.
    domain = read_domain('(define (domain d) (:types block tool gripper - tool))')
    assert domain.types == {'block': 'tool', 'tool': 'object', 'gripper': 'tool'}
    assert read_domain('(define (domain d) (:types a - a))').types == {'a': 'object'}


def test_a_predicate_may_be_declared_for_several_types() -> None:
    domain = read_domain(
        '(define (domain d) (:types a b) (:predicates (at ?x - a ?y - b) (at ?x - b ?y - b)'
        ' (any ?x) (any ?x - a) (q ?x - (either b a)) (q ?x - a)))'
    )
    assert domain.predicates == {'at': ('a|b', 'b'), 'any': ('object',), 'q': ('a|b',)}
    apart = '(define (domain d) (:types a object) (:predicates (p ?x - a) (p ?x - object)))'
    assert read_domain(apart).predicates == {'p': ('a|object',)}


def test_a_group_of_objects_may_be_empty() -> None:
    assert _typed('x y - a - b').objects == {'k': 'b&other', 'x': 'a', 'y': 'a'}


@pytest.mark.parametrize('names', ['x - a X - b', 'x X - a', 'X - a x - b'])
def test_names_that_differ_in_capitals_are_refused(names: str) -> None:
    with pytest.raises(PddlError, match='are one name, as PDDL has no capitals'):
        _typed(names)
    with pytest.raises(PddlError, match='are one name, as PDDL has no capitals'):
        read_domain(f'(define (domain d) (:types a b {names.replace("-", "z -", 1)}))')


def test_what_stands_for_a_type_is_told() -> None:
    with pytest.raises(PddlError, match=r"'robot' is not a variable.*write \?r - robot"):
        read_domain('(define (domain d) (:types robot) (:predicates (p ?r robot)))')


@pytest.mark.parametrize(
    'types', ['a - b b - a', 'a - (either b c) b - a c', 'a - b b - c c - (either a d)']
)
def test_circles_are_refused(types: str) -> None:
    with pytest.raises(PddlError, match='is above itself'):
        read_domain(f'(define (domain d) (:types {types}))')


@pytest.mark.parametrize(('height', 'read'), [(99, True), (101, False)])
def test_towers_of_types_are_limited(height: int, read: bool) -> None:
    text = ' '.join(f't{i} - t{i + 1}' for i in range(height))
    if read:
        assert len(read_domain(f'(define (domain d) (:types {text}))').types) == height + 1
    else:
        with pytest.raises(PddlError, match='below more than'):
            read_domain(f'(define (domain d) (:types {text}))')
