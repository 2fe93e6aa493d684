# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Deadlines and timers on a fake clock; places are taken in the order they were asked for in."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.waiting import WAIT_S, wait_until

from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.sync import Deadline, GoalQueue, Places, PlanningDeadline, WatchdogTimer, boottime

TIMEOUT_S, PERIOD_S = 4.0, 0.25


def test_a_deadline_moves_on_with_each_restart_and_excuses_no_stall() -> None:
    now = [100.0]
    deadline = Deadline(0.35, lambda: now[0])
    for _ in range(3):
        now[0] += 0.3
        assert not deadline.over
        assert deadline.left_s == pytest.approx(0.05)
        deadline.restart()
    # A watcher that was held up for 9 s has seen nothing for 9 s.
    now[0] += 9.0
    assert deadline.over
    assert deadline.left_s == pytest.approx(-8.65)


def test_the_clock_counts_suspend() -> None:
    before, now = time.clock_gettime(time.CLOCK_BOOTTIME), boottime()
    assert 0 <= now - before < 60


class _Scene:
    """A timer, and a sender of signs, on a clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.timer = WatchdogTimer(TIMEOUT_S, PERIOD_S, lambda: self.now)

    def look_after(self, seconds: float, fed: bool = False) -> bool:
        """A look; where it is fed, the sign is read just before it."""
        self.now += seconds
        if fed:
            self.timer.feed()
        return self.timer.look()


@given(
    st.integers(0, 40),
    st.floats(0.0, PERIOD_S, exclude_max=True),
    st.floats(PERIOD_S + 0.01, TIMEOUT_S - PERIOD_S) | st.none(),
)
def test_the_bound_is_the_timeout_and_two_periods(
    alive: int, died: float, stall: float | None
) -> None:
    scene = _Scene()
    for _ in range(alive):
        assert not scene.look_after(PERIOD_S, fed=True)
    scene.now += died
    scene.timer.feed()
    last = scene.now
    if stall is not None:  # what was sent before the end is read only after it
        assert not scene.look_after(stall - died, fed=True)
        died = 0.0
    while not scene.look_after(PERIOD_S - died):
        died = 0.0
    assert TIMEOUT_S - PERIOD_S < scene.now - last <= TIMEOUT_S + 2 * PERIOD_S + 1e-6


def test_a_sender_that_goes_on_is_never_silent_however_late_the_looks() -> None:
    scene = _Scene()
    for _ in range(50):
        assert not scene.look_after(TIMEOUT_S - PERIOD_S, fed=True)


def test_what_is_queued_is_read_before_it_expires() -> None:
    scene = _Scene()
    assert not scene.look_after(TIMEOUT_S + 1.0)  # held up: nothing could be read
    assert not scene.look_after(PERIOD_S, fed=True)
    assert not scene.look_after(PERIOD_S)
    assert not scene.look_after(TIMEOUT_S + 1.0)
    assert scene.look_after(PERIOD_S)


@pytest.mark.parametrize('late', [0.0, 3.0])
def test_a_sign_that_is_read_late_does_not_count_from_then(late: float) -> None:
    scene = _Scene()
    assert not scene.look_after(PERIOD_S + late, fed=True)
    assert scene.timer.silent_s == pytest.approx(PERIOD_S + late if late else 0.0)


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


def patient(cancelled: Callable[[], bool] = lambda: False) -> PlanningDeadline:
    return PlanningDeadline(WAIT_S, cancelled)


class Goals:
    """Goals that run until they are told to end."""

    def __init__(self, queue: GoalQueue, threads: ThreadPoolExecutor) -> None:
        self.queue, self.threads = queue, threads
        self.begun: list[str] = []
        self.positions: dict[str, list[int]] = {}
        self.ends: dict[str, threading.Event] = {}

    def send(self, name: str, deadline: PlanningDeadline | None = None) -> Future[None]:
        """Begins a goal that was accepted; returns once it runs or waits."""
        self.positions[name], self.ends[name] = [], threading.Event()
        sent = self.threads.submit(self._work, name, deadline or patient())
        wait_until(
            lambda: name in self.begun or bool(self.positions[name]) or sent.done(),
            f'{name} runs or waits',
        )
        return sent

    def _work(self, name: str, deadline: PlanningDeadline) -> None:
        self.queue.enter()
        try:
            with self.queue.turn(deadline, self.positions[name].append):
                self.begun.append(name)
                assert self.ends[name].wait(WAIT_S)
        finally:
            self.queue.leave()


def test_goals_run_wait_in_order_and_are_refused_beyond_that() -> None:
    queue = GoalQueue(running=2, waiting=2)
    with ThreadPoolExecutor(4) as threads:
        goals = Goals(queue, threads)
        sent = {name: goals.send(name) for name in 'abcd'}
        assert goals.begun == ['a', 'b']
        assert goals.positions == {'a': [], 'b': [], 'c': [1], 'd': [2]}
        with pytest.raises(SafegenError, match='4 goals run or wait'):
            queue.enter()
        goals.ends['b'].set()
        sent['b'].result(WAIT_S)
        wait_until(lambda: goals.positions['d'] == [2, 1], 'the last one moves up')
        assert goals.begun == ['a', 'b', 'c']
        queue.enter()
        assert not queue.wait_idle(0)
        queue.leave()
        for end in goals.ends.values():
            end.set()
        for goal in sent.values():
            goal.result(WAIT_S)
    assert goals.begun == ['a', 'b', 'c', 'd']
    assert queue.wait_idle(0)


def test_a_goal_that_waits_can_be_cancelled_and_runs_out_of_time() -> None:
    queue, cancel = GoalQueue(running=1, waiting=2), threading.Event()
    with ThreadPoolExecutor(3) as threads:
        goals = Goals(queue, threads)
        first = goals.send('first')
        cancelled = goals.send('cancelled', patient(cancel.is_set))
        late = goals.send('late', PlanningDeadline(0.05, lambda: False))
        with pytest.raises(SafegenError, match=r'waited for 0\.05 s') as caught:
            late.result(WAIT_S)
        assert caught.value.code is ErrorCode.PLANNING_TIMEOUT
        assert not cancelled.done()
        cancel.set()
        with pytest.raises(Canceled) as stopped:
            cancelled.result(WAIT_S)
        assert stopped.value.code is ErrorCode.PLANNING_CANCELED
        goals.ends['first'].set()
        first.result(WAIT_S)
    assert goals.begun == ['first']


def test_a_goal_that_moves_nothing_finds_room_beside_those_that_are_only_executed() -> None:
    queue = GoalQueue(running=1, waiting=0)
    queue.enter()
    with queue.aside():
        with pytest.raises(SafegenError, match='1 goals run or wait'):
            queue.enter()
        queue.enter(beside_aside=True)
        queue.leave()


def test_a_goal_beyond_the_limit_is_refused_by_name() -> None:
    queue = GoalQueue(running=1, waiting=0)
    queue.enter()
    with pytest.raises(SafegenError, match='1 goals run or wait') as caught:
        queue.enter()
    assert caught.value.code is ErrorCode.QUEUE_FULL
    queue.leave()
    queue.enter()


@pytest.mark.parametrize('limits', [(0, 1), (1, -1)])
def test_limits_that_are_none(limits: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match='expected'):
        GoalQueue(*limits)
