# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What can go wrong with a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safegen_ros.errors import ErrorCode, SafegenError


class DatasetError(SafegenError):
    """A dataset that cannot be built, or is not what it should be."""


class RecipeError(DatasetError):
    """A recipe that asks for what there is not."""

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
