# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a shell offers for an argument that was begun: problems, profiles and their arguments."""

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
