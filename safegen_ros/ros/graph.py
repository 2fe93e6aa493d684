# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Interfaces and namespaces of running nodes, from the ROS graph."""

from __future__ import annotations

from typing import Any

from rclpy import action
from rclpy.node import Node, NodeNameNonExistentError

from safegen_ros.ros.interfaces import Kind
from safegen_ros.ros.lifecycle import CURES
from safegen_ros.ros.liveness import HeartbeatMonitor

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
