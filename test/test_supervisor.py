# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The supervisor with real processes and real signals.

The nodes here are small programs written for the test: what they do wrong, no real node should do.
"""

from __future__ import annotations

import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import safegen_ros
from safegen_ros import supervisor as supervisor_module
from safegen_ros.bringup import BringupError, NodeSpec, Ready
from safegen_ros.processes.process import child_environment, describe_exit
from safegen_ros.processes.readiness import GraphProbe
from safegen_ros.processes.state import DomainLock, current_domain, read_state, stop_running
from safegen_ros.supervisor import NodeDiedError, Supervisor

ROOT = Path(safegen_ros.__file__).parents[1]
WAIT_S = 30.0

PROGRAMS = {
    # Runs until SIGINT.
    'steady': """
import signal, sys
try:
    print('up', flush=True)
    while True:
        signal.pause()
except KeyboardInterrupt:
    print('bye', flush=True)
""",
    # As a node that is interrupted among its imports.
    'unready': """
import signal
print('up', flush=True)
signal.pause()
""",
    'dies': """
import sys
print('first line', flush=True)
print('the reason', file=sys.stderr, flush=True)
sys.exit(7)
""",
    # Ends when the file named by its variable appears as a pipe with a writer.
    'dies_when_told': """
import os, sys
print('up', flush=True)
open(os.environ['TELL']).read()
print('told to go', flush=True)
sys.exit(9)
""",
    'stubborn': """
import signal
signal.signal(signal.SIGINT, lambda *a: print('ignores SIGINT', flush=True))
signal.signal(signal.SIGTERM, lambda *a: print('ignores SIGTERM', flush=True))
print('up', flush=True)
while True:
    signal.pause()
""",
    'parent': """
import signal, subprocess, sys
child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])
print('grandchild', child.pid, flush=True)
signal.signal(signal.SIGINT, lambda *a: sys.exit(0))
while True:
    signal.pause()
""",
    'noisy': r"""
import signal, sys
sys.stdout.write('x' * 3_000_000 + '\n')
sys.stdout.write('a\x1b[31mred\x07\tb\n')
sys.stdout.buffer.write(b'bad \xff byte\n')
sys.stdout.flush()
try:
    print('up', flush=True)
    while True:
        signal.pause()
except KeyboardInterrupt:
    pass
""",
    'action': """
import sys
import rclpy
from rclpy.action import ActionServer
from rclpy.executors import ExternalShutdownException
from safegen_msgs.action import RunTask
rclpy.init(args=sys.argv)
node = rclpy.create_node('unnamed')
server = ActionServer(node, RunTask, 'run_task', lambda goal: RunTask.Result())
try:
    rclpy.spin(node)
except (KeyboardInterrupt, ExternalShutdownException):
    rclpy.try_shutdown()
""",
    'service': """
import sys
import rclpy
from rclpy.executors import ExternalShutdownException
from std_srvs.srv import Trigger
rclpy.init(args=sys.argv)
node = rclpy.create_node('unnamed')
node.create_service(Trigger, 'go', lambda request, response: response)
print('parameter', node.declare_parameter('word', '').value, flush=True)
try:
    rclpy.spin(node)
except (KeyboardInterrupt, ExternalShutdownException):
    rclpy.try_shutdown()
