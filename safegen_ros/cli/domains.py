# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen domain`: the domains that problems are made of."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from safegen_ros.cli.failures import ExitStatus, JsonOnly, Verbose, guarded, teller
from safegen_ros.terminal import Console, table

if TYPE_CHECKING:
    from safegen_ros.tasks.pddl3.domains.check import Correlation
    from safegen_ros.tasks.pddl3.domains.inspection import DomainFinding
    from safegen_ros.tasks.pddl3.domains.kit import DomainKit

app = typer.Typer(no_args_is_help=True)

Seed = Annotated[int, typer.Option(min=0, max=2**31 - 1, help='seed of the first problem')]


@app.command('list')
def list_(
    name: Annotated[str | None, typer.Argument(help='name of one domain (default: all)')] = None,
    difficulty: Annotated[
        bool,
        typer.Option(
            '--difficulty',
            help='print how well difficulty scores predict the length of shortest safe plans',
        ),
    ] = False,
    problems: Annotated[
        int, typer.Option(min=2, max=100_000, help='problems per domain, with --difficulty')
    ] = 100,
    seed: Seed = 0,
    time_limit: Annotated[
        float,
        typer.Option(min=0.001, help='seconds of search per problem, with --difficulty'),
    ] = 60.0,
    as_json: JsonOnly = False,
    verbose: Verbose = False,
) -> None:
    """List domains, sizes and constraint families.

    Exit status: 0 done, 2 bad input, 3 internal error.
    """

    def whole() -> int:
        chosen = _kits(name)
        if difficulty:
            found = _correlations(chosen, problems, seed, time_limit)
            if as_json:
                print(json.dumps({'seed': seed, 'difficulty': [asdict(each) for each in found]}))
            else:
                _print_correlations(found, seed)
        elif as_json:
            print(json.dumps({'domains': [_values(kit) for kit in chosen]}))
        else:
            _print_domains(chosen)
        return ExitStatus.OK

    raise typer.Exit(guarded(whole, teller(as_json), verbose))


@app.command()
def new(
    name: Annotated[str, typer.Argument(help='name of the domain and its folder')],
    into: Annotated[Path, typer.Option(file_okay=False, help='parent of the new folder')] = Path(),
    verbose: Verbose = False,
) -> None:
    """Create a small working domain folder, to edit.

    Exit status: 0 done, 2 bad input, 3 internal error.
    """

    def whole() -> int:
        from safegen_ros.tasks.pddl3.domains.folders import SEARCH_PATH, domain_folders
        from safegen_ros.tasks.pddl3.domains.inspection import new_domain

        folder = new_domain(name, into)
        for path in sorted(folder.iterdir()):
            print(path)
        if name not in domain_folders():
            listed = os.pathsep.join(
                filter(None, (os.environ.get(SEARCH_PATH), str(folder.parent)))
            )
            print(f'export {SEARCH_PATH}={listed}')
        print(f'safegen domain check {name}')
        return ExitStatus.OK

    raise typer.Exit(guarded(whole, teller(False), verbose))


@app.command()
def check(
    name: Annotated[
        str | None,
        typer.Argument(help='domain name or PDDL domain file (default: all domains)'),
    ] = None,
    problems: Annotated[
        int, typer.Option(min=1, max=100_000, help='problems to draw per family')
    ] = 5,
    seed: Seed = 0,
    as_json: JsonOnly = False,
    verbose: Verbose = False,
) -> None:
    """Check domain folders for contradictions, and draw problems from them.

    Errors of a PDDL domain file (.pddl) are shown with line and column.

    Exit status: 0 no errors (notes are possible), 1 an error, 2 bad input, 3 internal error.
    """

    def whole() -> int:
        from safegen_ros.tasks.pddl3.domains.folders import domain_folders
        from safegen_ros.tasks.pddl3.domains.inspection import inspect_domain

        if name is not None and name.endswith('.pddl'):
            return _check_file(Path(name), as_json)
        names = list(domain_folders()) if name is None else [name]
        found = {each: list(inspect_domain(each, problems, seed)) for each in names}
        if as_json:
            values = {each: [asdict(finding) for finding in found[each]] for each in names}
            print(json.dumps({'domains': values}))
        else:
            for each in names:
                _print_findings(each, found[each], problems)
        failed = any(not finding.note for each in names for finding in found[each])
        return ExitStatus.FAILED if failed else ExitStatus.OK

    raise typer.Exit(guarded(whole, teller(as_json), verbose))


