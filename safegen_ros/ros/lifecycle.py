# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Lifecycle nodes: configure, activate, deactivate, clean up; and their autostart.

A node starts unconfigured, without model and arm. The services of a ROS lifecycle node change its
state. With the parameter `autostart` it activates itself after the nodes that it needs. Parameters
are read when it is configured.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

from lifecycle_msgs.msg import State
from rcl_interfaces.msg import SetParametersResult
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.lifecycle import LifecycleNodeMixin, LifecycleState, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.type_support import MsgT, Srv, SrvRequestT, SrvResponseT

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.node_parameters import AUTOSTART, REFUSE_UNKNOWN, Parameter
from safegen_ros.ros.calls import cleaned
from safegen_ros.ros.liveness import HeartbeatMonitor
from safegen_ros.ros.parameters import declare, read, unknown_overrides
from safegen_ros.ros.rclpy_compat import (
    await_discovery_of_clients,
    destroy_actions,
    destroy_lifecycle,
    lifecycle_state,
)

_POLL_S = 0.1  # between two looks whether a wait for another node is to end

_TELL_S = 10.0
_DONE, _FAILED = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
_PRIMARY = (
    State.PRIMARY_STATE_UNCONFIGURED, State.PRIMARY_STATE_INACTIVE, State.PRIMARY_STATE_ACTIVE
)  # fmt: skip


