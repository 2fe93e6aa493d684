# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Interfaces of every node, as its page shows them, and the SROS2 policy made of them.

Pure data, with no import of rclpy; a test compares it with running nodes.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import partial


class Kind(Enum):
    """The side of an interface that a node has; the value is how the pages say it."""

    PUBLISHER = 'publishes'
    SUBSCRIPTION = 'listens to'
    SERVICE = 'serves'
    CLIENT = 'calls'
    ACTION_SERVER = 'executes'
    ACTION_CLIENT = 'sends goals to'


@dataclass(frozen=True, slots=True)
class Interface:
    """One interface of one node.

    Attributes:
        kind: which side of it the node has.
        name: relative to the namespace, or private (`~/`), or absolute.
        type: such as `safegen_msgs/msg/Plan`.
        latched: whether the last message is kept for late joiners.
        when: under which setting the node has it; empty: always.
    """

    kind: Kind
    name: str
    type: str
    about: str
    latched: bool = False
    when: str = ''

    def full_name(self, namespace: str, node: str) -> str:
        """The resolved name.

        Args:
            namespace: of the node; '/' for none.
        """
        if self.name.startswith('/'):
            return self.name
        base = namespace.rstrip('/')
        if self.name.startswith('~/'):
            return f'{base}/{node}/{self.name[2:]}'
        return f'{base}/{self.name}'


_out = partial(Interface, Kind.PUBLISHER)
_in = partial(Interface, Kind.SUBSCRIPTION)
_serves = partial(Interface, Kind.SERVICE)
_calls = partial(Interface, Kind.CLIENT)
_executes = partial(Interface, Kind.ACTION_SERVER)
_sends = partial(Interface, Kind.ACTION_CLIENT)

_HEARTBEAT = _out('heartbeat', 'safegen_msgs/msg/Heartbeat', 'heartbeat, four times a second')
_HEARTBEATS = _in('heartbeat', 'safegen_msgs/msg/Heartbeat', 'heartbeats of nodes and clients')

INTERFACES: dict[str, tuple[Interface, ...]] = {
    'planner': (
        _HEARTBEATS,
        _executes('plan_task', 'safegen_msgs/action/PlanTask', 'a proved plan for a task'),
        _executes('run_task', 'safegen_msgs/action/RunTask', 'the same, then its execution'),
        _out('~/attempts', 'safegen_msgs/msg/Attempt', 'every attempt with its verdict'),
        _out(
            '~/events',
            'safegen_msgs/msg/RunEvent',
            'each entry of the journal, once it is on the disk',
            latched=True,
        ),
        _out('~/plan', 'safegen_msgs/msg/Plan', 'the last proved plan', True),
        _out('~/pending', 'safegen_msgs/msg/PendingPlan', 'the plan awaiting approval', True),
        _serves('~/approve', 'safegen_msgs/srv/Approve', 'approval or refusal of the pending plan'),
        _in('stopped', 'safegen_msgs/msg/StopState', 'a stop, which ends the goals', True),
        _calls('validate_plan', 'safegen_msgs/srv/ValidatePlan', 'the verdict on each attempt'),
        _calls('rehearse_plan', 'safegen_msgs/srv/RehearsePlan', 'rehearsal of a plan on the twin'),
        _calls('get_world', 'safegen_msgs/srv/GetWorld', 'start of a goal with from_current'),
        _sends('execute_plan', 'safegen_msgs/action/ExecutePlan', 'a proved plan'),
    ),
    'validator': (
        _serves('validate_plan', 'safegen_msgs/srv/ValidatePlan', 'the verdict on a plan text'),
        _serves(
            'monitor_step', 'safegen_msgs/srv/MonitorStep', 'permission to continue after a step'
        ),
        _out('~/status', 'safegen_msgs/msg/MonitorStatus', 'result of the last step', True),
        _calls('stop', 'std_srvs/srv/Trigger', 'a stop, when the world has left the proof'),
        _in('stopped', 'safegen_msgs/msg/StopState', 'stop state', True),
    ),
    'executor': (
        _HEARTBEATS,
        _executes('execute_plan', 'safegen_msgs/action/ExecutePlan', 'a plan, verified first'),
        _serves(
            'rehearse_plan', 'safegen_msgs/srv/RehearsePlan', 'rehearsal of a proved plan on a twin'
        ),
        _serves('stop', 'std_srvs/srv/Trigger', 'end every goal, hold, and latch'),
        _serves('reset', 'std_srvs/srv/Trigger', 'allow goals again; moves nothing'),
        _serves('release', 'std_srvs/srv/Trigger', 'the tool lets go; refused while a goal runs'),
        _serves('get_world', 'safegen_msgs/srv/GetWorld', 'the last known world'),
        _serves(
            'blocks_set_up', 'std_srvs/srv/Trigger', "a person's confirmation, for an assumed world"
        ),
        _out('stopped', 'safegen_msgs/msg/StopState', 'stop state with its reason', True),
        _in('stopped', 'safegen_msgs/msg/StopState', 'a stop by another node', True),
        _out('~/progress', 'safegen_msgs/msg/ExecutionProgress', 'each phase and step'),
        _out(
            '~/events',
            'safegen_msgs/msg/RunEvent',
            'each entry of the journal, once it is on the disk',
            latched=True,
        ),
        _out('joint_states', 'sensor_msgs/msg/JointState', 'measured joints; only with an arm'),
        _out('world_state', 'safegen_msgs/msg/WorldState', 'measured blocks, or the facts'),
        _out('robot_description', 'std_msgs/msg/String', 'URDF of the arm; only with one', True),
        _out(
            '~/scene',
            'visualization_msgs/msg/MarkerArray',
            'arm, table, blocks, plan and verdict, for RViz and Foxglove',
            True,
        ),
        _out('/clock', 'rosgraph_msgs/msg/Clock', 'time of a simulated cell'),
        Interface(
            Kind.SUBSCRIPTION,
            'perception/world_state',
            'safegen_msgs/msg/WorldState',
            'poses of the blocks of the real arm',
            when='`cell` is `mycobot`, `world` is `perceived`',
        ),
        _calls('monitor_step', 'safegen_msgs/srv/MonitorStep', 'each observation of the world'),
    ),
}
"""The interfaces of each node alone, once it is active."""

