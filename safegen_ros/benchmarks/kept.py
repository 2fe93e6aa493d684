# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Folders of answers that a measurement goes on in: all of them are of one model, asked alike."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safegen_ros.datasets.failures import writing
from safegen_ros.errors import ErrorCode, SafegenError


def claim(folder: Path, made: Mapping[str, Any]) -> None:
    """Makes a folder, or goes on in one whose answers were made alike.

    Args:
        folder: of the answers.
        made: how they are made, as values of JSON: the model and all that its answers depend on.

    Raises:
        SafegenError: the answers there were made otherwise, or the folder cannot be written.
    """
    path = folder / 'made.json'
    text = json.dumps(made, indent=1) + '\n'
    if path.exists() and path.read_text(encoding='utf-8') != text:
        raise SafegenError(
            f'{path}: what is kept here is of another model or other options: choose another '
            'folder',
            ErrorCode.BAD_PDDL,
        )
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')
