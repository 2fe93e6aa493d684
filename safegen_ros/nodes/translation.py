# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tasks in words: a model translates them, and the reading is published before it is planned."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from safegen_msgs import msg
from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.llm.backend import CHECK_S, Backend
from safegen_ros.llm.model_names import named_model
from safegen_ros.llm.open_backend import open_backend
from safegen_ros.llm.openai_backend import RetryPolicy
from safegen_ros.nodes.served_goals import GoalContext
from safegen_ros.paths import data_path
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.writer import problem_text
from safegen_ros.record.run import AnswerRecord, UnderstoodRecord
from safegen_ros.stages import PlanningPhase
from safegen_ros.sync import Closing
from safegen_ros.tasks.context import Style, sampling_of
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle, PromptStyle, style_of

if TYPE_CHECKING:
    from safegen_ros.tasks.planetarium.nl_to_pddl import ModelAnswer
    from safegen_ros.tasks.planetarium.request import Request
    from safegen_ros.tasks.planetarium.styles import TranslationStyle


def open_model(values: Mapping[str, Any]) -> tuple[PromptStyle, Backend]:
    """The model that the parameters name, and how it is asked.

    Raises:
        SafegenError: it cannot be opened.
    """
    name = named_model(values['model'])
    style = style_of(str(data_path(values['prompts'])) if values['prompts'] else name)
    return style, backend_of(name, values)


def backend_of(name: str, values: Mapping[str, Any]) -> Backend:
    """A model by its name, as `named_model` has it, opened as the parameters say."""
    return open_backend(
        name,
        device=values['device'],
        four_bit=values['four_bit'],
        batch=values['goals_at_once'],
        key_env=values['api_key_env'],
        retry=RetryPolicy(silence_s=values['server_silence'], tries=values['server_tries']),
    )


