# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The planning loop as the planner node runs it, measured: one goal after the other."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean, median
from typing import Any

from safegen_ros.benchmarks.comparison import Figures, nearest_rank
from safegen_ros.benchmarks.measurement import Notify
from safegen_ros.benchmarks.pddl3.evaluate import Result, over_optimal
from safegen_ros.benchmarks.pddl3.problems import GROUPS, TestProblem
from safegen_ros.benchmarks.subjects import Subject
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Sampling
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.writer import domain_text, problem_text
from safegen_ros.planning.levels import DIAGNOSIS
from safegen_ros.planning.loop import History, Level, Outcome, Skipped, plan_with_levels
from safegen_ros.search.solve import solve
from safegen_ros.sync import PlanningDeadline
from safegen_ros.tasks.pddl3.planning.proposer import ModelProposer, Temperatures, Texts
from safegen_ros.tasks.pddl3.planning.strategy import levels_of
from safegen_ros.tasks.pddl3.task import Pddl3Task
from safegen_ros.verdict import Category, Verdict

STRATEGIES = ('model', 'model, beam', 'beam')
"""The default measurement: the setting of the paper, and the gain of a beam."""

MORE = {
    'no plan': '.1f',
    'attempts': '.2f',
    'length': '.2f',
    's': '.2f',
    '95 % s': '.2f',
    'CPU s': '.2f',
    'answered by': 's',
}
"""The figures of a loop besides success and failures, with their format."""

_SEEDS = 1_009  # between two problems; more attempts are made of none
_BROKEN = (ErrorCode.VALIDATOR_UNAVAILABLE, ErrorCode.PLAN_REFUSED)


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """How goals are planned; the rest is the default of the planner node.

    Attributes:
        strategies: the strategies that are compared, see `tasks.pddl3.planning.strategy`.
        feedback: how much of a verdict a retry has, a key of `levels.FEEDBACK`.
        max_attempts: of the level `model`.
        time_budget_s: for each goal [s].
    """

    strategies: Sequence[str] = STRATEGIES
    feedback: str = DIAGNOSIS
    max_attempts: int = 5
    time_budget_s: float = 120.0

    def __str__(self) -> str:
        drawn = Temperatures(Sampling().temperature)
        return (
            f'goals one after the other, {self.time_budget_s:g} s each; level model: up to '
            f'{self.max_attempts} attempts, feedback {self.feedback}, T {drawn.first:g} and '
            f'{drawn.step:g} more with each attempt up to {drawn.most:g}, top-p '
            f'{Sampling().top_p:g}'
        )


@dataclass(frozen=True, slots=True)
class Planned:
    """The result of one goal.

    Attributes:
        verdict: the last one; `UNKNOWN` when there was no attempt.
        answered: the level whose plan was proved; empty when none was.
        seconds: wall-clock time of the loop [s].
        cpu_s: processor time of this process in it [s].
    """

    problem: TestProblem
    verdict: Verdict
    attempts: int
    answered: str
    length: int
    code: ErrorCode
    seconds: float
    cpu_s: float

    @classmethod
    def of(cls, problem: TestProblem, outcome: Outcome, cpu_s: float) -> Planned:
        """What an outcome amounts to."""
        proved = outcome.plan is not None
        return cls(
            problem,
            outcome.verdict,
            len(outcome.attempts),
            outcome.attempts[-1].source if proved else '',
            len(outcome.plan or ()),
            outcome.error_code,
            outcome.seconds,
            cpu_s,
        )


