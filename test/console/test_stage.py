# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is approved is what is shown: each block of the plan once, with its label and colour."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.blocks_small import THREE, TWO
from support.waiting import WAIT_S

from safegen_ros.console import choices
from safegen_ros.console.access import Gate, serve
from safegen_ros.console.rehearsed import Posture, RehearsedMotion
from safegen_ros.console.scene import GOAL_AT, Stand, Table
from safegen_ros.console.stage import ASPECT, CELL, Stage, framed
from safegen_ros.console.state import GoalView, Look, Pending, Snapshot
from safegen_ros.nodes.cell_view import _blocks
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.pddl.writer import atom_text
from safegen_ros.record.events import TaskEvent, begin
from safegen_ros.record.present.pictures import goal_html, state_html, wanted_towers
from safegen_ros.record.run_log import task_record
from safegen_ros.robot.cell.grounding import initial_layout
from safegen_ros.robot.description.mjcf import build_mjcf, legend
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import load_scene
from safegen_ros.verdict import Category, Verdict

SCENE = load_scene()
FOV = math.radians(75.0)
POINTS = [(slot.x, slot.y, 0.0) for slot in SCENE.slots] + [GOAL_AT, (0.0, 0.0, 0.4)]
ID = '0' * 32
STEPS = tuple(map(str, parse_plan('(pickup a)(stack a b)(pickup c)(stack c a)').steps))


class Rehearsals:
    """Takes the place of the rehearser: its motion is set by the test."""

    motion: RehearsedMotion | None = None

    def want(self, *_: Any) -> None: ...
    def forget(self) -> None: ...
    def close(self) -> None: ...


@pytest.fixture
def stage() -> Iterator[Stage]:
    server = serve(Gate('127.0.0.1'), 0)
    made = Stage(server, SCENE)
    made.close()
    made._rehearser = Rehearsals()  # type: ignore[assignment]
    yield made
    server.stop()


def look_at(problem: Problem) -> Look:
    poses = initial_layout(SCENE, tuple(problem.objects), problem.init).poses
    return Look(poses=poses, facts=tuple(map(atom_text, problem.init)))


def waits(look: Look, found: Category = Category.SUCCESS) -> Snapshot:
    task = TaskEvent('a run', '2026-01-31T14:25:00+00:00', task_record(THREE, 'a test', ''))
    goal = GoalView(ID, begin(task))
    pending = Pending(ID, 'f' * 64, STEPS, Verdict(found), 0.0, goal.problem)
    return Snapshot(goal=goal, pending=pending, look=look)


def blocks(table: Any, labels: bool = False) -> Mapping[str, Any]:
    """The blocks of a table that are seen, by their names."""
    if not table.frame.visible:
        return {}
    shown = [(box, label) for box, label in table._blocks if box.visible]
    return {label.text: box for box, label in shown if label.visible or not labels}


def test_blocks_of_the_task_before_are_not_shown_beside_a_plan_that_waits(stage: Stage) -> None:
    stage.update(Snapshot(look=look_at(TWO.problem)), 0.0)
    assert {*blocks(stage._live)} == {*TWO.problem.objects}
    stage.update(waits(look_at(TWO.problem)), 1.0)
    assert not blocks(stage._live)
    assert {*blocks(stage._ghost, labels=True)} == {*THREE.problem.objects}


@pytest.mark.parametrize('rehearsed', [False, True])
def test_a_block_has_one_label_and_its_colour(stage: Stage, rehearsed: bool) -> None:
    if rehearsed:
        poses = look_at(THREE.problem).poses
        stage._rehearser.motion = RehearsedMotion(STEPS, (Posture(0, (0.0,) * 6, poses),))  # type: ignore
    for look in (Look(), look_at(TWO.problem), look_at(THREE.problem)):
        stage.update(waits(look), 0.0)
        labels = [*blocks(stage._live, labels=True), *blocks(stage._ghost, labels=True)]
        assert sorted(labels) == sorted(THREE.problem.objects)
        colours = legend(THREE.problem.objects)
        for name, box in blocks(stage._ghost).items():
            assert tuple(box.color) == tuple(round(255 * each) for each in colours[name][1])


