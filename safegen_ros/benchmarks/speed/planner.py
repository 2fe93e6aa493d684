# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench planner`: the search planner on problems of the paper's sizes, route by route."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from safegen_ros.benchmarks.speed.jobs import Job, Journal, NotifyOutcome, Outcome, run_jobs
from safegen_ros.benchmarks.speed.report import Measurement, Report, csv_text
from safegen_ros.record.run import write_durably
from safegen_ros.search.solve import Route
from safegen_ros.tasks.pddl3.domains import kits

MOST_MEAN_MS = 50.0

OUTCOMES = 'outcomes.jsonl'
"""The journal of a run, in its folder."""


@dataclass(frozen=True, slots=True)
class PlannerSettings:
    """What `safegen bench planner` was asked.

    Attributes:
        problems: problems of each domain; their constraint families take turns.
        routes: who solves them.
        seed: of the problems.
        time_limit_s: for each problem [s].
        memory_limit_mb: for each problem [MiB].
        processes: problems that are solved at once.
    """

    problems: int
    routes: tuple[Route, ...]
    seed: int
    time_limit_s: float
    memory_limit_mb: int
    processes: int


def paper_jobs(settings: PlannerSettings) -> list[Job]:
    """Every problem for every route, once for any plan and once for a shortest one."""
    jobs = []
    for kit in kits().values():
        families = [name for name in kit.families if kit.sizes(name)]
        for number in range(settings.problems):
            family = families[number % len(families)]
            sizes = kit.sizes(family)
            size = sizes[number // len(families) % len(sizes)]
            seed = settings.seed * 100_003 + number
            jobs += [
                Job(
                    kit.name, family, size, seed, route, optimal, settings.time_limit_s,
                    settings.memory_limit_mb,
                )
                for route in settings.routes
                for optimal in (False, True)
            ]  # fmt: skip
    return jobs


def measure(settings: PlannerSettings, folder: Path, notify: NotifyOutcome) -> Report:
    """Takes all figures.

    Args:
        settings: how much to measure.
        folder: of the run; outcomes that it holds are not measured again.
        notify: told of every outcome.

    Raises:
        SafegenError: the journal in the folder is none.
    """
    journal = Journal(folder / OUTCOMES)
    outcomes = run_jobs(paper_jobs(settings), journal, settings.processes, notify)
    write_outcomes(folder, outcomes)
    measurements: list[Measurement] = []
    for route in settings.routes:
        for optimal in (False, True):
            own = [o for o in outcomes if o.job.route == route and o.job.optimal is optimal]
            what = f'{route} --optimal' if optimal else route
            target = MOST_MEAN_MS if route == 'auto' and not optimal else None
            measurements += _figures(what, own, target)
    return Report('planner', asdict(settings), tuple(measurements))


def _figures(what: str, outcomes: Sequence[Outcome], target: float | None) -> Iterator[Measurement]:
    """Time and success of one route in one mode, the time for each domain and over all."""
    failed = [o.message for o in outcomes if o.status == 'failed']
    if failed:
        yield Measurement(f'{what}: solved', None, '%', note=failed[0])
        return
    domains = list(dict.fromkeys(outcome.job.domain for outcome in outcomes))
    for domain in (*domains, ''):
        own = [o for o in outcomes if domain in ('', o.job.domain)]
        milliseconds = [o.seconds * 1e3 for o in own]
        solved, proved = sum(o.solved for o in own), sum(o.proved for o in own)
        yield Measurement(
            f'{what}: {domain or "all domains"}, mean', statistics.fmean(milliseconds), 'ms',
            target, at_least=False,
            note=f'median {statistics.median(milliseconds):.1f}, most {max(milliseconds):.0f}; '
            f'{solved} of {len(own)} solved, {proved} proved shortest',
        )  # fmt: skip
    share = 100 * sum(o.solved for o in outcomes) / len(outcomes)
    yield Measurement(f'{what}: solved', share, '%', None if target is None else 100.0)


def write_outcomes(folder: Path, outcomes: Sequence[Outcome]) -> None:
    """Writes `outcomes.csv`, a row for each."""
    header = (
        'domain', 'family', 'size', 'seed', 'route', 'optimal', 'status', 'seconds', 'steps',
        'proved shortest', 'answered by', 'expanded', 'message',
    )  # fmt: skip
    rows = [
        (
            o.job.domain, o.job.family, ' '.join(f'{k}={v}' for k, v in o.job.size.items()),
            o.job.seed, o.job.route, o.job.optimal, o.status, f'{o.seconds:.4f}', o.steps,
            o.proved, o.route, o.expanded, o.message,
        )
        for o in outcomes
    ]  # fmt: skip
    write_durably(folder / 'outcomes.csv', csv_text(header, rows))
