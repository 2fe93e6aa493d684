# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a map and what went wrong are put to a model, and how its answers are read.

Two styles behind one protocol: `instruct` for chat models, which see the whole conversation in the
words of `prompts`, and `words` for the small model that this package trains, which sees the map as
it is now. A model folder chooses the latter with `safegen.json`: `{"prompt_style": "boxnet"}`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
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
from safegen_ros.tasks.boxnet.model import State, Task, observation
from safegen_ros.tasks.boxnet.prompts import feedback, full_prompt, step_prompt
from safegen_ros.tasks.boxnet.words import NEXT_STEP, WHOLE, answer_text, map_words
from safegen_ros.verdict import Verdict

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
        return [_user(full_prompt(task) if whole else step_prompt(task))]

    def refused(
        self, messages: Sequence[Message], text: str, verdict: Verdict, *, whole: bool
    ) -> list[Message]:
        """See `Style`."""
        return [*messages, _assistant(text), _user(feedback(verdict, whole=whole))]

    def observed(
        self, messages: Sequence[Message], text: str, task: Task, state: State
    ) -> list[Message]:
        """See `Style`."""
        return [*messages, _assistant(text), _user(observation(task, state))]

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
        return answer_text(text, task, WHOLE if whole else NEXT_STEP)

    def _map(self, task: Task, state: State, mode: str) -> list[Message]:
        words = map_words(task, state, mode)
        strange = [word for word in words if word not in self._known]
        if strange:
            raise SafegenError(
                f'{task.id}: this model does not know {strange[0]!r}, since the maps that it was '
                'trained on are smaller or their points coarser: use another model, or the planner',
                ErrorCode.TASK_TOO_LARGE,
            )
        return [_user(' '.join(words))]


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


def _user(text: str) -> Message:
    return {'role': 'user', 'content': text}


def _assistant(text: str) -> Message:
    return {'role': 'assistant', 'content': text}
