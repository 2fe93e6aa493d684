# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the tools of ROS see of a running stack: its graph, parameters, diagnostics, time, scene."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import ParameterValue
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from support.blocks_small import THREE_TEXT as THREE
from support.graph import interfaces_of
from support.stopping import BY_SEARCH, THREE_PLAN, Operator, stoppable_stack
from support.waiting import WAIT_S, wait_until
from visualization_msgs.msg import Marker, MarkerArray

from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode
from safegen_ros.node_parameters import MAX_TEXT, NODES
from safegen_ros.robot.description.urdf import build_urdf
from safegen_ros.robot.scene import load_scene
from safegen_ros.ros import qos
from safegen_ros.ros.calls import wait_for
from safegen_ros.ros.interfaces import INTERFACES, Kind, of_node

pytestmark = pytest.mark.nightly

LEVELS = {DiagnosticStatus.OK: 'OK', DiagnosticStatus.WARN: 'WARN', DiagnosticStatus.ERROR: 'ERROR'}


@pytest.fixture(scope='module')
def stack(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    with stoppable_stack(ros_domain, tmp_path_factory.mktemp('stack')) as running:
        yield running


class Topic:
    """Messages of a topic, as they come."""

    def __init__(self, client: Client, kind: Any, name: str, profile: QoSProfile) -> None:
        self._news = threading.Condition()
        self.heard: list[Any] = []
        client.node.create_subscription(kind, name, self._take, profile)

    def _take(self, message: Any) -> None:
        with self._news:
            self.heard.append(message)
            self._news.notify_all()

    def wait(self, condition: Callable[[Any], bool] = lambda message: True) -> Any:
        """The first message from now on, or the last one up to now, for which this holds."""
        with self._news:
            seen = len(self.heard[:-1])
            found: list[Any] = []

            def look() -> bool:
                found[:] = filter(condition, self.heard[seen:])
                return bool(found)

            assert self._news.wait_for(look, WAIT_S), self.heard[-1:]
            return found[0]


@pytest.mark.parametrize('node', list(INTERFACES))
def test_a_node_has_the_interfaces_of_the_table(client: Client, node: str) -> None:
    table = {(i.kind, i.full_name('/', node), i.type) for i in of_node(node) if not i.when}
    seen: set[Any] = set()

    def complete() -> bool:
        seen.clear()
        seen.update(interfaces_of(client.node, node))
        return seen == table

    try:
        wait_until(complete, 'the interfaces of the table')
    except AssertionError:
        assert sorted(map(str, seen ^ table)) == [], 'either the table or the graph lacks these'
        raise


def test_latched_topics_are_latched(client: Client) -> None:
    for node in INTERFACES:
        for interface in of_node(node):
            if interface.kind is not Kind.PUBLISHER:
                continue
            name = interface.full_name('/', node)
            infos = [
                info
                for info in client.node.get_publishers_info_by_topic(name)
                if info.node_name == node
            ]
            assert len(infos) == 1, name
            kept = infos[0].qos_profile.durability is DurabilityPolicy.TRANSIENT_LOCAL
            # The middleware keeps the log, too.
            assert kept == interface.latched or name == '/rosout', name


def test_a_goal_is_seen_in_the_scene_and_in_time(client: Client) -> None:
    clock = Topic(client, Clock, '/clock', qos.CLOCK)
    joints = Topic(client, JointState, 'joint_states', qos.SAMPLES)
    description = Topic(client, String, 'robot_description', qos.LATCHED)
    assert description.wait().data == build_urdf(load_scene())
    clock.wait()
    for _ in range(2):
        result = client.execute(THREE, THREE_PLAN)
        assert result.error_code == ErrorCode.NONE, result.error_msg
    # Late joiners see all of it.
    scene = Topic(client, MarkerArray, 'executor/scene', qos.LATCHED)
    shown = scene.wait(lambda array: any('4 of 4 steps' in m.text for m in array.markers)).markers
    assert {m.ns for m in shown} >= {'arm', 'table', 'slots', 'blocks', 'names', 'plan', 'verdict'}
    assert {m.text for m in shown if m.ns == 'names'} == {'a', 'b', 'c'}
    assert [m.text for m in shown if m.ns == 'verdict'] == ['SUCCESS']
    final = {o.name: o.pose.position.z for o in result.final_state.objects}
    cubes = [m.pose.position.z for m in shown if m.ns == 'blocks' and m.type == Marker.CUBE]
    assert sorted(cubes) == pytest.approx(sorted(final.values()), abs=0.002)

    def seconds(stamp: Any) -> float:
        return stamp.sec + stamp.nanosec * 1e-9

    stamps = [seconds(message.header.stamp) for message in joints.heard]
    assert stamps == sorted(stamps), 'time went back between two goals'
    ends = seconds(result.final_state.header.stamp)
    told = clock.wait(lambda message: seconds(message.clock) > ends)
    times = [seconds(message.clock) for message in clock.heard]
    assert times == sorted(times)
    # Whoever follows the simulation has its time.
    follower = client.node
    follower.set_parameters([Parameter('use_sim_time', value=True)])
    try:
        wait_until(
            lambda: follower.get_clock().now().nanoseconds * 1e-9 > seconds(told.clock),
            'the time of the simulation',
        )
        assert follower.get_clock().now().nanoseconds * 1e-9 < 1e6
    finally:
        follower.set_parameters([Parameter('use_sim_time', value=False)])


def test_the_diagnostics_tell_of_each_part(client: Client, stack: Supervisor) -> None:
    topic = Topic(client, DiagnosticArray, '/diagnostics', qos.EVENTS)

    def report(name: str, level: str, words: str) -> DiagnosticStatus:
        def has(message: DiagnosticArray) -> bool:
            return any(
                s.name == name and LEVELS[s.level] == level and words in s.message
                for s in message.status
            )

        (found,) = [s for s in topic.wait(has).status if s.name == name]
        return found

    assert client.plan(THREE, options=BY_SEARCH).error_code == ErrorCode.NONE
    for node in INTERFACES:
        report(f'{node}: state', 'OK', 'active')
    verdicts = report('planner: verdicts', 'OK', 'the last one took')
    assert int({v.key: v.value for v in verdicts.values}['count']) >= 1
    report('validator: verdicts', 'OK', 'the last one took')
    assert report('planner: model', 'OK', 'is open').hardware_id.startswith('http://127.0.0.1')
    report('planner: validator', 'OK', 'is there')
    report('planner: goals', 'OK', '0 of at most 1')
    report('executor: heartbeat', 'OK', 'no execution to watch')
    assert report('executor: cell', 'OK', 'idle').hardware_id == 'twin'

    operator = Operator(client)
    assert operator.call('stop').success
    report('executor: stop', 'ERROR', 'the service stop was called')
    operator.reset()
    report('executor: stop', 'OK', 'not stopped')

    refused = client.execute(THREE, THREE_PLAN.__class__(THREE_PLAN.steps[1:]))
    assert refused.error_code == ErrorCode.PLAN_REFUSED
    report('executor: cell', 'WARN', 'the last execution failed: the plan is refused')


class Parameters:
    """The parameter services of a node."""

    def __init__(self, client: Client, node: str) -> None:
        self._client = AsyncParameterClient(client.node, node)
        assert self._client.wait_for_services(WAIT_S)

    def ask(self, what: str, *arguments: Any) -> Any:
        future = getattr(self._client, what)(*arguments)
        return wait_for(future, WAIT_S, what, ErrorCode.SERVER_LOST)

    def why_not(self, name: str, value: Any) -> str:
        """Why a parameter is not set to a value."""
        (result,) = self.ask('set_parameters', [Parameter(name, value=value)]).results
        assert not result.successful
        assert result.reason
        return str(result.reason)


@pytest.mark.parametrize('node', list(INTERFACES))
def test_parameters_describe_themselves(client: Client, node: str) -> None:
    parameters, declared = Parameters(client, node), NODES[node]
    names = [parameter.name for parameter in declared]
    listed = parameters.ask('list_parameters', [], 0).result.names
    assert set(listed) == {*names, 'use_sim_time', 'start_type_description_service'}
    for parameter, said in zip(
        declared, parameters.ask('describe_parameters', names).descriptors, strict=True
    ):
        assert said.description == parameter.description
        ranges = [*said.integer_range, *said.floating_point_range]
        assert [(r.from_value, r.to_value) for r in ranges] == (
            [] if parameter.low is None else [(parameter.low, parameter.high)]
        )
        assert all(choice in said.additional_constraints for choice in parameter.choices)


def test_bad_updates_of_parameters_are_refused_with_the_reason(client: Client) -> None:
    planner, executor = Parameters(client, 'planner'), Parameters(client, 'executor')
    assert 'out of range' in planner.why_not('temperature', 2.5)
    assert 'out of range' in planner.why_not('max_attempts', 0)
    assert 'Wrong parameter type' in planner.why_not('max_attempts', 'many')
    assert 'parameters are read when the node is configured' in planner.why_not('seed', 3)
    assert "'table' is not one of: twin, symbolic, mycobot" in executor.why_not('cell', 'table')
    assert f'the limit of {MAX_TEXT:,}' in executor.why_not('scene_file', 'x' * (MAX_TEXT + 1))
    (seed,) = planner.ask('get_parameters', ['seed']).values
    assert seed == ParameterValue(type=2, integer_value=0)