def test_a_preview_that_is_not_there_yet_is_said(stage: Stage) -> None:
    stage.update(waits(Look()), 0.0)
    assert stage._note.visible
    assert 'preview of the proved plan' in stage._note.text
    assert {*blocks(stage._ghost)} == {*THREE.problem.objects}  # where the plan begins
    stage.update(waits(Look(), Category.FORMAT_ERROR), 0.5)
    assert not stage._note.visible  # it will not be executed
    stage._rehearser.motion = RehearsedMotion(STEPS, (), 'joint 3 is out of reach')  # type: ignore
    stage.update(waits(Look()), 1.0)
    assert 'joint 3 is out of reach' in stage._note.text
    posture = Posture(0, (0.0,) * 6, look_at(THREE.problem).poses)
    stage._rehearser.motion = RehearsedMotion(STEPS, (posture,))  # type: ignore
    stage.update(waits(Look()), 2.0)
    assert not stage._note.visible
    stage.update(Snapshot(look=look_at(THREE.problem)), 3.0)
    assert not stage._ghost.frame.visible
    assert {*blocks(stage._live, labels=True)} == {*THREE.problem.objects}


def test_the_start_of_a_chosen_task_is_shown_where_there_is_no_goal(stage: Stage) -> None:
    stage.update(Snapshot(), 0.0, THREE.problem)
    assert {*blocks(stage._ghost, labels=True)} == {*THREE.problem.objects}
    assert 'start of the chosen task' in stage._note.text
    stage.update(Snapshot(), 1.0, TWO.problem)
    assert {*blocks(stage._ghost, labels=True)} == {*TWO.problem.objects}
    stage.update(waits(Look()), 2.0, TWO.problem)  # what waits for a person goes before
    assert {*blocks(stage._ghost)} == {*THREE.problem.objects}
    assert 'preview of the proved plan' in stage._note.text
    for look, seen in ((look_at(THREE.problem), False), (look_at(TWO.problem), True)):
        stage.update(Snapshot(look=look), 3.0, TWO.problem)
        assert {*blocks(stage._live if seen else stage._ghost)} == {*TWO.problem.objects}
        assert not blocks(stage._ghost if seen else stage._live)
        assert stage._note.visible is not seen
        assert stage._goal._shown == wanted_towers(TWO.problem)  # not those of the last goal


def test_the_start_is_shown_until_the_arm_moves(stage: Stage) -> None:
    seen = replace(waits(look_at(TWO.problem)), pending=None)
    assert seen.goal is not None
    for name, shown in (('generating', stage._ghost), ('executing', stage._live)):
        stage.update(replace(seen, goal=replace(seen.goal, stage=name)), 0.0)
        expected = THREE if shown is stage._ghost else TWO
        assert {*blocks(shown, labels=True)} == {*expected.problem.objects}
        assert not stage._note.visible
    refused = Snapshot(goal=replace(seen.goal, stage='ended', running=False))
    stage.update(refused, 0.0)  # before any block was measured
    assert {*blocks(stage._ghost)} == {*THREE.problem.objects}
    stage.update(replace(refused, look=seen.look), 1.0)
    assert not blocks(stage._ghost)


