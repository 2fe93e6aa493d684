# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Verify and retry (SafeGen-LLM section V-F): propose, verify, feed the verdict back, again.

The loop knows neither ROS nor a model nor a solver. It asks one level after the other for plan
texts; each of them gets the earlier attempts with their verdicts. The verifier may run in another
process. Only a `SUCCESS` leaves here as a plan, whichever level proposed it, and a verifier that
gives no verdict ends the loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby

from safegen_ros.errors import BackendError, Canceled, ErrorCode, PlanFormatError, SafegenError
from safegen_ros.pddl.moments import is_moment, plan_of_steps
from safegen_ros.pddl.plan import Plan, Step, has_times, parse_plan
from safegen_ros.stages import PlanningPhase
from safegen_ros.sync import PlanningDeadline
from safegen_ros.verdict import Category, Verdict

MODEL = 'model'
SEARCH = 'search'

Steps = tuple[tuple[Step, ...], ...]
"""A plan: steps one after the other, each with all actions that are taken at once."""


def read_plan(text: str) -> Steps:
    """The steps of the text of a PDDL plan, as they start; none where it cannot be read."""
    try:
        return tuple((step,) for step in parse_plan(text, timed=True).steps)
    except PlanFormatError:
        return ()


def gist_of(steps: Steps, text: str) -> Steps | str:
    """What plans that say the same have in common: steps, or with times the text itself."""
    return text.strip() if not steps or has_times(text) else steps


@dataclass(frozen=True, slots=True)
class Attempt:
    """One proposal and its verdict.

    Attributes:
        number: from 1, over all levels.
        source: the name of the level that proposed it; of a `Labelled` proposal its source.
        seconds: from asking for the proposal to the verdict [s].
        steps: the steps read from the text; none where it cannot be read.
    """

    number: int
    source: str
    text: str
    verdict: Verdict
    seconds: float
    steps: Steps = ()

    @property
    def plan(self) -> Plan:
        """The actions of all steps, one after the other."""
        if any(map(is_moment, self.steps)):
            return plan_of_steps(self.steps)
        return Plan(tuple(action for step in self.steps for action in step))

    @property
    def gist(self) -> Steps | str:
        """What all attempts at the same have in common."""
        return gist_of(self.steps, self.text)


@dataclass(frozen=True, slots=True)
class Progress:
    """What the loop is doing: `generating`, `verifying`, `rehearsing`, `judged`, `searching`.

    Attributes:
        phase: one of the words above; `searching` while the search planner works.
        source: the name of the level that is asked.
        attempt: what was `judged`.
        detail: where a level begins, the results of those before it.
    """

    phase: str
    source: str
    number: int
    attempt: Attempt | None = None
    detail: str = ''


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the loop ended; `plan` is there only when it is proved."""

    attempts: tuple[Attempt, ...]
    plan: Plan | None
    error_code: ErrorCode
    message: str
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """The verdict on the last attempt; `UNKNOWN` when there was none."""
        return self.attempts[-1].verdict if self.attempts else Verdict()


class Skipped(SafegenError):
    """A level has nothing to propose; the next one is asked.

    Args:
        message: the reason, and how to fix it.
        code: the number for a client, where no level proposes anything.
        until: the level that is asked next, those before it being no better off, but for `SEARCH`;
            empty for the one that follows.
    """

    def __init__(
        self,
        message: str,
        code: ErrorCode = ErrorCode.ATTEMPTS_EXHAUSTED,
        until: str = '',
    ) -> None:
        super().__init__(message, code)
        self.until = until


class UnsuitableTask(Skipped):
    """Neither the task nor a part of it can be put to this model, which does not know its words."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ErrorCode.UNSUPPORTED_FEATURE, SEARCH)


History = Sequence[Attempt]
"""The attempts so far; a level that goes on sees those that were added meanwhile."""

Proposals = Callable[[History, PlanningDeadline], Generator[str, None, None]]
"""Yields plan texts, one for each attempt, and is closed when no more are wanted.

Raises `Skipped` where it cannot propose anything, `BackendError` when the model does not answer, so
that the search planner is asked next, and `Canceled` soon after `PlanningDeadline.over` is true.
"""


