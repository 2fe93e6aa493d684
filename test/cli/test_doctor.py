# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen doctor`: what is there is found, what is missing is named with its cure."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pymycobot import MyCobot280Socket
from support.command_line import CommandLine
from support.model_server import MODEL, ModelServer

from safegen_ros.benchmarks.stack.fault_runs import FaultRun
from safegen_ros.bringup.table import node_specs, parameters
from safegen_ros.cli.bench import summary
from safegen_ros.cli.checkup import NOT_TRIED, OK, WRONG, Check, NotTried, Wrong, examine
from safegen_ros.cli.doctor import _model, _stacks
from safegen_ros.cli.doctor_arm import arm_checks
from safegen_ros.errors import SafegenError
from safegen_ros.llm.openai_backend import PROBE
from safegen_ros.paths import data_path
from safegen_ros.robot.emulator.emulator import Emulator
from safegen_ros.robot.emulator.faults import KNOBS, parse_fault
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.twin.twin import MujocoTwin
from safegen_ros.ros.stack_state import DomainLock, StackState


@pytest.fixture
def twin() -> Iterator[MujocoTwin]:
    with MujocoTwin(load_scene()) as twin:
        yield twin


def states(port: str, **more: Any) -> dict[str, tuple[str, str]]:
    """State and finding of each check of an arm at a serial port."""
    executor = {'cell': 'mycobot', 'transport': 'serial', 'port': port, 'baud': 115200, **more}
    pump = bool(executor.pop('pump', False))
    found = list(examine(arm_checks(executor, pump)))
    return {each.name: (each.state, f'{each.found} {each.cure}') for each in found}


def test_the_shipped_stack_is_healthy(safegen: CommandLine, ros_domain: int) -> None:
    code, out, _ = safegen('doctor', '--json')
    report = json.loads(out)
    wrong = {each['name'] for each in report['checks'] if each['state'] != OK}
    assert wrong <= {'offscreen OpenGL'}  # the only one that a machine may lack after `make setup`
    assert (code, report['ok']) == (int(bool(wrong)), not wrong)
    names = {each['name'] for each in report['checks']}
    assert {'ROS 2 and the interfaces', 'model', 'VAL', 'MuJoCo twin', 'offscreen OpenGL'} <= names


