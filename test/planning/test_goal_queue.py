# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which goals run, wait and are refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from support.waiting import WAIT_S, wait_until

from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.planning.goal_queue import GoalQueue
from safegen_ros.sync import PlanningDeadline


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
