# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Files of a dataset: its recipe, its lines of JSON, and the list of the files, written last."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Annotated, Any, TypeVar

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.schema import Rule, SchemaReader, between


class DatasetError(SafegenError):
    """A dataset that cannot be built, or is not what it should be."""


class RecipeError(DatasetError):
    """A recipe that asks for unknown things."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ErrorCode.BAD_PDDL)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns what the system says about a file into a `DatasetError`."""
    try:
        yield
    except OSError as error:
        raise DatasetError(
            f'{path}: cannot be written: {error.strerror}: make room or choose another folder, '
            'and run the same command again; what is done is kept'
        ) from error


_CHUNK = 1 << 20
_Row = TypeVar('_Row')


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    digest = sha256()
    with path.open('rb') as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def folder_digest(files: Mapping[str, str]) -> str:
    """SHA-256 of the names and digests of the files of a folder."""
    lines = [f'{digest}  {name}\n' for name, digest in sorted(files.items())]
    return sha256(''.join(lines).encode()).hexdigest()


def tree_digest(folder: Path) -> str:
    """SHA-256 of the names and bytes of all files below a folder; Python's own are left out."""
    paths = [path for path in folder.rglob('*') if path.is_file()]
    return folder_digest(
        {
            path.relative_to(folder).as_posix(): file_digest(path)
            for path in paths
            if '__pycache__' not in path.relative_to(folder).parts
        }
    )


