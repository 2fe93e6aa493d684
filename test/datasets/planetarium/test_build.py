# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Builds small datasets: the same bytes every time, whatever stops them, and nothing wrong in."""

from __future__ import annotations

import json
import random
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest
from support.strategies import one_in

from safegen_ros.benchmarks.measurement import silent
from safegen_ros.datasets.builder import WORK
from safegen_ros.datasets.files import DatasetError, RecipeError
from safegen_ros.datasets.planetarium.build import build, check, load_statistics
from safegen_ros.datasets.planetarium.layouts import LayoutTask, partitions, space_of, tasks_of
from safegen_ros.datasets.planetarium.pairs import (
    ABSTRACTIONS,
    Pair,
    kits,
    make_pairs,
    read_pairs,
    size_bin,
)
from safegen_ros.datasets.planetarium.recipe import (
    PAPER,
    SPLITS,
    PlanetariumRecipe,
    load_recipe,
    plan_items,
    recipe_of,
    scaled,
)
from safegen_ros.datasets.workers import HERE, Workers
from safegen_ros.paths import data_path
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.reader import read_problem
from safegen_ros.tasks.planetarium.domains import find_plan, planetarium_domain

SMALL = PlanetariumRecipe(
    pairs={
        'blocksworld': {'train': 17, 'test': 3},
        'gripper': {'train': 14, 'test': 3},
        'floor-tile': {'train': 0, 'test': 5},
    },
    block_size=5,
)


@pytest.fixture(scope='module')
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp('planetarium') / 'out'
    assert build(out, SMALL, HERE, silent)
    return out


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_dataset_has_the_rows_that_its_recipe_asks_for(built: Path) -> None:
    found: Counter[tuple[str, str]] = Counter()
    for split in SPLITS:
        for pair in read_pairs(built / f'{split}.jsonl'):
            found[pair.domain, pair.split] += 1
            assert pair.split == split
    wanted = {(d, s): n for d, splits in SMALL.pairs.items() for s, n in splits.items() if n}
    assert found == wanted
    assert check(built, HERE, silent) == 42
    assert not build(built, SMALL, HERE, silent)
    assert not (built / WORK).exists()


def test_the_bytes_are_those_of_earlier_releases(built: Path) -> None:
    digest = sha256((built / 'manifest.json').read_bytes()).hexdigest()
    assert digest == 'b87d81ec2aa5105d4f366382d36f334ba5d246415a6fc6ff66092a301a07d3c2'


def test_statistics_count_every_row(built: Path) -> None:
    for domain, counts in load_statistics(built).items():
        for name in ('split', 'abstraction', 'size', 'task', 'fold', 'placeholder'):
            assert sum(counts[name].values()) == sum(SMALL.pairs[domain].values())
        assert counts['abstraction'].keys() <= set(ABSTRACTIONS)


