# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen doctor`: whether the parts of a profile are there and work, and how to fix them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from typing import Annotated, Any

import typer

from safegen_ros.bringup.table import argument_values, node_specs, parameters
from safegen_ros.cli.checkup import Check, Wrong, examine, healthy, show, to_json
from safegen_ros.cli.completion import ProfileArguments, complete_profile
from safegen_ros.cli.failures import ExitStatus
from safegen_ros.errors import BackendError
from safegen_ros.paths import data_path, install
from safegen_ros.robot.cell.settings import ARM_CELL
from safegen_ros.ros.stack_state import environment_defaults
from safegen_ros.terminal import Console

#: Makes a node and finds itself in the graph, as a node of the stack would.
_ROS_PROBE = """
import os, time, rclpy
from rclpy.utilities import get_rmw_implementation_identifier
from safegen_msgs.action import RunTask
rclpy.init()
node = rclpy.create_node(f'doctor_{os.getpid()}')
end = time.monotonic() + 20
while node.get_name() not in node.get_node_names() and time.monotonic() < end:
    rclpy.spin_once(node, timeout_sec=0.05)
assert node.get_name() in node.get_node_names(), 'a node does not find itself'
print(get_rmw_implementation_identifier())
"""


def doctor(
    profile: Annotated[
        str,
        typer.Argument(help='profile to check, as for safegen up', autocompletion=complete_profile),
    ] = 'sim',
    arguments: ProfileArguments = None,
    pump: Annotated[
        bool,
        typer.Option('--pump', help='also switch the tool on and off; a held block falls'),
    ] = False,
    as_json: Annotated[
        bool, typer.Option('--json', help='print one JSON object on standard output')
    ] = False,
) -> None:
    """Check the installation and suggest fixes. Nothing moves.

    The exit status is 0 when nothing is wrong and 1 otherwise.
    """
    specs = {spec.name: spec for spec in node_specs(profile, argument_values(arguments or ()))}
    executor = parameters(specs['executor'])
    checks = [
        Check('ROS 2 and the interfaces', _ros, 'make setup'),
        Check('stacks in this ROS domain', _stacks),
        Check('model', partial(_model, parameters(specs['planner'])), install('llm')),
        Check('VAL', _val, install('proof')),
        Check('Fast Downward and Kairos', _planners),
        Check('scene', partial(_scene, executor)),
    ]
    if executor.get('cell') == ARM_CELL:
        from safegen_ros.cli.doctor_arm import arm_checks

        checks += arm_checks(executor, pump)
    else:
        checks += [
            Check('MuJoCo twin', _twin, install('sim')),
            Check('offscreen OpenGL', _gl, 'apt-get install libegl1 libgl1-mesa-dri libopengl0'),
        ]
    with Console(stderr=True).status('checking the installation'):
        findings = list(examine(checks))
    if as_json:
        print(json.dumps(to_json(findings), indent=2))
    else:
        show(findings, Console())
    raise typer.Exit(ExitStatus.OK if healthy(findings) else ExitStatus.FAILED)


def _ros() -> str:
    environment = {**environment_defaults(os.environ), **os.environ}
    try:
        probe = subprocess.run(
            [sys.executable, '-c', _ROS_PROBE],
            env=environment,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Wrong('a node cannot be made within 50 s', 'unset ROS_DISCOVERY_SERVER') from None
    if probe.returncode:
        said = probe.stderr.strip().splitlines()
        raise Wrong(said[-1] if said else f'exit status {probe.returncode}', 'make setup')
    domain = environment.get('ROS_DOMAIN_ID', '0')
    where = environment['ROS_AUTOMATIC_DISCOVERY_RANGE']
    return f'{probe.stdout.strip()}, domain {domain}, discovery {where}'


def _stacks() -> str:
    """The stacks of this user; that one runs is not a fault."""
    from safegen_ros.ros.stack_state import current_domain, running_stacks

    found = [
        f'{each.status} in namespace {each.namespace} (process {each.pid})'
        for each in running_stacks(current_domain())
    ]
    return ', '.join(found) or 'none'


def _model(planner: Mapping[str, Any]) -> str:
    from safegen_ros.llm.model_names import full_name, is_server, model_folder

    name = full_name(str(planner.get('model', '')))
    if is_server(name):
        return _model_server(name, str(planner.get('api_key_env', '')))
    from safegen_ros.llm.model_folder import base_folder, check_folder, quick_start

    folder = data_path(model_folder(name) or name)
    check_folder(folder)
    base = base_folder(folder)
    with quick_start():
        from safetensors import safe_open
        from tokenizers import Tokenizer

        words = Tokenizer.from_file(str(base / 'tokenizer.json')).get_vocab_size()
        tensors = 0
        for path in {*base.glob('*.safetensors'), *folder.glob('*.safetensors')}:
            with safe_open(path, framework='numpy') as file:
                tensors += len(list(file.keys()))
    return f'{name}: {tensors} tensors, {words} tokens'


def _model_server(name: str, key_env: str) -> str:
    from safegen_ros.llm.backend import CHECK_S
    from safegen_ros.llm.open_backend import open_backend
    from safegen_ros.llm.openai_backend import RetryPolicy

    url = name.partition('#')[0]
    began = time.monotonic()
    try:
        with closing(open_backend(name, key_env=key_env, retry=RetryPolicy(tries=1))) as backend:
            backend.check(CHECK_S)
    except BackendError as error:
        raise Wrong(error.message, f'curl -sS {url}/models') from error
    return f'{name} answers after {time.monotonic() - began:.1f} s'


def _val() -> str:
    from safegen_ros.pddl.plan import parse_plan
    from safegen_ros.tasks.pddl3.task import load_task
    from safegen_ros.verify.val import val_verify

    example = data_path('examples/tower_order.pddl')
    task = load_task(example.read_text(encoding='utf-8'), problem_source=str(example))
    verdict = val_verify(task.problem, parse_plan(''))
    if verdict.ok or verdict.category.name == 'UNKNOWN':
        raise Wrong(f'it takes an empty plan for {verdict.category.name}', install('proof'))
    return f'refuses an empty plan ({verdict.category.name})'


def _planners() -> str:
    from safegen_ros.search.fast_downward import fast_downward_available
    from safegen_ros.search.kairos import kairos_available

    there = {'Fast Downward': fast_downward_available(), 'Kairos': kairos_available()}
    missing = [name for name, installed in there.items() if not installed]
    if missing:
        raise Wrong(f'not installed: {", ".join(missing)}', install('proof'))
    return 'are there'


def _scene(executor: Mapping[str, Any]) -> str:
    from safegen_ros.robot.scene import default_scene_path, load_scene

    path = executor.get('scene_file') or default_scene_path()
    scene = load_scene(path)
    return f'{path}: {len(scene.slots)} slots, towers of {scene.max_tower}'


def _twin() -> str:
    from safegen_ros.robot.scene import load_scene
    from safegen_ros.robot.twin.twin import MujocoTwin

    with MujocoTwin(load_scene()) as twin:
        joints = twin.joint_positions() + 0.05
        twin.move_joints(joints, 1.0)
        return f'moves: {twin.sim_time:.2f} s simulated'


def _gl() -> str:
    try:
        from safegen_ros.robot.twin.render import backend
    except ModuleNotFoundError as error:
        raise Wrong(f'{error.name} is missing', install('sim')) from error
    return backend()
