# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Builds a dataset from its recipe; a build that was stopped goes on where it was.

Rows are made in blocks, each a separate file that is whole or missing. A block follows from the
recipe alone, so that its bytes are the same whenever and wherever it is made. The manifest is
written last: with it, the dataset is whole.
"""

from __future__ import annotations

import fcntl
import json
import shutil
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, TypeVar

from safegen_ros.datasets.files import (
    MANIFEST,
    BaseRecipe,
    DatasetError,
    LinesFile,
    Manifest,
    RecipeError,
    folder_digest,
    is_whole,
    tree_digest,
    write_atomically,
    writing,
)
from safegen_ros.datasets.workers import Workers

RECIPE = 'recipe.json'
"""Name of the file in the folder of a dataset."""

WORK = '.work'
"""Name of the folder of the blocks within that of the dataset."""

Notify = Callable[[str, int, int], None]
"""Takes a stage, its finished part, and its whole."""


_T = TypeVar('_T')
_R = TypeVar('_R', bound=BaseRecipe)


@dataclass(frozen=True)
class Builder(Generic[_R]):
    """A kind of dataset whose blocks are known from the recipe.

    Attributes:
        blocks: the arguments of `compute` for every block, by split and in order.
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
        store = BlockStore(folder, lambda split: mark)
        every = [
            WantedBlock(split, index, given)
            for split, given_all in self.blocks(recipe).items()
            for index, given in enumerate(given_all)
        ]
        files = {split: LinesFile(folder / f'{split}.jsonl') for split in self.blocks(recipe)}
        try:
            made = store.made(workers, self.compute, every)
            for done, (block, lines) in enumerate(zip(every, made, strict=True), 1):
                files[block.group].add(lines)
                notify('blocks', done, len(every))
            digests = {f'{split}.jsonl': file.finish() for split, file in files.items()}
        finally:
            for file in files.values():
                file.abandon()
        texts: Mapping[str, str] = {}
        if self.summary is not None:
            texts = self.summary(line for block in every for line in store.lines(block))
        finish(folder, recipe, digests, texts)


@dataclass(frozen=True, slots=True)
class WantedBlock:
    """A block that is wanted: its group, its number there, and its input."""

    group: str
    index: int
    given: tuple[Any, ...]


class BlockStore:
    """Blocks of lines, each in a file that is whole or missing, sealed by its input.

    A block that is damaged, or was made of something else, counts as missing and is made again.

    Args:
        mark: returns, for a group of blocks, everything that decides their bytes.
    """

    def __init__(self, folder: Path, mark: Callable[[str], str]) -> None:
        self.folder = folder / WORK
        self._mark = mark

    def path(self, group: str, index: int) -> Path:
        """The file of a block, whether it is there or not."""
        return self.folder / group / f'{index:08d}.jsonl'

    def read(self, group: str, index: int) -> bytes | None:
        """The lines of a block; None where it is missing."""
        path = self.path(group, index)
        try:
            seal, _, lines = path.read_bytes().partition(b'\n')
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DatasetError(f'{path}: cannot be read: {error.strerror}: fix that') from error
        return lines if seal == self._seal(group, index, lines) else None

    def whole(self, group: str, index: int) -> bytes:
        """The lines of a block that was there before.

        Raises:
            DatasetError: it is not there any more.
        """
        lines = self.read(group, index)
        if lines is None:
            path = self.path(group, index)
            raise DatasetError(f'{path}: was changed while the build ran: run the build again')
        return lines

    def lines(self, block: WantedBlock) -> Iterator[tuple[str, str]]:
        """The lines of a block that was there before, each with its place; raises as `whole`."""
        path, text = self.path(block.group, block.index), self.whole(block.group, block.index)
        for number, line in enumerate(text.decode().splitlines(), 1):
            yield line, f'{path}:{number}'

    def write(self, group: str, index: int, lines: bytes) -> None:
        """Keeps a block, so that after a power cut it is whole or not there.

        Raises:
            DatasetError: it cannot be written.
        """
        seal = self._seal(group, index, lines)
        write_atomically(self.path(group, index), seal + b'\n' + lines)

    def made(
        self, workers: Workers, compute: Callable[..., bytes], wanted: Iterable[WantedBlock]
    ) -> Generator[bytes, None, None]:
        """The lines of blocks in order; the missing ones are made, few of them at a time.

        Args:
            compute: makes the lines of a block from its input.
            wanted: the blocks, without end if the caller leaves when it has enough.

        Raises:
            DatasetError: a block cannot be made or written.
        """
        waiting: deque[tuple[WantedBlock, bytes | Future[bytes]]] = deque()
        try:
            for block in wanted:
                kept = self.read(block.group, block.index)
                if kept is None:
                    waiting.append((block, workers.submit(compute, *block.given)))
                else:
                    waiting.append((block, kept))
                if len(waiting) > workers.ahead:
                    yield self._kept(*waiting.popleft())
            while waiting:
                yield self._kept(*waiting.popleft())
        finally:
            for _, lines in waiting:
                if isinstance(lines, Future):
                    lines.cancel()

    def _kept(self, block: WantedBlock, lines: bytes | Future[bytes]) -> bytes:
        if isinstance(lines, bytes):
            return lines
        self.write(block.group, block.index, lines.result())
        return lines.result()

    def _seal(self, group: str, index: int, lines: bytes) -> bytes:
        return f'{self._mark(group)} {group} {index} {sha256(lines).hexdigest()}'.encode()


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
    """Writes what goes with the files of rows, and the manifest last."""
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
        if len(waiting) > workers.ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
