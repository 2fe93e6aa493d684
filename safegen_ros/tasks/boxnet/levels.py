# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Planners for several arms: of whole plans, a model and the search; a model step by step."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Backend, Message
from safegen_ros.pddl.model import State as Atoms
from safegen_ros.planning.levels import SHIELD, level_names
from safegen_ros.planning.loop import MODEL, SEARCH, History, Level, Skipped
from safegen_ros.robot.cell.execution import ConcurrentStep
from safegen_ros.sync import PlanningDeadline
from safegen_ros.tasks.boxnet.atoms import actions, atoms, moves, state_of
from safegen_ros.tasks.boxnet.model import State, Step, Task, observation, plan_json
from safegen_ros.tasks.boxnet.optimal import solve
from safegen_ros.tasks.boxnet.planner import constrained_plans
from safegen_ros.tasks.boxnet.prompts import (
    ChatStyle,
    MapStyle,
    Style,
    feedback,
    plan_prompt,
    style_of,
)
from safegen_ros.tasks.boxnet.verifier import Judged, judge, take_step, verify_step
from safegen_ros.tasks.context import (
    ChatSetup,
    PlanningContext,
    StepAnswer,
    StepExecutor,
    answers,
)
from safegen_ros.verdict import Verdict

SHIPPED = 'models/safegen-boxnet-mini'
"""Plans for several arms where no model is named and the planner's own answers no chat."""


def levels(task: Task, context: PlanningContext) -> tuple[Level, ...]:
    """The levels of the strategy that plan for several arms.

    Others that the node is set to ask are for PDDL tasks, and are left out; a goal may not name
    them.

    Raises:
        SafegenError: the goal names a level that there is not here (`UNKNOWN_STRATEGY`).
    """
    names = level_names(context.strategy)
    unfit = [name for name in names if name not in (MODEL, SEARCH)]
    if unfit and context.goal.strategy:
        raise SafegenError(
            f'planner {unfit[0]} is for PDDL tasks: for one in format boxnet name {MODEL}, '
            f'{SEARCH}, or both',
            ErrorCode.UNKNOWN_STRATEGY,
        )
    named = context.values['arms_model']
    # The shield labels plans whose model chooses among admissible moves.
    source = MODEL

    def model() -> tuple[Style, Backend]:
        if not named and context.chat:
            return ChatStyle(), context.backend
        return context.models.opened(named or SHIPPED, style_of)

    if named or not context.chat:
        words = not named or isinstance(model()[0], MapStyle)
        source = SHIELD if words else MODEL

    def asked(history: History, deadline: PlanningDeadline) -> Generator[str, None, None]:
        style, backend = model()
        yield from _plans(task, context, (style, backend), history, deadline)

    def searched(history: History, deadline: PlanningDeadline) -> Generator[str, None, None]:
        if not context.may_search:
            raise Skipped('the search is turned off')
        yield search(task, deadline.left_s, deadline.cancelled)

    found = {
        MODEL: Level(source, context.max_attempts, asked),
        SEARCH: Level(SEARCH, 1, searched),
    }
    return tuple(found[name] for name in names if name in found)


def search(task: Task, seconds: float, cancelled: Callable[[], bool]) -> str:
    """A plan of the fewest steps, or of few, within a time [s]; raises as `optimal.solve`."""
    end = time.monotonic() + seconds
    found = solve(task, over=lambda: cancelled() or time.monotonic() > end)
    return plan_json(found.plan)


def _plans(
    task: Task,
    context: PlanningContext,
    model: tuple[Style, Backend],
    history: History,
    deadline: PlanningDeadline,
) -> Generator[str, None, None]:
    """Whole plans; a model of words is held to those that may be said."""
    style, backend = model
    ask = context.asking(deadline.over, backend)
    if not isinstance(style, MapStyle):
        retry = partial(feedback, whole=True)
        yield from answers(ask, plan_prompt(task, whole=True), history, retry)
        return
    try:
        yield from constrained_plans(task, ask, style)
    except SafegenError as error:
        if error.code is not ErrorCode.TASK_TOO_LARGE:
            raise
        raise Skipped(error.message, error.code) from error


ATTEMPTS = 5
"""How often a model is asked for a step until one may be taken."""
Ask = Callable[[Sequence[Message]], str]
"""Asks for the next answer."""


def play(
    task: Task,
    ask: ChatSetup,
    executor: StepExecutor,
    notify: Callable[[StepAnswer], None],
    most_steps: int,
) -> Verdict:
    """Has a model bring all objects to their targets."""
    asked = 0

    def answer(messages: Sequence[Message]) -> str:
        nonlocal asked
        sampling = replace(ask.sampling, seed=ask.sampling.seed + asked)
        asked += 1
        return ask.backend.generate(messages, sampling, ask.over).text

    return _Run(task, answer, ask.show, executor, notify).run(most_steps)


def replay(task: Task, answers: Sequence[str], notify: Callable[[StepAnswer], None]) -> Verdict:
    """What becomes of answers that were given to `play`."""
    left = iter(answers)

    def answer(messages: Sequence[Message]) -> str:
        text = next(left, None)
        if text is None:
            raise _NoMore
        return text

    return _Run(task, answer, lambda verdict: verdict, _OwnExecutor(task), notify).run(len(answers))


class _NoMore(Exception):
    """There are no more answers."""


@dataclass(slots=True)
class _OwnExecutor:
    """Steps that do what the rules of the world say."""

    task: Task

    def begin(self) -> Atoms:
        return atoms(self.task.start)

    def take(self, step: ConcurrentStep, source: str) -> Atoms:
        after = take_step(self.task, self.task.start, moves(self.task, step))
        if isinstance(after, State):
            self.task = replace(self.task, start=after)
        return atoms(self.task.start)


@dataclass
class _Run:
    _task: Task
    _answer: Ask
    _show: Callable[[Verdict], Verdict]
    _executor: StepExecutor
    _notify: Callable[[StepAnswer], None]
    _steps: list[Step] = field(default_factory=list)
    _messages: list[Message] = field(default_factory=list)

    def run(self, most_steps: int) -> Verdict:
        state = state_of(self._task, self._executor.begin())
        self._say('user', plan_prompt(replace(self._task, start=state), whole=False))
        while not self._task.solved(state) and len(self._steps) < most_steps:
            step = self._step(state)
            if step is None:
                break
            state = state_of(self._task, self._executor.take(actions(step), MODEL))
            self._steps.append(step)
            self._say('user', observation(self._task, state))
        return judge(self._task, tuple(self._steps)).verdict

    def _step(self, state: State) -> Step | None:
        """The next step that may be taken; None where the model has none."""
        try:
            for found in self._answers(state):
                if found.verdict.ok:
                    return found.plan[0]
                self._say('user', feedback(self._show(found.verdict), whole=False))
        except _NoMore:
            pass
        return None

    def _answers(self, state: State) -> Iterator[Judged]:
        for _ in range(ATTEMPTS):
            asked = time.monotonic()
            text = self._answer(self._messages)
            self._say('assistant', text)
            found = verify_step(self._task, state, text)
            steps = tuple(map(actions, found.plan))
            seconds = time.monotonic() - asked
            self._notify(StepAnswer(text, steps, found.verdict, len(self._steps), seconds))
            yield found

    def _say(self, role: str, text: str) -> None:
        self._messages.append({'role': role, 'content': text})
