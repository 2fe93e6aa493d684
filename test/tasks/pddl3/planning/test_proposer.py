# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The levels with a real small model, the real shield and the real validator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from support.blocks_small import THREE, TWO
from support.scripted_answers import ScriptedAnswers

from safegen_ros.errors import ErrorCode
from safegen_ros.llm.backend import Backend, Completion, Message, Sampling
from safegen_ros.llm.decoding.guide import BeamOutcome as Ended
from safegen_ros.llm.decoding.guide import BeamResult
from safegen_ros.llm.transformers_backend import TransformersBackend
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.planning.loop import Outcome, Progress, plan_with_levels
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.planning.proposer import ModelProposer, Temperatures
from safegen_ros.tasks.pddl3.planning.strategy import levels_of
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle, PromptStyle
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_task
from safegen_ros.verdict import Category

pytestmark = pytest.mark.slow  # a model plans

SAMPLING = Sampling(1.0, 1.0, 30, seed=1)
TIME_S = 1200.0


class Scripted(ScriptedAnswers):
    """Remembers the sampling of whole draws, too."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__(*texts)
        self.drawn: list[Sampling] = []

    def generate(self, messages: Any, sampling: Sampling, *more: Any, **named: Any) -> Completion:
        self.drawn.append(sampling)
        return super().generate(messages, sampling, *more, **named)

    def samples(self, messages: Any, count: int, sampling: Sampling, *more: Any) -> Any:
        self.drawn.append(sampling)
        yield from super().samples(messages, count, sampling, *more)


def planned(
    strategy: str,
    backend: Backend,
    style: PromptStyle,
    task: Pddl3Task = THREE,
    attempts: int = 2,
    **more: Any,
) -> tuple[Outcome, list[Progress]]:
    heard: list[Progress] = []
    model = ModelProposer(task.problem, backend, style, SAMPLING, **more)
    levels = levels_of(
        strategy,
        model,
        lambda left, stop: solve(task.problem, time_limit_s=left, cancelled=stop).plan,
        attempts,
    )
    return plan_with_levels(levels, task.verify, TIME_S, notify=heard.append), heard


def test_an_untrained_model_fails_alone_and_the_beam_answers(
    word_backend: TransformersBackend, word_style: PromptStyle
) -> None:
    outcome, heard = planned('model, best of 3, beam, search', word_backend, word_style)
    sources = [attempt.source for attempt in outcome.attempts]
    assert sources[:5] == ['model', 'model', *['best of 3'] * 3]
    assert len(sources) == 6
    assert sources[5].startswith('beam ')
    assert outcome.plan is not None
    assert THREE.verify(outcome.plan).ok
    again, _ = planned('model, best of 3, beam, search', word_backend, word_style)
    assert [a.text for a in again.attempts] == [a.text for a in outcome.attempts]
    assert heard[-1].source == sources[5]


def test_a_shielded_attempt_is_never_unsafe(
    word_backend: TransformersBackend, word_style: PromptStyle
) -> None:
    strategy = ', '.join(['model', *['shield'] * 9])  # the first of them get stuck
    outcome, _ = planned(strategy, word_backend, word_style, TWO, attempts=1)
    assert [a.source for a in outcome.attempts[:2]] == ['model', 'shield']
    allowed = {Category.SUCCESS, Category.GOAL_NOT_SATISFIED}
    assert {a.verdict.category for a in outcome.attempts[1:]} <= allowed
    assert outcome.plan is not None


def test_a_refused_plan_is_gone_on_with_from_its_valid_beginning(
    word_backend: TransformersBackend, word_style: PromptStyle
) -> None:
    class Begins(Scripted):
        """Writes the first answer itself, and lets the model do the rest."""

        guide, writer = word_backend.guide, word_backend.writer

    begun = word_style.answer(parse_plan('(pickup c)(putdown a)'), THREE.problem)
    outcome, heard = planned('repair, model, repair', Begins([begun]), word_style, attempts=1)
    assert [a.source for a in outcome.attempts] == ['model', 'repair']
    assert outcome.attempts[1].text != outcome.attempts[0].text
    first = outcome.attempts[1]
    if first.plan.steps:
        assert str(first.plan.steps[0]) == '(pickup c)'
    else:  # what the model added is not a plan; its own words were left
        assert first.text.startswith(word_style.answer(parse_plan('(pickup c)'), THREE.problem))
    assert 'repair: no plan was refused whose beginning' in heard[1].detail


def test_the_samples_end_at_the_first_that_is_proved() -> None:
    good = str(solve(THREE.problem).plan)
    model = Scripted(['(pickup a)', good, 'never drawn'])
    outcome, _ = planned('best of 3', model, InstructStyle())
    assert [a.verdict.ok for a in outcome.attempts] == [False, True]
    assert model.answers == ['never drawn']


@pytest.mark.parametrize(
    ('feedback', 'shown', 'hidden'),
    [
        ('binary', ['was not proved safe'], ['precondition', 'holding']),
        ('category', ['precondition does not hold'], ['holding']),
        ('diagnosis', ['precondition does not hold', 'holding'], []),
    ],
)
def test_a_retry_is_told_as_much_as_it_should(
    feedback: str, shown: list[str], hidden: list[str]
) -> None:
    model = Scripted(['(stack a b)', '(pickup a)'])
    planned('model', model, InstructStyle(), feedback=feedback)
    told = model.asked[1][0][-1]['content']
    assert all(text in told for text in shown)
    assert not any(text in told for text in hidden)
    assert model.asked[1][0][-2]['content'] == '(stack a b)'


def test_attempts_grow_hotter_and_a_repeated_one_is_shown_once() -> None:
    model = Scripted(['(pickup a)', '(pickup a)', 'x', 'y', 'z'])
    rising = Temperatures(SAMPLING.temperature, 0.1, 1.35)
    planned('model', model, InstructStyle(), attempts=5, temperatures=rising)
    assert [s.seed for s in model.drawn] == [1, 2, 3, 4, 5]
    assert [s.temperature for s in model.drawn] == pytest.approx([1.0, 1.1, 1.3, 1.35, 1.35])
    shown = [[m['content'] for m in asked].count('(pickup a)') for asked, _ in model.asked]
    assert shown == [0, 1, 1, 1, 1]
    plain = Scripted(['a', 'b'])
    planned('model', plain, InstructStyle())
    assert {s.temperature for s in plain.drawn} == {1.0}


def test_an_answer_leaves_time_to_the_next_planner() -> None:
    model = Scripted(['x', 'y'])
    planned('model, search', model, InstructStyle())
    assert all(0.4 * TIME_S < s.time_limit_s <= 0.5 * TIME_S for s in model.drawn)
    alone = Scripted(['x', 'y'])
    planned('model', alone, InstructStyle())
    assert [s.time_limit_s for s in alone.drawn] == [0.0, 0.0]


def test_levels_that_a_model_cannot_do_are_passed_over() -> None:
    model = Scripted(['(pickup a)'])
    strategy = 'model, repair, shield, beam 2, search'
    outcome, heard = planned(strategy, model, InstructStyle(), attempts=1)
    assert [a.source for a in outcome.attempts] == ['model', 'search']
    why = [p.detail for p in heard if 'whole texts only' in p.detail]
    assert [text.split(':')[0] for text in why] == ['repair', 'shield', 'beam 2']
    nothing, told = planned('shield, beam, search', Scripted([]), InstructStyle(), attempts=1)
    assert [p.source for p in told if p.phase == 'generating'] == ['shield', 'beam']
    nothing, _ = planned('shield, beam', Scripted([]), InstructStyle())
    assert (nothing.attempts, nothing.plan) == ((), None)
    assert nothing.error_code is ErrorCode.BACKEND_FAILED
    assert 'load it from its folder' in nothing.message


@pytest.mark.parametrize('level', ['model', 'best of 3'])
def test_a_prompt_that_is_too_long_goes_to_the_next_level(
    word_backend: TransformersBackend, level: str
) -> None:
    class Wordy(InstructStyle):
        def messages(self, *_: Any) -> list[Message]:
            return [{'role': 'user', 'content': 'clear block1 ' * 300}]

    outcome, heard = planned(f'{level}, search', word_backend, Wordy())
    assert [a.source for a in outcome.attempts] == ['search']
    assert 'the context is 512' in heard[1].detail


def test_a_task_that_cannot_be_put_to_the_model(
    word_backend: TransformersBackend, word_style: PromptStyle
) -> None:
    strange = load_task(
        '(define (problem p) (:domain zoo) (:objects rex) (:init (asleep rex)) '
        '(:goal (not (asleep rex))))',
        '(define (domain zoo) (:predicates (asleep ?x)) (:action wake :parameters (?x) '
        ':precondition (asleep ?x) :effect (not (asleep ?x))))',
    )
    outcome, heard = planned(
        'model, shield, beam, hierarchy, search', word_backend, word_style, strange
    )
    assert [a.source for a in outcome.attempts] == ['search']
    assert outcome.plan is not None
    assert [p.source for p in heard if p.phase != 'judged'] == ['model', 'search', 'search']
    assert heard[1].detail.startswith('model: problem p: this model does not know')
    only, _ = planned('hierarchy', word_backend, word_style, strange)
    assert only.error_code is ErrorCode.UNSUPPORTED_FEATURE


def test_a_beam_leaves_time_for_the_levels_behind_it() -> None:
    limits: list[float] = []

    class Slow(Scripted):
        def guide(self, *_: Any) -> Slow:
            return self

        def writer(self) -> None:
            raise NotImplementedError

        def beam(self, width: int, time_limit_s: float, *_: Any, **more: Any) -> BeamResult:
            limits.append(time_limit_s)
            return BeamResult(width, False, Ended.TIME, None, 0.0, 0, time_limit_s)

    outcome, _ = planned('beam', Slow([]), InstructStyle())
    *before, last = limits
    assert len(before) == 3
    assert all(TIME_S / 3 < limit <= TIME_S / 2 for limit in before)
    assert TIME_S * 2 / 3 < last <= TIME_S  # behind which there is none
    assert outcome.error_code is ErrorCode.ATTEMPTS_EXHAUSTED
    assert 'beam 8, backtracking 8: no plan was found: the time was up' in outcome.message
