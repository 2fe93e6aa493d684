# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The arm behind an agent of this computer: the agent and the vendor's library, an emulated arm."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import waiting
from support.arm_bench import SCENE, Bench, Turning, ready

from safegen_ros.errors import Canceled, ErrorCode, RobotError
from safegen_ros.paths import data_path
from safegen_ros.robot import skills
from safegen_ros.robot.agent.messages import VERSION, SerialPort, encode
from safegen_ros.robot.agent_client import agent_arm, agent_link
from safegen_ros.robot.agent_client.agent_arm import AgentArm, RemoteArm
from safegen_ros.robot.agent_client.agent_link import AgentLink
from safegen_ros.robot.agent_client.channel import LOOK_S, Channel, LocalAgent
from safegen_ros.robot.arm import Arm, Sample
from safegen_ros.robot.arms.mycobot_280 import MAX_OPENING, MYCOBOT_280
from safegen_ros.robot.arms.ur5e import UR5E
from safegen_ros.robot.cell.real import MyCobotCell, connect_arm
from safegen_ros.robot.cell.settings import ArmSettings
from safegen_ros.robot.emulator.emulator import Emulator
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.program import JointMove, Program, Recorder, ToolSwitch, Wait
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.skills import Target
from safegen_ros.robot.twin.twin import MujocoTwin
from safegen_ros.sync import Deadline

pytestmark = pytest.mark.filterwarnings('error::pytest.PytestUnhandledThreadExceptionWarning')


@pytest.fixture(scope='module')
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with Bench('serial', tmp_path_factory.mktemp('arm')) as bench:
        yield bench


@pytest.fixture(scope='module')
def readings() -> list[Sample]:
    return []


@pytest.fixture(scope='module')
def shared_arm(bench: Bench, readings: list[Sample]) -> Iterator[AgentArm]:
    with AgentArm(bench.address, bench.remote, sample=readings.append) as arm:
        yield arm


@pytest.fixture
def arm(shared_arm: AgentArm, monkeypatch: pytest.MonkeyPatch) -> AgentArm:
    """The arm at its home, ready; connected again where a test has ended the link."""
    # An agent that a busy machine holds up confirms a stop late.
    monkeypatch.setattr(agent_arm, 'LONGEST_STOP_S', waiting.WAIT_S)
    return ready(shared_arm)


def test_it_is_an_arm(arm: AgentArm, bench: Bench, readings: list[Sample]) -> None:
    assert isinstance(arm, Arm)
    readings.clear()
    arm.move_joints(SCENE.home_joints + np.radians([8.0, 0, 0, 0, 0, 0]), 1.0)
    assert np.allclose(arm.joint_positions(), bench.twin.joint_positions(), atol=0.02)
    assert np.degrees(readings[-1].joints - SCENE.home_joints)[0] == pytest.approx(8.0, abs=1.1)
    arm.set_tool(True)
    assert arm.tool_on()
    assert bench.twin.tool_on()
    arm.set_tool(False)
    assert not bench.twin.tool_on()


@pytest.mark.nightly
def test_a_skill_is_one_program(arm: AgentArm, bench: Bench) -> None:
    recorder = Recorder(arm.joint_positions(), False, MYCOBOT_280)
    block = Pose.upright(SCENE.home.x, SCENE.home.y, 0.15, SCENE.home.azimuth)
    skills.pick(recorder, SCENE, Target('b1', block, '<table>'), [])
    assert sum(isinstance(step, JointMove) for step in recorder.program.steps) >= 3
    arm.run_program(recorder.program)
    assert np.allclose(arm.joint_positions(), recorder.joint_positions(), atol=0.03)
    assert bench.twin.tool_on()
    arm.run_program(Program((ToolSwitch(False), Wait(0.01)), MYCOBOT_280))


@pytest.mark.nightly
def test_a_gripper_picks_a_block_and_its_opening_is_heard_of(bench: Bench) -> None:
    scene = load_scene(data_path('config/gripper_scene.yaml'))
    samples: list[Sample] = []
    blocks = {'a': scene.slot_pose(scene.slots[2])}
    with MujocoTwin(scene, blocks) as twin, Emulator(twin) as emulator:
        remote = RemoteArm(SerialPort(emulator.serial_port, 115200), 'gripper')

        def connect(tell: Callable[[Sample], None]) -> Arm:
            return AgentArm(bench.address, remote, sample=tell)

        with MyCobotCell(scene, connect, sample=samples.append) as cell:
            assert cell.assumed is not None
            cell.assumed.confirm()
            cell.rearm()
            cell.reset_stop()
            cell.world.reset(blocks)
            cell.execute('pickup', ('a',))
            assert twin.block_poses()['a'].position[2] > 1.5 * scene.block_size
            assert samples[-1].opening == pytest.approx(scene.block_size, abs=0.001)
            assert cell.arm.opening() == pytest.approx(scene.block_size, abs=0.001)
            cell.arm.set_tool(False)
            assert samples[-1].opening == pytest.approx(MAX_OPENING, abs=0.003)
            with pytest.raises(RobotError, match='holds nothing'):
                cell.arm.set_tool(True)


