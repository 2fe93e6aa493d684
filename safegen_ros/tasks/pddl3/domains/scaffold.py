# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Makes a domain folder to start from: a copy of `_template` under another name."""

from __future__ import annotations

import keyword
import os
import re
import shutil
from pathlib import Path
from pkgutil import iter_modules
from tempfile import mkdtemp

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.folders import SEARCH_PATH, listed_directories

_TEMPLATE = Path(__file__).parent / '_template'

_NAME = re.compile('[a-z][a-z0-9_]*')


def new_domain(name: str, into: Path | None = None) -> Path:
    """Makes a working domain folder, in one go or not at all.

    Args:
        name: what the domain and its folder will be called.
        into: directory of the new folder, which is made if it is missing; None for this package in
            a source checkout.

    Returns:
        The new folder.

    Raises:
        SafegenError: the name is not an identifier or is taken, the folder exists, or it cannot
            be written there.
    """
    _check_name(name)
    directory = _own_directory() if into is None else into.absolute()
    folder = directory / name
    if folder.exists():
        raise _refused(f'{folder} exists already: take another name or directory')
    try:
        directory.mkdir(parents=True, exist_ok=True)
        draft = Path(mkdtemp(dir=directory, prefix=f'.{name}-'))
    except OSError as error:
        raise _refused(f'{directory} cannot be written: {error.strerror}: give another') from error
    try:
        for source in sorted(_TEMPLATE.iterdir()):
            if source.is_file():
                text = source.read_text(encoding='utf-8').replace(_TEMPLATE.name, name)
                (draft / source.name).write_text(text, encoding='utf-8')
        draft.chmod(0o755)
        draft.rename(folder)
    except OSError as error:
        raise _refused(f'{folder} cannot be written: {error.strerror}: fix that') from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise _refused(
            f'{name!r} is not a name for a domain folder, which is a Python package: use small '
            'letters, digits and _, with a letter first, and no word of Python'
        )
    names = {other for kit in kits().values() for other in kit.names}
    directories = [str(Path(__file__).parent), *listed_directories()]
    if name in names | {module.name for module in iter_modules(directories)}:
        raise _refused(f'the name {name!r} is taken: choose another one')


def _own_directory() -> Path:
    """This package's folder, if it is that of a source checkout.

    Raises:
        SafegenError: it is an installed package, or may not be written.
    """
    directory = _TEMPLATE.parent
    checkout = directory.parents[3]
    if not (checkout / 'setup.py').is_file() or not os.access(directory, os.W_OK):
        raise _refused(
            'this safegen is not a source checkout that can be written: '
            f'give a directory of yours with --into, and list it in {SEARCH_PATH}'
        )
    return directory


def _refused(message: str) -> SafegenError:
    return SafegenError(message, ErrorCode.UNKNOWN_DOMAIN)
