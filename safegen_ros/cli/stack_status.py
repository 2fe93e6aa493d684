# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen status`: the nodes of a stack, its stop and its running goals."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from action_msgs.msg import GoalStatus, GoalStatusArray
from builtin_interfaces.msg import Time
from rclpy.qos import qos_profile_action_status_default

from safegen_msgs.msg import PendingPlan
from safegen_ros.cli.failures import ExitStatus
from safegen_ros.client import Client
from safegen_ros.errors import SafegenError
from safegen_ros.ros import qos
from safegen_ros.ros.commands import CommandClient
from safegen_ros.ros.liveness import CURES, PERIOD_S, stacks_elsewhere
from safegen_ros.ros.stack_state import (
    absolute_namespace,
    current_domain,
    nobody_listens,
    read_state,
)
from safegen_ros.ros.watchdog import StopListener

DISCOVERY_S = 3.0
"""How long nodes may take to be found [s]; those that are there are found sooner."""

LATCHED_S = 3.0
"""How long the topics of a node that was found may take to be heard [s]; see `DISCOVERY_S`."""

_PENDING = 'planner/pending'
_NODES = ('validator', 'executor', 'planner')
_ACTIONS = {'plan_task': 'planner', 'run_task': 'planner', 'execute_plan': 'executor'}
_RUNNING = {
    GoalStatus.STATUS_ACCEPTED: 'accepted',
    GoalStatus.STATUS_EXECUTING: 'running',
    GoalStatus.STATUS_CANCELING: 'canceling',
}


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """A node of the stack.

    Attributes:
        state: of its lifecycle: unconfigured, inactive, active and so on; empty where unknown.
        pid: its process, of those that `safegen up` or `demo` has started.
    """

    name: str
    state: str
    pid: int | None


@dataclass(frozen=True, slots=True)
class RunningGoal:
    """A goal that has not ended; `since` is when it was accepted, as ISO 8601."""

    action: str
    id: str
    status: str
    since: str


@dataclass(frozen=True, slots=True)
class StopStatus:
    """What the topic `stopped` says; `since` as ISO 8601."""

    stopped: bool
    reason: str
    since: str
    count: int


@dataclass(frozen=True, slots=True)
class StackStatus:
    """All that `safegen status` shows.

    Attributes:
        supervisor: 'starting', 'ready' or 'stopping'; empty where the nodes were started otherwise.
        log: file with the output of all nodes, where there is a supervisor.
        stop: None where no executor reports it.
        untold: actions of active nodes whose goals under way are not known, as nothing was heard.
        duplicates: a sentence on each name that several processes have.
        elsewhere: other namespaces with an executor, as the end of a sentence.
        sites: digest of the site file by the name of the node; None where unknown.
        keys: whether the executor refuses commands that are not signed.
    """

    domain: int
    namespace: str
    supervisor: str
    log: str
    nodes: tuple[NodeStatus, ...]
    stop: StopStatus | None = None
    goals: tuple[RunningGoal, ...] = ()
    untold: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()
    elsewhere: str = ''
    sites: Mapping[str, str | None] = field(default_factory=dict)
    keys: bool | None = None

    @property
    def up(self) -> bool:
        """Whether every node is there, active and alone of its name."""
        return all(node.state == 'active' for node in self.nodes) and not self.duplicates

    @property
    def headline(self) -> str:
        """The state of the stack in a word or a few."""
        states = {node.state for node in self.nodes}
        by_hand = '' if self.supervisor else ', not started by safegen up'
        if self.duplicates:
            return 'NOT READY: two processes of one name' + by_hand
        if states == {''}:
            return 'no node is there' + self.elsewhere
        if not self.up:
            return f'NOT READY{by_hand}'
        return (self.supervisor or 'ready') + by_hand


def show_status(namespace: str, as_json: bool) -> int:
    """Prints how a stack stands; returns `ExitStatus.FAILED` unless every node is active."""
    status = stack_status(absolute_namespace(namespace))
    print(json.dumps({**asdict(status), 'up': status.up}) if as_json else _text(status))
    return ExitStatus.OK if status.up else ExitStatus.FAILED


