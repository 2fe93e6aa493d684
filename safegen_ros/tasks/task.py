# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The contract of a world: how its tasks are read, planned for, proved, carried out and watched.

A world is a folder here and a line of `table`. PDDL is one of them, with domains and formats of its
own; what a world says of its states are ground atoms, and a step is one action or what several
robots do at once. Nobody outside this room asks of which world a task is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Backend, Sampling
from safegen_ros.pddl.model import Problem, State
from safegen_ros.planning.levels import feedback_named
from safegen_ros.planning.loop import MODEL, Attempt, Level, Skipped, Verify
from safegen_ros.robot.cell.execution import Cell
from safegen_ros.robot.cell.job import ConcurrentStep, Monitor
from safegen_ros.robot.pose import Pose
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.monitors import Status

if TYPE_CHECKING:
    from safegen_ros.tasks.pddl3.prompts.styles import PromptStyle

Steps = tuple[ConcurrentStep, ...]
"""A plan: steps one after the other, each with all that is done at once."""

Style = TypeVar('Style')

SYMBOLIC, TWIN = 'symbolic', 'twin'


class TaskMonitor(Monitor, Protocol):
    """Follows the observed states of one execution, and says where the whole stands."""

    def standings(self) -> tuple[tuple[str, Status], ...]:
        """Each constraint as text, and its status in the last observed state."""
        ...

    def remaining(self) -> object | None:
        """What is left of the task from the last observed state on, as `ActionTask.rest` takes it.

        None where that cannot be said.
        """
        ...


class MultiRobotCell(ABC):
    """Carries out steps in which several robots may act; what few cells have is empty here."""

    unseen: Sequence[str] = ()
    """The objects that are out of view."""

    @abstractmethod
    def prepare(self, objects: Sequence[str], init: State) -> None:
        """Brings the cell into the initial state of a task, or raises."""

    @abstractmethod
    def take(self, step: ConcurrentStep) -> None:
        """Carries out one step, or raises."""

    @abstractmethod
    def observe(self) -> State:
        """The atoms that are observed to hold, or raises."""

    @abstractmethod
    def stop(self) -> None:
        """Ends all motion at once, from any thread, and latches."""

    @abstractmethod
    def reset_stop(self) -> None:
        """Allows motion again."""

    def expect_no_look(self) -> None:  # noqa: B027  # most cells see all
        """Called before a whole plan, between whose steps nothing is looked at."""

    def look_of(self, name: str) -> Callable[[], None]:
        """A look at an object that is out of view; raises where the cell has none."""
        raise refused(
            f'there is nothing to look at for {name[:40]!a}: a look is a goal without a step, '
            'which resumes a task that is worked on step by step with blocks'
        )

    def words(self) -> str:
        """What is seen now, where the world says so in words."""
        return ''

    def poses(self) -> Mapping[str, Pose]:
        """Where the objects of a cell with motions of its own are measured."""
        return {}

    def close(self) -> None:  # noqa: B027  # most have nothing to end
        """Ends a cell that was made for one task."""


class ArmCell(Cell, Protocol):
    """The cell of an arm, or of its twin."""

    def home(self) -> None:
        """Moves the arm out of the way."""
        ...


def _no_facts(time: float, state: State, unseen: Sequence[str]) -> None: ...


def _no_poses(time: float, joints: Mapping[str, float], poses: Mapping[str, Pose]) -> None: ...


