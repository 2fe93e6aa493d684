# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The one table of the processes: nodes, their arguments and when each of them is ready.

Pure data, with no import of launch or rclpy. Two adapters read it: `safegen up` (supervisor.py) and
`launch/*.launch.py` for launch_ros, so both start the same nodes with the same parameters.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from safegen_ros.bringup.profiles import PROFILES, ArgSpec, NodeSpec, Profile
from safegen_ros.errors import BringupError, SafegenError
from safegen_ros.llm.model_names import KEY_ENV, named_model
from safegen_ros.node_parameters import NODES
from safegen_ros.paths import data_path
from safegen_ros.pddl.diagnostics import suggestion
from safegen_ros.ros.parameter_files import check_parameter_file
from safegen_ros.ros.stack_state import check_distribution

_NAMESPACE = re.compile(r'/?[A-Za-z_]\w*(/[A-Za-z_]\w*)*')


def _check_number(spec: ArgSpec, value: str) -> None:
    try:
        number = int(value) if spec.kind == 'int' else float(value)
    except ValueError:
        raise BringupError(
            f'argument {spec.name}: {value!r} is not a number ({spec.help})'
        ) from None
    if not spec.low <= number <= spec.high:
        raise BringupError(
            f'argument {spec.name}: {value} is outside {spec.low} to {spec.high} ({spec.help})'
        )


def _checked(spec: ArgSpec, value: str) -> str:
    if spec.choices and value not in spec.choices:
        known = ', '.join(filter(None, spec.choices))
        raise BringupError(f'argument {spec.name}: {value!r} is not one of: {known}')
    if not value:
        return value
    if spec.name == 'namespace' and value != '/' and not _NAMESPACE.fullmatch(value):
        raise BringupError(f'argument namespace: {value!r} is not a ROS name, such as lab/arm1')
    if spec.kind in ('int', 'float'):
        _check_number(spec, value)
    if spec.kind in ('path', 'params', 'model'):
        try:
            found = named_model(value) if spec.kind == 'model' else str(data_path(value))
            _check_file(spec, found)
        except SafegenError as error:
            raise BringupError(f'argument {spec.name}: {error.message}') from error
        return found
    return value


def _check_file(spec: ArgSpec, found: str) -> None:
    """Reads a file as the nodes will, so that a wrong one is refused before they start."""
    if spec.kind == 'params':
        check_parameter_file(found)
    elif spec.name == 'scene_file':
        from safegen_ros.robot.scene import load_scene

        load_scene(found)
    elif spec.name == 'site_file':
        from safegen_ros.tasks.site import load_site

        load_site(Path(found))
    elif spec.name == 'operators_file':
        from safegen_ros.keys.authority import read_operators

        read_operators(Path(found))


def profile_of(name: str) -> Profile:
    """Look a profile up.

    Raises:
        BringupError: there is no such profile.
    """
    if name not in PROFILES:
        raise BringupError(f'profile {name!r} does not exist: begin with {" or ".join(PROFILES)}')
    return PROFILES[name]


def argument_values(arguments: Sequence[str]) -> dict[str, str]:
    """The arguments of a profile as a command line has them, by name.

    Raises:
        BringupError: one is not `name:=value`.
    """
    values = {}
    for argument in arguments:
        name, separator, value = argument.partition(':=')
        if not separator:
            raise BringupError(f'{argument!r} is not an argument: write name:=value')
        values[name] = value
    return values


def node_specs(profile: str, values: Mapping[str, object] | None = None) -> tuple[NodeSpec, ...]:
    """The nodes of a profile, in the order of their start.

    Args:
        values: arguments that differ from their defaults; a value is taken as `str(value)`.

    Raises:
        BringupError: an argument is unknown, out of range or names a file that does not exist.
    """
    check_distribution(os.environ)
    chosen = profile_of(profile)
    known = {spec.name: spec for spec in chosen.args}
    given = {name: str(value) for name, value in (values or {}).items()}
    for name in given:
        if name not in known:
            raise BringupError(
                f'argument {name} does not exist: {suggestion(name, known)}'
                f'use one of {" ".join(known)}'
            )
    checked = {name: _checked(spec, given.get(name, spec.default)) for name, spec in known.items()}
    return chosen.build(checked)


def parameters(spec: NodeSpec) -> dict[str, Any]:
    """The parameters that a node would be started with."""
    values: dict[str, Any] = {each.name: each.default for each in NODES.get(spec.name, ())}
    for path in spec.params_files:
        document = yaml.safe_load(Path(path).read_text(encoding='utf-8')) or {}
        for key in ('/**', f'/**/{spec.name}', spec.name, spec.full_name):
            values |= document.get(key, {}).get('ros__parameters', {})
    return values | dict(spec.params)


def key_variables(specs: Sequence[NodeSpec]) -> set[str]:
    """Environment variables that hold the keys of model servers, for `NodeSpec.holds_keys`."""
    named = {str(parameters(spec).get('api_key_env', '')) for spec in specs if spec.holds_keys}
    return (named | {KEY_ENV}) - {''}


def params_yaml(spec: NodeSpec) -> str:
    """The overrides of a node as the text of a ROS parameter file.

    A file keeps the type of each value: `-p model:=5` would make an integer of a string. The
    overrides stand under two keys. In rcl the last key of all files wins, so `/**` alone would lose
    to a file with `/**` and the name of the node.
    """
    # A JSON scalar is a YAML scalar of the same type, quoted where that matters.
    values = [f'    {name}: {json.dumps(value, ensure_ascii=False)}' for name, value in spec.params]
    blocks = [[f'{key}:', '  ros__parameters:', *values] for key in ('/**', spec.full_name)]
    return '\n'.join([line for block in blocks for line in block] + [''])


def node_arguments(spec: NodeSpec, overrides_file: str | None = None) -> list[str]:
    """What follows the module on the command line of a node, as launch_ros would write it.

    Args:
        overrides_file: file with `params_yaml(spec)`, read after the other files.
    """
    words = ['--ros-args', '-r', f'__node:={spec.name}', '-r', f'__ns:={spec.namespace}']
    for path in (*spec.params_files, *([overrides_file] if overrides_file else [])):
        words += ['--params-file', path]
    return [*words, '--log-level', spec.log_level]
