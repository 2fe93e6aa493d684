# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Heartbeats: who is seen with which goals, and who counts as lost, on a clock moved by hand."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from support.waiting import wait_until
from unique_identifier_msgs.msg import UUID

from safegen_msgs.msg import Heartbeat
from safegen_ros.client import Client
from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.ros.liveness import (
    ALIVE_S,
    CLIENT,
    FINALIZED,
    PERIOD_S,
    HeartbeatMonitor,
    HeartbeatPublisher,
)
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


class _Heard:
    """A monitor whose heartbeats and clock are moved by hand."""

    def __init__(self, namespace: str = '/') -> None:
        self.now = 100.0
        node: Any = SimpleNamespace(
            get_namespace=lambda: namespace, create_subscription=lambda *_, **__: None
        )
        self.monitor = HeartbeatMonitor(node, lambda: self.now)

    def beat(self, node: str, instance: int, state: str = 'active') -> None:
        name = list(instance.to_bytes(16, 'big'))
        self.monitor.take(Heartbeat(node=node, instance=name, state=state))

    def ids(self, name: str) -> list[int]:
        return [int.from_bytes(each.id, 'big') for each in self.monitor.instances(name)]


def test_a_duplicate_and_a_restart_are_other_instances_of_one_name() -> None:
    heard = _Heard()
    heard.beat('/executor', 1)
    heard.beat('/executor', 2)
    assert heard.ids('executor') == heard.ids('/executor') == [1, 2]
    heard.now += ALIVE_S / 2
    heard.beat('/executor', 2)
    heard.now += ALIVE_S / 2 + 0.01
    assert heard.ids('executor') == [2]  # the other one has died
    heard.beat('/executor', 2, FINALIZED)
    assert heard.ids('executor') == []


def test_two_nodes_of_one_name_are_duplicates_and_clients_or_a_restart_are_not() -> None:
    heard = _Heard()
    for number in (1, 2):
        heard.beat('/planner', number)
        heard.beat('/safegen_client', 10 + number, CLIENT)
    heard.beat('/executor', 3)
    assert heard.monitor.duplicates() == ['2 processes run as /planner: end all but one']
    heard.now += 2 * PERIOD_S + 0.01  # less than ALIVE_S
    heard.beat('/planner', 2)
    assert heard.monitor.duplicates() == []


def test_a_name_is_relative_to_the_namespace() -> None:
    heard = _Heard('/lab/arm1')
    heard.beat('/lab/arm1/executor', 1)
    heard.beat('/executor', 2)
    assert heard.ids('executor') == [1]
    assert heard.ids('') == [1, 2]


def test_no_flood_fills_the_memory() -> None:
    heard = _Heard()
    for number in range(5000):
        heard.beat('/rogue', number)
    assert len(heard.monitor.instances()) == 1000


def test_a_client_is_seen_with_its_goals_until_it_ends(ros_domain: int) -> None:
    goal = UUID(uuid=list(uuid.uuid4().bytes))

    def mine() -> Any:
        return next((i for i in monitor.instances() if i.id == publisher.instance), None)

    with Client() as watching, Client() as watched:
        monitor = HeartbeatMonitor(watching.node)
        publisher = HeartbeatPublisher(watched.node)
        wait_until(lambda: mine() is not None, 'the first heartbeat')
        assert (mine().node, mine().state, mine().sent) == ('/safegen_client', CLIENT, frozenset())
        first = mine().at
        publisher.begin(goal)
        wait_until(lambda: bytes(goal.uuid) in mine().sent, 'the goal')
        publisher.end(goal)
        wait_until(lambda: not mine().sent, 'the end of the goal')
        wait_until(lambda: mine().at > first + 2 * PERIOD_S, 'further heartbeats')
        publisher.close()
        wait_until(lambda: mine() is None, 'the last heartbeat')
