# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tasks in words: a model translates them, and what was understood is told before it is planned."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from safegen_msgs import msg
from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.llm.backend import Backend
from safegen_ros.nodes.models import LazyModels, sampling_of
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.writer import problem_text
from safegen_ros.planning.loop import Deadline
from safegen_ros.record.run import AnswerRecord, UnderstoodRecord
from safegen_ros.ros import conversions
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle, PromptStyle

if TYPE_CHECKING:
    from safegen_ros.tasks.planetarium.nl_to_pddl import ModelAnswer
    from safegen_ros.tasks.planetarium.request import Request
    from safegen_ros.tasks.planetarium.styles import TranslationStyle

FOR_REQUESTS, FOR_DESCRIPTIONS = 'models/safegen-requests', 'models/safegen-words'
"""What translates where no model is named and the planner's own answers no chat: requests about
what was observed, and texts that tell what there is."""

_SEARCH_S = 10.0
"""Most time for finding out whether a problem has a plan [s]."""


@dataclass(frozen=True, slots=True)
class TranslationCallbacks:
    """Who is told of a translation.

    Attributes:
        note: writes a record down, before anybody else is told.
        notify: sends progress to the client.
    """

    note: Callable[[AnswerRecord | UnderstoodRecord], None]
    notify: Callable[[msg.PlanningProgress], None]


@dataclass(frozen=True, slots=True)
class Translated:
    """What is planned for in place of a task in words.

    Attributes:
        task: in PDDL.
        reading: the same in canonical words.
        digest: of request and reading, see `reading_digest`.
    """

    task: msg.Task
    reading: str
    digest: str


def reading_digest(request: Request, problem: Problem) -> str:
    """SHA-256 of a request and the problem that it was read as; 64 hexadecimal digits.

    The name of the problem does not count, as a model may choose another one each time.
    """
    text = problem_text(replace(problem, name='request'))
    parts = [request.text, request.domain_text, problem.domain.name, text]
    return sha256(json.dumps(parts).encode()).hexdigest()


