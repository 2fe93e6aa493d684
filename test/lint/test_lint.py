# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the linter finds, where, and that it is right where it says that no plan can."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from support import strategies
from typer.testing import CliRunner

from safegen_ros.cli.main import app
from safegen_ros.lint import lint
from safegen_ros.lint.findings import LintFinding
from safegen_ros.pddl.reader import read_domain
from safegen_ros.pddl.writer import domain_text, problem_text
from safegen_ros.tasks.pddl3.domains import builtin_domain_text, kits
from safegen_ros.verify.validator import verify

CLEAN = """(define (domain d) (:requirements :typing)
(:types robot place)
(:predicates (at ?r - robot ?p - place) (road ?a ?b - place) (seen ?p - place))
(:action move :parameters (?r - robot ?a ?b - place)
 :precondition (and (at ?r ?a) (road ?a ?b))
 :effect (and (at ?r ?b) (not (at ?r ?a)) (seen ?b)))
)"""
PROBLEM = """(define (problem p) (:domain d)
(:objects r - robot a b c - place)
(:init (at r a) (road a b) (road c a))
(:goal (and (at r b) (seen b)))
(:constraints (and (always (or (at r a) (at r b)))
{})))"""


def _found(domain: str, problem: str = '', level: str = '') -> list[tuple[str, int, int]]:
    found = lint((domain, 'd'), (problem, 'p') if problem else None)
    return [(f.rule, f.line, f.column) for f in found if not level or f.level == level]


DOMAIN_CASES = {
    'unused-type': ('(:types robot place)', '(:types robot place\ntool)', 3, 1),
    'self-type': ('(:types robot place)', '(:types robot place thing - thing)', 2, 21),
    'types-over-lines': ('(:types robot place)', '(:types robot\nplace - thing)', 2, 9),
    'overloaded-predicate': ('(road ?a ?b -', '(at ?r ?p) (road ?a ?b -', 3, 41),
    'unused-predicate': ('(:predicates', '(:predicates (old)', 3, 14),
    'read-only-predicate': ('', '', 3, 41),
    'write-only-predicate': ('', '', 3, 62),
    'unused-parameter': ('(?r - robot ?a ?b', '(?r - robot ?a ?b ?c', 4, 45),
    'never-applicable': ('(road ?a ?b))', '(not (at ?r ?a)))', 4, 1),
    'no-effect': (')))\n)', ')))\n(:action wait :effect ())\n)', 7, 1),
    'idle-effect': ('(seen ?b)', '(road ?a ?b)', 6, 43),
    'deleted-and-added': ('(seen ?b)', '(at ?r ?a)', 6, 31),
    'missing-requirement': (':typing', ':strips', 1, 20),
    'two-spellings': ('(seen ?b)', '(Seen ?b)', 6, 44),
}


@pytest.mark.parametrize('rule', DOMAIN_CASES)
def test_a_domain_alone(rule: str) -> None:
    old, new, line, column = DOMAIN_CASES[rule]
    assert old in CLEAN
    assert (rule, line, column) in _found(CLEAN.replace(old, new) if old else CLEAN)
    if old:
        assert rule not in [found for found, _, _ in _found(CLEAN)]


PROBLEM_CASES = {
    'goal-holds': ('(and (at r b) (seen b))', '(at r a)', 4, 1),
    'goal-unreachable': ('(seen b)', '(road b a)', 4, 1),
    'unreachable-action': ('(road a b) (road c a)', '', 4, 1),
    'unused-object': ('b c', 'b c e', 2, 27),
    'constraints-without-and': ('(and (always', '(sometime (at r b)) (and (always', 5, 35),
    'constraint-broken': ('{}', '(always (seen a))', 6, 1),
    'constraint-holds': ('{}', '(always (not (road b c)))', 6, 1),
    'contradiction': ('{}', '(always (not (at r b)))', 4, 1),
    'empty-quantifier': ('robot a b c', 'robot', 5, 1),
}


@pytest.mark.parametrize('rule', PROBLEM_CASES)
def test_a_problem(rule: str) -> None:
    old, new, line, column = PROBLEM_CASES[rule]
    assert old in PROBLEM
    problem = PROBLEM.replace(old, new).replace('{}', '(sometime (seen b))')
    if rule == 'empty-quantifier':
        problem = """(define (problem p) (:domain d) (:objects r - robot)
(:init) (:goal ()) (:constraints
(forall (?p - place) (always (at r ?p)))))"""
        line = 3
    assert (rule, line, column) in _found(CLEAN, problem)


def test_an_object_that_an_action_can_use_is_no_finding() -> None:
    domain = """(define (domain d) (:predicates (wet ?x) (near ?x))
(:action water :parameters (?x) :precondition (near ?x) :effect (wet ?x))
(:action move :parameters (?x) :effect (near ?x)))"""
    problem = """(define (problem p) (:domain d) (:objects tree butt)
(:init) (:goal (wet tree)))"""
    assert 'unused-object' not in [rule for rule, _, _ in _found(domain, problem)]


@pytest.mark.parametrize(
    'constraint',
    [
        '(sometime (at r a))', '(within 3 (at r a))', '(at-most-once (road a b))',
        '(sometime-before (seen c) (seen b))', '(sometime-after (seen c) (seen b))',
        '(always-within 2 (seen b) (road a b))', '(at end (road a b))', '(hold-after 1 (road c a))',
    ],
)  # fmt: skip
def test_constraints_that_no_plan_can_break(constraint: str) -> None:
    found = _found(CLEAN, PROBLEM.format(constraint))
    assert ('constraint-holds', 6, 1) in found
    assert ('constraint-holds', 5, 20) not in found


