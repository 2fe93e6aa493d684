# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The folders of domains: those beside this file, and those in a directory of `SEARCH_PATH`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from pkgutil import iter_modules

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import Domain
from safegen_ros.pddl.reader import read_domain

SEARCH_PATH = 'SAFEGEN_DOMAIN_PATH'
"""The environment variable that lists directories with more domain folders."""


def listed_directories() -> list[str]:
    """The directories that `SEARCH_PATH` lists."""
    entries = filter(None, os.environ.get(SEARCH_PATH, '').split(os.pathsep))
    return list(dict.fromkeys(str(Path(entry).absolute()) for entry in entries))


def domain_folders() -> Mapping[str, Path]:
    """Every domain folder by its name: those beside this file, then those of `SEARCH_PATH`.

    Raises:
        SafegenError: a missing directory, or two folders of one name.
    """
    found: dict[str, Path] = {}
    for directory in (Path(__file__).parent, *map(Path, listed_directories())):
        if not directory.is_dir():
            raise SafegenError(
                f'{SEARCH_PATH}: {directory} is not a directory: list folders with domain folders',
                ErrorCode.UNKNOWN_DOMAIN,
            )
        for module in iter_modules([str(directory)]):
            if not module.ispkg or module.name.startswith('_'):
                continue
            if module.name in found:
                what = f'lies in {found[module.name].parent} and in {directory}'
                raise contradiction(module.name, what, 'rename one of them')
            found[module.name] = directory / module.name
    return found


def folder_domain_text(folder: Path) -> str:
    """The PDDL text of the domain in a folder.

    Raises:
        SafegenError: the folder has no such file.
    """
    try:
        return (folder / 'domain.pddl').read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        what = f'domain.pddl cannot be read: {error}'
        raise contradiction(folder.name, what, 'write the domain there') from error


@cache
def folder_domain(name: str) -> Domain:
    """The domain in the folder of a name; raises as `folder_domain_text`."""
    folder = domain_folders()[name]
    return read_domain(folder_domain_text(folder), str(folder / 'domain.pddl'))


def contradiction(folder: str, what: str, cure: str) -> SafegenError:
    """The error that a domain folder contradicts itself or another one."""
    return SafegenError(f'domain folder {folder}: {what}: {cure}', ErrorCode.UNKNOWN_DOMAIN)
