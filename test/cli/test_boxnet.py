# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench boxnet`: plans, verdicts, pictures, datasets and scores from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from support.model_server import MODEL, ModelServer
from typer.testing import CliRunner, Result

from safegen_ros.cli.main import app
from safegen_ros.errors import SafegenError
from safegen_ros.tasks.boxnet.model import BoxnetError

LISTING = 'examples/boxnet/listing10.json'


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ['bench', 'boxnet', *map(str, words)])


@pytest.fixture(scope='module')
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp('boxnet')
    sizes = {'held_out': True, 'sizes': [[2, 2]], 'objects': [1, 2], 'rows': 4, 'each': 2}
    splits = [
        {'name': 'test', 'variant': 'grid', **sizes},
        {'name': 'none', 'variant': 'unsolvable', **sizes},
    ]
    recipe = out / 'small.json'
    recipe.write_text(json.dumps({'name': 'small', 'seed': 0, 'splits': splits}))
    done = run('build', out / 'data', '--recipe', recipe, '--seed', 3, '--jobs', 1)
    assert done.exit_code == 0, done.output
    assert 'built:' in done.stdout
    assert '8.32' in done.stdout
    return out / 'data'


def test_a_plan_is_printed_verified_and_drawn(tmp_path: Path) -> None:
    done = run('solve', 'examples/boxnet/hand_over.json', '--render', tmp_path / 'plan.png')
    assert done.exit_code == 0, done.output
    assert 'the fewest there can be' in done.stderr
    assert (tmp_path / 'plan.png').read_bytes().startswith(b'\x89PNG')
    answer = tmp_path / 'answer.txt'
    answer.write_text(done.stdout)
    judged = run('verify', 'examples/boxnet/hand_over.json', answer)
    assert (judged.exit_code, judged.stdout) == (0, 'SUCCESS (ok): solved in 4 steps\n')


def test_the_plan_of_the_paper_is_judged_with_both_kinds_of_idle_arms(tmp_path: Path) -> None:
    plan = Path(__file__).parents[2] / 'examples/boxnet/listing10_plan.json'
    done = run('verify', LISTING, plan)
    assert (done.exit_code, done.stdout) == (0, 'SUCCESS (ok): solved in 8 steps\n')
    picture = tmp_path / 'collision.png'
    done = run('verify', LISTING, plan, '--idle-arms-block', '--render', picture)
    assert done.exit_code == 1
    assert 'step 2: Robot 4 and Robot 2 collide at [1.25, 1.25]' in done.stdout
    assert picture.stat().st_size > 5_000


def test_what_is_beyond_the_border_is_in_the_picture(tmp_path: Path) -> None:
    places = {'objects': [[3.5, 1.5]], 'targets': [[2.25, 1.25]], 'tips': [[2.75, 1.25]]}
    task, picture = tmp_path / 'task.json', tmp_path / 'task.png'
    task.write_text(json.dumps({'id': 'out', 'width': 3, 'height': 2, 'bases': [[3, 1]], **places}))
    done = run('render', task, picture)
    assert done.exit_code == 0, done.output
    # The object and its target have a colour of their own, and so much lies between them.
    blue = np.all(np.abs(imread(picture)[..., :3] - (0, 114 / 255, 178 / 255)) < 0.01, axis=-1)
    assert np.diff(np.flatnonzero(blue.any(axis=0))).max() > 40


def test_the_planner_of_the_paper_can_be_asked(built: Path) -> None:
    done = run('solve', built / 'test.jsonl', '--planner', 'paper', '--seed', 2)
    assert done.exit_code in (0, 1)
    assert 'by the A* of the paper' in done.stderr or 'its pruning' in done.stderr
    assert run('solve', LISTING, '--planner', 'magic').exit_code == 2


def test_an_unsolvable_task_is_told_with_its_proof() -> None:
    done = run('solve', 'examples/boxnet/unsolvable.json')
    assert done.exit_code == 1
    assert 'can only ever get to Robot 0' in done.stderr


def test_a_dataset_is_checked_and_its_tasks_are_found(built: Path, tmp_path: Path) -> None:
    assert '8 rows are what they promise' in run('check', built, '--jobs', 1).stdout
    assert 'proved' in run('stats', built).stdout
    ids = [json.loads(line)['id'] for line in (built / 'test.jsonl').read_text().splitlines()]
    done = run('render', built / 'test.jsonl', tmp_path / 'task.png', '--id', ids[-1])
    assert done.exit_code == 0, done.output
    with pytest.raises(SafegenError, match=r'name it \.png'):
        app(['bench', 'boxnet', 'render', LISTING, str(tmp_path / 'x.foo')])
    with pytest.raises(BoxnetError, match='has no task'):
        app(['bench', 'boxnet', 'render', str(built / 'test.jsonl'), 'x.png', '--id', 'other'])


