# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen doctor`: what is there is found, what is missing is named with its cure."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.command_line import CommandLine

from safegen_ros.bringup.table import node_specs, parameters
from safegen_ros.cli.checkup import NOT_TRIED, OK, WRONG, Check, NotTried, Wrong, examine
from safegen_ros.cli.doctor import _stacks
from safegen_ros.cli.doctor_arm import arm_checks
from safegen_ros.errors import SafegenError
from safegen_ros.paths import data_path
from safegen_ros.robot.emulator.emulator import Emulator
from safegen_ros.robot.emulator.faults import parse_fault
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


def test_an_arm_is_looked_at_and_not_moved(twin: MujocoTwin) -> None:
    before = twin.joint_positions()
    with Emulator(twin) as emulator:
        found = states(emulator.serial_port, pump=True)
        assert emulator.last_motion == 0.0
    assert {state for state, _ in found.values()} == {OK}
    assert 'firmware 7.3' in found['port and firmware'][1]
    assert '-88.8' in found['joint readings'][1]
    assert (twin.joint_positions() == pytest.approx(before, abs=1e-3)) is True


def test_the_tool_is_left_alone_unless_asked_for(twin: MujocoTwin) -> None:
    with Emulator(twin) as emulator:
        state, text = states(emulator.serial_port)['tool']
    assert (state, '--pump' in text) == (NOT_TRIED, True)


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
