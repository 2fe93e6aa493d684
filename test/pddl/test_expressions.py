# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Numbers in a domain and a problem: functions, expressions, effects, values and metrics."""

from __future__ import annotations

from decimal import Decimal

import pytest

from safegen_ros.errors import ErrorCode, PddlError
from safegen_ros.pddl import limits
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.deciding import deciding_functions
from safegen_ros.pddl.derived import levels
from safegen_ros.pddl.model import AtomFormula, Equals, Problem
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import domain_text, expression_text, formula_text, problem_text
from safegen_ros.verify.validator import verify

FUNCTIONS = '(total-cost) - number (distance ?a ?b - place) (fee) (weight ?x ?x) - number'


def _domain(effect: str = '(open)', functions: str = FUNCTIONS, precondition: str = '()') -> str:
    return (
        '(define (domain depot) (:requirements :typing :action-costs) (:types place truck)\n'
        f'(:predicates (open) (at ?p - place))\n(:functions {functions})\n'
        f'(:action go :parameters (?a ?b - place) :precondition {precondition}\n:effect {effect}))'
    )


def _problem(init: str = '', rest: str = '') -> str:
    return (
        '(define (problem one) (:domain depot) (:objects p q - place t - truck)\n'
        f'(:init (open)\n{init})\n(:goal (at q))\n{rest})'
    )


COSTED = read_domain(_domain('(and (open) (increase (total-cost) (distance ?a ?b)))'))


@pytest.mark.parametrize('operator', ['assign', 'increase', 'decrease', 'scale-up', 'scale-down'])
@pytest.mark.parametrize(
    'value',
    ['5', '0.5', '(distance ?a ?b)', '(fee)', '(* 2 (distance ?a ?b))', '(+ (fee) (total-cost) 1)'],
)
@pytest.mark.parametrize(
    'around', ['{}', '(and (open) {})', '(when (at ?a) {})', '(forall (?x - place) {})']
)
def test_numeric_effects_are_read_and_written(operator: str, value: str, around: str) -> None:
    domain = read_domain(_domain(around.format(f'({operator} (fee) {value})')))
    (effect,) = domain.actions['go'].numeric
    assert (effect.operator, effect.target) == (operator, AtomFormula('fee', ()))
    assert expression_text(effect.value) == value
    assert bool(effect.variables) is ('forall' in around)
    assert len(domain.actions['go'].effects) == ('open' in around)
    assert read_domain(domain_text(domain)) == domain


@pytest.mark.parametrize(
    'text',
    [
        '(>= (fee) 1.5)', '(< (distance ?a ?b) (* 2 (- (fee))))', '(= (fee) (total-cost))',
        '(= 3 (fee))', '(not (= (fee) -2))', '(exists (?x - place) (<= (distance ?x ?a) 1))',
    ],
)  # fmt: skip
def test_comparisons_are_read_and_written(text: str) -> None:
    domain = read_domain(_domain(precondition=text))
    assert formula_text(domain.actions['go'].precondition, typed=True) == text
    assert read_domain(domain_text(domain)) == domain


def test_equality_compares_objects_where_both_sides_are_objects() -> None:
    assert read_domain(_domain(precondition='(= ?a ?b)')).actions['go'].precondition == Equals(
        '?a', '?b'
    )


def test_functions_have_types() -> None:
    assert dict(COSTED.functions) == {
        'total-cost': (), 'distance': ('place', 'place'), 'fee': (), 'weight': ('object', 'object'),
    }  # fmt: skip
    assert COSTED.actions['go'].effects[0].add == (AtomFormula('open', ()),)


@pytest.mark.parametrize(
    'rest',
    [
        '(:metric minimize (total-cost))', '(:metric minimize (total-time))',
        '(:metric minimize total-time)', '(:metric maximize (+ (* 2 (total-cost)) (fee)))',
    ],
)  # fmt: skip
def test_values_and_metrics_are_read_and_written(rest: str) -> None:
    init = '(= (total-cost) 0) (= (distance p q) 2.5) (= (fee) 10)'
    problem = read_problem(_problem(init, rest), COSTED)
    assert problem.init == {('open',)}
    assert problem.values['distance', 'p', 'q'] == Decimal('2.5')
    assert read_problem(problem_text(problem), COSTED) == problem


DECIDING = {
    'nothing': ('(open)', '(and)', set()),
    'a cost': ('(increase (total-cost) (fee))', '(and)', set()),
    'a goal': ('(increase (total-cost) (fee))', '(> (total-cost) 1)', {'total-cost', 'fee'}),
    'a condition of an effect': ('(when (> (fee) 1) (open))', '(and)', {'fee'}),
    'a condition of a cost': ('(when (> (fee) 1) (increase (total-cost) 1))', '(and)', set()),
    'a source of a source': (
        '(and (assign (fee) (distance ?a ?b)) (increase (total-cost) (fee)))',
        '(> (total-cost) 1)',
        {'total-cost', 'fee', 'distance'},
    ),
}  # fmt: skip


