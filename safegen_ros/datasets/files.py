# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Files of a dataset: digests, lines of JSON, and files that are whole or not there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, TypeVar

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.schema import SchemaReader


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