class Labelled(str):
    """A proposal whose source says more than the name of its level."""

    source: str

    def __new__(cls, text: str, source: str) -> Labelled:
        """The text, which knows its source."""
        made = super().__new__(cls, text)
        made.source = source
        return made


Verify = Callable[[str], Verdict]
Rehearse = Callable[[Steps, Verdict], Verdict]
"""Takes the steps of a proved plan and its verdict; returns that, or one that refuses the plan."""

Solve = Callable[[float, Callable[[], bool]], Plan]
"""Asks a search planner: the time left [s] and the cancel question; returns a plan or raises."""


@dataclass(frozen=True, slots=True)
class Level:
    """One way to come by plans.

    Attributes:
        name: what its attempts are labelled with.
        attempts: how many proposals it is asked for at most.
    """

    name: str
    attempts: int
    proposals: Proposals


def plan_with_levels(
    levels: Sequence[Level],
    verify: Verify,
    time_budget_s: float,
    *,
    cancelled: Callable[[], bool] = lambda: False,
    notify: Callable[[Progress], None] = lambda progress: None,
    rehearse: Rehearse | None = None,
    read: Callable[[str], Steps] = read_plan,
) -> Outcome:
    """Asks for plans until one is proved.

    A proposal that was refused before is not verified again: it counts as an attempt, with the
    verdict that it has.

    Args:
        levels: the planners to try, in order.
        time_budget_s: wall-clock limit of the whole loop [s].
        notify: called with each phase, and of each attempt with its verdict.
        rehearse: what else a plan has to pass, where that takes long; it is asked only about
            plans that are proved.

    Returns:
        The outcome; failures are in its error code and message, with all attempts kept.
    """
    return _Loop(
        levels, verify, PlanningDeadline(time_budget_s, cancelled), notify, rehearse, read
    ).run()


def first_proof(
    levels: Sequence[Level],
    verify: Verify,
    time_budget_s: float,
    cancelled: Callable[[], bool] = lambda: False,
) -> Attempt:
    """The attempt that `plan_with_levels` proves; what keeps it from one is raised.

    Raises:
        BackendError: the model cannot answer.
        Canceled: `cancelled` said so, or the time is up.
        SafegenError: no level has a plan that is proved.
    """
    return _Loop(levels, verify, PlanningDeadline(time_budget_s, cancelled)).first_proof()


