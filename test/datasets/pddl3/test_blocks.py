# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A block is whole or missing, whatever happens to it or to what it is made of."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.datasets_small import small_recipe

from safegen_ros.datasets.files import DatasetError, tree_digest
from safegen_ros.datasets.pddl3 import walk
from safegen_ros.datasets.pddl3.walk import block_store, compute_block, domain_digest
from safegen_ros.tasks.pddl3.domains.folders import domain_folders

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
