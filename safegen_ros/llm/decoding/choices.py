# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The shield for a model on a server, which is asked for one step at a time.

A server can be told which answers it may give (`structured_outputs.choice` of vLLM) though not
which tokens; the client keeps the state. Where a server takes no such list, its answers are held
against it here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from safegen_ros.errors import BackendError
from safegen_ros.llm.backend import (
    Cancelled,
    ChoiceBackend,
    ChoiceUnsupported,
    Message,
    Sampling,
    Unsupported,
    never,
)
from safegen_ros.llm.decoding.guide import BeamResult, PlanSyntax
from safegen_ros.llm.decoding.shield import TextEnding
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.verify.admissible import Shield, Situation

MAX_STEPS = 200
"""The longest plan that is asked for; each of its steps is a request."""

TRIES = 3
"""How often a server that cannot be held to the choices is asked for one step."""


class StepChoices:
    """Follows one plan of one problem, choice by choice, and leads it nowhere twice.

    Example:
        choices = StepChoices(Shield(problem), syntax(style, problem))
        while choices.ending is Ending.CUT:
            choices.take(ask(choices.text, choices.offered))
    """

    def __init__(self, shield: Shield, syntax: PlanSyntax) -> None:
        self._shield = shield
        self._syntax = syntax
        self._steps: list[Step] = []
        self._situation = shield.start
        self._visited = {shield.start}
        self.ending = TextEnding.CUT
        """`CUT` while the plan may go on, `FINISHED` at a solution, `STUCK` where nothing may come
        next."""
        self._choices = self._offer()

    @property
    def plan(self) -> Plan:
        """The plan so far."""
        return Plan(tuple(self._steps))

    @property
    def text(self) -> str:
        """The plan so far, as the model writes it."""
        return self._syntax.plan(self.plan)

    @property
    def situation(self) -> Situation:
        """Where the plan has led to."""
        return self._situation

    @property
    def offered(self) -> tuple[str, ...]:
        """What the model may answer; nothing once the plan has ended.

        A single choice need not be asked for.
        """
        return tuple(self._choices)

    def take(self, answer: str) -> None:
        """Goes on with one of the choices; blanks around it do not count.

        Raises:
            BackendError: it is not one of them; nothing has changed.
        """
        found = self._choices.get(answer.strip())
        if found is None:
            raise BackendError(
                f'the model answered {answer.strip()[:80]!r} where it was to choose one of '
                f'{len(self._choices)} steps: ask again, or use a server that keeps to choices'
            )
        step, self._situation = found
        self._steps.append(step)
        self._visited.add(self._situation)
        self._choices = self._offer()

    def _offer(self) -> dict[str, tuple[Step, Situation]]:
        """The choices, each with the step and where it leads."""
        if self._shield.finished(self._situation):
            self.ending = TextEnding.FINISHED
            return {}
        found = {
            self._syntax.step(step): (step, after)
            for step, after in self._shield.steps(self._situation).items()
            if after not in self._visited
        }
        if not found:
            self.ending = TextEnding.STUCK
        return found


class ChoiceGuide:
    """A `Guide` for one problem and a model at a server, which is asked for step after step.

    A server that cannot be held to the choices gets the plain question, so the message should name
    them. Its answer counts only where it is a choice.

    Args:
        ask: the messages that ask for the next step, given the plan so far as the model writes it
            and the choices; it may raise `Unsupported`.
        max_steps: longest plan that is asked for.
    """

    def __init__(
        self,
        model: ChoiceBackend,
        ask: Callable[[str, Sequence[str]], list[Message]],
        shield: Shield,
        syntax: PlanSyntax,
        max_steps: int = MAX_STEPS,
    ) -> None:
        self._model = model
        self._ask = ask
        self._shield = shield
        self._syntax = syntax
        self._max_steps = max_steps
        self._plain = False

    def shielded(self, sampling: Sampling, cancelled: Cancelled = never) -> Plan:
        """A plan of admissible steps only; see `Guide.shielded`."""
        choices = StepChoices(self._shield, self._syntax)
        while choices.ending is TextEnding.CUT and len(choices.plan) < self._max_steps:
            offered = choices.offered
            choices.take(
                offered[0] if len(offered) == 1 else self._choice(choices, sampling, cancelled)
            )
        return choices.plan

    def completed(self, kept: Plan, sampling: Sampling, cancelled: Cancelled = never) -> str:
        """Is `Unsupported`: a server begins every answer itself."""
        raise Unsupported(
            'a server does not go on with an answer that was begun for it: load the model from its '
            'folder'
        )

    def beam(
        self,
        width: int,
        time_limit_s: float,
        cancelled: Cancelled = never,
        *,
        backtrack: bool = False,
    ) -> BeamResult:
        """Is `Unsupported`: a server does not report alternatives to its answer."""
        raise Unsupported(
            'a beam needs the probabilities of all tokens: load the model from its folder'
        )

    def _choice(self, choices: StepChoices, sampling: Sampling, cancelled: Cancelled) -> str:
        offered = choices.offered
        messages = self._ask(choices.text, offered)
        if not self._plain:
            try:
                return self._model.choose(messages, offered, sampling, cancelled).text
            except ChoiceUnsupported:
                self._plain = True
        for number in range(TRIES):
            drawn = replace(sampling, seed=sampling.seed + number)
            answer = self._model.generate(messages, drawn, cancelled).text.strip()
            if answer in offered:
                return answer
        raise Unsupported(
            f'the server cannot be held to the {len(offered)} steps that may come next, and '
            f'answered {answer[:80]!r}: use vLLM, or load the model from its folder'
        )
