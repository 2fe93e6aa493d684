# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The domains: every folder here is one, and so is every one in a directory of `SEARCH_PATH`.

A folder holds `domain.pddl` and exports `KIT`, which says by which names problems ask for the
domain and makes problems of it (see `kit.DomainKit`). Nothing else lists the domains; a folder
whose name begins with `_` is none.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.language.vocabulary import Vocabulary
from safegen_ros.pddl.model import Domain
from safegen_ros.pddl.reader import read_domain

if TYPE_CHECKING:
    from safegen_ros.tasks.pddl3.domains.kit import DomainKit

SEARCH_PATH = 'SAFEGEN_DOMAIN_PATH'
"""The environment variable that lists directories with more domain folders."""

_HERE = Path(__file__).parent


def _listed_directories() -> list[str]:
    """The directories that `SEARCH_PATH` lists; they become part of this package.

    So a folder is imported in the same way wherever it lies.
    """
    entries = filter(None, os.environ.get(SEARCH_PATH, '').split(os.pathsep))
    directories = [str(Path(entry).absolute()) for entry in entries]
    __path__.extend(entry for entry in directories if entry not in __path__)
    return directories


_listed_directories()


def domain_folders() -> Mapping[str, Path]:
    """Every domain folder by its name: those beside this file, then those of `SEARCH_PATH`.

    Raises:
        SafegenError: a directory that is none, or two folders of one name.
    """
    for entry in _listed_directories():
        if not Path(entry).is_dir():
            raise SafegenError(
                f'{SEARCH_PATH}: {entry} is no directory: list directories with domain folders',
                ErrorCode.UNKNOWN_DOMAIN,
            )
    found: dict[str, Path] = {}
    for directory in map(Path, __path__):
        for module in iter_modules([str(directory)]):
            if not module.ispkg or module.name.startswith('_'):
                continue
            if module.name in found:
                what = f'lies in {found[module.name].parent} and in {directory}'
                raise _contradiction(module.name, what, 'rename one of them')
            found[module.name] = directory / module.name
    return found


def load_kit(folder: str) -> DomainKit:
    """What a domain folder brings.

    Raises:
        SafegenError: it cannot be imported, or exports no kit of its name.
    """
    from safegen_ros.tasks.pddl3.domains.kit import DomainKit

    try:
        kit = getattr(import_module(f'{__name__}.{folder}'), 'KIT', None)
    except Exception as error:
        what = f'cannot be imported: {type(error).__name__}: {error}'
        raise _contradiction(folder, what, 'fix it; python shows where') from error
    if not isinstance(kit, DomainKit):
        raise _contradiction(folder, 'exports no KIT', 'see the other folders')
    if kit.name != folder:
        raise _contradiction(folder, f'exports a KIT named {kit.name!r}', 'name it as the folder')
    if not kit.names:
        raise _contradiction(folder, 'has a KIT without names', 'give it that of the domain')
    return kit


@cache
def kits() -> Mapping[str, DomainKit]:
    """What every domain brings, by the name of its folder.

    Raises:
        SafegenError: a folder that contradicts itself or another one.
    """
    found: dict[str, DomainKit] = {}
    owners: dict[str, str] = {}
    for folder in domain_folders():
        kit = load_kit(folder)
        for name in kit.names:
            if name in owners:
                other = f'the name {name!r}, which is that of {owners[name]}'
                raise _contradiction(folder, f'claims {other}', 'choose another name')
            owners[name] = folder
        found[folder] = kit
    return found


@cache
def domain_files() -> Mapping[str, Path]:
    """The PDDL file of every domain, by each name that problems may use for it."""
    folders = domain_folders()
    return {
        name: folders[folder] / 'domain.pddl'
        for folder, kit in kits().items()
        for name in kit.names
    }


def builtin_domain_text(name: str) -> str:
    """The PDDL text of a domain that is found here; `name` is a key of `domain_files`.

    Raises:
        SafegenError: its folder has no such file.
    """
    path = domain_files()[name]
    try:
        return path.read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        what = f'domain.pddl cannot be read: {error}'
        raise _contradiction(path.parent.name, what, 'write the domain there') from error


@cache
def builtin_domain(name: str) -> Domain:
    """A domain that is found here as a model; `name` is a key of `domain_files`.

    Raises:
        SafegenError: its folder contradicts itself.
    """
    path = domain_files()[name]
    domain = read_domain(builtin_domain_text(name), str(path))
    own = kits()[path.parent.name].names[0]
    if domain.name != own:
        what = f'domain.pddl defines {domain.name!r}, but the first of the names of KIT is {own!r}'
        raise _contradiction(path.parent.name, what, 'make them equal')
    return domain


def vocabulary(domain: Domain) -> Vocabulary | None:
    """The words of the kit with a domain's types and predicates, first of one with its name.

    Raises:
        SafegenError: a folder contradicts itself.
    """
    fitting = [
        kit
        for kit in kits().values()
        for ours in [builtin_domain(kit.names[0])]
        if (ours.predicates, ours.types) == (domain.predicates, domain.types)
    ]
    if not fitting:
        return None
    kit = next((kit for kit in fitting if domain.name in kit.names), fitting[0])
    lexicon = domain_files()[kit.names[0]].with_name('lexicon.yaml')
    return Vocabulary(kit.wording, kit.names, lexicon if lexicon.is_file() else None)


def _contradiction(folder: str, what: str, cure: str) -> SafegenError:
    return SafegenError(f'domain folder {folder}: {what}: {cure}', ErrorCode.UNKNOWN_DOMAIN)


def require_same_actions(domain: Domain, name: str) -> None:
    """Refuses a domain whose actions are not exactly those of a built-in one.

    A robot cell knows what the actions of one domain do to the world. A domain that was sent with
    the task may use the same names for something else, and a proof about that says nothing here.

    Raises:
        SafegenError: an action is missing, added or different (`UNSUPPORTED_SCENE`).
    """
    ours = builtin_domain(name).actions
    for action in sorted({*ours, *domain.actions}):
        if ours.get(action) != domain.actions.get(action):
            raise SafegenError(
                f'action {action!r} of domain {domain.name} is not the one that this robot cell '
                f'carries out: leave the domain text out and use the built-in domain {name}',
                ErrorCode.UNSUPPORTED_SCENE,
            )
