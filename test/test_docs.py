# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Pages are short, the generated ones are current, and the site is built without a warning."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / 'scripts'))

import docs_reference  # noqa: E402  # it is no package
import prose  # noqa: E402

GENERATED = docs_reference.pages()
LONGEST = 180  # lines: three screens
READ = [page for page in prose.pages() if ROOT / 'docs' in page.parents and page not in GENERATED]


@pytest.mark.parametrize('page', GENERATED, ids=lambda page: page.stem)
def test_a_generated_page_is_current(page: Path) -> None:
    assert page.read_text(encoding='utf-8') == GENERATED[page], 'run scripts/docs_reference.py'


@pytest.mark.parametrize('page', READ, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_fits_on_three_screens(page: Path) -> None:
    assert page.read_text(encoding='utf-8').count('\n') <= LONGEST


@pytest.mark.nightly
def test_the_site_is_built_without_a_warning() -> None:
    done = subprocess.run(['make', 'docs'], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, '')
    assert (ROOT / '.cache' / 'site' / 'index.html').is_file()