@dataclass(frozen=True, slots=True)
class CellSetup:
    """What an executor has for a task: its kind of cell, how fast, and who is told.

    Attributes:
        step_seconds: simulated time of a symbolic step [s].
        real_time_factor: simulated seconds per second of the wall clock [1]; 0 for at once.
        facts: told the simulated time [s], the atoms, and the objects that are out of view, when a
            symbolic cell is prepared and after each step.
        kind: `SYMBOLIC`, `TWIN`, or the name of a real arm.
        arm: the cell of the arm or of its twin; None for a symbolic one.
        look: told the simulated time [s], joints [rad] and poses in a cell with several arms.
        view: which blocks are in view, one of `robot.cell.view.VIEWS`.
        start_file: problem whose initial state is how the blocks stand; empty for that of the task.
    """

    step_seconds: float = 0.0
    real_time_factor: float = 0.0
    facts: Callable[[float, State, Sequence[str]], None] = _no_facts
    kind: str = SYMBOLIC
    arm: ArmCell | None = None
    look: Callable[[float, Mapping[str, float], Mapping[str, Pose]], None] = _no_poses
    view: str = 'all'
    start_file: str = ''


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
class Asking:
    """How a chat model is asked.

    Attributes:
        backend: the model.
        sampling: how the first answer is drawn; each later one takes the next seed.
        show: how much of a verdict it is shown.
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


@dataclass(frozen=True, slots=True)
class PlanningContext:
    """What a planner has for a goal.

    Attributes:
        values: of the planner's parameters, for what the goal leaves open.
        goal: options of the goal: strategy, feedback, seed, max_attempts, search_fallback.
        backend: the planner's model.
        style: how it is asked for PDDL plans.
        sampling: how the first answer for the goal is drawn.
        chat: whether it answers a chat about anything.
        models: opens others.
    """

    values: Mapping[str, Any]
    goal: Any
    backend: Backend
    style: PromptStyle
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

    def asking(self, over: Callable[[], bool], backend: Backend | None = None) -> Asking:
        """How a chat model is asked for this goal: the planner's, or another one."""
        return Asking(backend or self.backend, self.sampling, feedback_named(self.feedback), over)

    def require_chat(self) -> None:
        """Raises `Skipped` where the planner's model knows only the words of its own prompts."""
        if not self.chat:
            raise Skipped(
                f'model {self.values["model"]} knows the words of its own prompts and answers no '
                'chat: start the planner with a chat model, such as '
                'model:=http://HOST:PORT/v1#MODEL',
                ErrorCode.UNSUPPORTED_FEATURE,
            )


class StepExecutor(Protocol):
    """Takes single steps of a task that is worked on step by step, wherever that may be."""

    def begin(self) -> State:
        """Brings the cell into the initial state; returns what is observed, or raises."""
        ...

    def take(self, step: ConcurrentStep, source: str) -> State:
        """Has a step proved, taken and looked at; returns what is observed, or raises."""
        ...


