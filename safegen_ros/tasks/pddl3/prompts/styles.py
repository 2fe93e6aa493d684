# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a problem and the verdicts on earlier attempts are put to a model.

Two styles behind one protocol: `instruct` is for chat models that read PDDL, JSON or English (the
template of SafeGen-LLM section IV-A, in our words), `words` for the shipped small model. A model
folder chooses with `safegen.json`: `{"prompt_style": "words"}`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from copy import copy
from pathlib import Path
from typing import Protocol

from safegen_ros.errors import BackendError, ErrorCode, PlanFormatError, SafegenError
from safegen_ros.llm.backend import Unsupported
from safegen_ros.llm.decoding.guide import PlanSyntax
from safegen_ros.llm.model_names import (
    INSTRUCT,
    SETTINGS,
    model_folder,
    prompt_style,
    words_of_model,
)
from safegen_ros.pddl.deciding import has_wishes
from safegen_ros.pddl.extract import REMARK, extract_plan
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.writer import domain_text
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.prompts.slots import SlottedProblem, slotted
from safegen_ros.tasks.pddl3.prompts.words import (
    VERDICT_WORD,
    attempt_words,
    plan_words,
    read_steps,
    task_words,
    vocabulary,
    words_of,
)
from safegen_ros.verdict import Category, Verdict

History = Sequence[tuple[str, Verdict]]
Message = dict[str, str]

STYLE = 'words'
"""The `safegen.json` of a model that reads and writes `words`."""


class PromptStyle(Protocol):
    """How one kind of model is asked."""

    def messages(self, problem: Problem, history: History, form: str = 'pddl') -> list[Message]:
        """Chat messages that ask for a plan.

        Args:
            history: earlier attempts in the names of the problem, each with its verdict.
            form: the format that the task is written in, a key of `FORMATS`.

        Raises:
            SafegenError: the task cannot be put to this kind of model; `TASK_TOO_LARGE` where a
                smaller one of its domain can.
        """
        ...

    def answer(self, plan: Plan, problem: Problem) -> str:
        """What the model should write for a plan in the names of the problem."""
        ...

    def plan_text(self, completion: str, problem: Problem) -> str:
        """The plan that a completion holds, in PDDL with the names of the problem."""
        ...


_INSTRUCTION = """\
You are an expert in automated planning. Below are {what}.
Write a plan: the sequence of actions that leads from the initial state to the goal and keeps
every trajectory constraint in every state on the way.

Rules for your answer:
- one action per line, each in parentheses: (action object1 object2)
- use only the actions of the domain and the objects of the problem
- each action must be applicable in the state in which it is taken
- write nothing else: no explanation, no numbering, no code fence
{more}
Domain:
{domain}
Problem:
{problem}"""

_TIME = """\
- actions take time: each step starts when the one before has ended, and the times of constraints
  are seconds since the start of the plan
- to wait, or to let steps overlap, give every step its start and its duration in seconds:
  0.000: (action object1 object2) [5.000]
"""

_WISHES = '- preferences are wishes: meet what you can, and never break a constraint for one\n'

_WHAT = {
    'pddl': 'a planning domain and a problem in PDDL3',
    'json': 'a planning domain in PDDL3 and a problem in JSON',
    'english': 'a planning domain in PDDL3 and a problem in English',
}

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


def instruction(domain: str, problem: str, form: str = 'pddl', more: str = '') -> list[Message]:
    """The chat messages that ask for a plan in the style `instruct`.

    Args:
        form: name of the format of that text, one of `formats.FORMATS`.
        more: further rules, a line each.
    """
    text = _INSTRUCTION.format(what=_WHAT[form], domain=domain, problem=problem, more=more)
    return [{'role': 'user', 'content': text}]


class InstructStyle:
    """A problem in one of the formats in, PDDL out, for any instruction-tuned chat model."""

    def messages(self, problem: Problem, history: History, form: str = 'pddl') -> list[Message]:
        """The instruction, then each attempt with its faults."""
        times = _TIME if problem.domain.durative else ''
        more = times + (_WISHES if has_wishes(problem) else '')
        found = instruction(domain_text(problem.domain), FORMATS[form].write(problem), form, more)
        for plan, verdict in history:
            category = _CATEGORY.get(verdict.category, 'it was not proved safe')
            feedback = _FEEDBACK.format(category=category, reason=verdict.reason)
            found.append({'role': 'assistant', 'content': plan})
            found.append({'role': 'user', 'content': feedback})
        return found

    def answer(self, plan: Plan, problem: Problem) -> str:
        """The plan in PDDL, one step on each line."""
        return str(plan)

    def plan_text(self, completion: str, problem: Problem) -> str:
        """The completion without the reasoning block that some models write first."""
        return _THINKING.sub('', completion).strip()


