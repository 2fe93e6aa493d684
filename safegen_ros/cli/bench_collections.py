# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench language` and `safegen bench solve`: collections of PDDL files of the user."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from safegen_ros.cli.failures import AnyName, JsonOnly
from safegen_ros.terminal import Console, table

Folders = Annotated[
    list[Path],
    typer.Argument(exists=True, file_okay=False, help='collections of PDDL files'),
]
Seed = Annotated[int, typer.Option(min=0, max=2**31 - 1, help='seed of the draw')]


def language(
    folders: Folders,
    most: Annotated[
        int,
        typer.Option(
            '--sample', min=0, help='domains, and problems, to draw from each folder (0: all)'
        ),
    ] = 0,
    reasons: Annotated[int, typer.Option(min=0, help='number of frequent refusals to show')] = 30,
    as_json: JsonOnly = False,
    seed: Seed = 0,
) -> None:
    """Count the PDDL files of your collections that are read, and why others are not.

    Duplicates in a folder count once. A well-formed file is one list with balanced
    parentheses. No collection is shipped. The intervals are
    Wilson's, 95 %.
    """
    from safegen_ros.benchmarks import language as shares

    console = Console()
    with console.status('reading') as status:
        told = (lambda path: None) if as_json else (lambda path: status.update(escape(path[-70:])))
        found = [shares.measure_folder(each, most, seed, told) for each in folders]
    if as_json:
        print(json.dumps(shares.as_values(found)))
        return
    whole = shares.total(found)
    rows = [
        (
            each.name,
            *(
                text(share)
                for share in (each.domains, each.problems)
                for text in (shares.share_text, shares.well_formed_text)
            ),
        )
        for each in (*found, *([whole] if len(found) > 1 else []))
    ]
    heads = ('domains read', 'of well-formed', 'problems read', 'of well-formed')
    console.print(table('', ('collection',), heads, rows))
    kinds = (('domain', whole.domains), ('problem', whole.problems), ('not paired', whole.unpaired))
    refused = [
        (kind, escape(reason), str(count))
        for kind, share in kinds
        for reason, count in share.reasons.most_common(reasons)
    ]
    if refused:
        console.print(table('', ('refused', 'reason'), ('files',), refused))


def solve(
    folders: Folders,
    most: Annotated[
        int, typer.Option('--sample', min=0, help='problems to draw from each folder (0: all)')
    ] = 60,
    time_limit: Annotated[float, typer.Option(min=0.1, help='seconds per problem')] = 60.0,
    memory_limit: Annotated[float, typer.Option(min=64, help='MiB per problem')] = 2048,
    route: Annotated[str, typer.Option(help='search engine, as for safegen solve')] = 'auto',
    reference: Annotated[
        str,
        typer.Option(
            help='command of another planner, with {domain}, {problem} and {plan}, the file that '
            'it writes'
        ),
    ] = '',
    any_name: AnyName = False,
    journal: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help='file of the trials; those in it are not run again'),
    ] = None,
    as_json: JsonOnly = False,
    seed: Seed = 0,
) -> None:
    """Count the solved problems of your collections, also with another planner.

    Each problem runs in a separate process. A plan of the other planner counts if it is proved.
    """
    from safegen_ros.benchmarks import solving

    asked = solving.Solving(time_limit, memory_limit, route, reference, any_name)
    console = Console()

    def told(trial: solving.Trial) -> None:
        if not as_json:
            what = f'{trial.status} {trial.seconds:.1f} s {trial.planner[:20]}: {trial.problem}'
            console.print(what, markup=False, highlight=False)

    trials = solving.run_all(folders, most, seed, asked, journal, told)
    if as_json:
        print(json.dumps([asdict(trial) for trial in trials]))
        return
    words = ('problems', 'solved', 'by it alone', 'median s')
    console.print(table('', ('collection', 'planner'), words, solving.summary(trials)))
    if lost := solving.reasons(trials):
        console.print(table('', ('planner', 'not solved'), ('problems',), lost))
