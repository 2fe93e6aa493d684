# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who counts as lost, on a clock that is moved by hand."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from support.waiting import wait_until
from unique_identifier_msgs.msg import UUID

from safegen_msgs.msg import Heartbeat
from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.ros.liveness import CLIENT, FINALIZED, PERIOD_S, HeartbeatMonitor
from safegen_ros.ros.watchdog import ExecutionWatchdog, ProcessWatch, Rules

GOAL, OTHER = b'g' * 16, b'o' * 16
TIMEOUT_S = 4.0
SENDER, VALIDATOR, SUPERVISOR = '/planner', '/validator', 'the supervisor'


class _World:
    """Heartbeats and looks of one listener, without ROS."""

    def __init__(self) -> None:
        self.now = 100.0
        node: Any = SimpleNamespace(
            get_namespace=lambda: '/', create_subscription=lambda *_, **__: None
        )
        self.monitor = HeartbeatMonitor(node, lambda: self.now)
        self.stopped: list[str] = []
        self.beats = 0
        known: Any = SimpleNamespace(supervised=True, supervisor_beat=lambda: self.beats)
        self.dog = ExecutionWatchdog(self.monitor, known, self.stopped.append)
        self.dog.timeout_s = TIMEOUT_S
        self.alive = {SENDER: True, VALIDATOR: True, SUPERVISOR: True}

    def beat(
        self, node: str, number: int = 1, state: str = 'active', sent: bytes | None = GOAL
    ) -> None:
        if node == SUPERVISOR:
            self.beats += 1
            return
        goals = [] if sent is None or node != SENDER else [UUID(uuid=list(sent))]
        instance = list(f'{node} {number}'.encode().ljust(16))
        self.monitor.take(Heartbeat(node=node, instance=instance, state=state, sent=goals))

    def pass_by(self, seconds: float, every_s: float = PERIOD_S) -> None:
        """Time in which everybody who is alive sends heartbeats, and this process looks."""
        for _ in range(round(seconds / every_s)):
            self.now += every_s
            for node, alive in self.alive.items():
                if alive:
                    self.beat(node)
            self.monitor.look()

    def begin(self) -> None:
        for node in self.alive:
            self.beat(node)
        self.monitor.look()

    def seconds_until_lost(self) -> float:
        begun = self.now
        while not self.stopped:
            assert self.now < begun + 60.0
            self.pass_by(PERIOD_S)
            threading.Event().wait(0.001)  # for the thread of the stop
        return self.now - begun


@pytest.fixture
def world() -> _World:
    return _World()


@pytest.mark.parametrize(
    ('who', 'reason'),
    [
        (SENDER, 'the sender of the goal'),
        (VALIDATOR, 'the validator'),
        (SUPERVISOR, 'the supervisor of the stack'),
    ],
)
def test_who_is_silent_is_lost_within_the_bound(world: _World, who: str, reason: str) -> None:
    world.begin()
    with world.dog.watching(GOAL, lambda: False):
        world.pass_by(10.0)
        assert not world.stopped
        world.alive[who] = False
        assert TIMEOUT_S < world.seconds_until_lost() <= TIMEOUT_S + 3 * PERIOD_S
    assert world.stopped == [f'{reason} sent no heartbeat for 4 s']


@pytest.mark.parametrize('frozen_s', [4.5, 8.0, 11.5, 3600.0])
def test_an_executor_that_was_not_scheduled_stops_when_it_wakes(
    world: _World, frozen_s: float
) -> None:
    """Whatever heartbeats are queued: also where all processes were frozen together."""
    world.begin()
    with world.dog.watching(GOAL, lambda: False):
        world.pass_by(1.0)
        world.pass_by(frozen_s, every_s=frozen_s)
        wait_until(lambda: bool(world.stopped), 'the stop')
    assert set(world.stopped) == {f'the executor was not scheduled for {frozen_s:.1f} s'}


def test_a_hold_up_counts_before_the_next_look_and_without_a_client(world: _World) -> None:
    """What was queued meanwhile, such as an approval, may be read first."""
    rules = Rules(timeout_s=TIMEOUT_S, optional=True, strict='the planner')
    watch = ProcessWatch(world.monitor, 'the client', lambda each: GOAL in each.sent, rules)
    world.monitor.look()
    world.now += TIMEOUT_S
    assert watch.lost == ''
    world.now += 0.5
    assert watch.lost == 'the planner was not scheduled for 4.5 s'


def test_an_executor_that_looks_rarely_and_in_time_goes_on(world: _World) -> None:
    world.begin()
    with world.dog.watching(GOAL, lambda: False):
        world.pass_by(60.0, every_s=3.0)
    assert not world.stopped


