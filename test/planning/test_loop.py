# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The verify-and-retry loop: what leaves it is proved, and everything else has a reason."""

from __future__ import annotations

import threading
from collections.abc import Generator
from unittest.mock import Mock

import pytest

from safegen_ros.errors import BackendError, Canceled, ErrorCode, SafegenError
from safegen_ros.pddl.plan import Plan
from safegen_ros.planning.loop import (
    MODEL,
    SEARCH,
    Attempt,
    History,
    Level,
    Outcome,
    Progress,
    Skipped,
    Solve,
    UnsuitableTask,
    Verify,
    plan_with_levels,
)
from safegen_ros.search.solve import solve
from safegen_ros.sync import PlanningDeadline
from safegen_ros.tasks.pddl3.planning.strategy import search_level
from safegen_ros.tasks.pddl3.task import Pddl3Task
from safegen_ros.verdict import Category, Verdict

GREEDY = '(unstack b2 b1)\n(putdown b2)'
"""The obvious first steps, which break the example's constraint once a third step follows."""

Texts = Generator[str, None, None]


class Script:
    """Proposes given texts in turn; remembers the feedback that it was shown."""

    def __init__(self, *texts: str | Exception) -> None:
        self.texts = texts
        self.shown: list[list[Attempt]] = []
        self.closed = False

    def __call__(self, history: History, deadline: PlanningDeadline) -> Texts:
        try:
            for text in self.texts:
                self.shown.append(list(history))
                if isinstance(text, Exception):
                    raise text
                yield text
        finally:
            self.closed = True

    def level(self, name: str = MODEL) -> Level:
        return Level(name, max(1, len(self.texts)), self)


def searching(task: Pddl3Task) -> Level:
    return search_level(
        lambda left, stop: solve(task.problem, time_limit_s=left, cancelled=stop).plan
    )


def run(verify: Verify, *levels: Level, seconds: float = 30.0) -> tuple[Outcome, list[Progress]]:
    heard: list[Progress] = []
    return plan_with_levels(levels, verify, seconds, notify=heard.append), heard


def test_feedback_reaches_the_model_until_a_plan_is_proved(tower_order: Pddl3Task) -> None:
    good = str(solve(tower_order.problem).plan)
    script = Script('I think you should...', f'{GREEDY}\n(pickup b2)', good, 'never asked for')
    outcome, heard = run(tower_order.verify, script.level())

    assert outcome.error_code is ErrorCode.NONE
    assert str(outcome.plan) == good
    assert [a.verdict.category for a in outcome.attempts] == [
        Category.FORMAT_ERROR,
        Category.SAFETY_VIOLATION,
        Category.SUCCESS,
    ]
    assert [len(history) for history in script.shown] == [0, 1, 2]
    assert '(sometime-before (on-table b2) (on-table b3))' in script.shown[2][1].verdict.reason
    assert script.closed
    phases = [p.phase for p in heard]
    assert phases == ['generating', 'verifying', 'judged'] * 3
    assert not any(p.detail for p in heard)


def test_without_search_the_model_may_give_up(tower_order: Pddl3Task) -> None:
    outcome, _ = run(tower_order.verify, Script(GREEDY, '', 'no').level(), search_level(None))
    assert outcome.plan is None
    assert outcome.error_code is ErrorCode.ATTEMPTS_EXHAUSTED
    assert 'FORMAT_ERROR' in outcome.message
    assert 'search: the goal or the node does not allow the search planner' in outcome.message
    assert len(outcome.attempts) == 3


