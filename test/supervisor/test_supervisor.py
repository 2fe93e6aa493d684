# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The supervisor as an object and as a command, with real processes."""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from support.node_programs import PROGRAMS, ROOT, Command, spec, wait_gone
from support.waiting import WAIT_S, wait_until

from safegen_ros.bringup import supervisor as supervisor_module
from safegen_ros.bringup.process import GraphProbe
from safegen_ros.bringup.profiles import NodeSpec, Ready
from safegen_ros.bringup.supervisor import SAME_KEYSTROKE_S, NodeDiedError, Supervisor
from safegen_ros.errors import BringupError
from safegen_ros.ros.stack_state import DomainLock, read_state, stop_running


@pytest.fixture
def world(tmp_path, monkeypatch, ros_domain):
    """The programs on the import path of the nodes, and a runtime folder of this test."""
    for name, text in PROGRAMS.items():
        (tmp_path / f'node_{name}.py').write_text(text)
    monkeypatch.setenv('SAFEGEN_RUNTIME_DIR', str(tmp_path / 'runtime'))
    monkeypatch.setenv('ROS_DOMAIN_ID', str(ros_domain))
    paths = [str(ROOT), str(tmp_path), *filter(None, [os.environ.get('PYTHONPATH')])]
    monkeypatch.setenv('PYTHONPATH', os.pathsep.join(paths))
    monkeypatch.setenv('OMP_NUM_THREADS', '1')
    return tmp_path


@pytest.fixture
def command(world):
    started = []

    def start(*specs, **more):
        started.append(Command(world, *specs, **more))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()


def test_nodes_start_in_order_and_are_stopped_in_reverse(world, monkeypatch):
    # No step is waited out when all have ended.
    steps = [(number, 3600.0) for number, _ in supervisor_module.STOP_STEPS]
    monkeypatch.setattr(supervisor_module, 'STOP_STEPS', steps)
    events = []
    specs = [spec('steady', name) for name in ('a', 'b', 'c')]
    with Supervisor(specs, log_dir=world / 'log', on_event=events.append) as stack:
        stack.wait_ready()
        assert stack.poll() is None
        # A SIGINT before that is lost where the tests run with it ignored, as behind a shell's `&`.
        wait_until(lambda: stack.log_file.read_text().count('] up\n') == 3, 'all are up')
    seen = [(event.kind, event.node) for event in events]
    assert [node for kind, node in seen if kind == 'started'] == ['/a', '/b', '/c']
    assert [node for kind, node in seen if kind == 'stopping'][:3] == ['/c', '/b', '/a']


def test_a_log_that_cannot_be_written_loses_neither_the_screen_nor_what_comes_later(
    world, monkeypatch, capsys
):
    tell = world / 'tell'
    os.mkfifo(tell)
    monkeypatch.setenv('TELL', str(tell))
    with Supervisor([spec('dies_when_told')], log_dir=world / 'log', screen=True) as stack:
        wait_until(lambda: '[dies_when_told] up' in stack.log_file.read_text(), 'the first line')
        stack.log_file.rename(world / 'old.log')
        stack.log_file.mkdir()  # as a full disk: opening it to write is an OSError
        stack._write('other', 'one')
        stack._write('other', 'two')
        stack.log_file.rmdir()
        tell.write_text('go')
        wait_until(lambda: stack.poll() is not None, 'the death')
        assert '[dies_when_told] told to go' in stack.log_file.read_text()
    screen = capsys.readouterr().out
    assert screen.count('stack.log cannot be written: ') == 1
    assert '[other] one\n[other] two\n' in screen


def test_a_state_that_cannot_be_written_keeps_no_node_running(world, monkeypatch):
    def full(self, state):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Supervisor([spec('steady')], log_dir=world / 'log') as stack:
        stack.wait_ready()
        (child,) = stack._children
        monkeypatch.setattr(DomainLock, 'write', full)
    assert not child.alive


def test_only_the_node_that_asks_a_model_server_has_its_key(world, monkeypatch):
    monkeypatch.setenv('SAFEGEN_API_KEY', 'secret-1')
    monkeypatch.setenv('MY_KEY', 'secret-2')
    file = world / 'p.yaml'
    file.write_text('/**/keeper: {ros__parameters: {api_key_env: MY_KEY}}\n')
    specs = [
        spec('steady', 'keeper', params_files=(str(file),), holds_keys=True),
        spec('steady', 'other', params_files=(str(file),)),
    ]
    with Supervisor(specs, log_dir=world / 'log') as stack:
        keeper, other = (Path(f'/proc/{c.pid}/environ').read_text() for c in stack._children)
    assert 'secret-1' in keeper
    assert 'secret-2' in keeper
    assert 'secret' not in other


def test_readiness_is_seen_in_the_ros_graph_under_a_namespace(world, ros_domain):
    events = []
    ready = Ready('service', 'go', 'std_srvs/srv/Trigger')
    node = spec('service', 'gate', namespace='/lab', ready=ready, params=(('word', '5'),))
    with Supervisor([node], log_dir=world / 'log', on_event=events.append) as stack:
        stack.wait_ready()
        assert ('ready', '/lab/gate') in [(event.kind, event.node) for event in events]
        assert read_state(ros_domain, '/lab').status == 'ready'
        assert stack.check() is None
    assert '[gate] parameter 5\n' in stack.log_file.read_text()


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
    def wait_line(said):
        wait_until(lambda: said in stack.log_file.read_text(), said)

    def steps(*both, last):
        for number, _ in both:
            yield number, 0.3
            wait_line(f'ignores {number.name}')  # which a busy node may say after its time
        yield last

    *both, last = supervisor_module.STOP_STEPS
    monkeypatch.setattr(supervisor_module, 'STOP_STEPS', steps(*both, last=last))
    with Supervisor([spec('stubborn')], log_dir=world / 'log') as stack:
        wait_line('] up')
    assert stack.killed
    text = stack.log_file.read_text()
    assert text.index('ignores SIGINT') < text.index('ignores SIGTERM')


