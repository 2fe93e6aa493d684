# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen eval`: commands print, write their files, and refuse what they cannot measure."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.model_server import MODEL as SERVED
from support.model_server import ModelServer
from support.scripted_model import BENCH, tiny_model
from typer.testing import CliRunner, Result

from safegen_ros.cli.aims import Aim, reached, read_aims
from safegen_ros.cli.main import app
from safegen_ros.datasets.files import DatasetError
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


REPORT = {'results': [{'mode': 'sampled', 'solved': [*range(96)],
                       'total': {'trials': 100, 'success_percent': 96.0}}]}  # fmt: skip
BEFORE = {'results': [{**REPORT['results'][0], 'solved': [*range(80)]}]}
TEN = {'results': [{**REPORT['results'][0], 'total': {'trials': 10, 'success_percent': 10.0}}]}
TABLE = {'lines': [
    {'size': '7 blocks', 'whose': 'ours', 'problems': 10, 'success': 70.0, 'attempts': 1.25},
    {'size': '8 blocks', 'whose': 'ours', 'problems': 30, 'success': 50.0, 'attempts': 1.5},
    {'size': '8 blocks', 'whose': 'others', 'problems': 30, 'success': 100.0, 'attempts': 1.0},
]}  # fmt: skip
SCORE = {'groups': {'all': {'all rows': {'rows': 400, 'enforced': {'correct': {'percent': 44.0}}}}}}
RESULTS = {'report': REPORT, 'before': BEFORE, 'ten': TEN, 'table': TABLE, 'score': SCORE,
           'empty': {}}  # fmt: skip
SAMPLED = {'mode': 'sampled'}
SEVEN, BLOCKS = {'size': '7 blocks'}, {'size': ['7 blocks', '8 blocks'], 'whose': 'ours'}
UNCLEAR, NONE = ('-', '-', '-', 'unclear'), ('-', '-', '-', 'not measured')


@pytest.mark.parametrize(
    ('aim', 'cells'),
    [
        (Aim('', 'report.json', SAMPLED, 96), ('96.0', '90-98', '100', 'yes')),
        (Aim('', 'report.json', SAMPLED, 93, field='low'), ('90.16', '', '100', 'no')),
        (Aim('', 'report.json', SAMPLED, 2, most=True), ('96.0', '90-98', '100', 'no')),
        (Aim('', 'report.json', SAMPLED), ('96.0', '90-98', '100', '')),
        (Aim('', 'table.json', BLOCKS, 50), ('55.0', '40-69', '40', 'yes')),
        (Aim('', 'table.json', SEVEN, 1.06, True, 'attempts'), ('1.25', '', '10', 'no')),
        (Aim('', 'score.json', {'case': 'all rows'}, 60), ('44.0', '39-49', '400', 'no')),
        (Aim('', 'report.json', SAMPLED, above='before.json'),
         ('96.0', '90-98', '100', 'yes, p 3.1e-05')),
        (Aim('', 'before.json', SAMPLED, above='report.json'),
         ('96.0', '90-98', '100', 'no, p 3.1e-05')),
        (Aim('', 'report.json', SAMPLED, above='ten.json'), ('96.0', '90-98', '100', 'unclear')),
        (Aim('', 'report.json', SAMPLED, above='none.json'), NONE),
        (Aim('', 'none.json', {}, 60), NONE),
        (Aim('', 'table.json', {'size': '9 blocks'}, 50), UNCLEAR),
        (Aim('', 'table.json', {'size': ['7 blocks', '9 blocks']}, 50), UNCLEAR),
        (Aim('', 'table.json', BLOCKS, 2, field='attempts'), UNCLEAR),  # of two lines
        (Aim('', 'table.json', SEVEN, 2, field='seconds'), UNCLEAR),
        (Aim('', 'table.json', {'colour': 'red'}, 50), UNCLEAR),
        (Aim('', 'empty.json', SAMPLED, 50), UNCLEAR),
        (Aim('', 'broken.json', SAMPLED, 50), UNCLEAR),
    ],
)  # fmt: skip
def test_what_is_reached_of_an_aim(aim: Aim, cells: tuple[str, ...], tmp_path: Path) -> None:
    for name, values in RESULTS.items():
        (tmp_path / f'{name}.json').write_text(json.dumps(values))
    (tmp_path / 'broken.json').write_text('{')
    assert reached(aim, tmp_path) == cells


@pytest.mark.parametrize('text', [
    '{', '[' * 5000, 'steps: []', 'steps: []\naims: [{aim: x, file: y}]',
    *(f'aims: []\nsteps: [{{name: a, makes: b, run: "{run}"}}]' for run in (
        '', 'bash -c x', 'safegen {other}', "safegen 'eval", 'safegen {')),
])  # fmt: skip
def test_what_is_no_file_of_aims_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / 'aims.yaml').write_text(text)
    with pytest.raises(DatasetError, match=r'aims\.yaml'):
        read_aims(tmp_path / 'aims.yaml')


def test_steps_run_once_and_a_failed_one_is_told(tmp_path: Path) -> None:
    program, path, out = (tmp_path / each for each in ('measure.py', 'aims.yaml', 'a folder'))
    program.write_text(
        'import json, pathlib, sys\n'
        'path = pathlib.Path(sys.argv[1])\n'
        "path.with_suffix('.count').open('a').write('x')\n"
        f"path.write_text(json.dumps({TABLE!r})) if path.stem == 'good' else print('no luck')\n"
    )
    steps = ''.join(
        f'  - {{name: {n} one, makes: {n}.json, run: "python {program} {{out}}/{n}.json"}}\n'
        for n in ('good', 'bad')
    )
    aims = '  - {aim: seven blocks, wanted: 60, file: good.json, where: {size: 7 blocks}}\n'
    path.write_text(f'steps:\n{steps}aims:\n{aims}')
    given = ('aims', '--file', path, '--out', out)
    assert f"python {program} '{out}'/good.json" in run(*given, '--list').stdout
    assert not out.exists()
    for _ in range(2):
        done = run(*given)
        assert isinstance(done.exception, SafegenError)
        assert 'these steps failed: bad one' in done.exception.message
        assert re.search(r'seven blocks +>= 60 +70.0 +40-89 +10 +yes', done.stdout)
    assert [len((out / f'{n}.count').read_text()) for n in ('good', 'bad')] == [1, 2]
    assert 'no luck' in (out / 'bad one.txt').read_text()
    assert run(*given, '--only', 'good one').exit_code == 0
    assert run(*given, '--only', 'another').exit_code == 2
    assert 'of another model or other options' in str(run(*given, '--seed', 7).exception)
