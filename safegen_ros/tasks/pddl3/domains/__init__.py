# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The domains: every folder here, and in a directory of `folders.SEARCH_PATH`, is one.

A folder holds `domain.pddl` and exports `KIT`, which says by which names problems ask for the
domain and makes problems of it (see `kit.DomainKit`). Nothing else lists the domains; a folder
whose name begins with `_` is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.language.lexicon import Vocabulary
from safegen_ros.pddl.model import Domain
from safegen_ros.tasks.pddl3.domains.folders import (
    contradiction,
    domain_folders,
    folder_domain,
    folder_domain_text,
    listed_directories,
)
from safegen_ros.tasks.pddl3.domains.kit import DomainKit


def _extend_package() -> None:
    """Makes the listed directories part of this package: their folders are imported as ours."""
    __path__.extend(each for each in listed_directories() if each not in __path__)


_extend_package()


def load_kit(folder: str) -> DomainKit:
    """What a domain folder brings.

    Raises:
        SafegenError: it cannot be imported, or exports no kit of its name.
    """
    _extend_package()
    try:
        kit = getattr(import_module(f'{__name__}.{folder}'), 'KIT', None)
    except Exception as error:
        what = f'cannot be imported: {type(error).__name__}: {error}'
        raise contradiction(folder, what, 'fix it; python shows where') from error
    if not isinstance(kit, DomainKit):
        raise contradiction(folder, 'exports no KIT', 'see the other folders')
    if kit.name != folder:
        raise contradiction(folder, f'exports a KIT named {kit.name!r}', 'name it as the folder')
    if not kit.names:
        raise contradiction(folder, 'has a KIT without names', 'give it that of the domain')
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
                raise contradiction(folder, f'claims {other}', 'choose another name')
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
    return folder_domain_text(domain_files()[name].parent)


@cache
def builtin_domain(name: str) -> Domain:
    """A domain that is found here as a model; `name` is a key of `domain_files`.

    Raises:
        SafegenError: its folder contradicts itself.
    """
    folder = domain_files()[name].parent.name
    domain = folder_domain(folder)
    own = kits()[folder].names[0]
    if domain.name != own:
        what = f'domain.pddl defines {domain.name!r}, but the first of the names of KIT is {own!r}'
        raise contradiction(folder, what, 'make them equal')
    return domain


def vocabulary(domain: Domain) -> Vocabulary | None:
    """The words of the kit with a domain's types and predicates, first of one with its name.

    Raises:
        SafegenError: a folder contradicts itself.
    """
    known = kits().values()
    named = [kit for kit in known if domain.name in kit.names]  # before the others are read
    for kit in (*named, *known):
        ours = builtin_domain(kit.names[0])
        if (ours.predicates, ours.types) == (domain.predicates, domain.types):
            break
    else:
        return None
    lexicon = domain_files()[kit.names[0]].with_name('lexicon.yaml')
    return Vocabulary(kit.wording, kit.names, lexicon if lexicon.is_file() else None)


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
                f'executes: use --cell symbolic, or the built-in {name} without a domain text',
                ErrorCode.UNSUPPORTED_SCENE,
            )
