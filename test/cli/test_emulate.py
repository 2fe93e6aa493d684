# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
import signal
import subprocess
import sys

from pymycobot import MyCobot280Socket

from safegen_ros.benchmarks.stack.fault_runs import FaultRun
from safegen_ros.cli.bench import summary
from safegen_ros.robot.emulator.faults import KNOBS


def test_the_emulated_arm_is_there_until_ctrl_c(tmp_path):
    link = tmp_path / 'arm'
    command = [sys.executable, '-m', 'safegen_ros.cli.main', 'arm', 'emulate', 'mycobot']
    options = ['--port', str(link), '--tcp', '0', '--problem', 'examples/tower_order.pddl']
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:
        lines = []
        while not lines or lines[-1] != 'READY':
            lines.append(process.stdout.readline().strip())
            assert lines[-1], lines
        assert lines[0] == f'serial port: {link}'
        assert link.is_char_device()
        robot = MyCobot280Socket('127.0.0.1', int(re.search(r'TCP port: (\d+)', lines[1])[1]))
        assert robot.get_system_version() == 7.3
        robot.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert not link.is_symlink()


def test_the_faults_are_listed_and_a_wrong_one_is_refused(safegen):
    code, out, _ = safegen('arm', 'emulate', 'mycobot', '--list-faults')
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(KNOBS)
    code, _, err = safegen('arm', 'emulate', 'mycobot', '--fault', 'late_ack=99')
    assert code == 2
    assert 'late_ack' in err


def test_the_bench_sums_up_how_the_runs_ended():
    runs = [
        FaultRun(0, 'echo', 'serial', False, 'done'),
        FaultRun(1, 'echo', 'tcp', False, 'stopped', 'no answer', stop_frame=0.004),
        FaultRun(2, 'echo', 'tcp', True, 'wrong', 'it moved', motions=1, resumes=1),
    ]
    assert summary(runs) == [
        '3 runs: 1 over serial, 2 over tcp',
        'ended in a stop or well: 2/3 (66.7 %)',
        'motions after 2 stops: 1',
        'self-resumes before a reset: 1',
        'stop to the stop command at the arm: median 4.0 ms, at most 4.0 ms over 1 stops',
    ]
