# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the verbs of the operator ask of the nodes, and how they print the answers."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from threading import Event
from typing import Any
from uuid import UUID

from action_msgs.msg import GoalStatus, GoalStatusArray
from rclpy.qos import qos_profile_action_status_default
from std_srvs.srv import Trigger

from safegen_ros.bringup import NodeSpec, node_specs
from safegen_ros.cli.failures import EXIT_FAILED, EXIT_OK, print_error
from safegen_ros.cli.namespaces import absolute_namespace
from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.nodes.asking import answer_of
from safegen_ros.nodes.base import wait_for
from safegen_ros.nodes.graph import stacks_elsewhere
from safegen_ros.nodes.heartbeat import ALIVE_S, HeartbeatMonitor
from safegen_ros.nodes.managed import StateClient
from safegen_ros.nodes.release_store import NEW, RELEASED, ReleaseStore
from safegen_ros.nodes.stopping import StopListener
from safegen_ros.processes.state import StackState, current_domain, is_held, read_state

DISCOVERY_S = 3.0
"""How long nodes may take to be found [s]; those that are there are found sooner."""

LATCHED_S = 3.0
"""How long the topics of a node that was found may take to be heard [s]; see `DISCOVERY_S`."""

ANSWER_S = 10.0
"""How long the executor may take to answer [s]; it answers a stop when the arm is at rest."""

_POLL_S = 0.02
_ACTIONS = {'plan_task': 'planner', 'run_task': 'planner', 'execute_plan': 'executor'}
_CURES = {
    'unconfigured': 'configure and activate it',
    'inactive': 'activate it',
    'finalized': 'it has ended for good: start the stack again',
}
_RUNNING = {
    GoalStatus.STATUS_ACCEPTED: 'accepted',
    GoalStatus.STATUS_EXECUTING: 'executing',
    GoalStatus.STATUS_CANCELING: 'canceling',
}


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """A node of the stack.

    Attributes:
        state: of its life: unconfigured, inactive, active and so on; empty where it does not tell.
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
        stop: None where no executor tells.
        untold: actions of active nodes whose goals under way are not known, as nothing was heard.
        duplicates: of each name that several processes have, how many they are.
        elsewhere: other namespaces with an executor, as the end of a sentence.
    """

    domain: int
    namespace: str
    supervisor: str
    log: str
    nodes: tuple[NodeStatus, ...]
    stop: StopStatus | None
    goals: tuple[RunningGoal, ...]
    untold: tuple[str, ...]
    duplicates: tuple[str, ...] = ()
    elsewhere: str = ''

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


def stop_stack(namespace: str, as_json: bool) -> int:
    """Calls the service `stop`; returns the exit status.

    Raises:
        SafegenError: no executor answers (`SERVER_LOST`). The stop is stored, so that an executor
            that is frozen stops when it goes on, and one that starts here is stopped.
    """
    place = absolute_namespace(namespace)
    with Client(place) as client:
        caller = _caller(client, 'stop')
        found = stacks_elsewhere(client.node, place)
        # Asked again and again, as it does no harm twice; the other two are said once.
        what, lost = 'the service stop of the executor', ErrorCode.SERVER_LOST
        try:
            if caller is not None:
                answer = answer_of(caller, Trigger.Request(), ANSWER_S, what, lost)
                return _print_answer(answer.success, answer.message, as_json)
        except SafegenError as error:
            if error.code is not lost:
                raise
    raise SafegenError(
        f'no executor answers in namespace {place} of ROS_DOMAIN_ID {current_domain()}'
        f'{found}: {_store_stop(place)}; if something moves, use the emergency stop of the arm',
        ErrorCode.SERVER_LOST,
    )


def _store_stop(place: str) -> str:
    """Stores a stop for an executor that does not answer; what came of it, in words."""
    try:
        store = ReleaseStore(current_domain(), place)
        store.add_stop('safegen stop was called, and no executor answered', store.read().count + 1)
    except (OSError, SafegenError) as error:
        return f'NOTHING WAS STOPPED, and the stop could not be stored: {error}'
    return (
        'the stop is stored: an executor of this user that goes on or starts there is stopped '
        'until a reset'
    )


def reset_stack(namespace: str, as_json: bool) -> int:
    """Calls the service `reset`; returns the exit status.

    Without any executor, a simulated cell is released: the real arm is only with its stack running.
    """
    place = absolute_namespace(namespace)
    with Client(place) as client:
        answer = _call(client, 'reset')
        found = stacks_elsewhere(client.node, place)
    if answer is not None:
        return _print_answer(answer.success, answer.message, as_json)
    try:
        return _print_answer(True, _release_stored(place, found), as_json)
    except OSError as error:
        return _print_answer(False, f'it stays stopped: {error}', as_json)


