# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safegen_ros.robot.mycobot.frames import (
    MAX_PAYLOAD,
    Frame,
    FrameCommand,
    FrameReader,
    pack,
    unpack,
)

FRAMES = st.builds(Frame, st.integers(0, 255), st.binary(max_size=MAX_PAYLOAD))


def test_the_bytes_are_those_of_the_vendors_library():
    angles = pack([1000, -2000, -10050, 3000, 0, 4500]) + bytes((50,))
    wire = 'fe fe 0f 22 03 e8 f8 30 d8 be 0b b8 00 00 11 94 32 fa'
    assert Frame(FrameCommand.SEND_ANGLES, angles).encode() == bytes.fromhex(wire)
    assert Frame(FrameCommand.GET_ANGLES).encode() == bytes.fromhex('fe fe 02 20 fa')


@given(st.lists(FRAMES, max_size=5), st.integers(1, 9))
def test_frames_come_back_however_they_are_cut(frames, size):
    stream = b''.join(frame.encode() for frame in frames)
    reader = FrameReader()
    found = []
    for start in range(0, len(stream), size):
        found += reader.feed(stream[start : start + size])
    assert found == frames


@given(st.lists(st.binary(max_size=60), max_size=5))
def test_any_bytes_give_frames_that_stand_in_them(chunks):
    reader = FrameReader()
    stream = b''.join(chunks)
    for frame in [frame for chunk in chunks for frame in reader.feed(chunk)]:
        assert frame.encode() in stream


@given(st.binary(max_size=40), FRAMES)
def test_a_frame_is_found_after_any_noise(noise, frame):
    reader = FrameReader()
    reader.feed(noise)
    # The noise may have begun a frame, which swallows the first ones at most.
    assert frame in reader.feed(frame.encode() * 40)


@given(st.lists(st.integers(-(2**15), 2**15 - 1), max_size=14))
def test_numbers_come_back(values):
    assert unpack(pack(values)) == values


@pytest.mark.parametrize('frame', [Frame(256), Frame(-1), Frame(1, bytes(MAX_PAYLOAD + 1))])
def test_what_is_no_frame_is_not_encoded(frame):
    with pytest.raises(ValueError, match='no frame'):
        frame.encode()


def test_a_number_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match='16 bits'):
        pack([2**15])