def stack_status(namespace: str) -> StackStatus:
    """Asks the supervisor, the graph and the latched topics about an absolute namespace."""
    running = read_state(current_domain(), namespace)
    pids = running.nodes if running else {}
    names = {name: f'{namespace.rstrip("/")}/{name}' for name in _NODES}
    blank = StackStatus(
        domain=current_domain(),
        namespace=namespace,
        supervisor=running.status if running else '',
        log=running.log if running else '',
        nodes=tuple(NodeStatus(full, '', pids.get(full)) for full in names.values()),
    )
    if nobody_listens(blank.domain):
        return blank
    with Client(namespace) as client:
        commands = {name: CommandClient(client.node, name) for name in _NODES}
        listener = StopListener(client.node)
        goals = _Goals(client)
        states = _states(client)
        told = listener.wait(LATCHED_S) if states['executor'] else None
        serving = [action for action, node in _ACTIONS.items() if states[node] == 'active']
        untold = goals.wait(serving, LATCHED_S)
        asked: dict[str, Any] = {name: None for name, state in states.items() if state}
        for name in asked:
            with suppress(SafegenError):  # it does not answer
                asked[name] = commands[name].ask(LATCHED_S)
        # Planner and executor have listened since they started.
        if not (asked.get('planner') or asked.get('executor')):
            time.sleep(2 * PERIOD_S)
        duplicates = {*client.heartbeats.duplicates()}.union(
            *(answer.message.splitlines() for answer in asked.values() if answer)
        )
        elsewhere = stacks_elsewhere(client.node, namespace)
    return replace(
        blank,
        nodes=tuple(NodeStatus(full, states[n], pids.get(full)) for n, full in names.items()),
        stop=StopStatus(told.stopped, told.reason, _time(told.stamp), told.count) if told else None,
        goals=goals.running(),
        untold=untold,
        duplicates=tuple(sorted(duplicates)),
        elsewhere=elsewhere,
        sites={name: answer and answer.site for name, answer in asked.items()},
        keys=answer.keys if (answer := asked.get('executor')) else None,
    )


def _site_lines(status: StackStatus) -> list[str]:
    digests = set(status.sites.values())
    if len(digests) > 1:
        told = ', '.join(f'{name} {each or "none"}' for name, each in status.sites.items())
        lines = [f'site file: THE NODES DIFFER, and nothing moves: {told}']
    else:
        lines = [f'site file: {each or "none"}' for each in digests]
    if status.keys is not None:
        who = 'goals and commands must be signed' if status.keys else 'no signature is required'
        lines.append(f'operators: {who}')
    return lines


class _Goals:
    """The goals that have not ended, as the servers publish them, latched."""

    def __init__(self, client: Client) -> None:
        self._told: dict[str, Any] = {}
        topics: dict[str, tuple[Any, ...]] = {_PENDING: (PendingPlan, _PENDING, qos.LATCHED)}
        for action in _ACTIONS:
            topic = f'{action}/_action/status'
            topics[action] = GoalStatusArray, topic, qos_profile_action_status_default
        for name, (kind, topic, profile) in topics.items():
            take = partial(self._told.__setitem__, name)
            client.node.create_subscription(kind, topic, take, profile)

    def wait(self, actions: list[str], timeout_s: float) -> tuple[str, ...]:
        """Waits for the latched messages of those servers; returns silent ones [s]."""
        deadline = time.monotonic() + timeout_s
        while not self._told.keys() >= set(actions) and time.monotonic() < deadline:
            time.sleep(0.02)
        return tuple(action for action in actions if action not in self._told)

    def running(self) -> tuple[RunningGoal, ...]:
        """Those that were heard of."""
        return tuple(
            RunningGoal(
                action,
                str(UUID(bytes=bytes(goal.goal_info.goal_id.uuid))),
                self._status(goal),
                _time(goal.goal_info.stamp),
            )
            for action in _ACTIONS
            if action in self._told
            for goal in self._told[action].status_list
            if goal.status in _RUNNING
        )

    def _status(self, goal: Any) -> str:
        pending = self._told.get(_PENDING)
        if pending is not None and pending.digest and pending.goal_id == goal.goal_info.goal_id:
            return 'waits for approval'
        return _RUNNING[goal.status]


def _states(client: Client) -> dict[str, str]:
    """The states of the nodes; empty for those without a heartbeat."""

    def states() -> dict[str, str]:
        return {name: client.heartbeats.state(name) for name in _NODES}

    client.heartbeats.wait_for(lambda: all(states().values()), DISCOVERY_S)
    return states()


def _time(stamp: Time) -> str:
    seconds = stamp.sec + stamp.nanosec / 1e9
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec='milliseconds')


def _text(status: StackStatus) -> str:
    where = f'ROS domain {status.domain}, namespace {status.namespace}'
    lines = [f'{where}: {status.headline}', *(f'  {each}' for each in status.duplicates)]
    for node in status.nodes:
        pid = f'  process {node.pid}' if node.pid else ''
        cure = f'  ({CURES[node.state]})' if node.state in CURES else ''
        lines.append(f'  {node.name:<24} {node.state or "not there"}{pid}{cure}')
    if status.stop is None:
        lines.append('stop: not known, as no executor answers')
    elif status.stop.stopped:
        lines.append(f'STOPPED since {status.stop.since}: {status.stop.reason}')
    else:
        lines.append('stop: not stopped')
    lines += _site_lines(status)
    lines += [f'goal of {g.action}: {g.status} since {g.since}, {g.id}' for g in status.goals]
    lines += [f'goals of {a}: not known, as its server does not answer' for a in status.untold]
    if not status.goals and not status.untold:
        lines.append('no goal is under way')
    if status.log:
        lines.append(f'log: {status.log}')
    return '\n'.join(lines)
