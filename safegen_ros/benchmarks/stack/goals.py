# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench goals`: many goals from several clients; none is lost or gets another's plan."""

from __future__ import annotations

import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safegen_ros.benchmarks.measurement import Measurement, Notify, Report
from safegen_ros.benchmarks.stack.services import PlanServer
from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs
from safegen_ros.client import Client, Options
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.record.node_journal import load_goals
from safegen_ros.record.run_log import KeptRun, RunState
from safegen_ros.ros import conversions
from safegen_ros.tasks.pddl3.task import load_task

BUDGET_S = 120.0
"""Time of each goal, in the line and in its turn [s]."""

_AT_ONCE = 4
_PARAMETERS = """
/**/planner:
  ros__parameters:
    goals_at_once: {at_once}
    goals_waiting: {waiting}
"""
_PROBLEM = """
(define (problem goal-{number}) (:domain blocksworld) (:objects a{number} b{number} c{number})
  (:init (arm-empty) (on-table a{number}) (on-table b{number}) (on-table c{number})
    (clear a{number}) (clear b{number}) (clear c{number}))
  (:goal (and (on a{number} b{number}) (on c{number} a{number})))
  (:constraints (always (not (on c{number} b{number})))))
"""


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of a goal.

    Attributes:
        id: as ROS names it; empty where it was not accepted.
        seconds: from sending it to its result [s].
        fault: what is wrong with the answer; empty when it is right.
    """

    number: int
    id: str
    seconds: float
    fault: str


def send_goals(first: int, count: int) -> list[Answered]:
    """Sends goals one after the other, as a separate client."""
    with Client() as client:
        return [_send(client, number) for number in range(first, first + count)]


def _send(client: Client, number: int) -> Answered:
    text = _PROBLEM.format(number=number)
    heard: list[str] = []

    def hear(feedback: Any) -> None:
        attempt = feedback.progress.attempt
        heard.extend([attempt.text] if attempt.text else [])

    begun, id = time.monotonic(), ''
    try:
        goal = client.start_plan(
            text, options=Options(BUDGET_S, strategy='search'), on_feedback=hear
        )
        id = goal.id
        result = goal.result()
    except SafegenError as error:
        return Answered(number, id, time.monotonic() - begun, f'{error.code.name}: {error.message}')
    seconds = time.monotonic() - begun
    return Answered(number, id, seconds, _fault(text, result, heard))


def _fault(text: str, result: Any, heard: list[str]) -> str:
    """Every problem has other objects, so that a plan for another one cannot solve it."""
    code = ErrorCode(result.error_code)
    if code is not ErrorCode.NONE:
        return f'{code.name}: {result.error_msg}'
    task = load_task(text)
    verdict = task.verify(conversions.plan_from_msg(result.plan))
    if not verdict.ok:
        return f'its plan is not for it: {verdict.reason}'
    if not all(task.verify(attempt).ok for attempt in heard):
        return 'it heard of an attempt for another goal'
    return ''


def measure(goals: int, clients: int, notify: Notify) -> Report:
    """Sends all goals and looks for each of them in its answer and in the journal.

    Raises:
        SafegenError: a stack is up in this domain already, or it does not start.
    """
    shares = [goals // clients + (index < goals % clients) for index in range(clients)]
    firsts = [sum(shares[:index]) for index in range(clients)]
    answers: list[Answered] = []
    server = PlanServer('')  # which is never asked: the plans come from the search
    with server.serving(), tempfile.TemporaryDirectory(prefix='safegen-bench-') as scratch:
        parameters = Path(scratch, 'parameters.yaml')
        parameters.write_text(_PARAMETERS.format(at_once=_AT_ONCE, waiting=clients))
        values = {'model': server.model, 'cell': 'symbolic', 'params_file': parameters}
        environment = {'SAFEGEN_RUNS_DIR': scratch, 'SAFEGEN_STATE_DIR': scratch}
        specs = node_specs('sim', values)
        with Supervisor(specs, log_dir=Path(scratch), environment=environment) as stack:
            stack.wait_ready()
            notify('goals', 0, goals)
            begun = time.monotonic()
            with ProcessPoolExecutor(clients, multiprocessing.get_context('spawn')) as pool:
                sent = [pool.submit(send_goals, *job) for job in zip(firsts, shares, strict=True)]
                for done in as_completed(sent):
                    answers += done.result()
                    notify('goals', len(answers), goals)
            seconds = time.monotonic() - begun
        kept = load_goals(Path(scratch))
    return _report(goals, clients, seconds, answers, _unkept(answers, kept.runs))


def _unkept(answers: list[Answered], runs: Mapping[str, tuple[Path, KeptRun]]) -> int:
    """How many goals the journal of the planner does not have with their own task and their end."""
    return sum(
        found is None
        or found[1].state is not RunState.ENDED
        or found[1].record.task.name != f'goal-{each.number}'
        for each in answers
        for found in [runs.get(each.id)]
    )


def _report(
    goals: int, clients: int, seconds: float, answers: list[Answered], unkept: int
) -> Report:
    faults = [f'goal {each.number}: {each.fault}' for each in answers if each.fault]
    times = sorted(each.seconds * 1e3 for each in answers)
    cuts = statistics.quantiles(times, n=100, method='inclusive') if len(times) > 1 else times * 99
    return Report(
        'goals',
        {'goals': goals, 'clients': clients, 'processors': os.cpu_count()},
        (
            Measurement('goals that were lost', goals - len(answers), 'goals', 0, False),
            Measurement(
                'goals that failed, or got what was not theirs',
                len(faults), 'goals', 0, False, note='; '.join(faults[:3]),
            ),
            Measurement('goals that the journal lacks', unkept, 'goals', 0, False),
            Measurement('goal sent to result', statistics.median(times), 'ms', note='median'),
            Measurement('goal sent to result', cuts[94], 'ms', note='95 of 100'),
            Measurement('goal sent to result', cuts[98], 'ms', note='99 of 100'),
            Measurement('goal sent to result', times[-1], 'ms', note='the longest'),
            Measurement(
                'goals in all', goals / seconds, 'goals/s',
                note=f'{clients} clients, from the start of their processes on',
            ),
        ),
    )  # fmt: skip
