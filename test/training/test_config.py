# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Recipes: what is shipped can be read, what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from safegen_ros.training.config import ConfigError, load_config

RECIPES = sorted((Path(__file__).parents[2] / 'config/train').glob('*.yaml'))


@pytest.mark.parametrize('path', RECIPES, ids=lambda path: path.name)
def test_shipped_recipes_can_be_read(path: Path) -> None:
    assert load_config(path).budget.steps > 0


def test_there_are_recipes() -> None:
    assert {path.name for path in RECIPES} >= {'mini.yaml', 'mini-smoke.yaml'}


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('sead: 1', "unknown key 'sead': known keys are name seed"),
        ('model: {depth: 3}', "model: unknown key 'depth'"),
        ('seed: one', "seed must be of type int, found 'one'"),
        ('threads: true', 'threads must be of type int'),
        ('optimizer: {learning_rate: -1}', 'learning_rate must be greater than 0'),
        ('model: {width: 100, heads: 3}', 'multiple of twice model.heads'),
        ('data: {chunk: 100}', 'data.chunk must be a multiple of optimizer.batch'),
        ('data: {repair_share: 1.5}', 'between 0 and 1'),
        ('model: 3', 'expected keys and values'),
        ('[1, 2]', 'expected keys and values'),
        ('a: [', 'is not YAML'),
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
