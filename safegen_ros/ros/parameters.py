# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of a node: their declaration, and overrides that no node knows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from safegen_ros.errors import SafegenError
from safegen_ros.node_parameters import NODES, Parameter
from safegen_ros.pddl.diagnostics import suggestion


def _descriptor(p: Parameter) -> ParameterDescriptor:
    """The ROS descriptor, with the range where there is one."""
    descriptor = ParameterDescriptor(description=p.description, read_only=p.fixed)
    if p.choices:
        descriptor.additional_constraints = f'one of: {", ".join(p.choices)}'
    if p.low is None or p.high is None:
        return descriptor
    if isinstance(p.default, float):
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=float(p.low), to_value=float(p.high))
        ]
    else:
        descriptor.integer_range = [
            IntegerRange(from_value=int(p.low), to_value=int(p.high), step=1)
        ]
    return descriptor


def _overrides(node: Node) -> dict[str, RosParameter[Any]]:
    """What files and arguments say about a node, by parameter; rclpy has no public name for it."""
    given: dict[str, RosParameter[Any]] = node._parameter_overrides
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
        node.declare_parameter(p.name, p.default, _descriptor(p))


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

    A file may set a parameter of another node for all of them (`/**`), which is not a mistake.
    """
    known = set(node.get_parameters_by_prefix(''))
    unknown = sorted(n for n in _overrides(node) if not _is_known(n, known))
    if unknown:
        known |= {p.name for parameters in NODES.values() for p in parameters}
    return ', '.join(
        f'{name} ({suggestion(name, sorted(known)).strip() or "no name is like it"})'
        for name in unknown
        if not _is_known(name, known)
    )


def _is_known(name: str, known: Iterable[str]) -> bool:
    return name in known or name.startswith('qos_overrides.')


def read(node: Node, parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    """The values that declared parameters have now."""
    return {p.name: node.get_parameter(p.name).value for p in parameters}
