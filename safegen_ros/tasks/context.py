# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a world plans with: the models of a planner, and the executor of single steps."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Backend, Sampling
from safegen_ros.pddl.model import State
from safegen_ros.planning.levels import feedback_named
from safegen_ros.planning.loop import MODEL, Attempt, Skipped, Steps, Verify
from safegen_ros.robot.cell.execution import ConcurrentStep
from safegen_ros.verdict import Category, Verdict

Style = TypeVar('Style')


class RejectedAnswer(Protocol):
    """An answer of a model with the verdict that refuses it."""

    @property
    def text(self) -> str:
        """The answer."""
        ...

    @property
    def verdict(self) -> Verdict:
        """What is wrong with it."""
        ...


@dataclass(frozen=True, slots=True)
class ChatSetup:
    """How a chat model is asked.

    Attributes:
        sampling: how the first answer is drawn; each later one takes the next seed.
        over: whether to stop.
    """

    backend: Backend
    sampling: Sampling
    show: Callable[[Verdict], Verdict]
    over: Callable[[], bool]


class ModelOpener(Protocol):
    """Opens models beside the planner's own, each once."""

    def opened(self, model: str, style_of: Callable[[str], Style]) -> tuple[Style, Backend]:
        """A model, and how it is asked; raises `SafegenError` where it cannot be opened."""
        ...


def sampling_of(values: Mapping[str, Any], goal: Any) -> Sampling:
    """How the first answer for a goal is drawn."""
    return Sampling(
        temperature=values['temperature'],
        top_p=values['top_p'],
        max_new_tokens=values['max_new_tokens'],
        seed=goal.seed or values['seed'],
    )


@dataclass(frozen=True, slots=True)
class PlanningContext:
    """What a planner has for a goal.

    Attributes:
        values: of the planner's parameters, for options that the goal leaves open.
        goal: options of the goal: strategy, feedback, seed, max_attempts, search_fallback.
        style: the `PromptStyle` by which it is asked for PDDL plans.
        sampling: how the first answer for the goal is drawn.
        chat: whether it answers a chat about anything.
    """

    values: Mapping[str, Any]
    goal: Any
    backend: Backend
    style: Any
    sampling: Sampling
    chat: bool
    models: ModelOpener

    @property
    def strategy(self) -> str:
        """The levels that are asked, as of `planning.levels.level_names`."""
        return str(self.goal.strategy or self.values['strategy'])

    @property
    def feedback(self) -> str:
        """How much of a verdict a retry is shown, a key of `planning.levels.FEEDBACK`."""
        return str(self.goal.feedback or self.values['feedback'])

    @property
    def max_attempts(self) -> int:
        """How often the model is asked."""
        return int(self.goal.max_attempts or self.values['max_attempts'])

    @property
    def may_search(self) -> bool:
        """Whether the search planner may answer."""
        return bool(self.goal.search_fallback and self.values['search_fallback'])

    def asking(self, over: Callable[[], bool], backend: Backend | None = None) -> ChatSetup:
        """How a chat model is asked for this goal: the planner's, or another one."""
        return ChatSetup(
            backend or self.backend, self.sampling, feedback_named(self.feedback), over
        )

    def require_chat(self) -> None:
        """Raises `Skipped` where the planner's model knows only the words of its prompts."""
        if not self.chat:
            raise Skipped(
                f'model {self.values["model"]} knows only the words of its prompts and no '
                'chat: start the planner with a chat model, such as '
                'model:=http://HOST:PORT/v1#MODEL',
                ErrorCode.UNSUPPORTED_FEATURE,
            )


class StepExecutor(Protocol):
    """Takes single steps of a task that is worked on step by step, wherever that may be."""

    def begin(self) -> State:
        """Brings the cell into the initial state; returns the observation, or raises."""
        ...

    def take(self, step: ConcurrentStep, source: str) -> State:
        """Has a step proved, taken and looked at; returns the observation, or raises."""
        ...


class PerceivingExecutor(StepExecutor, Protocol):
    """A step executor that reports its observations, and the objects out of view."""

    @property
    def observed(self) -> State:
        """The last observation; none before `begin`."""
        ...

    def unseen(self) -> frozenset[str]:
        """The objects that are out of view."""
        ...

    def look(self, name: str) -> None:
        """Looks at the place where an object that is out of view is believed to be."""
        ...


@dataclass(frozen=True, slots=True)
class StepAnswer:
    """An answer of a model that is asked for one step after the other.

    Attributes:
        steps: the steps read from it; none where it cannot be read.
        taken: steps that had been taken before.
        seconds: from asking to the verdict [s].
    """

    text: str
    steps: Steps
    verdict: Verdict
    taken: int
    seconds: float
    source: str = MODEL


@dataclass(frozen=True, slots=True)
class StepwiseRun:
    """What a step-by-step run of a task works with.

    Attributes:
        planning: the model, and the planning options of the goal.
        answered: called with each attempt.
        prove: the verifier of plans for the rest of the task, as `ActionTask.rest` takes it.
        most_steps: that are taken or asked for.
        left_s: time left [s].
        turn: held while the model is asked.
    """

    planning: PlanningContext
    executor: PerceivingExecutor
    answered: Callable[[Attempt], None]
    prove: Callable[[object], Verify]
    most_steps: int
    left_s: Callable[[], float]
    cancelled: Callable[[], bool]
    turn: Callable[[], AbstractContextManager[None]] = nullcontext

    def over(self) -> bool:
        """Whether the run has to end: cancelled, or too late."""
        return self.cancelled() or self.left_s() <= 0

    def chat(self) -> tuple[ChatSetup, Callable[[StepAnswer], None]]:
        """The chat model, and the numbering of its answers; raises `Skipped` for another model."""
        self.planning.require_chat()
        count = 0

        def notify(answer: StepAnswer) -> None:
            nonlocal count
            count += 1
            attempt = Attempt(
                count, answer.source, answer.text, answer.verdict, answer.seconds, answer.steps
            )
            self.answered(attempt)

        return self.planning.asking(self.over), notify


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """How a step-by-step run ended.

    Attributes:
        verdict: the feedback, by the observation.
        error: why the task is not done; None where it is.
    """

    verdict: Verdict
    error: SafegenError | None = None

    @classmethod
    def of(cls, verdict: Verdict) -> StepOutcome:
        """The outcome of a run that was not stopped."""
        if verdict.ok:
            return cls(verdict)
        broken = verdict.category is Category.SAFETY_VIOLATION and verdict.broken
        code = ErrorCode.MONITOR_VIOLATION if broken else ErrorCode.ATTEMPTS_EXHAUSTED
        return cls(verdict, SafegenError(f'{verdict.category.name}: {verdict.reason}', code))


def answers(
    ask: ChatSetup,
    question: str,
    history: Sequence[RejectedAnswer],
    retry: Callable[[Verdict], str],
) -> Generator[str, None, None]:
    """The answers of a chat model to one question, each shown what was wrong with the one before.

    Args:
        history: the answers so far with their verdicts; looked at before each retry.
    """
    messages = [{'role': 'user', 'content': question}]
    number = 0
    while True:
        sampling = replace(ask.sampling, seed=ask.sampling.seed + number)
        number += 1
        text = ask.backend.generate(messages, sampling, ask.over).text
        yield text
        messages += [
            {'role': 'assistant', 'content': text},
            {'role': 'user', 'content': retry(ask.show(history[-1].verdict))},
        ]