class LinesFile:
    """A file of lines that takes its name when it is finished, so that it is never half there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._scratch = path.with_name(f'.{path.name}.{os.getpid()}.part')
        self._digest = sha256()
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = self._scratch.open('wb')

    def add(self, lines: bytes) -> None:
        """Appends whole lines."""
        self._digest.update(lines)
        with writing(self._path):
            self._file.write(lines)

    def finish(self) -> str:
        """Gives it its name; returns its SHA-256."""
        with writing(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._scratch.replace(self._path)
        return self._digest.hexdigest()

    def abandon(self) -> None:
        """Removes what was not finished."""
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            self._scratch.unlink()


def write_atomically(path: Path, content: bytes) -> None:
    """Writes a file so that either the new content is whole, or the old one.

    Raises:
        DatasetError: it cannot be written.
    """
    file = LinesFile(path)
    try:
        file.add(content)
        file.finish()
    finally:
        file.abandon()


def write_groups(folder: Path, splits: Mapping[str, Sequence[Sequence[str]]]) -> int:
    """Writes the lines of groups into `SPLIT.jsonl`; returns how many lines; raises likewise."""
    texts = {name: [line for group in groups for line in group] for name, groups in splits.items()}
    for name, lines in texts.items():
        write_atomically(folder / f'{name}.jsonl', ''.join(lines).encode())
    return sum(map(len, texts.values()))


def _again(message: str) -> SafegenError:
    return DatasetError(f'{message}: build the dataset again')


def read_lines(
    path: Path, fail: Callable[[str], SafegenError] = _again
) -> Iterator[tuple[Any, str]]:
    """What each line of a JSON Lines file holds that is not blank, with file and line for messages.

    Args:
        fail: makes the error where it cannot be read, or a line is not JSON; adds the cure.
    """
    try:
        with path.open(encoding='utf-8') as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                place = f'{path}:{number}'
                try:
                    values = json.loads(line)
                except ValueError as error:
                    raise fail(f'{place}: is not JSON: {error}') from error
                yield values, place
    except OSError as error:
        raise fail(f'{path}: cannot be read: {error.strerror}: check the path') from error
    except UnicodeDecodeError as error:
        raise fail(f'{path}: cannot be read: {error}: write it in UTF-8') from error


def read_row(kind: type[_Row], values: Any, place: str) -> _Row:
    """The content of a line, as a row; raises `DatasetError` where it is not a row."""
    source = SchemaReader(
        place, lambda message: DatasetError(f'{message}, or build the dataset again')
    )
    return source.read(kind, values)


Name = Annotated[
    str, Rule(lambda name: bool(name.strip()) and name.isprintable(), 'give the dataset a name')
]
Seed = Annotated[int, between(0, 2**63 - 1)]
BlockSize = Annotated[int, between(1, 10_000)]


class BaseRecipe:
    """Everything that decides the bytes of a dataset; a dataclass of plain values."""

    __slots__ = ()

    def to_json(self) -> str:
        """The text of its file."""
        return json.dumps(asdict(self), indent=1) + '\n'  # type: ignore[call-overload]

    @property
    def digest(self) -> str:
        """The key that separates it from every other recipe."""
        return sha256(self.to_json().encode()).hexdigest()


def check_version(file: SchemaReader, found: int, wanted: int) -> None:
    """Raises where a recipe is for another way from a recipe to a dataset."""
    file.need(found == wanted, 'version', found, f'this program makes {wanted}')


def read_json(
    path: Path,
    fail: Callable[[str], SafegenError] = RecipeError,
    missing: str = 'name a recipe',
    wrong: str = 'correct it',
) -> Any:
    """What a JSON file holds, by default that of a recipe.

    Args:
        path: the file.
        fail: makes the error where it cannot be read, or is not JSON.
        missing: what to do where it cannot be read.
        wrong: what to do where it is not JSON.
    """
    try:
        return json.loads(path.read_text(encoding='utf-8'))
    except OSError as error:
        raise fail(f'{path}: cannot be read: {error.strerror}: {missing}') from error
    except ValueError as error:
        raise fail(f'{path}: is not JSON: {error}: {wrong}') from error


MANIFEST = 'manifest.json'
"""Name of the file in the folder of a dataset."""


STATISTICS = 'statistics.json'
"""Name of the file that says what is in a dataset, where there is one."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What belongs to a dataset.

    Attributes:
        files: SHA-256 of every file, by its path in the folder.
        folders: SHA-256 of every folder with the PDDL files of a split (`folder_digest`).
    """

    recipe: str
    files: Mapping[str, str]
    folders: Mapping[str, str]

    def to_json(self) -> str:
        """The text of its file."""
        return json.dumps(asdict(self), indent=1) + '\n'


def load_manifest(folder: Path) -> Manifest:
    """The manifest of a dataset.

    Raises:
        DatasetError: there is none, so the dataset is not whole, or it is unreadable.
    """
    path = folder / MANIFEST
    missing = 'the dataset is not whole; build it again'
    return read_row(
        Manifest, read_json(path, DatasetError, missing, 'build the dataset again'), str(path)
    )


def read_statistics(folder: Path) -> dict[str, Any]:
    """The values of the statistics of a dataset.

    Raises:
        DatasetError: there are none, or they are unreadable.
    """
    path = folder / STATISTICS
    values = read_json(
        path,
        lambda message: DatasetError(message, ErrorCode.BAD_PDDL),
        'name the folder of a dataset that is built',
        'build the dataset again',
    )
    if not isinstance(values, dict):
        raise DatasetError(f'{path}: holds no statistics: build the dataset again')
    return values


def is_whole(folder: Path) -> bool:
    """Whether a dataset is there, and every file is what its manifest says."""
    return (folder / MANIFEST).exists() and not any(faults(folder, load_manifest(folder)))


def check_files(folder: Path, recipe: str, *, partial: bool = False) -> Manifest:
    """Checks the files of a dataset; returns its manifest.

    Raises:
        DatasetError: the manifest belongs to another recipe, or a file is not what it says.
    """
    manifest = load_manifest(folder)
    if manifest.recipe != recipe:
        raise DatasetError(f'{folder / MANIFEST}: belongs to another recipe: build it again')
    for fault in faults(folder, manifest, partial=partial):
        raise DatasetError(fault)
    return manifest


def faults(folder: Path, manifest: Manifest, *, partial: bool = False) -> Iterator[str]:
    """What in a folder is not what its manifest says, a line for each."""
    for name, digest in manifest.files.items():
        path = folder / name
        if not path.is_file():
            if not partial:
                yield f'{path}: is missing: build the dataset again'
        elif file_digest(path) != digest:
            yield f'{path}: is not what the manifest says: build the dataset again'
    for name, digest in manifest.folders.items():
        path = folder / name
        if not path.is_dir():
            if not partial:
                yield f'{path}: is missing: build the dataset again'
        elif folder_digest({each.name: file_digest(each) for each in path.iterdir()}) != digest:
            yield f'{path}: its files are not what the manifest says: build the dataset again'
