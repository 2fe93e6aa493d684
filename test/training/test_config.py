# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Recipes: what is shipped can be read, what is wrong is named."""

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
from safegen_ros.training.config import ConfigError, load_config

RECIPES = sorted((Path(__file__).parents[2] / 'config/train').glob('*.yaml'))
NET = 'model: {network: {}}'
GRPO = 'stage: grpo\nmodel: {base: x}\noptimizer: {batch: 8}'
STEPS = f'{GRPO}\nbudget: {{steps: 1}}'


@pytest.mark.parametrize('path', RECIPES, ids=lambda path: path.stem)
def test_shipped_recipes_can_be_read(path: Path) -> None:
    config = load_config(path)
    assert config.stage == ('grpo' if 'grpo' in path.stem else 'sft')
    assert config.as_dict()['name'] == config.name


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('sead: 1', "unknown field 'sead': use name stage seed"),
        ('model: {network: {depth: 3}}', "model.network: unknown field 'depth'"),
        ('stage: dpo', "stage: is 'dpo': use sft grpo"),
        ('a: [', 'is not YAML'),
        ('', 'give either base, the folder of a model, or network'),
        ('model: {base: x, network: {}}', 'give either base'),
        ('model: {network: {width: 100, heads: 3}}', 'multiple of twice model.network.heads'),
        ('model: {network: {}, lora: {}}', 'leave lora and four_bit out'),
        ('model: {base: x, four_bit: true}', 'add lora'),
        (
            f'{NET}\noptimizer: {{learning_rate: -1}}',
            'is -1.0: take a number greater than 0',
        ),
        (f'{NET}\noptimizer: {{schedule: warmup_stable_decay}}', 'needs budget.steps'),
        (f'{NET}\nbudget: {{epochs: 0}}', 'budget.steps or budget.epochs'),
        (f'{NET}\ndata: {{repair_share: 1.5}}', 'data.repair_share: is 1.5: take 0 to 1'),
        (f'{NET}\ndata: {{formats: {{yaml: 1}}}}', "data.formats: there is no 'yaml'"),
        (f'{NET}\ndata: {{formats: {{}}}}', 'data.formats: name a format'),
        (
            f'{NET}\ndata: {{shares: {{ferry: 0}}}}',
            'shares.ferry: is 0.0: take a',
        ),
        (f'{NET}\ndata: {{shares: {{fery: 1}}}}', "data.shares: there is no 'fery'"),
        ('model: {base: x}\noptimizer: {method: muon}', 'muon is for a new network'),
        (f'{NET}\nstage: grpo\ngrpo: {{}}', 'stage grpo starts from a model'),
        (STEPS, 'needs a section grpo'),
        (f'{GRPO}\ngrpo: {{}}', 'needs budget.steps'),
        (f'{STEPS}\ngrpo: {{generations: 1}}', 'grpo.generations: is 1: take 2 or more'),
        (f'{STEPS}\ngrpo: {{generations: 3}}', 'must divide optimizer.batch times'),
        (f'{STEPS}\ngrpo: {{max_completion: 4096}}', 'raise it above grpo.max_completion'),
        (f'{STEPS}\ngrpo: {{rewards: [0, 1]}}', 'grpo.rewards must be 8 or 9 numbers'),
        (f'{STEPS}\ngrpo: {{curriculum: [[0.5, 1, 1, 1]]}}', 'the last at 1'),
        (f'{STEPS}\ngrpo: {{curriculum: [[1, 0, 0, 0]]}}', 'give each phase shares'),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / 'recipe.yaml'
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert message in caught.value.message
    assert str(path) in caught.value.message


def test_a_missing_recipe() -> None:
    with pytest.raises(ConfigError, match='cannot be read'):
        load_config('nowhere.yaml')


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
        (removed('chat_template.jinja'), 'no chat template'),
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


@pytest.mark.parametrize('more_layers', [0, 2])
def test_a_network_begins_with_the_weights_of_its_start(
    short_run: Path, dataset: Path, tmp_path: Path, more_layers: int
) -> None:
    network = {**SHORT['model']['network'], 'start': str(short_run / 'model')}
    network['layers'] += more_layers
    recipe = write_recipe(
        tmp_path / 'recipe.yaml', SHORT, data__folder=str(dataset), model__network=network,
        optimizer__learning_rate=1e-12, budget__steps=1,
    )  # fmt: skip
    model = train(recipe, tmp_path / 'run')
    before, after = (load_file(folder / WEIGHTS) for folder in (short_run / 'model', model))
    assert before.keys() <= after.keys()
    for name, value in after.items():
        expected = before.get(name, 0)  # what is new adds nothing yet
        if name in before or name.endswith(('o_proj.weight', 'down_proj.weight')):
            torch.testing.assert_close(value, value * 0 + expected, atol=1e-6, rtol=0)
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
