# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The API for scripts and notebooks: its examples run, and it imports nothing heavy."""

from __future__ import annotations

import doctest
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from safegen_ros import api
from safegen_ros.api import (
    Category,
    PddlError,
    Plan,
    Problem,
    SafegenError,
    Step,
    parse_plan,
    solve,
    verify,
)
from safegen_ros.pddl import model
from safegen_ros.tasks.pddl3.domains import builtin_domain_text
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.task import Pddl3Task

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / 'examples' / 'tower_order.pddl'
UNSAFE = '(unstack b2 b1) (putdown b2) (unstack b5 b3)'


def test_the_examples_of_the_module_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failed, attempted = doctest.testmod(api)
    assert (failed, attempted > 4) == (0, True)


@pytest.mark.parametrize('name', ['README.md', 'docs/validation.md'])
def test_the_examples_of_the_documentation_run(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(ROOT)
    failed, attempted = doctest.testfile(str(ROOT / name), module_relative=False)
    assert (failed, attempted > 3) == (0, True)


def test_a_problem_is_the_same_from_a_file_and_from_text(tower_order: Pddl3Task) -> None:
    text = EXAMPLE.read_text(encoding='utf-8')
    loaded = Problem.load(EXAMPLE)
    for found in (loaded, Problem.load(str(EXAMPLE)), Problem.from_text(text)):
        assert (found.goal, found.init) == (tower_order.problem.goal, tower_order.problem.init)
        assert found.constraints == tower_order.problem.constraints
    assert isinstance(loaded, model.Problem)


def test_a_domain_of_ones_own_is_read(tmp_path: Path) -> None:
    domain = tmp_path / 'domain.pddl'
    text = builtin_domain_text('blocksworld').replace('(domain blocksworld', '(domain mine')
    domain.write_text(text)
    problem = tmp_path / 'problem.pddl'
    problem.write_text(EXAMPLE.read_text().replace('(:domain blocksworld', '(:domain mine'))
    assert Problem.load(problem, domain).domain.name == 'mine'
    assert Problem.from_text(problem.read_text(), text).domain.name == 'mine'
    with pytest.raises(PddlError, match='not built in'):
        Problem.load(problem)


def test_a_plan_is_text_or_steps_or_a_file(tmp_path: Path) -> None:
    problem = Problem.load(EXAMPLE)
    path = tmp_path / 'plan'
    path.write_text(UNSAFE)
    verdicts = [verify(problem, plan) for plan in (UNSAFE, parse_plan(UNSAFE), path)]
    assert verdicts[0].category is Category.SAFETY_VIOLATION
    assert verdicts == [verdicts[0]] * 3
    with pytest.raises(SafegenError, match='the plan cannot be read'):
        verify(problem, tmp_path / 'none')


def test_what_the_planner_found_is_a_plan() -> None:
    problem = Problem.load(EXAMPLE)
    solution = solve(problem)
    assert verify(problem, solution) == verify(problem, solution.plan)
    assert verify(problem, solution).ok


@pytest.mark.parametrize(
    ('plan', 'what'),
    [
        (None, 'the plan is None: give a Plan'),
        ([Step('pickup', ('b1',))], 'the plan is of type list: give a Plan'),
        (b'(pickup b1)', 'the plan is of type bytes: give a Plan'),
        (
            Plan((Step('pickup', ('b1',)), Step('stack', ['b1', 'b2']))),
            'step 2 of the plan is Step',
        ),
        (Plan((Step('putdown', 'b1'),)), 'step 1 of the plan is Step'),
        (Plan((Step('putdown', (1,)),)), 'step 1 of the plan is Step'),
        (Plan((Step(None),)), 'step 1 of the plan is Step'),
        (Plan((('putdown', ('b1',)),)), r"step 1 of the plan is \('putdown'"),
        (Plan('(putdown b1)'), r"step 1 of the plan is '\('"),
    ],
)
def test_what_is_no_plan_is_refused_by_name(plan: Any, what: str) -> None:
    with pytest.raises(TypeError, match=what):
        verify(Problem.load(EXAMPLE), plan)


def test_what_is_no_problem_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r'the problem is of type str: give what Problem\.load'):
        verify(str(EXAMPLE), UNSAFE)  # type: ignore[arg-type]


