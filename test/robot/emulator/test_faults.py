# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safegen_ros.robot.emulator.faults import KNOBS, ArmFault, FaultError, FaultyLine, parse_fault
from safegen_ros.robot.mycobot.frames import Frame, FrameCommand, FrameReader, pack

ANGLES = Frame(FrameCommand.GET_ANGLES, pack([1000, -2000, -6000, 3000, 0, 4500]))


def line_with(*faults, seed=1):
    line = FaultyLine([parse_fault(text) for text in faults], random.Random(seed))
    line.began(0.0)
    return line


@pytest.mark.parametrize('name', KNOBS)
def test_every_fault_can_be_named_with_value_and_time(name):
    knob = KNOBS[name]
    assert parse_fault(name) == ArmFault(name, knob.default, 0.0)
    assert parse_fault(f'{name}={knob.high:g}@2.5') == ArmFault(name, knob.high, 2.5)
    assert knob.low <= knob.default <= knob.high


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('warp', 'does not exist'),
        ('', 'does not exist'),
        ('late_ack=x', 'with numbers'),
        ('late_ack=', 'with numbers'),
        ('late_ack@', 'with numbers'),
        ('late_ack=11', 'outside 0 to 10'),
        ('late_ack=nan', 'outside'),
        ('servo_error=7', 'outside 1 to 6'),
        ('silent@-1', 'cannot begin'),
        ('silent@nan', 'cannot begin'),
    ],
)
def test_another_fault_is_refused_by_name(text, words):
    with pytest.raises(FaultError, match=words):
        parse_fault(text)


@given(st.text())
def test_any_text_is_a_fault_or_refused(text):
    with contextlib.suppress(FaultError):
        assert parse_fault(text).name in KNOBS


def test_a_fault_begins_after_the_first_motion():
    line = FaultyLine([parse_fault('silent@2')], random.Random(1))
    assert line.takes(100.0)
    line.began(100.0)
    line.began(101.5)
    assert line.takes(101.9)
    assert not line.takes(102.1)


def test_acknowledgements_alone_come_late():
    line = line_with('late_ack=0.7')
    assert line.answer(ANGLES, 1.0) == (0.0, ANGLES.encode())
    ack = Frame(FrameCommand.SEND_ANGLES, b'\x01')
    assert line.answer(ack, 1.0) == (0.7, ack.encode())


def test_a_flood_silences_the_arm_for_two_seconds():
    line = line_with('flood_stall=10')
    assert all(line.takes(i / 100) for i in range(10))
    assert not line.takes(0.1)
    assert not line.takes(2.0)
    assert line.takes(2.2)


def test_lost_and_wrong_answers_are_as_frequent_as_asked():
    line = line_with('lost_answer=0.5')
    lost = sum(line.answer(ANGLES, 1.0) is None for _ in range(1000))
    assert 450 < lost < 550
    _, data = line_with('wrong_command').answer(ANGLES, 1.0)
    (frame,) = FrameReader().feed(data)
    assert frame.command != ANGLES.command
    assert frame.payload == ANGLES.payload


def test_readings_are_distorted_and_stay_frames():
    def angles(*faults):
        _, data = line_with(*faults).answer(ANGLES, 1.0)
        (frame,) = FrameReader().feed(data)
        return frame.payload

    assert angles('constant=180.08') == pack([18008] * 6)
    assert angles('short_answer=1') == ANGLES.payload[:6]
    assert sum(a != b for a, b in zip(angles('jump=1'), ANGLES.payload, strict=True)) in (1, 2)
    frozen = line_with('frozen')
    frozen.answer(ANGLES, 1.0)
    other = Frame(FrameCommand.GET_ANGLES, pack([1] * 6))
    assert frozen.answer(other, 2.0) == (0.0, ANGLES.encode())


def test_noise_stands_before_an_answer():
    _, data = line_with('noise=1').answer(ANGLES, 1.0)
    assert data.endswith(ANGLES.encode())
    assert len(data) > len(ANGLES.encode())
