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
from safegen_ros.llm.decoding.guide import Guide, PlanSyntax
from safegen_ros.pddl.plan import Plan
from safegen_ros.verify.admissible import Shield

MAX_STEPS = 200
"""The longest plan that is asked for; each of its steps is a request."""

TRIES = 3
"""How often a server that cannot be held to the choices is asked for one step."""


class ChoiceGuide(Guide):
    """A `Guide` for one problem and a model at a server, which is asked for step after step.

    A server that cannot be held to the choices gets the plain question, so the message should name
    them. Its answer counts only where it is a choice.

    Args:
        ask: the messages that ask for the next step, given the plan so far as the model writes it
            and the choices; it may raise `Unsupported`.
    """

    def __init__(
        self,
        model: ChoiceBackend,
        ask: Callable[[str, Sequence[str]], list[Message]],
        shield: Shield,
        syntax: PlanSyntax,
    ) -> None:
        self._model = model
        self._ask = ask
        self._shield = shield
        self._syntax = syntax
        self._plain = False

    def shielded(self, sampling: Sampling, cancelled: Cancelled = never) -> Plan:
        """A plan of admissible steps only, which leads nowhere twice; see `Guide.shielded`."""
        situation = self._shield.start
        plan, visited = Plan(), {situation}
        while not self._shield.finished(situation) and len(plan) < MAX_STEPS:
            offered = {
                self._syntax.step(step): (step, after)
                for step, after in self._shield.steps(situation).items()
                if after not in visited
            }
            if not offered:
                break
            answer = self._choice(plan, tuple(offered), sampling, cancelled)
            step, situation = offered[answer]
            plan = Plan((*plan.steps, step))
            visited.add(situation)
        return plan

    def _choice(
        self, plan: Plan, offered: Sequence[str], sampling: Sampling, cancelled: Cancelled
    ) -> str:
        if len(offered) == 1:  # which need not be asked for
            return offered[0]
        messages = self._ask(self._syntax.plan(plan), offered)
        if not self._plain:
            try:
                answer = self._model.choose(messages, offered, sampling, cancelled).text.strip()
            except ChoiceUnsupported:
                self._plain = True
            else:
                if answer in offered:
                    return answer
                raise BackendError(
                    f'the model answered {answer[:80]!r} where it was to choose one of '
                    f'{len(offered)} steps: ask again, or use a server that keeps to choices'
                )
        for number in range(TRIES):
            drawn = replace(sampling, seed=sampling.seed + number)
            answer = self._model.generate(messages, drawn, cancelled).text.strip()
            if answer in offered:
                return answer
        raise Unsupported(
            f'the server cannot be held to the {len(offered)} steps that may come next, and '
            f'answered {answer[:80]!r}: use vLLM, or load the model from its folder'
        )
