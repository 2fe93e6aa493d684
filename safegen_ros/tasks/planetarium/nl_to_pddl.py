# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""From a person's words to a problem that may be planned for, or to a question.

The model only proposes. What it writes is read by the grammar of PDDL, must have a plan, and is
shown back in canonical words that read back as the same problem. What it may have left out or added
is a doubt, which the person who confirms the reading sees first. A reading of which the model
itself is not sure is in doubt, too. Constraints that were given
formally are part of every problem, whatever the model writes; it can add to them and leave out
none. Rules in the words of `docs/constraints.md` are part of it, too; their grammar reads them. A
request that is understood in two ways that are not equivalent ends in a question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.language.reading import AmbiguousRule
from safegen_ros.llm.backend import Backend, Sampling, never
from safegen_ros.pddl.model import Constraint, Problem
from safegen_ros.pddl.reader import read_problem
from safegen_ros.pddl.sexpr import read_sexpr
from safegen_ros.pddl.writer import atom_text, problem_text
from safegen_ros.search.budget import SearchLimit, Unsolvable
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.planetarium.domains import find_plan
from safegen_ros.tasks.planetarium.doubts import doubts
from safegen_ros.tasks.planetarium.equivalence import compare
from safegen_ros.tasks.planetarium.fragments import (
    MAX_ANSWER,
    THOUGHT,
    UnreadableAnswer,
    problem_fragment,
)
from safegen_ros.tasks.planetarium.request import Request, joined, request_rules
from safegen_ros.tasks.planetarium.state_rules import contradiction
from safegen_ros.tasks.planetarium.styles import (
    QUESTION,
    InstructTranslation,
    TranslationStyle,
)

UNSURE = 'the model itself is not sure of this reading'
_SURE = 0.5
"""A reading that is less likely than all others together is one that the model is not sure of."""

_AT_ONCE = 16  # questions about a request
_SEED_STEP = 1_000  # between the seeds of attempts, so that readings do not share any


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What the model wrote, once.

    Attributes:
        reading: which of the independent translations it belongs to, from 1.
        attempt: of that reading, from 1.
        text: as the model wrote it, or in PDDL where it writes in other words; of one that is
            longer than `MAX_ANSWER`, the beginning.
        refused: why it cannot be used, or is in doubt; empty otherwise, and for a question.
    """

    reading: int
    attempt: int
    text: str
    refused: str = ''


@dataclass(frozen=True, slots=True)
class Translation:
    """A problem that may be planned for.

    Attributes:
        problem: with all constraints.
        words: the problem in canonical English, for the person to agree to; it reads back as the
            same problem.
        attempts: how many answers it took.
        doubts: what it may have left out or added; nothing is executed until a person, who has seen
            them, says yes.
        probability: how likely the model finds it; None where that is not known.
    """

    problem: Problem
    words: str
    attempts: int
    doubts: tuple[str, ...] = ()
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What has to be answered before anything is planned."""

    text: str


def translate(
    request: Request,
    backend: Backend,
    sampling: Sampling,
    *,
    attempts: int = 3,
    readings: int = 2,
    time_limit_s: float = 10.0,
    cancelled: Callable[[], bool] = never,
    asking: Callable[[int, int], None] = lambda reading, attempt: None,
    answered: Callable[[ModelAnswer], None] = lambda answer: None,
    style: TranslationStyle | None = None,
) -> Translation | Question:
    """Has a model translate a request, reports faults to it, and asks where it is ambiguous.

    Args:
        sampling: its sampling; every reading has separate seeds.
        attempts: answers of one reading, until it is given up, or taken with its doubts.
        readings: how often the request is translated independently, where the model does not
            report how sure it is; two that are not proved equivalent make a question, and so do two
            that say the same of other objects. One trusts the first.
        time_limit_s: wall-clock limit for finding a plan [s].
        cancelled: asked while the model answers, and while a plan is searched for.
        asking: told the reading and the attempt before the model is asked.
        answered: told each answer; what it raises ends all.
        style: how the model is asked; as a chat model when None.

    Raises:
        SafegenError: the constraints are not one formula or do not fit the observed world, or no
            answer of a reading could be used (`TRANSLATION_FAILED`, with the last reason).
        Canceled: the caller asked to stop.
    """
    _check_constraints(request)
    try:
        spoken = request_rules(request)
    except AmbiguousRule as error:
        ways = (f'{number}. {meaning}' for number, meaning in enumerate(error.meanings, start=1))
        return Question('\n'.join(['A rule of the request can mean several things:', *ways]))
    held = joined(request.constraints, spoken.constraints)
    request = replace(request, constraints=held, rest=spoken.rest)
    style = style or InstructTranslation()
    first: Translation | None = None
    for number in range(1, readings + 1):
        drawn = replace(sampling, seed=sampling.seed + (number - 1) * _SEED_STEP)
        reading = _Reading(request, number, time_limit_s, cancelled, asking, answered, style)
        found = reading.translate(backend, drawn, attempts)
        if isinstance(found, Question):
            return found
        if first is None:
            first = found
        elif not _same(first.problem, found.problem, time_limit_s):
            return Question(
                'The request can be understood in more than one way. Which one is meant?\n'
                f'1. {_unlike(first.words, found.words)}\n2. {_unlike(found.words, first.words)}'
            )
        first = min(first, found, key=_doubted)
        if first.probability is not None:
            break
    if first is None:
        raise SafegenError('readings is 0: take at least one', ErrorCode.BAD_PDDL)
    return first


