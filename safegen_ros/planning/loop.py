# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Verify and retry (SafeGen-LLM section V-F): propose, verify, feed the verdict back, again.

The loop knows neither ROS nor a model nor a solver. Whoever proposes gets the earlier attempts
with their verdicts; whoever verifies may live in another process. Only a `SUCCESS` leaves here as
a plan, and a verifier that gives no verdict ends the loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from safegen_ros.errors import Canceled, ErrorCode, PlanFormatError, SafegenError
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.verdict import Category, Verdict

MODEL = 'model'
SEARCH = 'search'


@dataclass(frozen=True, slots=True)
class Attempt:
    """One proposal and what the verifier said of it.

    Attributes:
        number: from 1; the search planner's answer comes after the model's.
        source: `MODEL` or `SEARCH`.
        text: what was proposed, as it came.
        verdict: the verifier's verdict.
        seconds: from asking for the proposal to the verdict [s].
    """

    number: int
    source: str
    text: str
    verdict: Verdict
    seconds: float

    @property
    def plan(self) -> Plan:
        """The steps that the text holds; none when it is no plan."""
        try:
            return parse_plan(self.text)
        except PlanFormatError:
            return Plan()


@dataclass(frozen=True, slots=True)
class Progress:
    """What the loop is doing: `generating`, `verifying`, `judged` or `searching`.

    `detail` says why the search planner is asked.
    """

    phase: str
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


class UnsuitableTask(SafegenError):
    """The task cannot be put to this model: it has too many objects, or words it does not know."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ErrorCode.UNSUPPORTED_FEATURE)


class Propose(Protocol):
    """Asks for a plan text.

    Raises `Canceled` soon after `cancelled()` turns true, `UnsuitableTask` when this model cannot
    be asked this, and `BackendError` when it does not answer.
    """

    def __call__(
        self, history: Sequence[Attempt], number: int, cancelled: Callable[[], bool]
    ) -> str:
        """The text of attempt `number`, given the earlier ones."""
        ...


Verify = Callable[[str], Verdict]
Solve = Callable[[float, Callable[[], bool]], Plan]
"""Asks a search planner: the time left [s] and the cancel question; returns a plan or raises."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long the loop may try.

    Attributes:
        max_attempts: proposals of the model (the paper allows 5).
        time_budget_s: wall-clock limit of the whole loop [s].
    """

    max_attempts: int = 5
    time_budget_s: float = 60.0


def plan_with_retries(
    propose: Propose,
    verify: Verify,
    solve: Solve | None,
    limits: Limits,
    *,
    cancelled: Callable[[], bool] = lambda: False,
    notify: Callable[[Progress], None] = lambda progress: None,
) -> Outcome:
    """Asks for plans until one is proved.

    Args:
        propose: the model.
        verify: the verifier.
        solve: the search planner that may answer when the model gives up, or None.
        limits: attempts and time.
        cancelled: whether the caller wants to stop.
        notify: told of each phase, and of each attempt with its verdict.

    Returns:
        The outcome; failures are in its error code and message, with all attempts kept.
    """
    return _Loop(propose, verify, solve, limits, cancelled, notify).run()


class _Loop:
    """The state of one run of `plan_with_retries`."""

    def __init__(
        self,
        propose: Propose,
        verify: Verify,
        solve: Solve | None,
        limits: Limits,
        cancelled: Callable[[], bool],
        notify: Callable[[Progress], None],
    ) -> None:
        self.propose = propose
        self.verify = verify
        self.solve = solve
        self.limits = limits
        self.cancelled = cancelled
        self.notify = notify
        self.attempts: list[Attempt] = []
        self.start = time.monotonic()

    def run(self) -> Outcome:
        try:
            return self._outcome(self._search_for_proof())
        except SafegenError as error:
            if self._late() and not self.cancelled():
                return self._outcome(None, ErrorCode.PLANNING_TIMEOUT, self._too_late())
            return self._outcome(None, error.code, error.message)

    def _too_late(self) -> str:
        return (
            f'no proved plan within {self.limits.time_budget_s:g} s '
            f'({len(self.attempts)} attempts were judged): give the goal more time'
        )

    def _search_for_proof(self) -> Plan:
        for number in range(1, self.limits.max_attempts + 1):
            self._check_time()
            self.notify(Progress('generating', number))
            started = time.monotonic()
            try:
                text = self.propose(self.attempts, number, self._must_stop)
            except UnsuitableTask as error:
                if self.solve is None:
                    raise
                return self._ask_search(self.solve, error.message)
            attempt = self._judge(number, MODEL, text, started)
            if attempt.verdict.ok:
                return attempt.plan
        last = self.attempts[-1].verdict if self.attempts else Verdict()
        if self.solve is None:
            raise SafegenError(
                f'none of {len(self.attempts)} attempts of the model was proved; the last one: '
                f'{last.category.name}: {last.reason}: allow the search planner to answer, or '
                'change the task',
                ErrorCode.ATTEMPTS_EXHAUSTED,
            )
        why = f'none of {len(self.attempts)} attempts of the model was proved'
        return self._ask_search(self.solve, why)

    def _ask_search(self, solve: Solve, why: str) -> Plan:
        number = len(self.attempts) + 1
        self._check_time()
        self.notify(Progress('searching', number, detail=why))
        started = time.monotonic()
        plan = solve(self._time_left(), self._must_stop)
        attempt = self._judge(number, SEARCH, str(plan), started)
        if not attempt.verdict.ok:
            raise SafegenError(
                f'the search planner and the verifier disagree: {attempt.verdict.reason}',
                ErrorCode.PLAN_REFUSED,
            )
        return attempt.plan

    def _judge(self, number: int, source: str, text: str, started: float) -> Attempt:
        self.notify(Progress('verifying', number))
        verdict = self.verify(text)
        attempt = Attempt(number, source, text, verdict, time.monotonic() - started)
        self.attempts.append(attempt)
        self.notify(Progress('judged', number, attempt))
        if verdict.category is Category.UNKNOWN:
            raise SafegenError(
                f'the verifier gave no verdict: {verdict.reason}', ErrorCode.VALIDATOR_UNAVAILABLE
            )
        return attempt

    def _time_left(self) -> float:
        return self.start + self.limits.time_budget_s - time.monotonic()

    def _late(self) -> bool:
        return self._time_left() <= 0

    def _must_stop(self) -> bool:
        return self.cancelled() or self._late()

    def _check_time(self) -> None:
        if self._must_stop():
            raise Canceled('planning was cancelled', ErrorCode.PLANNING_CANCELED)

    def _outcome(
        self, plan: Plan | None, code: ErrorCode = ErrorCode.NONE, message: str = ''
    ) -> Outcome:
        seconds = time.monotonic() - self.start
        if self.cancelled() and plan is None:
            code, message = ErrorCode.PLANNING_CANCELED, 'planning was cancelled'
        return Outcome(tuple(self.attempts), plan, code, message, seconds)