def _release_stored(place: str, found: str) -> str:
    """Releases a simulated cell whose executor does not run; what was done, in words.

    Raises:
        OSError: it cannot be told that none runs, or the release could not be stored.
        SafegenError: an executor may run, or the stack does, where this process finds none.
    """
    domain = current_domain()
    where = f'namespace {place} of ROS_DOMAIN_ID {domain}'
    if is_held(domain, place):
        running = read_state(domain, place)
        process = f' (process {running.pid})' if running else ''
        raise SafegenError(
            f'a stack runs in {where}{process}, but its executor does not answer: nothing is '
            'reset. Look at `safegen status` and the log of the stack',
            ErrorCode.SERVER_LOST,
        )
    with ReleaseStore(domain, place) as store:
        if store.read().state == NEW:
            return f'no executor is there, and nothing was ever stopped in {where}{found}'
        if not store.own():
            raise SafegenError(
                f'the executor of {where} runs ({store.owner()}) and does not answer: nothing is '
                'reset. End it, or find out why it does not answer',
                ErrorCode.SERVER_LOST,
            )
        stored = store.read()
        if stored.state == RELEASED:
            return f'no executor is there, and no stop was left in {where}'
        stored = store.release(store.stops(), arm=False, count=stored.count)
    if stored.state != RELEASED:
        raise OSError(stored.reason)
    return (
        f'no executor is there: a simulated cell may move again in {where}; the real arm needs a '
        'reset while its stack runs'
    )


def release_tool(namespace: str, as_json: bool) -> int:
    """Calls the service `release`; returns the exit status.

    Raises:
        SafegenError: there is no executor (`SERVER_LOST`); the tool holds on to what it holds.
    """
    place = absolute_namespace(namespace)
    with Client(place) as client:
        answer = _call(client, 'release')
        found = stacks_elsewhere(client.node, place)
    if answer is None:
        raise SafegenError(
            f'no executor is there to let go, in namespace {place} of ROS_DOMAIN_ID '
            f'{current_domain()}{found}: start the stack first',
            ErrorCode.SERVER_LOST,
        )
    return _print_answer(answer.success, answer.message, as_json)


def state_set_up(namespace: str, as_json: bool) -> int:
    """Calls the service `blocks_set_up`; returns the exit status.

    Raises:
        SafegenError: there is no executor (`SERVER_LOST`).
    """
    answer = call_set_up(absolute_namespace(namespace))
    return _print_answer(answer.success, answer.message, as_json)


def call_set_up(place: str) -> Any:
    """The answer of the service `blocks_set_up` in an absolute namespace; raises as above."""
    with Client(place) as client:
        answer = _call(client, 'blocks_set_up')
    if answer is None:
        raise SafegenError(
            f'no executor is there to be told, in namespace {place} of ROS_DOMAIN_ID '
            f'{current_domain()}: start the stack first',
            ErrorCode.SERVER_LOST,
        )
    return answer


def show_status(namespace: str, as_json: bool) -> int:
    """Prints how a stack stands; returns `EXIT_FAILED` unless every node is active."""
    place = absolute_namespace(namespace)
    status = stack_status(place, read_state(current_domain(), place))
    if as_json:
        print(json.dumps({**asdict(status), 'up': status.up}))
    else:
        print('\n'.join(_lines(status)))
    return EXIT_OK if status.up else EXIT_FAILED


def stack_status(namespace: str, running: StackState | None) -> StackStatus:
    """Asks the graph and the latched topics.

    Args:
        namespace: absolute, of the nodes.
        running: what the supervisor of this domain says, if there is one.
    """
    specs = node_specs('sim', {'namespace': namespace})
    pids = running.nodes if running else {}
    with Client(namespace) as client:
        listener = StopListener(client.node)
        heartbeats = HeartbeatMonitor(client.node)
        begun = time.monotonic()
        goals = _Goals(client)
        states = _states(client, specs)
        told = listener.wait(LATCHED_S) if states['executor'] else None
        serving = [action for action, node in _ACTIONS.items() if states[node] == 'active']
        untold = goals.wait(serving, LATCHED_S)
        domain = client.node.context.get_domain_id()
        # A second process of a name is found by its heartbeat alone.
        Event().wait(ALIVE_S - time.monotonic() + begun)
        alive = Counter(each.node for each in heartbeats.instances())
        elsewhere = stacks_elsewhere(client.node, namespace)
    return StackStatus(
        domain=domain,
        namespace=namespace,
        supervisor=running.status if running else '',
        log=running.log if running else '',
        nodes=tuple(NodeStatus(s.full_name, states[s.name], pids.get(s.full_name)) for s in specs),
        stop=told and StopStatus(told.stopped, told.reason, _time(told.stamp), told.count),
        goals=goals.running(),
        untold=untold,
        duplicates=tuple(
            f'{alive[s.full_name]} processes run as {s.full_name}: end all but one'
            for s in specs
            if alive[s.full_name] > 1
        ),
        elsewhere=elsewhere,
    )