class Translator:
    """The model that puts tasks in words into PDDL.

    Args:
        values: of the planner's parameters.
        style: how the planner's model is asked.
        backend: that model.

    Raises:
        SafegenError: parameter `translator` names a model that cannot be opened, or knows no chat.
    """

    def __init__(self, values: Mapping[str, Any], style: PromptStyle, backend: Backend) -> None:
        self._values = values
        self._own = LazyModels(values)
        self._chat = backend if isinstance(style, InstructStyle) else None
        if values['translator']:
            self._own.opened(values['translator'], _style_of)

    def translate(
        self, task: msg.Task, goal: Any, deadline: Deadline, heard: TranslationCallbacks
    ) -> Translated:
        """Has a task in words understood.

        Args:
            task: in words.
            goal: that it belongs to.
            deadline: of the goal.
            heard: told of each answer, and of what was understood.

        Raises:
            SafegenError: the task has a part that cannot be read, no problem was made of it
                (`TRANSLATION_FAILED`), or the time was over (`PLANNING_TIMEOUT`).
            Ambiguous: it can be understood in several ways.
            Canceled: the goal was given up.
        """
        # Only goals in words need this.
        from safegen_ros.tasks.planetarium.nl_to_pddl import Question, translate
        from safegen_ros.tasks.planetarium.request import read_request

        request = read_request(task.problem, task.domain, task.constraints, task.start)
        style, backend = self._model_for(request)
        attempts = self._values['translation_attempts']

        def asking(reading: int, attempt: int) -> None:
            heard.notify(_progress(msg.PlanningProgress.TRANSLATING, reading, attempt, attempts))

        def answered(answer: ModelAnswer) -> None:
            heard.note(AnswerRecord(answer.reading, answer.attempt, answer.text, answer.refused))
            told = _progress(
                msg.PlanningProgress.TRANSLATED, answer.reading, answer.attempt, attempts
            )
            told.answer, told.detail = answer.text, answer.refused
            heard.notify(told)

        try:
            found = translate(
                request,
                backend,
                sampling_of(self._values, goal),
                attempts=attempts,
                readings=self._values['readings'],
                time_limit_s=min(_SEARCH_S, max(deadline.left_s, 0.0)),
                cancelled=deadline.over,
                asking=asking,
                answered=answered,
                style=style,
            )
        except Canceled as error:
            if deadline.cancelled():
                raise
            raise SafegenError(
                'the time budget was over before the request was understood: give the goal more',
                ErrorCode.PLANNING_TIMEOUT,
            ) from error
        if isinstance(found, Question):
            heard.note(UnderstoodRecord(question=found.text))
            raise Ambiguous(found.text)
        domain, text = found.problem.domain.name, problem_text(found.problem)
        digest = reading_digest(request, found.problem)
        heard.note(
            UnderstoodRecord(
                found.problem.name, domain, request.domain_text, text, found.words, digest=digest
            )
        )
        told = msg.PlanningProgress(
            phase=msg.PlanningProgress.UNDERSTOOD,
            problem=text,
            reading=found.words,
            reading_digest=digest,
        )
        heard.notify(told)
        return Translated(msg.Task(domain=request.domain_text, problem=text), found.words, digest)

    def _model_for(self, request: Request) -> tuple[TranslationStyle, Backend]:
        from safegen_ros.tasks.planetarium.styles import InstructTranslation

        named = self._values['translator']
        if not named and self._chat is not None:
            return InstructTranslation(), self._chat
        shipped = FOR_DESCRIPTIONS if request.start is None else FOR_REQUESTS
        return self._own.opened(named or shipped, _style_of)

    def fill_in(
        self,
        task: msg.Task,
        goal: Any,
        result: Any,
        deadline: Deadline,
        heard: TranslationCallbacks,
    ) -> msg.Task:
        """As `translate`, with what was understood or is to be asked in the result of the goal.

        Raises:
            SafegenError: also where the goal accepts another reading (`READING_NOT_ACCEPTED`).
        """
        began = time.monotonic()
        try:
            found = self.translate(task, goal, deadline, heard)
        except Ambiguous as error:
            result.question = error.question
            raise
        finally:
            result.planning_time = conversions.duration_to_msg(time.monotonic() - began)
        result.problem, result.reading = found.task.problem, found.reading
        result.reading_digest = found.digest
        accepted = getattr(goal, 'accept_reading', '')
        if accepted not in ('', found.digest):
            raise SafegenError(
                f'the request was read in another way than the accepted one, as {found.digest}: '
                'look at this reading, and accept it or say the request in other words',
                ErrorCode.READING_NOT_ACCEPTED,
            )
        return found.task

    def close(self) -> None:
        """Lets go of models of its own."""
        self._own.close()


class Ambiguous(SafegenError):
    """A task in words can be understood in several ways.

    Args:
        question: what has to be said more clearly.
    """

    def __init__(self, question: str) -> None:
        super().__init__(
            f'the request is not clear: {question}: say it more clearly',
            ErrorCode.AMBIGUOUS_REQUEST,
        )
        self.question = question


def _style_of(model: str) -> TranslationStyle:
    from safegen_ros.tasks.planetarium.styles import translation_style_of

    style = translation_style_of(model)
    if style is not None:
        return style
    raise SafegenError(
        f'parameter translator: model {model} knows the words of its own prompts, which are not '
        'those of a request: name a chat model, such as translator:=http://HOST:PORT/v1#MODEL, or '
        f'leave it empty for those of {FOR_REQUESTS} and {FOR_DESCRIPTIONS}'
    )


def _progress(phase: str, reading: int, attempt: int, attempts: int) -> msg.PlanningProgress:
    return msg.PlanningProgress(
        phase=phase,
        source=f'translation {reading}',
        attempt_number=min(attempt, 255),
        max_attempts=min(attempts, 255),
    )
