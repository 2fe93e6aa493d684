# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`colcon build` finds and builds both packages, and the overlay works.

Of the interfaces only one service is built: the generators take a minute for all of them, and
`make setup` has built those already, from the same CMakeLists.txt.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]

IMPORT_OVERLAY = """
import importlib.resources, pathlib
import safegen_msgs, safegen_ros
from safegen_msgs.srv import Approve
from rclpy.type_support import check_for_type_support
check_for_type_support(Approve)
assert not Approve.Request().approve
assert (importlib.resources.files(safegen_ros)
        / 'tasks/pddl3/domains/blocksworld/domain.pddl').is_file()
print(pathlib.Path(safegen_msgs.__file__).resolve())
print(pathlib.Path(safegen_ros.__file__).resolve())
"""


SERVICE = 'srv/Approve.srv'  # it is made of no other interface
_INTERFACE = re.compile(r'^ +((?:msg|srv|action)/\w+\.\w+)\n', re.MULTILINE)


def keep_one_service(package: Path) -> None:
    makefile = package / 'CMakeLists.txt'
    text = makefile.read_text()
    kept = {SERVICE, 'msg/Signature.msg'}  # which the service is made of
    assert kept < {match[1] for match in _INTERFACE.finditer(text)}
    makefile.write_text(_INTERFACE.sub(lambda m: m[0] if m[1] in kept else '', text))


def colcon_environment(clean: dict[str, str]) -> dict[str, str]:
    return {
        **clean, 'PATH': f'{sys.prefix}/bin:{clean["PATH"]}', 'AMENT_PREFIX_PATH': sys.prefix,
        'CMAKE_PREFIX_PATH': sys.prefix, 'COLCON_LOG_PATH': 'log',
    }  # fmt: skip


@pytest.fixture(scope='module')
def workspace(copy: Path, clean_environment: dict[str, str]) -> Path:
    keep_one_service(copy / 'safegen_msgs')
    command = [
        f'{sys.prefix}/bin/colcon',
        'build',
        # safegen_msgs lies inside of safegen_ros, where colcon does not look by itself.
        *('--base-paths', '.', 'safegen_msgs'),
        *('--executor', 'sequential'),
        '--cmake-args',
        *('-G', 'Ninja'),
        f'-DPython3_EXECUTABLE={sys.executable}',
        f'-DCMAKE_PROJECT_INCLUDE={copy}/safegen_msgs/wheel_env.cmake',
        '-DCMAKE_POLICY_VERSION_MINIMUM=3.5',
        '-DBUILD_TESTING=OFF',
        # Optimizing what is imported once would take a sixth of the time.
        *(f'-DCMAKE_{language}_FLAGS=-O0' for language in ('C', 'CXX')),
    ]
    result = subprocess.run(
        command, cwd=copy, env=colcon_environment(clean_environment), capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
    assert 'Summary: 2 packages finished' in result.stdout
    return copy


def test_the_overlay_imports_both_packages(
    workspace: Path, clean_environment: dict[str, str], tmp_path: Path
) -> None:
    script = f'source {workspace}/install/local_setup.bash && exec {sys.executable} -'
    result = subprocess.run(
        ['bash', '-c', script],
        cwd=tmp_path,  # not the workspace: Python would find the sources there
        env=colcon_environment(clean_environment),
        input=IMPORT_OVERLAY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    messages, package = (Path(line) for line in result.stdout.splitlines()[-2:])
    assert messages.is_relative_to(workspace / 'install' / 'safegen_msgs')
    assert package.is_relative_to(workspace / 'install' / 'safegen_ros')


def test_an_executor_of_the_overlay_takes_the_table_that_was_installed_with_it(
    workspace: Path, ros_domain: int, clean_environment: dict[str, str], tmp_path: Path
) -> None:
    package = workspace / 'install/safegen_ros'
    # Of the interfaces the workspace has only one, so those of the interpreter are used.
    script = f'source {package}/share/safegen_ros/package.bash &&'
    environment = {**colcon_environment(clean_environment), 'ROS_DOMAIN_ID': str(ros_domain)}
    answer, scene = configured(script, environment, tmp_path)
    assert answer.strip() == 'SUCCESS'
    assert Path(scene) == package / 'share/safegen_ros/config/scene.yaml'


def test_the_executables_are_where_ros2_run_looks(workspace: Path) -> None:
    prefix = workspace / 'install' / 'safegen_ros'
    for name in ('planner', 'validator', 'executor', 'safegen'):
        assert (prefix / 'lib' / 'safegen_ros' / name).is_file()
    assert (prefix / 'share' / 'safegen_ros' / 'launch' / 'sim.launch.py').is_file()
    assert (prefix / 'share/ament_index/resource_index/packages/safegen_ros').is_file()


CONFIGURE = """
import rclpy
from safegen_ros.nodes.executor import ExecutorNode
from safegen_ros.robot.scene import default_scene_path
rclpy.init()
node = ExecutorNode()
print(node.trigger_configure().name, node.failure)
print(default_scene_path())
node.end()
"""


def configured(script: str, environment: dict[str, str], folder: Path) -> list[str]:
    """What an executor with default parameters tells that is configured in an overlay."""
    done = subprocess.run(
        ['bash', '-c', f'{script} exec {sys.executable} -'], cwd=folder,
        env={**environment, 'SAFEGEN_RUNS_DIR': str(folder), 'SAFEGEN_STATE_DIR': str(folder)},
        input=CONFIGURE, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-2:]