_PARAMETERS = (
    ('describe_parameters', 'DescribeParameters'),
    ('get_parameter_types', 'GetParameterTypes'),
    ('get_parameters', 'GetParameters'),
    ('list_parameters', 'ListParameters'),
    ('set_parameters', 'SetParameters'),
    ('set_parameters_atomically', 'SetParametersAtomically'),
)
_LIFECYCLE = (
    ('change_state', 'ChangeState'),
    ('get_available_states', 'GetAvailableStates'),
    ('get_available_transitions', 'GetAvailableTransitions'),
    ('get_state', 'GetState'),
    ('get_transition_graph', 'GetAvailableTransitions'),
)

COMMON: tuple[Interface, ...] = (
    Interface(
        Kind.SUBSCRIPTION, '/clock', 'rosgraph_msgs/msg/Clock', 'the time', when='`use_sim_time`'
    ),
    _HEARTBEAT,
    _out(
        '/diagnostics',
        'diagnostic_msgs/msg/DiagnosticArray',
        'diagnostics of the node, once a second',
    ),
    _out('~/transition_event', 'lifecycle_msgs/msg/TransitionEvent', 'each change of its state'),
    _out('/rosout', 'rcl_interfaces/msg/Log', 'its log'),
    _out('/parameter_events', 'rcl_interfaces/msg/ParameterEvent', 'each change of a parameter'),
    *(_serves(f'~/{n}', f'lifecycle_msgs/srv/{t}', 'of a managed node') for n, t in _LIFECYCLE),
    *(_serves(f'~/{n}', f'rcl_interfaces/srv/{t}', 'its parameters') for n, t in _PARAMETERS),
    _serves('~/operate', 'safegen_msgs/srv/Operate', 'signed commands of operators'),
    _serves(
        '~/get_type_description',
        'type_description_interfaces/srv/GetTypeDescription',
        'the types of its interfaces',
    ),
)
"""What every node has."""

CONSOLE = 'console'
"""The operator's page: no node of the proof, and not managed; the stack goes on without it."""

