# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a model answers: a thought and an action, as one JSON object (SAPO section 3.1)."""

from __future__ import annotations

import json
from dataclasses import dataclass

MAX_ANSWER = 20_000
"""Longest answer that is read [characters]."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that could be read.

    Attributes:
        think: the reasoning.
        action: the text of the action.
    """

    think: str
    action: str

    def __str__(self) -> str:
        """The answer as `read_answer` reads it."""
        return json.dumps({'think': self.think, 'action': self.action})


class AnswerError(ValueError):
    """A text that is no answer; the message is for the model."""


def read_answer(text: str) -> Answer:
    """Reads the first JSON object of a text, `{"think": ..., "action": ...}`.

    What stands around it is left out, and `act` is taken for `action`, since the published prompt
    asks for that.

    Raises:
        AnswerError: there is none, or its keys are others.
    """
    if len(text) > MAX_ANSWER:
        raise AnswerError(f'the answer has more than {MAX_ANSWER} characters')
    start = text.find('{')
    if start < 0:
        raise AnswerError('there is no JSON object in the answer')
    try:
        value, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise AnswerError('the JSON object in the answer cannot be read') from error
    if not isinstance(value, dict):
        raise AnswerError('the answer is no JSON object')
    action = value.get('action', value.get('act'))
    think = value.get('think', '')
    if not isinstance(action, str) or not isinstance(think, str):
        raise AnswerError('the JSON object needs the keys "think" and "action", both texts')
    return Answer(think, action)
