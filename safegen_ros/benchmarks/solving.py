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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from safegen_ros.benchmarks.language import pairs
from safegen_ros.errors import SafegenError
from safegen_ros.goals.files import read_task
from safegen_ros.search.budget import Budget, SearchLimit
from safegen_ros.search.programs import ProgramResult, run_program

SOLVED = 'solved'
NO_PLAN = 'no plan'
_GRACE_S = 15.0  # for a start and an end, beyond the limit that `safegen solve` keeps itself
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
        steps: length of the plan.
        route: engine that answered.
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
        return ['safegen', *([self.reference] if self.reference else [])]

    def run(self, collection: str, domain: Path, problem: Path, planner: str) -> Trial:
        """Asks a planner for a plan of a problem; a plan of another one is proved, too."""
        ask = self._ours if planner == 'safegen' else self._other
        begun = time.monotonic()
        values = ask(domain, problem)
        seconds = values.pop('seconds', None) or time.monotonic() - begun
        return Trial(collection, str(problem), planner, seconds=round(seconds, 3), **values)

    def _ours(self, domain: Path, problem: Path) -> dict[str, Any]:
        command = [
            sys.executable, '-m', 'safegen_ros.cli.main', 'solve', '--json', '--route', self.route,
            '--time-limit', str(self.time_limit_s), '--memory-limit', str(self.memory_limit_mb),
            *(['--any-name'] if self.any_name else []), str(domain), str(problem),
        ]  # fmt: skip
        try:
            ended = self._program(command, self.time_limit_s + _GRACE_S, 2 * self.memory_limit_mb)
            found = json.loads(ended.output)
        except SearchLimit:
            return {'status': 'limit', 'reason': 'did not end in time'}
        except ValueError:
            return {'status': 'error', 'reason': _last(ended)}
        errors = found.get('errors') or [{}]
        return {
            'status': found['status'],
            'reason': errors[0].get('what') or errors[0].get('message', ''),
            'steps': len(found['plan'] or ()),
            'route': found['route'] or '',
            'seconds': found['seconds'],
        }

    def _other(self, domain: Path, problem: Path) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            plan = Path(folder, 'plan')
            words = {'domain': domain.resolve(), 'problem': problem.resolve(), 'plan': plan}
            command = [word.format(**words) for word in shlex.split(self.reference)]
            begun = time.monotonic()
            try:
                ended = self._program(command, self.time_limit_s, self.memory_limit_mb)
                reason = _last(ended)
            except SearchLimit:
                reason = 'time limit'
            seconds = time.monotonic() - begun
            written = sorted(Path(folder).glob('plan*'), key=lambda path: path.stat().st_mtime)
            if not written:
                return {'status': NO_PLAN, 'reason': reason, 'seconds': seconds}
            try:
                task = read_task(problem, domain, any_name=self.any_name)
                verdict = task.verify(written[-1].read_text(encoding='ascii', errors='replace'))
            except SafegenError as error:
                return {'status': 'error', 'reason': error.message, 'seconds': seconds}
            status = SOLVED if verdict.ok else verdict.category.name
            return {'status': status, 'reason': verdict.reason, 'seconds': seconds}

    def _program(self, command: Sequence[str], seconds: float, memory_mb: float) -> ProgramResult:
        return run_program(command, Budget(seconds, memory_mb))


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
    known = {(t.problem, t.planner): t for t in _journal(journal)} if journal else {}
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


def _journal(path: Path) -> Iterator[Trial]:
    for line in path.read_text(encoding='utf-8').splitlines() if path.exists() else ():
        yield Trial(**json.loads(line))


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