def test_the_own_stack_is_no_fault(
    ros_domain: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('SAFEGEN_RUNTIME_DIR', str(tmp_path))
    look = Check('stacks in this ROS domain', _stacks)
    assert [each.found for each in examine([look])] == ['none']
    lock = DomainLock(ros_domain, '/lab')
    lock.write(StackState(ros_domain, 17, 'ready', '', namespace='/lab'))
    (found,) = examine([look])
    lock.release()
    assert (found.state, found.found) == (OK, 'ready in namespace /lab (process 17)')


def test_what_is_wrong_is_named_with_its_cure(
    safegen: CommandLine, ros_domain: int, tmp_path: Path
) -> None:
    (tmp_path / 'config.json').write_text('{}')
    code, out, _ = safegen('doctor', 'mycobot', f'model:={tmp_path}', 'port:=/dev/no-arm', '--json')
    found = {each['name']: each for each in json.loads(out)['checks']}
    assert code == 1
    assert found['model']['state'] == WRONG
    assert 'tokenizer_config.json' in found['model']['found']
    assert '/dev/no-arm' in found['port and firmware']['found']
    assert found['joint readings']['state'] == NOT_TRIED
    assert 'MuJoCo twin' not in found


def test_a_model_is_looked_at_and_a_server_has_to_write(adapters: Path, word_folder: Path) -> None:
    base, both = (_model({'model': str(folder)}).split() for folder in (word_folder, adapters))
    assert (int(both[1]) > int(base[1]), both[3:]) == (True, base[3:])
    with ModelServer() as server:
        name = {'model': f'{server.url}#{MODEL}'}
        assert ' answers after ' in _model(name)
        server.fault_of[PROBE] = 'half'
        with pytest.raises(Wrong, match=f'middle of the answer.*curl -sS {server.url}/models'):
            _model(name)


def test_an_arm_is_looked_at_and_not_moved(twin: MujocoTwin) -> None:
    before = twin.joint_positions()
    with Emulator(twin) as emulator:
        state, text = states(emulator.serial_port)['tool']
        assert (state, '--pump' in text) == (NOT_TRIED, True)
        found = states(emulator.serial_port, pump=True)
        assert emulator.last_motion == 0.0
    assert not {name: told for name, told in found.items() if told[0] != OK}
    assert 'firmware 7.3' in found['port and firmware'][1]
    assert '-88.8' in found['joint readings'][1]
    assert (twin.joint_positions() == pytest.approx(before, abs=1e-3)) is True


@pytest.mark.nightly
def test_a_tool_that_is_not_the_one_of_the_scene_or_the_arm_is_named_with_its_cure(
    twin: MujocoTwin,
) -> None:
    scene_file = str(data_path('config/gripper_scene.yaml'))
    with Emulator(twin) as emulator:
        port = emulator.serial_port
        assert states(port)['tool and scene'][0] == OK
        state, text = states(port, tool='gripper')['tool and scene']
        assert (state, 'add scene_file:=config/gripper_scene.yaml' in text) == (WRONG, True)
        state, text = states(port, tool='gripper', scene_file=scene_file)['tool and scene']
        assert (state, 'no gripper answers' in text) == (WRONG, True)
    with MujocoTwin(load_scene(scene_file)) as gripper, Emulator(gripper) as emulator:
        state, text = states(emulator.serial_port)['tool and scene']
        assert (state, 'add tool:=gripper' in text) == (WRONG, True)
        state, text = states(emulator.serial_port, tool='gripper', scene_file=scene_file)[
            'tool and scene'
        ]
        assert (state, 'open by 46 mm' in text) == (OK, True)


@pytest.mark.nightly
def test_a_silent_arm_is_told_from_a_missing_one(twin: MujocoTwin) -> None:
    with Emulator(twin, faults=[parse_fault('silent=1@0')]) as emulator:
        emulator._line.began(0.0)  # faults count from the first motion
        found = states(emulator.serial_port)
    state, text = found['port and firmware']
    assert (state, 'Transponder' in text) == (WRONG, True)
    assert found['arm'][0] == NOT_TRIED


def test_a_host_that_is_not_named_is_asked_for() -> None:
    found = {each.name: each for each in examine(arm_checks({'transport': 'ssh'}, False))}
    assert 'host is empty' in found['SSH'].found
    assert found['agent, port and arm'].state == NOT_TRIED


def test_parameters_are_those_of_the_files_and_the_arguments() -> None:
    specs = node_specs('mycobot', {'port': '/dev/ttyACM7', 'baud': '1000000'})
    executor = parameters(next(spec for spec in specs if spec.name == 'executor'))
    assert executor['port'] == '/dev/ttyACM7'
    assert executor['baud'] == 1000000
    assert executor['tcp_port'] == 9000
    assert executor['heartbeat_timeout'] == 4.0  # as declared


def test_a_check_that_hangs_or_breaks_does_not_stop_the_others() -> None:
    forever = threading.Event()

    def hang() -> str:
        forever.wait()
        return ''

    def wrong() -> str:
        raise Wrong('it is loose', 'tighten it')

    def broken() -> str:
        raise SafegenError('it is broken')

    def odd() -> str:
        raise ValueError('odd')

    def left() -> str:
        raise NotTried('not now')

    checks = [
        Check('hangs', hang, 'wake it'), Check('wrong', wrong), Check('broken', broken, 'mend it'),
        Check('odd', odd), Check('left', left), Check('fine', lambda: 'here'),
    ]  # fmt: skip
    found = list(examine(checks, timeout_s=2.0))
    forever.set()
    assert [each.state for each in found] == [WRONG, WRONG, WRONG, WRONG, NOT_TRIED, OK]
    assert [each.cure for each in found] == ['wake it', 'tighten it', 'mend it', '', '', '']
    assert found[3].found == 'ValueError: odd'


@pytest.mark.nightly
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
