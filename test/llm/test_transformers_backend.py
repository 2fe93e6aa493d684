# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The embedded model server: answers, limits, cancelling, and folders that are not right."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from safegen_ros.errors import BackendError, Canceled
from safegen_ros.llm.backend import Sampling
from safegen_ros.llm.token_watch import TokenReader
from safegen_ros.llm.transformers_backend import TransformersBackend
from safegen_ros.tasks.pddl3.prompts.words import vocabulary

TASK = 'domain blocksworld init on-table block1 on block2 block1 goal on block1 block2 constraints'
MESSAGES = [{'role': 'user', 'content': TASK}]
LONGER = [{'role': 'user', 'content': f'{TASK} sometime on block3 block1 always clear block2'}]
GREEDY = Sampling(temperature=0.0, max_new_tokens=24)


@pytest.fixture(scope='module')
def backend(tiny_model: Path) -> TransformersBackend:
    return TransformersBackend(tiny_model, 'cpu')


@pytest.fixture
def copy(tiny_model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_model, tmp_path / 'model'))


def test_the_context_bounds_the_answer(backend: TransformersBackend) -> None:
    # With one legal token after another the tiny network rarely ends by itself.
    answers = [backend.generate(MESSAGES, Sampling(1.5, 1.0, 5000, seed)) for seed in range(3)]
    assert all(a.prompt_tokens + a.completion_tokens <= backend.context for a in answers)
    long = [{'role': 'user', 'content': 'clear block1 ' * 300}]
    with pytest.raises(BackendError, match='context is 512'):
        backend.generate(long, GREEDY)


def test_a_token_is_read_once_whatever_the_folder_says(
    tiny_model: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = json.loads((copy / 'config.json').read_text())
    (copy / 'config.json').write_text(json.dumps({**config, 'use_cache': False}))
    (copy / 'generation_config.json').write_text('{"use_cache": false}')
    backend = TransformersBackend(copy, 'cpu')
    read: list[int] = []
    forward = backend.model.forward
    monkeypatch.setattr(
        backend.model,
        'forward',
        lambda *args, **more: read.append(more['input_ids'].shape[1]) or forward(*args, **more),
    )
    answer = backend.generate(LONGER, GREEDY)
    assert read == [22] + [1] * (answer.completion_tokens - 1)
    assert answer.completion_tokens > 1


def test_cancel_stops_at_the_next_token(backend: TransformersBackend) -> None:
    asked = 0

    def cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked > 5

    with pytest.raises(Canceled):
        backend.generate(MESSAGES, Sampling(0.0, 1.0, 400), cancelled)
    assert asked == 6


def test_words_outside_the_vocabulary_are_refused(backend: TransformersBackend) -> None:
    with pytest.raises(BackendError, match=r'name a chat model, or .*prompt_style'):
        backend.generate([{'role': 'user', 'content': 'Please stack the blocks.'}], GREEDY)


def test_characters_of_several_bytes_come_whole() -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    text = 'Stapel: b1 → b2, 积木 🙂 fertig'
    bytes_only = Tokenizer(models.BPE())
    bytes_only.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_only.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bytes_only.train_from_iterator([], trainers.BpeTrainer(initial_alphabet=alphabet))
    ids = bytes_only.encode(text).ids
    assert len(ids) == len(text.encode())  # a token is a byte

    reader = TokenReader(bytes_only.decode, (), ())
    pieces = [reader.feed(token) for token in ids]
    assert [piece for piece in pieces if piece] == list(text)
    assert reader.finish() == ''

    cut_off = TokenReader(bytes_only.decode, (), ())
    arrow = text[: text.index('→') + 1]
    for token in ids[: len(arrow.encode()) - 1]:
        cut_off.feed(token)
    cut_off.finish()
    assert cut_off.text == f'{arrow[:-1]}\ufffd'

    stopped = TokenReader(bytes_only.decode, (), ('积',))
    for token in ids:
        stopped.feed(token)
    assert stopped.text == text[: text.index('积')]
    assert stopped.tokens == len(text[: text.index('积') + 1].encode())


def test_each_row_of_a_batch_ends_at_its_own_stop_string(backend: TransformersBackend) -> None:
    drawn = Sampling(1.0, 1.0, 24, seed=2)
    whole = [c.text.split() for c in backend.generate_batch([MESSAGES, LONGER], drawn)]
    stop = f'{whole[1][4]} {whole[1][5]}'
    sampling = Sampling(1.0, 1.0, 24, seed=2, stop=(stop,))
    answers = backend.generate_batch([MESSAGES, LONGER], sampling)
    assert [c.text.split() for c in answers] == [whole[0], whole[1][:4]]
    assert answers[1].finish_reason == 'stop'


@pytest.mark.parametrize('architecture', ['Qwen3', 'Mistral'])
def test_other_architectures_go_through_the_same_code(copy: Path, architecture: str) -> None:
    import transformers

    config = getattr(transformers, f'{architecture}Config')(
        vocab_size=len(vocabulary()), hidden_size=32, intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=1, head_dim=16, max_position_embeddings=256,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, sliding_window=None,
    )  # fmt: skip
    model = getattr(transformers, f'{architecture}ForCausalLM')(config)
    (copy / 'model.safetensors').unlink()
    model.save_pretrained(copy)
    other = TransformersBackend(copy, 'cpu')
    assert type(other.model).__name__ == f'{architecture}ForCausalLM'
    assert other.generate(MESSAGES, GREEDY).prompt_tokens == 15


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match='no such model folder'):
        TransformersBackend(tmp_path / 'nowhere')


@pytest.mark.parametrize('name', ['config.json', 'tokenizer_config.json', 'model.safetensors'])
def test_a_missing_file(copy: Path, name: str) -> None:
    (copy / name).unlink()
    with pytest.raises(BackendError, match=name.replace('model.', r'\*.')):
        TransformersBackend(copy)


def test_weights_that_do_not_fit(copy: Path) -> None:
    config = json.loads((copy / 'config.json').read_text())
    (copy / 'config.json').write_text(json.dumps({**config, 'intermediate_size': 80}))
    with pytest.raises(BackendError, match=str(copy)):
        TransformersBackend(copy)
    (copy / 'config.json').write_text(json.dumps({**config, 'num_hidden_layers': 2}))
    with pytest.raises(BackendError, match='missing_keys'):
        TransformersBackend(copy)


def test_damaged_weights(copy: Path) -> None:
    weights = copy / 'model.safetensors'
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(BackendError, match='cannot be loaded'):
        TransformersBackend(copy)


def test_no_chat_template_is_not_guessed(copy: Path) -> None:
    (copy / 'chat_template.jinja').unlink()
    with pytest.raises(BackendError, match='chat template'):
        TransformersBackend(copy)


def test_a_gpu_that_is_not_there(tiny_model: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip('this machine has a GPU')
    with pytest.raises(BackendError, match='needs a GPU'):
        TransformersBackend(tiny_model, 'cuda')
