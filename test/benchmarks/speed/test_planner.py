# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The planner's benchmark: which problems it takes, and what it makes of the outcomes."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from safegen_ros.benchmarks.speed import jobs, planner
from safegen_ros.benchmarks.speed.jobs import OutcomeJournal, SolverJob, SolverOutcome, run_jobs
from safegen_ros.benchmarks.speed.planner import (
    REGIMES,
    PlannerSettings,
    Regime,
    figure3_jobs,
    paper_jobs,
)
from safegen_ros.errors import SafegenError
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


JOB = SolverJob('blocksworld', 'none', {'blocks': 3}, 1, IN_PROCESS, True, 600.0, 1024)
JOBS = [replace(JOB, seed=seed) for seed in range(3)]


def _solved(job: SolverJob) -> SolverOutcome:
    return SolverOutcome(job, 'solved', 0.5, 4, True, IN_PROCESS, 17)


def test_jobs_are_solved_and_written_down_in_order(tmp_path: Path) -> None:
    told: list[SolverOutcome] = []
    outcomes = run_jobs(JOBS, OutcomeJournal(tmp_path / 'journal'), 2, told.append)
    assert [outcome.job for outcome in outcomes] == JOBS
    assert all(o.solved and o.proved and o.steps and o.seconds < 600 for o in outcomes), outcomes
    assert sorted(told, key=lambda outcome: outcome.job.seed) == outcomes
    assert list(OutcomeJournal(tmp_path / 'journal').outcomes) == [
        outcome.job.key for outcome in told
    ]


def test_a_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / 'journal'
    for job in JOBS[:2]:
        OutcomeJournal(path).add(_solved(job))
    whole = path.read_text()
    path.write_text(
        whole + SolverOutcome(JOBS[2], 'limit', 1.0).to_json()[:30]
    )  # killed while writing
    asked: list[SolverJob] = []

    class Fake:
        def run(self, job: SolverJob) -> SolverOutcome:
            asked.append(job)
            return _solved(job)

        def close(self) -> None:
            pass

    monkeypatch.setattr(jobs, 'Worker', Fake)
    outcomes = run_jobs(JOBS, OutcomeJournal(path), 1, lambda outcome: None)
    assert asked == JOBS[2:]
    assert outcomes == [_solved(job) for job in JOBS]
    assert path.read_text().startswith(whole)
    assert len(OutcomeJournal(path).outcomes) == 3


def test_another_file_is_no_journal(tmp_path: Path) -> None:
    path = tmp_path / 'journal'
    path.write_text('{"job": {}}\n')
    with pytest.raises(SafegenError, match=r'journal:1:1: not an outcome'):
        OutcomeJournal(path)


def test_a_solver_that_dies_costs_one_outcome(tmp_path: Path) -> None:
    broken = replace(JOB, domain='moon')
    outcomes = run_jobs(
        [broken, JOB], OutcomeJournal(tmp_path / 'journal'), 1, lambda outcome: None
    )
    assert [outcome.status for outcome in outcomes] == ['died', 'solved']
    assert 'exit status 1' in outcomes[0].message


def test_a_solver_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, '_GRACE_S', 0.0)
    outcome = jobs.Worker().run(replace(JOB, time_limit_s=0.0))
    assert outcome.status == 'died'
    assert 'SIGKILL' in outcome.message


def test_a_route_that_refuses_is_told_apart_from_one_that_is_stopped(tmp_path: Path) -> None:
    outcomes = run_jobs(
        [replace(JOB, size={'blocks': 0}), replace(JOB, size={'blocks': 30}, time_limit_s=0.001)],
        OutcomeJournal(tmp_path / 'journal'),
        1,
        lambda outcome: None,
    )
    assert [outcome.status for outcome in outcomes] == ['failed', 'limit']
    assert all(outcome.message for outcome in outcomes)
