# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The shipped recipes of BoxNet2D run, through both stages, on a few lessons."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.training_small import reports, train, write_recipe

from safegen_ros.datasets.boxnet.lessons import load_lessons, write_lessons
from safegen_ros.datasets.workers import local_workers
from safegen_ros.paths import data_path
from safegen_ros.tasks.boxnet.prompts import MapStyle, style_of

TINY = {'width': 32, 'layers': 1, 'heads': 2, 'mlp': 64, 'compiled': False}


def shipped(name: str) -> dict[str, Any]:
    path = data_path(f'config/train/{name}.yaml')
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding='utf-8'))
    return found


@pytest.mark.nightly
def test_both_stages_learn_from_lessons(tmp_path: Path) -> None:
    recipe = load_lessons(data_path('config/boxnet/mini.json'))
    few = replace(
        recipe, tasks=40, refusals=8, validation=6, sides=(2, 3), objects=(1, 2), moved_away=0.0
    )
    with local_workers(1) as workers:
        write_lessons(tmp_path / 'data', few, workers, lambda what, done, total: None)
    sft, grpo = shipped('boxnet-mini'), shipped('boxnet-mini-grpo')
    assert sft['data']['folder'] == grpo['data']['folder']
    sft['model']['network'] |= TINY
    sft['data'] |= {'folder': str(tmp_path / 'data'), 'validation': 4}
    sft['budget'] |= {'steps': 3, 'log_steps': 1, 'save_steps': 3}
    sft['optimizer'] |= {'batch': 8, 'warmup': 1, 'precision': 'float32'}
    model = train(write_recipe(tmp_path / 'sft.yaml', sft), tmp_path / 'sft')
    style = style_of(str(model))
    assert isinstance(style, MapStyle)
    grpo['model']['base'] = str(model)
    grpo['data']['folder'] = str(tmp_path / 'data')
    grpo['budget'] |= {'steps': 2, 'log_steps': 1, 'save_steps': 2}
    grpo['grpo'] |= {'generations': 4, 'max_completion': 12}
    grpo['optimizer']['batch'] = 16
    train(write_recipe(tmp_path / 'grpo.yaml', grpo), tmp_path / 'grpo')
    lines = reports(tmp_path / 'grpo')
    assert {'reward_full', 'reward_next', 'reward_refusal'} & lines[0].keys()
    assert all(0 <= line['reward'] <= 1.1 for line in lines)
