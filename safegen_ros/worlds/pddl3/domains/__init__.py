# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The built-in domains: every folder here is one.

A folder holds `domain.pddl` and exports `KIT`, which says by which names problems ask for the
domain and makes problems of it (see `kit.DomainKit`). Nothing else lists the domains.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import Domain
from safegen_ros.pddl.reader import read_domain

if TYPE_CHECKING:
    from safegen_ros.worlds.pddl3.domains.kit import DomainKit

_HERE = Path(__file__).parent


@cache
def kits() -> Mapping[str, DomainKit]:
    """What every built-in domain brings, by the name of its folder.

    Raises:
        SafegenError: a folder that contradicts itself or another one.
    """
    found: dict[str, DomainKit] = {}
    owners: dict[str, str] = {}
    for folder in sorted(module.name for module in iter_modules([str(_HERE)]) if module.ispkg):
        kit: DomainKit | None = getattr(import_module(f'{__name__}.{folder}'), 'KIT', None)
        if kit is None or kit.name != folder:
            raise _contradiction(folder, 'exports no KIT of that name', 'see the other folders')
        for name in kit.names:
            if name in owners:
                other = f'the name {name!r}, which is that of {owners[name]}'
                raise _contradiction(folder, f'claims {other}', 'choose another name')
            owners[name] = folder
        found[folder] = kit
    return found


@cache
def domain_files() -> Mapping[str, Path]:
    """The PDDL file of every built-in domain, by each name that problems may use for it."""
    return {
        name: _HERE / folder / 'domain.pddl' for folder, kit in kits().items() for name in kit.names
    }


def builtin_domain_text(name: str) -> str:
    """The PDDL text of a built-in domain; `name` is a key of `domain_files`."""
    return domain_files()[name].read_text(encoding='utf-8')


@cache
def builtin_domain(name: str) -> Domain:
    """A built-in domain as a model; `name` is a key of `domain_files`.

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
