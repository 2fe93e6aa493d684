# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Node parameters, each declared once with its description, its unit and its range."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node

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
    """

    name: str
    default: Any
    description: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()

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
        descriptor = ParameterDescriptor(description=self.description)
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


def declare(node: Node, parameters: tuple[Parameter, ...]) -> None:
    """Declares parameters, with the values that the node was started with.

    Raises:
        rclpy.exceptions.InvalidParameterValueException: an override is out of range.
        rclpy.exceptions.InvalidParameterTypeException: an override has another type.
    """
    for p in parameters:
        node.declare_parameter(p.name, p.default, p.descriptor())


def read(node: Node, parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    """The values that declared parameters have now."""
    return {p.name: node.get_parameter(p.name).value for p in parameters}
