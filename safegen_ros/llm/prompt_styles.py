# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a problem and the verdicts on earlier attempts are put to a model.

Two styles behind one protocol: `instruct` for chat models that read PDDL (the template of
SafeGen-LLM section IV-A, in our words), `canonical` for the small model that ships with this
package. A model folder chooses with `safegen.json`: `{"prompt_style": "canonical"}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from safegen_ros.errors import BackendError
from safegen_ros.llm.canonical import canonical_task, render_plan
from safegen_ros.llm.vocabulary import VERDICT_WORD
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.writer import domain_text, problem_text
from safegen_ros.verdict import Category, Verdict

History = Sequence[tuple[str, Verdict]]
Message = dict[str, str]

SETTINGS = 'safegen.json'


class PromptStyle(Protocol):
    """How one kind of model is asked."""

    def messages(self, problem: Problem, history: History) -> list[Message]:
        """Chat messages that ask for a plan.

        Args:
            problem: the task.
            history: earlier attempts in the names of the problem, each with its verdict.

        Raises:
            SafegenError: the task cannot be put to this kind of model.
        """
        ...

    def plan_text(self, completion: str, problem: Problem) -> str:
        """The plan that a completion holds, in PDDL with the names of the problem."""
        ...


_INSTRUCTION = """\
You are an expert in automated planning. Below are a planning domain and a problem in PDDL3.
Write a plan: the sequence of actions that leads from the initial state to the goal and keeps
every trajectory constraint in every state on the way.

Rules for your answer:
- one action per line, each in parentheses: (action object1 object2)
- use only the actions of the domain and the objects of the problem
- each action must be applicable in the state in which it is taken
- write nothing else: no explanation, no numbering, no code fence

Domain:
{domain}
Problem:
{problem}"""

_FEEDBACK = """\
This plan was refused: {category}.
{reason}
Write a complete corrected plan in the same form, and nothing else."""

_CATEGORY = {
    Category.FORMAT_ERROR: 'it is not written in the form that was asked for',
    Category.SAFETY_VIOLATION: 'it breaks a trajectory constraint',
    Category.PRECONDITION_VIOLATION: 'it takes an action whose precondition does not hold',
    Category.GOAL_NOT_SATISFIED: 'it does not reach the goal',
}

_THINKING = re.compile(r'\A\s*<think>.*?</think>', re.DOTALL)


class InstructStyle:
    """PDDL in, PDDL out, for any instruction-tuned chat model."""

    def messages(self, problem: Problem, history: History) -> list[Message]:
        """The instruction, then each attempt with what is wrong about it."""
        text = _INSTRUCTION.format(
            domain=domain_text(problem.domain), problem=problem_text(problem)
        )
        found = [{'role': 'user', 'content': text}]
        for plan, verdict in history:
            category = _CATEGORY.get(verdict.category, 'it was not proved safe')
            feedback = _FEEDBACK.format(category=category, reason=verdict.reason)
            found.append({'role': 'assistant', 'content': plan})
            found.append({'role': 'user', 'content': feedback})
        return found

    def plan_text(self, completion: str, problem: Problem) -> str:
        """The completion without the reasoning block that some models write first."""
        return _THINKING.sub('', completion).strip()


class CanonicalStyle:
    """The canonical words of `safegen-mini`, which does not read PDDL."""

    def messages(self, problem: Problem, history: History) -> list[Message]:
        """The task in one message, with the last failed attempt; earlier ones are left out."""
        task = canonical_task(problem)
        parts = [task.prompt]
        if history and history[-1][1].category in VERDICT_WORD:
            parts.append(task.attempt(*history[-1]))
        return [{'role': 'user', 'content': ' '.join(parts)}]

    def plan_text(self, completion: str, problem: Problem) -> str:
        """The steps with the problem's names; anything that is no step is left as it came."""
        return render_plan(completion, canonical_task(problem).names)


STYLES: dict[str, type[InstructStyle] | type[CanonicalStyle]] = {
    'instruct': InstructStyle,
    'canonical': CanonicalStyle,
}


def load_style(model_dir: str | Path) -> PromptStyle:
    """The style that a model folder asks for in `safegen.json`; `instruct` without that file.

    Raises:
        BackendError: the file is not what it should be.
    """
    path = Path(model_dir) / SETTINGS
    if not path.exists():
        return InstructStyle()
    try:
        name = json.loads(path.read_text(encoding='utf-8'))['prompt_style']
        return STYLES[name]()
    except (OSError, ValueError, KeyError, TypeError) as error:
        known = ' '.join(STYLES)
        raise BackendError(
            f'{path}: expected {{"prompt_style": NAME}} with NAME one of {known}: mend the file'
        ) from error
