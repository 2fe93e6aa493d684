# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The arm over a real SSH server: the real agent, the vendor's library, the emulated firmware."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import paramiko
import pytest
import waiting

from safegen_ros.errors import Canceled, ErrorCode, RobotError, SafegenError
from safegen_ros.paths import data_path
from safegen_ros.robot import skills
from safegen_ros.robot.agent_client import agent_arm
from safegen_ros.robot.agent_client.agent_arm import AgentArm, RemoteArm
from safegen_ros.robot.agent_client.agent_link import AgentLink
from safegen_ros.robot.agent_client.loopback_ssh import LoopbackSsh, has_sshd
from safegen_ros.robot.agent_client.ssh_link import SshAddress, connect
from safegen_ros.robot.arm import Arm, Sample
from safegen_ros.robot.cell.real import MyCobotCell
from safegen_ros.robot.emulator.emulator import Emulator
from safegen_ros.robot.gripper import MAX_OPENING
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.program import Move, Program, Recorder, ToolSwitch, Wait
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.skills import Target
from safegen_ros.robot.twin.twin import MujocoTwin

pytestmark = [
    pytest.mark.skipif(
        not has_sshd(),
        reason='THE SSH DRIVER IS NOT TESTED HERE for want of sshd: apt-get install openssh-server',
    ),
    pytest.mark.filterwarnings('error::pytest.PytestUnhandledThreadExceptionWarning'),
]

SCENE = load_scene()
#: A turn that takes far longer than anything that is waited for.
SLOW = 0.05
#: A link that a busy machine does not cut, which ends long before a slow turn does.
PATIENT = {'link_timeout_s': 10.0, 'hang_timeout_s': 10.0}


class Bench:
    """A server, an emulated arm at a port, and the address of both."""

    def __init__(self, folder: Path) -> None:
        self.twin = MujocoTwin(SCENE)
        self.emulator = Emulator(self.twin)
        self.ssh = LoopbackSsh(folder)
        self.address = replace(self.ssh.address, **PATIENT)
        self.remote = RemoteArm('mycobot', self.emulator.serial_port, 115200, 'basic-pump')

    def joint1(self) -> float:
        return float(np.degrees(self.twin.joint_positions()[0]))

    def close(self) -> None:
        self.ssh.close()
        self.emulator.close()


@pytest.fixture(scope='module')
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    bench = Bench(tmp_path_factory.mktemp('ssh'))
    yield bench
    bench.close()


@pytest.fixture(scope='module')
def readings() -> list[Sample]:
    return []


@pytest.fixture(scope='module')
def shared_arm(bench: Bench, readings: list[Sample]) -> Iterator[AgentArm]:
    with AgentArm(bench.address, bench.remote, sample=readings.append) as arm:
        yield arm


@pytest.fixture
def arm(shared_arm: AgentArm, monkeypatch: pytest.MonkeyPatch) -> AgentArm:
    """The arm at its home, ready; connected anew where a test has ended the link."""
    # An agent that a busy machine holds up confirms a stop late.
    monkeypatch.setattr(agent_arm, 'LONGEST_STOP_S', waiting.WAIT_S)
    shared_arm.reset_stop()
    shared_arm.move_joints(SCENE.home_joints, 1.0)
    return shared_arm


class Turning:
    """A slow turn of joint 1 in a thread, from when it is under way."""

    def __init__(self, bench: Bench, arm: AgentArm) -> None:
        self.error: SafegenError | None = None
        self._bench = bench
        self._arm = arm
        begin = bench.joint1()
        self._goal = SCENE.home_joints + np.radians([150.0, 0, 0, 0, 0, 0])
        self._thread = threading.Thread(target=self._turn)
        self._thread.start()
        waiting.wait_until(lambda: bench.joint1() > begin + 2.0, 'the arm turns')

    def _turn(self) -> None:
        try:
            self._arm.move_joints(self._goal, SLOW)
        except SafegenError as error:
            self.error = error

    def end(self) -> SafegenError:
        """Waits for the error that ended it; the arm is at rest far from the goal then."""
        self._thread.join(waiting.WAIT_S)
        assert self.error is not None
        assert not self._thread.is_alive()
        waiting.wait_until(self._rests, 'the arm rests')
        assert self._bench.joint1() < np.degrees(self._goal[0]) - 10.0
        return self.error

    def _rests(self) -> bool:
        before = self._bench.joint1()
        time.sleep(0.2)  # over so long it would turn a degree and a half
        return abs(self._bench.joint1() - before) < 0.02