@pytest.mark.parametrize('format', FORMATS)
def test_a_problem_is_read_in_every_format(tmp_path: Path, format: str) -> None:
    problem = Problem.load(EXAMPLE)
    text = FORMATS[format].write(problem)
    path = tmp_path / f'problem{FORMATS[format].suffix}'
    path.write_text(text)
    other = tmp_path / 'problem.data'
    other.write_text(text)
    found = [
        Problem.load(path),
        Problem.load(other, format=format),
        Problem.from_text(text, format=format),
    ]
    for each in found:
        assert (each.init, each.goal) == (problem.init, problem.goal)
        assert [c.arguments for c in each.constraints] == [c.arguments for c in problem.constraints]
    with pytest.raises(SafegenError, match='is not known'):
        Problem.from_text(text, format='yaml')


def test_what_is_changed_is_judged_anew(tower_order: Pddl3Task) -> None:
    problem = Problem.load(EXAMPLE)
    assert verify(problem, UNSAFE) == verify(tower_order.problem, UNSAFE)
    free = replace(problem, constraints=())
    assert not free.constraints
    assert verify(free, UNSAFE).category is Category.GOAL_NOT_SATISFIED
    assert verify(problem, UNSAFE).category is Category.SAFETY_VIOLATION


def test_a_problem_can_be_sent_to_another_process() -> None:
    problem = Problem.load(EXAMPLE)
    verify(problem, UNSAFE)
    again = pickle.loads(pickle.dumps(problem))
    assert again == problem
    assert verify(again, UNSAFE) == verify(problem, UNSAFE)


BAD = '<script>alert(1)</script>'


def test_a_verdict_draws_its_rules_in_each_state() -> None:
    refused = verify(Problem.load(EXAMPLE), UNSAFE)._repr_html_() or ''
    assert 'breaks a rule' in refused
    assert 'aria-label="start to step 1: kept; step 2 to step 3: broken"' in refused
    assert 'Where it fails: step 2' in refused
    problem = Problem.load(EXAMPLE)
    assert 'proved safe' in (verify(problem, solve(problem))._repr_html_() or '')
    unread = verify(problem, f'(pickup b1) {BAD}')._repr_html_() or ''
    assert ('&lt;script&gt;' in unread, BAD in unread) == (True, False)
    assert api.Verdict()._repr_html_() is None


def test_a_plan_draws_a_table_with_its_times() -> None:
    text = '0: (go r1 a) [5.5]\n2: (go r2 b) [1]'
    drawn = parse_plan(text, timed=True)._repr_html_()
    assert '<th>2</th><td>2</td><td>1</td><td>(go r2 b)</td>' in ''.join(drawn.split('\n'))
    assert 'start [s]' not in parse_plan('(go r1 a)')._repr_html_()
    assert BAD not in Plan((Step(BAD),))._repr_html_()


def test_problems_and_states_draw_themselves() -> None:
    problem = Problem.load(EXAMPLE)
    assert '<b>Rules</b>' in problem._repr_html_()
    states = problem.states(parse_plan(UNSAFE))
    assert [('on-table', 'b2') in state.atoms for state in states] == [False, False, True, True]
    assert 'after step 2' in states[2]._repr_html_()
    assert len(problem.states(parse_plan('(unstack b2 b1) (pickup b5)'))) == 2


def test_it_imports_without_ros_and_torch() -> None:
    script = 'import sys, safegen_ros.api; print(*sys.modules)'
    done = subprocess.run(
        [sys.executable, '-c', script], capture_output=True, text=True, check=True
    )
    heavy = {'rclpy', 'torch', 'mujoco', 'transformers', 'numpy', 'typer', 'rich', 'jinja2'}
    assert not heavy & {name.split('.')[0] for name in done.stdout.split()}
