# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A session of the agent over pipes, with the twin as its arm: when in doubt, the arm is held."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import waiting

from safegen_ros.errors import Canceled, RobotError
from safegen_ros.robot.agent import session
from safegen_ros.robot.agent.messages import Open
from safegen_ros.robot.agent.session import MAX_BAD_LINES, Sampler, Session, SessionFiles
from safegen_ros.robot.arm import Arm
from safegen_ros.robot.arms.model import Joints
from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280
from safegen_ros.robot.program import MAX_BYTES, MAX_STEPS, JointMove, Program, ToolSwitch, Wait
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.twin.twin import MujocoTwin
from safegen_ros.sync import Deadline, boottime

OPEN = {'op': 'open', 'arm': 'twin', 'port': '', 'baud': 115200, 'tool': 'basic-pump'}
SCENE = load_scene()
#: Longer than any test; a test of silence sets its own once the arm is under way.
PATIENT = 120.0


def away(joints: Joints, degrees: float, speed: float) -> Program:
    """A turn of joint 1."""
    target = joints + np.radians([degrees, 0, 0, 0, 0, 0])
    return Program((JointMove(tuple(float(each) for each in target), speed),), MYCOBOT_280)


def run(program: Program) -> dict[str, Any]:
    """The request to carry a program out."""
    data = program.to_json()
    digest = hashlib.sha256(data).hexdigest()
    return {'op': 'run', 'program': data.decode('ascii'), 'sha256': digest}


class Client:
    """The other end of a session that runs in a thread."""

    def __init__(self, alive: Callable[[], None] = lambda: None) -> None:
        self.twin = MujocoTwin(SCENE, real_time_factor=1.0)
        self.openings = 0
        self.fail_to_open = False
        self.reason = ''
        source, self.to_agent = os.pipe()
        self.from_agent, sink = os.pipe()
        end, self.end = os.pipe()
        self._session = Session(
            SessionFiles(source, sink, end), self._open, {'twin': MYCOBOT_280},
            link_timeout_s=PATIENT, alive=alive,
        )  # fmt: skip
        self._rest = b''
        self._numbers = iter(range(1, 10_000))
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self._fds = [source, self.to_agent, self.from_agent, sink, end, self.end]

    def _run(self) -> None:
        self.reason = self._session.run()

    def _open(self, request: Open, sample: Sampler) -> Arm:
        self.openings += 1
        if self.fail_to_open:
            raise RobotError('there is no arm at this port')
        self.twin.sample = sample
        return self.twin

    def send(self, data: bytes) -> None:
        os.write(self.to_agent, data)

    def request(self, op: dict[str, Any]) -> int:
        number = next(self._numbers)
        self.send(json.dumps({**op, 'id': number}).encode() + b'\n')
        return number

    def messages(self) -> Iterator[dict[str, Any]]:
        """All that comes but signs of life and readings."""
        while True:
            while b'\n' not in self._rest:
                data = os.read(self.from_agent, 4096)
                assert data, 'the agent has ended'
                self._rest += data
            line, _, self._rest = self._rest.partition(b'\n')
            message = json.loads(line)
            if message.get('event') not in ('beat', 'sample', 'hello'):
                yield message

    def answer(self, number: int | None) -> dict[str, Any]:
        return next(each for each in self.messages() if each.get('id', -1) == number
                    and 'event' not in each)  # fmt: skip

    def ask(self, op: dict[str, Any]) -> dict[str, Any]:
        return self.answer(self.request(op))

    def move_slowly(self) -> int:
        """Begins a turn that takes far longer than a test, and waits until it is under way."""
        begin = self.twin.joint_positions()
        number = self.request(run(away(begin, 60.0, 0.01)))
        waiting.wait_until(
            lambda: abs(self.twin.joint_positions()[0] - begin[0]) > 1e-3, 'the arm moves'
        )
        return number

    def ended(self) -> str:
        """Waits for the end of the session; why it ended."""
        self._thread.join(waiting.WAIT_S)
        assert not self._thread.is_alive()
        return self.reason

    def assert_held(self) -> None:
        """The arm is at rest where it is, and was told to be."""
        before = self.twin.joint_positions()
        with pytest.raises((Canceled, RobotError)):
            self.twin.move_joints(before, 0.5)
        assert np.allclose(self.twin.joint_positions(), before, atol=1e-3)

    def close(self) -> None:
        if self._thread.is_alive():
            self.send(b'\n' * MAX_BAD_LINES)
        self.ended()
        for fd in self._fds:
            os.close(fd)


@pytest.fixture
def client() -> Iterator[Client]:
    client = Client()
    yield client
    client.close()


@pytest.fixture
def opened(client: Client) -> Client:
    assert client.ask(OPEN)['ok']
    return client


