# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The verify-and-retry loop: what leaves it is proved, and everything else has a reason."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import pytest

from safegen_ros.errors import BackendError, Canceled, ErrorCode, SafegenError
from safegen_ros.pddl.plan import Plan
from safegen_ros.planning.loop import (
    MODEL,
    SEARCH,
    Attempt,
    Limits,
    Outcome,
    Progress,
    UnsuitableTask,
    plan_with_retries,
)
from safegen_ros.search.solve import solve
from safegen_ros.verdict import Category, Verdict
from safegen_ros.worlds.pddl3.task import Pddl3Task

GREEDY = '(unstack b2 b1)\n(putdown b2)'
"""The obvious first steps, which break the example's constraint once a third step follows."""


class Script:
    """Proposes given texts in turn and remembers what feedback it was shown."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.shown: list[list[Attempt]] = []

    def __call__(
        self, history: Sequence[Attempt], number: int, cancelled: Callable[[], bool]
    ) -> str:
        self.shown.append(list(history))
        return self.texts[number - 1]


def _run(
    task: Pddl3Task, propose: Script, *, search: bool = False, attempts: int = 3, **more: object
) -> tuple[Outcome, list[Progress]]:
    heard: list[Progress] = []
    outcome = plan_with_retries(
        propose,
        task.verify,
        (lambda left, stop: solve(task.problem, time_limit_s=left, cancelled=stop).plan)
        if search
        else None,
        Limits(attempts, 30.0),
        notify=heard.append,
        **more,  # type: ignore[arg-type]
    )
    return outcome, heard


def test_feedback_reaches_the_proposer_until_a_plan_is_proved(tower_order: Pddl3Task) -> None:
    good = str(solve(tower_order.problem).plan)
    propose = Script('I think you should...', f'{GREEDY}\n(pickup b2)', good)
    outcome, heard = _run(tower_order, propose)

    assert outcome.error_code is ErrorCode.NONE
    assert str(outcome.plan) == good
    assert [a.verdict.category for a in outcome.attempts] == [
        Category.FORMAT_ERROR,
        Category.SAFETY_VIOLATION,
        Category.SUCCESS,
    ]
    assert [len(history) for history in propose.shown] == [0, 1, 2]
    assert '(sometime-before (on-table b2) (on-table b3))' in propose.shown[2][1].verdict.reason
    phases = [p.phase for p in heard]
    assert phases == ['generating', 'verifying', 'judged'] * 3


def test_without_search_the_model_may_give_up(tower_order: Pddl3Task) -> None:
    outcome, _ = _run(tower_order, Script(GREEDY, '', 'no'))
    assert outcome.plan is None
    assert outcome.error_code is ErrorCode.ATTEMPTS_EXHAUSTED
    assert 'FORMAT_ERROR' in outcome.message
    assert len(outcome.attempts) == 3


def test_the_search_planner_is_labelled(tower_order: Pddl3Task) -> None:
    outcome, heard = _run(tower_order, Script(GREEDY), search=True, attempts=1)
    assert outcome.plan is not None
    assert [a.source for a in outcome.attempts] == [MODEL, SEARCH]
    assert tower_order.verify(outcome.plan).ok
    assert 'searching' in [p.phase for p in heard]


def test_no_verdict_means_no_plan(tower_order: Pddl3Task) -> None:
    good = str(solve(tower_order.problem).plan)
    outcome = plan_with_retries(Script(good), lambda text: Verdict(), None, Limits(1, 30.0))
    assert outcome.plan is None
    assert outcome.error_code is ErrorCode.VALIDATOR_UNAVAILABLE


@pytest.mark.parametrize(
    'error',
    [
        SafegenError('the validator is dead', ErrorCode.VALIDATOR_UNAVAILABLE),
        SafegenError('another reason', ErrorCode.BAD_PDDL),
    ],
)
def test_a_verifier_that_fails_ends_the_loop(tower_order: Pddl3Task, error: SafegenError) -> None:
    def verify(text: str) -> Verdict:
        raise error

    outcome = plan_with_retries(Script('a', 'b'), verify, None, Limits(2, 30.0))
    assert outcome.plan is None
    assert outcome.error_code is error.code
    assert outcome.message == error.message


def test_a_dead_backend_is_named(tower_order: Pddl3Task) -> None:
    def propose(history: Sequence[Attempt], number: int, cancelled: Callable[[], bool]) -> str:
        raise BackendError('the model ran out of memory')

    outcome = plan_with_retries(propose, tower_order.verify, None, Limits(2, 30.0))
    assert outcome.error_code is ErrorCode.BACKEND_FAILED
    assert outcome.message == 'the model ran out of memory'


def test_a_task_that_the_model_cannot_be_asked_goes_to_the_search_planner(
    tower_order: Pddl3Task,
) -> None:
    def propose(history: Sequence[Attempt], number: int, cancelled: Callable[[], bool]) -> str:
        raise UnsuitableTask('too many blocks')

    heard: list[Progress] = []
    plan = solve(tower_order.problem).plan
    outcome = plan_with_retries(
        propose, tower_order.verify, lambda left, stop: plan, Limits(), notify=heard.append
    )
    assert outcome.plan == plan
    assert [a.source for a in outcome.attempts] == [SEARCH]
    assert [p.detail for p in heard if p.phase == 'searching'] == ['too many blocks']
    without = plan_with_retries(propose, tower_order.verify, None, Limits())
    assert without.plan is None
    assert without.error_code is ErrorCode.UNSUPPORTED_FEATURE


def _blocking(entered: threading.Event) -> Callable[..., str]:
    """A proposer that only ends when it is cancelled, as generation in a backend does."""

    def propose(history: Sequence[Attempt], number: int, cancelled: Callable[[], bool]) -> str:
        entered.set()
        pause = threading.Event()
        while not cancelled():
            pause.wait(0.001)
        raise Canceled('generation was stopped')

    return propose


def test_cancel_in_the_middle_of_generation(tower_order: Pddl3Task) -> None:
    entered = threading.Event()
    outcome = plan_with_retries(
        _blocking(entered), tower_order.verify, None, Limits(2, 30.0), cancelled=entered.is_set
    )
    assert outcome.plan is None
    assert outcome.error_code is ErrorCode.PLANNING_CANCELED


def test_the_time_budget_ends_generation(tower_order: Pddl3Task) -> None:
    entered = threading.Event()
    outcome = plan_with_retries(_blocking(entered), tower_order.verify, None, Limits(2, 0.05))
    assert entered.is_set()
    assert outcome.plan is None
    assert outcome.error_code is ErrorCode.PLANNING_TIMEOUT
    assert '0.05 s' in outcome.message


def test_the_search_planner_is_not_believed_either(tower_order: Pddl3Task) -> None:
    outcome = plan_with_retries(
        Script('x'), tower_order.verify, lambda left, stop: Plan(), Limits(1, 30.0)
    )
    assert outcome.plan is None
    assert outcome.error_code is ErrorCode.PLAN_REFUSED
