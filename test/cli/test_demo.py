# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen demo` as a person runs it: a process with a screen, a keyboard and a folder of runs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.command_line import CommandLine
from support.model_server import MODEL, ModelServer

from safegen_ros.cli.demo import search_alone, show_rules_matter
from safegen_ros.errors import ErrorCode
from safegen_ros.record.mcap_reader import read_messages
from safegen_ros.record.node_journal import NODES
from safegen_ros.record.run import RunRecord
from safegen_ros.record.run_log import load_run
from safegen_ros.ros.stack_state import read_state
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.domains import builtin_domain_text, kits
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.terminal import Console

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 150.0

# Three blocks, no constraint, held block at the start: the smallest task with something to set up.
SMALL = """
(define (problem put-it-there) (:domain blocksworld)
  (:objects red green blue)
  (:init (holding red) (on-table green) (on blue green) (clear blue))
  (:goal (and (on red blue))))
"""

NO_PLANNER = f"""
import sys, time
if 'safegen_ros.nodes.planner' in sys.orig_argv:
    time.sleep({TIMEOUT_S})
"""
"""What Python runs first: a stack without a planner goes on to start, however late a Ctrl-C is."""


@pytest.mark.parametrize(
    ('sources', 'alone'), [(['search'], True), (['model', 'search'], False), ([], False)]
)
def test_a_plan_without_the_model_is_told(sources: list[str], alone: bool) -> None:
    record: Any = SimpleNamespace(attempts=[SimpleNamespace(source=each) for each in sources])
    assert search_alone(record) is alone


@contextmanager
def _demo(domain: int, runs: Path, *arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    environment = os.environ | {'ROS_DOMAIN_ID': str(domain), 'SAFEGEN_RUNS_DIR': str(runs)}
    command = [sys.executable, '-m', 'safegen_ros.cli.main', 'demo', *map(str, arguments)]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, str]]:
    """Words that name a model at a server, which writes no plan; a demo with it starts faster."""
    with ModelServer() as server:
        yield '--model', f'{server.url}#{MODEL}'


def _interrupt_at(pattern: str, process: subprocess.Popen[str]) -> str:
    """Sends the Ctrl-C when a line of the screen matches; returns what follows it."""
    assert process.stdout is not None
    before = []
    for line in process.stdout:
        before.append(line)
        if re.search(pattern, line):
            process.send_signal(signal.SIGINT)
            return process.stdout.read()
    raise AssertionError(f'{pattern!r} is not on the screen:\n{"".join(before)}')


def _record(runs: Path) -> tuple[Path, RunRecord]:
    (folder,) = (path for path in runs.iterdir() if path.name != NODES)
    return folder, RunRecord.from_json((folder / 'report.json').read_text(encoding='utf-8'))