class PerceivingExecutor(StepExecutor, Protocol):
    """A step executor that says what it has observed, and what it has not."""

    @property
    def observed(self) -> State:
        """What was observed last; none before `begin`."""
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
        text: the answer.
        steps: what was read from it; none where it cannot be read.
        verdict: of the world.
        taken: steps that had been taken before.
        seconds: from asking to the verdict [s].
        source: the level that has answered.
    """

    text: str
    steps: Steps
    verdict: Verdict
    taken: int
    seconds: float
    source: str = MODEL


@dataclass(frozen=True, slots=True)
class StepRun:
    """What a step-by-step run of a task works with.

    Attributes:
        planning: the model, and what the goal says of planning.
        executor: takes the steps.
        answered: told each attempt with its steps.
        prove: the verifier of plans for what is left of the task, as `ActionTask.rest` takes it.
        most_steps: that are taken or asked for.
        left_s: time left [s].
        cancelled: whether the caller wants to stop.
        turn: held while the model is asked.
    """

    planning: PlanningContext
    executor: PerceivingExecutor
    answered: Callable[[Attempt, Steps], None]
    prove: Callable[[object], Verify]
    most_steps: int
    left_s: Callable[[], float]
    cancelled: Callable[[], bool]
    turn: Callable[[], AbstractContextManager[None]] = nullcontext

    def over(self) -> bool:
        """Whether the run has to end: cancelled, or too late."""
        return self.cancelled() or self.left_s() <= 0

    def chat(self) -> tuple[Asking, Callable[[StepAnswer], None]]:
        """The chat model, and what numbers its answers; raises `Skipped` where it is none."""
        self.planning.require_chat()
        count = 0

        def told(answer: StepAnswer) -> None:
            nonlocal count
            count += 1
            attempt = Attempt(count, answer.source, answer.text, answer.verdict, answer.seconds)
            self.answered(attempt, answer.steps)

        return self.planning.asking(self.over), told


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """How a step-by-step run ended.

    Attributes:
        verdict: on what was done, by what was observed.
        error: why the task is not done; None where it is.
    """

    verdict: Verdict
    error: SafegenError | None = None

    @classmethod
    def of(cls, verdict: Verdict) -> StepOutcome:
        """The outcome of a run that ended by itself."""
        if verdict.ok:
            return cls(verdict)
        broken = verdict.category is Category.SAFETY_VIOLATION and verdict.broken
        code = ErrorCode.MONITOR_VIOLATION if broken else ErrorCode.ATTEMPTS_EXHAUSTED
        return cls(verdict, SafegenError(f'{verdict.category.name}: {verdict.reason}', code))


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
    def rest_format(self) -> str:
        """What the rest of the task is written in; empty for PDDL."""
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
    def problem(self) -> Problem | None:
        """The PDDL problem; None for other worlds.

        Only a task with one is bound by rules of a site, rehearsed on the twin of the arm, and
        begun from the last known world.
        """
        ...

    @property
    def objects(self) -> Sequence[str]:
        """What atoms and actions may name."""
        ...

    @property
    def init(self) -> State:
        """The initial state."""
        ...

    def levels(self, context: PlanningContext) -> Sequence[Level]:
        """The planners of whole plans to try, in order.

        Raises:
            SafegenError: the goal names one that the world has not (`UNKNOWN_STRATEGY`), or there
                is none (`UNSUPPORTED_FEATURE`).
        """
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

    def second_opinion(self, answer: str) -> Verdict:
        """The verdict on a whole plan that another validator agrees with; `UNKNOWN` where not."""
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

    def cell(self, setup: CellSetup) -> MultiRobotCell:
        """The cell that carries it out.

        Raises:
            SafegenError: the executor's cell does not do what the task is about
                (`UNSUPPORTED_SCENE`, or `UNKNOWN_DOMAIN`).
        """
        ...

    def play(self, run: StepRun) -> StepOutcome:
        """Works on the task step by step until it is done, given up, or the steps are used up.

        Raises:
            SafegenError: the model does not answer, the executor fails, or the world plans for its
                tasks as a whole (`UNSUPPORTED_FEATURE`).
        """
        ...

    def replay(self, answers: Sequence[str], told: Callable[[StepAnswer], None]) -> Verdict:
        """What becomes of the answers of a chat model in a world of its own."""
        ...


class OtherWorld:
    """Base of tasks that are no PDDL problems: what such a world need not have."""

    format = ''
    problem = None
    pddl = ''

    @property
    def rest_format(self) -> str:
        """The format of the task."""
        return self.format

    def levels(self, context: PlanningContext) -> Sequence[Level]:
        """None: the task is worked on step by step."""
        raise SafegenError(
            f'a task in format {self.format} is worked on step by step: send it so',
            ErrorCode.UNSUPPORTED_FEATURE,
        )

    def second_opinion(self, answer: str) -> Verdict:
        """None: VAL judges PDDL plans."""
        return Verdict(reason=f'VAL has no opinion on a task in format {self.format}')

    def play(self, run: StepRun) -> StepOutcome:
        """Refused: the task is planned as a whole."""
        raise self._whole()

    def replay(self, answers: Sequence[str], told: Callable[[StepAnswer], None]) -> Verdict:
        """Refused likewise."""
        raise self._whole()

    def _whole(self) -> SafegenError:
        return SafegenError(
            f'a task in format {self.format} is planned as a whole: leave out step_by_step',
            ErrorCode.UNSUPPORTED_FEATURE,
        )

    def require_symbolic(self, setup: CellSetup) -> None:
        """Raises where the executor has an arm, which does nothing for such a task."""
        if setup.kind != SYMBOLIC:
            raise SafegenError(
                f'a task in format {self.format} is not for the arm of this cell: {USE_SYMBOLIC}',
                ErrorCode.UNSUPPORTED_SCENE,
            )


USE_SYMBOLIC = 'or start the stack with cell:=symbolic, where nothing moves'
"""The cure for a task that the arm cannot carry out."""


def refused(message: str) -> SafegenError:
    """The error of steps that are none of a world."""
    return SafegenError(message, ErrorCode.PLAN_REFUSED)


def answers(
    ask: Asking,
    question: str,
    history: Sequence[RejectedAnswer],
    retry: Callable[[Verdict], str],
) -> Generator[str, None, None]:
    """The answers of a chat model to one question, each shown what was wrong with the one before.

    Args:
        ask: how it is asked.
        question: what it is asked first.
        history: the answers so far with their verdicts; looked at before each retry.
        retry: the text of a verdict, as much of it as is shown.
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
