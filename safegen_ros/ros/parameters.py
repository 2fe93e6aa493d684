# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Node parameters, each declared once, and the form of the files that set them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from safegen_ros.errors import SafegenError
from safegen_ros.paths import PACKAGE
from safegen_ros.pddl.diagnostics import suggestion

MAX_TEXT = 4096
"""Most characters of a parameter: names, paths and addresses, not texts."""

_UNIT = re.compile(r'\[([^]]+)\]')


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a node, fixed while the node is configured.

    Attributes:
        name: snake_case, relative to the node.
        default: also gives the type.
        description: what it does, with the unit in brackets.
        low: smallest value allowed, for numbers.
        high: largest value allowed, for numbers.
        choices: the only values allowed, for texts; empty for any.
        fixed: whether it is set at the start of the process, and never after.
    """

    name: str
    default: Any
    description: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    fixed: bool = False

    @property
    def unit(self) -> str:
        """The unit of a number, `1` for one without; empty where the description has none."""
        found = _UNIT.search(self.description)
        return found.group(1) if found else ''

    def problem(self, value: object) -> str:
        """What is wrong with a value of the right type and range; empty where nothing is."""
        if not isinstance(value, str):
            return ''
        if self.choices and value not in self.choices:
            return f'{self.name}: {value[:80]!r} is none of: {", ".join(self.choices)}'
        if len(value) > MAX_TEXT:
            return f'{self.name}: {len(value):,} characters are more than the limit of {MAX_TEXT:,}'
        return ''

    def descriptor(self) -> ParameterDescriptor:
        """The ROS descriptor, with the range where there is one."""
        descriptor = ParameterDescriptor(description=self.description, read_only=self.fixed)
        if self.choices:
            descriptor.additional_constraints = f'one of: {", ".join(self.choices)}'
        if self.low is None or self.high is None:
            return descriptor
        if isinstance(self.default, float):
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=float(self.low), to_value=float(self.high))
            ]
        else:
            descriptor.integer_range = [
                IntegerRange(from_value=int(self.low), to_value=int(self.high), step=1)
            ]
        return descriptor


def _overrides(node: Node) -> dict[str, RosParameter]:
    """What files and arguments say about a node, by parameter; rclpy has no public name for it."""
    given: dict[str, RosParameter] = node._parameter_overrides
    return given


def declare(node: Node, parameters: tuple[Parameter, ...]) -> None:
    """Declares parameters, with the values that the node was started with.

    A whole number is taken for a parameter that is not one, such as 2 for 2.0.

    Raises:
        SafegenError: an override has another type.
        rclpy.exceptions.InvalidParameterValueException: an override is out of range.
    """
    given = _overrides(node)
    for p in parameters:
        if p.name in given:
            given[p.name] = RosParameter(p.name, value=_converted(p, given[p.name].value))
        node.declare_parameter(p.name, p.default, p.descriptor())


_KINDS = {bool: 'true or false', int: 'a whole number', float: 'a number', str: 'a text'}


def _converted(p: Parameter, value: object) -> object:
    """An override as the type of its parameter; raises `SafegenError` where it is another one."""
    if type(p.default) is float and type(value) is int:
        return float(value)
    if type(value) is type(p.default):
        return value
    shown = str(value).lower() if isinstance(value, bool) else repr(value)
    cure = (
        f'put it in quotes, such as {p.default!r}'
        if isinstance(p.default, str)
        else (f'write it without quotes, such as {str(p.default).lower()}')
    )
    raise SafegenError(f'parameter {p.name}: {shown[:80]} is not {_KINDS[type(p.default)]}: {cure}')


def unknown_overrides(node: Node) -> str:
    """Parameters that were given to a node and that no node of the stack has, with their likes.

    A file may set a parameter of another node for all of them (`/**`), which is no mistake.
    """
    known = set(node.get_parameters_by_prefix(''))
    unknown = sorted(n for n in _overrides(node) if not _is_known(n, known))
    if unknown:
        known |= _parameters_of_stack()
    return ', '.join(
        f'{name} ({suggestion(name, sorted(known)).strip() or "no name is like it"})'
        for name in unknown
        if not _is_known(name, known)
    )


def _is_known(name: str, known: Iterable[str]) -> bool:
    return name in known or name.startswith('qos_overrides.')


def _parameters_of_stack() -> set[str]:
    modules = (import_module(f'{PACKAGE}.nodes.{n}') for n in ('planner', 'validator', 'executor'))
    return {p.name for module in modules for p in module.PARAMETERS}


def read(node: Node, parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    """The values that declared parameters have now."""
    return {p.name: node.get_parameter(p.name).value for p in parameters}


_BELOW = 'ros__parameters'
_FORM = f'NODE: {{{_BELOW}: {{NAME: VALUE}}}}'


class ParameterFileError(SafegenError):
    """A file that holds no ROS parameters; the message begins with its path and line."""


def check_parameter_file(path: str | Path) -> None:
    """Raise `ParameterFileError` where a file cannot be read, or has another form."""
    try:
        root = yaml.compose(Path(path).read_text(encoding='utf-8'), Loader=yaml.SafeLoader)
    except OSError as error:
        raise ParameterFileError(f'{path}: cannot be read: {error.strerror}') from error
    except UnicodeDecodeError as error:
        raise ParameterFileError(f'{path}: is no text in UTF-8') from error
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, 'problem_mark', None)
        line = f':{mark.line + 1}' if mark else ''
        problem = getattr(error, 'problem', None) or str(error).split('\n')[0]
        raise ParameterFileError(f'{path}{line}: is no YAML: {problem}') from error
    if root is not None:
        _check_nodes(path, root)


def parameter_files(arguments: list[str]) -> list[str]:
    """The parameter files that the command line of a node names."""
    return [value for option, value in pairwise(arguments) if option == '--params-file']


def _check_nodes(path: str | Path, node: yaml.Node) -> None:
    if not isinstance(node, yaml.MappingNode):
        raise _wrong(path, node, f'{_BELOW} is missing above this: write {_FORM}')
    for key, value in node.value:
        if key.value == _BELOW:
            _check_values(path, value)
        else:
            _check_nodes(path, value)


def _check_values(path: str | Path, node: yaml.Node) -> None:
    if not isinstance(node, yaml.MappingNode):
        raise _wrong(path, node, f'there is no parameter below {_BELOW}: write {_FORM}')
    for key, value in node.value:
        if isinstance(value, yaml.MappingNode):
            _check_values(path, value)
        elif value.tag == 'tag:yaml.org,2002:null':
            raise _wrong(path, key, f'{key.value} has no value: give it one, or take it out')


def _wrong(path: str | Path, node: yaml.Node, problem: str) -> ParameterFileError:
    return ParameterFileError(f'{path}:{node.start_mark.line + 1}: {problem}')
