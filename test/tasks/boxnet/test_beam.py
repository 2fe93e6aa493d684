# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Small models held to words: they write and search nothing but proved plans; scores are theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest
from support.boxnet_planner import HeldPlanner, ScriptedPlanner, untrained_boxnet

from safegen_ros.datasets.boxnet.draw import tasks
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Message, Sampling, never
from safegen_ros.llm.transformers_backend import TransformersBackend
from safegen_ros.paths import data_path
from safegen_ros.tasks.boxnet import beam
from safegen_ros.tasks.boxnet.beam import MoveBeam
from safegen_ros.tasks.boxnet.decoding_mask import MoveMask
from safegen_ros.tasks.boxnet.model import State
from safegen_ros.tasks.boxnet.planner import BEAM, FULL, HELD, NEXT, PlannerOptions, plan_with_model
from safegen_ros.tasks.boxnet.prompts import EXAMPLE, style_of
from safegen_ros.tasks.boxnet.rule_planner import steady_plan
from safegen_ros.tasks.boxnet.verifier import judge
from safegen_ros.tasks.boxnet.words import WHOLE, answer_words, map_words

MODEL = data_path('models/safegen-boxnet-mini')
PLAN = steady_plan(EXAMPLE, EXAMPLE.start)


@pytest.fixture(scope='module')
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TransformersBackend]:
    """The network before training."""
    folder = untrained_boxnet(tmp_path_factory.mktemp('models'))
    with closing(TransformersBackend(folder)) as found:
        yield found


def asked(state: State) -> list[Message]:
    return [{'role': 'user', 'content': str(state)}]


def test_a_greedy_search_follows_the_model() -> None:
    assert PLAN is not None
    said = ' '.join(answer_words(EXAMPLE, EXAMPLE.start, PLAN))
    known = HeldPlanner(lambda messages, sampling: said)
    beam = MoveBeam(MoveMask(EXAMPLE), known.scores, asked, whole=True, most_steps=20)
    found = beam.search(1, never)
    assert found is not None
    assert [set(step) for step in found] == [set(step) for step in PLAN]


@pytest.mark.parametrize('whole', [True, False])
def test_a_search_without_a_guess_finds_plans_or_none(whole: bool) -> None:
    def even(
        messages: object, written: object, choices: Sequence[object], cancelled: object
    ) -> tuple[list[float], float]:
        return [-1.0] * len(choices), -1.0

    task = next(tasks((2, 2), 1, 'beam'))
    found = MoveBeam(MoveMask(task), even, asked, whole=whole, most_steps=9).search(60, never)
    assert found is not None
    judged = judge(task, found)
    assert judged.verdict.ok
    assert len(set(judged.states)) == len(judged.states)
    short = MoveBeam(MoveMask(task), even, asked, whole=whole, most_steps=1)
    assert short.search(60, never) is None


@pytest.mark.slow
def test_scores_are_those_of_the_model() -> None:
    import torch

    assert PLAN is not None
    backend = TransformersBackend(MODEL)
    said = answer_words(EXAMPLE, EXAMPLE.start, PLAN)
    messages: list[Message] = [
        {'role': 'user', 'content': ' '.join(map_words(EXAMPLE, EXAMPLE.start, WHOLE))}
    ]
    choices = [said[7:14], said[7:13], ['then'], ['unheard', 'of']]
    scores, end = backend.writer().scores(messages, said[:7], choices)
    for words, score in zip(choices[:3], scores[:3], strict=True):
        text = [*backend.prompt(messages), *backend.tokens(' '.join(said[:7]))]
        ids = backend.tokens(' '.join(words))
        with torch.inference_mode():
            table = backend.model(input_ids=torch.tensor([text + ids])).logits[0].log_softmax(-1)
        wanted = sum(float(table[len(text) - 1 + at, token]) for at, token in enumerate(ids))
        assert score == pytest.approx(wanted, abs=1e-3)
    assert scores[3] == float('-inf')
    assert end < 0


@pytest.mark.slow
@pytest.mark.parametrize('mode', [pytest.param(FULL, marks=pytest.mark.nightly), NEXT])
def test_whatever_a_model_is_what_it_may_say_is_safe(
    backend: TransformersBackend, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beam, 'MOST_SCORED', 150)
    style = style_of(str(MODEL))
    options = PlannerOptions(mode, HELD, most_steps=4)
    run = plan_with_model(EXAMPLE, backend, Sampling(1.0, max_new_tokens=60), options, style=style)
    states = run.judged.states
    assert run.judged.finding.value in ('ok', 'incomplete', 'unparseable')
    assert len(set(states)) == len(states)
    again = plan_with_model(EXAMPLE, backend, Sampling(), PlannerOptions(mode, BEAM), style=style)
    assert again.judged.finding.value in ('ok', 'incomplete')
    assert all(attempt.source.startswith(BEAM) for attempt in again.attempts)


def test_a_model_without_words_cannot_be_held() -> None:
    planner = ScriptedPlanner(lambda messages, sampling: '')
    for shield in (HELD, BEAM):
        with pytest.raises(SafegenError, match='cannot be held to words') as caught:
            plan_with_model(EXAMPLE, planner, Sampling(), PlannerOptions(FULL, shield))
        assert caught.value.code is ErrorCode.UNSUPPORTED_FEATURE
