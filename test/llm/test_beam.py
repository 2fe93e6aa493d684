# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The beam finds solutions only, follows the model's probabilities, and keeps its limits."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support import llm_small, strategies

from safegen_ros.errors import Canceled, ErrorCode
from safegen_ros.llm.decoding import beam
from safegen_ros.llm.decoding.beam import StepBeam
from safegen_ros.llm.decoding.guide import BeamOutcome, BeamResult
from safegen_ros.llm.decoding.token_tree import CachedTokenTree, TokenTree
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.tasks.pddl3.prompts.styles import plan_syntax
from safegen_ros.verify.admissible import Shield
from safegen_ros.verify.validator import Validator

PAIRS = (('words', 'words'), ('words', 'bytes'), ('instruct', 'bytes'), ('instruct', 'blanks'))
AMPLE_S = 3600.0
"""What no search takes, however slow the machine: what is found depends on nothing else."""
FAST = {'tree': CachedTokenTree}  # the choice of it is tested elsewhere


def searched(problem: Problem, style: str, kind: str, seed: int = 0, **options: Any) -> StepBeam:
    tokenizer = llm_small.tokenizer(kind)
    chosen: dict[str, Any] = {'context': 2048, 'max_steps': 12, **FAST, **options}
    return StepBeam(
        llm_small.model(len(tokenizer), seed),
        tokenizer,
        llm_small.prompt(tokenizer, problem),
        Shield(problem),
        plan_syntax(llm_small.style(style), problem),
        [tokenizer.eos_token_id],
        **chosen,
    )


def probability(problem: Problem, plan: Plan, style: str, kind: str, seed: int = 0) -> float:
    """Logarithm of the probability that the model answers with a plan, computed at once."""
    tokenizer = llm_small.tokenizer(kind)
    prompt = llm_small.prompt(tokenizer, problem)
    text = llm_small.style(style).answer(plan, problem)
    answer = [*tokenizer(text, add_special_tokens=False)['input_ids'], tokenizer.eos_token_id]
    with torch.inference_mode():
        model = llm_small.model(len(tokenizer), seed)
        table = model(torch.tensor([prompt + answer])).logits[0].log_softmax(-1)
    return sum(float(table[len(prompt) - 1 + place, t]) for place, t in enumerate(answer))


def trap(count: int) -> Problem:
    """One lamp has to be lit; to smash another one first, which nothing mends, is of no use."""
    names = ' '.join(f'l{number + 1}' for number in range(count))
    return llm_small.lamps('(and (lit l1) (lit l2) (lit l3))', '(always (not (broken l1)))', names)


@strategies.examples(15)
@given(strategies.SEEDS, st.sampled_from(PAIRS), st.sampled_from([1, 3]), st.booleans())
def test_what_is_found_is_a_solution_with_the_probability_that_the_model_gives_it(
    seed: int, pair: tuple[str, str], width: int, backtrack: bool
) -> None:
    rng = random.Random(seed)
    problem = strategies.generated(rng) if seed % 3 == 0 else trap(rng.randint(3, 5))
    network = seed % 5
    result = searched(problem, *pair, seed=network).search(width, 20.0, backtrack=backtrack)
    assert (result.plan is None) == (result.outcome is not BeamOutcome.FOUND)
    if result.plan is None:
        assert result.score == 0
        return
    assert Validator(problem).verify(result.plan).ok
    expected = probability(problem, result.plan, *pair, network)
    assert result.score == pytest.approx(expected, rel=1e-4, abs=1e-3)
    shield = Shield(problem)
    situation, seen = shield.start, {shield.start}
    for step in result.plan.steps:
        situation = shield.steps(situation)[step]
        assert situation not in seen
        seen.add(situation)


def problems(count: int) -> list[Problem]:
    rng = random.Random(8)
    return [strategies.generated(rng) for _ in range(count)]


def widened(search: StepBeam, widths: tuple[int, ...]) -> list[BeamResult]:
    """What wider and wider beams find, the last one also with leave to go back."""
    tries: list[BeamResult] = []
    for width, backtrack in (*((width, False) for width in widths), (widths[-1], True)):
        tries.append(search.search(width, AMPLE_S, backtrack=backtrack))
        if tries[-1].outcome is BeamOutcome.FOUND:
            break
    return tries


