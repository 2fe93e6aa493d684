# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen solve`: a plan that can be piped on, what there is to say without one, and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from safegen_ros.cli.main import app
from safegen_ros.search import solve as search
from safegen_ros.tasks.pddl3.domains import builtin_domain_text
from safegen_ros.tasks.pddl3.task import Pddl3Task

EXAMPLE = Path(__file__).parents[2] / 'examples' / 'tower_order.pddl'
KEYS = {'status', 'plan', 'route', 'optimal', 'metric', 'wishes', 'seconds', 'expanded', 'errors'}


def _run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, ['solve', *map(str, arguments)])


def _json(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
    done = _run(*arguments, '--json')
    values = json.loads(done.stdout)
    assert set(values) == KEYS
    assert done.stderr == ''
    return done.exit_code, values


@pytest.fixture
def impossible(tmp_path: Path) -> Path:
    """A problem that no plan solves."""
    path = tmp_path / 'impossible.pddl'
    path.write_text(EXAMPLE.read_text().replace('(on b4 b3)', '(on b4 b1)'))
    return path


def test_the_plan_can_be_piped_into_validate(tower_order: Pddl3Task) -> None:
    done = _run(EXAMPLE)
    assert (done.exit_code, done.stderr) == (0, '')
    accepted = CliRunner().invoke(app, ['verify', str(EXAMPLE), '-'], input=done.stdout)
    assert accepted.exit_code == 0, accepted.output
    comments = [line for line in done.stdout.splitlines() if line.startswith(';')]
    steps = tower_order.verify(done.stdout).plan_length
    assert [line.split()[1] for line in comments] == ['route:', 'steps:', 'time:']
    assert comments[1] == f'; steps: {steps}, not proved to be the fewest'


def test_domain_and_problem_may_stand_in_either_order(tmp_path: Path) -> None:
    domain, plan = tmp_path / 'd', tmp_path / 'plan'
    domain.write_text(f';\n {builtin_domain_text("blocksworld").upper()}')
    plan.write_text(_run(domain, EXAMPLE).stdout)
    assert _run(EXAMPLE, domain).stdout.split('\n')[3:] == plan.read_text().split('\n')[3:]
    for files in ((domain, EXAMPLE), (EXAMPLE, domain), ('--domain', domain, EXAMPLE)):
        done = CliRunner().invoke(app, ['verify', *map(str, files), str(plan)])
        assert done.exit_code == 0, done.output
    assert _run(EXAMPLE, domain, '--domain', domain).exit_code == 2
    assert _run(EXAMPLE, domain, EXAMPLE).exit_code == 2
    both = _run(domain, domain)
    assert (both.exit_code, 'expected (problem NAME)' in both.stderr) == (2, True)


def test_names_come_back_as_the_files_have_them(tmp_path: Path) -> None:
    domain, problem = tmp_path / 'd', tmp_path / 'p'
    domain.write_text(
        '(define (domain D) (:constants Home) (:predicates (at ?p)) ; GO\n'
        '(:action Go-To :parameters (?p) :effect (at ?p)))'
    )
    problem.write_text(
        '(define (problem P) (:domain d) (:objects roomA) (:init)'
        '(:goal (and (at rooma) (at HOME))))'
    )
    code, values = _json(domain, problem)
    assert (code, sorted(values['plan'])) == (0, ['(Go-To Home)', '(Go-To roomA)'])


def test_a_format_may_be_named(tmp_path: Path, tower_order: Pddl3Task) -> None:
    path = tmp_path / 'p'
    path.write_text(tower_order.written_as('english').problem_text)
    done = _run(path, '--read-as', 'english')
    assert (done.exit_code, done.stderr) == (0, '')
    accepted = CliRunner().invoke(
        app, ['verify', str(path), '-', '--read-as', 'english'], input=done.stdout
    )
    assert accepted.exit_code == 0, accepted.output
    refused = _run(path, '--read-as', 'yaml')
    assert refused.exit_code == 2
    assert 'use one of pddl json english' in refused.stderr


def test_a_plan_is_the_best_by_the_metric_or_said_not_to_be(tmp_path: Path) -> None:
    domain, problem = tmp_path / 'd.pddl', tmp_path / 'p.pddl'
    domain.write_text(
        '(define (domain d) (:functions (total-cost) (c ?a ?b)) (:predicates (at ?l) (e ?a ?b))'
        '(:action go :parameters (?a ?b) :precondition (and (at ?a) (e ?a ?b))'
        ':effect (and (at ?b) (not (at ?a)) (increase (total-cost) (c ?a ?b)))))'
    )
    problem.write_text(
        '(define (problem x) (:domain d) (:objects a b c) (:init (at a) (e a c) (e a b) (e b c)'
        '(= (c a c) 100) (= (c a b) 1) (= (c b c) 1)) (:goal (at c))'
        '(:metric minimize (total-cost)))'
    )
    best = [problem, '--domain', domain, '--optimal']
    for more in ([], ['--route', 'in-process']):
        lines = _run(*best, *more).stdout.splitlines()
        assert '; metric: minimize (total-cost) = 2, proved to be the best' in lines
        assert '; steps: 2' in lines
        _, values = _json(*best, *more)
        assert (values['optimal'], values['metric']['value']) == (True, 2)
    longest = tmp_path / 'longest.pddl'
    longest.write_text(problem.read_text().replace('minimize', 'maximize'))
    most = [longest, '--domain', domain, '--optimal', '--route', 'in-process']
    found = '; metric: maximize (total-cost) = 100, not proved to be the best'
    assert found in _run(*most).stdout.splitlines()
    _, values = _json(*most)
    assert (values['optimal'], values['metric']['value']) == (False, 100)
    plan = tmp_path / 'plan'
    plan.write_text('(go a b) (go b c)')
    judged = CliRunner().invoke(app, ['verify', *map(str, (domain, problem, plan))])
    assert judged.output.splitlines()[1] == '  metric: minimize (total-cost) = 2'
    plan.write_text('(go a c)')
    words = ['verify', *map(str, (domain, problem, plan)), '--best', '20']
    judged = CliRunner().invoke(app, words)
    assert judged.output.splitlines()[1] == (
        '  metric: minimize (total-cost) = 100; best known: 2, proved to be the best'
    )
    values = json.loads(CliRunner().invoke(app, [*words, '--json']).stdout)['metric']
    assert (values['value'], values['best'], values['best_proved']) == (100, 2, True)


def test_the_json_form_says_it_all(tower_order: Pddl3Task) -> None:
    status, values = _json(EXAMPLE, '--optimal', '--route', 'in-process')
    assert (status, values['status'], values['route']) == (0, 'solved', 'in-process')
    assert (values['optimal'], values['errors']) == (True, [])
    assert len(values['plan']) == 10
    assert tower_order.verify('\n'.join(values['plan'])).ok
    assert values['seconds'] > 0
    assert values['expanded'] > 0


def test_no_plan_and_a_limit_are_told_apart(impossible: Path) -> None:
    done = _run(impossible)
    assert (done.exit_code, done.stdout) == (1, '')
    assert done.stderr.startswith('error: unsolvable: ')
    status, values = _json(impossible)
    assert (status, values['status'], values['plan']) == (1, 'unsolvable', None)
    assert values['errors'][0]['code'] == 'UNSOLVABLE'
    late = _run(EXAMPLE, '--time-limit', '0.001', '--route', 'in-process')
    assert (late.exit_code, late.stdout) == (1, '')
    assert late.stderr.startswith('error: limit: ')
    assert _json(EXAMPLE, '--time-limit', '0.001', '--route', 'in-process')[1]['status'] == 'limit'


def test_bad_input_is_told_with_its_place(tmp_path: Path) -> None:
    bad = tmp_path / 'bad.pddl'
    bad.write_text(EXAMPLE.read_text().replace('(on b4 b3)', '(on b4 b9)'))
    done = _run(bad)
    assert (done.exit_code, done.stdout) == (2, '')
    assert f'{bad}:11:33: ' in done.stderr
    assert '^' in done.stderr
    status, values = _json(bad)
    assert (status, values['status']) == (2, 'error')
    assert (values['errors'][0]['line'], values['errors'][0]['column']) == (11, 33)
    assert _run(EXAMPLE, '--route', 'teleport').exit_code == 2


def test_a_domain_of_ones_own_is_taken(tmp_path: Path) -> None:
    domain = tmp_path / 'domain.pddl'
    domain.write_text(builtin_domain_text('blocksworld').replace('(domain ', '(domain my-'))
    problem = tmp_path / 'problem.pddl'
    problem.write_text(EXAMPLE.read_text().replace('(:domain ', '(:domain my-'))
    assert _run(problem, '--domain', domain).exit_code == 0
    assert _run(EXAMPLE, '--domain', domain).exit_code == 2
    assert 'add its PDDL (on the command line --domain FILE)' in _run(problem).stderr
    assert _run(EXAMPLE, '--domain', domain, '--any-name').exit_code == 0


def test_a_fault_of_ours_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: object, **settings: object) -> None:
        raise ZeroDivisionError('by zero')

    monkeypatch.setattr(search, 'solve', fail)
    done = _run(EXAMPLE)
    assert (done.exit_code, done.stdout) == (3, '')
    assert 'internal error: ZeroDivisionError: by zero' in done.stderr
    assert _json(EXAMPLE)[0] == 3
