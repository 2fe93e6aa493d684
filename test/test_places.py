# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Places are taken in the order in which they were asked for, and nobody keeps one by leaving."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.waiting import WAIT_S, wait_until

from safegen_ros.sync import Places


class Left(Exception):
    """What ends a wait here."""


def nothing() -> None:
    """Goes on waiting."""


def test_nobody_is_overtaken_and_everybody_hears_of_the_position() -> None:
    places = Places(1)
    order: list[int] = []
    told: dict[int, list[int]] = {number: [] for number in range(4)}

    def take(number: int) -> None:
        with places.place(nothing, told[number].append):
            order.append(number)

    with ThreadPoolExecutor(4) as threads:
        with places.place(nothing):
            waits = []
            for number in range(4):
                waits.append(threads.submit(take, number))
                wait_until(lambda n=number: bool(told[n]), 'the thread stands in the line')
            assert [told[number] for number in range(4)] == [[1], [2], [3], [4]]
        for wait in waits:
            wait.result(WAIT_S)
    assert order == [0, 1, 2, 3]
    for number in range(4):
        assert told[number] == sorted(told[number], reverse=True)
        assert told[number][0] == number + 1


def test_no_more_have_a_place_than_there_are() -> None:
    places, both, end = Places(2), threading.Barrier(3), threading.Event()
    told: list[int] = []

    def keep() -> None:
        with places.place(nothing):
            both.wait(WAIT_S)
            end.wait(WAIT_S)

    def third() -> str:
        with places.place(nothing, told.append):
            return 'in'

    with ThreadPoolExecutor(3) as threads:
        kept = [threads.submit(keep) for _ in range(2)]
        both.wait(WAIT_S)
        waits = threads.submit(third)
        wait_until(lambda: bool(told), 'the third one waits')
        assert not waits.done()
        end.set()
        assert waits.result(WAIT_S) == 'in'
        for keeper in kept:
            keeper.result(WAIT_S)


def test_who_leaves_the_line_makes_room_and_who_fails_gives_the_place_back() -> None:
    places, leave = Places(1), threading.Event()
    told: dict[str, list[int]] = {'leaver': [], 'other': []}

    def check() -> None:
        if leave.is_set():
            raise Left

    def leaver() -> None:
        with places.place(check, told['leaver'].append):
            raise AssertionError('the place was never free')

    def other() -> None:
        with places.place(nothing, told['other'].append):
            raise ValueError('failed inside')

    with ThreadPoolExecutor(2) as threads:
        with places.place(nothing):
            first = threads.submit(leaver)
            wait_until(lambda: told['leaver'] == [1], 'the first one waits')
            second = threads.submit(other)
            wait_until(lambda: told['other'] == [2], 'the second one waits')
            leave.set()
            with pytest.raises(Left):
                first.result(WAIT_S)
            wait_until(lambda: told['other'] == [2, 1], 'the second one has moved up')
        with pytest.raises(ValueError, match='failed inside'):
            second.result(WAIT_S)
    with places.place(check):  # free, so that nobody asks whether to leave
        assert leave.is_set()


def test_there_is_at_least_one_place() -> None:
    with pytest.raises(ValueError, match='0 places'):
        Places(0)
