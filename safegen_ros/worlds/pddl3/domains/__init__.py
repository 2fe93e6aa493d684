# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The built-in domains: every folder here is one, with its `domain.pddl` and its `NAMES`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import Domain
from safegen_ros.pddl.reader import read_domain

_HERE = Path(__file__).parent


@cache
def domain_files() -> Mapping[str, Path]:
    """The PDDL file of every built-in domain, by each name that problems may use for it."""
    files: dict[str, Path] = {}
    for module in iter_modules([str(_HERE)]):
        if module.ispkg:
            package = import_module(f'{__name__}.{module.name}')
            files.update((name, _HERE / module.name / 'domain.pddl') for name in package.NAMES)
    return files


def builtin_domain_text(name: str) -> str:
    """The PDDL text of a built-in domain; `name` is a key of `domain_files`."""
    return domain_files()[name].read_text(encoding='utf-8')


@cache
def builtin_domain(name: str) -> Domain:
    """A built-in domain as a model; `name` is a key of `domain_files`."""
    return read_domain(builtin_domain_text(name), str(domain_files()[name]))


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
