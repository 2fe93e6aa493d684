# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Model folders that a run must not start from."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from support.training_small import SHORT, train, write_recipe

from safegen_ros.training.base import check_base
from safegen_ros.training.config import ConfigError

WEIGHTS = 'model.safetensors'
LAST = 'model.layers.0.mlp.down_proj.weight'


def without_a_weight(folder: Path) -> None:
    values = load_file(folder / WEIGHTS)
    del values[LAST]
    save_file(values, folder / WEIGHTS, {'format': 'pt'})


def of_another_shape(folder: Path) -> None:
    values = load_file(folder / WEIGHTS)
    save_file(values | {LAST: torch.zeros(3, 3)}, folder / WEIGHTS, {'format': 'pt'})


def cut_off(folder: Path) -> None:
    (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:5000])


def of_another_size(folder: Path) -> None:
    values = json.loads((folder / 'config.json').read_text())
    (folder / 'config.json').write_text(json.dumps(values | {'hidden_size': 64}))


def without_template(folder: Path) -> None:
    (folder / 'chat_template.jinja').unlink()


def removed(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


@pytest.mark.parametrize(
    ('damage', 'message'),
    [
        (without_a_weight, f'1 weights are missing, such as {LAST}'),
        (of_another_shape, rf'{LAST} has shape \(3, 3\), and config.json asks for'),
        (of_another_size, 'and config.json asks for'),
        (cut_off, f'{WEIGHTS}: is damaged'),
        (removed(WEIGHTS), r'no \*.safetensors file'),
        (removed('config.json'), 'config.json is missing'),
        (removed('tokenizer.json'), 'the tokenizer cannot be loaded'),
        (without_template, 'no chat template'),
    ],
)
@pytest.mark.parametrize('stage', ['sft', pytest.param('grpo', marks=pytest.mark.nightly)])
def test_a_base_that_is_not_whole_is_named(
    short_run: Path, dataset: Path, tmp_path: Path, stage: str,
    damage: Callable[[Path], None], message: str,
) -> None:  # fmt: skip
    base = tmp_path / 'base'
    shutil.copytree(short_run / 'model', base)
    damage(base)
    recipe = recipe_from(base, dataset, tmp_path, stage)
    with pytest.raises(ConfigError, match=message):
        train(recipe, tmp_path / 'run')
    assert not list((tmp_path / 'run').glob('checkpoints/*'))


def test_a_network_begins_with_the_weights_of_its_start(
    short_run: Path, dataset: Path, tmp_path: Path
) -> None:
    network = {**SHORT['model']['network'], 'start': str(short_run / 'model')}
    recipe = write_recipe(
        tmp_path / 'recipe.yaml', SHORT, data__folder=str(dataset), model__network=network,
        optimizer__learning_rate=1e-12, budget__steps=1,
    )  # fmt: skip
    model = train(recipe, tmp_path / 'run')
    before, after = (load_file(folder / WEIGHTS) for folder in (short_run / 'model', model))
    assert before.keys() == after.keys()
    for name, value in before.items():
        torch.testing.assert_close(after[name], value, atol=1e-6, rtol=0)
    for name in ('training.json', 'training_log.jsonl'):
        assert (model / f'start_{name}').read_bytes() == (short_run / 'model' / name).read_bytes()


@pytest.mark.parametrize(
    ('damage', 'message'),
    [
        (without_a_weight, rf'{LAST} has shape None, and the network wants'),
        (of_another_shape, rf'{LAST} has shape \(3, 3\), and the network wants'),
        (cut_off, f'{WEIGHTS}: is damaged'),
        (removed(WEIGHTS), r'no \*.safetensors file'),
    ],
)
def test_a_start_that_does_not_fit_is_named(
    short_run: Path, dataset: Path, tmp_path: Path,
    damage: Callable[[Path], None], message: str,
) -> None:  # fmt: skip
    start = tmp_path / 'start'
    shutil.copytree(short_run / 'model', start)
    damage(start)
    network = {**SHORT['model']['network'], 'start': str(start)}
    recipe = write_recipe(
        tmp_path / 'recipe.yaml', SHORT, data__folder=str(dataset), model__network=network
    )
    with pytest.raises(ConfigError, match=message):
        train(recipe, tmp_path / 'run')


def recipe_from(base: Path, dataset: Path, tmp_path: Path, stage: str, **changes: object) -> Path:
    grpo = {'grpo': {'max_completion': 16}} if stage == 'grpo' else {}
    return write_recipe(
        tmp_path / 'recipe.yaml', {**SHORT, 'model': {}, **grpo}, stage=stage,
        model__base=str(base), data__folder=str(dataset), **changes,
    )  # fmt: skip


def test_sequences_beyond_the_context(short_run: Path) -> None:
    check_base(short_run / 'model', 512)
    with pytest.raises(ConfigError, match=r'budget\.max_length is 513, and .* reads 512'):
        check_base(short_run / 'model', 513)


def test_what_this_machine_lacks(
    short_run: Path, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = short_run / 'model'
    monkeypatch.setenv('CXX', 'no-such-compiler')
    recipe = write_recipe(
        tmp_path / 'new.yaml', SHORT, model__network__compiled=True, data__folder=str(dataset)
    )
    with pytest.raises(ConfigError, match='there is no no-such-compiler: install one'):
        train(recipe, tmp_path / 'compiled')
    if not torch.cuda.is_available():
        recipe = recipe_from(
            base, dataset, tmp_path, 'sft', model__four_bit=True, model__lora={'rank': 2}
        )
        with pytest.raises(ConfigError, match='four_bit needs CUDA'):
            train(recipe, tmp_path / 'four')
    if find_spec('vllm') is None:
        recipe = recipe_from(base, dataset, tmp_path, 'grpo', grpo__vllm=True)
        with pytest.raises(ConfigError, match='vLLM is not installed'):
            train(recipe, tmp_path / 'vllm')


def test_no_room_for_prompts(short_run: Path, dataset: Path, tmp_path: Path) -> None:
    recipe = recipe_from(short_run / 'model', dataset, tmp_path, 'grpo', budget__max_length=20)
    with pytest.raises(ConfigError, match='no prompt has at most 4 tokens'):
        train(recipe, tmp_path / 'run')
