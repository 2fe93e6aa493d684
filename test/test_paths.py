# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where records are kept: where the user says, else here, else where a service may write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from safegen_ros.paths import runs_dir


def test_the_folder_of_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('SAFEGEN_RUNS_DIR', 'there')
    assert runs_dir() == tmp_path / 'there'
    monkeypatch.delenv('SAFEGEN_RUNS_DIR')
    assert runs_dir() == tmp_path / 'runs'
    (tmp_path / 'runs').mkdir()
    assert runs_dir() == tmp_path / 'runs'

    # Whoever runs the tests may be allowed to write everywhere.
    monkeypatch.setattr(os, 'access', lambda path, mode: path != tmp_path / 'runs')
    monkeypatch.setenv('XDG_STATE_HOME', str(tmp_path / 'state'))
    assert runs_dir() == tmp_path / 'state' / 'safegen' / 'runs'
    monkeypatch.delenv('XDG_STATE_HOME')
    assert runs_dir() == Path.home() / '.local' / 'state' / 'safegen' / 'runs'