@pytest.mark.parametrize(
    ('beat', 'reason'),
    [
        (lambda w: w.beat(SENDER, sent=OTHER), 'the sender of the goal no longer waits for it'),
        (
            lambda w: w.beat(SENDER, state=FINALIZED, sent=None),
            'the sender of the goal no longer waits for it',
        ),
        (lambda w: w.beat(VALIDATOR, 2), 'the validator was started again, or runs twice'),
        (
            lambda w: w.beat(VALIDATOR, 2, 'unconfigured'),
            'the validator was started again, or runs twice',
        ),
        (lambda w: w.beat(VALIDATOR, state='inactive'), 'the validator is no longer active'),
    ],
)
def test_what_a_heartbeat_shows_stops_at_once(
    world: _World, beat: Callable[[_World], None], reason: str
) -> None:
    world.begin()
    with world.dog.watching(GOAL, lambda: False):
        beat(world)
        wait_until(lambda: bool(world.stopped), 'the stop')
    assert world.stopped == [reason]


def test_another_process_that_lists_the_goal_is_not_its_sender(world: _World) -> None:
    world.begin()
    with world.dog.watching(GOAL, lambda: False):
        world.alive[SENDER] = False
        world.beat(SENDER, 2)
        wait_until(lambda: bool(world.stopped), 'the stop')
    assert world.stopped == ['the sender of the goal was started again, or runs twice']


def test_another_client_is_no_restart_of_the_sender(world: _World) -> None:
    for node in world.alive:
        world.beat(node, state=CLIENT if node == SENDER else 'active')
    world.monitor.look()
    with world.dog.watching(GOAL, lambda: False):
        world.beat(SENDER, 2, CLIENT, sent=OTHER)
        world.beat(SENDER, 3, CLIENT, sent=GOAL)
        world.pass_by(1.0)
    assert not world.stopped


def test_a_stop_comes_once(world: _World) -> None:
    world.begin()
    with world.dog.watching(GOAL, lambda: False):
        world.alive[SENDER] = False
        world.seconds_until_lost()
        world.pass_by(20.0)
    assert len(world.stopped) == 1


def test_what_is_over_is_watched_no_longer(world: _World) -> None:
    world.begin()
    with world.dog.watching(GOAL, lambda: False):
        pass
    world.alive = {}
    world.pass_by(60.0)
    world.pass_by(3600.0, every_s=3600.0)
    assert not world.stopped


@pytest.mark.parametrize(
    ('known', 'code', 'reason'),
    [
        ((VALIDATOR,), ErrorCode.GOAL_REJECTED, 'no heartbeat lists this goal'),
        ((SENDER,), ErrorCode.VALIDATOR_UNAVAILABLE, 'exactly one active validator'),
        ((), ErrorCode.GOAL_REJECTED, 'no heartbeat lists this goal'),
    ],
)
def test_nothing_begins_before_both_are_known(
    world: _World, known: tuple[str, ...], code: ErrorCode, reason: str
) -> None:
    world.dog.timeout_s = 0.01
    for node in known:
        world.beat(node)
    with pytest.raises(SafegenError, match=reason) as caught:
        world.dog.watching(GOAL, lambda: False).__enter__()
    assert caught.value.code is code


def test_two_validators_are_none(world: _World) -> None:
    world.dog.timeout_s = 0.01
    world.begin()
    world.beat(VALIDATOR, 2)
    with pytest.raises(SafegenError, match='end any other'):
        world.dog.watching(GOAL, lambda: False).__enter__()


def test_a_goal_that_is_cancelled_before_is_not_waited_for(world: _World) -> None:
    world.begin()
    with pytest.raises(Canceled):
        world.dog.watching(GOAL, lambda: True).__enter__()


def test_a_client_is_expected_from_its_first_heartbeat_on(world: _World) -> None:
    rules = Rules(timeout_s=TIMEOUT_S, optional=True, dropped='given up')
    watch = ProcessWatch(world.monitor, 'the client', lambda each: GOAL in each.sent, rules)
    world.alive[SENDER] = False
    world.pass_by(60.0)
    assert (watch.lost, watch.silent_s) == ('', 0.0)
    world.beat(SENDER)
    world.pass_by(TIMEOUT_S + 3 * PERIOD_S)
    assert watch.lost == 'the client sent no heartbeat for 4 s'


def test_a_server_that_no_longer_lists_a_goal_has_its_timeout_for_the_result(
    world: _World,
) -> None:
    watch = ProcessWatch(
        world.monitor, 'it', lambda each: GOAL in each.sent, Rules(timeout_s=TIMEOUT_S)
    )
    world.beat(SENDER)
    world.beat(SENDER, sent=None)
    assert watch.lost == ''
    world.alive = {}
    world.pass_by(TIMEOUT_S + 3 * PERIOD_S)
    assert watch.lost == 'it sent no heartbeat for 4 s'
