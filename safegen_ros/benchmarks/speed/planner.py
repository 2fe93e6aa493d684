# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench planner`: the search planner on problems of the paper's sizes, and on large ones.

The large ones are the regime of figure 3 of SafeGen-LLM. The paper measures OPTIC and Fast Downward
on Blocksworld and Grippers problems of growing size, 48 of each domain. Its machine, problems and
constraints are not published. So its figures stand beside ours and are not measured here.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from safegen_ros.benchmarks.measurement import Measurement, Report, csv_text
from safegen_ros.benchmarks.plots import Chart, save
from safegen_ros.benchmarks.speed.jobs import (
    NotifyOutcome,
    OutcomeJournal,
    SolverJob,
    SolverOutcome,
    run_jobs,
)
from safegen_ros.paths import write_durably
from safegen_ros.search.solve import Route
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.kit import DomainKit, SizeError

MOST_MEAN_MS = 50.0
LEAST_SOLVED = 95.0

OUTCOMES = 'outcomes.jsonl'
"""The journal of a run, in its folder."""


@dataclass(frozen=True, slots=True)
class PlannerSettings:
    """What `safegen bench planner` was asked.

    Attributes:
        problems: of each domain, or with --figure3 of each size; constraint families take turns.
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

    def jobs(
        self,
        kit: DomainKit,
        family: str,
        size: Mapping[str, int],
        number: int,
        modes: Sequence[bool],
    ) -> Iterator[SolverJob]:
        """One problem for every route, for any plan (False) or a shortest one (True)."""
        limits = self.time_limit_s, self.memory_limit_mb
        seed = self.seed * 100_003 + number
        for route in self.routes:
            for optimal in modes:
                yield SolverJob(kit.name, family, dict(size), seed, route, optimal, *limits)


def paper_jobs(settings: PlannerSettings) -> list[SolverJob]:
    """Every problem for every route, once for any plan and once for a shortest one."""
    jobs: list[SolverJob] = []
    for kit in kits().values():
        families = [name for name in kit.families if kit.sizes(name)]
        for number in range(settings.problems):
            family = families[number % len(families)]
            sizes = kit.sizes(family)
            size = sizes[number // len(families) % len(sizes)]
            jobs += settings.jobs(kit, family, size, number, (False, True))
    return jobs


def measure(settings: PlannerSettings, folder: Path, notify: NotifyOutcome) -> Report:
    """Takes the figures of problems of the paper's sizes.

    Args:
        folder: of the run; outcomes that it holds are not measured again.

    Raises:
        SafegenError: the journal in the folder is invalid.
    """
    outcomes = _outcomes(paper_jobs(settings), settings, folder, notify)
    measurements: list[Measurement] = []
    for route in settings.routes:
        for optimal in (False, True):
            own = [o for o in outcomes if o.job.route == route and o.job.optimal is optimal]
            what = f'{route} --optimal' if optimal else route
            target = MOST_MEAN_MS if route == 'auto' and not optimal else None
            measurements += _figures(what, own, target)
    return Report('planner', asdict(settings), tuple(measurements))


def _figures(
    what: str, outcomes: Sequence[SolverOutcome], target: float | None
) -> Iterator[Measurement]:
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
    yield Measurement(f'{what}: solved', _solved(outcomes), '%', None if target is None else 100.0)


@dataclass(frozen=True, slots=True)
class Regime:
    """A domain of figure 3.

    Attributes:
        fixed: the other sizes.
        paper: share of problems that each planner solves in the paper [%] (section V-B).
    """

    domain: str
    parameter: str
    bins: tuple[int, ...]
    fixed: Mapping[str, int]
    paper: Mapping[str, float]


REGIMES = (
    Regime(
        'blocksworld', 'blocks', (5, 10, 15, 20, 25, 30), {},
        {'OPTIC': 45.8, 'Fast Downward': 27.1},
    ),
    Regime(
        'grippers', 'objects', (5, 10, 15, 20, 25, 30, 35, 40), {'robots': 1, 'rooms': 4},
        {'OPTIC': 64.6, 'Fast Downward': 14.6},
    ),
)  # fmt: skip


def figure3_jobs(settings: PlannerSettings) -> list[SolverJob]:
    """Every problem for every route, the small ones first."""
    jobs: list[SolverJob] = []
    for regime in REGIMES:
        kit = kits()[regime.domain]
        for value in regime.bins:
            size = kit.checked({**regime.fixed, regime.parameter: value})
            families = _families(kit, size)
            for number in range(settings.problems):
                jobs += settings.jobs(kit, families[number % len(families)], size, number, (False,))
    return jobs


def _families(kit: DomainKit, size: Mapping[str, int]) -> list[str]:
    """The constraint families of the paper that this size can have."""
    found = []
    for name, family in kit.families.items():
        try:
            kit.checked(size, name)
        except SizeError:
            continue
        if family.paper:
            found.append(name)
    return found


def measure_figure3(settings: PlannerSettings, folder: Path, notify: NotifyOutcome) -> Report:
    """Takes the figures of large problems, and draws a chart for each domain; as `measure`."""
    outcomes = _outcomes(figure3_jobs(settings), settings, folder, notify)
    limit = f'{settings.time_limit_s:g} s'
    measurements: list[Measurement] = []
    for regime in REGIMES:
        own = {
            route: [o for o in outcomes if (o.job.domain, o.job.route) == (regime.domain, route)]
            for route in settings.routes
        }
        shares = {route: _shares(regime, found) for route, found in own.items()}
        for route, found in own.items():
            failed = [o.message for o in found if o.status == 'failed']
            texts = (
                f'{value}: {"-" if share is None else f"{share:.0f}"}'
                for value, share in zip(regime.bins, shares[route], strict=True)
            )
            measurements.append(
                Measurement(
                    f'{regime.domain}, {route}: solved within {limit}', _solved(found), '%',
                    LEAST_SOLVED if route == 'auto' else None,
                    note=failed[0] if failed else f'by {regime.parameter}: {", ".join(texts)}',
                )
            )  # fmt: skip
        for name, share in regime.paper.items():
            note = 'not measured here: another machine, other problems and constraints'
            measurements.append(
                Measurement(f'{regime.domain}, {name} in the paper', share, '%', note=note)
            )
        if find_spec('matplotlib') is not None:  # the figures are what counts
            chart = Chart(
                f'{regime.domain}: constrained problems solved in {limit} each',
                regime.parameter, 'solved [%]', regime.bins,
                {f'safegen solve --route {route}': found for route, found in shares.items()},
                {f'{name} in the paper, all sizes': share for name, share in regime.paper.items()},
            )  # fmt: skip
            save(chart.figure(), folder / f'figure3-{regime.domain}.png', dpi=120)
    return Report('figure3', asdict(settings), tuple(measurements))


def _shares(regime: Regime, outcomes: Sequence[SolverOutcome]) -> list[float | None]:
    """Share of solved problems of each size [%]."""
    return [
        _solved([o for o in outcomes if o.job.size[regime.parameter] == value])
        for value in regime.bins
    ]


def _solved(outcomes: Sequence[SolverOutcome]) -> float | None:
    """Share of solved problems [%]; None when the route is missing."""
    if not outcomes or any(o.status == 'failed' for o in outcomes):
        return None
    return 100 * sum(o.solved for o in outcomes) / len(outcomes)


def _outcomes(
    jobs: Sequence[SolverJob], settings: PlannerSettings, folder: Path, notify: NotifyOutcome
) -> list[SolverOutcome]:
    """The outcomes of jobs, those of the folder among them; writes `outcomes.csv`."""
    outcomes = run_jobs(jobs, OutcomeJournal(folder / OUTCOMES), settings.processes, notify)
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
    return outcomes