class ServerStyle(InstructStyle):
    """As `InstructStyle`, for models at servers, which often wrap the plan of their answer.

    Greeting, code fence, numbers and thoughts around the one list of steps are removed. An answer
    that may hold a step elsewhere stays unchanged and is refused (`extract_plan`).
    """

    def messages(self, problem: Problem, history: History, form: str = 'pddl') -> list[Message]:
        """As those of `InstructStyle`, without the comments, which no model has written."""
        written = [(plan.split('\n', plan.startswith(REMARK))[-1], each) for plan, each in history]
        return super().messages(problem, written, form)

    def plan_text(self, completion: str, problem: Problem) -> str:
        """The steps of the completion, below a comment that lists omissions."""
        try:
            plan, found = extract_plan(completion, problem)
        except PlanFormatError:
            return super().plan_text(completion, problem)
        if found.whole:
            return super().plan_text(completion, problem)
        return f'{REMARK}{found}\n{plan}'


class WordStyle:
    """The words of `safegen-mini`: the task in its format, under canonical names, without marks."""

    def __init__(self, known: Collection[str] | None = None) -> None:
        self._known = frozenset(vocabulary() if known is None else known)
        self._last: tuple[Problem, SlottedProblem] | None = None

    def messages(self, problem: Problem, history: History, form: str = 'pddl') -> list[Message]:
        """The task in one message, with the last failed attempt; earlier ones are left out."""
        task = self._slotted(problem)
        if not task.usual:
            raise SafegenError(
                f'problem {problem.name}: this model takes any two objects of a kind for '
                'different ones, and the initial state does not say so: state it for all of them',
                ErrorCode.UNSUPPORTED_FEATURE,
            )
        words = task_words(task, form)
        unknown = [word for word in words if word not in self._known]
        names = frozenset(task.names.values())
        strange = [word for word in unknown if word not in names and not word.isdecimal()]
        if unknown and not strange:
            raise SafegenError(
                f'problem {problem.name}: this model does not know {unknown[0]!r}, since the '
                'problems that it was trained on are smaller: use the planner hierarchy, which '
                'divides them, or let the search planner answer',
                ErrorCode.TASK_TOO_LARGE,
            )
        if strange:
            raise SafegenError(
                f'problem {problem.name}: this model does not know {strange[0]!r} (domain '
                f'{problem.domain.name}): use a model that was trained for the domain, or let '
                'the search planner answer',
                ErrorCode.UNSUPPORTED_FEATURE,
            )
        if history and history[-1][1].category in VERDICT_WORD:
            text, verdict = history[-1]
            words += attempt_words(
                text, verdict.category, verdict.failing_step, self._known, task.names
            )
        return [{'role': 'user', 'content': ' '.join(words)}]

    def answer(self, plan: Plan, problem: Problem) -> str:
        """The plan under canonical names."""
        return ' '.join(plan_words(self._slotted(problem).plan(plan)))

    def plan_text(self, completion: str, problem: Problem) -> str:
        """The steps with the problem's names; other text stays as it is."""
        actions = problem.domain.actions
        plan = read_steps(words_of(completion), {n: len(a.parameters) for n, a in actions.items()})
        task = self._slotted(problem)
        known = set(task.names.values())
        if plan is None or any(known.isdisjoint([a]) for s in plan.steps for a in s.arguments):
            return completion
        return str(task.original(plan))

    def _slotted(self, problem: Problem) -> SlottedProblem:
        """The problem under canonical names; a question and its answers need them one by one."""
        last = self._last
        if last is None or last[0] is not problem:
            last = self._last = problem, slotted(problem)
        return last[1]


def load_style(model_dir: str | Path) -> PromptStyle:
    """The style that a model folder asks for in `safegen.json`; `instruct` without that file.

    Raises:
        BackendError: the file is not what it should be, or the tokenizer's words are missing.
    """
    folder = Path(model_dir)
    name = prompt_style(folder)
    if name == INSTRUCT:
        return InstructStyle()
    if name != STYLE:
        raise BackendError(
            f'{folder / SETTINGS}: the prompt_style {name!r:.40} is not one of planning in PDDL: '
            f'use {INSTRUCT} or {STYLE}'
        )
    return WordStyle(words_of_model(folder))


def style_of(model: str) -> PromptStyle:
    """The style of a model by its name, as `named_model` has it; `ServerStyle` for one at a server.

    Raises:
        BackendError: as `load_style`.
    """
    folder = model_folder(model)
    return ServerStyle() if folder is None else load_style(folder)


def plan_syntax(style: PromptStyle, problem: Problem) -> PlanSyntax:
    """How a style writes the steps of a problem's plans.

    Both are found by asking the style for answers, so that they always follow it; the written
    answer is read back by `PromptStyle.plan_text`.
    """
    style = copy(style)  # a separate one: a style keeps the names of the last problem only
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
