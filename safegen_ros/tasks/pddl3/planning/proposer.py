# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Asks a language model for plans, in all the ways that it can be asked."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import (
    Backend,
    ChoiceBackend,
    Message,
    Refused,
    Sampling,
    Unsupported,
)
from safegen_ros.llm.decoding.choices import ChoiceGuide
from safegen_ros.llm.decoding.guide import Guide, TokenBackend
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan, Step, has_times
from safegen_ros.planning.levels import DIAGNOSIS, feedback_named
from safegen_ros.planning.loop import Attempt, History, Skipped, UnsuitableTask
from safegen_ros.sync import PlanningDeadline
from safegen_ros.tasks.pddl3.formats import PDDL
from safegen_ros.tasks.pddl3.planning.hierarchy.relaxed_analysis import (
    ComplexityAssessment,
    Thresholds,
    assess,
)
from safegen_ros.tasks.pddl3.prompts.styles import PromptStyle, next_step, plan_syntax
from safegen_ros.verify.admissible import Shield

_LEAST_S = 0.001  # 0 is not a limit

SHARE = 0.5
"""What one answer, a beam or the hierarchy may take of the time that is left where there are levels
behind it that can be asked, and what the look whether a task is complex may take."""

ASSESSMENT_S = 5.0
"""How long a task may be looked at to see whether it is complex [s]; one that takes longer is. It
takes milliseconds; a moment in which the machine was busy is not to change who plans."""

Texts = Generator[str, None, None]


class ModelProposer:
    """Proposes plans for one task; each method is where the proposals of a level come from.

    They raise `Skipped` where this model, server or style of prompts cannot do what the level
    needs, and `UnsuitableTask` where not even a part of the task fits the model.

    Args:
        sampling: sampling of the first attempt, with its seed; each later attempt takes the next
            seed, so that a run can be repeated exactly.
        temperatures: of the attempts; None keeps that of the first.
        feedback: how much of a verdict a retry has, a key of `levels.FEEDBACK`.
        thresholds: beyond which the task is complex; None takes those of its domain.
        format: what the problem is shown in, a key of `formats.FORMATS`.

    Raises:
        SafegenError: there is no such feedback (`UNKNOWN_STRATEGY`).
    """

    def __init__(
        self,
        problem: Problem,
        backend: Backend,
        style: PromptStyle,
        sampling: Sampling,
        temperatures: Temperatures | None = None,
        feedback: str = DIAGNOSIS,
        thresholds: Thresholds | None = None,
        format: str = PDDL,
    ) -> None:
        self.problem = problem
        self.backend = backend
        self.style = style
        self.sampling = sampling
        self.temperatures = temperatures or Temperatures(sampling.temperature, 0.0)
        self.feedback = feedback
        self.thresholds = thresholds
        self.format = format
        self._shown = feedback_named(feedback)
        self._assessed: ComplexityAssessment | None = None

    def answers(self, share: float, history: History, deadline: PlanningDeadline) -> Texts:
        """One answer after the other, each to the verdicts on those before.

        Each may take a share of the time that is left, so that a server that hangs leaves some.
        """
        while True:
            messages = self._messages(history)
            sampling = replace(self._drawn(history), refused=self._refused(history))
            if share < 1:
                limits_s = (sampling.time_limit_s or inf, max(deadline.left_s * share, _LEAST_S))
                sampling = replace(sampling, time_limit_s=min(limits_s))
            with _unsupported_is_skipped():
                completion = self.backend.generate(messages, sampling, deadline.over)
            yield self._plan_text(completion.text)

    def samples(self, count: int, history: History, deadline: PlanningDeadline) -> Texts:
        """Several answers to the unchanged task, as they are finished."""
        sampling = replace(self._drawn(history), refused=self._refused(history))
        drawn = self.backend.samples(self._messages(), count, sampling, deadline.over)
        with _unsupported_is_skipped(), closing(drawn) as completions:
            for completion in completions:
                yield self._plan_text(completion.text)

    def repaired(self, history: History, deadline: PlanningDeadline) -> Texts:
        """The valid beginning of the last plan that has one, with a new end."""
        beginnings = (valid_beginning(a.plan, self._shield) for a in reversed(history))
        kept = next((plan for plan in beginnings if plan.steps), None)
        if kept is None:
            raise Skipped('no plan was refused whose beginning could be kept')
        with _unsupported_is_skipped():
            text = self._guide.completed(kept, self._drawn(history), deadline.over)
        yield self._plan_text(text)

    def shielded(self, history: History, deadline: PlanningDeadline) -> Texts:
        """An answer in which every step is admissible."""
        sampling = replace(self._drawn(history), temperature=self.sampling.temperature)
        with _unsupported_is_skipped():
            plan = self._guide.shielded(sampling, deadline.over)
        yield str(plan)

    def beam(
        self,
        width: int,
        share: float,
        backtrack: bool,
        history: History,
        deadline: PlanningDeadline,
    ) -> Texts:
        """The most likely solution that a search finds in a share of the time that is left."""
        with _unsupported_is_skipped():
            limit_s = deadline.left_s * share
            found = self._guide.beam(width, limit_s, deadline.over, backtrack=backtrack)
        if found.plan is None:
            raise Skipped(f'no plan was found: {found.outcome.value}')
        yield str(found.plan)

    def part(self, problem: Problem) -> ModelProposer:
        """The same model for a part of the task, which is put to it in the same way."""
        return ModelProposer(
            problem, self.backend, self.style, self.sampling, self.temperatures, self.feedback,
            self.thresholds, self.format,
        )  # fmt: skip

    @property
    def can_beam(self) -> bool:
        """Whether this model's every token can be looked at, which a beam needs."""
        return isinstance(self.backend, TokenBackend)

    def check_suitable(self) -> None:
        """Raises `UnsuitableTask` where no part of the task can be put to the model."""
        try:
            self._messages()
        except UnsuitableTask:
            raise
        except Skipped:
            pass  # too large, which its parts are not

    def assessed(self, deadline: PlanningDeadline) -> ComplexityAssessment:
        """How complex the task is for this model, found out once.

        Raises:
            UnsuitableTask: no part of it can be put to the model.
            Unsolvable: there is no plan.
            Canceled: the deadline was over.
        """
        if self._assessed is None:
            self._assessed = assess(
                self.problem,
                lambda problem: self._messages(),
                thresholds=self.thresholds,
                time_limit_s=min(ASSESSMENT_S, deadline.left_s * SHARE),
                cancelled=deadline.over,
            )
        return self._assessed

    def _messages(self, history: History = (), style: PromptStyle | None = None) -> list[Message]:
        try:
            once = {attempt.gist: attempt for attempt in history}.values()
            tried = [(attempt.text, self._shown(attempt.verdict)) for attempt in once]
            return (style or self.style).messages(self.problem, tried, self.format)
        except SafegenError as error:
            if error.code is ErrorCode.TASK_TOO_LARGE:
                raise Skipped(error.message, error.code) from error
            raise UnsuitableTask(error.message) from error

    def _plan_text(self, completion: str) -> str:
        return self.style.plan_text(completion, self.problem)

    def _drawn(self, history: History) -> Sampling:
        """How the next attempt is drawn."""
        return replace(
            self.sampling,
            seed=self.sampling.seed + len(history),
            temperature=self.temperatures.after(history),
        )

    def _refused(self, history: History) -> tuple[Refused, ...]:
        """What no later attempt may be: see `refused_text`."""
        found = (refused_text(attempt, self.style, self.problem) for attempt in history)
        return tuple(dict.fromkeys(each for each in found if each is not None))

    @cached_property
    def _shield(self) -> Shield:
        return Shield(self.problem)

    @cached_property
    def _guide(self) -> Guide:
        """What lets the model write only what it may; made once for the task."""
        style = self.style
        messages = self._messages(style=style)
        own = plan_syntax(style, self.problem)
        if isinstance(self.backend, TokenBackend):
            return self.backend.guide(messages, self._shield, own)
        if isinstance(self.backend, ChoiceBackend):
            return ChoiceGuide(self.backend, partial(next_step, style, messages), self._shield, own)
        raise Unsupported('this model answers with whole texts only: load it from its folder')


