# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen solve`: a plan of the search planner, as text that `safegen verify` takes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any, get_args

import typer

from safegen_ros.cli.completion import TaskFiles, problem_and_domain
from safegen_ros.cli.display import ranking_values
from safegen_ros.cli.failures import AnyName, ExitStatus, JsonOnly, Verbose, guarded, one_of, teller
from safegen_ros.goals.files import DomainFile, ReadAs, read_task
from safegen_ros.search.budget import SearchLimit, Solution, Unsolvable
from safegen_ros.verdict import BrokenWish
from safegen_ros.verify.cost import Ranking, rank

SOLVED, UNSOLVABLE, LIMIT, ERROR = 'solved', 'unsolvable', 'limit', 'error'
"""The values of `status` in the JSON form."""


def solve(
    files: TaskFiles,
    domain: DomainFile = None,
    optimal: Annotated[
        bool,
        typer.Option(
            '--optimal',
            help='find the best plan by the :metric, else by the number of steps',
        ),
    ] = False,
    route: Annotated[
        str, typer.Option(help='search engine: auto, in-process, fast-downward or kairos')
    ] = 'auto',
    time_limit: Annotated[float, typer.Option(min=0.001, help='time limit in seconds')] = 60.0,
    memory_limit: Annotated[float, typer.Option(min=16, help='memory limit in MiB')] = 2048,
    as_json: JsonOnly = False,
    read_as: ReadAs = '',
    any_name: AnyName = False,
    verbose: Verbose = False,
) -> None:
    """Print a safe plan of the search planner; no model is asked.

    Exit status: 0 plan found, 1 proved that there is none, or limit reached, 2 bad input, 3
    internal error.
    """
    from safegen_ros.search.solve import Route
    from safegen_ros.search.solve import solve as search

    chosen: Route = one_of(route, get_args(Route))
    problem, own = problem_and_domain(files, domain)

    def whole() -> int:
        task = read_task(problem, own, format=read_as, any_name=any_name)
        try:
            found = search(
                task.problem,
                optimal=optimal,
                route=chosen,
                time_limit_s=time_limit,
                memory_limit_mb=memory_limit,
            )
        except (Unsolvable, SearchLimit) as error:
            status = UNSOLVABLE if isinstance(error, Unsolvable) else LIMIT
            teller(as_json, _values(status))(error, f'{status}: {error.message}')
            return ExitStatus.FAILED
        ranking, wishes = rank(task.problem, found.plan), task.verify(found.plan).wishes
        found = replace(found, plan=found.plan.spelt(task.problem.spelling))
        if as_json:
            print(json.dumps(_values(SOLVED, found, ranking, wishes)))
        else:
            print(plan_text(found, ranking, wishes))
        return ExitStatus.OK

    raise typer.Exit(guarded(whole, teller(as_json, _values(ERROR)), verbose))


def plan_text(
    found: Solution, ranking: Ranking | None = None, wishes: Sequence[BrokenWish] = ()
) -> str:
    """The plan with comments on where it comes from."""
    proof = 'proved' if found.optimal else 'not proved'
    fewest = f', {proof} to be the fewest' if ranking is None and found.plan.steps else ''
    expanded = f', {found.expanded:,} situations expanded' if found.expanded else ''
    lines = [
        f'; route: {found.route}',
        f'; steps: {len(found.plan)}{fewest}',
        f'; time: {found.seconds:.3f} s{expanded}',
        *([] if ranking is None else [f'; metric: {ranking}, {proof} to be the best']),
        *([f'; wishes broken: {", ".join(map(str, wishes))}'] if wishes else []),
        *str(found.plan).splitlines(),
    ]
    return '\n'.join(lines)


def _values(
    status: str,
    found: Solution | None = None,
    ranking: Ranking | None = None,
    wishes: Sequence[BrokenWish] = (),
) -> dict[str, Any]:
    """The answer as values for JSON; docs/validation.md explains each."""
    return {
        'status': status,
        'plan': None if found is None else str(found.plan).splitlines(),
        'route': None if found is None else found.route,
        'optimal': None if found is None else found.optimal,
        'metric': None if ranking is None else ranking_values(ranking),
        'wishes': [asdict(each) for each in wishes],
        'seconds': None if found is None else found.seconds,
        'expanded': None if found is None else found.expanded,
        'errors': [],
    }