@pytest.mark.parametrize(
    'pair', [PAIRS[0], *(pytest.param(pair, marks=pytest.mark.nightly) for pair in PAIRS[1:])]
)
def test_the_cache_changes_nothing(pair: tuple[str, str]) -> None:
    found = 0
    for problem in (*problems(2), llm_small.lamps(), trap(3)):
        fast, plain = (
            widened(searched(problem, *pair, max_steps=7, tree=tree), (1, 3))
            for tree in (CachedTokenTree, TokenTree)
        )
        for one, other in zip(fast, plain, strict=True):
            assert (one.outcome, one.plan, one.scored) == (other.outcome, other.plan, other.scored)
            assert one.score == pytest.approx(other.score, abs=1e-2)
        found += fast[-1].plan is not None
    assert found


def test_steps_are_left_out_only_where_they_cannot_be_among_the_best(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    saved = 0
    for seed in range(6):
        results = []
        for at_once in (10**6, 2):
            monkeypatch.setattr(beam, '_AT_ONCE', at_once)
            results.append(searched(trap(6), 'words', 'words', seed).search(2))
        whole, bounded = results
        assert (whole.plan, whole.outcome) == (bounded.plan, bounded.outcome)
        assert whole.score == pytest.approx(bounded.score, abs=1e-3)
        saved += whole.scored - bounded.scored
    assert saved > 0


@pytest.mark.nightly
def test_wider_beams_find_what_others_miss() -> None:
    levels = set()
    for problem in problems(16):
        last = widened(searched(problem, 'words', 'words', max_steps=40), (1, 2, 4, 8))[-1]
        if last.plan is not None:
            assert Validator(problem).verify(last.plan).ok
            levels.add((last.width, last.backtracking))
    assert len(levels) > 2


def test_a_search_that_goes_back_ends_after_so_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = llm_small.lamps('(and (lit l1) (broken l1))')
    whole = searched(problem, 'words', 'words').search(1, backtrack=True)
    assert whole.outcome is BeamOutcome.EXHAUSTED
    monkeypatch.setattr(beam, 'MOST_SCORED', whole.scored - 1)
    cut = searched(problem, 'words', 'words').search(1, backtrack=True)
    assert (cut.outcome, cut.plan) == (BeamOutcome.EFFORT, None)


def test_plans_that_were_left_are_taken_up_again() -> None:
    problem, taken = trap(4), 0
    for seed in range(6):
        search = searched(problem, 'words', 'words', seed, max_steps=6)
        again = search.search(1, backtrack=True)
        assert again.outcome is BeamOutcome.FOUND
        assert again.plan is not None
        assert Validator(problem).verify(again.plan).ok
        taken += search.search(1).plan is None
    assert taken


def test_a_solved_problem_needs_no_step() -> None:
    problem = llm_small.lamps('(lit l1)')
    result = searched(problem, 'words', 'words').search(2)
    assert (result.plan, result.scored) == (Plan(), 0)
    assert result.score == pytest.approx(probability(problem, Plan(), 'words', 'words'), abs=1e-3)


@pytest.mark.parametrize(
    ('problem', 'options', 'outcome'),
    [
        (llm_small.lamps('(and (lit l1) (broken l1))'), {}, BeamOutcome.EXHAUSTED),
        (
            llm_small.lamps('(lit l2)', '(within 1 (and (lit l2) (lit l11)))'),
            {},
            BeamOutcome.EXHAUSTED,
        ),
        (llm_small.lamps(), {'max_steps': 1}, BeamOutcome.STEPS),
        (llm_small.lamps(), {'context': 8}, BeamOutcome.CONTEXT),
    ],
    ids=['unsolvable', 'stuck', 'too-long', 'no-room'],
)
@pytest.mark.parametrize('backtrack', [False, True])
def test_why_there_is_no_plan(
    problem: Problem, options: dict[str, Any], outcome: BeamOutcome, backtrack: bool
) -> None:
    search = searched(problem, 'words', 'words', **{'max_steps': 50, **options})
    result = search.search(2, backtrack=backtrack)
    assert (result.outcome, result.plan) == (outcome, None)


def test_the_time_is_kept() -> None:
    search = searched(trap(3), 'words', 'words')
    assert search.search(2, 0.0).outcome is BeamOutcome.TIME
    assert search.search(2).outcome is BeamOutcome.FOUND  # nothing of it was lost


@pytest.mark.parametrize('after', [0, 1, 5])
def test_a_search_can_be_cancelled(after: int) -> None:
    asked = 0

    def cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked > after

    search = searched(llm_small.lamps('(and (lit l1) (broken l1))'), 'words', 'words')
    with pytest.raises(Canceled) as error:
        search.search(1, AMPLE_S, cancelled, backtrack=True)
    assert error.value.code is ErrorCode.PLANNING_CANCELED
    assert asked == after + 1
