# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of concurrent goals: what it asks, how many at once, and what it makes of it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from safegen_ros.benchmarks.speed import concurrency
from safegen_ros.benchmarks.speed.concurrency import draw_tasks, measure
from safegen_ros.llm.backend import Completion, Message, Sampling
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle

ASKED = InstructStyle(), 1, 'model, search', 0
WAIT_S = 60.0


class Script:
    """Knows a plan for each problem of some domains, and answers no call but the first alone."""

    def __init__(self, right: Sequence[str], at_once: int) -> None:
        style = InstructStyle()
        self.plans = {
            style.messages(task.problem, [])[0]['content']: str(solve(task.problem).plan)
            for task in draw_tasks(1, 0)
            if task.problem.domain.name in right
        }
        self.asked: Counter[str] = Counter()
        self._together = threading.Barrier(at_once)

    def generate(self, messages: Sequence[Message], sampling: Sampling, *_: Any) -> Completion:
        first = messages[0]['content']
        if self.asked:
            self._together.wait(WAIT_S)
        self.asked[first] += 1
        return Completion(self.plans.get(first, 'I do not know.'), 50, 10, 0.0, 'stop')


def test_every_goal_is_served_and_labelled_with_who_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(concurrency, 'AT_ONCE', (2,))
    right = [task.problem.domain.name for task in draw_tasks(1, 0)]
    told: list[tuple[str, int, int]] = []
    plain, shared = Script(right, 1), Script(right, 2)
    report = measure(plain, shared, *ASKED, lambda *stage: told.append(stage))
    assert len(plain.asked) == len(shared.asked) == len(kits())
    assert plain.asked.total() == 1 + 3 * len(kits())
    assert shared.asked.total() == plain.asked.total() + len(kits())
    assert told[-1] == ('goals', 1, 1)
    figures = {m.name: m for m in report.measurements}
    assert '4 answers, 10.0 tokens each' in figures['plain generate, one after the other'].note
    rate = figures['2 at once'].value
    assert rate is not None
    assert rate > 0
    by_model = figures['2 goals at once: proved plans by the model']
    assert (by_model.value, by_model.note) == (100, 'of 4 goals: 4 by model')


def test_what_the_search_planner_answers_is_not_the_models(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(concurrency, 'AT_ONCE', (1,))
    report = measure(Script([], 1), Script(['ferry'], 1), *ASKED, lambda *stage: None)
    figures = {m.name: m for m in report.measurements}
    by_model = figures['1 goal at once: proved plans by the model']
    assert (by_model.value, by_model.note) == (25, 'of 4 goals: 1 by model, 3 by search')
    assert figures['1 goal at once: goal to proved plan, median'].target == 1.0
