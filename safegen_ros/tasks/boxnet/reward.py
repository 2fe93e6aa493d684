# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What an answer earns: its form, a solved task, and fewer steps (section 2 of the paper).

As the formula of the paper stands, a long plan that fails would be punished for its length too, and
a failed plan could earn less than none at all. Here only a plan that solves its task is.

While a model is trained (`data.reward` of a recipe of stage `grpo`), a next step earns as much for
bringing the end closer as the step of the reference does, and less for each carry or arm that it is
behind that: as a rule it solves nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from safegen_ros.tasks.boxnet.astar import Routes
from safegen_ros.tasks.boxnet.findings import Finding
from safegen_ros.tasks.boxnet.model import Plan, State, Task
from safegen_ros.tasks.boxnet.reader import task_of
from safegen_ros.tasks.boxnet.verifier import Judged, judge, verify, verify_step
from safegen_ros.tasks.boxnet.words import NEXT_STEP, WHOLE, answer_in_json

FORM = 0.1
SOLVED = 1.0
STEP = 0.1
"""Penalty of each step above the length of the reference."""


def reward(judged: Judged, reference_steps: int | None) -> float:
    """The reward of an answer.

    Args:
        reference_steps: of the plan that it is measured by; None for a task that has no plan, where
            the refusal is what solves it.

    Returns:
        `FORM` for the form, and `SOLVED` less `STEP` for each step too many; a plan that solves its
        task never earns less than twice what its form does.
    """
    form = FORM if judged.formatted else 0.0
    if reference_steps is None:
        return form + SOLVED * (judged.finding is Finding.REFUSED)
    if not judged.verdict.ok:
        return form
    longer = max(0, len(judged.plan) - reference_steps)
    return max(2 * form, form + SOLVED - STEP * longer)


def question(task: Task, state: State, rest: Plan | None, mode: str) -> dict[str, Any]:
    """What the reward functions must know of a question, as values of JSON.

    Args:
        rest: the steps of the reference from there on; None for a task without a plan.
        mode: `WHOLE` or `NEXT_STEP`.
    """
    here = replace(task, start=state)
    found: dict[str, Any] = {'map': json.loads(here.to_json()), 'mode': mode, 'steps': None}
    if rest is not None:
        found['steps'] = len(rest)
        if mode == NEXT_STEP:
            found['left'] = left_to_do(here, judge(here, rest[:1]).states[-1])
    return found


def left_to_do(task: Task, state: State) -> int:
    """Carries that are left, and objects that no arm has gone to yet."""
    carries = Routes(replace(task, start=state)).carries
    pairs = enumerate(zip(state.objects, task.targets, strict=True))
    return sum(
        carries[index][place] + (place not in state.tips)
        for index, (place, target) in pairs
        if place != target
    )


def text_reward(task: Mapping[str, Any], completion: str) -> float:
    """The reward of an answer of a chat model.

    Args:
        task: what `question` has written.

    Raises:
        BoxnetError: the map is invalid.
    """
    return _worth(task_of(json.dumps(task['map']), 'task'), task, completion)


def word_reward(task: Mapping[str, Any], completion: str) -> float:
    """The reward of an answer in `words`; otherwise as `text_reward`."""
    found = task_of(json.dumps(task['map']), 'task')
    return _worth(found, task, answer_in_json(completion, found, task['mode']))


def _worth(found: Task, task: Mapping[str, Any], answer: str) -> float:
    if task['mode'] == WHOLE or task['steps'] is None:
        return reward(verify(found, answer), task['steps'])
    judged = verify_step(found, found.start, answer)
    form = FORM if judged.formatted else 0.0
    if not judged.verdict.ok:
        return form
    left = left_to_do(found, judged.states[-1])
    if left >= left_to_do(found, found.start) and left > task['left']:
        return form  # nothing has come closer
    return max(2 * form, form + SOLVED - STEP * max(0, left - int(task['left'])))
