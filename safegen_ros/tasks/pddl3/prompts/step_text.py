# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a style writes single steps and asks for them, for plans that are followed as they grow."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from safegen_ros.llm.backend import Unsupported
from safegen_ros.llm.decoding.plan_syntax import PlanSyntax
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle, Message, PromptStyle


def spelling(style: PromptStyle, problem: Problem) -> PlanSyntax:
    """How a style writes the steps of a problem's plans.

    Both are found by asking the style for answers, so that they follow it whatever it does; what
    is written is read back by `PromptStyle.plan_text`.
    """
    style = copy(style)  # one of its own: a style keeps the names of the last problem only
    probe = Step(next(iter(problem.domain.actions), 'none'))
    once, twice = (style.answer(Plan((probe,) * count), problem) for count in (1, 2))
    return PlanSyntax(
        lambda step: style.answer(Plan((step,)), problem), twice[len(once) : -len(once)]
    )


_NEXT = """\
Write only the next step of the plan, and nothing else. It is one of these lines:

{steps}"""


def next_step(
    style: PromptStyle, messages: Sequence[Message], text: str, offered: Sequence[str]
) -> list[Message]:
    """Chat messages that ask for the next step of a plan.

    Args:
        style: how the model is asked.
        messages: what asks for a whole plan in this style, one message of the user.
        text: the plan so far, as the model writes it.
        offered: the steps that it may go on with, likewise.

    Raises:
        Unsupported: a model of this style knows no such question.
    """
    if not isinstance(style, InstructStyle):
        raise Unsupported(
            'this model was not taught to be asked for single steps: load it from its folder'
        )
    asked = _NEXT.format(steps='\n'.join(offered))
    [question] = messages
    if not text:
        return [{'role': 'user', 'content': f'{question["content"]}\n\n{asked}'}]
    so_far = {'role': 'assistant', 'content': text}
    return [question, so_far, {'role': 'user', 'content': asked}]