def refusal(address: SshAddress) -> RobotError:
    with pytest.raises(RobotError) as caught:
        connect(address)
    assert caught.value.code is ErrorCode.ARM_UNREACHABLE
    return caught.value


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


def test_a_skill_is_one_program(arm: AgentArm, bench: Bench) -> None:
    recorder = Recorder(arm.joint_positions(), tool_on=False)
    block = Pose.upright(SCENE.home.x, SCENE.home.y, 0.15, SCENE.home.azimuth)
    skills.pick(recorder, SCENE, Target('b1', block, '<table>'), [])
    assert sum(isinstance(step, Move) for step in recorder.program.steps) >= 3
    arm.run_program(recorder.program)
    assert np.allclose(arm.joint_positions(), recorder.joint_positions(), atol=0.03)
    assert bench.twin.tool_on()
    arm.run_program(Program((ToolSwitch(False), Wait(0.01))))


def test_a_gripper_picks_a_block_and_its_opening_is_heard_of(bench: Bench) -> None:
    scene = load_scene(data_path('config/gripper_scene.yaml'))
    samples: list[Sample] = []
    blocks = {'a': scene.slot_pose(scene.slots[2])}
    with MujocoTwin(scene, blocks) as twin, Emulator(twin) as emulator:
        remote = RemoteArm('mycobot', emulator.serial_port, 115200, 'gripper')

        def connect(tell: Callable[[Sample], None]) -> Arm:
            return AgentArm(bench.address, remote, sample=tell)

        with MyCobotCell(scene, connect, sample=samples.append) as cell:
            assert cell.assumed is not None
            cell.assumed.confirm()
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


@pytest.mark.parametrize('how', ['cut', 'server', 'agent', 'hung', 'guard'])
def test_a_link_that_dies_in_mid_motion_holds_the_arm(
    arm: AgentArm, bench: Bench, how: str
) -> None:
    """A pulled cable, a dead server, a process that hangs, and either of the two killed."""
    turning = Turning(bench, arm)
    if how == 'cut':
        bench.ssh.cut()
    elif how == 'server':
        bench.ssh.kill()
    elif how == 'hung':
        os.kill(bench.ssh.agent_pid('serve'), signal.SIGSTOP)
    else:
        module = 'serve' if how == 'agent' else 'main'
        os.kill(bench.ssh.agent_pid(module), signal.SIGKILL)
    assert turning.end().code is ErrorCode.ARM_UNREACHABLE
    for command in (arm.joint_positions, lambda: arm.move_joints(SCENE.home_joints, 1.0)):
        with pytest.raises(RobotError) as caught:
            command()
        assert caught.value.code is ErrorCode.ARM_UNREACHABLE
    if how == 'server':
        with pytest.raises(RobotError, match='is it switched on'):
            arm.reset_stop()
        bench.ssh.start()


def test_the_newest_agent_is_the_one_that_is_found(bench: Bench) -> None:
    """The agent of a link that has just died may still be ending."""
    found = []
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(AgentLink(bench.address, lambda sample: None))
            found.append(bench.ssh.agent_pid('serve'))
    assert found[0] != found[1]


def test_what_the_tool_may_hold_is_remembered_over_a_lost_link(arm: AgentArm, bench: Bench) -> None:
    arm.set_tool(True)
    os.kill(bench.ssh.agent_pid('serve'), signal.SIGKILL)
    waiting.wait_until(lambda: bool(arm._link.lost), 'the end of the link')
    arm.reset_stop()
    assert bench.twin.tool_on()
    assert arm.tool_on()
    arm.set_tool(False)
    assert not arm.tool_on()


