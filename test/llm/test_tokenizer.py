# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The tokenizer as it is shipped: what the model reads is what it was trained on."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from safegen_ros.llm.prompt_styles import CanonicalStyle, load_style
from safegen_ros.llm.vocabulary import WORDS
from safegen_ros.training.encoding import encode
from safegen_ros.worlds.pddl3.domains.blocksworld.generator import samples
from safegen_ros.worlds.pddl3.domains.blocksworld.render import (
    block_names,
    plan_pddl,
    problem_pddl,
)
from safegen_ros.worlds.pddl3.task import load_task

transformers = pytest.importorskip('transformers')


@pytest.fixture(scope='module')
def tokenizer(tiny_model: Path) -> transformers.PreTrainedTokenizerBase:
    return transformers.AutoTokenizer.from_pretrained(tiny_model, local_files_only=True)


def test_words_survive_the_round_trip(tokenizer: transformers.PreTrainedTokenizerBase) -> None:
    ids = tokenizer(' '.join(WORDS), add_special_tokens=False)['input_ids']
    assert ids == list(range(len(WORDS)))
    assert tokenizer.decode(ids).split() == list(WORDS)
    assert len(WORDS) <= 128


def test_a_word_that_is_not_known_is_marked(
    tokenizer: transformers.PreTrainedTokenizerBase,
) -> None:
    assert tokenizer('goal nonsense')['input_ids'].count(tokenizer.unk_token_id) == 1


def test_prompts_are_those_of_training(tokenizer: transformers.PreTrainedTokenizerBase) -> None:
    """From PDDL through style and chat template to exactly the ids that training encodes."""
    style = CanonicalStyle()
    repaired = 0
    for sample in islice(samples(31, repair_share=0.5), 60):
        task = load_task(problem_pddl(sample.sketch))
        history = []
        if sample.attempt:
            words = plan_pddl(sample.attempt.actions, block_names(sample.sketch.size))
            verdict = task.verify(words)
            if verdict.category.name == 'FORMAT_ERROR':
                continue
            history = [(words, verdict)]
            repaired += 1
        messages = style.messages(task.problem, history)
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        ids = tokenizer(text, add_special_tokens=False)['input_ids']
        encoded = encode(sample)
        assert ids == encoded.ids[: encoded.plan_start + 1].tolist()
    assert repaired >= 10


def test_settings_of_the_folder(
    tokenizer: transformers.PreTrainedTokenizerBase, tiny_model: Path
) -> None:
    assert tokenizer.padding_side == 'left'
    assert tokenizer.model_max_length == 512
    marks = (tokenizer.bos_token, tokenizer.eos_token, tokenizer.pad_token, tokenizer.unk_token)
    assert marks == ('[bos]', '[eos]', '[pad]', '[unk]')
    assert isinstance(load_style(tiny_model), CanonicalStyle)