def seen(point: tuple[float, float, float], aspect: float) -> tuple[float, float]:
    """Where a point is in the picture, from -1 (left, below) to 1 (right, above)."""
    eye, target = framed(CELL, aspect, FOV)
    ahead = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(ahead, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    to = np.array(point) - eye
    half = math.tan(FOV / 2) * (to @ ahead)
    return float(to @ right) / half / aspect, float(to @ np.cross(right, ahead)) / half


@pytest.mark.parametrize(
    ('aspect', 'phone'), [(0.46, True), (0.32, False), (0.71, False), (ASPECT, False), (2.0, False)]
)
def test_slots_towers_and_arm_are_in_the_free_part_of_the_picture(
    aspect: float, phone: bool
) -> None:
    low, high = (0.26, 0.87) if phone else (-1.0, 1.0)
    for point in POINTS:
        x, y = seen(point, aspect)
        assert -1 < x < 1, point
        assert low < y < high, point


SCRIPT = """
import signal, sys
from support.blocks_small import THREE
from safegen_ros.console.rehearsed import PlanPreview
from safegen_ros.robot.scene import load_scene
from safegen_ros.search.solve import solve


if __name__ == '__main__':
    with PlanPreview(load_scene()) as rehearser:
        rehearser.want(THREE.problem, solve(THREE.problem).plan, None)
        rehearser._future.result()
        try:
            print('rehearsed', flush=True)
            signal.pause()
        except KeyboardInterrupt:
            pass
"""


@pytest.mark.nightly
@pytest.mark.parametrize(('end', 'number'), [(os.killpg, signal.SIGINT), (os.kill, signal.SIGKILL)])
def test_a_rehearsal_ends_with_the_console_and_prints_no_traceback(
    tmp_path: Path, end: Callable[[int, int], None], number: int
) -> None:
    program = tmp_path / 'program.py'
    program.write_text(SCRIPT, encoding='utf-8')
    paths = [str(Path(__file__).parents[1]), os.environ.get('PYTHONPATH', '')]
    running = subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(paths)}, start_new_session=True,
    )  # fmt: skip
    assert running.stdout is not None
    assert running.stdout.readline() == 'rehearsed\n'
    end(running.pid, number)
    _, errors = running.communicate(timeout=WAIT_S)  # until no process has the pipes
    assert 'Traceback' not in errors
    assert 'KeyboardInterrupt' not in errors


Rgb = tuple[int, ...]

SHIPPED = [name for name in choices.problems() if name.startswith(('blocksworld', 'tower'))]


@pytest.fixture(scope='module')
def view() -> Iterator[Any]:
    server = serve(Gate('127.0.0.1'), 0)
    yield server.scene
    server.stop()


def _rgb(values: Any) -> Rgb:
    return tuple(round(255 * float(value)) for value in tuple(values)[:3])


def on_the_twin(poses: dict[str, Pose]) -> dict[str, Rgb]:
    root = ET.fromstring(build_mjcf(SCENE, poses))
    return {
        str(geom.get('name')).removeprefix('block:'): _rgb(str(geom.get('rgba')).split())
        for geom in root.iter('geom')
        if str(geom.get('name')).startswith('block:')
    }


def in_markers(poses: dict[str, Pose]) -> dict[str, Rgb]:
    markers = _blocks(SCENE, poses)
    names = [marker.text for marker in markers if marker.ns == 'names']
    colours = [(m.color.r, m.color.g, m.color.b) for m in markers if m.ns == 'blocks']
    return dict(zip(names, map(_rgb, colours), strict=True))


def in_the_view(table: Table) -> dict[str, Rgb]:
    return {label.text: tuple(box.color) for box, label in table._blocks if box.visible}


def on_the_stand(stand: Stand, problem: Problem) -> dict[str, Rgb]:
    stand.show(problem)
    boxes = {each.name: each for each in stand._handles if hasattr(each, 'color')}
    return {
        each.text: tuple(boxes[each.name.removesuffix('/name')].color)
        for each in stand._handles
        if each.name.endswith('/name')
    }


def in_a_picture(html: str) -> dict[str, Rgb]:
    found = re.findall(r'<g><rect[^>]*fill="rgb\((\d+),(\d+),(\d+)\)".*?<text[^>]*>([^<]+)<', html)
    return {name: (int(r), int(g), int(b)) for r, g, b, name in found}


def test_a_block_has_one_colour_everywhere(view: Any) -> None:
    table, stand = Table(view, '/live', SCENE), Stand(view, SCENE)
    assert len(SHIPPED) > 40
    other_order = 0
    for name in SHIPPED:
        problem = choices.read_problem(name).task.problem
        poses = dict(initial_layout(SCENE, tuple(problem.objects), problem.init).poses)
        other_order += [*poses] != [*problem.objects]
        table.show_blocks(poses)
        colours = on_the_twin(poses)
        assert {*colours} == {*problem.objects}
        assert in_markers(poses) == colours, name
        assert in_the_view(table) == colours, name
        assert in_a_picture(state_html(problem, problem.init)) == colours, name
        for shown in (on_the_stand(stand, problem), in_a_picture(goal_html(problem))):
            assert shown.items() <= colours.items(), name
            assert shown or not stand._shown
    assert other_order > 30  # else this would not tell one order from the other
