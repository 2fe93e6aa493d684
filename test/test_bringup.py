# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The bring-up table, and what the nodes make of the parameters and settings that it gives them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from safegen_ros.bringup.process import child_environment
from safegen_ros.bringup.profiles import PROFILES, NodeSpec, profile_args
from safegen_ros.bringup.table import node_arguments, node_specs, params_yaml
from safegen_ros.child_process import describe_exit
from safegen_ros.errors import BringupError
from safegen_ros.node_parameters import ARM, EXECUTOR, NODES, SIM, Parameter
from safegen_ros.nodes import reference
from safegen_ros.paths import share_dir
from safegen_ros.ros.stack_state import (
    DISCOVERY,
    DomainLock,
    StackState,
    check_distribution,
    current_domain,
    environment_defaults,
    is_held,
    read_state,
    running_stacks,
)


def by_name(specs):
    return {spec.name: spec for spec in specs}


def test_sim_has_the_three_nodes_and_the_planner_starts_last():
    specs = node_specs('sim')
    assert [spec.name for spec in specs] == ['validator', 'executor', 'planner']
    assert all(spec.required and spec.namespace == '/' for spec in specs)
    assert {spec.module for spec in specs} == {
        'safegen_ros.nodes.validator',
        'safegen_ros.nodes.executor',
        'safegen_ros.nodes.planner',
    }


def test_an_argument_that_is_not_given_overrides_nothing():
    assert all(spec.params == () for spec in node_specs('sim'))


def test_given_arguments_become_typed_overrides_of_the_right_node(tmp_path):
    values = {
        'model': tmp_path, 'seed': 7, 'real_time_factor': 0.0, 'namespace': 'lab/arm1',
        'cell': 'symbolic',
    }  # fmt: skip
    specs = by_name(node_specs('sim', values))
    assert dict(specs['planner'].params) == {'model': str(tmp_path), 'seed': 7}
    assert dict(specs['executor'].params) == {'real_time_factor': 0.0, 'cell': 'symbolic'}
    assert specs['validator'].params == ()
    assert specs['planner'].full_name == '/lab/arm1/planner'


@pytest.mark.parametrize(
    ('values', 'words'),
    [
        ({'sede': 1}, 'argument sede does not exist'),
        ({'seed': 'x'}, "'x' is not a number"),
        ({'seed': -1}, 'outside 0 to'),
        ({'seed': '1.5'}, 'is not a number'),
        ({'real_time_factor': 'nan'}, 'outside 0.0 to 100.0'),
        ({'real_time_factor': 101}, 'outside 0.0 to 100.0'),
        ({'log_level': 'loud'}, 'not one of: debug, info'),
        ({'log_level': ''}, 'not one of: debug, info'),
        ({'cell': 'table'}, "argument cell: 'table' is not one of: twin, symbolic"),
        ({'namespace': 'a b'}, 'not a ROS name'),
        ({'namespace': 'x/../y'}, 'not a ROS name'),
        ({'model': 'no/such/folder'}, 'argument model: no/such/folder does not exist'),
        ({'params_file': 'no.yaml'}, 'argument params_file: no.yaml does not exist'),
        ({'port': '/dev/x', 'transport': 'bluetooth'}, 'not one of: serial, tcp'),
        ({'port': '/dev/x', 'world': 'seen'}, 'not one of: assumed, perceived'),
        ({'port': '/dev/x', 'baud': 300}, 'outside 9600 to 4000000'),
        ({'port': '/dev/x', 'tcp_port': 0}, 'outside 1 to 65535'),
        ({'port': '/dev/x', 'speed_limit': 1.5}, 'outside 0.01 to 1.0'),
        ({'port': '/dev/x', 'arm_file': 'no.yaml'}, 'argument arm_file: no.yaml does not exist'),
        ({'port': '/dev/x', 'cell': 'twin'}, 'argument cell does not exist'),
    ],
)
def test_a_wrong_argument_is_refused_by_name(values, words):
    with pytest.raises(BringupError, match=re.escape(words)):
        node_specs('mycobot' if 'port' in values else 'sim', values)


def test_an_unknown_profile_is_refused_with_the_known_ones():
    with pytest.raises(BringupError, match='begin with sim or mycobot'):
        node_specs('moon')


def test_mycobot_is_the_same_stack_with_the_real_arm():
    values = {'port': '/dev/ttyACM0', 'baud': 1000000, 'speed_limit': 0.2, 'seed': 7}
    specs = by_name(node_specs('mycobot', values))
    assert list(specs) == [spec.name for spec in node_specs('sim')]
    assert dict(specs['executor'].params) == {
        'cell': 'mycobot', 'port': '/dev/ttyACM0', 'baud': 1000000, 'speed_limit': 0.2,
        'refuse_unknown_parameters': True,
    }  # fmt: skip
    assert [Path(file).name for file in specs['executor'].params_files] == ['mycobot.yaml']
    assert dict(specs['planner'].params) == {'seed': 7, 'refuse_unknown_parameters': True}
    assert specs['planner'].params_files == ()


