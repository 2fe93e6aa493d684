# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A model that is asked for one step of several robots after the other (REPLAN of the paper)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from safegen_ros.llm.backend import Message
from safegen_ros.pddl.model import State as Atoms
from safegen_ros.robot.cell.execution import ConcurrentStep
from safegen_ros.tasks.boxnet.atoms import actions, atoms, moves, state_of
from safegen_ros.tasks.boxnet.model import State, Step, Task, observation
from safegen_ros.tasks.boxnet.prompts import feedback, step_prompt
from safegen_ros.tasks.boxnet.verifier import Judged, judge, take_step, verify_step
from safegen_ros.tasks.context import ChatSetup, StepAnswer, StepExecutor
from safegen_ros.verdict import Verdict

ATTEMPTS = 5
"""How often a model is asked for a step until one may be taken."""

MODEL = 'model'

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


class _Run:
    def __init__(
        self,
        task: Task,
        answer: Ask,
        show: Callable[[Verdict], Verdict],
        executor: StepExecutor,
        notify: Callable[[StepAnswer], None],
    ) -> None:
        self._task, self._answer, self._show = task, answer, show
        self._executor, self._notify = executor, notify
        self._steps: list[Step] = []
        self._messages: list[Message] = []

    def run(self, most_steps: int) -> Verdict:
        state = state_of(self._task, self._executor.begin())
        self._say('user', step_prompt(replace(self._task, start=state)))
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