@pytest.mark.parametrize('case', DECIDING)
def test_functions_that_decide(case: str) -> None:
    effect, goal, found = DECIDING[case]
    domain = read_domain(_domain(effect))
    goal_domain = read_domain(_domain(precondition=goal))
    assert deciding_functions(domain, goal_domain.actions['go'].precondition, ()) == found


DOMAINS = {
    'undeclared total': (_domain('(increase (total-cost ?a) 1)', ''), 5, 19, "'total-cost' is not"),
    'too few arguments': (_domain('(increase (distance ?a) 1)'), 5, 19, 'takes 2 arg'),
    'fewer arguments': (
        _domain('(and (increase (total-cost) (distance ?a ?b)) (assign (fee) (distance ?a)))'),
        5, 69, "'distance' takes 2 arguments, found 1",
    ),
    'more arguments': (
        _domain('(and (increase (total-cost) (fee ?a)) (assign (fee) 1))'),
        5, 55, "'fee' takes 1 arguments, found 0",
    ),
    'bare, too': (
        _domain('(and (increase (total-cost) fee) (increase (total-cost) (fee ?a)))'),
        5, 65, "'fee' takes 0 arguments, found 1",
    ),
    'compared with another number of arguments': (
        _domain(precondition='(> (fee ?a) 1)'), 4, 55, "function 'fee' is not declared so",
    ),
    'no number': (_domain('(increase (total-cost) 1.2.3)'), 5, 32, "expected a function such"),
    'no amount': (_domain('(increase (total-cost))'), 5, 9, "'increase' takes 2 arguments"),
    'other function': (_domain('(increase (toll) 1)'), 5, 19, "function 'toll' is not declared"),
    'undeclared total compared': (
        _domain('()', '', '(> (total-cost) 1)'), 4, 55, "'total-cost' is not",
    ),
    'effect in condition': (_domain(precondition='(assign (fee) 1)'), 4, 55, "cannot stand"),
    'equal to a number': (_domain(precondition='(= ?a 1)'), 4, 58, "expected a function such as"),
    'fraction': (_domain(precondition='(> (fee) 1/4)'), 4, 64, "found '1/4': write (/ 1 4)"),
    'one side': (_domain(precondition='(> (fee))'), 4, 55, "'>' takes 2 arguments, found 1"),
    'with time': (_domain('(decrease (fee) (* #t 2))'), 5, 28, 'on with time is not supported'),
    'one part': (_domain('(assign (fee) (/ 2))'), 5, 23, "'/' takes 2 numbers, found 1"),
    'one sum': (_domain('(assign (fee) (+ 2))'), 5, 23, "'+' takes 2 or more numbers, found 1"),
    'more parts': (
        _domain(f'(assign (fee) (- (fee) {"1 " * 3000}))'), 5, 23,
        "'-' takes 1 or 2 numbers, found 3001",
    ),
    'a long number': (_domain(f'(assign (fee) {"9" * 61})'), 5, 23, 'a number of 61 characters'),
    'twice': (_domain(functions='(fee) (fee)'), 3, 19, "function 'fee' is declared twice"),
    'empty': (_domain(functions='()'), 3, 13, 'an empty function declaration'),
    'objects': (_domain(functions='(home ?t - truck) - place'), 3, 33, 'values of type place'),
    'a word': (_domain(functions='fee'), 3, 13, "expected a function such as (total-cost)"),
}  # fmt: skip


@pytest.mark.parametrize('case', DOMAINS)
def test_wrong_numbers_in_a_domain_are_refused(case: str) -> None:
    text, line, column, what = DOMAINS[case]
    with pytest.raises(PddlError) as caught:
        read_domain(text)
    assert what in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)
    refused = ('goes on with time', 'values of type')
    unsupported = any(text in caught.value.what for text in refused)
    assert (caught.value.code is ErrorCode.UNSUPPORTED_FEATURE) is unsupported


@pytest.mark.parametrize('number', ['-1.5', '2e-1', '+3', '-.5', '1E3', '4.'])
def test_numbers_of_any_form_are_read(number: str) -> None:
    problem = read_problem(_problem(f'(= (fee) {number})'), COSTED)
    assert problem.values == {('fee',): Decimal(number)}
    domain = read_domain(_domain(f'(increase (total-cost) {number})', ''))  # declared or not
    assert domain.actions['go'].numeric[0].value == Decimal(number)
    assert read_domain(domain_text(domain)) == domain


