# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A tree of tokens in one row of the cache is computed as if every path stood alone."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
import torch
from support import llm_small
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MambaConfig,
    MambaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from safegen_ros.llm.decoding.preallocated_cache import PreallocatedLayer, preallocated_cache
from safegen_ros.llm.decoding.token_tree import ROOT, CachedTokenTree, TokenTree, tree_class
from safegen_ros.llm.special_tokens import SPECIAL_TOKENS

SMALL: dict[str, Any] = {
    'vocab_size': 60, 'hidden_size': 32, 'intermediate_size': 48, 'num_hidden_layers': 2,
    'num_attention_heads': 4, 'num_key_value_heads': 2, 'head_dim': 8, 'initializer_range': 0.3,
}  # fmt: skip


def mistral(window: int | None, **changes: Any) -> Any:
    torch.manual_seed(0)
    return MistralForCausalLM(MistralConfig(**SMALL, sliding_window=window, **changes)).eval()


def models() -> list[Any]:
    torch.manual_seed(0)
    return [
        llm_small.model(60),
        mistral(None),
        Qwen3ForCausalLM(Qwen3Config(**SMALL)).eval(),
        GPT2LMHeadModel(
            GPT2Config(vocab_size=60, n_embd=32, n_layer=2, n_head=4, n_positions=64)
        ).eval(),
    ]


@pytest.mark.parametrize('model', models(), ids=lambda model: type(model).__name__)
def test_what_is_cached_is_what_is_computed_anew(model: Any) -> None:
    rng = random.Random(0)
    prompt = [rng.randrange(60) for _ in range(7)]
    with torch.inference_mode():
        trees = [CachedTokenTree(model, prompt), TokenTree(model, prompt)]
        known = [ROOT]
        for _ in range(6):
            parents, tokens = [], []
            for _ in range(rng.randint(1, 9)):
                new = [len(trees[0]) + n for n in range(len(parents))]
                parents.append(rng.choice([*known, *new]))
                tokens.append(rng.randrange(60))
            grown = [tree.grow(parents, tokens) for tree in trees]
            assert grown[0] == grown[1]
            known = [ROOT, *rng.sample(grown[0], rng.randint(0, min(3, len(grown[0]))))]
            one, other = (tree.table([ROOT, *grown[0]]) for tree in trees)
            torch.testing.assert_close(one, other, rtol=0, atol=2e-4)
            assert [trees[0].length(n) for n in known] == [trees[1].length(n) for n in known]
            for tree in trees:
                tree.keep(known[1:])
        assert max(trees[0].length(n) for n in known) > 9
        trees[0].keep([])
        assert trees[0]._cache.get_seq_length() == len(prompt)


def test_the_fast_way_is_taken_where_it_is_right() -> None:
    for model in models():
        assert tree_class(model, 64) is CachedTokenTree
        # A copy, as others share the model.
        assert tree_class(copy.deepcopy(model).bfloat16(), 64) is CachedTokenTree
    assert tree_class(mistral(4096), 4096) is CachedTokenTree
    assert tree_class(mistral(16), 64) is TokenTree  # what lies further back is not seen


def test_a_model_that_takes_no_mask_of_ours_is_asked_row_by_row() -> None:
    model = mistral(None)
    forward = model.forward

    def ignore(*given: Any, attention_mask: Any = None, **named: Any) -> Any:
        return forward(*given, **named)

    model.forward = ignore
    assert tree_class(model, 64) is TokenTree

    def refuse(*given: Any, attention_mask: Any = None, **named: Any) -> Any:
        if attention_mask is not None:
            raise ValueError('no such masks')
        return forward(*given, **named)

    model.forward = refuse
    assert tree_class(model, 64) is TokenTree


def test_words_between_blanks_have_a_token_each() -> None:
    from safegen_ros.llm.tokenizers import blank_tokenizer

    found = blank_tokenizer(['on n12 [1,2] -> b', 'B on'], 16)
    assert found.tokenize('B on [1,2] -> n12') == ['B', 'on', '[1,2]', '->', 'n12']
    assert found.convert_tokens_to_ids('b') != found.convert_tokens_to_ids('B')
    assert found.convert_tokens_to_ids(list(SPECIAL_TOKENS)) == list(range(len(SPECIAL_TOKENS)))


def with_room() -> list[tuple[Any, int]]:
    """Models with the number of their layers that get room."""
    torch.manual_seed(0)
    mixed = ['full_attention', 'sliding_attention']
    return [
        (llm_small.model(60), 2),
        (LlamaForCausalLM(LlamaConfig(**SMALL)), 2),
        (Qwen3ForCausalLM(Qwen3Config(**SMALL)), 2),
        (
            Qwen3ForCausalLM(
                Qwen3Config(**SMALL, use_sliding_window=True, sliding_window=9, layer_types=mixed)
            ),
            1,
        ),
        (MistralForCausalLM(MistralConfig(**SMALL, sliding_window=None)), 2),
        (
            GPT2LMHeadModel(
                GPT2Config(vocab_size=60, n_embd=32, n_layer=2, n_head=4, n_positions=200)
            ),
            2,
        ),
    ]


@pytest.mark.parametrize(('model', 'count'), with_room(), ids=lambda each: type(each).__name__)
def test_it_changes_no_token(model: Any, count: int) -> None:
    ids = torch.randint(60, (3, 11), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(ids)
    mask[0, :4] = 0  # padding, as of a batch

    def written(**cache: Any) -> list[list[int]]:
        torch.manual_seed(5)
        with torch.inference_mode():
            found: list[list[int]] = model.eval().generate(
                input_ids=ids, attention_mask=mask, max_new_tokens=70, pad_token_id=0,
                eos_token_id=[], do_sample=True, **cache,
            ).tolist()  # fmt: skip
        return found

    cache = preallocated_cache(model)
    assert cache is not None
    assert sum(isinstance(layer, PreallocatedLayer) for layer in cache.layers) == count
    assert written(past_key_values=cache) == written()


def test_tokens_are_put_where_there_is_room() -> None:
    layer, one = PreallocatedLayer(), torch.ones(2, 3, 1, 4)
    places = set()
    for _ in range(300):
        keys, values = layer.update(one, 2 * one)
        places.add(keys.data_ptr())
    assert keys.shape == (2, 3, 300, 4)
    assert layer.get_seq_length() == 300
    assert bool((keys == 1).all() and (values == 2).all())
    assert len(places) < 8  # and not 300


def test_what_others_put_in_its_place_is_what_goes_on() -> None:
    layer, rows = PreallocatedLayer(), torch.arange(2.0).expand(1, 1, 4, 2).permute(3, 1, 2, 0)
    layer.update(rows, rows)
    layer.reorder_cache(torch.tensor([1, 1]))
    layer.crop(-2)
    keys, _ = layer.update(7 * torch.ones(2, 1, 1, 1), torch.ones(2, 1, 1, 1))
    assert keys.flatten(1).tolist() == [[1.0, 1.0, 7.0]] * 2


@pytest.mark.parametrize(
    'model',
    [
        MambaForCausalLM(
            MambaConfig(vocab_size=60, hidden_size=16, num_hidden_layers=1, state_size=4)
        ),
        MistralForCausalLM(MistralConfig(**SMALL, sliding_window=9)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_that_gain_nothing_keep_the_cache_that_they_have(model: Any) -> None:
    assert preallocated_cache(model) is None
