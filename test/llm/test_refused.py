# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A model does not write again what was refused."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from support.blocks_small import TWO

from safegen_ros.llm.backend import Refused, Sampling
from safegen_ros.llm.batching_backend import BatchingBackend
from safegen_ros.llm.decoding.logits_processors import NotAgain
from safegen_ros.llm.decoding.token_trie import TokenTrie
from safegen_ros.llm.transformers_backend import TransformersBackend
from safegen_ros.paths import data_path
from safegen_ros.planning.loop import Attempt, read_plan
from safegen_ros.tasks.pddl3.planning.proposer import refused_text
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle, WordStyle
from safegen_ros.verify.validator import verify

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
