# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Has a model plan for BoxNet2D inside the verify-and-retry loop, as a whole or step by step.

The result is proved, and only proved steps are ever taken: a whole plan (FULLPLAN) before its first
step, a single one (REPLAN) before the next is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Backend, Cancelled, Message, Sampling, never
from safegen_ros.llm.decoding.guide import TokenBackend, WordWriter
from safegen_ros.planning.levels import DIAGNOSIS, feedback_named
from safegen_ros.planning.loop import (
    MODEL,
    Attempt,
    History,
    Level,
    Outcome,
    Skipped,
    plan_with_levels,
)
from safegen_ros.sync import PlanningDeadline
from safegen_ros.tasks.boxnet import prompts
from safegen_ros.tasks.boxnet.answers import (
    PlanAnswerError,
    has_form,
    read_plan,
    read_step,
    without_strays,
)
from safegen_ros.tasks.boxnet.decoding_mask import (
    MOST_SCORED,
    Admissible,
    MaskedPlan,
    MoveBeam,
    MoveMask,
)
from safegen_ros.tasks.boxnet.model import (
    IdleArms,
    Plan,
    State,
    Step,
    Task,
    plan_json,
    step_json,
)
from safegen_ros.tasks.boxnet.prompts import ChatStyle, MapStyle, Style
from safegen_ros.tasks.boxnet.verifier import Judged, judge, verify, verify_step
from safegen_ros.tasks.context import ChatSetup
from safegen_ros.verdict import Verdict

FULL, NEXT = 'full', 'next'
MODES = (FULL, NEXT)
"""The whole plan at once, or the next step again and again (FULLPLAN and REPLAN of the paper)."""

PLAIN, FILTER, HELD, BEAM = SHIELDS = ('plain', 'filter', 'held', 'beam')
"""What keeps a model from bad moves: nothing; or those are left out of its answers. Models of words
can be held to the words of moves that may be taken, to states where they have not been, and to an
end at the goal; and the most likely of such plans can be searched for, with beams that grow."""

WIDTHS = (1, 2, 4, 8)
"""Widths of the beams that are searched with one after the other."""


@dataclass(frozen=True, slots=True)
class PlannerOptions:
    """How a model is asked.

    Attributes:
        mode: one of `MODES`.
        shield: one of `SHIELDS`.
        attempts: answers that are drawn until one is proved, of a plan or of each step; the paper
            draws one, and a beam none.
        most_steps: after which a run step by step ends.
        feedback: how much of a verdict a retry has, a key of `levels.FEEDBACK`.
        idle_arms: whether robots that do nothing are in the way.

    Raises:
        SafegenError: something is not known, or does not go together (`UNKNOWN_STRATEGY`).
    """

    mode: str = FULL
    shield: str = PLAIN
    attempts: int = 1
    most_steps: int = 40
    feedback: str = DIAGNOSIS
    idle_arms: IdleArms = 'ignore'

    def __post_init__(self) -> None:
        feedback_named(self.feedback)
        for name, value, known in (('mode', self.mode, MODES), ('shield', self.shield, SHIELDS)):
            if value not in known:
                raise _unknown(f'{name} {value[:40]!a} is not known: use one of {" ".join(known)}')
        if self.attempts < 1 or self.most_steps < 1:
            raise _unknown('attempts and steps must be 1 or more')


@dataclass(frozen=True, slots=True)
class PlannerRun:
    """What a model made of a task.

    Attributes:
        judged: the plan that was proved, or else what was wrong with the last answer; its states
            are those that were gone through.
    """

    judged: Judged
    attempts: tuple[Attempt, ...]


def plan_with_model(
    task: Task,
    backend: Backend,
    sampling: Sampling,
    options: PlannerOptions | None = None,
    cancelled: Cancelled = never,
    style: Style | None = None,
) -> PlannerRun:
    """Has a model plan a task.

    Args:
        sampling: how the first answer is drawn; each later one takes the next seed.
        style: how a map is put to the model; that of chat models by default.

    Raises:
        BackendError: the model cannot answer.
        SafegenError: `cancelled` said so (`PLANNING_CANCELED`), or the backend cannot be held.
    """
    planner = _Planner(
        task, backend, sampling, options or PlannerOptions(), cancelled, style or ChatStyle()
    )
    if planner.options.shield == BEAM:
        return planner.by_beams()
    return planner.whole() if planner.full else planner.by_steps()