def test_nothing_is_said_of_what_is_in_order() -> None:
    assert _found(CLEAN, PROBLEM.format('(sometime (seen b))')) == []
    for name in kits():
        assert _found(builtin_domain_text(name), level='warning') == []


def test_what_is_refused_is_told_with_its_cure() -> None:
    found = lint((CLEAN.replace('(seen ?b)', '(sen ?b) (:x)'), 'd'), (PROBLEM, 'p'))
    assert [(f.level, f.rule, f.line) for f in found] == [('error', 'bad-pddl', 6)] * 2
    assert "did you mean 'seen'?" in found[0].cure
    durative = '(define (domain d) (:process p))'
    assert [f.rule for f in lint((durative, 'd'))] == ['unsupported-feature']


DERIVED = """(define (domain d) (:requirements :strips :derived-predicates)
(:predicates (on ?x ?y) (above ?x ?y) (lost ?x))
(:derived (above ?x ?y) (or (on ?x ?y) (exists (?z) (and (on ?x ?z) (above ?z ?y)))))
(:derived (lost ?x) (not (exists (?y) (on ?x ?y))))
(:action put :parameters (?x ?y) :precondition (not (above ?y ?x)) :effect (on ?x ?y)))"""


def test_rules_of_derived_predicates_ask_and_change() -> None:
    found = _found(DERIVED)
    assert ('write-only-predicate', 2, 39) in found  # lost
    assert not {'read-only-predicate', 'unused-predicate'} & {rule for rule, _, _ in found}
    problem = """(define (problem p) (:domain d) (:objects a b) (:init)
(:goal (above a b)) (:constraints (and (always (not (above b a)))
(sometime (lost a)))))"""
    rules = [rule for rule, _, _ in _found(DERIVED, problem, 'warning')]
    assert rules == ['constraint-holds']  # a is lost in the initial state


def test_numbers_that_decide_are_left_open() -> None:
    domain = """(define (domain n) (:requirements :numeric-fluents) (:predicates (at ?p))
(:functions (load) (idle)) (:action go :parameters (?p) :precondition (>= (load) 2)
:effect (and (at ?p) (decrease (load) 1))))"""
    problem = """(define (problem p) (:domain n) (:objects a) (:init (= (load) {}))
(:goal (at a)) (:constraints (always (>= (load) 1))))"""
    assert [rule for rule, _, _ in _found(domain, problem.format(3))] == ['unused-function']
    assert 'constraint-broken' in [rule for rule, _, _ in _found(domain, problem.format(0))]


def _texts(found: Sequence[LintFinding], rule: str) -> list[str]:
    return [finding.what for finding in found if finding.rule == rule]


@settings(strategies.SUITE, max_examples=60)
@given(strategies.SEEDS)
def test_it_is_right_where_it_says_that_no_plan_can(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.toggles(rng)
    found = lint((domain_text(problem.domain), 'd'), (problem_text(problem), 'p'))
    for text in (domain_text(problem.domain), domain_text(strategies.domain(rng))):
        read_domain(text)
        lint((text, 'd'))
    holds, gone = _texts(found, 'constraint-holds'), _texts(found, 'unreachable-action')
    for _ in range(5):
        plan = strategies.plan(rng, problem)
        verdict = verify(problem, plan)
        for each in verdict.broken:
            assert f'{each.text} holds whatever a plan does' not in holds
        applied = plan.steps[: verdict.failing_step if verdict.failing_step >= 0 else len(plan)]
        for step in applied:
            assert not any(text.startswith(f'action {step.action!r} can') for text in gone)
        if verdict.ok:
            for rule in ('goal-unreachable', 'constraint-broken', 'contradiction'):
                assert not _texts(found, rule)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """A domain and a problem."""
    (tmp_path / 'd.pddl').write_text(CLEAN.replace('(seen ?b)', '(road ?a ?b)'))
    (tmp_path / 'p.pddl').write_text(PROBLEM.format('').replace('(seen b)', '(at r b)'))
    return str(tmp_path / 'd.pddl'), str(tmp_path / 'p.pddl')


def test_the_verb_prints_for_people_and_for_editors(files: tuple[str, str]) -> None:
    domain, problem = files
    done = CliRunner().invoke(app, ['lint', problem, domain])
    assert done.exit_code == 1
    assert f'{domain}:6:43: warning:' in done.stdout.replace('\n    ', ' ')
    assert all(len(line) <= 80 or domain in line for line in done.stdout.splitlines())
    assert done.stdout.splitlines()[-1] == '2 warnings'
    values = json.loads(CliRunner().invoke(app, ['lint', domain, problem, '--json']).stdout)
    assert (values['errors'], values['warnings'], values['notes']) == (0, 2, 0)
    assert {'level', 'rule', 'source', 'line', 'column', 'what', 'cure'} == set(
        values['findings'][0]
    )


def test_the_exit_status_tells_what_was_found(files: tuple[str, str], tmp_path: Path) -> None:
    def status(*words: str) -> int:
        return CliRunner().invoke(app, ['lint', *words]).exit_code

    clean = tmp_path / 'clean.pddl'
    clean.write_text(CLEAN)
    assert status(str(clean)) == 0
    assert status('examples/tower_order.pddl') == 0
    assert status(files[1]) == 2  # no built-in domain has this name
    assert status(str(clean), files[0]) == 2
    assert status('nowhere.pddl') == 2
    assert status(*files, files[0]) == 2
    broken = json.loads(CliRunner().invoke(app, ['lint', 'nowhere.pddl', '--json']).stdout)
    assert broken['failures'][0]['code'] == 'BAD_PDDL'
