# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A build gives the same bytes however it comes about, and refuses what it must not touch."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from support.datasets_small import contents, silent, small_recipe
from support.waiting import wait_until

from safegen_ros.datasets.builder import WORK
from safegen_ros.datasets.files import MANIFEST, DatasetError, RecipeError, tree_digest
from safegen_ros.datasets.pddl3 import recipe as recipe_module
from safegen_ros.datasets.pddl3 import walk
from safegen_ros.datasets.pddl3 import walk as walk_module
from safegen_ros.datasets.pddl3.build import build, build_shard, merge, planned_blocks
from safegen_ros.datasets.pddl3.recipe import load_recipe
from safegen_ros.datasets.pddl3.walk import block_store, compute_block, domain_digest
from safegen_ros.datasets.workers import HERE, Workers, local_workers, ray_workers
from safegen_ros.tasks.pddl3.domains.folders import domain_folders

DYING = """
import multiprocessing, os, signal
from safegen_ros.cli.main import app

flush, left = os.fsync, [3]

def fsync(number):  # the machine fails while the third block is on its way to the disk
    left[0] -= 1
    if not left[0]:
        print(*(child.pid for child in multiprocessing.active_children()), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    flush(number)

if __name__ == '__main__':
    os.fsync = fsync
    app()
"""


def _is_alive(pid: int) -> bool:
    try:
        return Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[0] not in 'ZX'
    except OSError:
        return False


def test_the_bytes_are_those_of_earlier_releases(small: Path) -> None:
    digest = sha256((small / MANIFEST).read_bytes()).hexdigest()
    assert digest == '2820e64fadb1513766ab35c8ac15b1384b5ed8f6859f8c7fb6b31dc7c9060505'


