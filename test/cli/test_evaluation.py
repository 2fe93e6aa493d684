# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen eval`: commands print, write their files, and refuse what they cannot measure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.model_server import MODEL as SERVED
from support.model_server import ModelServer
from support.scripted_model import BENCH, tiny_model
from typer.testing import CliRunner, Result

from safegen_ros.cli.main import app
from safegen_ros.errors import SafegenError

FEW = ('--problems', 1, '--max-new-tokens', 2)


def _options(words: tuple[object, ...]) -> list[str]:
    return [f'{name} {value}' for name, value in zip(words[::2], words[1::2], strict=True)]


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ['eval', *map(str, words)])


@pytest.fixture(scope='module')
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tiny_model(tmp_path_factory.mktemp('models') / 'tiny')
    (folder / 'stages.json').write_text('{"PT": ".", "GRPO": "."}')
    return folder


@pytest.mark.nightly
def test_the_model_command_measures_every_mode(model: Path, tmp_path: Path) -> None:
    out = tmp_path / 'figures.json'
    done = run('model', '--model', model, '--split', 'test_family', '--json', out, *FEW)
    assert done.exit_code == 0, done.output
    for text in ('up to 5 attempts, verdict fed back', 'manifest', 'Success by operators'):
        assert text in done.stdout
    values = json.loads(out.read_text())
    assert [r['mode'] for r in values['results']] == [
        'greedy', 'sampled', 'feedback', 'resample', 'untrained',
    ]  # fmt: skip
    assert values['data']['split'] == 'test_family'


def test_a_model_at_a_server_is_measured(tmp_path: Path) -> None:
    with ModelServer() as server:
        name, out = f'{server.url}#{SERVED}', tmp_path / 'figures.json'
        done = run('model', '--model', name, '--json', out, '--problems', 1, '--mode', 'greedy')
        assert done.exit_code == 0, done.output
        assert len(server.requests) == 4
        assert run('model', '--model', name, '--mode', 'untrained').exit_code == 2
    assert json.loads(out.read_text())['model']['name'] == name


@pytest.mark.parametrize(
    ('command', 'more'),
    [
        ('table2', FEW),
        *(
            pytest.param(each, FEW, marks=pytest.mark.nightly)
            for each in ('table3', 'figure4', 'figure5', 'heldout')
        ),
        (
            'larger',
            ('--count', 1, '--max-new-tokens', 2, '--domain', 'ferry', '--strategy', 'search'),
        ),
    ],
)
def test_a_command_prints_and_writes(
    command: str, more: tuple[object, ...], model: Path, tmp_path: Path
) -> None:
    out = tmp_path / 'results'
    done = run(command, '--model', model, '--out', out, '--seed', 3, *more)
    assert done.exit_code == 0, done.output
    assert {path.name for path in out.iterdir()} == {
        f'{command}.{suffix}' for suffix in ('json', 'md', 'png')
    }
    values = json.loads((out / f'{command}.json').read_text())
    assert values['conditions']['seed'] == 3
    assert values['differences']
    asked = [f'--model {model}', '--seed 3', *_options(more)]
    assert values['command'].split(' --')[0] == f'safegen eval {command}'
    assert sorted(f'--{each}' for each in values['command'].split(' --')[1:]) == sorted(asked)
    assert f'Printed by `{values["command"]}`' in (out / f'{command}.md').read_text()
    assert 'parameters, weights' in done.stdout
    if command in ('table2', 'figure4'):
        assert {line['stage'] for line in values['lines']} == {'PT', 'GRPO'}


@pytest.mark.nightly
def test_controls_read_the_training_rows_that_are_named(model: Path, tmp_path: Path) -> None:
    (tmp_path / 'train.jsonl').write_bytes((BENCH / 'test_renamed.jsonl').read_bytes())
    out = tmp_path / 'results'
    done = run('controls', '--model', model, '--train-data', tmp_path, '--out', out, *FEW)
    assert done.exit_code == 0, done.output
    assert 'copied plan' in done.stdout
    assert (out / 'controls.png').exists()


@pytest.mark.nightly
def test_stages_can_be_named(model: Path, tmp_path: Path) -> None:
    done = run('table2', '--stage', f'SFT={model}', '--out', tmp_path / 'out', *FEW)
    assert done.exit_code == 0, done.output
    values = json.loads((tmp_path / 'out' / 'table2.json').read_text())
    assert {line['stage'] for line in values['lines']} == {'SFT'}
    assert run('table2', '--stage', 'SFT').exit_code == 2
    with pytest.raises(SafegenError, match="stage 'RLHF' is none of"):
        CliRunner().invoke(
            app, ['eval', 'table2', '--stage', f'RLHF={model}'], catch_exceptions=False
        )


@pytest.mark.parametrize(
    ('words', 'written'),
    [
        (('table4', '--split', 'test_family', '--controls', 1, *FEW), 'table4-test_family'),
        (('safety', '--count', 2, '--max-new-tokens', 2), 'safety'),
    ],
)
def test_the_planning_loop_is_measured_by_strategy(
    words: tuple[object, ...], written: str, model: Path, tmp_path: Path
) -> None:
    done = run(*words, '--model', model, '--strategy', 'search', '--out', tmp_path / 'out')
    assert done.exit_code == 0, done.output
    assert {path.name for path in (tmp_path / 'out').iterdir()} == {
        f'{written}.{suffix}' for suffix in ('json', 'md', 'png')
    }
    values = json.loads((tmp_path / 'out' / f'{written}.json').read_text())
    assert values['conditions']['loop']['strategies'] == ['search']
    assert values['lines'][0]['success'] == 100
    assert 'untrained' not in {line.get('whose') for line in values['lines']}  # search has none


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (('model', '--model', 'models/none'), 'models/none does not exist'),
        (('table3', '--model', 'MODEL', '--data', 'data/none'), 'data/none does not exist'),
        (('model', '--model', 'MODEL', '--split', 'lucky'), "no split 'lucky'"),
        (('model', '--model', 'MODEL', '--domain', 'harbour'), 'no problem of harbour'),
        (('controls', '--model', 'MODEL'), 'copying needs the training rows'),
        (('table3', '--model', 'http://127.0.0.1:9/v1#toy'), 'needs the folder of a model'),
        (('table4', '--strategy', 'magic'), "'magic' is not a planner"),
        (('safety', '--feedback', 'loud'), "feedback 'loud' is not known"),
    ],
)
def test_what_is_missing_is_named(
    words: tuple[str, ...], message: str, model: Path, tmp_path: Path
) -> None:
    given = [str(model) if word == 'MODEL' else word for word in words]
    with pytest.raises(SafegenError, match=message):
        CliRunner().invoke(app, ['eval', *given], catch_exceptions=False)
