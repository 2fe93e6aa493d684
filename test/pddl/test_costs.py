# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Action costs are checked and left out; every other use of numbers is refused."""

from __future__ import annotations

from decimal import Decimal

import pytest

from safegen_ros.errors import ErrorCode, PddlError
from safegen_ros.pddl.model import AtomFormula, Effect
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import domain_text, problem_text

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


PLAIN = read_domain(_domain(functions=''))
COSTED = read_domain(_domain('(and (open) (increase (total-cost) (distance ?a ?b)))'))


@pytest.mark.parametrize(
    'cost',
    ['5', '0.5', '(distance ?a ?b)', '(fee)', '(* 2 (distance ?a ?b))', '(+ (fee) (total-cost) 1)'],
)
@pytest.mark.parametrize(
    'around', ['{}', '(and (open) {})', '(when (at ?a) {})', '(forall (?x - place) {})']
)
def test_costs_of_actions_are_left_out(cost: str, around: str) -> None:
    domain = read_domain(_domain(around.format(f'(increase (total-cost) {cost})')))
    plain = read_domain(_domain('(open)' if 'open' in around else '()', functions=''))
    assert domain == plain
    assert 'total-cost' not in domain_text(domain)


def test_the_functions_are_kept_for_problems_only() -> None:
    assert dict(COSTED.functions) == {
        'total-cost': (), 'distance': ('place', 'place'), 'fee': (), 'weight': ('object', 'object'),
    }  # fmt: skip
    assert COSTED == PLAIN
    assert COSTED.actions['go'].effects[0].add == (AtomFormula('open', ()),)
    assert all(isinstance(effect, Effect) for effect in COSTED.actions['go'].effects)


@pytest.mark.parametrize(
    'rest',
    [
        '(:metric minimize (total-cost))', '(:metric minimize (total-time))',
        '(:metric minimize total-time)', '(:metric maximize (+ (* 2 (total-cost)) (fee)))',
    ],
)  # fmt: skip
def test_costs_of_problems_are_left_out(rest: str) -> None:
    init = '(= (total-cost) 0) (= (distance p q) 2.5) (= (fee) 10)'
    problem = read_problem(_problem(init, rest), COSTED)
    assert problem == read_problem(_problem(), PLAIN)
    assert problem.init == {('open',)}
    assert problem_text(problem) == problem_text(read_problem(_problem(), PLAIN))


DOMAINS = {
    'undeclared cost': (_domain('(increase (total-cost) (toll ?a))'), 5, 32, "function 'toll' is"),
    'undeclared total': (_domain('(increase (total-cost ?a) 1)', ''), 5, 19, "'total-cost' is not"),
    'too few arguments': (_domain('(increase (total-cost) (distance ?a))'), 5, 32, 'takes 2 arg'),
    'no number': (_domain('(increase (total-cost) 1.2.3)'), 5, 32, "expected a cost such as"),
    'no amount': (_domain('(increase (total-cost))'), 5, 9, "'increase' takes 2 arguments"),
    'other function': (_domain('(increase (fee) 1)'), 5, 9, "'increase' is not supported"),
    'decrease': (_domain('(decrease (total-cost) 1)'), 5, 9, "'decrease' is not supported"),
    'in a precondition': (_domain(precondition='(> (fee) 1)'), 4, 55, "operator '>' is not"),
    'equal numbers': (_domain(precondition='(= (fee) 1)'), 4, 55, "comparison '=' is not"),
    'equal to a number': (_domain(precondition='(= ?a 1)'), 4, 55, "comparison '=' is not"),
    'twice': (_domain(functions='(fee) (fee)'), 3, 19, "function 'fee' is declared twice"),
    'empty': (_domain(functions='()'), 3, 13, 'an empty function declaration'),
    'objects': (_domain(functions='(home ?t - truck) - place'), 3, 33, 'values of type place'),
    'undeclared type': (_domain(functions='(f ?x - lorry)'), 3, 21, "type 'lorry' is not"),
    'a word': (_domain(functions='fee'), 3, 13, "expected a function such as (total-cost)"),
}  # fmt: skip


@pytest.mark.parametrize('case', DOMAINS)
def test_other_numbers_in_a_domain_are_refused(case: str) -> None:
    text, line, column, what = DOMAINS[case]
    with pytest.raises(PddlError) as caught:
        read_domain(text)
    assert what in caught.value.what
    assert (caught.value.line, caught.value.column) == (line, column)
    refused = ('numeric', 'values of type')
    unsupported = any(text in caught.value.what for text in refused)
    assert (caught.value.code is ErrorCode.UNSUPPORTED_FEATURE) is unsupported


@pytest.mark.parametrize('number', ['-1.5', '2e-1', '+3', '-.5', '1E3', '4.'])
def test_numbers_of_any_form_are_read(number: str) -> None:
    problem = read_problem(_problem(f'(= (fee) {number})'), COSTED)
    assert problem.values == {('fee',): Decimal(number)}
    domain = read_domain(_domain(f'(increase (total-cost) {number})', ''))  # declared or not
    assert domain.actions['go'].costs[0].amount == Decimal(number)


PROBLEMS = {
    'two values': (_problem('(= (fee) 1) (= (fee) 2)'), 3, 13, 'fee has two values'),
    'a large exponent': (_problem('(= (fee) 1e999)'), 3, 10, "'1e999' is not a number"),
    'undeclared': (_problem('(= (toll p) 3)'), 3, 4, "function 'toll' is not declared"),
    'undeclared object': (_problem('(= (distance p z) 3)'), 3, 16, "object 'z' is not declared"),
    'wrong type': (_problem('(= (distance p t) 3)'), 3, 16, "'t' is of type truck"),
    'no number': (_problem('(= (fee) (total-cost))'), 3, 10, 'expected a number, found a list'),
    'a word': (_problem('(= (fee) much)'), 3, 10, "'much' is not a number"),
    'objects': (_problem('(= p q)'), 3, 4, 'expected a cost such as (total-cost)'),
    'timed literal': (_problem('(at 5 (open))'), 3, 1, 'a timed initial literal is not supported'),
    'in the goal': (_problem().replace('(at q)', '(< (fee) 3)'), 4, 8, "operator '<' is not"),
    'violations': (_problem(rest='(:metric minimize (is-violated p1))'), 5, 19, 'over preferences'),
    'deep violations': (
        _problem(rest='(:metric minimize (+ (fee) (* 2 (is-violated p1))))'), 5, 33, 'preferences',
    ),
    'undeclared metric': (_problem(rest='(:metric minimize (fees))'), 5, 19, "function 'fees' is"),
    'no direction': (_problem(rest='(:metric (fee))'), 5, 1, 'expected (:metric minimize ...)'),
}  # fmt: skip


@pytest.mark.parametrize('case', PROBLEMS)
def test_other_numbers_in_a_problem_are_refused(case: str) -> None:
    text, line, column, what = PROBLEMS[case]
    with pytest.raises(PddlError) as caught:
        read_problem(text, COSTED)
    assert what in caught.value.what
    assert (caught.value.line, caught.value.column) == (line, column)