@dataclass(frozen=True, slots=True)
class LoopResult(Result):
    """The result of one strategy, which is its `mode`; `verdicts` are the last ones."""

    goals: tuple[Planned, ...]

    @classmethod
    def of(cls, strategy: str, goals: Iterable[Planned]) -> LoopResult:
        """The result of goals."""
        goals = tuple(goals)
        return cls(
            strategy,
            tuple(goal.problem for goal in goals),
            tuple(goal.verdict for goal in goals),
            tuple(goal.attempts for goal in goals),
            over_optimal((goal.length, goal.problem) for goal in goals if goal.answered),
            sum(goal.seconds for goal in goals),
            goals,
        )

    def part(self, attribute: str, value: str) -> LoopResult:
        """The result of the problems for which one of `GROUPS` has a value."""
        group = GROUPS[attribute]
        return LoopResult.of(self.mode, (g for g in self.goals if group(g.problem) == value))

    def on(self, problems: Iterable[TestProblem]) -> LoopResult:
        """The result of some of the problems, given by their identity."""
        kept = {id(problem) for problem in problems}
        return LoopResult.of(self.mode, (g for g in self.goals if id(g.problem) in kept))

    @property
    def late(self) -> int:
        """How many goals ran out of time."""
        return sum(goal.code is ErrorCode.PLANNING_TIMEOUT for goal in self.goals)

    @property
    def answered(self) -> dict[str, int]:
        """How many goals each level answered."""
        return dict(Counter(goal.answered for goal in self.goals if goal.answered))

    @property
    def figures(self) -> Figures:
        """Success, failures, and the values of `MORE`."""
        tally = self.tally()
        seconds = [goal.seconds for goal in self.goals]
        known = {'length': self.steps_over_optimal} if self.steps_over_optimal else {}
        return Figures.of(
            tally,
            {
                **known,
                'no plan': 100 * tally.counts.get(Category.UNKNOWN, 0) / max(1, tally.trials),
                'attempts': fmean(self.attempts),
                's': median(seconds),
                '95 % s': nearest_rank(seconds, 0.95),
                'CPU s': median(goal.cpu_s for goal in self.goals),
                'answered by': ', '.join(f'{n}: {count}' for n, count in self.answered.items()),
            },
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; times are in the lines of the table."""
        return {
            **super(LoopResult, self).as_dict(),
            'attempts': round(fmean(self.attempts), 3),
            'answered': self.answered,
            'ended': dict(Counter(goal.code.name for goal in self.goals)),
        }


def task_of(problem: Problem) -> Pddl3Task:
    """The task of a problem that was read before."""
    return Pddl3Task(problem, domain_text(problem.domain), problem_text(problem))


def plan_goal(
    task: Pddl3Task, subject: Subject, strategy: str, sampling: Sampling, options: LoopOptions
) -> Outcome:
    """Plans one goal as the planner node does.

    Args:
        strategy: the planners to try, as of `tasks.pddl3.planning.strategy`.
        options: how; its strategies play no part.

    Raises:
        SafegenError: there is no such strategy or feedback, the model failed, which says nothing
            about its plans, or the verifier gave no verdict or disagrees with the search planner.
    """
    heat = Temperatures(sampling.temperature)
    model = ModelProposer(
        task.problem, subject.backend, subject.style, sampling, heat, options.feedback,
        format=task.format,
    )  # fmt: skip

    def search(left_s: float, stop: Callable[[], bool]) -> Plan:
        return solve(task.problem, time_limit_s=left_s, cancelled=stop).plan

    failures: list[SafegenError] = []
    levels = [
        replace(level, proposals=partial(_watched, level, failures))
        for level in levels_of(strategy, model, search, options.max_attempts)
    ]
    outcome = plan_with_levels(levels, task.verify, options.time_budget_s)
    if failures:
        raise failures[0]
    if outcome.error_code in _BROKEN:
        raise SafegenError(outcome.message, outcome.error_code)
    return outcome


def _watched(
    level: Level, failures: list[SafegenError], history: History, deadline: PlanningDeadline
) -> Texts:
    """The proposals of a level; keeps the error with which a model failed."""
    try:
        yield from level.proposals(history, deadline)
    except Skipped:
        raise
    except SafegenError as error:
        if error.code is ErrorCode.BACKEND_FAILED:
            failures.append(error)
        raise


def plan_goals(
    problems: Sequence[TestProblem],
    subject: Subject,
    strategy: str,
    options: LoopOptions,
    seed: int,
    max_new_tokens: int,
    notify: Notify,
) -> LoopResult:
    """Plans one problem after the other; raises as `plan_goal`."""
    goals = []
    for number, problem in enumerate(problems):
        sampling = Sampling(max_new_tokens=max_new_tokens, seed=goal_seed(seed, number))
        task, started = task_of(problem.problem), time.process_time()
        outcome = plan_goal(task, subject, strategy, sampling, options)
        goals.append(Planned.of(problem, outcome, time.process_time() - started))
        notify(strategy, number + 1, len(problems))
    return LoopResult.of(strategy, goals)


def goal_seed(seed: int, number: int) -> int:
    """The seed of the first attempt at the n-th goal; later attempts take those after it."""
    return (seed * 1_000_003 + number * _SEEDS) % (1 << 31)