def _check_file(path: Path, as_json: bool) -> int:
    """Prints what a domain file holds; raises where it cannot be read."""
    from safegen_ros.errors import PddlError
    from safegen_ros.pddl.diagnostics import with_excerpts
    from safegen_ros.pddl.reader import read_domain
    from safegen_ros.pddl.text_files import read_text

    try:
        domain = read_domain(read_text(path, 'domain'), str(path))
    except PddlError as error:
        raise with_excerpts(error) from None
    if as_json:
        held = {'actions': list(domain.actions), 'predicates': list(domain.predicates)}
        print(json.dumps({'domains': {domain.name: held}}))
    else:
        print(
            f'{domain.name}: can be read ({len(domain.actions)} actions, '
            f'{len(domain.predicates)} predicates, {len(domain.types)} types)'
        )
    return ExitStatus.OK


def _kits(name: str | None) -> list[DomainKit]:
    from safegen_ros.errors import ErrorCode, SafegenError
    from safegen_ros.tasks.pddl3.domains import kits

    if name is not None and name not in kits():
        raise SafegenError(
            f'there is no domain {name!r}: use one of {" ".join(kits())}, or name the folder that '
            'has yours in SAFEGEN_DOMAIN_PATH',
            ErrorCode.UNKNOWN_DOMAIN,
        )
    return list(kits().values()) if name is None else [kits()[name]]


def _values(kit: DomainKit) -> dict[str, Any]:
    """A domain as values for JSON."""
    from safegen_ros.tasks.pddl3.domains import domain_files

    return {
        'name': kit.name,
        'names': list(kit.names),
        'file': str(domain_files()[kit.names[0]]),
        'parameters': [asdict(parameter) for parameter in kit.parameters],
        'rules': [rule.text for rule in kit.rules],
        'families': [
            {
                'name': family.name,
                'operators': list(family.operators),
                'paper': family.paper,
                'rules': [rule.text for rule in family.rules],
                'summary': family.summary,
            }
            for family in kit.families.values()
        ],
    }


def _print_domains(kits: Iterable[DomainKit]) -> None:
    for kit in kits:
        rows = [
            (p.name, _range(p.paper), _range(p.wide), _range((p.least, p.most)))
            for p in kit.parameters
        ]
        _print_table(kit.name, ('size', 'paper', 'wide', 'possible'), (), rows)
        families = [
            (f.name, ', '.join(f.operators), 'yes' if f.paper else '', f.summary)
            for f in kit.families.values()
        ]
        _print_table('', ('family', 'operators', 'paper', 'what it asks for'), (), families)


def _range(limits: tuple[int, int]) -> str:
    low, high = limits
    return str(low) if low == high else f'{low} to {high:,}'


def _print_table(
    title: str, words: Sequence[str], numbers: Sequence[str], rows: Iterable[Sequence[str]]
) -> None:
    Console(highlight=False, markup=False).print(table(title, words, numbers, rows))


def _correlations(
    kits: Sequence[DomainKit], problems: int, seed: int, time_limit: float
) -> list[Correlation]:
    from rich.progress import Progress

    from safegen_ros.pddl.model import Problem
    from safegen_ros.pddl.plan import Plan
    from safegen_ros.search.solve import solve
    from safegen_ros.tasks.pddl3.domains.check import correlation

    def shortest(problem: Problem) -> Plan:
        return solve(problem, optimal=True, time_limit_s=time_limit).plan

    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task('solving', total=problems * len(kits))
        return [
            correlation(kit, problems, seed, shortest, lambda: progress.advance(bar))
            for kit in kits
        ]


def _print_correlations(found: Iterable[Correlation], seed: int) -> None:
    rows = []
    for each in found:
        ranks = ['-' if rank is None else f'{rank:.2f}' for rank in (each.score, each.size)]
        rows.append((each.domain, f'{each.problems:,}', str(seed), f'{each.steps:.1f}', *ranks))
    heads = ('problems', 'seed', 'mean steps', 'score', 'sizes alone')
    title = "Spearman's rank correlation with the length of shortest safe plans"
    _print_table(title, ('domain',), heads, rows)


def _print_findings(name: str, findings: Sequence[DomainFinding], problems: int) -> None:
    wrong = sum(not finding.note for finding in findings)
    verdict = f'{wrong} to fix' if wrong else f'in order ({problems} problems of each family)'
    print(f'{name}: {verdict}')
    for finding in findings:
        print(f'  {"note" if finding.note else "wrong"}: {finding.message}')
