# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whatever is said word by word under the shield is safe, new, and ends at the goal alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from random import Random

import pytest

from safegen_ros.datasets.boxnet.draw import RANDOM_ROBOTS, tasks
from safegen_ros.tasks.boxnet.decoding_mask import MaskedPlan, MoveMask
from safegen_ros.tasks.boxnet.findings import Finding
from safegen_ros.tasks.boxnet.model import State, Task
from safegen_ros.tasks.boxnet.prompts import EXAMPLE
from safegen_ros.tasks.boxnet.rule_planner import steady_plan
from safegen_ros.tasks.boxnet.verifier import take_step, verify, verify_step
from safegen_ros.tasks.boxnet.words import NEXT_STEP, WHOLE, answer_in_json, answer_words

SOME = [
    task
    for size, objects in (((2, 2), 1), ((3, 2), 2), ((3, 3), 3))
    for task in islice(tasks(size, objects, 'held', variant=RANDOM_ROBOTS), 2)
]


def said_by_chance(text: MaskedPlan, random: Random, most: int) -> list[str]:
    said = list[str]()
    while len(said) < most and not text.may_end():
        words = sorted(text.next_words())
        if not words:
            break
        said.append(random.choice(words))
        text.take(said[-1])
    return said


@pytest.mark.parametrize('task', SOME, ids=lambda task: task.id)
def test_words_by_chance_are_a_safe_plan_without_a_state_twice(task: Task) -> None:
    for seed in range(2):
        text = MaskedPlan(MoveMask(task), task.start, (), whole=True)
        said = said_by_chance(text, Random(seed), 150)
        ended = text.may_end()
        while said and said[-1] not in ('go', 'take'):
            said.pop()  # what was cut off
        found = verify(task, answer_in_json(' '.join(said), task, WHOLE))
        assert found.finding is (Finding.OK if ended else Finding.INCOMPLETE)
        assert len(set(found.states)) == len(found.states)


def test_it_may_end_at_the_goal_alone_and_must() -> None:
    plan = steady_plan(EXAMPLE, EXAMPLE.start)
    assert plan is not None
    text = MaskedPlan(MoveMask(EXAMPLE), EXAMPLE.start, (), whole=True)
    for word in answer_words(EXAMPLE, EXAMPLE.start, plan):
        assert not text.may_end()
        assert word in text.next_words()
        text.take(word)
    assert text.may_end()
    assert not text.next_words()


def test_a_next_step_leads_to_a_new_state() -> None:
    plan = steady_plan(EXAMPLE, EXAMPLE.start)
    assert plan is not None
    there = take_step(EXAMPLE, EXAMPLE.start, plan[0])
    assert isinstance(there, State)
    words = answer_words(EXAMPLE, EXAMPLE.start, plan[:1])
    for visited, may in (((), True), ((there,), False)):
        text = MaskedPlan(MoveMask(EXAMPLE), EXAMPLE.start, visited, whole=False)
        for word in words:
            text.take(word)
        assert text.may_end() is may
    for seed in range(6):
        text = MaskedPlan(MoveMask(EXAMPLE), EXAMPLE.start, (there,), whole=False)
        said = ' '.join(said_by_chance(text, Random(seed), 99))
        found = verify_step(EXAMPLE, EXAMPLE.start, answer_in_json(said, EXAMPLE, NEXT_STEP))
        assert found.verdict.ok
        assert found.states[-1] not in (there, EXAMPLE.start)


def test_where_every_step_leads_back_nothing_may_be_said() -> None:
    task = replace(EXAMPLE, start=replace(EXAMPLE.start, objects=EXAMPLE.targets))
    text = MaskedPlan(MoveMask(task), task.start, (), whole=True)
    assert (text.next_words(), text.may_end()) == (set(), False)