def _doubted(reading: Translation) -> tuple[int, float]:
    return len(reading.doubts), -(reading.probability or 0.0)


def _same(one: Problem, other: Problem, time_limit_s: float) -> bool:
    """Whether two readings are proved to ask for the same.

    Objects of the same names are taken to be the same ones: a on b is not b on a. Only where a
    reading has chosen its own names, any may stand for any other.
    """
    named = one.objects.keys() == other.objects.keys()
    return compare(one, other, named=named, time_limit_s=time_limit_s).equivalent


def _unlike(words: str, others: str) -> str:
    """What one text in canonical words says and the other does not, under its headings."""
    known, told, before = set(_under_headings(others)), list[str](), ''
    for heading, line in _under_headings(words):
        if (heading, line) not in known:
            told += [heading, line] if heading and heading != before else [line]
            before = heading
    return ' '.join(told) or 'nothing beside that'


def _under_headings(words: str) -> Iterator[tuple[str, str]]:
    """The lines, each with the heading that it stands under."""
    heading = ''
    for line in words.splitlines():
        if line.endswith(':'):
            heading = line
        elif line:
            yield heading, line


def _check_constraints(request: Request) -> None:
    """Refuses constraints for which no answer could be right, before the model is asked."""
    if not request.constraints:
        return
    _, section = read_sexpr(f'(:constraints {request.constraints})', '<constraints>')
    if len(section.items) != 2:
        raise SafegenError(
            'the constraints are not one formula: join them by (and ...)', ErrorCode.BAD_PDDL
        )
    if request.start is not None:
        _with_constraints(request.start, request.constraints)


def _with_constraints(problem: Problem, constraints: str) -> Sequence[Constraint]:
    """Constraints that were given formally, over the objects of a problem."""
    text = problem_text(replace(problem, constraints=())).rstrip()
    text = f'{text[:-1]}(:constraints {constraints}))'
    return read_problem(text, problem.domain, '<constraints>').constraints


class _Refused(SafegenError):
    """Why an answer cannot be used, in words for the model."""


