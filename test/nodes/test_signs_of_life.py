# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who is taken for silent: whoever is, and nobody because of what held this process up."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from rclpy.task import Future
from waiting import wait_until

from safegen_msgs.srv import ValidatePlan
from safegen_ros import watched_time
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.nodes import base, silence, watchdog
from safegen_ros.nodes.heartbeat import CLIENT, Instance
from safegen_ros.nodes.silence import Silence
from safegen_ros.nodes.watchdog import (
    HEARTBEAT_S,
    LONGEST_LOOK_S,
    UNWATCHED,
    Asked,
    SignsOfLife,
    Watchdog,
)

FLOOD = 5000
HELD_UP_S = 3600.0
"""As long as every process of a machine may stand still that is stopped."""
LIVE, INACTIVE = ErrorCode.EMPTY_TASK, ErrorCode.VALIDATOR_UNAVAILABLE


class _Node:
    """What the listeners want of a node, without ROS: signs are given by hand."""

    def __init__(self, service: object = None) -> None:
        self.group = None
        self._service = service
        self._take: Any = None

    def listen(self, take: Any) -> None:
        self._take = take

    @property
    def heartbeats(self) -> Any:
        return self

    def create_client(self, *what: Any, **how: Any) -> object:
        return self._service

    def give(self, goal: bytes) -> None:
        self._take(Instance('/client', b'1' * 16, CLIENT, frozenset({goal}), frozenset(), 0.0))


class _Service:
    """A client of a service whose answers are given by hand."""

    def __init__(self) -> None:
        self.open: list[Future] = []

    def service_is_ready(self) -> bool:
        return True

    def call_async(self, request: object) -> Future:
        self.open.append(Future())
        return self.open[-1]

    def remove_pending_request(self, future: Future) -> None:
        self.open.remove(future)

    def answer(self, code: ErrorCode = LIVE) -> None:
        """Answers the oldest request."""
        self.open.pop(0).set_result(ValidatePlan.Response(error_code=int(code)))


class _Clock:
    """The clock of all that is tested here."""

    def __init__(self) -> None:
        self.now = 100.0

    def look(self, silent_s: Callable[[], float], seconds: float) -> float:
        """The silence after looks for so long, as often as the watchdog looks."""
        for _ in range(round(seconds / HEARTBEAT_S)):
            self.now += HEARTBEAT_S
            seen = silent_s()
        return seen


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    made = _Clock()
    for module in (watchdog, watched_time):
        monkeypatch.setattr(module, 'time', SimpleNamespace(monotonic=lambda: made.now))
    return made


def _signs() -> tuple[Any, SignsOfLife]:
    node: Any = _Node()
    return node, SignsOfLife(node)


def _id(number: int) -> bytes:
    return number.to_bytes(16, 'big')


def test_a_watched_sender_is_silent_however_many_others_are_not(clock: _Clock) -> None:
    node, signs = _signs()
    mine = b'm' * 16
    node.give(mine)
    with signs.watched(mine):
        assert clock.look(lambda: signs.silent_s(mine), 9.0) == pytest.approx(8.75)
        for number in range(FLOOD):
            node.give(_id(number))
        assert signs.silent_s(mine) == pytest.approx(8.75)
    # A goal that is over is one of many.
    for number in range(FLOOD):
        node.give(_id(number))
    assert signs.silent_s(mine) == 0.0


def test_a_goal_that_two_watch_is_kept_for_the_second(clock: _Clock) -> None:
    node, signs = _signs()
    mine = b'm' * 16
    with signs.watched(mine):
        node.give(mine)
        with signs.watched(mine):
            pass
        before = clock.look(lambda: signs.silent_s(mine), 9.0)
        for number in range(FLOOD):
            node.give(_id(number))
        assert signs.silent_s(mine) == before > 8.0


def test_no_flood_fills_the_memory(clock: _Clock) -> None:
    node, signs = _signs()
    with signs.watched(b'n' * 16):  # never heard
        for number in range(FLOOD):
            node.give(_id(number))
        for number in range(FLOOD):
            signs.silent_s(_id(number))
        clock.now += HEARTBEAT_S
        kept = [number for number in range(FLOOD) if signs.silent_s(_id(number)) > 0.0]
        assert len(kept) <= 2049
        assert kept[-1] == FLOOD - 1


def test_time_in_which_nobody_looks_is_no_silence(clock: _Clock) -> None:
    unheard = Silence()
    clock.now += 0.05
    assert unheard.seconds() == pytest.approx(0.05)
    clock.now += HELD_UP_S
    assert unheard.seconds() == pytest.approx(0.05 + silence.LONGEST_LOOK_S)
    unheard.hear()
    assert unheard.seconds() == 0.0


