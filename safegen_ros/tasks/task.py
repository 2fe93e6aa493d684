# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a task is to the stack, whatever world it is of: read, proved, carried out, watched.

A world is a folder here and a line of `table`. PDDL is one of them, with domains and formats of its
own; what a world says of its states are ground atoms, and a step is one action or what several
robots do at once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Backend, Sampling
from safegen_ros.pddl.model import State
from safegen_ros.robot.cell.job import JointStep, Monitor, Stoppable
from safegen_ros.verdict import Verdict
from safegen_ros.verify.monitors import Status

Steps = tuple[JointStep, ...]
"""A plan: steps one after the other, each with all that is done at once."""


class TaskMonitor(Monitor, Protocol):
    """Follows the observed states of one execution, and says what the whole stands at."""

    def standings(self) -> tuple[tuple[str, Status], ...]:
        """Each constraint as text, and where it stands in the last observed state."""
        ...

    def remaining(self) -> object | None:
        """What is left of the task from the last observed state on, as `ActionTask.rest` takes it.

        None where that cannot be said.
        """
        ...


class JointCell(Stoppable, Protocol):
    """What carries out steps in which several robots may act."""

    def prepare(self, objects: Sequence[str], init: State) -> None:
        """Brings the cell into the initial state of a task, or raises."""
        ...

    def take(self, step: JointStep) -> None:
        """Carries out one step, or raises."""
        ...

    def observe(self) -> State:
        """The atoms that are observed to hold, or raises."""
        ...


@runtime_checkable
class TellingCell(JointCell, Protocol):
    """A cell that tells in words what is seen in it."""

    def words(self) -> str:
        """What is seen now."""
        ...


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a symbolic cell is, and who is told what is there.

    Attributes:
        step_seconds: simulated time of a step [s].
        real_time_factor: simulated seconds per second of the wall clock [1]; 0 for at once.
        sample: called with the simulated time [s] and the atoms, when the cell is prepared and
            after each step.
    """

    step_seconds: float = 0.0
    real_time_factor: float = 0.0
    sample: Callable[[float, State], None] = lambda time, state: None


class Judged(Protocol):
    """An answer that was refused."""

    @property
    def text(self) -> str:
        """The answer."""
        ...

    @property
    def verdict(self) -> Verdict:
        """What is wrong with it."""
        ...


@dataclass(frozen=True, slots=True)
class Asking:
    """How a chat model is asked.

    Attributes:
        backend: the model.
        sampling: how the first answer is drawn; each later one takes the next seed.
        show: how much of a verdict it is told.
        over: whether to stop.
    """

    backend: Backend
    sampling: Sampling
    show: Callable[[Verdict], Verdict]
    over: Callable[[], bool]


class ActionTask(Protocol):
    """A task of some world, as its text says it."""

    @property
    def name(self) -> str:
        """Of the task."""
        ...

    @property
    def world(self) -> str:
        """Of what world it is; of a PDDL task, the name of its domain."""
        ...

    @property
    def format(self) -> str:
        """What its text is written in."""
        ...

    @property
    def problem_text(self) -> str:
        """The text, as it was sent."""
        ...

    @property
    def pddl(self) -> str:
        """The same as a PDDL problem; empty where it is that already, or cannot be said so."""
        ...

    @property
    def objects(self) -> Sequence[str]:
        """What atoms and actions may name."""
        ...

    @property
    def init(self) -> State:
        """The initial state."""
        ...

    def verify(self, answer: str, *, step_by_step: bool = False) -> Verdict:
        """The verdict on the text of a plan.

        Args:
            answer: the text, whatever it is.
            step_by_step: whether it is one step, or none, of a task that is worked on step by step:
                it has to apply and to leave all constraints satisfiable, and need not reach the
                goal.
        """
        ...

    def steps_of(self, answer: str, *, step_by_step: bool = False) -> Steps:
        """The steps in such a text; none where it cannot be read."""
        ...

    def answer_of(self, steps: Steps, *, step_by_step: bool = False) -> str:
        """The text of steps, as `verify` reads it.

        Raises:
            SafegenError: they are no steps of this world (`PLAN_REFUSED`).
        """
        ...

    def monitor(self, steps: Steps, *, step_by_step: bool = False) -> TaskMonitor:
        """What watches an execution of steps that are proved."""
        ...

    def rest(self, remaining: object) -> tuple[str, str]:
        """What is left of the task, as its monitor says it: the domain's text and the problem's."""
        ...

    def conditions(self, state: State) -> tuple[tuple[str, bool], ...]:
        """Each part of the goal as text, and whether it holds in a state."""
        ...

    def summary(self) -> tuple[tuple[str, str], ...]:
        """Lines about it for a person, each with its title."""
        ...


@runtime_checkable
class CellTask(ActionTask, Protocol):
    """A task whose world has a cell of its own."""

    def cell(self, pace: Pace) -> JointCell:
        """A cell in which nothing moves."""
        ...


class Hands(Protocol):
    """Takes single steps of a task that is worked on step by step, wherever that may be."""

    def begin(self) -> State:
        """Brings the cell into the initial state; returns what is observed, or raises."""
        ...

    def take(self, step: JointStep, source: str) -> State:
        """Has a step proved, taken and looked at; returns what is observed, or raises.

        Args:
            step: the step.
            source: who has chosen it.
        """
        ...


@dataclass(frozen=True, slots=True)
class Chosen:
    """An answer of a model that is asked for one step after the other.

    Attributes:
        text: the answer.
        steps: what was read from it; none where it cannot be read.
        verdict: what is said of it.
        taken: steps that had been taken before.
        seconds: from asking to the verdict [s].
    """

    text: str
    steps: Steps
    verdict: Verdict
    taken: int
    seconds: float


@runtime_checkable
class StepTask(CellTask, Protocol):
    """A task whose world works on it step by step with a chat model."""

    def play(
        self, ask: Asking, hands: Hands, told: Callable[[Chosen], None], most_steps: int
    ) -> Verdict:
        """Works on the task until it is done, given up, or the steps are used up.

        Args:
            ask: how the model is asked.
            hands: what takes the steps.
            told: told of each answer of the model, and what is said of it.
            most_steps: that are asked for.

        Returns:
            The verdict on what was done, by what was observed.

        Raises:
            SafegenError: the model does not answer, or the hands fail.
        """
        ...

    def replay(self, answers: Sequence[str], told: Callable[[Chosen], None]) -> Verdict:
        """What becomes of answers that were given to `play`, in a world of its own.

        Args:
            answers: all of them, in order.
            told: told of each, and of what is said of it.
        """
        ...


def refused(message: str) -> SafegenError:
    """The error of steps that are none of a world."""
    return SafegenError(message, ErrorCode.PLAN_REFUSED)


def answers(
    ask: Asking,
    question: str,
    history: Sequence[Judged],
    retry: Callable[[Verdict], str],
) -> Generator[str, None, None]:
    """The answers of a chat model to one question, each told what was wrong with the one before.

    Args:
        ask: how it is asked.
        question: what it is asked first.
        history: the answers so far with their verdicts; looked at before each retry.
        retry: what it is told of a verdict, as much of it as it is to be told.
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
