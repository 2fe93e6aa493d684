# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The supervisor as a command, with real processes: exit codes and signals."""

from __future__ import annotations

import os
import select
import signal
import socket
from contextlib import suppress

import pytest
from support.node_programs import spec, wait_gone
from support.waiting import WAIT_S

from safegen_ros.bringup.profiles import Ready
from safegen_ros.bringup.supervisor import SAME_KEYSTROKE_S
from safegen_ros.errors import BringupError
from safegen_ros.ros.stack_state import read_state, stop_running


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


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as probe:
        return probe.getsockname()[1]


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


def test_stop_running_stops_the_stack_of_a_domain(command, ros_domain):
    up = command(spec('steady'))
    up.expect('[steady] up', 'READY')
    assert stop_running(ros_domain)
    assert up.end() == 0
    assert not stop_running(ros_domain)


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