PROBLEMS = {
    'two values': (_problem('(= (fee) 1) (= (fee) 2)'), 3, 13, 'fee has two values'),
    'a large exponent': (_problem('(= (fee) 1e999)'), 3, 10, "'1e999' is not a number"),
    'undeclared': (_problem('(= (toll p) 3)'), 3, 4, "function 'toll' is not declared"),
    'undeclared object': (_problem('(= (distance p z) 3)'), 3, 16, "object 'z' is not declared"),
    'wrong type': (_problem('(= (distance p t) 3)'), 3, 16, "'t' is of type truck"),
    'no number': (_problem('(= (fee) (total-cost))'), 3, 10, 'expected a number, found a list'),
    'a word': (_problem('(= (fee) much)'), 3, 10, "'much' is not a number"),
    'objects': (_problem('(= p q)'), 3, 4, 'expected a function such as'),
    'timed literal': (_problem('(at 5 (open))'), 3, 1, 'without durative actions is not supported'),
    'violations': (_problem(rest='(:metric minimize (is-violated p1))'), 5, 19, "'p1' is not the"),
    'deep violations': (
        _problem(rest='(:metric minimize (+ (fee) (* 2 (is-violated p1))))'), 5, 33, "'p1' is not",
    ),
    'undeclared metric': (_problem(rest='(:metric minimize (fees))'), 5, 19, "function 'fees' is"),
    'no direction': (_problem(rest='(:metric (fee))'), 5, 1, 'expected (:metric minimize ...)'),
}  # fmt: skip


@pytest.mark.parametrize('case', PROBLEMS)
def test_wrong_numbers_in_a_problem_are_refused(case: str) -> None:
    text, line, column, what = PROBLEMS[case]
    with pytest.raises(PddlError) as caught:
        read_problem(text, COSTED)
    assert what in caught.value.what
    assert (caught.value.line, caught.value.column) == (line, column)


def test_a_function_without_arguments_may_stand_bare() -> None:
    # As in PDDL2.1, and in domains of the third competition.
    texts = [
        '(define (domain d) (:predicates (p)) (:functions ({0}) (used)) (:action a :precondition '
        '(> {1} (* 2 {2})) :effect (and (p) (decrease {1} 1) (increase {2} {1}))))',
        '(define (problem x) (:domain d) (:init (= {1} 4) (= {2} 1)) (:goal (and (p) (= {1} 3)))'
        '(:metric minimize {2}))',
    ]
    plain, bare = (
        [text.format('fuel', *names) for text in texts]
        for names in (('(fuel)', '(used)'), ('fuel', 'used'))
    )
    assert read_problem(bare[1], read_domain(bare[0])) == read_problem(
        plain[1], read_domain(plain[0])
    )


ABOVE = (
    '(:derived (above ?x ?y) (or (on ?x ?y) (exists (?z - block) (and (on ?x ?z) (above ?z ?y)))))'
)
CLEAR = '(:derived (clear ?x - block) (not (exists (?y - block) (on ?y ?x))))'
TOWER = """(define (domain tower) (:requirements :derived-predicates) (:types block)
  (:predicates (on ?x ?y - block) (above ?x ?y - block) (clear ?x - block))
  {rules}
  (:action put :parameters (?x ?y - block) :precondition {needs}
    :effect {effect}))"""
PUT = '(and (on ?x ?y) (forall (?z - block) (when (not (= ?y ?z)) (not (on ?x ?z)))))'


def _tower(rules: str, needs: str = '(clear ?x)', effect: str = PUT) -> str:
    return TOWER.format(rules=rules, needs=needs, effect=effect)


def _stacked(goal: str = '(above a c)', constraints: str = '(and)', init: str = '') -> Problem:
    text = f"""(define (problem t) (:domain tower) (:objects a b c - block)
      (:init (on b c) {init}) (:goal {goal}) (:constraints {constraints}))"""
    return read_problem(text, read_domain(_tower(f'{CLEAR} {ABOVE}')))


def test_recursion_is_followed_to_its_end() -> None:
    problem = _stacked()
    table = AtomTable(problem)
    state = table.encode([('on', 'a', 'b'), ('on', 'b', 'c'), ('above', 'c', 'c')])
    derived = sorted(table.atoms(state & table.closure.heads)) if table.closure else []
    assert derived == [
        ('above', 'a', 'b'),
        ('above', 'a', 'c'),
        ('above', 'b', 'c'),
        ('clear', 'a'),
    ]
    assert table.decode(state) == {('on', 'a', 'b'), ('on', 'b', 'c')}


