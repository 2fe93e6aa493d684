# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a style writes single steps, for a decoder that follows a plan as it is written."""

from __future__ import annotations

from copy import copy

from safegen_ros.llm.spelling import Spelling
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.worlds.pddl3.prompts.styles import PromptStyle


def spelling(style: PromptStyle, problem: Problem) -> Spelling:
    """How a style writes the steps of a problem's plans.

    Both are found by asking the style for answers, so that they follow it whatever it does; what
    is written is read back by `PromptStyle.plan_text`.
    """
    style = copy(style)  # one of its own: a style keeps the names of the last problem only
    probe = Step(next(iter(problem.domain.actions), 'none'))
    once, twice = (style.answer(Plan((probe,) * count), problem) for count in (1, 2))
    return Spelling(
        lambda step: style.answer(Plan((step,)), problem), twice[len(once) : -len(once)]
    )
