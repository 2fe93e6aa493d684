# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A model in this process under guidance: shielded answers, beams, answers that were begun."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support import llm_small
from support.blocks_small import THREE, TWO

from safegen_ros.errors import BackendError, Canceled
from safegen_ros.llm import local_model
from safegen_ros.llm.backend import ChoiceBackend, Refused, Sampling
from safegen_ros.llm.batching_backend import BatchingBackend
from safegen_ros.llm.decoding.guide import BeamOutcome, TokenBackend
from safegen_ros.llm.decoding.logits_processors import NotAgain, ways_out
from safegen_ros.llm.decoding.token_tree import TokenTree
from safegen_ros.llm.decoding.token_trie import TokenTrie
from safegen_ros.llm.transformers_backend import TransformersBackend, TransformersGuide
from safegen_ros.paths import data_path
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.planning.loop import Attempt, read_plan
from safegen_ros.tasks.pddl3.planning.proposer import refused_text
from safegen_ros.tasks.pddl3.prompts.styles import (
    InstructStyle,
    PromptStyle,
    WordStyle,
    plan_syntax,
)
from safegen_ros.verdict import Category
from safegen_ros.verify.admissible import Shield
from safegen_ros.verify.validator import verify

DRAWN = Sampling(1.0, 1.0, 30)
AMPLE_S = 3600.0


def guided(backend: TransformersBackend, style: PromptStyle, problem: Problem) -> TransformersGuide:
    messages = style.messages(problem, [])
    return backend.guide(messages, Shield(problem), plan_syntax(style, problem))


def test_only_a_model_in_this_process_is_guided(word_backend: TransformersBackend) -> None:
    assert isinstance(word_backend, TokenBackend)
    assert not isinstance(word_backend, ChoiceBackend)


def test_shielded_answers_hold_no_step_that_is_not_admissible(
    word_backend: TransformersBackend, word_style: PromptStyle
) -> None:
    guide = guided(word_backend, word_style, TWO.problem)
    plans = [guide.shielded(replace(DRAWN, seed=seed)) for seed in range(8)]
    categories = {TWO.verify(plan).category for plan in plans}
    assert categories <= {Category.SUCCESS, Category.GOAL_NOT_SATISFIED}
    assert Category.SUCCESS in categories
    assert len(set(plans)) > 1
    assert guide.shielded(replace(DRAWN, seed=3)) == plans[3]
    plain = word_backend.generate(word_style.messages(TWO.problem, []), DRAWN).text
    assert not TWO.verify(word_style.plan_text(plain, TWO.problem)).ok  # the shield did it
    cut = guide.shielded(replace(DRAWN, seed=3, max_new_tokens=3))
    assert cut.steps == plans[3].steps[: len(cut)]
    assert len(cut) == 1


def test_beams_find_solutions_and_tell_why_not(
    word_backend: TransformersBackend, word_style: PromptStyle
) -> None:
    guide = guided(word_backend, word_style, THREE.problem)
    results = {width: guide.beam(width, AMPLE_S) for width in (1, 2, 4)}
    assert [result.width for result in results.values()] == [1, 2, 4]
    found = [result.plan for result in results.values() if result.plan is not None]
    assert found
    assert all(THREE.verify(plan).ok for plan in found)
    for none_left in (0.0, -1.0):
        assert guide.beam(2, none_left).outcome is BeamOutcome.TIME


def test_an_answer_goes_on_from_given_steps(
    word_backend: TransformersBackend, word_style: PromptStyle
) -> None:
    guide = guided(word_backend, word_style, THREE.problem)
    for text in ('(pickup c)', '(pickup a)(stack a b)(pickup c)(stack c a)'):
        kept = parse_plan(text)
        begun = word_style.answer(kept, THREE.problem)
        for seed in range(2):
            answer = guide.completed(kept, Sampling(1.0, 1.0, 4, seed))
            assert answer.startswith(f'{begun} ')
            assert len(answer) > len(begun) + 1
    assert guide.completed(Plan(), Sampling(0.0, 1.0, 3))


