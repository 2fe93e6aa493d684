# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The cell of many arms: steps as proved, stops, refusals, contacts; ways; pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from safegen_ros.benchmarks.boxnet.spatial import WHY, DepthCase, agreement, random_cases
from safegen_ros.cells.box_cell import BoxCell, StepRefused
from safegen_ros.cells.box_twin import BoxTwin
from safegen_ros.cells.motion import Physics, rrt_connect
from safegen_ros.cells.pictures import draw_judged, write_film
from safegen_ros.cells.world import CellSample, CollisionWorld
from safegen_ros.cli.box_pictures import samples_of
from safegen_ros.errors import Canceled, ErrorCode, RobotError
from safegen_ros.paths import data_path
from safegen_ros.record.mcap_reader import Recorded
from safegen_ros.robot.arms import FAMILIES
from safegen_ros.robot.cell.execution import ExecutionProgress, carry_out
from safegen_ros.robot.twin import render
from safegen_ros.tasks.boxnet.findings import Finding
from safegen_ros.tasks.boxnet.goal import BoxnetGoal, read_goal
from safegen_ros.tasks.boxnet.model import State
from safegen_ros.tasks.boxnet.spatial.kinematic import KINEMATIC
from safegen_ros.tasks.boxnet.spatial.prompts import example
from safegen_ros.tasks.boxnet.verifier import judge, take_step, verify
from safegen_ros.tasks.task import WorldJob

TASK, PLAN = example()


@pytest.mark.parametrize('arm', FAMILIES)
def test_a_proved_plan_is_carried_out_as_proved(arm: str) -> None:
    task, plan = example(arm)
    samples: list[CellSample] = []
    states = judge(task, plan).states
    with BoxCell(task, sample=samples.append) as cell:
        assert cell.state == task.start
        for step, wanted in zip(plan, states[1:], strict=True):
            prepared = cell.prepare(step)
            assert prepared.expected == wanted
            assert cell.run(prepared) == wanted
        measured = cell.look().boxes[:, :2]
    assert measured == pytest.approx(np.array(task.targets) / 1e6, abs=task.family.radius / 10)
    assert {each.carrying[0] for each in samples} == {None, 0}
    assert np.diff([each.time for each in samples]) == pytest.approx(0.04, abs=1e-6)


def test_what_is_refused_does_not_move() -> None:
    with BoxCell(TASK) as cell:
        before = cell.look().joints
        bad = (TASK.move(0, TASK.start.tips[0], (2_750_000, 550_000), False),)
        with pytest.raises(StepRefused, match='Robot 0 cannot reach') as refused:
            cell.prepare(bad)
        assert refused.value.fault.finding is Finding.UNREACHABLE
        assert refused.value.code is ErrorCode.PLAN_REFUSED
        assert (cell.look().joints == before).all()


def test_a_step_is_run_once_and_from_its_own_posture_only() -> None:
    with BoxCell(TASK) as cell:
        prepared = cell.prepare(PLAN[0])
        cell.run(prepared)
        with pytest.raises(RobotError, match='another posture') as stale:
            cell.run(prepared)
        assert stale.value.code is ErrorCode.STATE_MISMATCH
        assert cell.state == prepared.expected


def test_a_stop_in_the_middle_holds_arms_and_box_until_it_is_reset() -> None:
    samples: list[CellSample] = []

    def stop_on_the_way(sample: CellSample) -> None:
        samples.append(sample)
        if sample.carrying[0] is not None and len(samples) % 20 == 0:
            cell.stop()

    with BoxCell(TASK, sample=stop_on_the_way) as cell:
        cell.run(cell.prepare(PLAN[0]))
        with pytest.raises(Canceled) as stopped:
            cell.run(cell.prepare(PLAN[1]))
        assert stopped.value.code is ErrorCode.EXECUTION_CANCELED
        held = cell.look()
        assert held.carrying[0] == 0
        assert held.boxes[0, :2] != pytest.approx([0.55, 0.55], abs=0.01)
        with pytest.raises(Canceled):
            cell.prepare(PLAN[1])
        assert np.abs(cell.look().joints - held.joints).max() < 1e-3
        cell.sample = None
        cell.reset_stop()
        between = cell.state
        assert between.tips[0] not in (TASK.start.tips[0], (550_000, 550_000), (1_650_000, 550_000))
        # It can go on from where it is.
        assert cell.look().carrying[0] is None
        rest = (TASK.move(0, between.tips[0], (1_650_000, 550_000), True),)
        assert cell.run(cell.prepare(rest)).objects[0] == (1_650_000, 550_000)


