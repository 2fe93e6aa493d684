# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The list of the files of a dataset, written last: with it, the dataset is whole."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safegen_ros.datasets.files import DatasetError, file_digest, folder_digest
from safegen_ros.errors import ErrorCode

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
    try:
        values: Any = json.loads(path.read_text(encoding='utf-8'))
        return Manifest(values['recipe'], dict(values['files']), dict(values['folders']))
    except OSError as error:
        raise DatasetError(
            f'{path}: cannot be read: {error.strerror}: the dataset is not whole; build it again'
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise DatasetError(f'{path}: is no manifest: {error}: build the dataset again') from error


def read_statistics(folder: Path) -> dict[str, Any]:
    """The values of the statistics of a dataset.

    Raises:
        DatasetError: there are none, or they are unreadable.
    """
    path = folder / STATISTICS
    try:
        values = json.loads(path.read_text(encoding='utf-8'))
    except OSError as error:
        raise DatasetError(
            f'{path}: cannot be read: {error.strerror}: name the folder of a dataset that is built',
            ErrorCode.BAD_PDDL,
        ) from error
    except ValueError as error:
        raise DatasetError(f'{path}: is not JSON: {error}: build the dataset again') from error
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