class _Reading:
    """One independent translation of a request."""

    def __init__(
        self,
        request: Request,
        number: int,
        time_limit_s: float,
        cancelled: Callable[[], bool],
        asking: Callable[[int, int], None],
        answered: Callable[[ModelAnswer], None],
        style: TranslationStyle,
    ) -> None:
        self._request = request
        self._style = style
        self._number = number
        self._time_limit_s = time_limit_s
        self._cancelled = cancelled
        self._asking = asking
        self._answered = answered

    def translate(
        self, backend: Backend, sampling: Sampling, attempts: int
    ) -> Translation | Question:
        refused: tuple[str, str] | None = None
        reason, doubted = 'no attempt was allowed', list[Translation]()
        for attempt in range(1, attempts + 1):
            drawn = replace(sampling, seed=sampling.seed + attempt - 1)
            self._asking(self._number, attempt)
            text, likely, wrong = self._asked(backend, drawn, refused)
            text = text[: MAX_ANSWER + 1]
            answer = ModelAnswer(self._number, attempt, text[:MAX_ANSWER])
            spoken = THOUGHT.sub('', text).strip()
            if spoken.startswith(QUESTION):
                self._answered(answer)
                return Question(spoken[len(QUESTION) :].strip() or 'What exactly shall be done?')
            try:
                if wrong:
                    raise _Refused(wrong)
                problem, doubtful = self._problem(text)
                if likely is not None and likely < _SURE:
                    doubtful = (*doubtful, UNSURE)
                words = self._words(problem)
                doubted.append(Translation(problem, words, attempt, doubtful, likely))
                if not doubtful:
                    self._answered(answer)
                    return doubted[-1]
                reason = f'{"; ".join(doubtful)}: leave out no part of the request, and add nothing'
            except _Refused as error:
                reason = error.message
            self._answered(replace(answer, refused=reason))
            refused = (text, reason)
        if doubted:
            return min(doubted, key=_doubted)
        raise SafegenError(
            f'the request could not be translated. Say it in other words, or write the problem in '
            f'PDDL. The last of {attempts} attempts: {reason}',
            ErrorCode.TRANSLATION_FAILED,
        )

    def _asked(
        self, backend: Backend, sampling: Sampling, refused: tuple[str, str] | None
    ) -> tuple[str, float | None, str]:
        """What the model answers to the request, how likely it finds that, and why it is unusable.

        The probability is None where it is not known.
        """
        translation = self._style.translation(self._request, refused)
        conversations, likely = next(translation), list[float | None]()
        while True:
            parts = (
                conversations[n : n + _AT_ONCE] for n in range(0, len(conversations), _AT_ONCE)
            )
            found = [
                answer
                for part in parts
                for answer in backend.generate_batch(part, sampling, self._cancelled)
            ]
            likely += [each.probability for each in found]
            texts = [each.text for each in found]
            if any(each.finish_reason == 'length' for each in found):
                return '\n'.join(texts), None, 'the answer is cut off: write a shorter one'
            try:
                conversations = translation.send(texts)
            except StopIteration as end:
                known = [each for each in likely if each is not None]
                told = self._style.one_way and len(known) == len(likely)
                return str(end.value), prod(known) if told else None, ''
            except SafegenError as error:
                return '\n'.join(texts), None, error.message

    def _problem(self, answer: str) -> tuple[Problem, tuple[str, ...]]:
        """The problem in an answer, with all constraints and a plan, and the doubts about it.

        Raises:
            _Refused: there is none.
        """
        request = self._request
        try:
            problem = read_problem(problem_fragment(answer), request.domain, '<answer>')
        except (UnreadableAnswer, PddlError) as error:
            raise _Refused(error.message) from error
        start = request.start
        if start is not None and (
            dict(problem.objects) != dict(start.objects) or problem.init != start.init
        ):
            raise _Refused(_changed(start, problem))
        wrong = contradiction(request.domain.name, problem.init)
        if wrong:
            raise _Refused(f'the initial state is impossible, for {wrong}: correct it')
        given = self._given(problem)
        doubtful = doubts(request, problem, given)
        problem = replace(problem, constraints=tuple(dict.fromkeys((*given, *problem.constraints))))
        try:
            find_plan(problem, self._time_limit_s, self._cancelled)
        except (Unsolvable, SearchLimit) as error:
            raise _Refused(error.message) from error
        return problem, doubtful

    def _given(self, problem: Problem) -> Sequence[Constraint]:
        """The constraints that were given formally, over the objects of a problem."""
        if not self._request.constraints:
            return ()
        try:
            return _with_constraints(problem, self._request.constraints)
        except PddlError as error:
            raise _Refused(
                f'the constraints that hold in any case do not fit it ({error.what}): '
                'declare every object that they name'
            ) from error

    def _words(self, problem: Problem) -> str:
        """A problem in canonical English that reads back as the same problem."""
        english = FORMATS['english']
        try:
            words = english.write(problem)
            back = english.read(words, problem.domain, '<words>')
        except SafegenError as error:
            raise _Refused(f'it cannot be said in words ({error.message})') from error
        same = (back.init, set(back.goal_conjuncts()), set(back.constraints)) == (
            problem.init,
            set(problem.goal_conjuncts()),
            set(problem.constraints),
        )
        if not same or dict(back.objects) != dict(problem.objects):
            raise _Refused('its words do not read back as the same problem: write a plainer one')
        return words


def _changed(start: Problem, found: Problem) -> str:
    """What an answer changes about the observed world."""
    for what, ours, theirs in (
        ('objects', set(start.objects.items()), set(found.objects.items())),
        ('initial state', set(start.init), set(found.init)),
    ):
        for verb, odd in (('lacks', ours - theirs), ('adds', theirs - ours)):
            if odd:
                return f'the {what} {verb} {atom_text(min(odd))}: take them exactly as they are'
    return 'the objects are not those that were given: take them exactly as they are'