def test_a_killed_build_goes_on_and_gives_the_same_bytes(small: Path, tmp_path: Path) -> None:
    out, recipe = tmp_path / 'out', tmp_path / 'recipe.json'
    recipe.write_text(small_recipe().to_json())
    command = [sys.executable, '-c', DYING, 'dataset', 'build', str(out), '--jobs', '2']
    killed = subprocess.run(
        [*command, '--recipe', str(recipe)], capture_output=True, text=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    workers = list(map(int, killed.stdout.split()))
    assert workers
    wait_until(lambda: not any(map(_is_alive, workers)), 'the end of the workers')
    blocks = out / WORK
    kept = [path for path in blocks.rglob('*') if path.is_file() and path.name != 'lock']
    assert [path.suffix for path in kept].count('.jsonl') == 1  # the recipe was flushed first
    assert [path.suffix for path in kept].count('.part') == 1
    assert not (out / MANIFEST).exists()
    (out / '.train.jsonl.1.part').write_text('half')
    again: list[str] = []
    with local_workers(2) as pair:
        assert build(out, small_recipe(), pair, lambda *told: again.append(told[0]))
    assert 'problems' in again
    assert contents(out) == contents(small)
    assert not blocks.exists()
    with local_workers(1) as one:
        assert not build(out, small_recipe(), one, silent)


def test_what_a_worker_raises_is_raised_here(tmp_path: Path) -> None:
    for jobs in (1, 2):
        with local_workers(jobs) as workers, pytest.raises(DatasetError, match='cannot be read'):
            workers.submit(load_recipe, tmp_path / 'recipe.json').result()


@pytest.mark.nightly
def test_blocks_of_a_domain_that_was_changed_are_made_again(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, made = small_recipe(), []
    build_shard(tmp_path, recipe, HERE, silent, index=0, of=1, blocks=1)
    monkeypatch.setattr(walk_module, 'domain_digest', lambda domain: f'{domain}, changed')

    def submit(work: Callable[..., Any], *given: Any) -> Future[Any]:
        made.extend([given[1:]] if work is compute_block else [])
        return HERE.submit(work, *given)

    assert build(tmp_path, recipe, Workers(1, submit), silent)
    assert {('ferry', 0), ('spanner', 0)} <= {*made}
    assert contents(tmp_path) == contents(small)


@pytest.mark.nightly
def test_shards_that_are_put_together_give_the_same_bytes(small: Path, tmp_path: Path) -> None:
    recipe, whole = small_recipe(), tmp_path / 'whole'
    for index in (2, 0, 1):
        part = tmp_path / f'part-{index}'
        build_shard(part, recipe, HERE, silent, index=index, of=3)
        shutil.copytree(part, whole, dirs_exist_ok=True)
    blocks = list((whole / WORK).glob('*/*.jsonl'))
    assert len(blocks) == sum(planned_blocks(recipe, domain) for domain in recipe.domains)
    merge(whole, HERE, silent)
    kept = {name: data for name, data in contents(whole).items() if not name.startswith(WORK)}
    assert kept == contents(small)
    assert [path for path in blocks if path.exists()] == blocks
    assert not build(whole, recipe, HERE, silent)
    (whole / 'train.jsonl').write_bytes((whole / 'train.jsonl').read_bytes()[:-1])
    (whole / 'test' / 'stray.pddl').write_text('')
    assert build(whole, recipe, HERE, silent)
    assert contents(whole) == contents(small)


def test_a_merge_says_which_blocks_are_missing(tmp_path: Path) -> None:
    recipe = small_recipe()
    build_shard(tmp_path, recipe, HERE, silent, index=0, of=1, blocks=2)
    with pytest.raises(
        DatasetError, match=r'ferry: 2 blocks are not enough, .* rows of train.* --blocks \d+'
    ):
        merge(tmp_path, HERE, silent)
    first, second = (block_store(tmp_path, recipe).path('ferry', index) for index in (0, 1))
    first.unlink()
    with pytest.raises(DatasetError, match=r'ferry: 1 blocks are missing or damaged \(0\): run'):
        merge(tmp_path, HERE, silent)
    second.write_bytes(b'half')
    with pytest.raises(DatasetError, match=r'2 blocks are missing or damaged \(0 1\): run'):
        merge(tmp_path, HERE, silent)


@pytest.mark.nightly
def test_a_ray_cluster_gives_the_same_bytes(small: Path, tmp_path: Path) -> None:
    if find_spec('ray') is None:
        pytest.skip('ray is not installed; it is the extra "cluster"')
    with ray_workers('local') as workers:
        assert workers.count >= 1
        assert build(tmp_path / 'out', small_recipe(), workers, silent)
        failed = workers.submit(load_recipe, tmp_path / 'recipe.json')
        assert isinstance(failed.exception(), DatasetError)
    assert contents(tmp_path / 'out') == contents(small)


def test_without_ray_the_cure_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('safegen_ros.datasets.workers.find_spec', lambda name: None)
    with pytest.raises(DatasetError, match='Ray is not installed: run '):
        ray_workers('local').__enter__()


def test_a_worker_that_is_killed_is_an_error_with_a_cure() -> None:
    with (
        pytest.raises(DatasetError, match=r'was ended from outside, .* same command again'),
        local_workers(2) as workers,
    ):
        workers.submit(os.kill, workers.submit(os.getpid).result(), signal.SIGKILL).result()


def test_the_folder_of_another_recipe_is_refused(small: Path) -> None:
    before = contents(small)
    with pytest.raises(RecipeError, match=r'another recipe \(seed is 3 there and 4 here\): choose'):
        build(small, small_recipe(seed=4), HERE, silent)
    domains = json.loads(small_recipe().to_json())['domains']
    domains['ferry']['quotas']['train'] = 9
    with pytest.raises(RecipeError, match=r'domains.ferry.quotas.train is 8 there and 9 here'):
        build(small, small_recipe(domains=domains), HERE, silent)
    assert contents(small) == before


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / 'thesis.tex').write_text('years of work')
    with pytest.raises(DatasetError, match='holds other things: choose an empty or a new folder'):
        build(tmp_path, small_recipe(), HERE, silent)
    assert [path.name for path in tmp_path.iterdir()] == ['thesis.tex']


def test_two_builds_do_not_share_a_folder(tmp_path: Path) -> None:
    build_shard(tmp_path, small_recipe(), HERE, silent, index=0, of=1, blocks=1)
    with (tmp_path / WORK / 'lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(DatasetError, match='another build is at work there'):
            build(tmp_path, small_recipe(), HERE, silent)


@pytest.mark.nightly
def test_a_build_that_cannot_be_filled_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe_module, '_PATIENCE', 3)
    domains = json.loads(small_recipe().to_json())['domains']
    spanner = domains['spanner'] | {
        'sizes': {'spanners': [2, 2], 'nuts': [2, 2], 'locations': [1, 1]},
        'weights': {'foundation-first': 1, 'taken-at-once': 1},
        'paper_share': 0.0,
    }
    with pytest.raises(DatasetError, match=r'spanner: \d of 8 rows of train.* lower the quotas'):
        build(tmp_path / 'o', small_recipe(domains={'spanner': spanner}), HERE, silent)
    assert not (tmp_path / 'o' / MANIFEST).exists()


RECIPE = small_recipe(block_size=3)


@pytest.fixture(scope='module')
def block() -> bytes:
    return compute_block(RECIPE, 'ferry', 1)


def test_a_block_reads_back(tmp_path: Path, block: bytes) -> None:
    store = block_store(tmp_path, RECIPE)
    assert store.read('ferry', 1) is None
    store.write('ferry', 1, block)
    assert store.whole('ferry', 1) == block
    assert len(block.splitlines()) == 3
    (path,) = (path for path in tmp_path.rglob('*') if path.is_file())
    assert path == store.path('ferry', 1)
    with pytest.raises(DatasetError, match=r'00000002.jsonl: was changed while the build ran'):
        store.whole('ferry', 2)


@pytest.mark.parametrize(
    'damage',
    [
        lambda block: block[:-20],
        lambda block: block[: len(block) // 2],
        lambda block: b'',
        lambda block: block.replace(b'ferry-', b'fairy-'),
        lambda block: block + b'"no room"\n',
    ],
)
def test_a_damaged_block_counts_as_missing(
    tmp_path: Path, block: bytes, damage: Callable[[bytes], bytes]
) -> None:
    store = block_store(tmp_path, RECIPE)
    store.write('ferry', 1, block)
    path = store.path('ferry', 1)
    path.write_bytes(damage(path.read_bytes()))
    assert store.read('ferry', 1) is None


def test_so_does_one_of_another_place_recipe_or_domain(
    tmp_path: Path, block: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = block_store(tmp_path, RECIPE)
    store.write('ferry', 1, block)
    shutil.copy(store.path('ferry', 1), store.path('ferry', 2))
    assert store.read('ferry', 2) is None
    assert block_store(tmp_path, replace(RECIPE, seed=9)).read('ferry', 1) is None
    monkeypatch.setattr(walk, 'domain_digest', lambda domain: f'{domain} with other actions')
    assert store.read('ferry', 1) is None


def test_every_file_of_a_domain_counts(tmp_path: Path) -> None:
    folder = tmp_path / 'ferry'
    shutil.copytree(domain_folders()['ferry'], folder)
    assert tree_digest(folder) == domain_digest('ferry')
    (folder / '__pycache__').mkdir(exist_ok=True)
    (folder / '__pycache__' / 'of_python.pyc').write_bytes(b'compiled')
    assert tree_digest(folder) == domain_digest('ferry')
    digests = {domain_digest('ferry')}
    for name in ('domain.pddl', '__init__.py'):
        (folder / name).write_bytes((folder / name).read_bytes() + b'\n')
        digests.add(tree_digest(folder))
    (folder / '__init__.py').rename(folder / 'init.py')
    digests.add(tree_digest(folder))
    (folder / 'words').mkdir()
    (folder / 'words' / 'more.txt').write_text('')
    digests.add(tree_digest(folder))
    assert len(digests) == 5


@pytest.fixture
def small_files_only() -> Iterator[None]:
    """Like a full disk: no file may become longer than 1000 bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures('small_files_only')
def test_a_disk_without_room_leaves_what_was_there(tmp_path: Path, block: bytes) -> None:
    store = block_store(tmp_path, RECIPE)
    assert len(block) > 1000
    with pytest.raises(DatasetError, match=r'00000001.jsonl: cannot be written: .*: make room'):
        store.write('ferry', 1, block)
    assert not [path for path in tmp_path.rglob('*') if path.is_file()]
    store.write('ferry', 1, b'short')
    with pytest.raises(DatasetError, match='cannot be written'):
        store.write('ferry', 1, block)
    assert store.read('ferry', 1) == b'short'