OF_CONSOLE: tuple[Interface, ...] = (
    _sends('run_task', 'safegen_msgs/action/RunTask', 'a task from the page'),
    _sends('plan_task', 'safegen_msgs/action/PlanTask', 'a task to plan only'),
    # No client of the action: it follows and ends the goals of others, and sends none.
    _calls('execute_plan/_action/cancel_goal', 'action_msgs/srv/CancelGoal', 'to end a goal'),
    _calls(
        'execute_plan/_action/get_result',
        'safegen_msgs/action/ExecutePlan_GetResult',
        'the last observation of the blocks',
    ),
    _calls(
        'planner/approve', 'safegen_msgs/srv/Approve', 'approval or refusal of the pending plan'
    ),
    _calls('stop', 'std_srvs/srv/Trigger', 'the button STOP'),
    _calls('executor/operate', 'safegen_msgs/srv/Operate', 'the buttons of the operator'),
    _in('planner/pending', 'safegen_msgs/msg/PendingPlan', 'the plan awaiting approval', True),
    *(
        Interface(
            Kind.SUBSCRIPTION,
            f'{node}/events',
            'safegen_msgs/msg/RunEvent',
            'the journal of a goal',
        )
        for node in ('planner', 'executor')
    ),
    _in('validator/status', 'safegen_msgs/msg/MonitorStatus', 'the monitor', True),
    _in('executor/scene', 'visualization_msgs/msg/MarkerArray', 'blocks at rest', True),
    _in('joint_states', 'sensor_msgs/msg/JointState', 'the arm'),
    _in('world_state', 'safegen_msgs/msg/WorldState', 'the blocks, or the facts'),
    _in('stopped', 'safegen_msgs/msg/StopState', 'stop state with its reason', True),
    _in('/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray', 'diagnostics of the nodes'),
    _HEARTBEAT,
    _HEARTBEATS,
)
"""The interfaces of the console alone."""

PLAIN = tuple(
    each
    for each in COMMON
    if each.name not in ('/diagnostics', 'heartbeat', '~/transition_event')
    and not each.type.startswith(('lifecycle_msgs/', 'safegen_msgs/srv/Operate'))
)
"""What every node has that is not managed."""

NODES = (*INTERFACES, CONSOLE)
"""Every node of the stack."""


def of_node(name: str) -> tuple[Interface, ...]:
    """All interfaces of a node of the stack, its own first."""
    return OF_CONSOLE + PLAIN if name == CONSOLE else INTERFACES[name] + COMMON


def of_kind(interfaces: Iterable[Interface], kind: Kind) -> list[Interface]:
    """Those of one kind, in their order."""
    return [each for each in interfaces if each.kind is kind]


VERSION = '0.2.0'
ENCLAVES = '/safegen'

# In the order in which they are written: kind, group, element, permission.
_RULES = (
    (Kind.ACTION_SERVER, 'actions', 'action', 'execute'),
    (Kind.ACTION_CLIENT, 'actions', 'action', 'call'),
    (Kind.SERVICE, 'services', 'service', 'reply'),
    (Kind.CLIENT, 'services', 'service', 'request'),
    (Kind.PUBLISHER, 'topics', 'topic', 'publish'),
    (Kind.SUBSCRIPTION, 'topics', 'topic', 'subscribe'),
)


def policy_xml(namespace: str = '/') -> str:
    """The policy document: one enclave for each node, with nothing that the node does not use.

    Args:
        namespace: of the stack; '/' for none.
    """
    root = ET.Element('policy', version=VERSION)
    enclaves = ET.SubElement(root, 'enclaves')
    for node in NODES:
        enclave = ET.SubElement(enclaves, 'enclave', path=f'{ENCLAVES}/{node}')
        profiles = ET.SubElement(enclave, 'profiles')
        profile = ET.SubElement(profiles, 'profile', ns=namespace, node=node)
        _fill(profile, of_node(node), namespace, node)
    ET.indent(root)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!-- Generated by: safegen security policy -->\n'
        + ET.tostring(root, encoding='unicode')
        + '\n'
    )


def _fill(profile: ET.Element, interfaces: Iterable[Interface], namespace: str, node: str) -> None:
    granted = list(interfaces)
    for kind, group, element, permission in _RULES:
        names = sorted({each.full_name(namespace, node) for each in of_kind(granted, kind)})
        if not names:
            continue
        allowed = ET.SubElement(profile, group, {permission: 'ALLOW'})
        for name in names:
            ET.SubElement(allowed, element).text = name
