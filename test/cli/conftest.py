# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command line without a process of its own."""

from __future__ import annotations

import pytest
from support.command_line import CommandLine


@pytest.fixture
def safegen(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capfd)
