# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A run of `safegen step`: what is on the screen, in the journal and in the report."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from rich.markup import escape

from safegen_ros.cli.display import print_fact
from safegen_ros.cli.failures import ExitStatus
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Sampling
from safegen_ros.paths import new_run_dir, runs_dir, share_dir
from safegen_ros.pddl.model import Problem, State
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.writer import atom_text
from safegen_ros.planning.levels import level_names
from safegen_ros.planning.loop import SEARCH, Attempt, Level
from safegen_ros.record import events
from safegen_ros.record import run as records
from safegen_ros.record.journal import JOURNAL
from safegen_ros.record.present.report import write_report
from safegen_ros.record.present.telling import tell
from safegen_ros.record.run_log import RunLog, task_record
from safegen_ros.robot.cell.blocks import simulated_cell
from safegen_ros.robot.cell.execution import Cell
from safegen_ros.robot.cell.symbolic import SymbolicCell
from safegen_ros.robot.scene import load_scene
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.cells import CellChoice
from safegen_ros.tasks.pddl3.planning.proposer import ModelProposer
from safegen_ros.tasks.pddl3.planning.replan import PlannedSteps, work_in_cell
from safegen_ros.tasks.pddl3.planning.stepwise import (
    Limits,
    StepContext,
    StepwiseOutcome,
    TerminationReason,
)
from safegen_ros.tasks.pddl3.planning.strategy import levels_of, search_level
from safegen_ros.tasks.pddl3.task import Pddl3Task, conjuncts
from safegen_ros.terminal import Console

_TRIES = 5  # of the level `model`, for one plan


class StepRun:
    """One run: what is on the screen, in the journal and in the report.

    Args:
        task: the options of the command line.
        domain_text: the domain as it was given; empty for a built-in one.
    """

    def __init__(
        self,
        task: Pddl3Task,
        source: str,
        domain_text: str,
        cell: CellChoice,
        domain_source: str = '<domain>',
    ) -> None:
        self._console = Console()
        self.folder = new_run_dir(runs_dir())
        self._task = task
        self._begun = time.monotonic()
        asked = replace(task_record(task, source, domain_text), places=(source, domain_source))
        self._log = RunLog(self.folder, asked, cell.cell, stepwise=True)
        self._observed_steps = -1
        self._line(f'task: {task.name}; cell: {cell.text}')

    @property
    def _record(self) -> records.RunRecord:
        return self._log.record

    def work(
        self,
        name: str,
        propose: Callable[[Problem], ModelProposer] | None,
        strategy: str,
        sampling: Sampling,
        limits: Limits,
    ) -> int:
        """Works on the task to its end, keeps the record, and returns the exit status.

        Args:
            name: of the model; empty where none is asked.
            propose: the model for a part of the task; None where only the search planner is asked.
            strategy: the planners to try, as of `level_names`.
        """
        search = SEARCH in level_names(strategy)
        asked = records.ModelRecord(
            name, _TRIES, sampling.temperature, sampling.top_p, sampling.seed, search
        )
        self._log.note(events.StackEvent(asked, self._record.cell))

        def levels(rest: Problem) -> Sequence[Level]:
            def searched(left: float, stop: Callable[[], bool]) -> Plan:
                return solve(rest, time_limit_s=left, cancelled=stop).plan

            if propose is None:
                return (search_level(searched),)
            return levels_of(strategy, propose(rest), searched, _TRIES)

        steps = PlannedSteps(levels, limits.time_budget_s, self._attempt)
        code, message = ErrorCode.UNKNOWN, 'interrupted by the user: the cell was stopped'
        try:
            with _cell(self._task.problem, self._record.cell) as cell:
                outcome = work_in_cell(
                    self._task.problem,
                    cell,
                    steps,
                    limits,
                    notify=self._observed,
                    acting=lambda taken: self._acting(taken, steps.plan, steps.source),
                )
            code, message = outcome.error_code, outcome.message
            self._ended(outcome)
        except SafegenError as error:
            code, message = error.code, error.message
        finally:
            self._keep(code, '' if code is ErrorCode.NONE else message)
        return ExitStatus.OK if self._record.ok else ExitStatus.FAILED

    def _attempt(self, attempt: Attempt) -> None:
        verdict, plan = attempt.verdict, tuple(map(str, attempt.plan.steps))
        taken = len(self._record.steps)
        attempted = records.AttemptRecord(
            attempt.number, attempt.source, attempt.text, plan, verdict, attempt.seconds, taken
        )
        self._log.note(attempted)
        print_fact(self._console, tell(attempted))

    def _observed(self, moment: StepContext) -> None:
        """Takes in that the steps before a moment are done; asked before each choice."""
        self._look(len(moment.steps), moment.problem.init)

    def _look(self, done: int, state: State) -> None:
        if done != self._observed_steps:
            self._observed_steps = done
            facts = tuple(atom_text(atom) for atom in sorted(state))
            self._log.note(events.ObservedEvent(done, self._seconds(), facts))

    def _acting(self, taken: Step, plan: Plan, source: str) -> None:
        """Writes a step down before it is taken, with the proof that it is taken for."""
        number, left = len(self._record.steps), len(plan) - 1
        self._log.note(events.StepEvent(number, str(taken), self._seconds(), source))
        self._line(f'  {number + 1:>3} {taken}  proved, with {left} more to the goal')

    def _ended(self, outcome: StepwiseOutcome) -> None:
        state = outcome.observed
        if state is not None:
            self._look(len(outcome.steps), state)
        record = self._record
        self._log.note(
            events.ResultEvent(record.plan, record.plan_source, outcome.verdict, len(outcome.steps))
        )
        held = () if state is None else conjuncts(self._task.problem, state)
        reached = None if state is None else all(holds for _, holds in held)
        measured = events.MeasuredEvent(
            reached, tuple(records.GoalRecord(text, holds) for text, holds in held)
        )
        self._log.note(measured)
        print_fact(self._console, tell(measured, cell=record.cell))
        if outcome.differences:
            self._line(f'the world was {outcome.differences} times not as foreseen')
        if outcome.ending is TerminationReason.FINISHED:
            self._line(f'{outcome.verdict.category.name}: {outcome.message}')

    def _keep(self, code: ErrorCode, message: str) -> None:
        """Writes the end down, and says where everything is."""
        with self._log:
            self._log.note(events.EndEvent(code, message))
            if code is not ErrorCode.NONE:
                self._line(f'{code.name}: {message}')
            made_by = {
                **records.versions(),
                'commit': records.source_commit(share_dir()) or 'unknown',
            }
            journal = records.ArtefactRecord('journal', JOURNAL)
            self._log.note(events.FilesEvent({'whole run': self._seconds()}, made_by, (journal,)))
        self._line(f'record: {write_report(self._record, self.folder)}')

    def _seconds(self) -> float:
        return time.monotonic() - self._begun

    def _line(self, text: str) -> None:
        self._console.print(escape(text), highlight=False, soft_wrap=True)


def _cell(problem: Problem, kind: str) -> AbstractContextManager[Cell]:
    return (
        simulated_cell(load_scene()) if kind == records.TWIN else nullcontext(SymbolicCell(problem))
    )