@pytest.mark.nightly
def test_a_model_is_scored_beside_the_paper(built: Path, tmp_path: Path) -> None:
    with ModelServer() as server:
        words = ('eval', built, '--model', f'{server.url}#{MODEL}', '--out', tmp_path / 'out',
                 '--trials', 2, '--attempts', 2, '--plots')  # fmt: skip
        done = run(*words)
        assert done.exit_code == 0, done.output
        asked = len(server.requests)
        again = run(*words)
        assert (again.exit_code, len(server.requests)) == (0, asked)
    assert asked == 4 * 2 * 2
    assert 'paper:' in done.stdout
    page = (tmp_path / 'out' / 'boxnet.md').read_text()
    assert '| test | all | paper: Qwen3-4B-RL | 1000 | 87.0 |' in page
    figures = json.loads((tmp_path / 'out' / 'boxnet.json').read_text())
    assert (figures['lines'][0]['format'], figures['lines'][0]['incomplete']) == (100, 100)
    assert (tmp_path / 'out' / 'boxnet.png').stat().st_size > 5_000
    with pytest.raises(SafegenError, match='mode'):
        app(['bench', 'boxnet', *map(str, words[:-1]), '--mode', 'half'])


def test_what_models_learn_from_is_written(tmp_path: Path) -> None:
    sizes = {'held_out': False, 'sizes': [[2, 2]], 'objects': [1], 'rows': 2, 'each': 2}
    splits = [{'name': 'train', 'variant': 'grid', **sizes}]
    recipe = tmp_path / 'small.json'
    recipe.write_text(json.dumps({'name': 'small', 'seed': 0, 'splits': splits}))
    done = run('build', tmp_path / 'data', '--recipe', recipe, '--traces', '--jobs', 1)
    assert done.exit_code == 0, done.output
    assert 'full/train.jsonl: 2 traces' in done.stdout
    few = json.loads(Path('config/boxnet/mini.json').read_text())
    few |= {'tasks': 8, 'spatial': 0, 'validation': 1, 'sides': [2], 'objects': [1, 2]}
    recipe.write_text(json.dumps(few))
    done = run('lessons', tmp_path / 'lessons', '--recipe', recipe, '--jobs', 1)
    assert done.exit_code == 0, done.output
    assert ' lessons: ' in done.stdout
    assert (tmp_path / 'lessons' / 'train.jsonl').stat().st_size > 1_000


TASK = 'examples/boxnet/ur5e_hand_over.json'


def test_a_plan_is_solved_proved_and_run(tmp_path: Path) -> None:
    solved = run('solve', TASK)
    assert solved.exit_code == 0, solved.output
    assert 'Move [' in solved.stdout
    answer = tmp_path / 'plan.json'
    answer.write_text(solved.stdout)
    for depth in ('kinematic', 'physics'):
        judged = run('verify', TASK, answer, '--depth', depth)
        assert judged.stdout.startswith('SUCCESS (ok): solved in 5 steps'), depth
    done = run('run', TASK, answer)
    assert done.exit_code == 0, done.output
    assert done.stdout.count('ends as proved') == 5


def test_a_plan_that_is_refused_is_not_run(tmp_path: Path) -> None:
    answer = tmp_path / 'plan.json'
    answer.write_text('[{"Robot 0": "Move [2.75, 0.55], False"}]')
    done = run('run', TASK, answer)
    assert done.exit_code == 1
    assert 'PRECONDITION_VIOLATION' in done.stdout
    assert 'step 1: direct' not in done.stdout


def test_what_is_asked_wrongly_is_named() -> None:
    assert 'not one of analytic kinematic physics' in run('solve', TASK, '--depth', 'deep').output
    assert 'not one of ur5e mycobot_280' in run('compare', '--arm', 'puma').output
    flat = run('run', 'examples/boxnet/hand_over.json')
    assert 'arms without a shape' in flat.output


@pytest.mark.nightly
def test_depths_are_compared() -> None:
    done = run('compare', '--steps', 3, '--tasks', 0)
    assert done.exit_code == 0, done.output
    assert '3 random steps' in done.stdout
    assert 'kinematic and physics: agree' in done.stdout
    assert 'run in simulation' in done.stdout
