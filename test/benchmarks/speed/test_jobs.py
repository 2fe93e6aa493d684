# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Jobs in processes of their own: solved, lost and resumed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from safegen_ros.benchmarks.speed import jobs
from safegen_ros.benchmarks.speed.jobs import OutcomeJournal, SolverJob, SolverOutcome, run_jobs
from safegen_ros.errors import SafegenError
from safegen_ros.search.budget import IN_PROCESS

JOB = SolverJob('blocksworld', 'none', {'blocks': 3}, 1, IN_PROCESS, True, 20.0, 1024)
JOBS = [replace(JOB, seed=seed) for seed in range(3)]


def _solved(job: SolverJob) -> SolverOutcome:
    return SolverOutcome(job, 'solved', 0.5, 4, True, IN_PROCESS, 17)


def test_jobs_are_solved_and_written_down_in_order(tmp_path: Path) -> None:
    told: list[SolverOutcome] = []
    outcomes = run_jobs(JOBS, OutcomeJournal(tmp_path / 'journal'), 2, told.append)
    assert [outcome.job for outcome in outcomes] == JOBS
    assert all(o.solved and o.proved and o.steps and o.seconds < 20 for o in outcomes), outcomes
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