class ManagedNode(LifecycleNodeMixin, Node):
    """A lifecycle node; subclasses say what each transition does.

    Args:
        parameters: all of them; `AUTOSTART` and `REFUSE_UNKNOWN` are two.

    Attributes:
        AFTER: names of the nodes that have to be active before this one starts itself.
        group: for callbacks that may run side by side.
        heartbeats: of the processes of the namespace; heard where `AFTER` names a node.
        inactive: set unless the node is active; running work ends when it is set.
        values: of the parameters, as they were when it was configured last.
    """

    AFTER: ClassVar[tuple[str, ...]] = ()

    def __init__(self, name: str, parameters: tuple[Parameter, ...]) -> None:
        Node.__init__(self, name)
        # Transitions run one after the other, in parallel with everything else.
        self.transitions = MutuallyExclusiveCallbackGroup()
        LifecycleNodeMixin.__init__(self, callback_group=self.transitions)
        self._trusted = threading.local()
        self.group = ReentrantCallbackGroup()
        self.inactive = threading.Event()
        self.inactive.set()
        self.heartbeats = HeartbeatMonitor(self, subscribed=bool(self.AFTER))
        self.values: dict[str, Any] = {}
        self._failure = ''
        self._declared = parameters
        declare(self, parameters)
        self.add_on_set_parameters_callback(self._check_parameters)

    def create_publisher(
        self, msg_type: type[MsgT], topic: str, qos_profile: QoSProfile | int, **options: Any
    ) -> Publisher[MsgT]:
        """See `Node.create_publisher`; without event callbacks unless some are named.

        rclpy checks the events of each topic at every wake-up, which took a quarter of the
        processor time of a goal. The other side also reports QoS profiles that do not match.
        """
        options.setdefault('event_callbacks', PublisherEventCallbacks(use_default_callbacks=False))
        return super().create_publisher(msg_type, topic, qos_profile, **options)

    def create_service(
        self,
        srv_type: type[Srv],
        srv_name: str,
        callback: Callable[[SrvRequestT, SrvResponseT], SrvResponseT],
        **options: Any,
    ) -> Service[SrvRequestT, SrvResponseT]:
        """See `Node.create_service`; an answer waits until its client is discovered."""
        service = super().create_service(srv_type, srv_name, callback, **options)
        await_discovery_of_clients(service)
        return service

    def create_subscription(  # type: ignore[override]  # without the information on a message
        self,
        msg_type: type[MsgT],
        topic: str,
        callback: Callable[[MsgT], None],
        qos_profile: QoSProfile | int,
        **options: Any,
    ) -> Subscription[MsgT]:
        """See `Node.create_subscription`, and `create_publisher` here; messages are `cleaned`."""
        options.setdefault(
            'event_callbacks', SubscriptionEventCallbacks(use_default_callbacks=False)
        )
        return super().create_subscription(
            msg_type, topic, lambda message: callback(cleaned(message)), qos_profile, **options
        )

    # Authorization

    @contextmanager
    def trusted(self) -> Iterator[None]:
        """Marks the calls of this thread as those of the node itself, or as signed."""
        self._trusted.now = True
        try:
            yield
        finally:
            self._trusted.now = False

    def stranger(self, what: str) -> str:
        """Why an untrusted call is refused; empty where nothing has to be signed."""
        return '' if getattr(self._trusted, 'now', False) else self.unsigned(what)

    def unsigned(self, what: str) -> str:
        """Why an unsigned call is refused; empty where it is not."""
        return ''

    # For subclasses

    def refuses_unknown(self) -> bool:
        """Whether a parameter that no node has keeps the node from being configured."""
        return bool(self.values[REFUSE_UNKNOWN.name])

    def configure(self) -> None:
        """Opens what the parameters name; nothing moves. Raises `SafegenError` with the reason."""

    def activate(self) -> None:
        """Begins to take work; raises `SafegenError` with the reason where it cannot."""

    def deactivate(self) -> None:
        """Ends what is under way, and holds; `inactive` is set already."""

    def cleanup(self) -> None:
        """Releases the resources of `configure`, also where that has failed half-way."""

    # Transitions

    @property
    def failure(self) -> str:
        """Why the last transition failed; empty when it did not."""
        return self._failure

    @property
    def state(self) -> str:
        """The label of the state: unconfigured, inactive, active and so on."""
        return lifecycle_state(self)[1]

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See `configure`; a failure leaves the node unconfigured."""
        if why := self.stranger('to configure the node'):
            return self._refused(why)

        def work() -> None:
            self.values = read(self, self._declared)
            problems = [each.problem(self.values[each.name]) for each in self._declared]
            if wrong := '; '.join(filter(None, problems)):
                raise SafegenError(f'parameter {wrong}')
            if unknown := unknown_overrides(self):
                problem = f'no node has these parameters: {unknown}'
                if self.refuses_unknown():
                    raise SafegenError(f'{problem}: correct their names, or take them out')
                self.get_logger().warning(problem)
            self.configure()

        done = self._transition('configured', work)
        if done is _FAILED:
            self._transition('cleaned up', self.cleanup, keep=self._failure)
        return done

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See `activate`; a failure leaves the node inactive."""
        if why := self.stranger('to activate the node'):
            return self._refused(why)
        self.inactive.clear()  # before anybody can see a server that would reject a first goal
        done = self._transition('activated', self.activate)
        if done is not _DONE:
            self.inactive.set()
        return done

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See `deactivate`; what does not end is an error."""
        self.inactive.set()
        done = self._transition('deactivated', self.deactivate)
        return done if done is _DONE else TransitionCallbackReturn.ERROR

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See `cleanup`."""
        return self._transition('cleaned up', self.cleanup)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Ends what is under way and lets go of everything, for good."""
        return self.on_error(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """As from `active` to `unconfigured`, whatever of that works."""
        if not self.inactive.is_set():
            self.inactive.set()
            self._transition('deactivated', self.deactivate)
        self._transition('cleaned up', self.cleanup, keep=self._failure)
        return _DONE

    def _refused(self, why: str) -> TransitionCallbackReturn:
        self._failure = why
        self.get_logger().error(why)
        return _FAILED

    def _transition(
        self, done: str, work: Callable[[], None], keep: str = ''
    ) -> TransitionCallbackReturn:
        """Does the work of a transition; what went wrong goes to the log and to `bring_up`."""
        self._failure = ''
        try:
            work()
        except SafegenError as error:
            self._failure = error.message
        except Exception as error:
            self.get_logger().error(''.join(traceback.format_exception(error)))
            self._failure = repr(error)
        if self._failure:
            self.get_logger().error(f'could not be {done}: {self._failure}')
        failed, self._failure = bool(self._failure), self._failure or keep
        return _FAILED if failed else _DONE

    def _check_parameters(self, changes: list[RosParameter[Any]]) -> SetParametersResult:
        own = {parameter.name: parameter for parameter in self._declared}
        names = [change.name for change in changes if change.name in own]
        if why := self.stranger('to set parameters'):
            return SetParametersResult(successful=False, reason=why)
        problems = [own[c.name].problem(c.value) for c in changes if c.name in own]
        if any(problems):
            return SetParametersResult(successful=False, reason='; '.join(filter(None, problems)))
        if not names or lifecycle_state(self)[0] == State.PRIMARY_STATE_UNCONFIGURED:
            return SetParametersResult(successful=True)
        return SetParametersResult(
            successful=False,
            reason=f'{", ".join(names)}: parameters are read when the node is configured, and it '
            f'is {self.state}: deactivate it, clean it up, then set them and configure it again',
        )

    # Autostart

    def bring_up(self, stop: threading.Event) -> None:
        """Activates the node in the order of the stack, unless `autostart` is off.

        Args:
            stop: ends a wait for other nodes.

        Raises:
            SafegenError: a transition failed, and why.
        """
        if not self.get_parameter(AUTOSTART.name).value:
            self.get_logger().info('unconfigured: autostart is off')
            return
        with self.trusted():
            self._bring_up(stop)

    def _bring_up(self, stop: threading.Event) -> None:
        if self.trigger_configure() is not _DONE:
            raise SafegenError(self._failure)
        if not self._others_active(stop):
            return
        # A lifecycle manager may have changed the state meanwhile.
        if self.state == 'inactive' and self.trigger_activate() is not _DONE:
            raise SafegenError(self._failure)

    def _others_active(self, stop: threading.Event) -> bool:
        tell = time.monotonic() + _TELL_S
        for name in self.AFTER:
            while not self.heartbeats.wait_for(partial(self._is_active, name), _POLL_S):
                if stop.is_set():
                    return False
                if time.monotonic() > tell:
                    self.get_logger().info(f'inactive: waits for the {name} to be active')
                    tell = time.monotonic() + _TELL_S
        return True

    def _is_active(self, name: str) -> bool:
        return self.heartbeats.state(name) == 'active'

    def destroy_node(self) -> None:
        """Leaves the graph now, not at garbage collection."""
        destroy_actions(self)
        super().destroy_node()
        destroy_lifecycle(self)

    def end(self) -> None:
        """The last transition; called once when the process is about to end."""
        self.inactive.set()
        if lifecycle_state(self)[0] in _PRIMARY:
            self._transition('deactivated', self.deactivate)
            self.trigger_shutdown()

    def unexpected(self, error: Exception) -> tuple[ErrorCode, str]:
        """The code and message for an error that is a fault of this program.

        It must not leave the callback: rclpy would answer the client with an empty result, in
        which every number is 0, and 0 reads as success.
        """
        self.get_logger().error(''.join(traceback.format_exception(error)))
        return ErrorCode.UNKNOWN, f'the {self.get_name()} failed, see its log: {error!r}'
