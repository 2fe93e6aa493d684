# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The agent's protocol: whatever comes, it is a request or a named error."""

from __future__ import annotations

import fcntl
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.agent import serve
from safegen_ros.robot.agent.messages import (
    AgentError,
    Ask,
    Beat,
    LineReader,
    Open,
    Run,
    SerialPort,
    Switch,
    TcpPort,
    encode,
)
from safegen_ros.robot.agent.session import parse_request
from safegen_ros.robot.arms import ARMS

#: Of a line, for tests that make many.
LONGEST = 4096
CODES = {'line_too_long', 'not_json', 'unknown_op', 'bad_field'}
OPEN = {'op': 'open', 'id': 1, 'arm': 'mycobot', 'port': '/dev/ttyAMA0', 'baud': 1000000,
        'tool': 'gpio-pump'}  # fmt: skip
OPEN_TCP = {'op': 'open', 'id': 1, 'arm': 'mycobot', 'host': 'arm', 'tcp_port': 9000,
            'tool': 'gripper'}  # fmt: skip
RUN = {'op': 'run', 'id': 2, 'program': '{"version": 1}', 'sha256': 'cd' * 32}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=10,
)
# Objects that look like requests, with anything in place of anything.
field_names = st.sampled_from(
    ['op', 'id', 'arm', 'port', 'baud', 'tool', 'program', 'sha256', 'on']
)
near_values = st.sampled_from([*OPEN.values(), *RUN.values(), 'run', 'switch', 'stop', True, -1])
near_requests = st.dictionaries(field_names | st.text(max_size=4), near_values | json_values)


def line(message: object) -> bytes:
    return json.dumps(message).encode()


@pytest.mark.parametrize(
    ('message', 'request_'),
    [
        (OPEN, Open(1, 'mycobot', SerialPort('/dev/ttyAMA0', 1000000), 'gpio-pump')),
        (OPEN_TCP, Open(1, 'mycobot', TcpPort('arm', 9000), 'gripper')),
        (RUN, Run(2, '{"version": 1}', 'cd' * 32)),
        ({'op': 'beat'}, Beat()),
        ({'op': 'switch', 'id': 3, 'on': True}, Switch(3, True)),
        *(
            ({'op': op, 'id': 4}, Ask(4, op))
            for op in ('joints', 'tool', 'opening', 'stop', 'reset', 'rearm', 'close')
        ),
    ],
)
def test_requests_are_read(message: object, request_: object) -> None:
    assert parse_request(line(message)) == request_


@given(st.one_of(st.binary(max_size=200), near_requests.map(line), json_values.map(line)))
def test_any_line_is_a_request_or_a_named_error(data: bytes) -> None:
    try:
        result: object = parse_request(data)
    except AgentError as error:
        result = error
    assert isinstance(result, Open | Beat | Run | Switch | Ask | AgentError)
    assert not isinstance(result, AgentError) or result.code in CODES


@pytest.mark.parametrize(
    ('change', 'code', 'says'),
    [
        ({'program': {'version': 1}}, 'bad_field', 'program'),
        ({'program': '\n'}, 'bad_field', 'program'),
        ({'sha256': 'CD' * 32}, 'bad_field', 'sha256'),
        ({'id': True}, 'bad_field', 'id'),
        ({'id': -1}, 'bad_field', 'id'),
        ({'id': 1.0}, 'bad_field', 'id'),
        ({'id': 10**400}, 'bad_field', 'id'),
        ({'more': 1}, 'bad_field', "unknown field 'more'"),
        ({'op': 'move'}, 'unknown_op', 'op'),
        ({'op': ['run']}, 'bad_field', 'op'),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, object], code: str, says: str) -> None:
    with pytest.raises(AgentError) as caught:
        parse_request(line({**RUN, **change}))
    assert (caught.value.code, caught.value.message.split(':')[0]) == (code, says)


def test_an_error_carries_the_id_where_it_could_be_read() -> None:
    with pytest.raises(AgentError) as caught:
        parse_request(line({**RUN, 'sha256': 5}))
    assert caught.value.id == 2


@pytest.mark.parametrize('data', [b'', b'\xff', b'[]', b'nul', b'{"op": "beat"} x', b'[' * 4000])
def test_what_is_no_object_is_not_json(data: bytes) -> None:
    with pytest.raises(AgentError) as caught:
        parse_request(data)
    assert caught.value.code == 'not_json'


@given(st.lists(st.binary(max_size=40).map(lambda each: each.replace(b'\n', b'')), max_size=8),
       st.integers(1, 50))  # fmt: skip
def test_lines_do_not_depend_on_how_they_arrive(lines: list[bytes], size: int) -> None:
    stream = b''.join(each + b'\n' for each in lines)
    reader = LineReader()
    found = []
    for start in range(0, len(stream), size):
        found += reader.feed(stream[start : start + size])
    assert found == lines


@given(st.integers(LONGEST, 3 * LONGEST), st.integers(1, 5000))
def test_a_line_that_is_too_long_is_reported_once_and_passed_over(length: int, size: int) -> None:
    stream = b'a\n' + b'x' * length + b'\nb\n'
    reader = LineReader(LONGEST)
    found = []
    for start in range(0, len(stream), size):
        found += reader.feed(stream[start : start + size])
    first, error, last = found
    assert (first, last) == (b'a', b'b')
    assert isinstance(error, AgentError)
    assert error.code == 'line_too_long'


def test_a_line_without_end_takes_no_memory() -> None:
    reader = LineReader(LONGEST)
    for _ in range(1000):
        reader.feed(b'x' * 4096)
    assert len(reader._rest) < LONGEST


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=30)))
def test_a_message_is_one_line(message: dict[str, str]) -> None:
    data = encode(message)
    assert data.count(b'\n') == 1
    assert data.endswith(b'\n')
    assert json.loads(data) == message


def test_the_guard_is_told_nothing_of_a_port_that_another_program_keeps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would stop the arm of that program, should this process die."""
    monkeypatch.setattr(serve, 'PORT_PATIENCE_S', 0.1)
    told: list[bytes] = []
    master, slave = os.openpty()
    fcntl.flock(slave, fcntl.LOCK_EX)
    request = Open(1, 'mycobot', SerialPort(os.ttyname(slave), 115200), 'basic-pump')
    with pytest.raises(RobotError, match='another program uses it') as caught:
        serve.DRIVERS[request.arm].open(request, lambda sample: None, told.append)
    assert caught.value.code is ErrorCode.ARM_UNREACHABLE
    assert told == []
    for descriptor in (master, slave):
        os.close(descriptor)


def test_every_driver_that_an_arm_names_opens_that_arm() -> None:
    named = {arm.driver: arm for arm in ARMS.values() if arm.driver}
    assert {name: serve.DRIVERS[name].model for name in named} == named
