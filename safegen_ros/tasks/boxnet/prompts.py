# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The prompts for BoxNet, all steps or the next one, and how answers are read.

These are the modes FULLPLAN and REPLAN of the paper, in words of ours, with a worked example that
the verifier accepts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol

from safegen_ros.errors import BackendError, ErrorCode, SafegenError
from safegen_ros.llm.backend import Message
from safegen_ros.llm.model_names import (
    INSTRUCT,
    SETTINGS,
    model_folder,
    prompt_style,
    words_of_model,
)
from safegen_ros.tasks.boxnet.answers import REFUSAL, read_plan
from safegen_ros.tasks.boxnet.geometry import UNIT
from safegen_ros.tasks.boxnet.model import State, Step, Task, map_text, observation, step_json
from safegen_ros.tasks.boxnet.reader import is_spatial
from safegen_ros.tasks.boxnet.words import NEXT_STEP, WHOLE, answer_in_json, map_words
from safegen_ros.verdict import Category, Verdict

_QUARTER = UNIT // 4

EXAMPLE = Task(
    'example',
    3,
    2,
    ((UNIT, UNIT), (2 * UNIT, UNIT)),
    State(
        ((5 * _QUARTER, 5 * _QUARTER), (9 * _QUARTER, 5 * _QUARTER)),
        ((_QUARTER, _QUARTER), (11 * _QUARTER, _QUARTER)),
    ),
    ((11 * _QUARTER, 7 * _QUARTER), (5 * _QUARTER, _QUARTER)),
)
"""Object 0 is handed from one robot to the other."""

EXAMPLE_PLAN = """[
  {"Robot 0": "[1.25, 1.25] -> [0.25, 0.25], False", "Robot 1": "[2.25, 1.25] -> [2.75, 0.25], False"},
  {"Robot 0": "[0.25, 0.25] -> [1.25, 1.75], True", "Robot 1": "[2.75, 0.25] -> [1.25, 0.25], True"},
  {"Robot 1": "[1.25, 0.25] -> [1.25, 1.75], False"},
  {"Robot 1": "[1.25, 1.75] -> [2.75, 1.75], True"}
]"""  # noqa: E501  # as a model is shown it

_RULES = Path(__file__).with_name('rules.txt').read_text(encoding='utf-8').rstrip()

_REQUEST = """\
{rules}

How to answer
{shown}- First think between <think> and </think>: who reaches what, which moves would \
collide, what can be done at once.
- Then give the {asked} {form}.
- If no plan can bring an object to its target, answer instead of the fence: {refusal}

Example
{example}

Answer
<think> {thoughts} </think>
```json
{answer}
```

Your task
{map}"""
"""What asks for a plan, in any world; the `prompt_words` of the world fill in rules, example and
answer."""

_SHOWN = """\
- You are shown the map between <observation> and </observation>, again after each step of yours.
"""
_ALL = (
    'whole plan in one ```json fence: a list with an object for each step. Its keys are robots, '
    'its values'
)
_ONE = 'next step alone in one ```json fence: an object whose keys are robots and whose values are'

_FORM = '"[x, y] -> [x, y], True" or "[x, y] -> [x, y], False", from the tip as it is'


def plan_prompt(task: Task, *, whole: bool) -> str:
    """What asks a chat model for a plan.

    Args:
        task: the map and its targets.
        whole: whether all steps are asked for (FULLPLAN), or the first one, with the word that
            others will be asked for (REPLAN).
    """
    if is_spatial(task):
        from safegen_ros.tasks.boxnet.spatial.prompts import prompt_words

        words = prompt_words(task, whole=whole)
    else:
        words = _words(whole=whole)
    return _REQUEST.format(
        shown='' if whole else _SHOWN,
        asked=_ALL if whole else _ONE,
        refusal=REFUSAL,
        map=map_text(task, task.start) if whole else observation(task, task.start),
        **words,
    )


def _words(*, whole: bool) -> dict[str, str]:
    if whole:
        return {
            'rules': _RULES,
            'form': f'{_FORM} then to where it goes',
            'thoughts': 'Robot 0 reaches Object 0, Robot 1 reaches its target; both reach '
            '[1.25, 1.75], so it is handed on there. Robot 1 first brings Object 1 to its target.',
            'example': map_text(EXAMPLE, EXAMPLE.start),
            'answer': EXAMPLE_PLAN,
        }
    return {
        'rules': _RULES,
        'form': f'{_FORM} to where it goes',
        'thoughts': 'Robot 0 reaches Object 0 and Robot 1 reaches Object 1; the lines stay apart.',
        'example': observation(EXAMPLE, EXAMPLE.start),
        'answer': step_json(read_plan(EXAMPLE_PLAN, EXAMPLE.robots).plan[0]),
    }