def test_an_answer_that_comes_late_is_a_sign_of_life(clock: _Clock) -> None:
    service = _Service()
    with Asked(service, ValidatePlan.Request, INACTIVE) as asked:
        assert clock.look(asked.silent_s, 3.0) == pytest.approx(3.0)
        assert len(service.open) == 6
        service.answer()
        assert asked.silent_s() == 0.0
        # It was the one of 2.5 s ago, and more are under way.
        assert clock.look(asked.silent_s, 1.0) == pytest.approx(1.0)
        service.answer(INACTIVE)
        assert clock.look(asked.silent_s, 1.0) == pytest.approx(2.0)
        clock.now += HELD_UP_S
        assert asked.silent_s() == pytest.approx(2.0 + LONGEST_LOOK_S)
    assert not service.open


@pytest.mark.parametrize('silent', ['sender', 'validator'])
def test_the_watchdog_stops_for_a_silence_and_not_for_its_own(clock: _Clock, silent: str) -> None:
    service, goal, stopped = _Service(), b'm' * 16, list[tuple[float, str]]()
    node: Any = _Node(service)
    dog = Watchdog(node, lambda reason: stopped.append((clock.now, reason)))
    looks, dies_at = 0, 0.0

    def wait(seconds: float) -> bool:
        """Before each look; in between nothing is heard for as long as this process stands."""
        nonlocal looks, dies_at
        looks += 1
        if looks == 10:
            clock.now += UNWATCHED * dog.timeout_s
            return False
        clock.now += seconds
        assert looks < 100, 'the silence was not noticed'
        dies_at = dies_at or (clock.now if looks == 20 else 0.0)
        if not dies_at or silent != 'sender':
            node.give(goal)
        while service.open and (not dies_at or silent != 'validator'):
            service.answer()
        return False

    node.give(goal)
    ended: Any = SimpleNamespace(wait=wait)
    dog._watch(goal, ended)
    [(at, reason)] = stopped
    assert silent in reason
    assert abs(at - dies_at - dog.timeout_s) <= 2 * HEARTBEAT_S


def test_an_execution_that_nobody_has_watched_for_long_is_stopped(clock: _Clock) -> None:
    service, stopped = _Service(), list[str]()
    node: Any = _Node(service)
    dog = Watchdog(node, stopped.append)

    def wait(seconds: float) -> bool:
        clock.now += UNWATCHED * dog.timeout_s + 1.0
        return False

    ended: Any = SimpleNamespace(wait=wait)
    dog._watch(b'm' * 16, ended)
    assert stopped == [
        'nobody has watched the execution for 13 s, in which the executor was held up'
    ]


def test_a_silence_counts_however_long_the_thread_of_the_goal_is_busy(clock: _Clock) -> None:
    node, signs = _signs()
    goal = b'm' * 16
    node.give(goal)
    assert signs.silent_s(goal) == 0.0
    with signs.watched(goal):
        for number in range(1, 4):
            seen = number * LONGEST_LOOK_S
            clock.now += LONGEST_LOOK_S
            # Only the looks that are made meanwhile can have counted it.
            wait_until(lambda seen=seen: signs._heard[goal]._watch._passed_s >= seen, 'a look')
    assert signs.silent_s(goal) == pytest.approx(3 * LONGEST_LOOK_S)


def test_a_wait_is_not_over_for_what_held_this_process_up(clock: _Clock) -> None:
    """What came meanwhile is only read afterwards."""
    answer: Any = Future()
    looks = 0

    def read() -> bool:
        nonlocal looks
        looks += 1
        clock.now += HELD_UP_S if looks == 1 else 0.0
        if looks == 2:
            answer.set_result('here')
        return False

    assert base.wait_for(answer, 4.0, 'it', ErrorCode.UNKNOWN, given_up=read) == 'here'

    def pass_by() -> bool:
        clock.now += base.POLL_S
        return False

    began = clock.now
    with pytest.raises(SafegenError, match='it did not answer within'):
        base.wait_for(Future(), 0.5, 'it', ErrorCode.UNKNOWN, given_up=pass_by)
    assert clock.now - began == pytest.approx(0.5, abs=base.POLL_S * 1.5)


def test_the_state_of_a_cancelled_goal_may_lag_behind_what_held_this_process_up(
    clock: _Clock,
) -> None:
    looks = 0

    def cancelled() -> bool:
        nonlocal looks
        looks += 1
        clock.now += HELD_UP_S if looks == 2 else 0.01
        return looks == 4

    base._await(cancelled, 2.0)
    assert looks == 4