def test_limits_are_kept_at_this_end(arm: AgentArm, bench: Bench) -> None:
    last = bench.emulator.last_motion
    beyond = SCENE.home_joints + np.radians([0, 0, 200.0, 0, 0, 0])
    with pytest.raises(RobotError, match='joint3') as caught:
        arm.move_joints(beyond, 1.0)
    assert caught.value.code is ErrorCode.LIMIT_VIOLATION
    assert bench.emulator.last_motion == last


def test_a_stop_of_any_thread_holds_until_the_reset(arm: AgentArm, bench: Bench) -> None:
    turning = Turning(bench, arm)
    arm.stop()
    assert isinstance(turning.end(), Canceled)
    last = bench.emulator.last_motion
    for command in (lambda: arm.move_joints(SCENE.home_joints, 1.0), lambda: arm.wait(0.01)):
        with pytest.raises(Canceled):
            command()
    assert bench.emulator.last_motion == last
    arm.reset_stop()
    arm.wait(0.01)


def test_a_stop_of_a_patient_link_is_not_waited_for_longer(
    arm: AgentArm, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(agent_arm, 'LONGEST_STOP_S', 2.0)
    monkeypatch.setattr(arm._link, 'ask', lambda request, timeout_s: asked.append(timeout_s))
    arm.stop()
    assert asked == [2.0]


def test_a_stop_during_the_reset_is_not_lost(
    arm: AgentArm, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = arm._link.ask

    def stopped_meanwhile(request: dict[str, Any], timeout_s: float) -> Any:
        answer = ask(request, timeout_s)
        if request['op'] == 'reset':
            arm.stop()
        return answer

    monkeypatch.setattr(arm._link, 'ask', stopped_meanwhile)
    with pytest.raises(Canceled, match='stopped again'):
        arm.reset_stop()
    last = bench.emulator.last_motion
    with pytest.raises(Canceled):
        arm.move_joints(SCENE.home_joints, 1.0)
    assert bench.emulator.last_motion == last


@pytest.mark.nightly
def test_what_the_tool_may_hold_is_remembered_over_a_lost_link(arm: AgentArm, bench: Bench) -> None:
    arm.set_tool(True)
    os.kill(bench.agent_pid(arm, 'serve'), signal.SIGKILL)
    waiting.wait_until(lambda: bool(arm._link.lost), 'the end of the link')
    arm.reset_stop()  # nothing moved when the link died
    assert bench.twin.tool_on()
    assert arm.tool_on()
    arm.set_tool(False)
    assert not arm.tool_on()


@pytest.mark.parametrize(
    'fault',
    ['servo', *(pytest.param(each, marks=pytest.mark.nightly) for each in ('power', 'limit'))],
)
def test_a_fault_lasts_until_the_arm_is_rearmed(arm: AgentArm, bench: Bench, fault: str) -> None:
    firmware = bench.emulator.firmware
    turning = Turning(bench, arm)
    if fault == 'power':
        firmware.power_off()
    else:
        joint, code = (2, 16) if fault == 'servo' else (1, 1)
        firmware.stop_joint(joint, code, broken=fault == 'servo')
    error = turning.end()
    says = {'power': 'no power', 'servo': 'servo of joint2', 'limit': 'joint1 is at its limit'}
    assert says[fault] in error.message
    assert error.code is ErrorCode.ROBOT_FAULT
    firmware.free[:] = 1.0  # the servo is free again, and the error is still there
    last, powered = bench.emulator.last_motion, firmware.powered
    for command in (arm.reset_stop, lambda: arm.move_joints(SCENE.home_joints, 1.0)):
        with pytest.raises(RobotError, match='holds after a fault') as caught:
            command()
        assert caught.value.code is ErrorCode.ROBOT_FAULT
    assert bench.emulator.last_motion == last
    assert firmware.powered == powered
    ready(arm)


def test_rearming_alone_lets_nothing_move(arm: AgentArm, bench: Bench) -> None:
    arm.rearm()
    last = bench.emulator.last_motion
    with pytest.raises(Canceled):
        arm.move_joints(SCENE.home_joints, 1.0)
    assert bench.emulator.last_motion == last


def test_a_fault_of_a_joint_that_the_move_did_not_need_is_told(arm: AgentArm, bench: Bench) -> None:
    bench.emulator.firmware.stop_joint(2, 2, broken=False)
    with pytest.raises(RobotError, match='joint2 is at its limit') as caught:
        arm.move_joints(SCENE.home_joints + np.radians([5.0, 0, 0, 0, 0, 0]), 1.0)
    assert caught.value.code is ErrorCode.ROBOT_FAULT
    bench.emulator.firmware.free[:] = 1.0


@pytest.mark.parametrize(
    ('settings', 'says'),
    [
        (ArmSettings(transport='tcp'), 'transport tcp: host is empty'),
        (ArmSettings(transport='ssh', user='pi'), 'transport ssh: host is empty'),
        (ArmSettings(transport='ssh', host='arm'), 'transport ssh: user is empty'),
        (ArmSettings(transport='tcp', host='no.such.host.invalid'), 'no computer has this name'),
        (ArmSettings(transport='usb'), 'use one of serial tcp ssh'),
        (ArmSettings(port='/dev/no-arm'), '/dev/no-arm: cannot be opened: No such file'),
    ],
)
def test_wrong_settings_are_named(settings: ArmSettings, says: str) -> None:
    with pytest.raises(RobotError) as caught:
        connect_arm(settings, MYCOBOT_280, lambda sample: None)
    assert says in caught.value.message


def test_an_arm_without_a_driver_is_not_taken_for_another_one() -> None:
    with pytest.raises(RobotError, match='there is no driver for the ur5e of the scene') as caught:
        connect_arm(ArmSettings(), UR5E, lambda sample: None)
    assert caught.value.code is ErrorCode.UNSUPPORTED_SCENE


def test_an_agent_without_the_libraries_of_the_arm_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv('PYTHONPATH', str(tmp_path))
    (tmp_path / 'pymycobot.py').write_text('raise ModuleNotFoundError("no pymycobot here")')
    with pytest.raises(RobotError, match=r'no pymycobot here.*pip install') as caught:
        connect_arm(ArmSettings(), MYCOBOT_280, lambda sample: None)
    assert caught.value.code is ErrorCode.ARM_UNREACHABLE


HELLO = encode({'event': 'hello', 'version': VERSION, 'limits': {}})
BEAT = encode({'event': 'beat'})


class ScriptedChannel:
    """An agent that says what a script has, and then nothing.

    A look takes its time of the script, or `LOOK_S`; one that does not wait finds what is due.
    """

    def __init__(self, script: list[tuple[float, bytes | None]]) -> None:
        self.now = 0.0
        self._script = itertools.chain(script, itertools.repeat((LOOK_S, None)))

    def receive(self, wait: bool) -> bytes | None:
        seconds, data = next(self._script)
        self.now += seconds if wait or data is not None else 0.0
        return data

    def send(self, data: bytes) -> None:
        pass

    def errors(self) -> str:
        return ''

    def cut(self) -> None:
        pass


class ScriptedAgent(LocalAgent):
    def open(self) -> Channel:
        return channel_of[self.name]


channel_of: dict[str, ScriptedChannel] = {}


@pytest.mark.parametrize(('link_timeout_s', 'limit_s'), [(0.35, 1.0), (2.0, 4.0)])
def test_silence_ends_the_link_and_what_lies_there_is_read_first(
    monkeypatch: pytest.MonkeyPatch, link_timeout_s: float, limit_s: float
) -> None:
    """This process was held up for 9 s, and finds heartbeats: the agent has gone on."""
    channel = ScriptedChannel([(0.0, HELLO), *[(9.0, None), (0.0, BEAT)] * 3])
    channel_of['arm'] = channel
    monkeypatch.setattr(
        agent_link, 'Deadline', lambda seconds: Deadline(seconds, lambda: channel.now)
    )
    address = replace(ScriptedAgent('arm'), link_timeout_s=link_timeout_s)
    link = AgentLink(address, lambda sample: None)
    waiting.wait_until(lambda: bool(link.lost), 'the end of the link')
    assert link.lost == f'nothing was heard for {limit_s:g} s'
    assert limit_s <= channel.now - 3 * 9.0 < limit_s + 2 * LOOK_S + 1e-6
