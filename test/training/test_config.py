# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Recipes: what is shipped can be read, what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import pytest

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
        (f'{STEPS}\ngrpo: {{rewards: [0, 1]}}', 'grpo.rewards must be 8 numbers'),
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
