# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads the files that a user names, with errors that say what to do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.sexpr import MAX_TEXT

_GAP = r'(?:\s|;[^\n]*\n)*'
_BEGINNING = re.compile(
    rf'{_GAP}\({_GAP}define{_GAP}\({_GAP}(domain|problem)(?=[\s();])', re.IGNORECASE
)


def pddl_kind(text: str) -> str:
    """`domain` or `problem`, as a PDDL text begins; empty for any other text."""
    found = _BEGINNING.match(text)
    return found[1].lower() if found else ''


def read_text(path: Path, what: str) -> str:
    """The text of a file.

    Args:
        path: the file; it may be a pipe.
        what: what it should hold, for messages: `problem`, `domain` or `plan`.

    Raises:
        SafegenError: there is no such file, it is too large, or it is not UTF-8 text.
    """
    try:
        with path.open('rb') as stream:
            return read_stream(stream, str(path), what)
    except OSError as error:
        raise SafegenError(
            f'{path}: the {what} cannot be read: {error.strerror}: check the path',
            ErrorCode.BAD_PDDL,
        ) from error


def read_stream(stream: BinaryIO, name: str, what: str) -> str:
    """The rest of a stream as text.

    Args:
        stream: where to read.
        name: its name, for messages.
        what: as in `read_text`.

    Raises:
        SafegenError: there is too much, or it is not UTF-8 text.
    """
    data = stream.read(MAX_TEXT + 1)
    if len(data) > MAX_TEXT:
        raise SafegenError(
            f'{name}: the {what} has more bytes than the limit of {MAX_TEXT:,}: '
            'give one problem, not a collection',
            ErrorCode.TASK_TOO_LARGE,
        )
    try:
        return data.decode('utf-8-sig').replace('\r\n', '\n').replace('\r', '\n')
    except UnicodeDecodeError as error:
        raise SafegenError(
            f'{name}: the {what} is not UTF-8 text (byte {error.start}): save it as plain text',
            ErrorCode.BAD_PDDL,
        ) from error