class LazyModels(Closing):
    """Opens models once; goals may come together.

    Args:
        values: of the planner's parameters.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self._open: dict[tuple[str, object], tuple[Any, Backend]] = {}
        self._lock = threading.Lock()

    def opened(self, model: str, style_of: Callable[[str], Style]) -> tuple[Style, Backend]:
        """A model, and how it is asked, by its name as `named_model` has it.

        Raises:
            SafegenError: it cannot be opened, or is not for this.
        """
        with self._lock:
            if (model, style_of) not in self._open:
                name = named_model(model)
                self._open[model, style_of] = style_of(name), backend_of(name, self._values)
            return self._open[model, style_of]

    def close(self) -> None:
        """Lets go of them."""
        for _, backend in self._open.values():
            backend.close()


class ModelProbe(Closing):
    """Has a model answer once, so that a server that is down or mute is known before a goal.

    Args:
        warn: told each new reason why it has not answered.

    Attributes:
        fault: the last reason; empty where it has answered, None where it is asked first.
    """

    def __init__(self, backend: Backend, warn: Callable[[str], object]) -> None:
        self.fault: str | None = None
        self._backend, self._warn, self._over = backend, warn, threading.Event()
        self._thread = threading.Thread(target=self._ask, name='model-probe', daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        while not self._over.is_set():
            try:
                self._backend.check(CHECK_S, self._over.is_set)
                self.fault = ''
                return
            except Canceled:
                return
            except SafegenError as error:
                if error.message != self.fault:
                    self._warn(f'no answer yet: {error.message}')
                self.fault = error.message
                self._over.wait(CHECK_S)

    def close(self) -> None:
        """Asks no more."""
        self._over.set()
        self._thread.join()


FOR_REQUESTS, FOR_DESCRIPTIONS = 'models/safegen-requests', 'models/safegen-descriptions'
"""The translator where no model is named and the planner's own answers no chat: for requests about
an observed world, and texts that list its facts.
"""

_SEARCH_S = 10.0
"""Most time for finding out whether a problem has a plan [s]."""


def reading_digest(request: Request, problem: Problem, doubts: Sequence[str] = ()) -> str:
    """SHA-256 of a request, the problem that it was read as and the doubts; 64 hexadecimal digits.

    The name of the problem does not count, as a model may choose another one each time.
    """
    text = problem_text(replace(problem, name='request'))
    parts = [request.text, request.domain_text, problem.domain.name, text, *doubts]
    return sha256(json.dumps(parts).encode()).hexdigest()


class Translator:
    """The model that puts tasks in words into PDDL.

    Args:
        style: how the planner's model is asked.

    Raises:
        SafegenError: parameter `translator` names a model that cannot be opened, or knows no chat.
    """

    def __init__(self, values: Mapping[str, Any], style: PromptStyle, backend: Backend) -> None:
        self._values = values
        self._own = LazyModels(values)
        self._chat = backend if isinstance(style, InstructStyle) else None
        if values['translator']:
            self._own.opened(values['translator'], _style_of)

    def translate(self, goal: GoalContext[Any, Any], task: msg.Task) -> msg.Task:
        """The PDDL task of a task in words; the reading is in the goal's result.

        The journal and the client of the goal have each answer of the model by then.

        Raises:
            SafegenError: the task has a part that cannot be read, no problem was made of it
                (`TRANSLATION_FAILED`), it can be understood in several ways
                (`AMBIGUOUS_REQUEST`), the goal accepts another reading or none that is in doubt
                (`READING_NOT_ACCEPTED`), or the time was over (`PLANNING_TIMEOUT`).
            Canceled: the goal was given up.
        """
        began = time.monotonic()
        try:
            return self._translated(goal, task)
        finally:
            goal.planned_for(time.monotonic() - began)

    def _translated(self, goal: GoalContext[Any, Any], task: msg.Task) -> msg.Task:
        # Only goals in words need this.
        from safegen_ros.tasks.planetarium.nl_to_pddl import Question, translate
        from safegen_ros.tasks.planetarium.request import read_request

        request = read_request(task.problem, task.domain, task.constraints, task.start)
        style, backend = self._model_for(request)
        attempts = self._values['translation_attempts']

        def asking(reading: int, attempt: int) -> None:
            goal.planning(_progress(PlanningPhase.TRANSLATING, reading, attempt, attempts))

        def answered(answer: ModelAnswer) -> None:
            goal.note(AnswerRecord(answer.reading, answer.attempt, answer.text, answer.refused))
            told = _progress(PlanningPhase.TRANSLATED, answer.reading, answer.attempt, attempts)
            told.answer, told.detail = answer.text, answer.refused
            goal.planning(told)

        try:
            found = translate(
                request,
                backend,
                sampling_of(self._values, goal.request),
                attempts=attempts,
                readings=self._values['readings'],
                time_limit_s=min(_SEARCH_S, max(goal.watched.left_s, 0.0)),
                cancelled=goal.watched.over,
                asking=asking,
                answered=answered,
                style=style,
            )
        except Canceled as error:
            if goal.watched.cancelled():
                raise
            raise SafegenError(
                'the time budget was over before the request was understood: give the goal more',
                ErrorCode.PLANNING_TIMEOUT,
            ) from error
        if isinstance(found, Question):
            goal.note(UnderstoodRecord(question=found.text))
            goal.result.question = found.text
            raise SafegenError(
                f'the request is not clear: {found.text}: say it more clearly',
                ErrorCode.AMBIGUOUS_REQUEST,
            )
        domain, text = found.problem.domain.name, problem_text(found.problem)
        digest = reading_digest(request, found.problem, found.doubts)
        question = '\n'.join(found.doubts)
        goal.note(
            UnderstoodRecord(
                found.problem.name, domain, request.domain_text, text, found.words, question, digest
            )
        )
        told = msg.PlanningProgress(
            phase=PlanningPhase.UNDERSTOOD,
            problem=text,
            reading=found.words,
            reading_digest=digest,
        )
        goal.planning(told)
        goal.result.problem, goal.result.reading = text, found.words
        goal.result.reading_digest, goal.result.question = digest, question
        accepted = getattr(goal.request, 'accept_reading', '')
        if question and not accepted and not getattr(goal.request, 'translate_only', False):
            raise SafegenError(
                f'the reading {digest} is in doubt: {"; ".join(found.doubts)}: let a person '
                'accept it, or say the request in other words',
                ErrorCode.READING_NOT_ACCEPTED,
            )
        if accepted not in ('', digest):
            raise SafegenError(
                f'the request was read in another way than the accepted one, as {digest}: '
                'look at this reading, and accept it or say the request in other words',
                ErrorCode.READING_NOT_ACCEPTED,
            )
        return msg.Task(domain=request.domain_text, problem=text)

    def _model_for(self, request: Request) -> tuple[TranslationStyle, Backend]:
        from safegen_ros.tasks.planetarium.styles import InstructTranslation

        named = self._values['translator']
        if not named and self._chat is not None:
            return InstructTranslation(), self._chat
        shipped = FOR_DESCRIPTIONS if request.start is None else FOR_REQUESTS
        return self._own.opened(named or shipped, _style_of)

    def close(self) -> None:
        """Unloads its own models."""
        self._own.close()


def _style_of(model: str) -> TranslationStyle:
    from safegen_ros.tasks.planetarium.styles import translation_style_of

    style = translation_style_of(model)
    if style is not None:
        return style
    raise SafegenError(
        f'parameter translator: model {model} knows only the words of its prompts, which are not '
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