def test_half_a_program_is_not_carried_out(arm: AgentArm, bench: Bench) -> None:
    last = bench.emulator.last_motion
    here = tuple(float(each) for each in arm.joint_positions())
    data = Program((Move(here, 1.0),)).to_json()
    name = '0' * 32 + '.json'
    arm._link.put(name, data[:-5])
    with pytest.raises(RobotError, match='not complete'):
        arm._link.ask({'op': 'run', 'file': name, 'sha256': '0' * 64}, 5.0)
    assert bench.emulator.last_motion == last


def test_an_unknown_host_is_refused_with_its_fingerprint(bench: Bench, tmp_path: Path) -> None:
    empty = tmp_path / 'known hosts'
    empty.touch()
    printed = subprocess.run(
        ['ssh-keygen', '-lf', str(bench.address.known_hosts.with_name('host_key.pub'))],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    message = refusal(replace(bench.address, known_hosts=empty)).message
    assert printed.split()[1] in message
    cure = f"ssh-keyscan -p {bench.address.port} -t ed25519 127.0.0.1 >> '{empty}'"
    assert cure in message
    subprocess.run(cure, shell=True, check=True, capture_output=True)
    connect(replace(bench.address, known_hosts=empty)).close()


def test_a_host_whose_key_changed_is_refused(bench: Bench, tmp_path: Path) -> None:
    user_key = bench.address.key_file.with_name('user_key.pub').read_text().split()[:2]
    changed = tmp_path / 'known_hosts'
    changed.write_text(f'{bench.address.key_name} {" ".join(user_key)}\n')
    message = refusal(replace(bench.address, known_hosts=changed)).message
    assert 'its host key has changed' in message
    assert f"ssh-keygen -R '{bench.address.key_name}' -f {changed}" in message


def test_other_refusals_name_their_cure(bench: Bench, tmp_path: Path) -> None:
    other = tmp_path / 'other_key'
    locked = tmp_path / 'locked_key'
    for path, phrase in ((other, ''), (locked, 'secret')):
        subprocess.run(
            ['ssh-keygen', '-q', '-t', 'ed25519', '-N', phrase, '-f', str(path)], check=True
        )
    missing = tmp_path / 'missing'
    cures = [
        (replace(bench.address, key_file=other), f'ssh-copy-id -i {other}'),
        (replace(bench.address, key_file=locked), 'has a passphrase'),
        (replace(bench.address, key_file=missing), 'ssh-keygen -t ed25519'),
        (replace(bench.address, known_hosts=missing), 'ssh-keyscan'),
        (replace(bench.address, port=1), 'systemctl enable --now ssh'),
        (replace(bench.address, command='safegen-agent; rm'), 'not a plain path'),
    ]
    for address, cure in cures:
        assert cure in refusal(address).message


def test_an_agent_that_is_not_there_is_told_apart(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nothing can be sent to it any more before its last words are read."""
    failed = threading.Event()
    send, read = paramiko.Channel.sendall, paramiko.Channel.recv

    def sendall(channel: paramiko.Channel, data: bytes) -> None:
        try:
            send(channel, data)
        except OSError:
            failed.set()
            raise

    def recv(channel: paramiko.Channel, size: int) -> bytes:
        if threading.current_thread().name == 'agent _read':
            assert failed.wait(waiting.WAIT_S)
        return read(channel, size)

    monkeypatch.setattr(paramiko.Channel, 'sendall', sendall)
    monkeypatch.setattr(paramiko.Channel, 'recv', recv)
    with pytest.raises(RobotError, match=r'No such file.*pip install') as caught:
        AgentArm(replace(bench.address, command='/no/such/safegen-agent'), bench.remote)
    assert caught.value.code is ErrorCode.ARM_UNREACHABLE


def test_a_port_that_is_not_there_is_the_arms_error(bench: Bench) -> None:
    with pytest.raises(RobotError, match='/dev/no-arm') as caught:
        AgentArm(bench.address, replace(bench.remote, port='/dev/no-arm'))
    assert caught.value.code is ErrorCode.ARM_UNREACHABLE
