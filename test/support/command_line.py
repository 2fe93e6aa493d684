# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen` in this process: what a new one prints and ends with, without its second of a start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from safegen_ros.cli.main import main

ROOT = Path(__file__).parents[2]


class CommandLine:
    """Runs the entry point of `safegen` in the root of the repository."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capfd = capfd

    def __call__(self, *arguments: str | Path) -> tuple[int, str, str]:
        """Exit status, standard output and standard error; an error without a status is raised."""
        self._capfd.readouterr()
        with self._monkeypatch.context() as patch:
            patch.chdir(ROOT)
            patch.setattr(sys, 'argv', ['safegen', *map(str, arguments)])
            with pytest.raises(SystemExit) as ended:
                main()
        said = self._capfd.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return code, said.out, said.err
