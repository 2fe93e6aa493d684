# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Heartbeats of nodes and clients: their publisher, and the monitor that knows who lives."""

from __future__ import annotations

import contextlib
import threading
import traceback
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from unique_identifier_msgs.msg import UUID

from safegen_msgs.msg import Heartbeat
from safegen_ros.ros import qos
from safegen_ros.sync import Closing, boottime


class Ticker(Closing):
    """Calls a function at a period of the wall clock until it is closed.

    A timer of the node would stand still with simulated time. Each of its calls would also wake the
    executor, which then checks everything it waits for: the main work of an idle node.

    Args:
        node: logs what the function raises; the next call comes all the same.
        period_s: between two calls [s].
        function: must be quick.
    """

    def __init__(self, node: Node, period_s: float, function: Callable[[], None]) -> None:
        self._node = node
        self._period_s = period_s
        self._function = function
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name='ticker', daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._closed.wait(self._period_s):
            try:
                self._function()
            except Exception as error:
                self._node.get_logger().error(
                    ''.join(traceback.format_exception(error)), throttle_duration_sec=60.0
                )

    def close(self) -> None:
        """Ends the calls; none is under way afterwards."""
        self._closed.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()


TOPIC = 'heartbeat'

PERIOD_S = 0.25
"""Time between two heartbeats [s]."""

ALIVE_S = 4 * PERIOD_S
"""An instance counts as alive for so long after its last heartbeat [s]."""

CLIENT, FINALIZED = 'client', 'finalized'
"""State of a client, and the last state of every process."""

CURES = {
    'unconfigured': 'configure and activate it, or start the stack without autostart:=false',
    'inactive': 'activate it',
    'finalized': 'it has ended for good: start the stack again',
}
"""Cure for each state in which a node does no work."""

_MAX_INSTANCES = 1000
"""Most instances in memory, so that a flood of the topic cannot fill it."""


class HeartbeatPublisher(Closing):
    """Publishes the heartbeat of a process in a separate thread.

    Interfaces:
        topic `heartbeat` (safegen_msgs/msg/Heartbeat).

    Args:
        served: ids of the goals that it serves.
        then: called after each of the regular heartbeats.

    Attributes:
        instance: identifies the process among those of its name.
    """

    def __init__(
        self,
        node: Node,
        state: Callable[[], str] = lambda: CLIENT,
        served: Callable[[], Iterable[bytes]] = tuple,
        then: Callable[[], None] = lambda: None,
    ) -> None:
        self.instance = uuid.uuid4().bytes
        self._name = node.get_fully_qualified_name()
        self._state, self._served, self._then = state, served, then
        self._sent: set[bytes] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._publisher = node.create_publisher(Heartbeat, TOPIC, qos.HEARTBEATS_OUT)
        self._ticker = Ticker(node, PERIOD_S, self._tick)

    def begin(self, goal_id: UUID) -> None:
        """Lists a goal as sent from now on; call it before the goal is sent."""
        with self._lock:
            self._sent.add(bytes(goal_id.uuid))
        self.publish()

    def end(self, goal_id: UUID) -> None:
        """Lists it no longer: it has ended, or is given up."""
        with self._lock:
            self._sent.discard(bytes(goal_id.uuid))

    def _tick(self) -> None:
        with contextlib.suppress(InvalidHandle):  # the node was destroyed
            self.publish()
        self._then()

    def publish(self) -> None:
        """Publishes a heartbeat now; any thread may call it."""
        with self._lock:  # so that the last one in the list is the last message
            if not self._closed:
                self._publish(self._state(), self._sent, self._served())

    def close(self) -> None:
        """Publishes the last heartbeat, of state `finalized`."""
        self._ticker.close()
        with self._lock, contextlib.suppress(InvalidHandle):
            if not self._closed:
                self._publish(FINALIZED, (), ())
            self._closed = True

    def _publish(self, state: str, sent: Iterable[bytes], served: Iterable[bytes]) -> None:
        self._publisher.publish(
            Heartbeat(
                node=self._name,
                instance=list(self.instance),
                state=state,
                sent=[UUID(uuid=list(each)) for each in sent],
                served=[UUID(uuid=list(each)) for each in served],
            )
        )


@dataclass(frozen=True, slots=True)
class NodeInstance:
    """A process as its last heartbeat shows it.

    Attributes:
        node: its fully qualified name.
        id: its `instance`.
        state: label of its lifecycle state; `client` for a client.
        sent: ids of the goals that it has sent and awaits.
        served: ids of the goals that it works on.
        at: `boottime` of the arrival [s].
    """

    node: str
    id: bytes
    state: str
    sent: frozenset[bytes]
    served: frozenset[bytes]
    at: float


class Watching(Protocol):
    """A watch, as a monitor calls it."""

    def take(self, instance: NodeInstance) -> None:
        """Called with each heartbeat."""

    def look(self, unlooked_s: float) -> None:
        """Called once a period, with the time since the look before [s]."""


