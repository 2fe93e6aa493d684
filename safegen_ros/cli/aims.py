# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen eval aims`: measures all that the shipped models are to reach, and prints one table."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from safegen_ros.benchmarks.comparison import claim, sign_test, wilson
from safegen_ros.cli.evaluation import app
from safegen_ros.cli.failures import one_of
from safegen_ros.cli.figure6 import figure6
from safegen_ros.datasets.files import DatasetError, read_json, writing
from safegen_ros.errors import SafegenError
from safegen_ros.paths import data_path
from safegen_ros.schema import SchemaReader, yaml_document
from safegen_ros.terminal import Console, table

app.command()(figure6)

_BY_CHANCE = 0.05
_PROGRAMS = {'safegen': ['-m', 'safegen_ros.cli.main'], 'python': []}


@dataclass(frozen=True, slots=True)
class MeasuringStep:
    """A command.

    Attributes:
        makes: the file that is there when it has run, in the folder of the results.
    """

    name: str
    makes: str
    run: str


@dataclass(frozen=True, slots=True)
class Aim:
    """A figure that is wanted.

    Attributes:
        file: of the results.
        where: the values of the lines that count, one or several for a field.
        wanted: at least, or at most where `most` is true [% or of `field`]; None for none.
        field: what is read of one line; empty for the successes of all lines, `low` for the lower
            bound of their interval.
        above: a file of the same problems, of which more must be solved, beyond chance.
    """

    aim: str
    file: str
    where: Mapping[str, Any]
    wanted: float | None = None
    most: bool = False
    field: str = ''
    above: str = ''


@dataclass(frozen=True, slots=True)
class AimsFile:
    """A file of aims, as config/aims.yaml."""

    steps: tuple[MeasuringStep, ...]
    aims: tuple[Aim, ...]


@app.command()
def aims(
    out: Annotated[
        Path, typer.Option(file_okay=False, help='folder of results (resumable)')
    ] = Path('runs/aims'),
    only: Annotated[
        list[str] | None, typer.Option(help='only the step of this name (repeatable)')
    ] = None,
    listed: Annotated[bool, typer.Option('--list', help='print the commands, run none')] = False,
    seed: Annotated[int, typer.Option(min=0, help='seed of the new problems')] = 501,
    draw: Annotated[int, typer.Option(min=0, help='seed of the sampling')] = 0,
    file: Annotated[Path, typer.Option(help='steps and aims')] = Path('config/aims.yaml'),
) -> None:
    """Measure what the shipped models are to reach, and print one table; several hours in all."""
    console = Console()
    found = read_aims(data_path(file))
    names = [each.name for each in found.steps]
    for name in only or ():
        one_of(name, names)
    chosen = [each for each in found.steps if not only or each.name in only]
    if not listed:
        claim(out, {'seed': seed, 'draw': draw})
    failed = []
    for step in chosen:
        command = step.run.format(out=shlex.quote(str(out)), seed=seed, draw=draw)
        console.print(f'{step.name}: {command}', soft_wrap=True, highlight=False, markup=False)
        if listed or (out / step.makes).exists():
            continue
        log = out / f'{step.name}.txt'
        _run(command, log)
        if not (out / step.makes).exists():
            failed.append(step.name)
            console.print(f'  failed: see {log}', soft_wrap=True, markup=False)
    if not listed:
        rows = [(each.aim, _wanted(each), *reached(each, out)) for each in found.aims]
        console.print(table('Aims [%]', ('aim',), ('wanted', 'reached', '95 %', 'n', 'met'), rows))
    if failed:
        raise SafegenError(f'these steps failed: {", ".join(failed)}')


def read_aims(path: Path) -> AimsFile:
    """The steps and aims of a file.

    Raises:
        DatasetError: it is no such file.
    """
    schema = SchemaReader(str(path), DatasetError)
    found = schema.read(AimsFile, yaml_document(path, DatasetError))
    for step in found.steps:
        try:
            program, *_ = shlex.split(step.run.format(out='', seed=0, draw=0))
        except (ValueError, LookupError):
            program = ''
        schema.choices([program], step.name, _PROGRAMS)
    return found


def _run(command: str, log: Path) -> None:
    """Runs a command, whose words go into a file."""
    program, *words = shlex.split(command)
    with writing(log), log.open('w', encoding='utf-8') as file:
        asked = [sys.executable, *_PROGRAMS[program], *words]
        subprocess.run(asked, check=False, stdout=file, stderr=file)


def _wanted(aim: Aim) -> str:
    if aim.wanted is None:
        return 'more' if aim.above else '-'
    return f'{"<=" if aim.most else ">="} {aim.wanted:g}'


def reached(aim: Aim, out: Path) -> tuple[str, str, str, str]:
    """What an aim came to, the interval of it, of how many problems, and whether that is enough."""
    for name in filter(None, (aim.file, aim.above)):
        if not (out / name).exists():
            return '-', '-', '-', 'not measured'
    try:
        found = _read(out / aim.file)
        wanted = {name: v if isinstance(v, list) else [v] for name, v in aim.where.items()}
        lines = [
            each for each in _lines(found) if all(each[name] in v for name, v in wanted.items())
        ]
        absent = [v for name, own in wanted.items() for v in own
                  if v not in [each[name] for each in lines]]  # fmt: skip
        if absent or (aim.field not in ('', 'low') and len(lines) > 1):
            return '-', '-', '-', 'unclear'
        count = sum(each['problems'] for each in lines)
        solved = sum(round(each['success'] * each['problems'] / 100) for each in lines)
        low, high = (100 * each for each in wilson(solved, count))
        mean = sum(each['success'] * each['problems'] for each in lines) / count
        value = float({**lines[0], '': mean, 'low': low}[aim.field])
        met = (
            _met(value <= aim.wanted if aim.most else value >= aim.wanted)
            if aim.wanted is not None
            else ''
        )
        if aim.above:
            (own,), (other,) = ([e for e in _lines(each) if e['mode'] in wanted['mode']]
                                for each in (found, _read(out / aim.above)))  # fmt: skip
            gained, lost = (
                {*a['solved']} - {*b['solved']} for a, b in ((own, other), (other, own))
            )
            chance = sign_test(len(gained), len(lost))
            better = chance < _BY_CHANCE and len(gained) > len(lost)
            same = own['problems'] == other['problems']
            met = f'{_met(better)}, p {chance:.2g}' if same else 'unclear'
    except (SafegenError, LookupError, TypeError, ValueError, ArithmeticError):
        return '-', '-', '-', 'unclear'
    shown = '' if aim.field else f'{low:.0f}-{high:.0f}'
    return f'{value:.{2 if aim.field else 1}f}', shown, str(count), met


def _met(met: bool) -> str:
    return 'yes' if met else 'no'


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = read_json(path, DatasetError, 'measure it again', 'measure it again')
    return found


def _lines(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The lines of a table, of a report, or of the score of translations."""
    if 'results' in found:
        return [
            {'mode': each['mode'], 'problems': each['total']['trials'],
             'success': each['total']['success_percent'], 'solved': each['solved']}
            for each in found['results']
        ]  # fmt: skip
    if 'groups' in found:
        return [
            {'case': case, 'problems': shares['rows'],
             'success': shares['enforced']['correct']['percent']}
            for cases in found['groups'].values() for case, shares in cases.items()
        ]  # fmt: skip
    return list(found['lines'])
