# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The arguments that several verbs take, and what a shell offers for one that was begun."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from safegen_ros.bringup.profiles import PROFILES
from safegen_ros.goals.files import TEST_PROBLEMS, problems_in


def complete_problem(incomplete: str) -> list[str]:
    """Ids of test problems and paths of files that begin so."""
    ids = [name for name in problems_in(TEST_PROBLEMS) if name.startswith(incomplete)]
    return ids + _paths(incomplete)


def complete_profile(incomplete: str) -> list[tuple[str, str]]:
    """Profiles of the bring-up table that begin so, with their descriptions."""
    return [(name, each.help) for name, each in PROFILES.items() if name.startswith(incomplete)]


def complete_profile_argument(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """`name:=` of the arguments of the profile, with each of the values where they are few."""
    profile = PROFILES.get(context.params.get('profile') or 'sim')
    offered = []
    for spec in profile.args if profile else ():
        for value in [*filter(None, spec.choices or ())] or ['']:
            offered.append((f'{spec.name}:={value}', spec.help))
    return [each for each in offered if each[0].startswith(incomplete)]


ProfileArguments = Annotated[
    list[str] | None,
    typer.Argument(
        help='arguments of the profile, as name:=value', autocompletion=complete_profile_argument
    ),
]

TaskFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar='[DOMAIN] PROBLEM',
        help='problem file with its constraints (PDDL, JSON or English) or ID of a benchmark test '
        'problem (data/safegen-bench/test), and optionally a PDDL domain, in either order',
        autocompletion=complete_problem,
    ),
]


def problem_and_domain(files: list[Path], domain: Path | None) -> tuple[Path, Path | None]:
    """The parts of `[DOMAIN] PROBLEM`, beside the option `--domain`."""
    if len(files) > 2 or (len(files) == 2 and domain is not None):
        raise typer.BadParameter('give one problem and at most one domain')
    return files[-1], files[0] if len(files) == 2 else domain


def _paths(incomplete: str) -> list[str]:
    """Files and folders whose path begins so; a folder ends with a slash."""
    folder, _, start = incomplete.rpartition('/')
    place = Path(f'{folder}/' if folder or incomplete.startswith('/') else '.').expanduser()
    try:
        found = sorted(path for path in place.iterdir() if path.name.startswith(start))
    except OSError:
        return []
    before = incomplete[: len(incomplete) - len(start)]
    shown = [path for path in found if start.startswith('.') or not path.name.startswith('.')]
    return [before + path.name + ('/' if path.is_dir() else '') for path in shown]