@dataclass
class _Loop:
    """The state of one run of `plan_with_levels`."""

    levels: Sequence[Level]
    verify: Verify
    deadline: PlanningDeadline
    notify: Callable[[Progress], None] = lambda progress: None
    rehearse: Rehearse | None = None
    read: Callable[[str], Steps] = read_plan
    attempts: list[Attempt] = field(default_factory=list)
    verdicts: dict[Steps | str, Verdict] = field(default_factory=dict)
    news: list[tuple[str, str]] = field(default_factory=list)  # each finished level and its result
    reported: int = 0  # how many of them were reported
    unrehearsed: set[Steps | str] = field(default_factory=set)  # proved, but failed in rehearsal
    skipped: list[Skipped] = field(default_factory=list)
    failed: BackendError | None = None  # the first time that the model did not answer

    def run(self) -> Outcome:
        try:
            return self._outcome(self.first_proof().plan)
        except SafegenError as error:
            if self.deadline.left_s <= 0 and not self.deadline.cancelled():
                return self._outcome(None, ErrorCode.PLANNING_TIMEOUT, self._too_late())
            return self._outcome(None, error.code, error.message)

    def _too_late(self) -> str:
        return (
            f'no proved plan within {max(0.0, self.deadline.seconds):.3g} s '
            f'({len(self.attempts)} attempts were judged): give the goal more time'
        )

    def first_proof(self) -> Attempt:
        """The proved attempt; raises what keeps the loop from one."""
        until = ''
        for level in self.levels:
            if until and level.name not in (until, SEARCH):
                continue
            until = '' if level.name == until else until
            count = len(self.attempts)
            try:
                proved = self._try(level)
            except BackendError as error:
                # Every other level of the model would ask the same server.
                self.failed = self.failed or error
                self.news.append((level.name, error.message))
                until = SEARCH
                continue
            except Skipped as error:
                until = error.until or until
                self.skipped.append(error)
                self.news.append((level.name, error.message))
                continue
            if proved is not None:
                return proved
            count = len(self.attempts) - count
            self.news.append((level.name, f'no proof in {count} attempt{"s" * (count != 1)}'))
        raise self._given_up()

    def _given_up(self) -> SafegenError:
        why = _summary(self.news)
        if self.failed is not None:
            others = [each for each in self.news if each[1] != self.failed.message]
            more = f' ({_summary(others)})' if others else ''
            return BackendError(f'{self.failed.message}{more}', self.failed.code)
        if not self.attempts:
            code = self.skipped[0].code if self.skipped else ErrorCode.ATTEMPTS_EXHAUSTED
            return SafegenError(f'no planner could answer ({why}): name another one', code)
        last = self.attempts[-1].verdict
        return SafegenError(
            f'none of {len(self.attempts)} attempts was proved ({why}); the last one: '
            f'{last.category.name}: {last.reason}: allow the search planner to answer, or '
            'change the task',
            ErrorCode.ATTEMPTS_EXHAUSTED,
        )

    def _try(self, level: Level) -> Attempt | None:
        """The first proposal of a level that is proved; None when none of them is."""
        phase = PlanningPhase.SEARCHING if level.name == SEARCH else PlanningPhase.GENERATING
        with closing(level.proposals(self.attempts, self.deadline)) as proposals:
            for _ in range(level.attempts):
                self._check_time()
                detail = _summary(self.news[self.reported :])
                self.reported = len(self.news)
                self.notify(Progress(phase, level.name, len(self.attempts) + 1, detail=detail))
                started = time.monotonic()
                text = next(proposals, None)
                if text is None:
                    break
                source = text.source if isinstance(text, Labelled) else level.name
                attempt = self._judge(source, text, started)
                if attempt.verdict.ok:
                    return attempt
                if level.name == SEARCH and attempt.gist not in self.unrehearsed:
                    raise SafegenError(
                        f'the search planner and the verifier disagree: {attempt.verdict.reason}',
                        ErrorCode.PLAN_REFUSED,
                    )
        return None

    def _judge(self, source: str, text: str, started: float) -> Attempt:
        number, steps = len(self.attempts) + 1, self.read(text)
        said = gist_of(steps, text)
        verdict = self.verdicts.get(said)
        if verdict is None:
            self.notify(Progress(PlanningPhase.VERIFYING, source, number))
            verdict = self.verify(text)
            if verdict.ok and self.rehearse is not None:
                self.notify(Progress(PlanningPhase.REHEARSING, source, number))
                verdict = self.rehearse(steps, verdict)
                if not verdict.ok:
                    self.unrehearsed.add(said)
            self.verdicts[said] = verdict
        attempt = Attempt(number, source, text, verdict, time.monotonic() - started, steps)
        self.attempts.append(attempt)
        self.notify(Progress(PlanningPhase.JUDGED, source, number, attempt))
        if verdict.category is Category.UNKNOWN:
            raise SafegenError(
                f'the verifier gave no verdict: {verdict.reason}', ErrorCode.VALIDATOR_UNAVAILABLE
            )
        return attempt

    def _check_time(self) -> None:
        if self.deadline.over():
            raise Canceled('planning was cancelled', ErrorCode.PLANNING_CANCELED)

    def _outcome(
        self, plan: Plan | None, code: ErrorCode = ErrorCode.NONE, message: str = ''
    ) -> Outcome:
        seconds = time.monotonic() - self.deadline.start
        if self.deadline.cancelled() and plan is None:
            code, message = ErrorCode.PLANNING_CANCELED, 'planning was cancelled'
        return Outcome(tuple(self.attempts), plan, code, message, seconds)


def _summary(news: Sequence[tuple[str, str]]) -> str:
    """The results of some levels in a line; equal results in turn are listed once."""
    alike = groupby(news, key=lambda each: each[1])
    return '; '.join(f'{", ".join(name for name, _ in levels)}: {what}' for what, levels in alike)
