# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Step by step, a remote model is offered just what is admissible."""

from __future__ import annotations

import random

import llm_small
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import SUITE

from safegen_ros.errors import BackendError
from safegen_ros.llm.choices import END, StepChoices
from safegen_ros.llm.shield import Ending
from safegen_ros.llm.spelling import Spelling
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.verify.admissible import Shield
from safegen_ros.verify.validator import Validator
from safegen_ros.worlds.pddl3.prompts.step_text import spelling
from safegen_ros.worlds.pddl3.prompts.styles import InstructStyle


@settings(SUITE, max_examples=100)
@given(strategies.SEEDS, st.booleans(), st.booleans())
def test_whatever_is_chosen_the_plan_is_safe(seed: int, go_on: bool, avoid_visited: bool) -> None:
    rng = random.Random(seed)
    problem = strategies.toggles(rng) if seed % 2 else strategies.generated(rng)
    own = spelling(InstructStyle(), problem)
    choices = StepChoices(Shield(problem), own, go_on=go_on, avoid_visited=avoid_visited)
    shield = Shield(problem)
    situation, seen, answer = shield.start, {shield.start}, ''
    for _ in range(8):
        steps, finished = shield.steps(situation), shield.finished(situation)
        if choices.ending is not Ending.CUT:
            break
        fresh = {s: a for s, a in steps.items() if a not in seen} if avoid_visited else steps
        expected = {str(s) for s in fresh or ({} if finished else steps)}
        assert {*choices.offered} == expected | ({END} if finished else set())
        answer = rng.choice(choices.offered)
        choices.take(f' {answer}\n')
        if answer != END:
            situation = steps[parse_plan(answer).steps[0]]
            seen.add(situation)
        assert choices.situation == situation
    assert InstructStyle().plan_text(choices.text, problem) == str(choices.plan)
    verdict = Validator(problem).verify(choices.plan)
    if choices.ending is Ending.FINISHED:
        assert verdict.ok
        assert go_on == (answer == END)
    elif choices.ending is Ending.STUCK:
        assert not verdict.ok
        assert not shield.steps(situation)
    else:
        assert choices.offered
    assert bool(choices.offered) == (choices.ending is Ending.CUT)


@pytest.mark.parametrize('answer', ['', '(off l2)', '(on l2) (on l11)', 'I would turn on l2.', END])
def test_an_answer_that_was_not_offered_changes_nothing(answer: str) -> None:
    problem = llm_small.lamps()
    choices = StepChoices(Shield(problem), spelling(InstructStyle(), problem))
    choices.take('(on l2)')
    before = choices.offered
    choices.take('(on l11)')
    choices = StepChoices(Shield(problem), spelling(InstructStyle(), problem))
    with pytest.raises(BackendError, match='ask again'):
        choices.take(answer)
    assert (choices.text, choices.ending) == ('', Ending.CUT)
    choices.take('(on l2)')
    assert choices.offered == before


def test_a_solution_ends_the_plan() -> None:
    problem = llm_small.lamps()
    choices = StepChoices(Shield(problem), spelling(llm_small.style('words'), problem))
    for text in ('off object1', 'on object2'):
        assert text in choices.offered
        assert END not in choices.offered
        choices.take(text)
    assert choices.ending is Ending.FINISHED
    assert str(choices.plan) == '(off l1)\n(on l11)'
    assert choices.text == 'off object1 on object2'


def test_a_dead_end_is_told_and_no_step_offered() -> None:
    problem = llm_small.lamps('(lit l2)', '(within 1 (and (lit l2) (lit l11)))')
    choices = StepChoices(Shield(problem), Spelling(str, '\n'))
    assert choices.ending is Ending.STUCK
    assert choices.offered == ()
