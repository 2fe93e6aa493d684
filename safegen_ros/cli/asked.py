# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a user asks a stack for: the task in the files, the options of the goal, perhaps a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safegen_ros.cli.cells import CellChoice
from safegen_ros.cli.files import find_problem, read_action_task, read_text
from safegen_ros.cli.plan_goal import PlanExecution, start_execution
from safegen_ros.client import Client, Goal, Options
from safegen_ros.pddl.plan import Plan
from safegen_ros.planning.feedback import feedback_named
from safegen_ros.planning.levels import level_names
from safegen_ros.record.run import TaskRecord
from safegen_ros.record.translation import AnswerRecord, UnderstoodRecord
from safegen_ros.tasks.task import ActionTask


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """What was said about the problem's file.

    Attributes:
        domain: file of the domain; None for the built-in one that the problem names.
        read_as: format of the problem's file; empty for what its name tells.
        format: format in which the problem is sent; empty for that of the file.
    """

    domain: Path | None = None
    read_as: str = ''
    format: str = ''


@dataclass(frozen=True, slots=True)
class SpokenRecord:
    """A task that was asked for in words, as it is written down.

    Attributes:
        task: the request.
        events: the answers of the model, and what was understood.
    """

    task: TaskRecord
    events: tuple[AnswerRecord | UnderstoodRecord, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """The task as it was given, and what goes with its goal.

    Attributes:
        path: the problem's file.
        task: what is in it, with the text as it is sent.
        domain_text: the domain as it is sent; empty for a built-in one.
        options: of the goal.
        cell: what shall execute it; None where a stack is up already, which decides.
        plan: what to execute; None to have it planned.
        spoken: the words that the task was made of; None where there were none.
    """

    path: Path
    task: ActionTask
    domain_text: str
    options: Options
    cell: CellChoice | None = None
    plan: Plan | None = None
    spoken: SpokenRecord | None = None

    @classmethod
    def read(cls, problem: Path, about: TaskOptions, options: Options) -> Asked:
        """Reads the files; raises `SafegenError` when one of them is no good."""
        text = read_text(about.domain, 'domain') if about.domain else ''
        # Only the text changes: the end is compared with the problem as the file has it.
        task = read_action_task(problem, about.domain, format=about.read_as, sent_as=about.format)
        path = problem if task.problem is None else find_problem(problem)
        return cls(path, task, text, options)

    def start(self, client: Client, feedback: Callable[[Any], None]) -> Goal | PlanExecution:
        """Sends the goal; returns when it is accepted."""
        text, format = self.task.problem_text, self.task.format
        if self.plan is None:
            return client.start_run(text, self.domain_text, self.options, feedback, format)
        budget = self.options.time_budget_s
        return start_execution(client, text, self.plan, self.domain_text, budget, feedback, format)


def check_goal_options(options: Options) -> None:
    """Raises `SafegenError` where a goal names a strategy or a feedback that there is not."""
    if options.strategy:
        level_names(options.strategy)
    if options.feedback:
        feedback_named(options.feedback)
