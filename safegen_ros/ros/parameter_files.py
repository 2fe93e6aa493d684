# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The form of ROS parameter files, checked before rcl reads them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import yaml

from safegen_ros.errors import SafegenError
from safegen_ros.schema import yaml_document

_BELOW = 'ros__parameters'
_FORM = f'NODE: {{{_BELOW}: {{NAME: VALUE}}}}'


class ParameterFileError(SafegenError):
    """A file that holds no ROS parameters; the message begins with its path and line."""


def check_parameter_file(path: str | Path) -> None:
    """Raise `ParameterFileError` where a file cannot be read, or has another form."""
    root = yaml_document(Path(path), ParameterFileError, nodes=True)
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
