# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The level `hierarchy`: who plans the parts, what is left to it, and what ends it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from safegen_ros.errors import BackendError, Canceled, ErrorCode
from safegen_ros.llm.backend import Cancelled, Completion, Message, Sampling, never
from safegen_ros.llm.decoding.constrained import TransformersGuide
from safegen_ros.llm.decoding.guide import BeamOutcome as Ended
from safegen_ros.llm.decoding.guide import BeamResult, Guide, PlanSyntax
from safegen_ros.llm.transformers_backend import TransformersBackend
from safegen_ros.paths import data_path
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.planning.levels import BEAMS, DEFAULT
from safegen_ros.planning.loop import Outcome, Progress, plan_with_levels
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.domains import builtin_domain_text, kits
from safegen_ros.tasks.pddl3.planning.hierarchy.relaxed_analysis import Thresholds, thresholds_of
from safegen_ros.tasks.pddl3.planning.proposer import ModelProposer
from safegen_ros.tasks.pddl3.planning.strategy import levels_of
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle, PromptStyle, load_style
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_task
from safegen_ros.verify.admissible import Shield

FOLDER = data_path('models/safegen-mini')
TEN = load_task(kits()['blocksworld'].problem(1, {'blocks': 10}, 'building-order').text)
EIGHT = load_task(kits()['blocksworld'].problem(1, {'blocks': 8}, 'building-order').text)
FIVE = load_task(kits()['blocksworld'].problem(1, {'blocks': 5}, 'building-order').text)

Answer = Callable[[str, Cancelled], str]