class HeartbeatMonitor:
    """Knows the living processes of its namespace by their heartbeats.

    Args:
        node: of the listener; its executor must be spinning elsewhere.
        clock: of the arrivals [s].
        subscribed: false for a node that needs no other one; each heartbeat costs processor time.
    """

    def __init__(
        self, node: Node, clock: Callable[[], float] = boottime, *, subscribed: bool = True
    ) -> None:
        self._namespace = node.get_namespace().rstrip('/')
        self.clock = clock
        self._changed = threading.Condition()
        self._known: dict[bytes, NodeInstance] = {}
        self._listeners: list[Callable[[NodeInstance], None]] = []
        self._watches: list[Watching] = []
        self._looked = clock()
        if subscribed:
            # A separate group, so that heartbeats are taken in their order.
            group = MutuallyExclusiveCallbackGroup()
            node.create_subscription(
                Heartbeat, TOPIC, self.take, qos.HEARTBEATS_IN, callback_group=group
            )

    def listen(self, listener: Callable[[NodeInstance], None]) -> None:
        """Calls a function with each heartbeat from now on, in the thread of the callback."""
        self._listeners.append(listener)

    def full_name(self, name: str) -> str:
        """The fully qualified name of a node, which is given relative to the namespace."""
        return name if name.startswith('/') else f'{self._namespace}/{name}'

    def instances(self, name: str = '') -> tuple[NodeInstance, ...]:
        """The processes that are alive.

        Args:
            name: of their node, relative to the namespace of the listener; empty for all.

        Returns:
            Two instances of one name are a duplicate, or a restart less than `ALIVE_S` ago.
        """
        wanted, since = self.full_name(name), self.clock() - ALIVE_S
        with self._changed:
            return tuple(
                each
                for each in self._known.values()
                if each.at >= since and (not name or each.node == wanted)
            )

    def duplicates(self) -> list[str]:
        """A sentence on each name that several processes, and no clients, have now."""
        since = self.clock() - 2 * PERIOD_S
        nodes = [each for each in self.instances() if each.at >= since and each.state != CLIENT]
        return [
            f'{count} processes run as {name}: end all but one'
            for name, count in sorted(Counter(each.node for each in nodes).items())
            if count > 1
        ]

    def state(self, name: str) -> str:
        """The state of a process by its last heartbeat; empty where none of the name is alive."""
        alive = self.instances(name)
        return alive[-1].state if alive else ''

    def add(self, watch: Watching) -> None:
        """Gives a watch each heartbeat from now on, and one of each process that is alive."""
        with self._changed:
            self._watches = [*self._watches, watch]
        for each in self.instances():
            watch.take(each)

    def remove(self, watch: Watching) -> None:
        """Ends a watch."""
        with self._changed:
            self._watches = [each for each in self._watches if each is not watch]

    def look(self) -> None:
        """Looks at all watches; to be called once a period, by one thread."""
        now = self.clock()
        for watch in self._watches:
            watch.look(now - self._looked)
        self._looked = now  # last, so that no watch misses a hold-up that is over

    @property
    def unlooked_s(self) -> float:
        """Time since the last look [s]; more than a period where this process is held up."""
        return self.clock() - self._looked

    def wait_for(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Waits until a condition is true, which is looked at with each heartbeat."""
        with self._changed:
            return self._changed.wait_for(condition, timeout_s)

    def take(self, message: Heartbeat) -> None:
        """Takes a heartbeat."""
        instance = NodeInstance(
            message.node,
            bytes(message.instance),
            message.state,
            frozenset(bytes(each.uuid) for each in message.sent),
            frozenset(bytes(each.uuid) for each in message.served),
            self.clock(),
        )
        with self._changed:
            # Popped first, so that the dictionary is in the order of the last heartbeats.
            self._known.pop(instance.id, None)
            if instance.state != FINALIZED:
                self._known[instance.id] = instance
            while self._known and (
                len(self._known) > _MAX_INSTANCES
                or next(iter(self._known.values())).at < instance.at - ALIVE_S
            ):
                self._known.pop(next(iter(self._known)))
            self._changed.notify_all()
        for listener in (*self._listeners, *(watch.take for watch in self._watches)):
            listener(instance)


def stacks_elsewhere(watcher: Node, namespace: str) -> str:
    """The other namespaces that have an executor, for the end of a sentence; empty where none has.

    Args:
        watcher: any node of the same domain.
        namespace: that is looked into already.
    """
    found = watcher.get_node_names_and_namespaces()
    others = sorted({place for name, place in found if name == 'executor' and place != namespace})
    if not others:
        return ''
    return f' (executors are in namespace {", ".join(others)}: use --namespace)'


def why_missing(watcher: Node, heartbeats: HeartbeatMonitor, name: str) -> str:
    """Why a node in the watcher's namespace offers nothing, with the cure."""
    namespace = watcher.get_namespace()
    if (name, namespace) not in watcher.get_node_names_and_namespaces():
        return (
            "start the stack with 'safegen up sim', in the same ROS_DOMAIN_ID"
            f'{stacks_elsewhere(watcher, namespace)}'
        )
    state = heartbeats.state(name)
    return f'the {name} is {state or "silent"}: {CURES.get(state, "look into its log")}'
