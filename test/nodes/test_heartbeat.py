# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Heartbeats: every process is seen, with its goals; a restart and a duplicate are told apart."""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any

from support.waiting import wait_until
from unique_identifier_msgs.msg import UUID

from safegen_msgs.msg import Heartbeat
from safegen_ros.client import Client
from safegen_ros.ros.liveness import (
    ALIVE_S,
    CLIENT,
    FINALIZED,
    PERIOD_S,
    HeartbeatMonitor,
    HeartbeatPublisher,
)


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
