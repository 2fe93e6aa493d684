# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How many problems of a collection `safegen solve` solves, beside another planner."""

from __future__ import annotations

import json
import re
import shlex
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from safegen_ros.benchmarks.comparison import kept_lines
from safegen_ros.benchmarks.language import pairs
from safegen_ros.errors import SafegenError
from safegen_ros.goals.files import read_task
from safegen_ros.search.budget import Budget, SearchLimit
from safegen_ros.search.programs import ProgramResult, run_program

SOLVED = 'solved'
NO_PLAN = 'no plan'
SAFEGEN = 'safegen'
_LATE = 'did not end in time'
_LINES = 2  # of a program's last output, as its reason


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of a problem with one planner.

    Attributes:
        collection: folder that the user named.
        problem: path of its file.
        planner: `safegen`, or the command of another one.
        status: as `safegen solve` has it, `no plan`, or the verdict on the plan.
        seconds: until the process ended [s].
        reason: why there is no plan.
    """

    collection: str
    problem: str
    planner: str
    status: str
    seconds: float
    reason: str = ''
    steps: int = 0
    route: str = ''


@dataclass(frozen=True, slots=True)
class Solving:
    """The options for each problem.

    Attributes:
        time_limit_s: for each problem and planner [s].
        memory_limit_mb: likewise [MiB].
        route: of `safegen solve`.
        reference: command of another planner with `{domain}`, `{problem}` and `{plan}`, the file
            that it writes; empty for none.
        any_name: whether a problem may name another domain than its file.
    """

    time_limit_s: float = 60.0
    memory_limit_mb: float = 2048
    route: str = 'auto'
    reference: str = ''
    any_name: bool = False

    def planners(self) -> list[str]:
        """Names of the planners to ask."""
        return [SAFEGEN, *([self.reference] if self.reference else [])]

    def run(self, collection: str, domain: Path, problem: Path, planner: str) -> Trial:
        """Asks a planner for a plan of a problem, and proves it.

        The limits are those of the whole process, its start included, for every planner.
        """
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            command = self._command(planner, domain.resolve(), problem.resolve(), folder)
            ended = None
            with suppress(SearchLimit):
                ended = run_program(command, Budget(self.time_limit_s, self.memory_limit_mb))
            seconds = round(time.monotonic() - begun, 3)
            read = _ours if planner == SAFEGEN else _written
            plan, values = read(ended, Path(folder))
        if plan is not None:
            values |= self._proved(domain, problem, plan)
        return Trial(collection, str(problem), planner, seconds=seconds, **values)

    def _command(self, planner: str, domain: Path, problem: Path, folder: str) -> list[str]:
        if planner != SAFEGEN:
            words = {'domain': domain, 'problem': problem, 'plan': Path(folder, 'plan')}
            return [word.format(**words) for word in shlex.split(planner)]
        return [
            sys.executable, '-m', 'safegen_ros.cli.main', 'solve', '--json', '--route', self.route,
            '--time-limit', str(self.time_limit_s), '--memory-limit', str(self.memory_limit_mb),
            *(['--any-name'] if self.any_name else []), str(domain), str(problem),
        ]  # fmt: skip

    def _proved(self, domain: Path, problem: Path, plan: str) -> dict[str, Any]:
        try:
            verdict = read_task(problem, domain, any_name=self.any_name).verify(plan)
        except SafegenError as error:
            return {'status': 'error', 'reason': error.message}
        status = SOLVED if verdict.ok else verdict.category.name
        return {'status': status, 'reason': '' if verdict.ok else verdict.reason,
                'steps': verdict.plan_length}  # fmt: skip


def _ours(ended: ProgramResult | None, _: Path) -> tuple[str | None, dict[str, Any]]:
    """The plan of `safegen solve --json`, and what it says without one."""
    if ended is None:
        return None, {'status': 'limit', 'reason': _LATE}
    try:
        found = json.loads(ended.output)
    except ValueError:
        return None, {'status': 'error', 'reason': _last(ended)}
    plan = None if found['plan'] is None else '\n'.join(found['plan'])
    first = (found.get('errors') or [{}])[0]
    reason = first.get('what') or first.get('message', '')
    return plan, {'status': found['status'], 'reason': reason, 'route': found['route'] or ''}


def _written(ended: ProgramResult | None, folder: Path) -> tuple[str | None, dict[str, Any]]:
    """The last plan that a planner has written, also one that did not end in time."""
    written = sorted(folder.glob('plan*'), key=lambda path: path.stat().st_mtime)
    plan = written[-1].read_text(encoding='ascii', errors='replace') if written else None
    return plan, {'status': NO_PLAN, 'reason': _LATE if ended is None else _last(ended)}


def _last(ended: ProgramResult) -> str:
    lines = [line.strip() for line in (ended.output + ended.errors).splitlines() if line.strip()]
    return f'code {ended.code}: {" ".join(lines[-_LINES:])[:300]}'


def drawn(folder: Path, most: int, seed: int, any_name: bool) -> list[tuple[Path, Path]]:
    """Domain and problem of problems in random order; a larger sample begins with a smaller one."""
    found = list(pairs(folder, any_name))
    Random(seed).shuffle(found)  # noqa: S311
    return found[: most or None]


def run_all(
    folders: Sequence[Path],
    most: int,
    seed: int,
    asked: Solving,
    journal: Path | None,
    told: Callable[[Trial], None],
) -> list[Trial]:
    """Asks every planner for every problem; what a journal has already is not asked again."""
    kept = [Trial(**values) for values in kept_lines(journal)] if journal else []
    known = {(trial.problem, trial.planner): trial for trial in kept}
    trials = []
    for folder in folders:
        for domain, problem in drawn(folder, most, seed, asked.any_name):
            for planner in asked.planners():
                trial = known.get((str(problem), planner))
                if trial is None:
                    trial = asked.run(folder.name, domain, problem, planner)
                    if journal:
                        with journal.open('a', encoding='utf-8') as file:
                            file.write(f'{json.dumps(asdict(trial))}\n')
                told(trial)
                trials.append(trial)
    return trials


def summary(trials: Sequence[Trial]) -> list[tuple[str, ...]]:
    """A row for each collection and planner: problems, solved, solved by it alone, times."""
    rows = []
    for collection in dict.fromkeys(trial.collection for trial in trials):
        own = [trial for trial in trials if trial.collection == collection]
        solvers: dict[str, set[str]] = {}
        for trial in own:
            solvers.setdefault(trial.problem, set())
            if trial.status == SOLVED:
                solvers[trial.problem].add(trial.planner)
        for planner in dict.fromkeys(trial.planner for trial in own):
            mine = [trial for trial in own if trial.planner == planner]
            times = [trial.seconds for trial in mine if trial.status == SOLVED]
            middle = f'{statistics.median(times):.1f}' if times else '-'
            alone = sum(names == {planner} for names in solvers.values())
            counts = (len(mine), len(times), alone)
            rows.append((collection, planner, *map(str, counts), middle))
    return rows


def reasons(trials: Sequence[Trial]) -> list[tuple[str, str, str]]:
    """Why problems were not solved, the frequent reasons first."""
    counts = Counter(
        (trial.planner, f'{trial.status}: {re.sub(r"[0-9]+", "N", trial.reason)[:160]}')
        for trial in trials
        if trial.status != SOLVED
    )
    return [(*key, str(count)) for key, count in counts.most_common()]