@pytest.mark.parametrize('profile', PROFILES)
def test_every_argument_has_a_help_and_an_allowed_default(profile):
    for spec in PROFILES[profile].args:
        assert spec.help.endswith('.')
        assert not spec.choices or spec.default in spec.choices


PRINTABLE = st.text(st.characters(exclude_categories=('C', 'Z'), include_characters=' \n\t'))


@given(PRINTABLE | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(-1e300, 1e300))
def test_any_value_comes_back_from_the_parameter_file(value):
    data = yaml.safe_load(params_yaml(NodeSpec('n', 'n', 'm', params=(('x', value),))))
    got = data['/n']['ros__parameters']['x']
    # YAML 1.1 wants a point in a float; rcl reads 1e+16 as one without it.
    assert (float(got) if isinstance(value, float) else got) == value


def test_command_line_order_lets_the_overrides_win():
    spec = NodeSpec('n', 'n', 'm', '/lab', ('a.yaml',), log_level='warn')
    assert ' '.join(node_arguments(spec, 'o.yaml')) == (
        '--ros-args -r __node:=n -r __ns:=/lab --params-file a.yaml --params-file o.yaml '
        '--log-level warn'
    )


def test_an_older_distribution_is_refused_by_name(monkeypatch, tmp_path):
    for name in ('kilted', 'jazzy', 'rolling', ''):
        check_distribution({'ROS_DISTRO': name})
    monkeypatch.setenv('ROS_DISTRO', 'humble')
    with pytest.raises(BringupError, match=r'ROS 2 humble is sourced .* tested with ROS 2 Kilted'):
        node_specs('sim')
    done = subprocess.run(
        [sys.executable, '-m', 'safegen_ros.nodes.validator'],
        capture_output=True,
        text=True,
        check=False,
    )
    assert 'ROS 2 humble is sourced in this shell' in done.stderr.splitlines()[-1]


LOOPBACK = ('SYSTEM_DEFAULT', 'fastdds_loopback.xml')


@pytest.mark.parametrize(
    ('own', 'expected'),
    [
        ({}, LOOPBACK),
        ({'RMW_IMPLEMENTATION': 'rmw_fastrtps_dynamic_cpp'}, LOOPBACK),
        ({'ROS_AUTOMATIC_DISCOVERY_RANGE': ''}, LOOPBACK),
        ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}, (None, 'fastdds.xml')),
        ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'}, (None, 'fastdds.xml')),
        ({'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp'}, ('LOCALHOST', 'fastdds.xml')),
        ({'ROS_STATIC_PEERS': '192.0.2.7'}, ('LOCALHOST', 'fastdds.xml')),
        ({'FASTDDS_DEFAULT_PROFILES_FILE': 'mine.xml'}, ('LOCALHOST', None)),
        ({'FASTRTPS_DEFAULT_PROFILES_FILE': 'mine.xml'}, ('LOCALHOST', None)),
    ],
)
def test_the_callers_discovery_wins_and_nothing_leaves_the_machine_unasked(own, expected):
    chosen = environment_defaults(own)
    file = chosen.get('FASTDDS_DEFAULT_PROFILES_FILE')
    assert (chosen.get('ROS_AUTOMATIC_DISCOVERY_RANGE'), file and Path(file).name) == expected
    if expected == LOOPBACK:  # no other middleware reads that profile
        assert 'fastrtps' in {**own, **chosen}['RMW_IMPLEMENTATION']
        # Fast DDS 2, of ROS 2 Jazzy, knows no other name, and without it is seen by the network.
        jazzy = {**own, 'ROS_DISTRO': 'jazzy'}
        there = environment_defaults(jazzy)
        assert there['FASTRTPS_DEFAULT_PROFILES_FILE'] == file
        assert environment_defaults({**jazzy, **there}) == {}  # a process of a process
    assert environment_defaults({**own, **chosen}) == {}