def test_what_the_tokens_stand_for_is_found_out_once(
    word_folder: Path, word_style: PromptStyle, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    for name in ('token_trie', 'tree_class'):
        original = getattr(local_model, name)

        def counted(*given: object, original=original) -> object:
            made.append(original)
            return original(*given)

        monkeypatch.setattr(local_model, name, counted)
    own = TransformersBackend(word_folder, 'cpu')
    for seed in range(2):
        guide = guided(own, word_style, THREE.problem)
        guide.shielded(Sampling(1.0, 1.0, 8, seed))
        guide.beam(1, AMPLE_S)
    assert len(made) == len(set(made)) == 2


def test_guidance_can_be_cancelled(
    word_backend: TransformersBackend, word_style: PromptStyle
) -> None:
    guide = guided(word_backend, word_style, THREE.problem)
    asked: list[int] = []

    def cancelled() -> bool:
        asked.append(0)
        return len(asked) > 4

    for call in (
        lambda: guide.shielded(DRAWN, cancelled),
        lambda: guide.completed(Plan(), DRAWN, cancelled),
        lambda: guide.beam(4, AMPLE_S, cancelled),
    ):
        asked.clear()
        with pytest.raises(Canceled):
            call()
        assert len(asked) == 5
    with pytest.raises(BackendError, match='did not finish within'):
        guide.shielded(replace(DRAWN, time_limit_s=1e-6))


def test_what_the_model_cannot_be_asked_is_an_error(
    word_backend: TransformersBackend, word_style: PromptStyle
) -> None:
    own = plan_syntax(word_style, THREE.problem)
    with pytest.raises(BackendError, match='prompt_style'):
        word_backend.guide([{'role': 'user', 'content': 'Stack them!'}], Shield(THREE.problem), own)
    long = [{'role': 'user', 'content': 'clear block1 ' * 300}]
    guide = word_backend.guide(long, Shield(THREE.problem), own)
    with pytest.raises(BackendError, match='context is 512'):
        guide.shielded(DRAWN)
    assert guide.beam(2, AMPLE_S).outcome is BeamOutcome.CONTEXT


MESSAGES = WordStyle().messages(TWO.problem, [])
PIECES = {1: ')', 2: ')\n', 3: ' b2', 4: ' b21', 5: '2)', 6: '(go', 7: ' b2 ', 8: '\n', 9: '; ('}


@pytest.mark.parametrize('kind', [TransformersBackend, BatchingBackend])
def test_each_answer_begins_in_a_new_way(kind: type[TransformersBackend]) -> None:
    backend, refused = kind(data_path('models/safegen-mini'), 'cpu'), list[Refused]()
    for _ in range(6):
        answer = backend.generate(MESSAGES, Sampling(0.0, 1.0, 8, refused=tuple(refused))).text
        beginning = ' '.join(answer.split()[:3])
        assert beginning not in [each.text for each in refused]
        refused.append(Refused(beginning, whole=False))
    backend.close()


def test_a_text_ends_where_a_name_does() -> None:
    trie = TokenTrie(PIECES)
    assert trie.ending(')') == [1, 2]
    assert trie.ending(' b2') == [3, 7]
    assert trie.ending('2)') == [5]
    assert trie.ending('nothing') == []


@pytest.mark.parametrize(
    ('refused', 'written', 'kept_out'),
    [
        (Refused('(go b2)', whole=False), [6, 3], [1, 2]),
        (Refused('(go b2)', whole=False), [8, 6, 3], [1, 2]),
        (Refused('(go b2)', whole=False), [6], []),  # no token writes all that is left
        (Refused('(go b2)', whole=False), [6, 4], []),
        (Refused('(go b2)', whole=True), [6, 3], []),
        (Refused('(go b2)', whole=True), [6, 3, 1], [0]),
        (Refused('(go b2)', whole=True), [6, 3, 2], [0]),
        (Refused('(go b2)', whole=False), [9, 8, 6, 3], [1, 2]),
        (Refused('(go b2)', whole=False), [9, 6, 3], []),  # still a comment
        (Refused('(go b2)', whole=True), [9, 8, 6, 3, 2], [0]),
    ],
)
def test_only_the_token_that_completes_it_is_kept_out(
    refused: Refused, written: list[int], kept_out: list[int]
) -> None:
    def text(tokens: Sequence[int]) -> str:
        return ''.join(PIECES[token] for token in tokens)

    rule = NotAgain([refused], TokenTrie(PIECES), text, ends=[0])
    prompt = [6, 6]
    rule(torch.tensor([prompt]), torch.zeros(1, 10))
    scores = rule(torch.tensor([prompt + written]), torch.zeros(1, 10))
    assert torch.isinf(scores[0]).nonzero().flatten().tolist() == kept_out


LETTERS, DEPTH = 4, 3
WORDS = st.lists(st.integers(0, LETTERS - 1), min_size=1, max_size=DEPTH).map(tuple)


@given(st.sets(WORDS, min_size=1, max_size=6), st.sampled_from([0.6, 1.0, 1.7]))
def test_what_is_drawn_is_what_would_be_left_of_whole_texts(
    refused: set[tuple[int, ...]], heat: float
) -> None:
    """Texts of three tokens; a refused one stands for all that begin with it."""
    with torch.inference_mode():
        ways = ways_out(TokenTree(tiny_letters(), [0, 1, 2]), refused, heat)
    drawn, left = {}, {}
    rule = NotAgain([], TokenTrie(PIECES), str, [], ways, heat)
    rule(torch.tensor([[0]]), torch.zeros(1, LETTERS))
    alone = every_table(heat)
    for word in product(range(LETTERS), repeat=DEPTH):
        likely = held = 1.0
        for at, token in enumerate(word):
            scores = alone[word[:at]] * heat  # before they are divided by it
            told = rule(torch.tensor([[0, *word[:at]]]), scores[None].clone())[0]
            held *= float((told / heat).softmax(-1)[token]) if not torch.isinf(told).all() else 0.0
            likely *= float(alone[word[:at]].softmax(-1)[token])
        drawn[word] = held
        left[word] = 0.0 if any(word[: len(each)] == each for each in refused) else likely
    whole = sum(left.values())
    assert all(drawn[word] == pytest.approx(left[word] / whole, abs=1e-4) for word in left if whole)


@cache
def tiny_letters() -> Any:
    return llm_small.model(LETTERS)


@cache
def every_table(heat: float) -> dict[tuple[int, ...], torch.Tensor]:
    """The logarithms behind each beginning, at a temperature."""
    found = {}
    for size in range(DEPTH):
        for row in product(range(LETTERS), repeat=size):
            ids = torch.tensor([[0, 1, 2, *row]])
            with torch.inference_mode():
                found[row] = (tiny_letters()(input_ids=ids).logits[0, -1] / heat).log_softmax(-1)
    return found


def judged(text: str) -> Attempt:
    return Attempt(1, 'model', text, verify(TWO.problem, text), 0.0, read_plan(text))


@pytest.mark.parametrize(
    ('text', 'refused'),
    [
        ('(pickup a) (stack a c) (putdown a)', Refused('(pickup a)\n(stack a c)', whole=False)),
        ('(pickup a) (pickup b) (stack a b)', Refused('(pickup a)\n(pickup b)', whole=False)),
        ('(pickup a)', Refused('(pickup a)', whole=True)),
        ('no plan', Refused('no plan', whole=True)),
    ],
)
def test_a_step_that_is_to_blame_ends_what_is_refused(text: str, refused: Refused | None) -> None:
    assert refused_text(judged(text), InstructStyle(), TWO.problem) == refused


def test_it_is_refused_as_the_model_writes_it() -> None:
    found = refused_text(judged('(pickup a) (pickup b)'), WordStyle(), TWO.problem)
    assert found == Refused('pickup block1 pickup block2', whole=False)