def test_a_box_that_somebody_puts_in_the_way_ends_the_step() -> None:
    with BoxCell(TASK) as cell:
        cell.run(cell.prepare(PLAN[0]))
        prepared = cell.prepare(PLAN[1][:1])
        cell.disturb(1, (1_100_000, 322_000))
        with pytest.raises(RobotError, match='Object 0 and Object 1 collide'):
            cell.run(prepared)
        assert cell.look().carrying[0] == 0
        with pytest.raises(RobotError, match='holds after a fault'):
            cell.prepare(PLAN[1][:1])


@pytest.mark.nightly
def test_where_swings_meet_a_way_around_is_found_and_run() -> None:
    """Robot 0 swings over a box: the rules refuse, MuJoCo finds a way that lifts the hand."""
    tips = (550_000, 1_650_000), TASK.start.tips[1]
    start = State(tips, ((322_000, 1_100_000), (2_750_000, 1_650_000)))
    task = replace(TASK, rules=Physics(), start=start)
    step = (task.move(0, start.tips[0], (550_000, 550_000), False),)
    assert not isinstance(take_step(TASK, start, step), State)
    assert isinstance(take_step(task, start, step), State)
    direct = take_step(replace(task, rules=Physics(plan=False)), start, step)
    assert not isinstance(direct, State)
    with BoxCell(task) as cell:
        prepared = cell.prepare(step)
        assert prepared.way.kind == 'planned'
        assert cell.run(prepared) == prepared.expected
        again = BoxCell(task).prepare(step)
        assert (again.way.joints == prepared.way.joints).all()


@pytest.mark.nightly
def test_arms_of_real_shape_never_take_a_swing_that_touches_in_mujoco() -> None:
    """Capsules of our own against those of MuJoCo."""
    cases = list(random_cases('ur5e', 25, 5, run=False, swing_only=True))
    assert all(case.physics is Finding.OK for case in cases if case.kinematic is Finding.OK)
    counted = dict(agreement(cases))
    assert 0 < counted['rules and physics take it'] < 25
    only = {what.partition(': ')[2] for what in counted if what.startswith('only ')}
    assert only <= set(WHY.values())


def test_differences_are_named() -> None:
    case = DepthCase(Finding.OK, Finding.ROBOT_COLLISION, Finding.ROBOT_COLLISION, False, None)
    assert case.why == 'links meet that the rules do not look at'
    around = DepthCase(Finding.ROBOT_COLLISION, Finding.ROBOT_COLLISION, Finding.OK, True, True)
    assert around.why == 'the arms find a way around or over'
    assert DepthCase(Finding.OK, Finding.OK, Finding.OK, False, True).why == ''


def test_the_same_seed_finds_the_same_way() -> None:
    def free(point: np.ndarray) -> bool:
        return not (abs(point[0]) < 0.3 and point[1] < 0.5)

    ends = np.array([-1.0, 0.0]), np.array([1.0, 0.0])
    low, high = np.full(2, -1.5), np.full(2, 1.5)
    ways = [rrt_connect(*ends, low, high, free, 0.05, seed) for seed in (3, 3)]
    assert ways[0] is not None
    assert (ways[0] == ways[1]).all()
    assert all(free(point) for point in ways[0])
    assert rrt_connect(*ends, low, high, lambda p: bool(abs(p[0]) > 0.3), 0.05, 3) is None


def test_the_tips_in_mujoco_are_where_the_state_says() -> None:
    task = example('mycobot_280')[0]
    world = CollisionWorld(task, 0.0)
    world.place(world.postures(task.start), task.start)
    assert np.array(world.tips()) == pytest.approx(np.array(task.start.tips) / 1e6, abs=1e-9)


def test_nine_arms_move_at_once() -> None:
    from safegen_ros.datasets.boxnet.draw import tasks

    task = next(tasks((4, 4), 1, 'nine', arm='ur5e'))
    step = tuple(
        task.move(robot, tip, (tip[0] - 260_000, tip[1]), False)
        for robot, tip in enumerate(task.start.tips)
    )
    with BoxCell(replace(task, rules=KINEMATIC)) as cell:  # type: ignore[arg-type]
        prepared = cell.prepare(step)
        assert len(prepared.step) == 9
        assert cell.run(prepared) == prepared.expected


@pytest.fixture(scope='module')
def drawing() -> None:
    try:
        render.backend()
    except render.RenderError:
        pytest.skip('no offscreen OpenGL here')