def test_every_level_is_labelled_and_says_why_it_was_asked(tower_order: Pddl3Task) -> None:
    unable = Script(Skipped('needs a GPU'))
    levels = Script(GREEDY).level(), unable.level('shield'), Script(GREEDY, 'b').level('beam 2')
    outcome, heard = run(tower_order.verify, *levels, searching(tower_order))
    assert [(a.number, a.source) for a in outcome.attempts] == [
        (1, MODEL), (2, 'beam 2'), (3, 'beam 2'), (4, SEARCH)
    ]  # fmt: skip
    assert outcome.plan is not None
    assert tower_order.verify(outcome.plan).ok
    assert [(p.source, p.detail) for p in heard if p.detail] == [
        ('shield', 'model: no proof in 1 attempt'),
        ('beam 2', 'shield: needs a GPU'),
        (SEARCH, 'beam 2: no proof in 2 attempts'),
    ]
    assert [p.source for p in heard if p.phase == 'searching'] == [SEARCH]
    assert unable.closed


def test_each_proposal_is_read_once(tower_order: Pddl3Task) -> None:
    texts = ['no plan', GREEDY, str(solve(tower_order.problem).plan)]
    read = Mock(wraps=tower_order.steps_of)
    plan_with_levels([Script(*texts).level()], tower_order.verify, 30.0, read=read)
    assert [each.args for each in read.call_args_list] == [(text,) for text in texts]


def test_what_was_refused_is_not_verified_again(tower_order: Pddl3Task) -> None:
    asked: list[str] = []

    def verify(text: str) -> Verdict:
        asked.append(text)
        return tower_order.verify(text)

    again = f' {GREEDY.upper()} ; the same\n'
    script = Script('no plan', GREEDY, ' no plan\n', again, f'{GREEDY}\n(pickup b2)')
    outcome, heard = run(verify, script.level(), Script(GREEDY).level('shield'))
    assert asked == ['no plan', GREEDY, f'{GREEDY}\n(pickup b2)']
    assert len(outcome.attempts) == 6
    assert [a.text for a in outcome.attempts][2:4] == [' no plan\n', again]
    verdicts = [a.verdict for a in outcome.attempts]
    assert verdicts[2] == verdicts[0]
    assert verdicts[3] == verdicts[5] == verdicts[1]
    assert [p.phase for p in heard].count('judged') == 6
    assert [p.phase for p in heard].count('verifying') == 3
    assert outcome.error_code is ErrorCode.ATTEMPTS_EXHAUSTED


def test_no_verdict_means_no_plan(tower_order: Pddl3Task) -> None:
    good = str(solve(tower_order.problem).plan)
    outcome, _ = run(lambda text: Verdict(), Script(good).level(), searching(tower_order))
    assert outcome.plan is None
    assert outcome.error_code is ErrorCode.VALIDATOR_UNAVAILABLE
    assert len(outcome.attempts) == 1


@pytest.mark.parametrize(
    'error',
    [
        SafegenError('the validator is dead', ErrorCode.VALIDATOR_UNAVAILABLE),
        SafegenError('another reason', ErrorCode.BAD_PDDL),
    ],
)
def test_a_verifier_that_fails_ends_the_loop(error: SafegenError) -> None:
    def verify(text: str) -> Verdict:
        raise error

    outcome, _ = run(verify, Script('a', 'b').level())
    assert outcome.plan is None
    assert outcome.error_code is error.code
    assert outcome.message == error.message


def test_a_dead_backend_is_named_and_ends_the_loop(tower_order: Pddl3Task) -> None:
    dead = Script(BackendError('the model ran out of memory')).level()
    for levels in ([dead], [dead, search_level(None)], [dead, dead]):
        outcome, _ = run(tower_order.verify, *levels)
        assert outcome.error_code is ErrorCode.BACKEND_FAILED
        assert outcome.message.startswith('the model ran out of memory')


def test_a_dead_backend_leaves_the_task_to_the_search(tower_order: Pddl3Task) -> None:
    dead = Script(BackendError('HTTP 429'))
    unasked = Script('x')
    levels = dead.level(), unasked.level('samples 4'), searching(tower_order)
    outcome, heard = run(tower_order.verify, *levels)
    assert outcome.error_code is ErrorCode.NONE
    assert [a.source for a in outcome.attempts] == [SEARCH]
    assert not unasked.shown  # of the same server
    assert [p.detail for p in heard if p.phase == 'searching'] == ['model: HTTP 429']