def feedback(verdict: Verdict, *, whole: bool) -> str:
    """The words for a model about an answer that was refused.

    Args:
        verdict: on the answer, as much of it as the model gets.
        whole: whether a whole plan is asked for, or the next step.
    """
    told = {
        Category.FORMAT_ERROR: 'It cannot be read',
        Category.SAFETY_VIOLATION: 'It ends in a collision',
        Category.PRECONDITION_VIOLATION: 'A robot cannot do what it is told',
        Category.GOAL_NOT_SATISFIED: 'It does not bring all objects to their targets',
    }.get(verdict.category, '')
    lines = [f'Your answer was refused. {told}'.rstrip() + ('.' if told else '')]
    if verdict.reason:
        lines.append(f'What is wrong: {verdict.reason}.')
    asked = 'the whole plan, from the first map on' if whole else 'the next step'
    lines.append(f'Nothing has moved. Answer again in the same form, with {asked}.')
    return '\n'.join(lines)


def answer_text(thoughts: str, plan: tuple[Step, ...], *, whole: bool) -> str:
    """An answer in the form that is asked for.

    Args:
        thoughts: what stands between the tags.
        plan: the steps; one where not the whole plan is asked for.
        whole: whether the whole plan is asked for.
    """
    steps = ',\n  '.join(map(step_json, plan))
    said = f'[\n  {steps}\n]' if whole else steps
    return f'<think> {thoughts} </think>\n```json\n{said}\n```'


# Two styles behind one protocol: `instruct` for chat models, which see the whole conversation in
# the words of `prompts`, and `words` for the small model that this package trains, which sees the
# map as it is now. A model folder chooses the latter with `safegen.json`: `{"prompt_style":
# "boxnet"}`.
STYLE = 'boxnet'
"""The `safegen.json` of a model that reads and writes `words`."""


class Style(Protocol):
    """How one kind of model is asked."""

    def asked(self, task: Task, *, whole: bool) -> list[Message]:
        """What asks for a whole plan, or for the first step.

        Raises:
            SafegenError: the task cannot be put to this kind of model (`TASK_TOO_LARGE`).
        """
        ...

    def refused(
        self, messages: Sequence[Message], text: str, verdict: Verdict, *, whole: bool
    ) -> list[Message]:
        """What asks again after an answer that was refused."""
        ...

    def observed(
        self, messages: Sequence[Message], text: str, task: Task, state: State
    ) -> list[Message]:
        """What asks for the next step after one that was taken and has led to a state."""
        ...

    def answer(self, text: str, task: Task, *, whole: bool) -> str:
        """An answer of the model in the form that the verifier reads."""
        ...


class ChatStyle:
    """The conversation as the paper has it, for any instruction-tuned chat model."""

    def asked(self, task: Task, *, whole: bool) -> list[Message]:
        """See `Style`."""
        return [user(plan_prompt(task, whole=whole))]

    def refused(
        self, messages: Sequence[Message], text: str, verdict: Verdict, *, whole: bool
    ) -> list[Message]:
        """See `Style`."""
        return [*messages, assistant(text), user(feedback(verdict, whole=whole))]

    def observed(
        self, messages: Sequence[Message], text: str, task: Task, state: State
    ) -> list[Message]:
        """See `Style`."""
        return [*messages, assistant(text), user(observation(task, state))]

    def answer(self, text: str, task: Task, *, whole: bool) -> str:
        """The text as it came."""
        return text


class MapStyle:
    """The current map, in one message, without the refusal."""

    def __init__(self, known: Collection[str]) -> None:
        self._known = frozenset(known)

    def asked(self, task: Task, *, whole: bool) -> list[Message]:
        """See `Style`."""
        return self._map(task, task.start, WHOLE if whole else NEXT_STEP)

    def refused(
        self, messages: Sequence[Message], text: str, verdict: Verdict, *, whole: bool
    ) -> list[Message]:
        """The same again; another seed draws another answer."""
        return list(messages)

    def observed(
        self, messages: Sequence[Message], text: str, task: Task, state: State
    ) -> list[Message]:
        """The new map alone."""
        return self._map(task, state, NEXT_STEP)

    def answer(self, text: str, task: Task, *, whole: bool) -> str:
        """The words as thoughts and JSON; other text is left as it came."""
        return answer_in_json(text, task, WHOLE if whole else NEXT_STEP)

    def _map(self, task: Task, state: State, mode: str) -> list[Message]:
        words = map_words(task, state, mode)
        strange = [word for word in words if word not in self._known]
        if strange:
            raise SafegenError(
                f'{task.id}: this model does not know {strange[0]!r}, since the maps that it was '
                'trained on are smaller or their points coarser: use another model, or the planner',
                ErrorCode.TASK_TOO_LARGE,
            )
        return [user(' '.join(words))]


def style_of(model: str) -> Style:
    """The style of a model by its name, as `named_model` has it.

    Raises:
        BackendError: its `safegen.json` names another style, or its words are missing.
    """
    folder = model_folder(model)
    name = prompt_style(folder)
    if folder is None or name == INSTRUCT:
        return ChatStyle()
    if name != STYLE:
        raise BackendError(
            f'{folder / SETTINGS}: this model is for another world: {name!r:.40}: name one that '
            'was trained for BoxNet2D, or a chat model'
        )
    return MapStyle(words_of_model(folder))


def user(text: str) -> Message:
    """What is said to a model."""
    return {'role': 'user', 'content': text}


def assistant(text: str) -> Message:
    """What a model has said."""
    return {'role': 'assistant', 'content': text}
