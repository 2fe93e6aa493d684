# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The planner's benchmark: which problems it takes, and what it makes of the outcomes."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from safegen_ros.benchmarks.speed import planner
from safegen_ros.benchmarks.speed.jobs import SolverJob, SolverOutcome
from safegen_ros.benchmarks.speed.planner import (
    REGIMES,
    PlannerSettings,
    Regime,
    figure3_jobs,
    paper_jobs,
)
from safegen_ros.search.budget import IN_PROCESS
from safegen_ros.tasks.pddl3.domains import kits

PAPER = PlannerSettings(3, (IN_PROCESS,), 0, 20.0, 1024, 1)
LARGE = replace(PAPER, problems=2)


def test_paper_size_problems_are_of_the_paper_size_and_of_many_families() -> None:
    jobs = paper_jobs(replace(PAPER, problems=20, routes=('auto', 'in-process')))
    assert Counter(job.domain for job in jobs) == dict.fromkeys(kits(), 20 * 2 * 2)
    assert len({job.key for job in jobs}) == len(jobs)
    for job in jobs:
        assert kits()[job.domain].is_paper_size(job.size)
    for name, kit in kits().items():
        found = {job.family for job in jobs if job.domain == name}
        assert found == {family for family in kit.families if kit.sizes(family)}


def test_figure_3_grows_to_the_sizes_of_the_paper_with_its_constraints() -> None:
    jobs = figure3_jobs(replace(LARGE, problems=8))
    most = {regime.domain: regime.bins[-1] for regime in REGIMES}
    assert most == {'blocksworld': 30, 'grippers': 40}
    for job in jobs:
        assert kits()[job.domain].families[job.family].paper
    assert Counter(job.domain for job in jobs) == {'blocksworld': 6 * 8, 'grippers': 8 * 8}


def test_small_problems_are_solved_and_every_figure_is_taken(tmp_path: Path) -> None:
    told: list[SolverOutcome] = []
    report = planner.measure(replace(PAPER, problems=1), tmp_path, told.append)
    assert len(told) == len(kits()) * 2
    rows = list(csv.DictReader((tmp_path / 'outcomes.csv').open()))
    assert {row['status'] for row in rows} == {'solved'}
    assert {row['proved shortest'] for row in rows if row['optimal'] == 'True'} == {'True'}
    figures = {m.name: m for m in report.measurements}
    assert figures[f'{IN_PROCESS} --optimal: solved'].value == 100
    assert '4 of 4 solved, 4 proved' in figures[f'{IN_PROCESS} --optimal: all domains, mean'].note
    assert len(figures) == 2 * (len(kits()) + 2)
    again = planner.measure(replace(PAPER, problems=1), tmp_path, told.append)
    assert again == report


def test_the_targets_are_for_the_route_that_a_user_gets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def outcomes(jobs: list[SolverJob], *rest: object) -> list[SolverOutcome]:
        return [SolverOutcome(job, 'solved', 0.02, 5, job.optimal) for job in jobs]

    monkeypatch.setattr(planner, 'run_jobs', outcomes)
    settings = replace(PAPER, routes=('auto', IN_PROCESS))
    report = planner.measure(settings, tmp_path, lambda outcome: None)
    aimed = [m for m in report.measurements if m.target is not None]
    assert all(m.name.startswith('auto: ') and m.reached for m in aimed)
    assert {m.target for m in aimed} == {50.0, 100.0}


@pytest.mark.nightly
def test_a_route_that_is_missing_has_no_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def outcomes(jobs: list[SolverJob], *rest: object) -> list[SolverOutcome]:
        return [SolverOutcome(job, 'failed', 0.0, message='not installed') for job in jobs]

    monkeypatch.setattr(planner, 'run_jobs', outcomes)
    small = planner.measure(PAPER, tmp_path, lambda outcome: None)
    large = planner.measure_figure3(LARGE, tmp_path, lambda outcome: None)
    ours = [*small.measurements, *(m for m in large.measurements if 'paper' not in m.name)]
    assert {(m.value, m.note) for m in ours} == {(None, 'not installed')}


def test_the_shares_of_figure_3_are_counted_by_size_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    regime = Regime('blocksworld', 'blocks', (4, 5, 6), {}, {'OPTIC': 45.8})
    monkeypatch.setattr(planner, 'REGIMES', (regime,))

    def outcomes(jobs: list[SolverJob], *rest: object) -> list[SolverOutcome]:
        limits = {4: 2, 5: 1, 6: 0}
        seen: Counter[int] = Counter()
        found = []
        for job in jobs:
            blocks = job.size['blocks']
            seen[blocks] += 1
            status = 'solved' if seen[blocks] <= limits[blocks] else 'limit'
            found.append(SolverOutcome(job, status, 1.0))
        return found

    monkeypatch.setattr(planner, 'run_jobs', outcomes)
    settings = replace(LARGE, routes=('auto',))
    report = planner.measure_figure3(settings, tmp_path, lambda outcome: None)
    ours, optic = report.measurements
    assert (ours.value, ours.reached) == (50.0, False)
    assert 'by blocks: 4: 100, 5: 50, 6: 0' in ours.note
    assert optic.value == 45.8
    assert optic.target is None
    assert (tmp_path / 'figure3-blocksworld.png').read_bytes().startswith(b'\x89PNG')
