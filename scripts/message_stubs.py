# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Writes type stubs of the installed ROS interfaces: rosidl generates Python without types.

`message_stubs.py FOLDER` writes FOLDER/PACKAGE-stubs for each package with interfaces. In
site-packages, mypy and editors find them (PEP 561). `make setup` calls it.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rosidl_parser import definition as idl

HEAD = """\
from array import array
from collections.abc import MutableSequence, Sequence
from typing import Any, Final

from numpy.typing import NDArray
"""
PYTHON = {'boolean': 'bool', 'octet': 'bytes', 'float': 'float', 'double': 'float'}


def write_stubs(package: str, folder: Path) -> None:
    """Writes the stubs of a package anew."""
    shutil.rmtree(folder, ignore_errors=True)
    for kind in ('msg', 'srv', 'action'):
        if importlib.util.find_spec(f'{package}.{kind}') is not None:
            (folder / kind).mkdir(parents=True)
            text = _module(f'{package}.{kind}')
            (folder / kind / '__init__.pyi').write_text(text, encoding='utf-8')
    (folder / '__init__.pyi').touch()


def _module(name: str) -> str:
    members = vars(importlib.import_module(name)).values()
    # Those with an underscore are parts of an action, which have their place in it.
    classes = [each for each in members if isinstance(each, type) and '_' not in each.__name__]
    body = '\n'.join(line for cls in classes for line in _class(cls.__name__, cls))
    used = sorted(set(re.findall(r'\b\w+\.(?:msg|srv|action)(?=\.)', body)))
    return HEAD + ''.join(f'import {module}\n' for module in used) + body + '\n'


def _class(name: str, cls: Any) -> Iterator[str]:
    """A message; or a service or an action, with its messages as nested classes."""
    yield f'class {name}:'
    for key, value in vars(cls).items():
        if isinstance(value, type) and value.__module__ != cls.__module__:
            yield f'    {key} = {value.__module__.rpartition(".")[0]}.{value.__name__}'
        elif isinstance(value, type):
            yield from (f'    {line}' for line in _class(key, value))
        elif key.isupper() and isinstance(value, bool | int | float | str | bytes):
            yield f'    {key}: Final = {value!r}'
    if hasattr(cls, 'SLOT_TYPES'):
        yield from (f'    {line}' for line in _fields(cls))


def _fields(cls: Any) -> Iterator[str]:
    arguments = ''
    for name, kind in zip(cls.get_fields_and_field_types(), cls.SLOT_TYPES, strict=True):
        read, taken = _types(kind)
        if read == taken:
            yield f'{name}: {read}'
        else:
            yield '@property'
            yield f'def {name}(self) -> {read}: ...'
            yield f'@{name}.setter'
            yield f'def {name}(self, value: {taken}) -> None: ...'
        arguments += f', {name}: {taken} = ...'
    keywords = f', *{arguments}' if arguments else ''  # a message may be empty
    yield f'def __init__(self{keywords}) -> None: ...'


def _types(kind: idl.AbstractType) -> tuple[str, str]:
    """The type of a field that is read, and of the values that it takes."""
    if not isinstance(kind, idl.AbstractNestedType):
        return (_element(kind),) * 2
    element = _element(kind.value_type)
    if element not in ('int', 'float'):
        return (f'MutableSequence[{element}]',) * 2
    if isinstance(kind, idl.Array):
        return 'NDArray[Any]', f'Sequence[{element}] | NDArray[Any]'
    return f'array[{element}]', f'Sequence[{element}]'


def _element(kind: idl.AbstractType) -> str:
    if isinstance(kind, idl.BasicType):
        return PYTHON.get(kind.typename, 'int')
    if isinstance(kind, idl.NamespacedType):
        # The Python class of a part of a service or of an action is nested.
        name = re.sub('_(SendGoal|GetResult)', r'_Impl_\1Service', kind.name).replace('_', '.')
        return '.'.join((*kind.namespaces, name))
    return 'str'


if __name__ == '__main__':
    index = Path(sys.prefix, 'share/ament_index/resource_index/rosidl_interfaces')
    for package in sorted(path.name for path in index.iterdir()):
        if importlib.util.find_spec(package) is not None:
            write_stubs(package, Path(sys.argv[1], f'{package}-stubs'))