@pytest.mark.nightly
@pytest.mark.usefixtures('drawing')
def test_a_run_becomes_a_film(tmp_path: Path) -> None:
    path = tmp_path / 'run.mp4'
    with BoxCell(TASK) as cell:
        assert write_film(TASK, [cell.look()] * 3, path) == 3
        assert cell.picture(160, 120).shape == (120, 160, 3)
    assert path.stat().st_size > 1000


@pytest.mark.nightly
@pytest.mark.usefixtures('drawing')
def test_a_collision_is_drawn(tmp_path: Path) -> None:
    both = '[{"Robot 0": "Move [1.65, 0.55], False", "Robot 1": "Move [1.65, 0.55], False"}]'
    path = tmp_path / 'fault.png'
    draw_judged(TASK, verify(TASK, both), path)
    import matplotlib.image

    picture = matplotlib.image.imread(path)
    assert picture.shape[0] > 200
    red = (picture[..., 0] > 0.6) & (picture[..., 1] < 0.25) & (picture[..., 2] < 0.25)
    assert red.sum() > 20


def test_no_way_is_looked_for_to_where_nobody_can_be() -> None:
    ends = np.array([-1.0, 0.0]), np.array([1.0, 0.0])
    low, high = np.full(2, -1.5), np.full(2, 1.5)
    assert rrt_connect(*ends, low, high, lambda point: bool(point[0] < 0.5), 0.05, 0) is None
    assert rrt_connect(*ends, low, high / 2, lambda point: True, 0.05, 0) is None


@pytest.fixture(scope='module')
def goal() -> BoxnetGoal:
    path = data_path('examples/boxnet/mycobot_hand_over.json')
    return read_goal(path.read_text(encoding='utf-8'), path.name)


def test_all_arms_take_a_proved_plan_and_are_recorded(goal: BoxnetGoal) -> None:
    steps = goal.steps_of(goal.solve(30.0))
    kept: list[Recorded] = []

    def keep(topic: str, message: Any) -> None:
        kept.append(Recorded(f'/{topic}', len(kept), message))

    def seen(seconds: float, joints: dict[str, float], poses: dict[str, Any]) -> None:
        header = SimpleNamespace(
            stamp=SimpleNamespace(sec=int(seconds), nanosec=round(seconds % 1 * 1e9))
        )
        keep('joint_states', SimpleNamespace(header=header, position=[*joints.values()]))
        objects = [
            SimpleNamespace(name=name, pose=SimpleNamespace(
                position=SimpleNamespace(**dict(zip('xyz', pose.position, strict=True))),
                orientation=SimpleNamespace(**dict(zip('xyzw', pose.orientation, strict=True))),
            ))
            for name, pose in poses.items()
        ]  # fmt: skip
        keep('world_state', SimpleNamespace(header=header, objects=objects))

    def told(progress: ExecutionProgress) -> None:
        keep('executor/progress', progress)

    with BoxTwin(goal.task, seen=seen) as cell:
        job = WorldJob(goal, steps, cell, goal.monitor(steps))
        outcome = carry_out(job, time_budget_s=600.0, notify=told)
        assert outcome.error_code is ErrorCode.NONE, outcome.message
        assert all(holds for _, holds in goal.conditions(cell.observe()))
        assert set(cell.poses()) == {'object0', 'object1'}
    judged = judge(goal.task, verify(goal.task, goal.answer_of(steps)).plan)
    samples = list(samples_of(kept, judged))
    assert len(samples) > 50
    assert samples[0].joints.shape == (2, 6)
    assert {each for sample in samples for each in sample.carrying} == {None, 0, 1}


def test_a_stop_ends_a_step_of_all_arms(goal: BoxnetGoal) -> None:
    """The stop comes from what is seen of the arms on their way."""
    steps = goal.steps_of(goal.solve(30.0))
    stopped: list[float] = []

    def seen(seconds: float, joints: object, poses: object) -> None:
        if seconds > 0.4 and not stopped:
            stopped.append(seconds)
            cell.stop()

    with BoxTwin(goal.task, seen=seen) as cell:
        job = WorldJob(goal, steps, cell, goal.monitor(steps))
        outcome = carry_out(job, time_budget_s=600.0, cancelled=lambda: bool(stopped))
        assert outcome.error_code is ErrorCode.EXECUTION_CANCELED
        assert outcome.steps_done == 0
        assert cell.observe() != goal.init
