# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Solves the jobs that come in by standard input, a line of JSON each, and answers with a line."""

from __future__ import annotations

import json
import sys
import time

from safegen_ros.benchmarks.speed.jobs import Job, Outcome
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import Problem
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.domains import kits

_STATUS = {ErrorCode.UNSOLVABLE: 'unsolvable', ErrorCode.PLANNING_TIMEOUT: 'limit'}


def problem_of(job: Job) -> Problem:
    """The problem that a job is about."""
    return kits()[job.domain].problem(job.seed, job.size, job.family).problem


def do(job: Job) -> Outcome:
    """Solves one job; the clock runs while `solve` does, and not while the problem is made."""
    begun = time.perf_counter()
    try:
        problem = problem_of(job)
        begun = time.perf_counter()
        found = solve(
            problem,
            optimal=job.optimal,
            route=job.route,
            time_limit_s=job.time_limit_s,
            memory_limit_mb=job.memory_limit_mb,
        )
    except SafegenError as error:
        seconds = time.perf_counter() - begun
        status = _STATUS.get(error.code, 'failed')
        return Outcome(job, status, seconds, message=error.message)
    seconds = time.perf_counter() - begun
    return Outcome(
        job, 'solved', seconds, len(found.plan), found.optimal, found.route, found.expanded
    )


def main() -> None:
    """Entry point; ends with its input."""
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever else is printed is no answer
    solve(kits()['blocksworld'].problem(0).problem)  # imports and caches
    for line in sys.stdin:
        answers.write(f'{do(Job(**json.loads(line))).to_json()}\n')
        answers.flush()


if __name__ == '__main__':
    main()
