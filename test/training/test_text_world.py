# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Any pairs of texts can be trained on, with any reward."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from support.training_small import SHORT, reports, train, write_recipe

from safegen_ros.datasets.boxnet.lessons import load_lessons, write_lessons
from safegen_ros.datasets.workers import local_workers
from safegen_ros.errors import SafegenError
from safegen_ros.llm.special_tokens import EOS, PLAN
from safegen_ros.paths import data_path
from safegen_ros.tasks.boxnet.prompts import MapStyle, style_of
from safegen_ros.training.config import ConfigError, load_config
from safegen_ros.training.encoding import IGNORE
from safegen_ros.training.run import world_of
from safegen_ros.training.text_world import TextWorld, named_reward, read_text_rows

MODULE = 'a_world_of_the_tests'


@pytest.fixture
def rewards(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of a world that nobody has told training about."""
    module = ModuleType(MODULE)
    module.reward = lambda task, completion: float(completion == task['right'])  # type: ignore[attr-defined]
    module.endless = lambda task, completion: float('inf')  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, MODULE, module)
    return module


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Numbers to write backwards."""
    rows = [
        {
            'prompt': 'turn ' + ' '.join(f'{n:03}'),
            'completion': ' '.join(f'{n:03}')[::-1],
            'group': 'odd' if n % 2 else 'even',
            'bucket': ('easy', 'medium', 'hard')[n % 3],
            'task': {'right': ' '.join(f'{n:03}')[::-1]},
        }
        for n in range(64)
    ]
    for name, part in (('train', rows[:48]), ('test', rows[48:])):
        text = ''.join(json.dumps(row) + '\n' for row in part)
        (tmp_path / f'{name}.jsonl').write_text(text, encoding='utf-8')
    return tmp_path


def recipe(folder: Path, **changes: Any) -> Path:
    data = {'world': 'text', 'folder': str(folder), 'validation': 4}
    return write_recipe(folder / 'recipe.yaml', SHORT | {'data': data}, **changes)


def test_only_completions_are_learned(folder: Path) -> None:
    world = world_of(load_config(recipe(folder)))
    assert isinstance(world, TextWorld)
    material = world.material()
    assert (len(material.items), len(material.validation)) == (48, 4)
    assert material.groups[:2] == ['even', 'odd']
    assert not material.atoms
    tokenizer = material.tokenizer
    for item in material.items:
        asked = item['input_ids'].index(tokenizer.convert_tokens_to_ids(PLAN)) + 1
        assert item['labels'] == [IGNORE] * asked + item['input_ids'][asked:]
        assert item['input_ids'][-1] == tokenizer.convert_tokens_to_ids(EOS)
        assert tokenizer.unk_token_id not in item['input_ids']
    batch = material.collate(material.items[:3])
    assert batch['input_ids'].shape == batch['labels'].shape == (3, 16)


def test_rows_that_are_too_long_are_left_out(folder: Path) -> None:
    row = {'prompt': 'turn ' + '1 ' * 90, 'completion': '1'}
    with (folder / 'train.jsonl').open('a') as file:
        file.write(json.dumps(row) + '\n')
    assert len(world_of(load_config(recipe(folder, budget__max_length=40))).material().items) == 48
    with pytest.raises(ConfigError, match='no example has at most 3 tokens'):
        world_of(load_config(recipe(folder, budget__max_length=3))).material()


@pytest.mark.parametrize(
    ('line', 'message'),
    [
        ('{"prompt": "a"}', 'is not a row'),
        ('{"prompt": "a", "completion": 1}', 'is not a row'),
        ('{"prompt": "a", "completion": "b", "more": 1}', 'is not a row'),
        ('{"prompt": "a", "completion": "b", "bucket": "huge"}', 'bucket is'),
        ('["a"]', 'is not a row'),
        ('{', 'train.jsonl'),
    ],
)
def test_what_is_no_row(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / 'train.jsonl').write_text(line + '\n')
    with pytest.raises(SafegenError, match=message):
        list(read_text_rows(tmp_path / 'train.jsonl'))


def test_what_is_no_folder_and_no_reward(tmp_path: Path, rewards: ModuleType) -> None:
    with pytest.raises(ConfigError, match='there is no such file'):
        world_of(load_config(recipe(tmp_path))).material()
    assert named_reward(f'{MODULE}:reward')({'right': 'b'}, 'b') == 1
    for name in ('', 'nowhere:reward', f'{MODULE}:other', f'{MODULE}'):
        with pytest.raises(ConfigError, match=r'data\.reward'):
            named_reward(name)


@pytest.mark.slow
def test_both_stages_run_in_a_world_of_texts(folder: Path, rewards: ModuleType) -> None:
    model = train(recipe(folder, data__style='mine'), folder / 'sft')
    assert json.loads((model / 'safegen.json').read_text()) == {'prompt_style': 'mine'}
    changes: dict[str, Any] = {
        'stage': 'grpo', 'model': {'base': str(model)}, 'grpo': {
            'generations': 4, 'temperature': 1.0, 'kl': 0, 'max_completion': 8},
        'budget__steps': 2, 'budget__max_length': 64, 'budget__log_steps': 1, 'optimizer__batch': 8,
    }  # fmt: skip
    train(recipe(folder, data__reward=f'{MODULE}:reward', **changes), folder / 'grpo')
    lines = reports(folder / 'grpo')
    assert all(0 <= line['reward'] <= 1 for line in lines)
    assert {'reward_even', 'reward_odd'} <= lines[0].keys()
    with pytest.raises(SafegenError, match='must be finite'):
        train(recipe(folder, data__reward=f'{MODULE}:endless', **changes), folder / 'endless')


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