def test_a_circle_of_atoms_holds_nothing_up() -> None:
    table = AtomTable(_stacked())
    state = table.encode([('on', 'a', 'b'), ('on', 'b', 'a')])
    assert table.closure is not None
    assert ('above', 'a', 'a') in table.atoms(state)
    assert ('above', 'a', 'c') not in table.atoms(state)


@pytest.mark.parametrize(
    ('constraints', 'plan', 'verdict'),
    [
        ('(and)', '(put a b)', 'SUCCESS'),
        ('(and)', '(put a b) (put b a)', 'PRECONDITION_VIOLATION'),
        ('(always (not (above a c)))', '(put a b)', 'SAFETY_VIOLATION'),
        ('(sometime-before (above a c) (clear c))', '(put a b)', 'SAFETY_VIOLATION'),
        ('(sometime-before (above a c) (clear c))', '(put b a) (put b c) (put a b)', 'SUCCESS'),
        ('(and)', '(put a c) (put a a)', 'GOAL_NOT_SATISFIED'),
    ],
)
def test_rules_decide_like_any_predicate(constraints: str, plan: str, verdict: str) -> None:
    assert verify(_stacked(constraints=constraints), plan).category.name == verdict


def test_a_domain_is_written_as_it_was_read() -> None:
    domain = read_domain(_tower(f'{CLEAR} {ABOVE}'))
    assert [rule.variables for rule in domain.derived] == [
        (('?x', 'block'),),
        (('?x', 'block'), ('?y', 'block')),  # as the predicate takes, where the head says nothing
    ]
    assert read_domain(domain_text(domain)) == domain


REFUSED = [
    (_tower('(:derived (abov ?x ?y) (on ?x ?y))'), "predicate 'abov' is not declared"),
    (_tower('(:derived (over ?x) (on ?x ?x)) (:derived (over) (and))'), "'over' takes 1 arg"),
    (_tower('(:derived (over a) (on a a))'), "'a' is not a variable"),
    (_tower('(:derived (clear ?x ?y) (on ?x ?y))'), "'clear' takes 1 arguments, found 2"),
    (_tower('(:derived (clear ?x))'), ':derived takes an atom and a formula, found 1 parts'),
    (_tower('(:derived (clear a) (on a a))'), "'a' is not a variable"),
    (_tower(CLEAR, effect='(clear ?x)'), "predicate 'clear' is derived"),
    (_tower(CLEAR, effect='(not (clear ?x))'), "predicate 'clear' is derived"),
    (
        _tower(f'{CLEAR} (:derived (on ?x ?y) (and (above ?x ?y) (clear ?x)))', effect='(and)'),
        'derived predicates in a circle: clear needs the absence of on, which needs clear',
    ),
    (
        _tower('(:derived (clear ?x) (imply (clear ?x) (on ?x ?x)))'),
        'clear needs the absence of clear',
    ),
]


@pytest.mark.parametrize(('text', 'message'), REFUSED)
def test_what_has_no_one_meaning_is_refused(text: str, message: str) -> None:
    with pytest.raises(PddlError, match=r'domain\.pddl:') as caught:
        read_domain(text, 'domain.pddl')
    assert message in str(caught.value)


LIFT = """(:durative-action lift :parameters (?x - block) :duration (= ?duration 1)
  :condition (and (at start (clear ?x)) ({moment} (clear ?x)))
  :effect (and (at start {effect}) (at end (on ?x ?x))))"""


def test_a_durative_action_must_not_change_what_it_then_asks_for() -> None:
    held = LIFT.format(moment='over all', effect='(when (clear ?x) (above ?x ?x))')
    assert read_domain(_tower(f'{CLEAR} {held}')).durative
    moved = LIFT.format(moment='at end', effect='(not (on ?x ?x))')
    with pytest.raises(PddlError, match=r"'clear' at the end .* derived from 'on'"):
        read_domain(_tower(f'{CLEAR} {moved}'))


@pytest.mark.parametrize('init', ['(above a b)', '(not (above a b))'])
def test_an_initial_state_states_no_derived_atom(init: str) -> None:
    with pytest.raises(PddlError, match="predicate 'above' is derived"):
        _stacked(init=init)


def test_large_rules_are_refused_before_they_are_written_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, 'MAX_DERIVED', 20)
    with pytest.raises(PddlError, match='parts of derived predicates'):
        _stacked()


def test_a_long_chain_of_rules_is_ordered_without_recursion() -> None:
    count = 3000
    names = ' '.join(f'(p{number})' for number in range(count + 1))
    chain = (f'(:derived (p{n}) (not (p{n + 1})))' for n in range(count))
    text = f'(define (domain chain) (:predicates {names}) {" ".join(chain)} (:action a))'
    level = levels(read_domain(text).derived)
    assert [level[f'p{number}'] for number in range(count)] == list(range(count))[::-1]
