# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Asks the ROS graph whether a node offers its interface yet."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from safegen_ros.bringup.profiles import NodeSpec
from safegen_ros.errors import BringupError
from safegen_ros.ros.discovery import use_stack_discovery
from safegen_ros.sync import Closing

if TYPE_CHECKING:
    from rclpy.context import Context
    from rclpy.node import Node


class GraphProbe(Closing):
    """A short-lived ROS participant of the supervisor that looks at the graph.

    It looks for the interface *of the named node*, by name and type, so that a namesake of another
    stack cannot pass for it, and the interface package need not be importable here.
    """

    def __init__(self, domain: int) -> None:
        """Join the domain.

        Raises:
            BringupError: rclpy cannot be imported.
        """
        try:
            import rclpy
            from rclpy.signals import SignalHandlerOptions
        except ImportError as error:
            raise BringupError(
                f'rclpy cannot be imported ({error}): install the ROS 2 wheels of this project, or '
                'source a ROS 2 workspace, and start again in a fresh shell'
            ) from error
        use_stack_discovery()
        self._context: Context = rclpy.Context()
        # The signals stay with the supervisor.
        rclpy.init(
            args=[],
            context=self._context,
            domain_id=domain,
            signal_handler_options=SignalHandlerOptions.NO,
        )
        self._node: Node = rclpy.create_node(
            'safegen_supervisor',
            context=self._context,
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
        )

    def offers(self, spec: NodeSpec) -> bool:
        """Whether the node is in the graph with the interface that makes it ready."""
        from rclpy.node import NodeNameNonExistentError

        if spec.ready is None:
            return True
        name = f'{spec.namespace.rstrip("/")}/{spec.ready.name}'
        kind = spec.ready.type
        if spec.ready.kind == 'action':
            # An action is made of services. rclpy can also list actions, but cannot tell a node
            # that is not there yet from a failure.
            name, kind = f'{name}/_action/send_goal', f'{kind}_SendGoal'
        try:
            found = self._node.get_service_names_and_types_by_node(spec.name, spec.namespace)
        except NodeNameNonExistentError:
            return False
        return any(each == name and kind in kinds for each, kinds in found)

    def close(self) -> None:
        """Leave the domain."""
        if self._context.ok():
            self._node.destroy_node()
            self._context.shutdown()


def port_is_free(port: int) -> bool:
    """Whether nobody listens on a port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(('127.0.0.1', port))
        except OSError:
            return False
    return True
