# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A domain folder outside the package, to be spoilt and looked at."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from safegen_ros.tasks.pddl3 import domains
from safegen_ros.tasks.pddl3.domains import folders
from safegen_ros.tasks.pddl3.domains.inspection import new_domain

CACHED = (domains.kits, domains.domain_files, domains.builtin_domain, folders.folder_domain)


@pytest.fixture
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory whose domain folders are found until the test ends."""
    directory = tmp_path / 'own'
    directory.mkdir()
    monkeypatch.setenv(folders.SEARCH_PATH, str(directory))
    monkeypatch.setattr(domains, '__path__', list(domains.__path__))
    known = set(sys.modules)
    for cached in CACHED:
        cached.cache_clear()
    yield directory
    for cached in CACHED:
        cached.cache_clear()
    for name in set(sys.modules) - known:
        module = getattr(sys.modules[name], '__file__', None) or ''
        if module.startswith(str(directory)):
            del sys.modules[name]


@pytest.fixture
def courier(own_directory: Path) -> Path:
    """A fresh domain folder there."""
    folder = new_domain('courier', own_directory)
    for cached in CACHED:
        cached.cache_clear()
    return folder