def test_a_second_interrupt_counts_however_late_the_nodes_are_waited_for(world, monkeypatch):
    # No step is waited out when the user is out of patience.
    steps = [(number, 3600.0) for number, _ in supervisor_module.STOP_STEPS]
    monkeypatch.setattr(supervisor_module, 'STOP_STEPS', steps)
    monkeypatch.setattr(supervisor_module, 'SAME_KEYSTROKE_S', 0.1)

    def held_up(event):
        if event.kind == 'stopping':
            time.sleep(0.15)
            os.kill(os.getpid(), signal.SIGINT)

    with Supervisor([spec('stubborn')], log_dir=world / 'log', on_event=held_up) as stack:
        wait_until(lambda: '] up' in stack.log_file.read_text(), 'its first line')
    assert stack.killed


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


# As a command: exit codes and signals


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as probe:
        return probe.getsockname()[1]


def test_interrupt_ends_all_nodes_with_status_0(command, ros_domain):
    up = command(spec('steady', 'a'), spec('steady', 'b'))
    up.expect('[a] up', '[b] up', 'READY')
    fds = [os.pidfd_open(pid) for pid in up.pids(ros_domain).values()]
    up.process.send_signal(signal.SIGINT)
    assert up.end() == 0
    assert {'[a] bye', '[b] bye'} <= set(up.output)
    wait_gone(fds)
    assert read_state(ros_domain) is None


@pytest.mark.nightly
def test_ready_comes_last_with_the_address_of_the_page(command, monkeypatch):
    port = free_port()
    monkeypatch.setenv('PORT', str(port))
    up = command(spec('serves', required=False, page_port=port), spec('steady'))
    up.expect('[serves] served', f'READY  http://127.0.0.1:{port}/')
    assert up.output.index('[serves] served') < up.output.index(f'READY  http://127.0.0.1:{port}/')


def test_a_taken_port_of_a_page_starts_nothing(command):
    with socket.create_server(('127.0.0.1', 0)) as other:
        port = other.getsockname()[1]
        up = command(spec('steady'), spec('serves', required=False, page_port=port))
        assert up.end() == 2
    text = '\n'.join(up.output)
    assert f'port {port} of 127.0.0.1 is taken' in text
    assert 'console_port:=' in text
    assert '[steady] up' not in up.output
    assert 'READY' not in text


@pytest.mark.nightly
def test_a_page_that_never_comes_is_no_ready_stack(command):
    up = command(spec('steady'), spec('dies', required=False, page_port=free_port()))
    assert up.end() == 3
    assert 'did not serve its page' in '\n'.join(up.output)
    assert 'READY' not in '\n'.join(up.output)


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


@pytest.mark.nightly
def test_interrupt_while_starting_stops_at_once(command):
    ready = Ready('service', 'go', 'std_srvs/srv/Trigger', timeout_s=600.0)
    up = command(spec('steady', ready=ready))
    up.expect('[steady] up')
    up.process.send_signal(signal.SIGINT)
    assert up.end() == 0
    assert 'READY' not in up.output


@pytest.mark.nightly
def test_a_second_interrupt_goes_on_to_the_harder_step_and_killing_gives_status_4(
    command, ros_domain
):
    # Both later steps come by hand: the steps alone would take longer than a test may.
    up = command(spec('stubborn'), patience_s=3600.0)
    up.expect('[stubborn] up', 'READY')
    (pid,) = up.pids(ros_domain).values()
    fd = os.pidfd_open(pid)
    up.process.send_signal(signal.SIGINT)
    for name in ('SIGINT', 'SIGTERM'):
        up.expect(f'[stubborn] ignores {name}')
        # Any sooner it would pass for the same keystroke, and nothing else comes meanwhile.
        assert not select.select([fd], [], [], SAME_KEYSTROKE_S + 0.05)[0]
        up.process.send_signal(signal.SIGINT)
    wait_gone([fd])
    assert up.end() == 4


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


@pytest.mark.nightly
def test_stacks_in_other_namespaces_of_the_domain_are_left_alone(command, ros_domain):
    first = command(spec('steady', namespace='/lab/arm1'))
    second = command(spec('steady', namespace='/lab/arm2'))
    first.expect('[steady] up', 'READY')
    second.expect('[steady] up', 'READY')
    again = command(spec('steady', namespace='/lab/arm1'))
    assert again.end() == 2
    assert 'in namespace /lab/arm1 (process' in again.output[0]
    assert '`safegen down --namespace /lab/arm1`' in again.output[0]
    assert not stop_running(ros_domain)
    assert stop_running(ros_domain, namespace='/lab/arm1')
    assert first.end() == 0
    assert second.process.poll() is None


def test_stop_running_tells_when_it_did_not_work(command, ros_domain):
    up = command(spec('stubborn'))
    up.expect('[stubborn] up', 'READY')
    fds = [os.pidfd_open(pid) for pid in up.pids(ros_domain).values()]
    with pytest.raises(BringupError, match=f'kill -KILL {up.process.pid}'):
        stop_running(ros_domain, timeout_s=0.1)
    up.process.kill()
    up.process.wait()
    for fd in fds:
        with suppress(ProcessLookupError):  # the kernel may have ended it with its supervisor
            signal.pidfd_send_signal(fd, signal.SIGKILL)
    wait_gone(fds)