class _Goals:
    """The goals that have not ended, as the servers publish them, latched."""

    def __init__(self, client: Client) -> None:
        self._told: dict[str, Any] = {}
        for action in _ACTIONS:
            client.node.create_subscription(
                GoalStatusArray,
                f'{action}/_action/status',
                lambda message, action=action: self._told.__setitem__(action, message),
                qos_profile_action_status_default,
            )

    def wait(self, actions: list[str], timeout_s: float) -> tuple[str, ...]:
        """Waits for what the servers of those actions have latched; returns those not heard [s]."""
        _until(lambda: self._told.keys() >= set(actions), timeout_s)
        return tuple(action for action in actions if action not in self._told)

    def running(self) -> tuple[RunningGoal, ...]:
        """Those that were heard of."""
        return tuple(
            RunningGoal(
                action,
                str(UUID(bytes=bytes(goal.goal_info.goal_id.uuid))),
                _RUNNING[goal.status],
                _time(goal.goal_info.stamp),
            )
            for action in _ACTIONS
            if action in self._told
            for goal in self._told[action].status_list
            if goal.status in _RUNNING
        )


def _states(client: Client, specs: tuple[NodeSpec, ...]) -> dict[str, str]:
    """The states of the nodes; empty for those that do not tell in time."""
    asked = {spec.name: StateClient(client.node, spec.name) for spec in specs}
    _until(lambda: '' not in [node.ask() for node in asked.values()], DISCOVERY_S)
    return {name: node.ask() for name, node in asked.items()}


def _until(condition: Callable[[], bool], timeout_s: float) -> bool:
    deadline, pause = time.monotonic() + timeout_s, Event()
    while not condition():
        if time.monotonic() >= deadline:
            return False
        pause.wait(_POLL_S)
    return True


def _caller(client: Client, service: str) -> Any:
    """A client of a service of the executor; None where there is no executor."""
    caller: Any = client.node.create_client(Trigger, service)
    return caller if caller.wait_for_service(timeout_sec=DISCOVERY_S) else None


def _call(client: Client, service: str) -> Any:
    """The answer of a service of the executor; None where there is no executor.

    It is asked once: repeated on its own, a reset could take back a stop that came in between.
    """
    caller = _caller(client, service)
    if caller is None:
        return None
    # A service counts as there before its answers arrive here. Endpoints become known in the order
    # in which they were made, so an answer to a younger client shows that this one's do.
    StateClient(client.node, 'executor').wait(DISCOVERY_S)
    return wait_for(
        caller.call_async(Trigger.Request()),
        ANSWER_S,
        f'the service {service} of the executor',
        ErrorCode.SERVER_LOST,
    )


def _print_answer(success: bool, message: str, as_json: bool) -> int:
    if as_json:
        print(json.dumps({'success': success, 'message': message}))
    elif success:
        print(message)
    else:
        print_error(message)
    sys.stdout.flush()
    return EXIT_OK if success else EXIT_FAILED


def _time(stamp: Any) -> str:
    seconds = stamp.sec + stamp.nanosec * 1e-9
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec='milliseconds')


def _lines(status: StackStatus) -> list[str]:
    where = f'ROS domain {status.domain}, namespace {status.namespace}'
    lines = [f'{where}: {status.headline}', *(f'  {each}' for each in status.duplicates)]
    for node in status.nodes:
        pid = f'  process {node.pid}' if node.pid else ''
        cure = f'  ({_CURES[node.state]})' if node.state in _CURES else ''
        lines.append(f'  {node.name:<24} {node.state or "not there"}{pid}{cure}')
    if status.stop is None:
        lines.append('stop: not known, as no executor tells')
    elif status.stop.stopped:
        lines.append(f'STOPPED since {status.stop.since}: {status.stop.reason}')
    else:
        lines.append('stop: not stopped')
    for goal in status.goals:
        lines.append(f'goal of {goal.action}: {goal.status} since {goal.since}, {goal.id}')
    for action in status.untold:
        lines.append(f'goals of {action}: not known, as its server does not tell')
    if not status.goals and not status.untold:
        lines.append('no goal is under way')
    if status.log:
        lines.append(f'log: {status.log}')
    return lines
