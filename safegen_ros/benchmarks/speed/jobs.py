# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Problems to be solved for a measurement, one after the other or several at once.

Each solver lives in a separate process, so that one that hangs or is killed costs one outcome.
Outcomes are written down as they come; a run that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import multiprocessing
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from safegen_ros.benchmarks.comparison import kept_lines
from safegen_ros.child_process import describe_exit
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.search.solve import Route, solve
from safegen_ros.tasks.pddl3.domains import kits

_GRACE_S = 15.0  # beyond its own limit, until a solver is ended


@dataclass(frozen=True, slots=True)
class SolverJob:
    """One problem for one solver.

    Attributes:
        optimal: whether a shortest plan is asked for.
        time_limit_s: wall-clock limit [s].
        memory_limit_mb: memory limit [MiB].
    """

    domain: str
    family: str
    size: dict[str, int]
    seed: int
    route: Route
    optimal: bool
    time_limit_s: float
    memory_limit_mb: int

    @property
    def key(self) -> str:
        """The key that separates it from every other job."""
        return json.dumps(asdict(self), sort_keys=True)


@dataclass(frozen=True, slots=True)
class SolverOutcome:
    """What became of a job.

    Attributes:
        status: `solved`, `unsolvable`, `limit`, `failed` (the route refused or is missing) or
            `died` (the process did, or it went far beyond its limit).
        seconds: time that it took [s].
        steps: length of the plan; 0 without one.
        proved: whether that length was proved to be the least.
        expanded: situations that were expanded; 0 where the route does not report it.
        message: why there is no plan.
    """

    job: SolverJob
    status: str
    seconds: float
    steps: int = 0
    proved: bool = False
    route: str = ''
    expanded: int = 0
    message: str = ''

    @property
    def solved(self) -> bool:
        """Whether there is a plan; `solve` returns none that the validator refuses."""
        return self.status == 'solved'

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self))

    @staticmethod
    def of(values: Any) -> SolverOutcome:
        """The outcome from the output of `to_json`; raises `ValueError` for anything else."""
        try:
            return SolverOutcome(**{**values, 'job': SolverJob(**values['job'])})
        except (KeyError, TypeError) as error:
            raise ValueError(f'not an outcome: {values!r:.60}') from error


NotifyOutcome = Callable[[SolverOutcome], None]
"""Told of every outcome; called from several threads."""


class Worker:
    """A process that solves one job at a time; it is started when needed, and again if it dies."""

    def __init__(self) -> None:
        self._started: tuple[SpawnProcess, Connection] | None = None

    def run(self, job: SolverJob) -> SolverOutcome:
        """Has one job done; a process that dies or is far too late is an outcome too."""
        process, pipe = self._started = self._started or _start()
        try:
            pipe.send(job)
            if pipe.poll(job.time_limit_s + _GRACE_S):
                outcome: SolverOutcome = pipe.recv()
                return outcome
        except (EOFError, OSError):
            process.join(_GRACE_S)  # its exit status says why
        self.close()
        message = f'the process of the solver ended: {describe_exit(process.exitcode or 0)}'
        return SolverOutcome(job, 'died', job.time_limit_s, message=message)

    def close(self) -> None:
        """Ends the process, if there is one, and the programs that it has started."""
        if self._started is not None:
            process, _ = self._started
            process.kill()
            process.join()
            self._started = None


def _start() -> tuple[SpawnProcess, Connection]:
    context = multiprocessing.get_context('spawn')
    pipe, its_end = context.Pipe()
    process = context.Process(target=_serve, args=(its_end,), daemon=True)
    process.start()
    its_end.close()  # so that the pipe ends with the process
    return process, pipe


class OutcomeJournal:
    """The outcomes of a run in a file, one line each, written as they come.

    Raises:
        SafegenError: the file holds something else.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self.outcomes: dict[str, SolverOutcome] = {}
        for number, values in enumerate(kept_lines(path), 1):
            try:
                outcome = SolverOutcome.of(values)
            except ValueError as error:
                raise SafegenError(f'{path}:{number}:1: {error}: use another folder') from error
            self.outcomes[outcome.job.key] = outcome

    def add(self, outcome: SolverOutcome) -> None:
        """Writes one more outcome down."""
        with self._lock:
            with self._path.open('a', encoding='utf-8') as file:
                file.write(f'{outcome.to_json()}\n')
            self.outcomes[outcome.job.key] = outcome


def run_jobs(
    jobs: Sequence[SolverJob], journal: OutcomeJournal, processes: int, notify: NotifyOutcome
) -> list[SolverOutcome]:
    """Has jobs done that are not in the journal yet.

    Args:
        jobs: all jobs of the run, in order.
        journal: the finished jobs; it grows.
        processes: how many jobs are done at once; more than cores distort the times.
        notify: told of every outcome, those of the journal first.

    Returns:
        The outcomes, in the order of the jobs.
    """
    for job in jobs:
        if job.key in journal.outcomes:
            notify(journal.outcomes[job.key])
    idle: SimpleQueue[Worker] = SimpleQueue()
    workers = [Worker() for _ in range(processes)]
    for worker in workers:
        idle.put(worker)

    stopping = threading.Event()

    def done(job: SolverJob) -> None:
        worker = idle.get()
        try:
            outcome = worker.run(job)
        finally:
            idle.put(worker)
        if not stopping.is_set():  # else the worker was ended, and this is not an outcome
            journal.add(outcome)
            notify(outcome)

    todo = [job for job in jobs if job.key not in journal.outcomes]
    # Ctrl-C is for this thread. The solvers inherit that, and have it during their imports, too.
    resource_tracker.ensure_running()  # whose start would unblock the signal again
    ours = (signal.SIG_BLOCK, {signal.SIGINT})
    pool = ThreadPoolExecutor(processes, initializer=signal.pthread_sigmask, initargs=ours)
    try:
        for future in as_completed([pool.submit(done, job) for job in todo]):
            future.result()
    finally:
        stopping.set()
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.close()
    return [journal.outcomes[job.key] for job in jobs]


_STATUS = {ErrorCode.UNSOLVABLE: 'unsolvable', ErrorCode.PLANNING_TIMEOUT: 'limit'}


def solve_job(job: SolverJob) -> SolverOutcome:
    """Solves one job; the clock runs while `solve` does, and not while the problem is made."""
    begun = time.perf_counter()
    try:
        problem = kits()[job.domain].problem(job.seed, job.size, job.family).problem
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
        return SolverOutcome(job, status, seconds, message=error.message)
    seconds = time.perf_counter() - begun
    return SolverOutcome(
        job, 'solved', seconds, len(found.plan), found.optimal, found.route, found.expanded
    )


def _serve(pipe: Connection) -> None:
    """Answers jobs until it is killed."""
    solve(kits()['blocksworld'].problem(0).problem)  # imports and caches
    while True:
        pipe.send(solve_job(pipe.recv()))
