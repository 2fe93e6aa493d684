# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""safegen_msgs: built, complete, documented, one with the Python enumerations, and typed."""

from __future__ import annotations

import re
import subprocess
import sys
from enum import IntEnum
from importlib import import_module
from pathlib import Path

import pytest
from rclpy.type_support import check_for_type_support

from safegen_ros.errors import ErrorCode
from safegen_ros.verdict import Category

PACKAGE = Path(__file__).resolve().parents[2] / 'safegen_msgs'
FILES = sorted(PACKAGE.glob('*/*.*'))
MESSAGES = [path.stem for path in FILES if path.suffix == '.msg']
CONSTANT = re.compile(r'^uint(?:8|16) ([A-Z][A-Z_]*)=(\d+)', re.MULTILINE)
FIELD = re.compile(r'^[a-zA-Z_/0-9]+(?:\[\])? [a-zA-Z_]+')


def interface(path: Path) -> type:
    return getattr(import_module(f'safegen_msgs.{path.parent.name}'), path.stem)


def test_every_file_is_built() -> None:
    listed = re.findall(r'^  (\w+/\w+\.\w+)$', (PACKAGE / 'CMakeLists.txt').read_text(), re.M)
    assert sorted(listed) == [path.relative_to(PACKAGE).as_posix() for path in FILES]


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)
def test_type_support_loads(path: Path) -> None:
    kind = interface(path)
    if path.suffix == '.msg':
        assert kind() == kind()
    else:
        check_for_type_support(kind)


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)
def test_every_field_is_documented(path: Path) -> None:
    lines = path.read_text(encoding='utf-8').splitlines()
    assert lines[0].startswith('# ')
    bare = [line for line in lines if FIELD.match(line) and '  # ' not in line]
    # A constant may be documented by the line above its group or by its own name.
    assert [line for line in bare if '=' not in line.split('#')[0]] == []


@pytest.mark.parametrize(
    ('message', 'enumeration'), [('Verdict', Category), ('ErrorCode', ErrorCode)]
)
def test_constants_equal_the_python_enumeration(message: str, enumeration: type[IntEnum]) -> None:
    text = (PACKAGE / 'msg' / f'{message}.msg').read_text(encoding='utf-8')
    written = {name: int(value) for name, value in CONSTANT.findall(text)}
    assert written == {member.name: member.value for member in enumeration}
    built = getattr(import_module('safegen_msgs.msg'), message)
    assert {name: getattr(built, name) for name in written} == written


def test_an_unfilled_verdict_is_unknown() -> None:
    from safegen_msgs.msg import Verdict

    assert Verdict().category == Verdict.UNKNOWN == Category.UNKNOWN


def test_goals_allow_search_unless_told_otherwise() -> None:
    from safegen_msgs.action import PlanTask, RunTask

    assert PlanTask.Goal().search_fallback is True
    assert RunTask.Goal().search_fallback is True


USES = """\
from diagnostic_msgs.msg import DiagnosticStatus
from safegen_msgs.action import PlanTask
from safegen_msgs.msg import Plan, Step
from sensor_msgs.msg import JointState
from unique_identifier_msgs.msg import UUID

level: bytes = DiagnosticStatus.OK
angle: float = JointState(position=(0.1, 0.2)).position[0]
id = UUID(uuid=list(range(16)))
plan = Plan(steps=[Step(action='stack', arguments=['b1', 'b2'])])
goal = PlanTask.Impl.SendGoalService.Request(goal_id=id).goal
"""
FAULTS = {
    'Plan(step=[])': 'Unexpected keyword argument "step"',
    'plan.sauce': '"Plan" has no attribute "sauce"',
    'goal.task = plan': 'Incompatible types in assignment',
    'PlanTask.Reply': '"type[PlanTask]" has no attribute "Reply"',
}


@pytest.mark.slow
def test_mypy_finds_wrong_uses_of_messages_and_nothing_else(tmp_path: Path) -> None:
    wrong = tmp_path / 'uses.py'
    wrong.write_text(USES + '\n'.join(FAULTS))
    command = [sys.executable, '-m', 'mypy', '--no-error-summary', str(wrong)]
    done = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    found = [line for line in done.stdout.splitlines() if ': error: ' in line]
    assert len(found) == len(FAULTS), done.stdout + done.stderr
    for line, fault in zip(found, FAULTS.values(), strict=True):
        assert fault in line