class Asked:
    """A model that reads the problem it is asked and answers by a function."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.problems: list[str] = []

    def generate(
        self, messages: Sequence[Message], sampling: Sampling, cancelled: Cancelled, *_: Any
    ) -> Completion:
        self.problems.append(messages[0]['content'].partition('Problem:\n')[2])
        return Completion(self.answer(self.problems[-1], cancelled), 1, 1, 0.0, 'stop')

    def close(self) -> None:
        """Has nothing to let go of."""


def planned(
    strategy: str,
    backend: Any,
    style: PromptStyle,
    task: Pddl3Task = TEN,
    seconds: float = 600.0,
    cancelled: Cancelled = never,
    thresholds: Thresholds | None = None,
) -> tuple[Outcome, list[Progress]]:
    heard: list[Progress] = []
    levels = levels_of(
        strategy,
        ModelProposer(task.problem, backend, style, Sampling(), thresholds=thresholds),
        lambda left, stop: solve(task.problem, time_limit_s=left, cancelled=stop).plan,
        2,
    )
    outcome = plan_with_levels(
        levels, task.verify, seconds, cancelled=cancelled, notify=heard.append
    )
    return outcome, heard


def solved(text: str, cancelled: Cancelled = never) -> str:
    domain = read_domain(builtin_domain_text('blocksworld'), '<domain>')
    return str(solve(read_problem(text, domain, '<part>'), route='in-process').plan)


@pytest.mark.slow
def test_the_shipped_model_plans_eight_blocks_in_parts() -> None:
    backend, style = TransformersBackend(FOLDER, 'cpu'), load_style(FOLDER)
    outcome, heard = planned(DEFAULT, backend, style, EIGHT)
    (attempt,) = outcome.attempts
    assert attempt.source.startswith('hierarchy of beam 2')
    assert {*attempt.source.removeprefix('hierarchy of ').split(', ')} <= {*BEAMS}
    assert outcome.plan is not None
    assert EIGHT.verify(outcome.plan).ok
    assert [(p.phase, p.source) for p in heard[:2]] == [
        ('generating', 'model'),
        ('generating', 'hierarchy'),  # the beams are passed over
    ]
    said = 'model: the task is left to the hierarchy: it has 8 objects, more than 7'
    assert heard[1].detail == said


def test_a_simple_task_is_put_to_the_model_as_a_whole() -> None:
    model = Asked(solved)
    outcome, heard = planned('model, hierarchy', model, InstructStyle(), FIVE)
    assert [a.source for a in outcome.attempts] == ['model']
    assert outcome.plan is not None
    assert not any(p.detail for p in heard)
    in_turn, _ = planned('hierarchy', Asked(solved), InstructStyle(), FIVE)
    assert [a.source for a in in_turn.attempts] == ['hierarchy of model']
    assert in_turn.plan is not None


@pytest.mark.parametrize(
    ('blocks', 'limits', 'source'),
    [
        (10, {}, 'hierarchy'),
        (10, {'objects': 9}, 'hierarchy'),
        (10, {'objects': 10}, 'model'),
        (10, {'objects': 10, 'open_goals': 6}, 'hierarchy'),
        (5, {}, 'model'),
        (5, {'objects': 4}, 'hierarchy'),
        (5, {'relaxed_steps': 2}, 'hierarchy'),
    ],
)
def test_how_large_a_simple_task_may_be_can_be_said(
    blocks: int, limits: dict[str, int], source: str
) -> None:
    task = TEN if blocks == 10 else FIVE
    thresholds = thresholds_of('blocksworld', **limits)
    outcome, _ = planned(
        'model, hierarchy', Asked(solved), InstructStyle(), task, thresholds=thresholds
    )
    assert [a.source.partition(' of ')[0] for a in outcome.attempts] == [source]
    assert outcome.plan is not None


def test_without_a_hierarchy_behind_it_a_complex_task_is_asked_as_a_whole() -> None:
    model = Asked(solved)
    outcome, _ = planned('hierarchy, model', Asked(lambda *_: '(no plan)'), InstructStyle(), FIVE)
    assert outcome.attempts[0].source == 'model'
    outcome, _ = planned('model, search', model, InstructStyle())
    assert [a.source for a in outcome.attempts] == ['model']
    assert len(model.problems) == 1


def test_a_model_without_beams_answers_part_by_part_and_is_told_of_failures() -> None:
    def second_time(text: str, cancelled: Cancelled) -> str:
        return solved(text) if model.problems.count(text) == 2 else '(levitate b1)'

    model = Asked(second_time)
    outcome, _ = planned(DEFAULT, model, InstructStyle())
    assert [a.source for a in outcome.attempts] == ['hierarchy of model']
    assert outcome.plan is not None
    assert TEN.verify(outcome.plan).ok
    assert len(set(model.problems)) > 4
    assert all(text.count('(define') == 1 for text in model.problems)


class Guides(Asked):
    """A model whose beam finds the plan of a part when it is wider than 2."""

    def __init__(self) -> None:
        super().__init__(lambda *_: pytest.fail('a beam would do'))
        self.widths: list[list[int]] = []
        self.limits: list[float] = []

    def writer(self) -> None:
        raise NotImplementedError

    def guide(self, messages: Sequence[Message], shield: Shield, syntax: PlanSyntax) -> Guide:
        asked, text = self, messages[0]['content'].partition('Problem:\n')[2]
        widths: list[int] = []
        self.widths.append(widths)

        class Found(TransformersGuide):
            def __init__(self) -> None:
                """Has no model."""

            def beam(self, width: int, time_limit_s: float, *_: Any, **more: Any) -> BeamResult:
                widths.append(width)
                asked.limits.append(time_limit_s)
                plan = parse_plan(solved(text)) if width > 2 else None
                ending = Ended.EXHAUSTED if plan is None else Ended.FOUND
                return BeamResult(width, False, ending, plan, 0.0, 0, 0.0)

        return Found()


def test_each_part_has_a_guide_of_its_own_and_wider_and_wider_beams() -> None:
    model = Guides()
    outcome, _ = planned(DEFAULT, model, InstructStyle(), seconds=600.0)
    assert [a.source for a in outcome.attempts] == ['hierarchy of beam 4']
    assert len(model.widths) > 4
    assert all(widths == [2, 4] for widths in model.widths)
    assert all(limit <= 600.0 / 2 / 4 / 2 for limit in model.limits)  # level, part, beam


def test_the_last_level_that_can_be_asked_has_all_the_time() -> None:
    def first_limit_s(strategy: str) -> float:
        model = Guides()
        planned(strategy, model, InstructStyle(), seconds=600.0)
        return model.limits[0]  # of the first beam, which has half of the part's quarter

    assert 0.4 * 150.0 < first_limit_s('hierarchy') <= 0.5 * 150.0
    assert first_limit_s('hierarchy, search') <= 0.25 * 150.0


def test_a_model_that_knows_no_answer_leaves_it_to_the_search_planner() -> None:
    model = Asked(lambda *_: '(no plan)')
    outcome, heard = planned(DEFAULT, model, InstructStyle())
    assert [a.source for a in outcome.attempts] == ['search']
    [news] = [p.detail for p in heard if p.phase == 'searching']
    assert news.startswith('hierarchy: problem blocksworld-10-blocks-1: ')
    asked = Counter(tuple(sorted(text.split())) for text in model.problems)
    assert len(asked) > 4
    assert set(asked.values()) == {2}  # as many attempts as there are, and no part is asked twice


def test_a_model_that_fails_leaves_the_task_to_the_search_at_once() -> None:
    def fails(text: str, cancelled: Cancelled) -> str:
        raise BackendError('the server is gone')

    model = Asked(fails)
    outcome, heard = planned(DEFAULT, model, InstructStyle())
    assert [a.source for a in outcome.attempts] == ['search']
    assert 'the server is gone' in next(p.detail for p in heard if p.phase == 'searching')
    assert len(model.problems) == 1
    alone, _ = planned('hierarchy', Asked(fails), InstructStyle())
    assert (alone.error_code, alone.message) == (ErrorCode.BACKEND_FAILED, 'the server is gone')


def waits(text: str, cancelled: Cancelled) -> str:
    pause = threading.Event()
    while not cancelled():
        pause.wait(0.001)
    raise Canceled('generation was stopped', ErrorCode.PLANNING_CANCELED)


@pytest.mark.slow
def test_it_leaves_time_for_the_levels_behind_it() -> None:
    outcome, heard = planned('hierarchy, search', Asked(waits), InstructStyle(), seconds=8.0)
    assert [a.source for a in outcome.attempts] == ['search']
    [news] = [p.detail for p in heard if p.phase == 'searching']
    assert news.startswith('hierarchy: ')  # and where in its work its time was over


def test_cancelling_ends_it() -> None:
    stop = threading.Event()

    def cancels(text: str, cancelled: Cancelled) -> str:
        stop.set()
        return waits(text, cancelled)

    model = Asked(cancels)
    outcome, _ = planned(DEFAULT, model, InstructStyle(), cancelled=stop.is_set)
    assert outcome.error_code is ErrorCode.PLANNING_CANCELED
    assert len(model.problems) == 1


def test_a_task_without_a_plan_is_found_out_before_the_model_is_asked() -> None:
    goal = load_task("""(define (problem two) (:domain blocksworld) (:objects a b)
      (:init (arm-empty) (on-table a) (on-table b) (clear a) (clear b)) (:goal (on a b))
      (:constraints (always (not (holding a)))))""")
    model = Asked(lambda *_: pytest.fail('the model was asked'))
    outcome, _ = planned('model, hierarchy', model, InstructStyle(), goal)
    assert outcome.error_code is ErrorCode.UNSOLVABLE
    assert not outcome.attempts
