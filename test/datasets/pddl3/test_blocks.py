# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A block is whole or not there, whatever happens while it is written."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.datasets_small import small_recipe

from safegen_ros.datasets.failures import DatasetError
from safegen_ros.datasets.files import tree_digest
from safegen_ros.datasets.pddl3 import blocks
from safegen_ros.datasets.pddl3.blocks import BlockStore, compute_block, domain_digest
from safegen_ros.tasks.pddl3.domains.folders import domain_folders

RECIPE = small_recipe(block_size=3)


@pytest.fixture(scope='module')
def block() -> bytes:
    return compute_block(RECIPE, 'ferry', 1)


def test_a_block_reads_back(tmp_path: Path, block: bytes) -> None:
    store = BlockStore(tmp_path, RECIPE)
    assert not store.has('ferry', 1)
    store.write('ferry', 1, block)
    assert store.has('ferry', 1)
    assert len(list(store.read('ferry', 1))) == 3
    (path,) = (path for path in tmp_path.rglob('*') if path.is_file())
    assert path == store.path('ferry', 1)
    with pytest.raises(DatasetError, match=r'00000002.jsonl: cannot be read: No such file'):
        list(store.read('ferry', 2))


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
def test_damage_is_seen(tmp_path: Path, block: bytes, damage: object) -> None:
    store = BlockStore(tmp_path, RECIPE)
    store.write('ferry', 1, damage(block))  # type: ignore[operator]
    with pytest.raises(DatasetError, match='is damaged or belongs to another recipe: delete it'):
        list(store.read('ferry', 1))


def test_a_block_of_another_place_or_recipe_is_refused(tmp_path: Path, block: bytes) -> None:
    store = BlockStore(tmp_path, RECIPE)
    store.write('ferry', 2, block)
    with pytest.raises(DatasetError, match='is damaged or belongs to another recipe'):
        list(store.read('ferry', 2))
    other = BlockStore(tmp_path, replace(RECIPE, seed=9))
    other.write('ferry', 1, block)
    with pytest.raises(DatasetError, match='is damaged or belongs to another recipe'):
        list(other.read('ferry', 1))


def test_a_block_of_another_version_of_a_domain_is_refused(
    tmp_path: Path, block: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = BlockStore(tmp_path, RECIPE)
    store.write('ferry', 1, block)
    monkeypatch.setattr(blocks, 'domain_digest', lambda domain: f'{domain} with other actions')
    with pytest.raises(
        DatasetError,
        match=rf'the domain ferry was changed since these blocks were made: remove {tmp_path}/.wor',
    ):
        list(store.read('ferry', 1))
    store.write('ferry', 1, block[:-20])
    with pytest.raises(DatasetError, match='is damaged or belongs to another recipe: delete it'):
        list(store.read('ferry', 1))


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
    store = BlockStore(tmp_path, RECIPE)
    assert len(block) > 1000
    with pytest.raises(DatasetError, match=r'00000001.jsonl: cannot be written: .*: make room'):
        store.write('ferry', 1, block)
    assert not store.has('ferry', 1)
    assert not [path for path in tmp_path.rglob('*') if path.is_file()]
    store.write('ferry', 1, b'short')
    with pytest.raises(DatasetError, match='cannot be written'):
        store.write('ferry', 1, block)
    assert store.path('ferry', 1).read_bytes() == b'short'
