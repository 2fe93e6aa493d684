# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Builds a dataset from its recipe; a build that was stopped goes on where it was.

Rows are made in blocks, each a file of its own that is whole or not there. A block follows from the
recipe alone, so that its bytes are the same whenever and wherever it is made. The manifest is
written last: with it, the dataset is whole.
"""

from __future__ import annotations

import fcntl
import json
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, TypeVar

from safegen_ros.datasets.failures import DatasetError, RecipeError, writing
from safegen_ros.datasets.files import LinesFile, folder_digest, tree_digest, write_atomically
from safegen_ros.datasets.manifest import MANIFEST, Manifest, is_whole
from safegen_ros.datasets.recipes import BaseRecipe
from safegen_ros.datasets.workers import Workers

RECIPE = 'recipe.json'
"""Name of the file in the folder of a dataset."""

WORK = '.work'
"""Name of the folder of the blocks within that of the dataset."""

Notify = Callable[[str, int, int], None]
"""Takes a stage, what is done of it, and how much there is."""


_T = TypeVar('_T')
_R = TypeVar('_R', bound=BaseRecipe)


@dataclass(frozen=True)
class Builder(Generic[_R]):
    """A kind of dataset whose blocks are known from the recipe.

    Attributes:
        load: reads the recipe file.
        blocks: the arguments of `compute` for every block, by split and in order.
        compute: makes the lines of a block.
        modules: folders of the modules that decide the bytes of a block.
        summary: more files, by name, from an iterator over all lines with their places.
    """

    load: Callable[[Path], _R]
    blocks: Callable[[_R], Mapping[str, Sequence[tuple[Any, ...]]]]
    compute: Callable[..., bytes]
    modules: tuple[Path, ...]
    summary: Callable[[Iterator[tuple[str, str]]], Mapping[str, str]] | None = None

    def build(self, folder: Path, recipe: _R, workers: Workers, notify: Notify) -> bool:
        """Builds a dataset, or what is missing of it; returns whether anything was.

        Raises:
            DatasetError: the folder holds something else or is in use, a row is not what it must
                be, or a file cannot be written.
            RecipeError: the folder is that of another recipe, or the recipe asks for too much.
        """
        return build_once(
            folder, recipe, self.load, lambda: self._make(folder, recipe, workers, notify)
        )

    def _make(self, folder: Path, recipe: _R, workers: Workers, notify: Notify) -> None:
        mark = f'{recipe.digest} {folder_digest({str(m): tree_digest(m) for m in self.modules})}'
        planned = {
            split: [
                (folder / WORK / split / f'{at:08d}.jsonl', given)
                for at, given in enumerate(given_all)
            ]
            for split, given_all in self.blocks(recipe).items()
        }
        every = [block for blocks in planned.values() for block in blocks]
        missing = [block for block in every if _unsealed(block[0], mark) is None]
        done = len(every) - len(missing)
        made = in_order(workers, self.compute, (given for _, given in missing))
        for (path, _), lines in zip(missing, made, strict=True):
            write_atomically(path, _seal(mark, lines) + lines)
            done += 1
            notify('blocks', done, len(every))
        digests: dict[str, str] = {}
        for split, blocks in planned.items():
            file = LinesFile(folder / f'{split}.jsonl')
            try:
                for path, _ in blocks:
                    file.add(_lines(path, mark))
                digests[f'{split}.jsonl'] = file.finish()
            finally:
                file.abandon()
        texts: dict[str, str] = {}
        if self.summary is not None:
            lines_of = (
                (line, f'{path}:{number}')
                for path, _ in every
                for number, line in enumerate(_lines(path, mark).decode().splitlines(), 1)
            )
            texts |= self.summary(lines_of)
        finish(folder, recipe, digests, texts)


def _seal(mark: str, lines: bytes) -> bytes:
    """A first line that says whether a block is whole and made by these modules."""
    return f'{mark} {sha256(lines).hexdigest()}\n'.encode()


def _unsealed(path: Path, mark: str) -> bytes | None:
    """The lines of a block; None where it is missing, damaged, or made by other modules."""
    if not path.exists():
        return None
    seal, _, lines = path.read_bytes().partition(b'\n')
    return lines if seal + b'\n' == _seal(mark, lines) else None


def _lines(path: Path, mark: str) -> bytes:
    lines = _unsealed(path, mark)
    if lines is None:
        raise DatasetError(f'{path}: was changed while the build ran: run the build again')
    return lines


def build_once(
    folder: Path, recipe: _R, load: Callable[[Path], _R], make: Callable[[], None]
) -> bool:
    """Makes a dataset that is not whole yet, alone in its folder; returns whether it did."""
    open_folder(folder, recipe, load)
    if is_whole(folder):
        return False
    with locked(folder):
        make()
    shutil.rmtree(folder / WORK, ignore_errors=True)
    return True


def open_folder(folder: Path, recipe: _R, load: Callable[[Path], _R]) -> None:
    """Makes a folder that of a recipe.

    Raises:
        DatasetError: it holds something else.
        RecipeError: it is that of another recipe.
    """
    path = folder / RECIPE
    if path.exists():
        difference = _difference(load(path), recipe)
        if difference:
            raise RecipeError(
                f'{path}: is another recipe ({difference}): choose another folder, or delete this '
                'one'
            )
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DatasetError(f'{folder}: holds other things: choose an empty or a new folder')
    write_atomically(path, recipe.to_json().encode())


def _difference(one: BaseRecipe, other: BaseRecipe) -> str:
    """The first thing in which two recipes differ; empty when they are equal."""
    ours, theirs = (dict(_leaves(json.loads(each.to_json()), '')) for each in (one, other))
    for place in [*ours, *theirs]:
        if ours.get(place) != theirs.get(place):
            return f'{place} is {ours.get(place)} there and {theirs.get(place)} here'
    return ''


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict):
        yield place, value
        return
    for name, part in value.items():
        yield from _leaves(part, f'{place}.{name}' if place else name)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps a second build out of a folder while this one is at work."""
    work = folder / WORK
    with writing(work):
        work.mkdir(parents=True, exist_ok=True)
        lock = (work / 'lock').open('w')
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DatasetError(
                f'{folder}: another build is at work there: wait for it or end it'
            ) from error
        yield


def finish(
    folder: Path,
    recipe: BaseRecipe,
    digests: Mapping[str, str],
    texts: Mapping[str, str],
    folders: Mapping[str, str] | None = None,
) -> None:
    """Writes what goes with the files of rows, and the manifest last.

    Args:
        folder: of the dataset.
        recipe: its recipe.
        digests: SHA-256 of the files that are there.
        texts: more files.
        folders: SHA-256 of folders of PDDL files.
    """
    every = {**texts, RECIPE: recipe.to_json()}
    for name, text in every.items():
        write_atomically(folder / name, text.encode())
    every_digest = {**digests, **{n: sha256(t.encode()).hexdigest() for n, t in every.items()}}
    manifest = Manifest(recipe.digest, dict(sorted(every_digest.items())), folders or {})
    write_atomically(folder / MANIFEST, manifest.to_json().encode())


def in_order(
    workers: Workers, function: Callable[..., _T], given: Iterable[tuple[Any, ...]]
) -> Iterator[_T]:
    """What a function makes of many arguments, in their order, with few of them under way."""
    waiting: deque[Future[_T]] = deque()
    for arguments in given:
        waiting.append(workers.submit(function, *arguments))
        if len(waiting) > 4 * workers.count:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
