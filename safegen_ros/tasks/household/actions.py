# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The actions of the robot, and how the answers of a model are read (SAPO 2.2 and 3.1)."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum

from safegen_ros.tasks.household.kinds import kinds

MAX_ACTION_TEXT = 200
"""Longest text of an action that is read [characters]."""

_CLOSE = 0.8  # how alike a misspelt name and the name that is meant are, as difflib counts


class Verb(Enum):
    """The actions of the robot; the values are their words."""

    GO_TO = 'go to'
    PICK_UP = 'pick up'
    PUT_DOWN = 'put down'
    OPEN = 'open'
    CLOSE = 'close'
    TURN_ON = 'turn on'
    TURN_OFF = 'turn off'
    SLICE = 'slice'
    DROP = 'drop'
    THROW = 'throw'
    POUR_INTO = 'pour into'
    EMPTY = 'empty'
    BREAK = 'break'
    FIND_OBJECT = 'find object'
    DONE = 'done'
    FAILURE = 'failure'


ENDINGS = (Verb.DONE, Verb.FAILURE)
"""What ends a run, and does nothing in the world."""

_ALONE = (Verb.DROP, Verb.THROW, *ENDINGS)
"""What may be written without an object."""


@dataclass(frozen=True, slots=True)
class HouseholdAction:
    """One action.

    Attributes:
        target: the id of an object; empty for none.
    """

    verb: Verb
    target: str = ''

    def __str__(self) -> str:
        """The action as `parse_action` reads it."""
        return f'{self.verb.value} {self.target}'.strip()


@dataclass(frozen=True, slots=True)
class Parsed:
    """The reading of a text.

    Attributes:
        action: the action; None when there is none in it.
        exact: whether the text is as the grammar wants it, but for case and spaces.
        reason: why there is none.
    """

    action: HouseholdAction | None
    exact: bool = True
    reason: str = ''


_NAME = re.compile(r'([a-z]+(?: [a-z]+)*?) ?(?:\( ?(\d{1,4}) ?\)|(\d{1,4}))?', re.ASCII)
_ARTICLE = re.compile(r'^(?:the|an?) ')
_SPACES = re.compile(r'\s+')


def parse_action(text: str, known: Collection[str]) -> Parsed:
    """Reads an action.

    The grammar is a verb of `Verb` and the id of an object, `Mug (1)`, in any case. For any other
    text, the nearest verb and the nearest class are taken if they are nearly the same, and a
    missing number where only one object can be meant. A number is never changed.

    Args:
        known: the ids that may be named; others are read, too, so that the world can refuse them.

    Returns:
        The action, or why there is none; nothing is raised.
    """
    if len(text) > MAX_ACTION_TEXT:
        return Parsed(None, False, f'it has more than {MAX_ACTION_TEXT} characters')
    words = _SPACES.sub(' ', text).strip().rstrip('.').strip().lower()
    verb, rest, exact = _verb(words)
    if verb is None:
        return Parsed(None, False, f'it begins with none of: {", ".join(v.value for v in Verb)}')
    if not rest and verb in _ALONE:
        return Parsed(HouseholdAction(verb), exact)
    if verb in ENDINGS:
        return Parsed(None, False, f'nothing stands behind {verb.value}')
    target, same, reason = _target(rest, known)
    if not target:
        return Parsed(None, False, reason)
    return Parsed(HouseholdAction(verb, target), exact and same)


def _verb(words: str) -> tuple[Verb | None, str, bool]:
    for verb in Verb:
        if words == verb.value or words.startswith(verb.value + ' '):
            return verb, words[len(verb.value) :].strip(), True
    parts = words.split(' ')
    verbs = {verb.value: verb for verb in Verb}
    for length in (2, 1):
        near = get_close_matches(' '.join(parts[:length]), verbs, n=1, cutoff=_CLOSE)
        if near:
            return verbs[near[0]], ' '.join(parts[length:]), False
    return None, '', False


def _target(words: str, known: Collection[str]) -> tuple[str, bool, str]:
    """The id, whether it was written so, and why there is none."""
    bare = _ARTICLE.sub('', words)
    match = _NAME.fullmatch(bare)
    if match is None:
        return '', False, 'behind the verb stands no object such as Mug (1)'
    number = match[2] or match[3]
    written = match[1].replace(' ', '')
    classes = {name.lower(): name for name in kinds()}
    same = written in classes and bare == words
    if written not in classes:
        near = get_close_matches(written, classes, n=1, cutoff=_CLOSE)
        if not near:
            return '', False, f'{written[:40]!a} is not a class of objects'
        written = near[0]
    kind = classes[written]
    if number:
        return f'{kind} ({int(number)})', same and match[2] is not None, ''
    meant = [name for name in known if name.startswith(f'{kind} (')]
    if len(meant) == 1:
        return meant[0], False, ''
    return '', False, f'{kind} is not one known object: say which, as {kind} (1)'


MAX_ANSWER = 20_000
"""Longest answer that is read [characters]."""


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """An answer that could be read."""

    think: str
    action: str

    def __str__(self) -> str:
        """The answer as `read_answer` reads it."""
        return json.dumps({'think': self.think, 'action': self.action})


class AgentAnswerError(ValueError):
    """A text that is not an answer; the message is for the model."""


def read_answer(text: str) -> AgentAnswer:
    """Reads the first JSON object of a text, `{"think": ..., "action": ...}`.

    What stands around it is left out, and `act` is taken for `action`, since the published prompt
    asks for that.

    Raises:
        AnswerError: there is none, or its keys are others.
    """
    if len(text) > MAX_ANSWER:
        raise AgentAnswerError(f'the answer has more than {MAX_ANSWER} characters')
    start = text.find('{')
    if start < 0:
        raise AgentAnswerError('there is no JSON object in the answer')
    try:
        value, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise AgentAnswerError('the JSON object in the answer cannot be read') from error
    if not isinstance(value, dict):
        raise AgentAnswerError('the answer is not a JSON object')
    action = value.get('action', value.get('act'))
    think = value.get('think', '')
    if not isinstance(action, str) or not isinstance(think, str):
        raise AgentAnswerError('the JSON object needs the keys "think" and "action", both texts')
    return AgentAnswer(think, action)
