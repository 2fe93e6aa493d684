# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen data` builds, shards, merges, checks and describes; `safegen train` makes a model."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from support.command_line import CommandLine
from support.datasets_small import contents, small_recipe
from support.training_small import SHORT, write_dataset, write_recipe
from typer.testing import CliRunner, Result

from safegen_ros.cli.failures import ExitStatus, is_bad_input
from safegen_ros.cli.main import app
from safegen_ros.datasets.pddl3.recipe import load_recipe
from safegen_ros.errors import SafegenError

DATA = Path(__file__).parents[2] / 'data'


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ['data', *map(str, words)])


@pytest.fixture(scope='module')
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp('recipe') / 'recipe.json'
    path.write_text(small_recipe().to_json())
    return path


@pytest.fixture(scope='module')
def built(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp('built') / 'out'
    done = run(
        'build', out, '--recipe', recipe, '--domain', 'ferry', '--train', 6, '--jobs', 1, '--no-val'
    )
    assert done.exit_code == 0, done.output
    assert f'built: {out}' in done.stdout.replace('\n', '')
    assert 'Table VIII of SafeGen-LLM' in done.stdout
    return out


@pytest.mark.nightly
def test_options_change_the_recipe(built: Path) -> None:
    recipe = load_recipe(built / 'recipe.json')
    assert (recipe.val, list(recipe.domains)) == (False, ['ferry'])
    assert recipe.domains['ferry'].quotas['train'] == 6
    assert 'VAL was not asked.' in (built / 'README.md').read_text()
    assert len((built / 'train.jsonl').read_text().splitlines()) == 6
    assert {path.suffix for path in (built / 'plots').iterdir()} == {'.png'}


@pytest.mark.nightly
def test_shards_are_made_and_put_together(built: Path, recipe: Path, tmp_path: Path) -> None:
    out = tmp_path / 'out'
    options = ('--recipe', recipe, '--domain', 'ferry', '--train', 6, '--no-val', '--jobs', 1)
    for index in range(2):
        done = run('shard', out, '--index', index, '--of', 2, '--blocks', 16, *options)
        assert done.exit_code == 0, done.output
        assert f'made 8 blocks of shard {index} of 2' in done.stdout
    assert run('merge', out, '--jobs', 1).exit_code == 0
    shutil.rmtree(out / '.work')
    assert contents(out) == contents(built)
    checked = run('check', out, '--against', built, '--jobs', 1)
    assert checked.exit_code == 0, checked.output
    assert '12 rows are what they promise' in checked.stdout
    assert 'files and folders are those of' in checked.stdout


def test_what_is_shipped_is_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run('stats')
    assert done.exit_code == 0, done.output
    assert 'Table VIII of SafeGen-LLM' in done.stdout
    assert 'spanner' in done.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.nightly
def test_plots_that_are_missing_are_drawn(built: Path, recipe: Path, tmp_path: Path) -> None:
    out = tmp_path / 'out'
    shutil.copytree(built, out)
    again = (
        'build', out, '--recipe', recipe, '--domain', 'ferry', '--train', 6, '--jobs', 1,
        '--no-val',
    )  # fmt: skip
    names = {path.name for path in (out / 'plots').iterdir()}
    assert 'plots:' not in run(*again).stdout
    (out / 'plots' / 'sizes.png').unlink()
    (out / 'plots' / '.sizes.png.1.part').write_bytes(b'half')
    done = run(*again)
    assert (done.exit_code, 'whole already' in done.stdout) == (0, True), done.output
    assert {path.name for path in (out / 'plots').iterdir()} == names
    assert contents(out) == contents(built)
    counted = (out / 'statistics.json').stat().st_mtime
    os.utime(out / 'plots' / 'lengths.png', (counted - 1, counted - 1))
    assert 'plots:' in run(*again).stdout
    assert 'plots:' not in run(*again).stdout


def test_fewer_training_rows_are_renamed_when_there_are_fewer(recipe: Path, tmp_path: Path) -> None:
    done = run(
        'shard', tmp_path / 'out', '--index', 0, '--of', 1, '--blocks', 1, '--recipe', recipe,
        '--domain', 'ferry', '--train', 1, '--no-val', '--jobs', 1,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    quotas = load_recipe(tmp_path / 'out' / 'recipe.json').domains['ferry'].quotas
    assert (quotas['train'], quotas['test_renamed']) == (1, 1)


def test_lessons_are_made_of_requests_that_were_written(tmp_path: Path) -> None:
    written = DATA / 'requests' / 'engineer.jsonl'
    options = ('--groups', 10, '--size', 3, '--jobs', 1, '--written')
    done = run('lessons', tmp_path / 'out', '--mix', 'requests', *options, written)
    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in (tmp_path / 'out' / 'train.jsonl').open()]
    asked = [json.loads(line)['request'] for line in written.open()]
    told = [line['prompt'][0]['content'].partition('Request: ')[2] for line in lines]
    assert {*told} & {*asked}
    for mix, file in (('plans', written), ('requests', DATA / 'requests' / 'blocks.pddl')):
        assert run('lessons', tmp_path / 'other', '--mix', mix, *options, file).exit_code != 0


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['build', 'OUT', '--recipe', 'nowhere.json'], 'nowhere.json: cannot be read'),
        (['build', 'OUT', '--domain', 'boats'], "there is no domain 'boats': use blocksworld"),
        (['build', 'OUT', '--train', '3', '--test-renamed', '4'], 'test_renamed: exceeds train'),
        (['merge', 'OUT'], 'recipe.json: cannot be read'),
        (['check', 'OUT'], 'OUT does not exist'),
        (['check', '--against', 'OUT', '--partial', '--no-val'], 'OUT does not exist'),
        (['stats', 'OUT'], 'OUT does not exist'),
        (['stats', '.'], 'statistics.json: cannot be read'),
    ],
)
def test_bad_input_is_an_error_with_a_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*words)
    assert isinstance(done.exception, SafegenError)
    assert message in done.exception.message
    assert is_bad_input(done.exception)
    assert not (tmp_path / 'OUT').exists()


@pytest.mark.nightly
def test_a_domain_that_the_recipe_lacks_gets_values_of_its_own(
    recipe: Path, tmp_path: Path
) -> None:
    done = run(
        'build', tmp_path / 'out', '--recipe', recipe, '--domain', 'blocksworld', '--train', 3,
        '--test', 0, '--test-renamed', 1, '--no-val', '--jobs', 1,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    rows = (tmp_path / 'out' / 'train.jsonl').read_text().splitlines()
    assert {json.loads(row)['domain'] for row in rows} == {'blocksworld'}


def test_a_recipe_becomes_a_model(safegen: CommandLine, tmp_path: Path) -> None:
    data = write_dataset(tmp_path / 'data', 4, 1, ['ferry'])
    recipe = write_recipe(tmp_path / 'short.yaml', SHORT, data__folder=str(data), budget__steps=1)
    out = tmp_path / 'run'
    status, shown, _ = safegen('train', 'sft', '--config', recipe, '--out', out)
    assert (status, f'model: {out}/model' in shown.splitlines()) == (0, True)
    assert (out / 'model' / 'config.json').exists()
    for words, cure in (
        (('sft', '--config', recipe, '--out', out), 'resume it (--resume)'),
        (('grpo', '--config', recipe, '--out', tmp_path / 'new'), 'use train sft'),
    ):
        status, _, error = safegen('train', *words)
        assert (status, cure in ' '.join(error.split())) == (ExitStatus.BAD_INPUT, True)