def test_a_build_that_was_stopped_goes_on_and_gives_the_same_bytes(
    built: Path, tmp_path: Path
) -> None:
    class PowerCut(Exception):
        pass

    def cut(stage: str, done: int, total: int) -> None:
        if done >= 5:
            raise PowerCut

    out = tmp_path / 'out'
    with pytest.raises(PowerCut):
        build(out, SMALL, HERE, cut)
    there = list((out / WORK).rglob('*.jsonl'))
    assert there
    made = []
    counting = Workers(
        1, lambda function, *given: made.append(given) or HERE.submit(function, *given)
    )
    assert build(out, SMALL, counting, silent)
    blocks = sum(-(-len(plan_items(SMALL, split)) // SMALL.block_size) for split in SPLITS)
    assert len(made) == blocks - len(there)
    assert contents(out) == contents(built)


@pytest.mark.parametrize(
    ('old', 'new', 'said'),
    [
        ('"placeholder": false', '"placeholder": true', 'not what its fields say'),
        ('nothing rests on b1', 'nothing rests on b2', 'not what its fields say'),
        ('(:goal (and ', '(:goal (and (on b1 b1) ', 'not what its fields say'),
        ('"size": "', '"size": "9', 'not what its fields say'),
        ('"id": "', '"id": "x', 'not what its fields say'),
        ('"start": "', '"start": "x', 'not what its fields say'),
        ('"fold"', '"fould"', "unknown field 'fould'"),
    ],
)
def test_check_finds_rows_that_are_wrong(
    built: Path, tmp_path: Path, old: str, new: str, said: str
) -> None:
    out = tmp_path / 'out'
    out.mkdir()
    for name, content in contents(built).items():
        (out / name).write_bytes(content)
    path = out / 'train.jsonl'
    lines = path.read_text().splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if old in line and 'blocksworld' in line)
    lines[at] = lines[at].replace(old, new, 1)
    path.write_text(''.join(lines))
    with pytest.raises(DatasetError, match=r'train\.jsonl: is not what the manifest says'):
        check(out, HERE, silent)
    manifest = json.loads((out / 'manifest.json').read_text())
    manifest['files']['train.jsonl'] = sha256(path.read_bytes()).hexdigest()
    (out / 'manifest.json').write_text(json.dumps(manifest))
    with pytest.raises(DatasetError, match=said):
        check(out, HERE, silent)


def test_the_shipped_recipe_asks_for_the_rows_of_the_paper() -> None:
    recipe = load_recipe(data_path('config/planetarium/paper.json'))
    assert recipe.pairs == PAPER
    items = {split: plan_items(recipe, split) for split in SPLITS}
    rows = {split: sum(item.pairs for item in found) for split, found in items.items()}
    assert (rows, sum(rows.values())) == ({'train': 129_975, 'test': 15_943}, 145_918)
    numbers = [(i.task.domain, i.task.name, i.number) for found in items.values() for i in found]
    assert len(set(numbers)) == len(numbers)


def test_a_scaled_recipe_has_exactly_so_many_rows() -> None:
    for rows in (1, 7, 300, 2_000):
        assert sum(map(scaled(PlanetariumRecipe(), rows).total, SPLITS)) == rows


def test_another_seed_takes_other_problems() -> None:
    items = [
        plan_items(PlanetariumRecipe(seed=seed, pairs=SMALL.pairs), 'train') for seed in (0, 0, 1)
    ]
    assert items[0] == items[1]
    assert items[0] != items[2]


@pytest.mark.parametrize(
    ('values', 'said'),
    [
        ({'seed': -1}, 'seed: is -1'),
        ({'version': 2}, 'this program makes 1'),
        ({'name': ''}, 'give the dataset a name'),
        ({'pairs': {}}, 'name domains'),
        ({'pairs': {'rover': {}}}, "there is no 'rover'"),
        ({'pairs': {'gripper': {'train': 1}}}, "field 'test' is missing"),
        ({'pairs': {'gripper': {'train': 1, 'test': '2'}}}, 'pairs.gripper.test'),
    ],
)  # fmt: skip
def test_a_bad_recipe_is_refused_by_name(values: object, said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        recipe_of(values, 'r.json')


def test_a_recipe_that_asks_for_too_much_says_how_much_there_is() -> None:
    pairs = {'floor-tile': {'train': 0, 'test': 30_000}}
    with pytest.raises(RecipeError, match=r'there are only 25,7\d\d'):
        plan_items(PlanetariumRecipe(pairs=pairs), 'test')


TASKS = [task for kit in kits().values() for task in tasks_of(kit)]


def task_named(domain: str, name: str) -> LayoutTask:
    (found,) = (task for task in TASKS if (task.domain, task.name) == (domain, name))
    return found


def problem_of(pair: Pair) -> Problem:
    return read_problem(pair.problem, planetarium_domain(pair.domain))


def some(task: LayoutTask, seed: int = 0) -> list[Pair]:
    """The rows of a problem of a task, of the smaller ones."""
    size = len(space_of(kits()[task.domain], task.start, task.goal))
    number = random.Random(seed).randrange(min(size, 40))
    return make_pairs(task, number, 4, False, 0)


def test_the_tasks_are_all_that_make_sense_and_the_test_split_is_the_papers() -> None:
    assert {d: sum(task.domain == d for task in TASKS) for d in kits()} == {
        'blocksworld': 38,
        'gripper': 32,
        'floor-tile': 11,
    }
    held_out = {task.name for task in TASKS if task.split == 'test' and task.domain != 'floor-tile'}
    assert {'swap_to_swap', 'invert_to_invert', 'juggle_to_juggle'} <= held_out
    assert {name.partition('_to_')[2] for name in held_out} == {
        'swap', 'invert', 'juggle', 'drop_and_pickup', 'focus_min',
    }  # fmt: skip
    assert all(task.split == 'test' for task in TASKS if task.domain == 'floor-tile')


@pytest.mark.parametrize('task', one_in(4, TASKS), ids=lambda task: f'{task.domain}-{task.name}')
def test_every_task_has_problems_with_a_plan(task: LayoutTask) -> None:
    pairs = some(task)
    assert len(pairs) == len(task.abstractions)
    problem = problem_of(pairs[0])
    find_plan(problem)
    for pair in pairs:
        assert pair.problem == pairs[0].problem
        assert pair.placeholder == (task.placeholders and pair.abstraction != ABSTRACTIONS[0])


def test_descriptions_are_those_that_a_second_reader_has_read() -> None:
    """It shared only the words with the writer, and read each as a problem equivalent to its own.

    Who changes a description reads it, and then changes the digest.
    """
    found = sha256()
    for task in TASKS:
        size = len(space_of(kits()[task.domain], task.start, task.goal))
        for number in (0, size // 3, size - 1):
            for shuffled in (False, True):
                for pair in make_pairs(task, number, 4, shuffled, 0):
                    found.update(pair.to_line().encode())
    digest = '203426d0ffbb675ba9055d5864c1fc5190fbede0d6e8cadef20f9b0269809141'
    assert found.hexdigest() == digest


def test_explicit_descriptions_can_be_in_any_order() -> None:
    task = task_named('gripper', 'n_room_distributed_to_n_room_distributed')
    plain, mixed = (make_pairs(task, 30_000, 1, shuffled, 0)[0] for shuffled in (False, True))
    assert sorted(plain.text) == sorted(mixed.text)
    assert plain.text != mixed.text
    assert make_pairs(task, 30_000, 1, True, 1)[0].text != mixed.text


def test_problems_of_a_task_are_numbered_without_repetition() -> None:
    for domain, name in (('blocksworld', 'staircase_to_towers'), ('gripper', 'holding_to_holding')):
        task = task_named(domain, name)
        space = space_of(kits()[domain], task.start, task.goal)
        found = {space.problem(number) for number in range(len(space))}
        assert len(found) == len(space)


def test_partitions_are_those_that_there_are() -> None:
    assert partitions(5, 3) == ((5,), (1, 4), (1, 1, 3), (1, 2, 2), (2, 3))
    assert len(partitions(20, 20)) == 627
    assert partitions(5, 3, 2) == ((5,), (2, 3))


def test_sizes_are_those_of_the_paper() -> None:
    sizes = [size_bin(count) for count in (1, 20, 21, 60, 61, 80, 81, 900)]
    assert sizes == ['1-20', '1-20', '21-40', '41-60', '61-80', '61-80', '>80', '>80']
