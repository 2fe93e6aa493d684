# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench planner --figure3`: the regime of figure 3 of SafeGen-LLM.

The paper measures OPTIC and Fast Downward on Blocksworld and Grippers problems of growing size, 48
of each domain as its percentages tell, on a machine and with problems and constraints that it does
not publish. So its figures stand beside ours and are not measured here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from safegen_ros.benchmarks.speed.jobs import Job, Journal, NotifyOutcome, Outcome, run_jobs
from safegen_ros.benchmarks.speed.planner import OUTCOMES, write_outcomes
from safegen_ros.benchmarks.speed.report import Chart, Level, Measurement, Report, Series
from safegen_ros.search.solve import Route
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.kit import DomainKit, SizeError

LEAST_SOLVED = 95.0


@dataclass(frozen=True, slots=True)
class Regime:
    """A domain of figure 3.

    Attributes:
        domain: name of its kit.
        parameter: the size that grows.
        bins: its values.
        fixed: the other sizes.
        optic: share of problems that OPTIC solves in the paper [%] (section V-B).
        fast_downward: likewise for Fast Downward.
    """

    domain: str
    parameter: str
    bins: tuple[int, ...]
    fixed: Mapping[str, int]
    optic: float
    fast_downward: float


REGIMES = (
    Regime('blocksworld', 'blocks', (5, 10, 15, 20, 25, 30), {}, 45.8, 27.1),
    Regime(
        'grippers', 'objects', (5, 10, 15, 20, 25, 30, 35, 40), {'robots': 1, 'rooms': 4},
        64.6, 14.6,
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Figure3Settings:
    """What `safegen bench planner --figure3` was asked.

    Attributes:
        per_bin: problems of each size; the paper's constraint families take turns.
        routes: who solves them.
        seed: of the problems.
        time_limit_s: for each problem [s].
        memory_limit_mb: for each problem [MiB].
        processes: problems that are solved at once.
    """

    per_bin: int
    routes: tuple[Route, ...]
    seed: int
    time_limit_s: float
    memory_limit_mb: int
    processes: int


def figure_jobs(settings: Figure3Settings) -> list[Job]:
    """Every problem for every route, the small ones first."""
    jobs = []
    for regime in REGIMES:
        kit = kits()[regime.domain]
        for value in regime.bins:
            size = {**regime.fixed, regime.parameter: value}
            families = _families(kit, size)
            for number in range(settings.per_bin):
                jobs += [
                    Job(
                        kit.name, families[number % len(families)], kit.checked(size),
                        settings.seed * 100_003 + number, route, False, settings.time_limit_s,
                        settings.memory_limit_mb,
                    )
                    for route in settings.routes
                ]  # fmt: skip
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


def measure(settings: Figure3Settings, folder: Path, notify: NotifyOutcome) -> Report:
    """Takes all figures, and draws a chart for each domain.

    Args:
        settings: how much to measure.
        folder: of the run; outcomes that it holds are not measured again.
        notify: told of every outcome.

    Raises:
        SafegenError: the journal in the folder is none.
    """
    journal = Journal(folder / OUTCOMES)
    outcomes = run_jobs(figure_jobs(settings), journal, settings.processes, notify)
    write_outcomes(folder, outcomes)
    measurements: list[Measurement] = []
    for regime in REGIMES:
        measurements += _figures(regime, settings, outcomes)
        if find_spec('matplotlib') is not None:  # the figures are what counts
            figure = _chart(regime, settings, outcomes).figure()
            figure.savefig(folder / f'figure3-{regime.domain}.png', dpi=120)
    return Report('figure3', asdict(settings), tuple(measurements))


def _own(
    regime: Regime, route: str, outcomes: Sequence[Outcome], value: int | None = None
) -> list[Outcome]:
    return [
        o
        for o in outcomes
        if o.job.domain == regime.domain
        and o.job.route == route
        and value in (None, o.job.size[regime.parameter])
    ]


def _solved(outcomes: Sequence[Outcome]) -> float | None:
    """Share of solved problems [%]; None when the route is missing."""
    if not outcomes or any(o.status == 'failed' for o in outcomes):
        return None
    return 100 * sum(o.solved for o in outcomes) / len(outcomes)


def _figures(
    regime: Regime, settings: Figure3Settings, outcomes: Sequence[Outcome]
) -> list[Measurement]:
    found = []
    for route in settings.routes:
        own = _own(regime, route, outcomes)
        shares = [
            f'{value}: {"-" if share is None else f"{share:.0f}"}'
            for value in regime.bins
            for share in [_solved(_own(regime, route, outcomes, value))]
        ]
        failed = [o.message for o in own if o.status == 'failed']
        found.append(
            Measurement(
                f'{regime.domain}, {route}: solved within {settings.time_limit_s:g} s',
                _solved(own),
                '%',
                LEAST_SOLVED if route == 'auto' else None,
                note=failed[0] if failed else f'by {regime.parameter}: {", ".join(shares)}',
            )
        )
    for name, share in (('OPTIC', regime.optic), ('Fast Downward', regime.fast_downward)):
        found.append(
            Measurement(
                f'{regime.domain}, {name} in the paper',
                share,
                '%',
                note='not measured here: another machine, other problems and constraints',
            )
        )
    return found


def _chart(regime: Regime, settings: Figure3Settings, outcomes: Sequence[Outcome]) -> Chart:
    return Chart(
        title=f'{regime.domain}: constrained problems solved in {settings.time_limit_s:g} s each',
        x_label=regime.parameter,
        y_label='solved [%]',
        ticks=regime.bins,
        series=tuple(
            Series(
                f'safegen solve --route {route}',
                tuple(_solved(_own(regime, route, outcomes, value)) for value in regime.bins),
            )
            for route in settings.routes
        ),
        levels=(
            Level('OPTIC in the paper, all sizes', regime.optic),
            Level('Fast Downward in the paper, all sizes', regime.fast_downward),
        ),
    )