def test_a_backend_that_dies_after_an_answer_keeps_it(tower_order: Pddl3Task) -> None:
    dying = Script('no plan', BackendError('gone'))
    outcome, _ = run(tower_order.verify, dying.level(), searching(tower_order))
    assert [a.source for a in outcome.attempts] == [MODEL, SEARCH]
    assert outcome.plan is not None


def test_a_task_that_the_model_cannot_be_asked_goes_to_the_next_level(
    tower_order: Pddl3Task,
) -> None:
    unable = Script(UnsuitableTask('too many blocks')).level()
    outcome, heard = run(tower_order.verify, unable, searching(tower_order))
    assert tower_order.verify(outcome.plan or Plan()).ok
    assert [a.source for a in outcome.attempts] == [SEARCH]
    assert [p.detail for p in heard if p.phase == 'searching'] == ['model: too many blocks']

    without, _ = run(tower_order.verify, unable, Script('x').level(), search_level(None))
    assert without.plan is None
    assert not without.attempts
    assert without.error_code is ErrorCode.UNSUPPORTED_FEATURE
    assert 'too many blocks' in without.message


def test_a_level_may_hand_on_to_a_later_one_but_not_past_the_search_planner(
    tower_order: Pddl3Task,
) -> None:
    hands_on = Script(Skipped('too much', until='last')).level()
    never, last = Script('never').level('beam 2'), Script(GREEDY).level('last')
    after = Script('after').level('shield')
    outcome, heard = run(tower_order.verify, hands_on, never, search_level(None), last, after)
    assert [a.source for a in outcome.attempts] == ['last', 'shield']
    assert [p.detail for p in heard if p.phase == 'searching'] == ['model: too much']
    again, _ = run(tower_order.verify, hands_on, never, searching(tower_order), last)
    assert [a.source for a in again.attempts] == [SEARCH]


def test_a_level_that_ends_early_is_over(tower_order: Pddl3Task) -> None:
    outcome, _ = run(tower_order.verify, Level('best of 4', 4, Script('a', 'b')))
    assert len(outcome.attempts) == 2
    nothing, _ = run(tower_order.verify, Script().level())
    assert (nothing.attempts, nothing.error_code) == ((), ErrorCode.ATTEMPTS_EXHAUSTED)


def _blocking(entered: threading.Event) -> Level:
    """A level that only ends when it is cancelled, as generation in a backend does."""

    def proposals(history: History, deadline: PlanningDeadline) -> Texts:
        entered.set()
        pause = threading.Event()
        while not deadline.over():
            pause.wait(0.001)
        raise Canceled('generation was stopped')
        yield ''

    return Level(MODEL, 2, proposals)


def test_cancel_in_the_middle_of_generation(tower_order: Pddl3Task) -> None:
    entered = threading.Event()
    levels = _blocking(entered), searching(tower_order)
    outcome = plan_with_levels(levels, tower_order.verify, 30.0, cancelled=entered.is_set)
    assert outcome.plan is None
    assert outcome.error_code is ErrorCode.PLANNING_CANCELED


def test_the_time_budget_ends_generation(tower_order: Pddl3Task) -> None:
    entered = threading.Event()
    outcome, _ = run(tower_order.verify, _blocking(entered), seconds=0.05)
    assert entered.is_set()
    assert outcome.plan is None
    assert outcome.error_code is ErrorCode.PLANNING_TIMEOUT
    assert '0.05 s' in outcome.message


def test_the_search_planner_is_not_believed_either(tower_order: Pddl3Task) -> None:
    believed: Solve = lambda left, stop: Plan()  # noqa: E731
    outcome, _ = run(tower_order.verify, Script('x').level(), search_level(believed))
    assert outcome.plan is None
    assert outcome.error_code is ErrorCode.PLAN_REFUSED