""",
}


@pytest.fixture
def world(tmp_path, monkeypatch, ros_domain):
    """The programs on the import path of the nodes, and a runtime folder of this test."""
    for name, text in PROGRAMS.items():
        (tmp_path / f'node_{name}.py').write_text(text)
    monkeypatch.setenv('SAFEGEN_RUNTIME_DIR', str(tmp_path / 'runtime'))
    monkeypatch.setenv('ROS_DOMAIN_ID', str(ros_domain))
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    paths = [str(ROOT), str(tmp_path), *filter(None, [os.environ.get('PYTHONPATH')])]
    monkeypatch.setenv('PYTHONPATH', os.pathsep.join(paths))
    monkeypatch.setenv('OMP_NUM_THREADS', '1')
    return tmp_path


def spec(program, name=None, **more):
    return NodeSpec(name or program, program, f'node_{program}', **more)


def wait_until(condition, what):
    """Ask for a condition until it holds."""
    deadline = time.monotonic() + WAIT_S
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f'waited {WAIT_S} s for: {what}'
        pause.wait(0.01)


def wait_gone(fds):
    """Wait for the end of processes given by their pidfd, children of ours or not."""
    for fd in fds:
        ended, _, _ = select.select([fd], [], [], WAIT_S)
        os.close(fd)
        assert ended


class Command:
    """`Supervisor(...).run()` in a process of its own, and what it prints."""

    def __init__(self, folder, *specs):
        program = (
            'import sys\n'
            'from pathlib import Path\n'
            'from safegen_ros.bringup import NodeSpec, Ready\n'
            'from safegen_ros.supervisor import Supervisor\n'
            'from functools import partial\n'
            f'stack = Supervisor({specs!r}, log_dir=Path({str(folder / "log")!r}), screen=True)\n'
            'sys.exit(stack.run(partial(print, flush=True)))\n'
        )
        self.process = subprocess.Popen(
            [sys.executable, '-c', program],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.output = []
        self._queue = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        with self.process.stdout as pipe:
            for line in pipe:
                self._queue.put(line.rstrip('\n'))
        self._queue.put(None)

    def expect(self, *wanted):
        """Read until each of the texts has been the whole of a line; in any order."""
        missing = set(wanted)
        while missing:
            line = self._queue.get(timeout=WAIT_S)
            assert line is not None, f'ended without {missing}: {self.output}'
            self.output.append(line)
            missing.discard(line)

    def end(self):
        """Exit status, once all output has been read."""
        code = self.process.wait(timeout=WAIT_S)
        while (line := self._queue.get(timeout=WAIT_S)) is not None:
            self.output.append(line)
        self._reader.join()
        return code

    def pids(self, domain):
        return read_state(domain).nodes


@pytest.fixture
def command(world):
    started = []

    def start(*specs):
        started.append(Command(world, *specs))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()


# As a command: exit codes and signals


def test_interrupt_ends_all_nodes_in_time_with_status_0(command, ros_domain):
    up = command(spec('steady', 'a'), spec('steady', 'b'))
    up.expect('[a] up', '[b] up', 'READY')
    fds = [os.pidfd_open(pid) for pid in up.pids(ros_domain).values()]
    begun = time.monotonic()
    up.process.send_signal(signal.SIGINT)
    assert up.end() == 0
    assert time.monotonic() - begun < 4.0
    assert {'[a] bye', '[b] bye'} <= set(up.output)
    wait_gone(fds)
    assert read_state(ros_domain) is None


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGHUP])
def test_other_stop_signals_also_stop_in_order(command, number):
    up = command(spec('steady'))
    up.expect('[steady] up', 'READY')
    up.process.send_signal(number)
    assert up.end() == 0
    assert '[steady] bye' in up.output


def test_death_of_a_required_node_ends_everything_with_status_1(command):
    up = command(spec('steady'), spec('dies'))
    assert up.end() == 1
    text = '\n'.join(up.output)
    assert '/dies ended with exit status 7' in text
    assert '\n  the reason' in text
    assert '[dies] first line' in text


def test_a_node_that_never_offers_its_service_gives_status_3(command):
    ready = Ready('service', 'go', 'std_srvs/srv/Trigger', timeout_s=1.0)
    up = command(spec('steady', ready=ready))
    assert up.end() == 3
    assert '/steady did not offer the service go within 1 s' in up.output
    assert 'READY' not in up.output


def test_interrupt_while_starting_stops_at_once(command):
    ready = Ready('service', 'go', 'std_srvs/srv/Trigger', timeout_s=600.0)
    up = command(spec('steady', ready=ready))
    up.expect('[steady] up')
    up.process.send_signal(signal.SIGINT)
    assert up.end() == 0
    assert 'READY' not in up.output


def test_a_second_interrupt_goes_on_to_the_harder_step_and_killing_gives_status_4(
    command, ros_domain
):
    up = command(spec('stubborn'))
    up.expect('[stubborn] up', 'READY')
    begun = time.monotonic()
    up.process.send_signal(signal.SIGINT)
    up.expect('[stubborn] ignores SIGINT')
    # Both later steps come by hand: the steps alone would take ten seconds.
    (pid,) = up.pids(ros_domain).values()
    fd = os.pidfd_open(pid)
    while not select.select([fd], [], [], 0.05)[0]:
        up.process.send_signal(signal.SIGINT)
    os.close(fd)
    assert up.end() == 4
    assert time.monotonic() - begun < 5.0
    assert '[stubborn] ignores SIGTERM' in up.output


def test_a_killed_supervisor_leaves_no_orphans(command, ros_domain):
    up = command(spec('steady', 'a'), spec('steady', 'b'))
    up.expect('[a] up', '[b] up', 'READY')
    fds = [os.pidfd_open(pid) for pid in up.pids(ros_domain).values()]
    up.process.kill()
    up.process.wait(WAIT_S)
    wait_gone(fds)
    assert read_state(ros_domain) is None  # though its file is still there


def test_a_second_stack_in_the_same_domain_is_refused(command, ros_domain):
    up = command(spec('steady'))
    up.expect('READY')
    second = command(spec('steady'))
    assert second.end() == 2
    assert f'a stack runs in ROS domain {ros_domain} already' in second.output[0]
    assert str(up.process.pid) in second.output[0]
    assert up.process.poll() is None


def test_stop_running_stops_the_stack_of_a_domain(command, ros_domain):
    up = command(spec('steady'))
    up.expect('[steady] up', 'READY')
    assert stop_running(ros_domain)
    assert up.end() == 0
    assert not stop_running(ros_domain)


def test_stop_running_tells_when_it_did_not_work(command, ros_domain):
    up = command(spec('stubborn'))
    up.expect('[stubborn] up', 'READY')
    pids = up.pids(ros_domain).values()
    with pytest.raises(BringupError, match=f'kill -KILL {up.process.pid}'):
        stop_running(ros_domain, timeout_s=0.1)
    up.process.kill()
    up.process.wait()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


# As an object


def test_nodes_start_in_order_and_are_stopped_in_reverse(world):
    events = []
    specs = [spec('steady', name) for name in ('a', 'b', 'c')]
    with Supervisor(specs, log_dir=world / 'log', on_event=events.append) as stack:
        stack.wait_ready()
        assert stack.poll() is None
    seen = [(event.kind, event.node) for event in events]
    assert [node for kind, node in seen if kind == 'started'] == ['/a', '/b', '/c']
    assert [node for kind, node in seen if kind == 'stopping'][:3] == ['/c', '/b', '/a']


def test_readiness_is_seen_in_the_ros_graph_under_a_namespace(world, ros_domain):
    events = []
    ready = Ready('service', 'go', 'std_srvs/srv/Trigger')
    node = spec('service', 'gate', namespace='/lab', ready=ready, params=(('word', '5'),))
    with Supervisor([node], log_dir=world / 'log', on_event=events.append) as stack:
        stack.wait_ready()
        assert ('ready', '/lab/gate') in [(event.kind, event.node) for event in events]
        assert read_state(ros_domain).status == 'ready'
        assert stack.check() is None
    assert '[gate] parameter 5\n' in stack.log_file.read_text()


def test_readiness_of_an_action_server(world):
    ready = Ready('action', 'run_task', 'safegen_msgs/action/RunTask')
    with Supervisor([spec('action', ready=ready)], log_dir=world / 'log') as stack:
        stack.wait_ready()


def test_the_same_service_of_another_node_does_not_count(world, ros_domain):
    ready = Ready('service', 'go', 'std_srvs/srv/Trigger')
    namesake = spec('service', 'namesake', ready=ready)
    gate = spec('steady', 'gate', ready=ready)
    other_type = spec('service', 'namesake', ready=Ready('service', 'go', 'std_srvs/srv/SetBool'))
    with (
        Supervisor([namesake], log_dir=world / 'log') as stack,
        GraphProbe(ros_domain) as probe,
    ):
        stack.wait_ready()
        wait_until(lambda: probe.offers(namesake), 'the namesake')
        assert not probe.offers(gate)
        assert not probe.offers(other_type)


def test_a_death_after_readiness_is_noticed_with_its_last_lines(world, monkeypatch):
    tell = world / 'tell'
    os.mkfifo(tell)
    monkeypatch.setenv('TELL', str(tell))
    noticed = threading.Event()
    events = []

    def on_event(event):
        events.append(event)
        if event.kind == 'died':
            noticed.set()

    specs = [spec('steady'), spec('dies_when_told')]
    with Supervisor(specs, log_dir=world / 'log', on_event=on_event) as stack:
        stack.wait_ready()
        assert stack.poll() is None
        tell.write_text('go')
        wait_until(lambda: stack.poll() is not None, 'the death')
        assert noticed.is_set()
        with pytest.raises(NodeDiedError) as caught:
            stack.check()
    assert caught.value.node == '/dies_when_told'
    assert caught.value.lines == ('up', 'told to go')
    assert 'exit status 9' in caught.value.message


def test_an_optional_node_is_started_again_a_limited_number_of_times(world, monkeypatch):
    monkeypatch.setattr(supervisor_module, 'RESPAWN_DELAY_S', 0.01)
    events = []
    specs = [spec('steady'), spec('dies', required=False, max_respawns=2)]
    with Supervisor(specs, log_dir=world / 'log', on_event=events.append) as stack:
        stack.wait_ready()

        def deaths():
            assert stack.poll() is None
            return [event.kind for event in events if event.node == '/dies'].count('died')

        wait_until(lambda: deaths() == 3, 'three deaths')
        stack.check()
    assert [event.kind for event in events].count('respawned') == 2


def test_a_node_that_ignores_both_signals_is_killed_after_its_time(world, monkeypatch):
    steps = [(number, 0.3) for number, _ in supervisor_module.STOP_STEPS]
    monkeypatch.setattr(supervisor_module, 'STOP_STEPS', steps)
    with Supervisor([spec('stubborn')], log_dir=world / 'log') as stack:
        wait_until(lambda: '] up' in stack.log_file.read_text(), 'its handlers')
    assert stack.killed
    text = stack.log_file.read_text()
    assert text.index('ignores SIGINT') < text.index('ignores SIGTERM')


def test_an_interrupt_before_a_node_can_handle_it_makes_no_traceback(world):
    with Supervisor([spec('unready')], log_dir=world / 'log') as stack:
        wait_until(lambda: '] up' in stack.log_file.read_text(), 'its first line')
    assert '[unready] interrupted before it was up\n' in stack.log_file.read_text()
    assert 'Traceback' not in stack.log_file.read_text()
    assert not stack.killed


def test_what_a_node_started_ends_with_it(world):
    with Supervisor([spec('parent')], log_dir=world / 'log') as stack:
        wait_until(lambda: 'grandchild' in stack.log_file.read_text(), 'the grandchild')
        pid = int(stack.log_file.read_text().split()[-1])
        fd = os.pidfd_open(pid)
    wait_gone([fd])
    assert not stack.killed


def test_output_without_end_and_with_control_characters_does_no_harm(world):
    with Supervisor([spec('noisy')], log_dir=world / 'log') as stack:
        wait_until(lambda: '[noisy] up' in stack.log_file.read_text(), 'its last line')
    text = stack.log_file.read_text()
    assert text.count('x') >= 3_000_000
    assert '[noisy] a[31mred\tb\n' in text
    assert '[noisy] bad \ufffd byte\n' in text


def test_a_screen_that_is_gone_does_not_stop_the_nodes(world, monkeypatch):
    class Closed:
        def write(self, text):
            raise BrokenPipeError

        flush = write

    monkeypatch.setattr(sys, 'stdout', Closed())
    with Supervisor([spec('noisy')], log_dir=world / 'log', screen=True) as stack:
        wait_until(lambda: '[noisy] up' in stack.log_file.read_text(), 'its last line')


def test_a_module_that_does_not_exist_is_a_death_with_the_reason(world):
    with Supervisor([NodeSpec('x', 'x', 'no_such_module')], log_dir=world / 'log') as stack:
        wait_until(lambda: stack.poll() is not None, 'the death')
        with pytest.raises(NodeDiedError, match='no_such_module'):
            stack.check()


def test_only_the_main_thread_may_start_nodes(world):
    errors = []

    def start():
        try:
            Supervisor([spec('steady')], log_dir=world / 'log').start()
        except BringupError as error:
            errors.append(error.message)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join(WAIT_S)
    assert errors == ['the supervisor must run in the main thread']


# State and environment


def test_a_domain_is_free_again_after_release(world):
    lock = DomainLock(7)
    with pytest.raises(BringupError, match='ROS domain 7'):
        DomainLock(7)
    lock.release()
    DomainLock(7).release()


@pytest.mark.parametrize('text', ['102', '-1', 'x', '1.0', '٣'])
def test_a_domain_outside_the_safe_range_is_refused(text):
    with pytest.raises(BringupError, match='0 to 101'):
        current_domain({'ROS_DOMAIN_ID': text})


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
