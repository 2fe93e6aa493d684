# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Faults of a real arm in mid-motion, with the nodes: only a reset lets it move again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from arm_bench import SCENE, Bench
from goals import Feedback
from stopping import Operator
from waiting import patient_arm_file, wait_until

from safegen_ros.bringup import node_specs
from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.robot.cell.layout import initial_layout
from safegen_ros.supervisor import Supervisor
from safegen_ros.worlds.pddl3.task import load_task

TASK = """
(define (problem one-block) (:domain blocksworld) (:objects a)
  (:init (arm-empty) (on-table a) (clear a)) (:goal (holding a)))
"""
LONG = parse_plan('(pickup a)(putdown a)' * 15 + '(pickup a)')


@pytest.fixture(scope='module', params=['serial', 'tcp'])
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    with Bench(request.param, tmp_path_factory.mktemp('arm')) as bench:
        yield bench


class Stack:
    """An executor and a validator at an arm, an operator, and a client."""

    def __init__(self, bench: Bench, client: Client, nodes: Supervisor) -> None:
        self.bench, self.client, self.nodes = bench, client, nodes
        self.operator = Operator(client, planner=False)

    def begin(self) -> object:
        """Begins a long plan; the arm moves then."""
        problem = load_task(TASK).problem
        bench = self.bench
        bench.twin.reset(initial_layout(SCENE, ('a',), problem.init).poses)
        assert self.operator.call('release').success
        assert self.operator.call('blocks_set_up').success
        moving = Feedback(lambda f: (f.progress.phase, f.progress.step) == ('moving', 0))
        goal = self.client.start_execute(TASK, LONG, on_feedback=moving)
        moving.wait()
        wait_until(lambda: not bench.rests(), 'the arm moves')
        return goal

    def assert_refused(self) -> None:
        """The stack is stopped, and takes no goal."""
        self.operator.wait_stopped('')
        with pytest.raises(SafegenError, match='stopped') as caught:
            self.client.execute(TASK, LONG)
        assert caught.value.code is ErrorCode.GOAL_REJECTED


@pytest.fixture(scope='module')
def stack(
    bench: Bench, ros_domain: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp('stack')
    values: dict[str, object] = {
        'arm_file': patient_arm_file(folder, 'config/mycobot.yaml'),
        'transport': bench.transport,
        'speed_limit': 0.5,
        **bench.arguments,
    }
    specs = [spec for spec in node_specs('mycobot', values) if spec.name != 'planner']
    environment = {'ROS_DOMAIN_ID': str(ros_domain), 'SAFEGEN_STATE_DIR': str(folder)}
    with Supervisor(specs, log_dir=folder, environment=environment) as nodes:
        nodes.wait_ready()
        with Client() as client:
            yield Stack(bench, client, nodes)


def test_power_that_is_cut_in_mid_motion_comes_back_by_a_reset_alone(stack: Stack) -> None:
    """The next goal does not power the servos, as a queued goal once did."""
    operator, bench = stack.operator, stack.bench
    operator.reset()
    goal = stack.begin()
    firmware = bench.emulator.firmware
    firmware.power_off()
    result = goal.result()  # type: ignore[attr-defined]
    assert ErrorCode(result.error_code) is ErrorCode.ROBOT_FAULT, result.error_msg
    assert 'no power' in result.error_msg
    last = bench.emulator.last_motion
    stack.assert_refused()
    assert not firmware.powered
    assert bench.emulator.last_motion == last
    operator.reset()
    assert firmware.powered
    assert bench.emulator.last_motion == last
    stack.begin()
    operator.call('stop')
    operator.wait_stopped('')


def test_an_arm_that_was_gone_is_reached_again_after_a_reset(stack: Stack) -> None:
    operator, bench = stack.operator, stack.bench
    operator.reset()
    goal = stack.begin()
    bench.unplug()
    result = goal.result()  # type: ignore[attr-defined]
    assert ErrorCode(result.error_code) is ErrorCode.ARM_UNREACHABLE, result.error_msg
    answer = operator.call('reset')
    assert not answer.success
    assert 'it stays stopped' in answer.message
    assert 'cannot be opened' in answer.message
    bench.plug_in()
    stack.assert_refused()
    assert bench.emulator.last_motion == 0.0
    operator.reset()
    stack.begin()
    operator.call('stop')
    operator.wait_stopped('')
