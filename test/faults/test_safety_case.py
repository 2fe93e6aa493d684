# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""docs/safety.md names tests that exist, and the faults of the matrix."""

from __future__ import annotations

import ast
import fnmatch
import re
from pathlib import Path

from support.fault_matrix import EVERY_DAY, FAULTS, MATRIX
from support.fault_stack import TWIN

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / 'docs' / 'safety.md').read_text(encoding='utf-8')
ROWS = [
    line for line in TEXT.partition('## Hazards')[2].partition('\n## ')[0].splitlines()
    if line.startswith('| ')
][2:]  # fmt: skip
NAMED = re.compile(r'`(test/[\w/]+\.py)::(test_\w+)`')


def functions(file: str) -> set[str]:
    """The names of the tests in a file."""
    tree = ast.parse((ROOT / file).read_text(encoding='utf-8'))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_hazard_names_tests_that_exist() -> None:
    assert len(ROWS) > 15
    for row in ROWS:
        named = NAMED.findall(row)
        assert named, row
        for file, name in named:
            assert name in functions(file), f'{file}::{name}'


def test_every_fault_of_the_matrix_is_in_the_safety_case() -> None:
    named = {name for row in ROWS for name in re.findall(r'`([a-z_]+\*?)`', row)}
    for fault in FAULTS:
        assert any(fnmatch.fnmatch(fault, name) for name in named), fault


def test_the_rows_of_every_day_are_representative() -> None:
    assert set(MATRIX) >= EVERY_DAY
    assert {row.transport for row in EVERY_DAY} == {TWIN}
