# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What talks to a stack that is up, as processes of their own: verbs, a script, another node."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from support.kept_runs import assert_same_again
from support.waiting import patient_file, wait_until

from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs
from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode
from safegen_ros.record.replay import reexecute
from safegen_ros.record.run_log import RunState, load_run
from safegen_ros.robot.scene import load_scene
from safegen_ros.tasks.pddl3.task import Pddl3Task

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / 'examples' / 'tower_client'
EXAMPLE = 'examples/tower_order.pddl'
TIMEOUT_S = 120.0
STEP_S = 0.2
"""What a step takes by the clock: time to interrupt it."""

NO_MODEL = 'http://127.0.0.1:9/v1#none'
"""A server that is never asked, since the strategy names no model: the planner starts at once."""

NOTHING_TO_DO = """
(define (problem p) (:domain blocksworld) (:objects a)
  (:init (arm-empty) (on-table a) (clear a)) (:goal (clear a)))
"""


def _unbuilt(folder: Path, steps: int) -> Path:
    """A task of so many steps, two for each block that comes down from a tower.

    What interrupts a run comes late on a busy machine, and is not to find it at its end.
    """
    blocks = [f'b{number}' for number in range(steps // 2 + 1)]
    tower = ' '.join(f'(on {upper} {lower})' for lower, upper in pairwise(blocks))
    alone = ' '.join(f'(on-table {block})' for block in blocks)
    path = folder / 'unbuilt.pddl'
    path.write_text(
        f'(define (problem unbuilt) (:domain blocksworld) (:objects {" ".join(blocks)}) (:init '
        f'(arm-empty) (on-table {blocks[0]}) {tower} (clear {blocks[-1]})) (:goal (and {alone})))'
    )
    return path


@pytest.fixture(scope='module')
def stack(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    """The nodes of `safegen up sim cell:=symbolic`."""
    folder = tmp_path_factory.mktemp('stack')
    # The goal of a killed client ends by itself; what silence does is tested elsewhere.
    parameters = patient_file(folder, planner={'strategy': 'search'})
    values = {'cell': 'symbolic', 'real_time_factor': 1.0 / STEP_S, 'model': NO_MODEL}
    specs = node_specs('sim', {**values, 'params_file': parameters})
    environment = {'ROS_DOMAIN_ID': str(ros_domain)}
    with Supervisor(specs, log_dir=folder, environment=environment) as running:
        running.wait_ready()
        yield running


@contextmanager
def _process(runs: Path, *command: str | Path) -> Iterator[subprocess.Popen[str]]:
    environment = {
        **os.environ,
        'SAFEGEN_RUNS_DIR': str(runs),
        'PYTHONPATH': str(PACKAGE),
        'PYTHONUNBUFFERED': '1',
    }
    process = subprocess.Popen(
        [sys.executable, *map(str, command)], cwd=ROOT, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _done(runs: Path, *command: str | Path) -> tuple[int, str, str]:
    """Exit status and both outputs of a process."""
    with _process(runs, *command) as process:
        out, error = process.communicate(timeout=TIMEOUT_S)
        return process.returncode, out, error


def _safegen(runs: Path, *arguments: str | Path) -> tuple[int, str, str]:
    return _done(runs, '-m', 'safegen_ros.cli.main', *arguments)


def _lines_until(pattern: str, stream: Iterator[str]) -> str:
    """What a process says up to the line that matches."""
    said = []
    for line in stream:
        said.append(line)
        if re.search(pattern, line):
            return ''.join(said)
    raise AssertionError(f'{pattern!r} was not said:\n{"".join(said)}')


def test_a_plan_goes_from_one_verb_through_a_file_to_the_other(
    stack: Supervisor, tmp_path: Path, tower_order: Pddl3Task
) -> None:
    status, out, error = _safegen(tmp_path, 'run', '--plan-only', EXAMPLE)
    assert status == 0, error
    assert tower_order.verify(out).ok
    assert 'proved, written by search' in error
    plan = tmp_path / 'plan'
    plan.write_text(out, encoding='utf-8')

    runs = tmp_path / 'runs'
    status, out, error = _safegen(runs, 'run', EXAMPLE, plan, '--json')
    assert status == 0, error
    assert '✓' in error
    values = json.loads(out)
    assert (values['result'], values['record']['plan_source']) == ('SUCCESS', 'client')
    assert values['record']['plan'] == plan.read_text(encoding='utf-8').splitlines()
    (folder,) = runs.iterdir()
    assert_same_again(load_run(folder).record)

    plan.write_text('(unstack b2 b1) (putdown b2) (unstack b5 b3)', encoding='utf-8')
    status, out, error = _safegen(runs, 'run', EXAMPLE, plan)
    assert status == 1
    assert 'PLAN_REFUSED' in out
    assert 'SAFETY_VIOLATION' in out


@pytest.mark.nightly
def test_a_plan_for_a_program_is_one_object(stack: Supervisor, tmp_path: Path) -> None:
    problem = tmp_path / 'impossible.pddl'
    problem.write_text(
        '(define (problem p) (:domain blocksworld) (:objects a b) (:init (arm-empty) (on-table a) '
        '(on-table b) (clear a) (clear b)) (:goal (and (on a b) (on b a))))'
    )
    status, out, error = _safegen(tmp_path, 'run', '--plan-only', problem, '--json')
    assert status == 1, error
    values = json.loads(out)
    assert (values['error'], values['plan'], values['attempts']) == ('UNSOLVABLE', [], [])


@pytest.mark.nightly
def test_the_script_of_the_documentation_runs(stack: Supervisor, tmp_path: Path) -> None:
    """Word for word, in a process of its own."""
    fenced = re.compile(r'```python\n((?:.*\n)*?with Client\(\) as client:\n(?:    .*\n)+)```')
    indented = re.compile(r'((?:    .*\n)*    with Client\(\) as client:\n(?:    .*\n)+)')
    [script] = fenced.findall(
        (ROOT / 'README.md').read_text(encoding='utf-8').split('With a stack that is up')[1]
    )
    page = (ROOT / 'docs' / 'interfaces.md').read_text(encoding='utf-8')
    told = [re.sub('^    ', '', found, flags=re.M) for found in indented.findall(page)]
    assert told[0] == script.replace('\n\n', '\n')
    _, own = told
    assert len(script.splitlines()) <= 6
    status, out, error = _done(tmp_path, '-c', script)
    assert (status, error) == (0, '')
    assert 'steps=[safegen_msgs.msg.Step(' in out
    given = 'from safegen_ros.client import Client\n'
    given += 'problem = open("examples/tower_order.pddl").read()\n'
    status, out, error = _done(tmp_path, '-c', f'{given}{own}print(result.error_msg)')
    assert (status, error) == (0, '')
    assert out.startswith('the plan is refused: GOAL_NOT_SATISFIED')  # of this problem


@pytest.mark.nightly
def test_a_killed_client_loses_nothing_that_it_showed(stack: Supervisor, tmp_path: Path) -> None:
    command = ('-m', 'safegen_ros.cli.main', 'run', _unbuilt(tmp_path, 60))
    runs = tmp_path / 'runs'
    with _process(runs, *command) as process:
        said = _lines_until(r'✓ +2/', process.stdout)
        process.send_signal(signal.SIGKILL)
        said += process.stdout.read()
    shown = max(int(number) for number in re.findall(r'✓ +(\d+)/', said))
    (folder,) = runs.iterdir()
    kept = load_run(folder)
    assert kept.state is RunState.CUT_OFF
    record = kept.record
    assert record.steps_done >= shown >= 2
    assert len(record.attempts) == 1
    assert record.attempts[0].verdict.ok
    assert [step.step for step in record.steps] == list(record.plan[: len(record.steps)])
    assert_same_again(record)
    again = reexecute(record, load_scene())
    assert (again.outcome.steps_done, again.differences) == (record.steps_done, ())
    _await_end_of_that_goal()


def _await_end_of_that_goal() -> None:
    """A goal goes on while the silence of its client is borne; until then the next is refused."""

    def accepted() -> bool:
        code = ErrorCode(client.run(NOTHING_TO_DO).error_code)
        assert code in (ErrorCode.NONE, ErrorCode.QUEUE_FULL), code
        return code is ErrorCode.NONE

    with Client() as client:
        wait_until(accepted, 'the end of the goal')


@pytest.mark.nightly
def test_a_node_of_another_package_has_the_example_done(stack: Supervisor, tmp_path: Path) -> None:
    command = ('-m', 'tower_client.run_tower', '--ros-args', '-p', f'problem_file:={EXAMPLE}')
    with _process(tmp_path, *command) as process:
        _, said = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, said
    assert re.search(r'attempt \d by .*: proved', said)
    (steps,) = re.findall(r'the goal is reached in (\d+) steps', said)
    observed = re.findall(r'observed (\d+)/(\d+)', said)
    # rclpy may give out the result before the last of the feedback that came with it.
    assert observed == [(str(done), steps) for done in range(1, len(observed) + 1)]
    assert 1 <= len(observed) <= int(steps)


def test_ctrl_c_at_that_node_cancels_its_goal(stack: Supervisor, tmp_path: Path) -> None:
    problem = _unbuilt(tmp_path, 60)
    command = ('-m', 'tower_client.run_tower', '--ros-args', '-p', f'problem_file:={problem}')
    with _process(tmp_path, *command) as process:
        _lines_until('observed 1/', process.stderr)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
        assert process.wait(TIMEOUT_S) == 1
    assert 'cancelled: execution was cancelled' in said
