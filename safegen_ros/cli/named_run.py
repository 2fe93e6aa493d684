# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The run that a user means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from safegen_ros.cli.failures import EXIT_BAD_INPUT, print_error
from safegen_ros.paths import runs_dir
from safegen_ros.record.events import KeptRun
from safegen_ros.record.history import find_run
from safegen_ros.record.json_form import RecordError


def with_run(name: str, work: Callable[[Path, KeptRun], int]) -> int:
    """Does something with the run that a user means; a run that cannot be read is bad input."""
    try:
        found, kept = find_run(runs_dir(), name)
    except RecordError as error:
        print_error(error.message)
        return EXIT_BAD_INPUT
    return work(found, kept)