def constrained_plans(task: Task, ask: ChatSetup, style: MapStyle) -> Generator[str, None, None]:
    """Whole plans of a model of words that is held to moves that may be made, without an end.

    Args:
        ask: the model, and how its first plan is drawn; each later one takes the next seed.

    Raises:
        SafegenError: the map is beyond its words (`TASK_TOO_LARGE`), or it is not held to any.
    """
    planner = _Planner(task, ask.backend, ask.sampling, PlannerOptions(FULL, HELD), ask.over, style)
    asked, deadline = style.asked(task, whole=True), PlanningDeadline(float('inf'), ask.over)
    yield from planner.held(asked, [task.start], (), deadline)


class _Planner:
    def __init__(
        self,
        task: Task,
        backend: Backend,
        sampling: Sampling,
        options: PlannerOptions,
        cancelled: Cancelled,
        style: Style,
    ) -> None:
        self.task = task = replace(task, idle_arms=options.idle_arms)
        self.backend, self.sampling = backend, sampling
        self.options, self.cancelled, self.style = options, cancelled, style
        self.full = options.mode == FULL
        self.admissible = Admissible(task)
        self.show = feedback_named(options.feedback)
        self.asked = 0

    def whole(self) -> PlannerRun:
        """All steps in one answer."""
        asked = self.style.asked(self.task, whole=True)
        propose = partial(self._answers, asked, self.task.start)
        if self.options.shield == HELD:
            propose = partial(self.held, asked, [self.task.start])
        attempts = self._attempts(propose, partial(verify, self.task))
        return PlannerRun(verify(self.task, attempts[-1].text), attempts)

    def by_beams(self) -> PlannerRun:
        """A plan that is searched for; step by step, as if each step were taken."""
        beam = MoveBeam(
            self._joint,
            self._words,
            lambda state: self.style.asked(replace(self.task, start=state), whole=self.full),
            whole=self.full,
            most_steps=self.options.most_steps,
        )
        levels = [Level(f'{BEAM} {n}', 1, partial(self._searched, beam, n)) for n in WIDTHS]
        attempts = self._outcome(levels, partial(verify, self.task)).attempts
        if not attempts:
            return PlannerRun(judge(self.task, ()), ())
        return PlannerRun(verify(self.task, attempts[-1].text), attempts)

    def _searched(
        self, beam: MoveBeam, width: int, history: History, deadline: PlanningDeadline
    ) -> Generator[str, None, None]:
        plan = beam.search(width, deadline.over)
        if plan is None:
            raise Skipped(f'no plan was found among {MOST_SCORED} moves')
        yield prompts.answer_text(f'A beam of {width} found this.', plan, whole=True)

    @cached_property
    def _joint(self) -> MoveMask:
        """The moves that may be said."""
        return MoveMask(self.task)

    @cached_property
    def _words(self) -> WordWriter:
        """The model, held to words."""
        if not isinstance(self.backend, TokenBackend) or not isinstance(self.style, MapStyle):
            raise SafegenError(
                f'this model cannot be held to words: use shield {FILTER}',
                ErrorCode.UNSUPPORTED_FEATURE,
            )
        return self.backend.writer()

    def by_steps(self) -> PlannerRun:
        """One step after the other, each from the state that those before it have led to."""
        states, steps = [self.task.start], list[Step]()
        attempts = list[Attempt]()
        messages = self.style.asked(self.task, whole=False)
        formatted = True
        while not self.task.solved(states[-1]) and len(steps) < self.options.most_steps:
            propose = self._step_proposals(messages, states)
            judge_step = partial(verify_step, self.task, states[-1])
            new = self._attempts(propose, judge_step)
            first = len(attempts)
            attempts += (replace(each, number=first + each.number) for each in new)
            found = judge_step(new[-1].text)
            formatted = formatted and found.formatted
            if not found.verdict.ok:
                return PlannerRun(_failed(found, steps, states), tuple(attempts))
            steps += found.plan
            states.append(found.states[-1])
            messages = self.style.observed(messages, new[-1].text, self.task, states[-1])
        judged = judge(self.task, tuple(steps))
        return PlannerRun(replace(judged, formatted=formatted), tuple(attempts))

    def _attempts(
        self,
        propose: Callable[[History, PlanningDeadline], Generator[str, None, None]],
        judged: Callable[[str], Judged],
    ) -> tuple[Attempt, ...]:
        """The attempts of the loop, the last of which is proved or the last that was allowed."""
        source = MODEL if self.options.shield == PLAIN else self.options.shield
        outcome = self._outcome([Level(source, self.options.attempts, propose)], judged)
        if not outcome.attempts:
            raise SafegenError(outcome.message, outcome.error_code)
        return outcome.attempts

    def _outcome(self, levels: Sequence[Level], judged: Callable[[str], Judged]) -> Outcome:
        def verdict(text: str) -> Verdict:
            return judged(text).verdict

        outcome = plan_with_levels(levels, verdict, float('inf'), cancelled=self.cancelled)
        if outcome.error_code not in (ErrorCode.NONE, ErrorCode.ATTEMPTS_EXHAUSTED):
            raise SafegenError(outcome.message, outcome.error_code)
        return outcome

    def _step_proposals(
        self, messages: Sequence[Message], states: Sequence[State]
    ) -> Callable[[History, PlanningDeadline], Generator[str, None, None]]:
        if self.options.shield == HELD:
            return partial(self.held, messages, states)
        return partial(self._answers, messages, states[-1])

    def held(
        self,
        asked: Sequence[Message],
        states: Sequence[State],
        history: History,
        deadline: PlanningDeadline,
    ) -> Generator[str, None, None]:
        """Answers in which nothing is said that may not be done."""
        while True:
            text = MaskedPlan(self._joint, states[-1], states, whole=self.full)
            said = self._words.write(asked, text, self._drawn(), deadline.over)
            yield self.style.answer(said, self.task, whole=self.full)

    def _drawn(self) -> Sampling:
        """How the next answer is drawn."""
        self.asked += 1
        return replace(self.sampling, seed=self.sampling.seed + self.asked - 1)

    def _answers(
        self,
        asked: Sequence[Message],
        state: State,
        history: History,
        deadline: PlanningDeadline,
    ) -> Generator[str, None, None]:
        """One answer after the other, each told what was wrong with those before."""
        messages = list(asked)
        while True:
            said = self.backend.generate(messages, self._drawn(), deadline.over).text
            text = self.style.answer(said, self.task, whole=self.full)
            yield self._filtered(state, text) if self.options.shield == FILTER else text
            refused = self.show(history[-1].verdict)
            messages = self.style.refused(messages, text, refused, whole=self.full)

    def _filtered(self, state: State, text: str) -> str:
        read = read_plan if self.full else read_step
        try:
            known = without_strays(text, self.task.robots)
            plan = read(known, self.task.robots, self.task.form(state)).plan
        except PlanAnswerError:
            return text
        if self.full:
            return _with(text, plan_json(self.admissible.filtered_plan(plan)))
        return _with(text, step_json(self.admissible.filtered(state, plan[0])))


def _failed(found: Judged, steps: list[Step], states: list[State]) -> Judged:
    """What became of a step, as what became of the plan that it was to go on with."""
    before = len(steps)
    fault = found.fault
    if fault is not None:
        fault = replace(fault, step=before, reason=f'step {before + 1}: {fault.reason}')
    verdict = replace(
        found.verdict,
        reason=f'step {before + 1}: {found.verdict.reason}',
        failing_step=before,
        failing_state=before + max(0, found.verdict.failing_state),
        plan_length=before + len(found.plan),
        broken=tuple(replace(each, step=before, state=before + 1) for each in found.verdict.broken),
    )
    plan: Plan = (*steps, *found.plan)
    return Judged(verdict, found.finding, plan, tuple(states), fault, found.formatted)


def _with(text: str, body: str) -> str:
    """An answer with another plan, in the form that it had."""
    if not has_form(text):
        return body
    thoughts = text[: text.rindex('</think>') + len('</think>')]
    return f'{thoughts}\n```json\n{body}\n```'


def _unknown(message: str) -> SafegenError:
    return SafegenError(message, ErrorCode.UNKNOWN_STRATEGY)
