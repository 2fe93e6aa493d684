# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The prompt style of the model of version 0.1, which knows Blocksworld and one way to write it."""

from __future__ import annotations

from collections.abc import Sequence

from safegen_ros.llm.canonical import canonical_task, render_plan
from safegen_ros.llm.vocabulary import VERDICT_WORD
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.verdict import Verdict


class CanonicalStyle:
    """The canonical words of a model that does not read PDDL."""

    def messages(
        self, problem: Problem, history: Sequence[tuple[str, Verdict]], form: str = 'pddl'
    ) -> list[dict[str, str]]:
        """The task in one message, with the last failed attempt; earlier ones are left out."""
        task = canonical_task(problem)
        parts = [task.prompt]
        if history and history[-1][1].category in VERDICT_WORD:
            parts.append(task.attempt(*history[-1]))
        return [{'role': 'user', 'content': ' '.join(parts)}]

    def answer(self, plan: Plan, problem: Problem) -> str:
        """The plan under canonical names."""
        names = canonical_task(problem).names
        slots = {name: f'b{number}' for number, name in enumerate(names, 1)}
        return ' '.join(
            ' '.join((s.action, *map(slots.__getitem__, s.arguments))) for s in plan.steps
        )

    def plan_text(self, completion: str, problem: Problem) -> str:
        """The steps with the problem's names; anything that is no step is left as it came."""
        return render_plan(completion, canonical_task(problem).names)
