# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A model in this process under guidance: shielded answers, beams, answers that were begun."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import llm_small
import pytest

from safegen_ros.errors import BackendError, Canceled
from safegen_ros.llm import transformers_backend
from safegen_ros.llm.backend import Chooser, Guided, Sampling
from safegen_ros.llm.beam_result import Outcome
from safegen_ros.llm.guided import TransformersGuide
from safegen_ros.llm.transformers_backend import TransformersBackend
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.verdict import Category
from safegen_ros.verify.admissible import Shield
from safegen_ros.worlds.pddl3.prompts.step_text import spelling
from safegen_ros.worlds.pddl3.prompts.styles import PromptStyle, load_style
from safegen_ros.worlds.pddl3.task import load_task

THREE = load_task("""(define (problem three) (:domain blocksworld) (:objects a b c)
  (:init (arm-empty) (on-table a) (on-table b) (on-table c) (clear a) (clear b) (clear c))
  (:goal (and (on a b) (on c a)))
  (:constraints (always (not (on c b)))))""")
TWO = load_task("""(define (problem two) (:domain blocksworld) (:objects a b)
  (:init (arm-empty) (on-table a) (on-table b) (clear a) (clear b)) (:goal (on a b)))""")
DRAWN = Sampling(1.0, 1.0, 30)


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return llm_small.word_model(tmp_path_factory.mktemp('words'), seed=1)


@pytest.fixture(scope='module')
def backend(folder: Path) -> TransformersBackend:
    return TransformersBackend(folder, 'cpu')


@pytest.fixture(scope='module')
def style(folder: Path) -> PromptStyle:
    return load_style(folder)


def guided(backend: TransformersBackend, style: PromptStyle, problem: Problem) -> TransformersGuide:
    messages = style.messages(problem, [])
    return backend.guide(messages, Shield(problem), spelling(style, problem))


def test_only_a_model_in_this_process_is_guided(backend: TransformersBackend) -> None:
    assert isinstance(backend, Guided)
    assert not isinstance(backend, Chooser)


def test_shielded_answers_hold_no_step_that_is_not_admissible(
    backend: TransformersBackend, style: PromptStyle
) -> None:
    guide = guided(backend, style, TWO.problem)
    plans = [guide.shielded(replace(DRAWN, seed=seed)) for seed in range(8)]
    categories = {TWO.verify(plan).category for plan in plans}
    assert categories <= {Category.SUCCESS, Category.GOAL_NOT_SATISFIED}
    assert Category.SUCCESS in categories
    assert len(set(plans)) > 1
    assert guide.shielded(replace(DRAWN, seed=3)) == plans[3]
    plain = backend.generate(style.messages(TWO.problem, []), DRAWN).text
    assert not TWO.verify(style.plan_text(plain, TWO.problem)).ok  # the shield did it
    cut = guide.shielded(replace(DRAWN, seed=3, max_new_tokens=3))
    assert cut.steps == plans[3].steps[: len(cut)]
    assert len(cut) == 1


def test_beams_find_solutions_and_tell_why_not(
    backend: TransformersBackend, style: PromptStyle
) -> None:
    guide = guided(backend, style, THREE.problem)
    results = {width: guide.beam(width, 20.0) for width in (1, 2, 4)}
    assert [result.width for result in results.values()] == [1, 2, 4]
    found = [result.plan for result in results.values() if result.plan is not None]
    assert found
    assert all(THREE.verify(plan).ok for plan in found)
    for none_left in (0.0, -1.0):
        assert guide.beam(2, none_left).outcome is Outcome.TIME


def test_an_answer_goes_on_from_given_steps(
    backend: TransformersBackend, style: PromptStyle
) -> None:
    guide = guided(backend, style, THREE.problem)
    for text in ('(pickup c)', '(pickup a)(stack a b)(pickup c)(stack c a)'):
        kept = parse_plan(text)
        begun = style.answer(kept, THREE.problem)
        for seed in range(2):
            answer = guide.completed(kept, Sampling(1.0, 1.0, 4, seed))
            assert answer.startswith(f'{begun} ')
            assert len(answer) > len(begun) + 1
    assert guide.completed(Plan(), Sampling(0.0, 1.0, 3))


def test_what_the_tokens_stand_for_is_found_out_once(
    folder: Path, style: PromptStyle, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    for name in ('token_trie', 'tree_class'):
        original = getattr(transformers_backend, name)

        def counted(*given: object, original=original) -> object:
            made.append(original)
            return original(*given)

        monkeypatch.setattr(transformers_backend, name, counted)
    own = TransformersBackend(folder, 'cpu')
    for seed in range(2):
        guide = guided(own, style, THREE.problem)
        guide.shielded(Sampling(1.0, 1.0, 8, seed))
        guide.beam(1, 20.0)
    assert len(made) == len(set(made)) == 2


def test_guidance_can_be_cancelled(backend: TransformersBackend, style: PromptStyle) -> None:
    guide = guided(backend, style, THREE.problem)
    asked: list[int] = []

    def cancelled() -> bool:
        asked.append(0)
        return len(asked) > 4

    for call in (
        lambda: guide.shielded(DRAWN, cancelled),
        lambda: guide.completed(Plan(), DRAWN, cancelled),
        lambda: guide.beam(4, 20.0, cancelled),
    ):
        asked.clear()
        with pytest.raises(Canceled):
            call()
        assert len(asked) == 5
    with pytest.raises(BackendError, match='did not finish within'):
        guide.shielded(replace(DRAWN, time_limit_s=1e-6))


def test_several_threads_have_their_turns(backend: TransformersBackend, style: PromptStyle) -> None:
    alone = guided(backend, style, THREE.problem)
    expected = alone.shielded(DRAWN), alone.beam(2, 30.0).plan
    begin = threading.Barrier(4)

    def work(number: int) -> tuple[Plan, Plan | None]:
        guide = guided(backend, style, THREE.problem)
        begin.wait()
        return guide.shielded(DRAWN), guide.beam(2, 30.0).plan

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(work, range(4))) == {expected}


def test_what_the_model_cannot_be_asked_is_an_error(
    backend: TransformersBackend, style: PromptStyle
) -> None:
    own = spelling(style, THREE.problem)
    with pytest.raises(BackendError, match='prompt_style'):
        backend.guide([{'role': 'user', 'content': 'Stack them!'}], Shield(THREE.problem), own)
    long = [{'role': 'user', 'content': 'clear block1 ' * 300}]
    guide = backend.guide(long, Shield(THREE.problem), own)
    with pytest.raises(BackendError, match='context is 512'):
        guide.shielded(DRAWN)
    assert guide.beam(2, 20.0).outcome is Outcome.CONTEXT
