# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Interfaces of running nodes, from the ROS graph."""

from __future__ import annotations

from typing import Any

from rclpy import action
from rclpy.node import Node, NodeNameNonExistentError

from safegen_ros.ros.interfaces import Kind

Seen = frozenset[tuple[Kind, str, str]]
"""Kind, resolved name and type of each interface."""

_OF_ACTIONS = '/_action/'


def interfaces_of(watcher: Node, name: str, namespace: str = '/') -> Seen:
    """The interfaces of another node that discovery has found.

    The topics and services of actions are left out. An undiscovered node has none.

    Args:
        watcher: any node of the same domain.
        name: of the node.
        namespace: of the node.
    """
    questions: dict[Kind, Any] = {
        Kind.PUBLISHER: watcher.get_publisher_names_and_types_by_node,
        Kind.SUBSCRIPTION: watcher.get_subscriber_names_and_types_by_node,
        Kind.SERVICE: watcher.get_service_names_and_types_by_node,
        Kind.CLIENT: watcher.get_client_names_and_types_by_node,
        Kind.ACTION_SERVER: lambda *who: action.get_action_server_names_and_types_by_node(
            watcher, *who
        ),
        Kind.ACTION_CLIENT: lambda *who: action.get_action_client_names_and_types_by_node(
            watcher, *who
        ),
    }
    try:
        return frozenset(
            (kind, topic, type)
            for kind, ask in questions.items()
            for topic, types in ask(name, namespace)
            if _OF_ACTIONS not in topic
            for type in types
        )
    except NodeNameNonExistentError:
        return frozenset()