def refused_text(attempt: Attempt, style: PromptStyle, problem: Problem) -> Refused | None:
    """What no later attempt may be, as the model writes its steps; None where that cannot be said.

    No plan with the same beginning can be proved, where a step is to blame; a plan that only ends
    too early may go on. The steps of a plan with times may be right at other times.
    """
    plan, step = attempt.plan, attempt.verdict.failing_step
    if step >= 0:
        plan = Plan(plan.steps[: step + 1])
    if not plan.steps or (problem.domain.durative and has_times(attempt.text)):
        return Refused(attempt.text.strip(), whole=True)
    try:
        return Refused(style.answer(plan, problem), whole=step < 0)
    except (KeyError, SafegenError):
        return None  # it names what the problem does not


@contextmanager
def _unsupported_is_skipped() -> Iterator[None]:
    """What the backend cannot do, or a problem with too many actions to list, skips a level."""
    try:
        yield
    except Unsupported as error:
        raise Skipped(error.message, error.code) from error
    except SafegenError as error:
        if error.code is not ErrorCode.TASK_TOO_LARGE:
            raise
        raise Skipped(error.message, error.code) from error


@dataclass(frozen=True, slots=True)
class Temperatures:
    """The sampling temperature of each attempt [1].

    Attributes:
        first: of the first one.
        step: how much hotter each later one is; twice as much after one that repeated another.
        most: where it stops rising.
    """

    first: float
    step: float = 0.1
    most: float = 1.0

    def after(self, history: History) -> float:
        """The temperature of the attempt that follows others."""
        repeated = len(history) - len({attempt.gist for attempt in history})
        risen = self.first + self.step * (len(history) + repeated)
        return max(self.first, min(self.most, risen))


def valid_beginning(plan: Plan, shield: Shield) -> Plan:
    """The steps of a plan before the first that is not admissible or leads to no new situation."""
    situation = shield.start
    seen, kept = {situation}, list[Step]()
    for step in plan.steps:
        after = shield.after(situation, step)
        if after is None or after in seen:
            break
        seen.add(after)
        kept.append(step)
        situation = after
    return Plan(tuple(kept))