def test_a_program_is_carried_out_and_told_step_by_step(opened: Client) -> None:
    begin = opened.twin.joint_positions()
    steps = (*away(begin, 5.0, 1.0).steps, ToolSwitch(True), Wait(0.05))
    number = opened.request(run(Program(steps, MYCOBOT_280)))
    heard = []
    for message in opened.messages():
        heard.append(message)
        if 'ok' in message:
            break
    assert [each.get('done') for each in heard] == [1, 2, 3, None]
    assert heard[-1] == {'id': number, 'ok': True, 'result': None}
    assert np.degrees(opened.twin.joint_positions() - begin)[0] == pytest.approx(5.0, abs=0.2)
    assert opened.ask({'op': 'tool'})['result'] is True
    assert opened.ask({'op': 'opening'})['result'] is None
    joints = opened.ask({'op': 'joints'})['result']
    assert np.allclose(joints, opened.twin.joint_positions(), atol=1e-3)


def test_nothing_incomplete_is_carried_out(opened: Client) -> None:
    """Half a program, another one, and a whole one with a step beyond the limits."""
    begin = opened.twin.joint_positions()
    request = run(away(begin, 30.0, 1.0))
    text = request['program']
    codes = [
        opened.ask({**request, 'program': wrong})['code']
        for wrong in (text[: len(text) // 2], text + ' ')
    ]
    beyond = text.replace('"speed": 1.0', '"speed": 1.5')
    digest = hashlib.sha256(beyond.encode()).hexdigest()
    codes.append(opened.ask({**request, 'program': beyond, 'sha256': digest})['code'])
    assert codes == ['digest_mismatch', 'digest_mismatch', 'robot:LIMIT_VIOLATION']
    assert np.allclose(opened.twin.joint_positions(), begin, atol=1e-4)


def test_the_longest_program_fits_into_a_line(opened: Client) -> None:
    here = tuple(float(each) - 1e-16 for each in np.full(6, -0.123456789012345678))
    program = Program((JointMove(here, 0.30000000000000004),) * MAX_STEPS, MYCOBOT_280)
    assert len(program.to_json()) < MAX_BYTES
    number = opened.request(run(program))
    assert opened.ask({'op': 'stop'})['ok']
    assert opened.answer(number)['code'] == 'robot:EXECUTION_CANCELED'


def test_requests_out_of_place_are_refused(client: Client) -> None:
    for op in ({'op': 'joints'}, {'op': 'reset'}, {'op': 'rearm'}, {'op': 'switch', 'on': True}):
        assert client.ask(op)['code'] == 'not_open'
    client.fail_to_open = True
    refused = client.ask(OPEN)
    assert (refused['code'], refused['message']) == (
        'robot:ROBOT_FAULT',
        'there is no arm at this port',
    )
    client.fail_to_open = False
    assert client.ask(OPEN)['ok']
    assert client.ask(OPEN)['code'] == 'already_open'
    client.move_slowly()
    for op in (run(Program((), MYCOBOT_280)), {'op': 'switch', 'on': True}, {'op': 'reset'}):
        assert client.ask(op)['code'] == 'busy'
    assert client.openings == 2


def test_a_stop_ends_the_program_and_holds_until_the_reset(opened: Client) -> None:
    program = opened.move_slowly()
    stop = opened.request({'op': 'stop'})
    answers: dict[int, dict[str, Any]] = {}
    for message in opened.messages():
        if 'ok' in message:
            answers[message['id']] = message
        if len(answers) == 2:
            break
    assert answers[stop]['ok']
    assert answers[program]['code'] == 'robot:EXECUTION_CANCELED'
    here = opened.twin.joint_positions()
    assert opened.ask(run(away(here, 1.0, 1.0)))['code'] == 'robot:EXECUTION_CANCELED'
    assert opened.ask({'op': 'reset'})['ok']
    assert opened.ask(run(away(here, 1.0, 1.0)))['ok']


def test_a_stop_before_the_arm_is_open_holds_it_then(client: Client) -> None:
    assert client.ask({'op': 'stop'})['ok']
    assert client.ask(OPEN)['ok']
    here = client.twin.joint_positions()
    assert client.ask(run(away(here, 1.0, 1.0)))['code'] == 'robot:EXECUTION_CANCELED'


def test_silence_holds_the_arm(opened: Client) -> None:
    opened.move_slowly()
    opened._session._timeout = 0.35
    silent_from = time.monotonic()
    opened.send(b'{"op": "beat"}\n')
    assert opened.ended() == 'nothing was heard of the client for 0.35 s'
    assert time.monotonic() - silent_from >= 0.35
    opened.assert_held()


@pytest.mark.parametrize('heard', [True, False])
def test_what_lies_there_when_the_time_is_up_is_read_first(
    monkeypatch: pytest.MonkeyPatch, heard: bool
) -> None:
    """An agent does not take its own time for silence, nor noise for a heartbeat."""
    go_on = threading.Event()
    monkeypatch.setattr(session, 'FIRST_WORD_S', 0.0)
    client = Client(alive=lambda: waiting.wait_until(go_on.is_set, 'the other side'))
    if heard:
        number = client.request({'op': 'joints'})
        go_on.set()
        assert client.answer(number)['code'] == 'not_open'
    else:
        client.send(b'no request')
        go_on.set()
        assert client.ended() == f'nothing was heard of the client for {PATIENT:g} s'
    client.close()


def test_an_agent_that_did_not_run_for_the_timeout_holds_the_arm(
    opened: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever lies there: nobody has watched the motion meanwhile."""
    opened.move_slowly()
    opened._session._watched = Deadline(PATIENT, lambda: boottime() + 2 * PATIENT)
    opened.send(b'{"op": "beat"}\n')
    opened._session._watched._due = 0.0
    assert opened.ended() == f'the agent did not run for {PATIENT:g} s'
    opened.assert_held()


def test_a_program_that_nobody_has_watched_does_not_go_on(
    opened: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that moves the arm may be the first to run after a stall."""
    begin = opened.twin.joint_positions()
    steps = (Wait(0.2), *away(begin, 5.0, 1.0).steps)
    stalled = SimpleNamespace(over=False, restart=lambda: None)
    monkeypatch.setattr(opened._session, '_watched', stalled)
    number = opened.request(run(Program(steps, MYCOBOT_280)))
    # Only for the thread of the motion, as if the reader had not run yet.
    main = opened._thread
    over = property(lambda self: threading.current_thread() is not main)
    monkeypatch.setattr(opened._session, '_watched', type('Stalled', (), {
        'over': over, 'restart': lambda self: None})())  # fmt: skip
    assert opened.answer(number)['code'] == 'robot:EXECUTION_CANCELED'
    assert np.allclose(opened.twin.joint_positions(), begin, atol=1e-4)


@pytest.mark.parametrize('end', ['to_agent', pytest.param('end', marks=pytest.mark.nightly)])
def test_the_end_of_a_pipe_holds_the_arm(opened: Client, end: str) -> None:
    opened.move_slowly()
    os.close(opened.__dict__[end])
    opened._fds.remove(opened.__dict__[end])
    assert (
        opened.ended()
        == {'to_agent': 'the client has closed the link', 'end': 'the agent was asked to end'}[end]
    )
    opened.assert_held()


def test_a_guard_that_falls_silent_holds_the_arm(opened: Client) -> None:
    opened.move_slowly()
    opened._session._timeout = 0.2
    os.write(opened.end, b'\n')
    assert opened.ended() == 'the guard of the agent did not run for 0.2 s'
    opened.assert_held()


@pytest.mark.parametrize('fails', [False, True])
def test_an_arm_that_cannot_be_released_is_not_called_held(
    opened: Client, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """The guard holds it then."""

    def close() -> None:
        raise OSError('the port does not close')

    if fails:
        monkeypatch.setattr(opened.twin, 'close', close)
    opened.request({'op': 'close'})
    assert opened.ended() == 'the client has said goodbye'
    assert opened._session.held is not fails


@pytest.mark.nightly
def test_garbage_in_mid_motion_holds_the_arm(opened: Client) -> None:
    opened.move_slowly()
    opened.send(b'\xff\x00 garbage\n' * MAX_BAD_LINES)
    assert opened.ended() == f'{MAX_BAD_LINES} lines in a row were not requests'
    opened.assert_held()


@pytest.mark.nightly
def test_a_client_that_reads_nothing_cannot_keep_the_arm_moving(opened: Client) -> None:
    opened.move_slowly()
    # Far more answers than the pipe and the agent's memory of them hold.
    ask = b'{"op": "joints", "id": 1}\n' * 50
    end = time.monotonic() + waiting.WAIT_S
    os.set_blocking(opened.to_agent, False)
    while opened._thread.is_alive() and time.monotonic() < end:
        with contextlib.suppress(BlockingIOError):
            opened.send(ask)
    assert opened.ended() == 'the client does not read its messages'
    opened.assert_held()


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=60), min_size=1, max_size=20))
def test_no_bytes_end_the_agent_but_by_its_rules(chunks: list[bytes]) -> None:
    """After any bytes, fewer than end a session, the next request is understood."""
    client = shared_client()
    client.send(b''.join(chunks).replace(b'\n', b' ') + b'\n')
    number = client.request({'op': 'joints'})
    refusal = client.answer(None)
    assert refusal['code'] in ('not_json', 'bad_field', 'unknown_op', 'line_too_long')
    assert client.answer(number)['code'] == 'not_open'


_shared: list[Client] = []


def shared_client() -> Client:
    """One session for every example: it has to survive them all."""
    if not _shared:
        _shared.append(Client())
    return _shared[0]


def teardown_module() -> None:
    for client in _shared:
        client.close()