@pytest.mark.parametrize('own', [{}, {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'}])
def test_the_discovery_profile_is_the_default_one_of_its_file(own):
    path = Path(environment_defaults(own)['FASTDDS_DEFAULT_PROFILES_FILE'])
    for part in ('participant', 'data_writer'):
        profile = ElementTree.parse(path).find(f'.//{{http://www.eprosima.com}}{part}')
        assert profile.get('is_default_profile') == 'true'


def test_the_tests_have_the_discovery_of_a_user_who_has_set_nothing():
    assert {name: os.environ.get(name) for name in DISCOVERY} == {
        **dict.fromkeys(DISCOVERY),
        **{n: v for n, v in environment_defaults({}).items() if n in DISCOVERY},
    }


PEER = """
import json, os, sys
from pathlib import Path
import rclpy
from std_msgs.msg import String

rclpy.init()
node = rclpy.create_node(sys.argv[1])
heard = []
node.create_subscription(String, sys.argv[2], heard.append, 1)
publisher = node.create_publisher(String, sys.argv[1], 1)
node.create_timer(0.05, lambda: publisher.publish(String()))
while not heard or not publisher.get_subscription_count():
    rclpy.spin_once(node)
mine = {os.readlink(each) for each in Path('/proc/self/fd').iterdir() if each.exists()}
sockets = [line.split() for line in Path('/proc/self/net/udp').read_text().splitlines()[1:]]
print(json.dumps({
    'addresses': [each[1].split(':')[0] for each in sockets if f'socket:[{each[9]}]' in mine],
    'shared': [
        line for line in Path('/proc/self/maps').read_text().splitlines() if '/dev/shm/fast' in line
    ],
}), flush=True)
rclpy.spin(node)  # until the other one has heard this one too, which kills both
"""


def test_the_default_uses_nothing_but_udp_on_loopback_and_meets_a_peer_of_localhost(
    ros_domain, tmp_path
):
    bare = {k: v for k, v in os.environ.items() if not k.startswith(('ROS_AUTO', 'FASTDDS', 'RMW'))}
    ours = bare | environment_defaults(bare)
    theirs = bare | {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    with contextlib.ExitStack() as running:
        peers = [
            running.enter_context(
                subprocess.Popen(
                    [sys.executable, '-c', PEER, *names],
                    env=environment | {'ROS_LOG_DIR': str(tmp_path)},
                    stdout=subprocess.PIPE, text=True,
                )
            )
            for environment, *names in ((ours, 'one', 'two'), (theirs, 'two', 'one'))
        ]  # fmt: skip
        for peer in peers:
            running.callback(peer.kill)
        told, other = (json.loads(peer.stdout.readline()) for peer in peers)
    assert set(told['addresses']) == {'0100007F'}
    assert not told['shared']
    assert other['shared'], 'a peer of LOCALHOST shares memory, and this would not show it'


# The parameter file

PRINT_PARAMETERS = """
import json, sys
import rclpy
rclpy.init(args=sys.argv)
node = rclpy.create_node('x', automatically_declare_parameters_from_overrides=True)
names = [n for n in node._parameters if n not in ('use_sim_time',) and not n.startswith('start_')]
print(json.dumps({n: node.get_parameter(n).value for n in names}))
rclpy.shutdown()
"""


def parameters_of(arguments, tmp_path, domain='99'):
    """What a real node gets from such a command line."""
    env = os.environ | {
        'ROS_LOG_DIR': str(tmp_path),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF',
        'ROS_DOMAIN_ID': domain,
    }
    command = [sys.executable, '-c', PRINT_PARAMETERS, *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=True)
    return yaml.safe_load(done.stdout)


@pytest.mark.parametrize('namespace', ['', 'lab/arm1'])
def test_the_shipped_parameter_file_applies_in_a_namespace(namespace, tmp_path):
    shipped = yaml.safe_load((share_dir() / 'config' / 'mycobot.yaml').read_text())
    spec = by_name(node_specs('mycobot', {'namespace': namespace}))['executor']
    got = parameters_of(node_arguments(spec), tmp_path)
    assert got == shipped['/**/executor']['ros__parameters']


def test_overrides_win_over_a_file_with_all_kinds_of_keys(tmp_path):
    user = tmp_path / 'user.yaml'
    blocks = [
        f'{key}:\n  ros__parameters:\n    seed: {n}\n    mine{n}: {n}'
        for n, key in enumerate(['/**', '/**/planner', '/lab/planner'])
    ]
    user.write_text('\n'.join(blocks))
    spec = by_name(node_specs('sim', {'namespace': 'lab', 'params_file': user, 'seed': 4242}))[
        'planner'
    ]
    overrides = tmp_path / 'overrides.yaml'
    overrides.write_text(params_yaml(spec))
    got = parameters_of(node_arguments(spec, str(overrides)), tmp_path)
    assert got == {'seed': 4242, 'mine0': 0, 'mine1': 1, 'mine2': 2}


@pytest.mark.parametrize('name', ['mycobot.yaml', 'mycobot_ssh.yaml'])
def test_a_shipped_parameter_file_holds_only_what_it_changes(name):
    shipped = yaml.safe_load((share_dir() / 'config' / name).read_text())
    defaults = {parameter.name: parameter.default for parameter in EXECUTOR}
    assert list(shipped) == ['/**/executor']
    for each, value in shipped['/**/executor']['ros__parameters'].items():
        assert type(value) is type(defaults[each])
        assert value != defaults[each]


def test_a_parameter_is_declared_in_one_place_and_is_an_argument_and_in_the_pages(monkeypatch):
    """What a new parameter costs besides its use: its line in the table."""
    new = Parameter('grip_force', 2.0, 'force of the gripper [N]', 0.5, 5.0, argument=SIM)
    monkeypatch.setitem(NODES, 'executor', (*EXECUTOR, new))
    args = {spec.name: spec for spec in profile_args(SIM)}
    assert args['grip_force'].help == (
        'Force of the gripper [N], 0.5 to 5. Default: from the parameter file, else 2.0.'
    )
    assert (args['grip_force'].low, args['grip_force'].high) == (0.5, 5.0)
    assert 'grip_force' not in {spec.name for spec in profile_args(ARM)}
    page = '| `grip_force` | double | `2.0` | 0.5 to 5 | N | force of the gripper [N] |'
    assert page in reference.generated('executor')


def test_the_table_needs_neither_ros_nor_numpy():
    heavy = ('rclpy', 'numpy', 'torch', 'mujoco')
    code = f'import sys, safegen_ros.bringup.table; assert not sys.modules.keys() & set({heavy})'
    subprocess.run([sys.executable, '-c', code], check=True)


# What a process is started with, and how it ends, in words


def test_the_mark_of_another_prefix_does_not_reach_a_node():
    environ = {
        '_ROS_WHEELS_BOOTSTRAP_COMPLETE': '1',
        'LD_LIBRARY_PATH': os.pathsep.join(
            [
                '/ws/install/msgs/lib',
                '/other/lib/python3.11/site-packages/ros_rcl.libs',
                '/other/lib',
                f'{sys.prefix}/lib',
            ]
        ),
        'OMP_NUM_THREADS': '3',
    }
    got = child_environment(environ, {'OMP_NUM_THREADS': '1', 'A': 'default'}, {'A': 'extra'})
    assert got == {
        'LD_LIBRARY_PATH': '/ws/install/msgs/lib',
        'OMP_NUM_THREADS': '3',
        'A': 'extra',
    }


def test_an_environment_without_the_mark_is_left_alone():
    environ = {'LD_LIBRARY_PATH': '/opt/ros/kilted/lib'}
    assert child_environment(environ, {}, {}) == environ


@pytest.mark.parametrize(
    ('code', 'words'), [(3, 'exit status 3'), (-9, 'signal SIGKILL'), (-99, 'signal 99')]
)
def test_an_exit_status_in_words(code, words):
    assert describe_exit(code) == words


def test_a_domain_is_free_again_after_release(tmp_path, monkeypatch):
    monkeypatch.setenv('SAFEGEN_RUNTIME_DIR', str(tmp_path))
    lock = DomainLock(7)
    with pytest.raises(BringupError, match='ROS domain 7'):
        DomainLock(7)
    lock.release()
    DomainLock(7).release()


def _hold(namespace):
    lock = DomainLock(7, namespace)
    lock.write(StackState(7, 1, 'ready', '', namespace=namespace))
    return lock


def test_each_namespace_of_a_domain_takes_one_stack(tmp_path, monkeypatch):
    monkeypatch.setenv('SAFEGEN_RUNTIME_DIR', str(tmp_path))
    names = ['/', '/lab', '/lab/arm1', '/lab/arm2', '/lab_arm1']
    locks = {name: _hold(name) for name in names}
    for name in names:
        with pytest.raises(BringupError, match=f'in namespace {name} '):
            DomainLock(7, name)
        assert is_held(7, name)
    assert not is_held(7, '/arm1')
    assert not is_held(71)
    assert [state.namespace for state in running_stacks(7)] == names
    locks['/lab/arm1'].release()
    assert read_state(7, '/lab/arm1') is None
    assert read_state(7, '/lab').namespace == '/lab'
    DomainLock(7, '/lab/arm1').release()
    for lock in locks.values():
        lock.release()
    assert running_stacks(7) == []


def test_a_state_of_another_version_is_no_traceback(tmp_path, monkeypatch):
    monkeypatch.setenv('SAFEGEN_RUNTIME_DIR', str(tmp_path))
    lock = _hold('/')
    for text in ('', '{"later": 1}', '[]'):
        (tmp_path / 'safegen/domain-7.json').write_text(text)
        assert read_state(7) is None
    lock.release()


@pytest.mark.parametrize('text', ['102', '-1', 'x', '1.0', '٣'])
def test_a_domain_outside_the_safe_range_is_refused(text):
    with pytest.raises(BringupError, match='0 to 101'):
        current_domain({'ROS_DOMAIN_ID': text})