@pytest.mark.parametrize('whole', [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_the_main_job_leaves_a_record_that_agrees_with_itself(
    ros_domain: int, tmp_path: Path, elsewhere: tuple[str, str], whole: bool
) -> None:
    """Where it is `whole`, the shipped model is asked, and a video is made."""
    problem = tmp_path / 'small.pddl'
    problem.write_text(SMALL, encoding='utf-8')
    runs = tmp_path / 'runs'
    more = () if whole else ('--no-video', *elsewhere)
    with _demo(ros_domain, runs, problem, '--real-time-factor', '0', *more) as process:
        screen, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, screen
    assert 'The measured world satisfies the goal' in screen
    model = 'models/safegen-mini' if whole else elsewhere[1]
    assert re.search(rf'planner is up after .* s, with the model {re.escape(model)}', screen)
    more = [line for line in screen.splitlines() if line.startswith('next: ')]
    assert [line[14:] for line in more] == ['runs show last', 'runs share last', 'up sim --console']
    assert read_state(ros_domain) is None, 'the stack is still up'

    folder, record = _record(runs)
    assert record.ok
    assert record.task.problem == SMALL
    assert load_task(SMALL).verify('\n'.join(record.plan)).ok
    assert [s.step for s in record.steps] == list(record.plan)
    assert record.attempts[-1].verdict.ok
    assert record.model.temperature == pytest.approx(0.6)
    heights = {b.name: b.position[2] for b in record.blocks}
    assert heights['red'] == pytest.approx(0.075, abs=0.003)
    report = (folder / 'report.md').read_text(encoding='utf-8')
    assert all(step in report for step in record.plan)

    kept = load_run(folder)
    assert kept.record == record
    assert [signer.known for signer in kept.signers] == [True] * len(kept.signers)
    assert [entry.kind for entry in kept.entries][:2] == ['task', 'stack']
    topics = {message.topic for message in read_messages(folder / 'run.mcap')}
    assert topics == {
        '/planner/attempts', '/planner/plan', '/executor/progress', '/joint_states',
        '/world_state', '/stopped', '/executor/scene', '/robot_description', '/diagnostics',
        '/clock',
    }  # fmt: skip
    made = [each for each in record.artefacts if each.name == 'video']
    assert len(made) == whole
    if whole:
        (video,) = made
        assert (folder / 'twin.mp4').stat().st_size > 10_000 if video.file else video.note


@pytest.mark.nightly
def test_a_task_of_another_domain_runs_on_symbols_in_the_format_that_was_asked_for(
    ros_domain: int, tmp_path: Path, elsewhere: tuple[str, str]
) -> None:
    made = kits()['ferry'].problem(3)
    problem = tmp_path / 'ferry.json'
    problem.write_text(load_task(made.text).written_as('json').problem_text, encoding='utf-8')
    runs = tmp_path / 'runs'
    asked = ('--format', 'english', '--strategy', 'search', '--real-time-factor', '0')
    arguments = (problem, *asked, *elsewhere)
    with _demo(ros_domain, runs, *arguments) as process:
        screen, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, screen
    assert re.search(r'sent as +english', screen)
    assert 'nothing moves and nothing is measured' in ' '.join(screen.split())
    assert 'by search: proved safe (SUCCESS)' in screen
    assert 'The symbolic world satisfies the goal' in screen
    assert not re.search('the arm|measured world|✓ measured|the table', screen.split('is up')[-1])
    assert read_state(ros_domain) is None, 'the stack is still up'

    folder, record = _record(runs)
    assert record.ok
    assert (record.cell, record.plan_source, record.blocks) == ('symbolic', 'search', ())
    assert record.task.problem.startswith('Problem ')
    assert load_task(record.task.problem, format='english').problem == made.problem
    assert load_task(record.task.pddl).verify('\n'.join(record.plan)).ok
    assert [s.step for s in record.steps] == list(record.plan)
    assert all(s.seconds is not None for s in record.steps)
    (video,) = [a for a in record.artefacts if a.name == 'video']
    assert (video.file, video.note) == ('', 'a symbolic cell has no motion to show')
    worlds = [m.message for m in read_messages(folder / 'run.mcap') if m.topic == '/world_state']
    assert all(world.facts and not world.objects for world in worlds)
    changes = [facts for facts, _ in groupby(tuple(world.facts) for world in worlds)]
    assert len(changes) == 1 + len(record.plan)  # an idle cell tells its world again


def test_ctrl_c_while_the_arm_moves(
    ros_domain: int, tmp_path: Path, elsewhere: tuple[str, str]
) -> None:
    runs = tmp_path / 'runs'
    arguments = ('--real-time-factor', '2', '--no-video', *elsewhere)
    with _demo(ros_domain, runs, *arguments) as process:
        rest = _interrupt_at(r'✓ +1/\d+', process)
        assert process.wait(TIMEOUT_S) == 130, rest
    assert read_state(ros_domain) is None, 'the stack is still up'
    folder, record = _record(runs)
    assert not record.ok
    assert record.error_code is ErrorCode.EXECUTION_CANCELED
    done = f'{record.steps_done} of {len(record.plan)}'
    assert 1 <= record.steps_done < len(record.plan)
    assert f'its execution has stopped, with {done} steps done' in rest
    assert sum(s.seconds is not None for s in record.steps) == record.steps_done
    assert load_task(record.task.problem).verify('\n'.join(record.plan)).ok
    assert record.plan_source == record.attempts[-1].source
    report = (folder / 'report.md').read_text(encoding='utf-8')
    assert f'- Steps executed: {done}' in report
    assert load_run(folder).record == record


@pytest.mark.nightly
def test_ctrl_c_while_the_stack_starts(
    ros_domain: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = tmp_path / 'late'
    late.mkdir()
    (late / 'sitecustomize.py').write_text(NO_PLANNER, encoding='utf-8')
    monkeypatch.setenv('PYTHONPATH', str(late), prepend=os.pathsep)
    runs = tmp_path / 'runs'
    with _demo(ros_domain, runs) as process:
        rest = _interrupt_at('is up after', process)
        assert process.wait(TIMEOUT_S) == 130, rest
    assert read_state(ros_domain) is None, 'the stack is still up'
    assert 'no goal had been sent: nothing moved' in rest
    assert 'stopped' not in rest
    _, record = _record(runs)
    assert not record.ok
    assert 'nothing moved' in record.message


SEVEN = SMALL.replace('red green blue)', 'red green blue b4 b5 b6 b7)')
TWIN = ('--cell', 'twin')


@pytest.mark.parametrize(
    ('text', 'arguments', 'expected'),
    [
        (SEVEN, TWIN, '7 blocks: the table takes 1 to 6'),
        (SMALL.replace('(clear blue)', ''), (), '(clear blue) follows from'),
        (SMALL, ('--model', 'models/none'), 'models/none does not exist'),
        (
            SMALL,
            ('--domain', 'changed.pddl', *TWIN),
            'is not the one that this robot cell executes',
        ),
        (SMALL, ('--format', 'jsn'), "did you mean 'json'?"),
        (SMALL, ('--strategy', 'model, magic'), "'magic' is not a planner"),
        (SMALL, ('--feedback', 'loud'), "feedback 'loud' is not known"),
        ('(define (problem p)\n  (:domain blocksworld', (), '/task.pddl:2:3:'),
        ('; ' + 'x' * 10_000_000, (), '/task.pddl: the problem has more bytes than the limit'),
        ('\xff\xfe', (), '/task.pddl: the problem is not UTF-8 text'),
    ],
    ids=range(10),  # the texts are long
)
def test_what_cannot_be_set_up_is_refused_before_anything_starts(
    safegen: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
    ros_domain: int,
    tmp_path: Path,
    text: str,
    arguments: tuple[str, ...],
    expected: str,
) -> None:
    problem = tmp_path / 'task.pddl'
    problem.write_bytes(text.encode('latin-1'))
    changed = builtin_domain_text('blocksworld').replace('(not (on-table ?ob))', '', 1)
    (tmp_path / 'changed.pddl').write_text(changed, encoding='utf-8')
    runs = tmp_path / 'runs'
    words = [str(tmp_path / w) if w == 'changed.pddl' else w for w in arguments]
    monkeypatch.setenv('SAFEGEN_RUNS_DIR', str(runs))
    status, out, error = safegen('demo', problem, *words)
    screen = out + error
    assert status == 2, screen
    assert expected in screen
    assert 'Traceback' not in screen
    assert 'UNKNOWN' not in screen
    assert not runs.exists()


def test_the_demo_shows_that_its_rules_matter() -> None:
    """Each shortest plan breaks a rule: the shortest safe one is longer."""
    console = Console(record=True, width=80)
    problem = load_task((ROOT / 'examples/fragile_block.pddl').read_text()).problem
    show_rules_matter(console, problem)
    shown = console.export_text()
    assert 'SAFETY_VIOLATION: after step 4 (putdown b4)' in shown
    free = solve(replace(problem, constraints=()), optimal=True).plan
    assert len(free) < len(solve(problem, optimal=True).plan)
    show_rules_matter(console, load_task(SMALL).problem)
    assert not console.export_text()
