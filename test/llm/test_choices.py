# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Step by step, a remote model is offered just what is admissible."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial

import pytest
from hypothesis import given
from support import llm_small, strategies
from support.model_server import MODEL, ModelServer

from safegen_ros.errors import BackendError
from safegen_ros.llm.backend import (
    Cancelled,
    ChoiceUnsupported,
    Completion,
    Message,
    Sampling,
    Unsupported,
    never,
)
from safegen_ros.llm.decoding import choices as choices_module
from safegen_ros.llm.decoding.choices import ChoiceGuide
from safegen_ros.llm.openai_backend import OpenAIBackend
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle, next_step, plan_syntax
from safegen_ros.verdict import Category
from safegen_ros.verify.admissible import Shield
from safegen_ros.verify.validator import Validator


class Chat:
    """A server that takes the last choice that it is offered, or answers what it is told to."""

    def __init__(self, answers: Sequence[str] = (), held: bool = True) -> None:
        self.answers = list(answers)
        self.held = held
        self.asked: list[tuple[str, int]] = []

    def choose(
        self,
        messages: Sequence[Message],
        choices: Sequence[str],
        sampling: Sampling,
        cancelled: Cancelled = never,
    ) -> Completion:
        self.asked.append(('choose', len(choices)))
        if not self.held:
            raise ChoiceUnsupported('no choices here')
        return Completion(choices[-1], 1, 1, 0.0, 'stop')

    def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        cancelled: Cancelled = never,
        on_text: Callable[[str], None] | None = None,
    ) -> Completion:
        self.asked.append(('generate', sampling.seed))
        return Completion(self.answers.pop(0), 1, 1, 0.0, 'stop')

    generate_batch = samples = close = None


def by_steps(model: Chat, problem: Problem) -> ChoiceGuide:
    style = InstructStyle()
    ask = partial(next_step, style, style.messages(problem, []))
    return ChoiceGuide(model, ask, Shield(problem), plan_syntax(style, problem))


class Chance(Chat):
    """A server that takes any choice."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__()
        self._rng = rng
        self.offered: list[set[str]] = []

    def choose(
        self,
        messages: Sequence[Message],
        choices: Sequence[str],
        sampling: Sampling,
        cancelled: Cancelled = never,
    ) -> Completion:
        self.offered.append({*choices})
        return Completion(f' {self._rng.choice(choices)}\n', 1, 1, 0.0, 'stop')


@strategies.examples(100)
@given(strategies.SEEDS)
def test_whatever_is_chosen_the_plan_is_safe(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.toggles(rng) if seed % 2 else strategies.generated(rng)
    model, shield = Chance(rng), Shield(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choices_module, 'MAX_STEPS', 8)
        plan = by_steps(model, problem).shielded(Sampling())
    situation, seen = shield.start, {shield.start}
    for step in plan.steps:
        steps = shield.steps(situation)
        offered = {str(each) for each, after in steps.items() if after not in seen}
        assert len(offered) == 1 or model.offered.pop(0) == offered
        assert str(step) in offered
        situation = steps[step]
        seen.add(situation)
    if len(plan) < 8 and not Validator(problem).verify(plan).ok:  # a dead end
        assert not {*shield.steps(situation).values()} - seen


@pytest.mark.parametrize('answer', ['', '(off l2)', '(on l2) (on l11)', 'I would turn on l2.'])
def test_an_answer_that_was_not_offered_is_no_step(answer: str) -> None:
    model = Chat()
    model.choose = lambda *asked: Completion(answer, 1, 1, 0.0, 'stop')  # type: ignore[method-assign]
    with pytest.raises(BackendError, match='ask again'):
        by_steps(model, llm_small.lamps()).shielded(Sampling())


def test_a_dead_end_ends_the_plan_and_asks_nothing() -> None:
    problem, model = llm_small.lamps('(lit l2)', '(within 1 (and (lit l2) (lit l11)))'), Chat()
    assert len(by_steps(model, problem).shielded(Sampling())) == 0
    assert model.asked == []


def test_a_server_that_keeps_to_choices_is_asked_for_one_step_after_the_other() -> None:
    model, problem = Chat(), llm_small.lamps()
    plan = by_steps(model, problem).shielded(Sampling())
    shield = Shield(problem)
    situation = shield.start
    for step in plan.steps:
        situation = shield.steps(situation)[step]
    assert [kind for kind, _ in model.asked] == ['choose'] * len(plan)


def test_what_a_server_answers_plainly_counts_only_where_it_was_offered() -> None:
    problem = llm_small.lamps()
    model = Chat(['Gladly!', ' (on l11)\n', '(smash l2', '(on l1)(on l2)', '(off l1)'], held=False)
    assert str(by_steps(model, problem).shielded(Sampling(seed=4))) == '(on l11)\n(off l1)'
    assert [kind for kind, _ in model.asked] == ['choose', *['generate'] * 5]
    assert [seed for kind, seed in model.asked if kind == 'generate'] == [4, 5, 4, 5, 6]
    stubborn = Chat(['no'] * 4, held=False)
    with pytest.raises(Unsupported, match="answered 'no'"):
        by_steps(stubborn, problem).shielded(Sampling())
    assert len(stubborn.answers) == 1


def test_the_question_for_a_step_names_the_plan_so_far_and_the_choices() -> None:
    problem, style = llm_small.lamps(), InstructStyle()
    [question] = style.messages(problem, [])
    [first] = next_step(style, [question], '', ['(on l1)', '(on l2)'])
    assert first['content'].startswith(question['content'])
    assert first['content'].endswith('(on l1)\n(on l2)')
    later = next_step(style, [question], '(on l1)', ['(on l2)'])
    assert [m['role'] for m in later] == ['user', 'assistant', 'user']
    assert later[1]['content'] == '(on l1)'
    with pytest.raises(Unsupported, match='single steps'):
        next_step(llm_small.style('words'), [question], '', ['on object1'])


def test_what_a_server_cannot_do_is_told() -> None:
    guide = by_steps(Chat(), llm_small.lamps())
    with pytest.raises(Unsupported, match='from its folder'):
        guide.beam(2, 1.0)
    with pytest.raises(Unsupported, match='from its folder'):
        guide.completed(parse_plan('(on l2)'), Sampling())


@pytest.mark.parametrize('refused', [(), ('structured_outputs', 'grammar')], ids=['held', 'plain'])
def test_over_the_protocol_of_a_server(refused: tuple[str, ...]) -> None:
    problem = llm_small.lamps()
    with ModelServer(refuse=refused) as server, closing(OpenAIBackend(server.url, MODEL)) as model:
        guide = by_steps(model, problem)
        if refused:  # it answers in words that are no step
            with pytest.raises(Unsupported, match='cannot be held'):
                guide.shielded(Sampling(1.0, seed=2))
            return
        plan = guide.shielded(Sampling(1.0, seed=2))
        assert Validator(problem).verify(plan).category >= Category.GOAL_NOT_SATISFIED
        assert len(plan) >= len(server.requests) > 0
