# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Pages are easy to read, and their links lead somewhere; see scripts/prose.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / 'scripts'))

import prose  # noqa: E402  # it is no package

MOST = 22
"""Hard sentences of all pages; lower it with what you rewrite."""


@pytest.mark.parametrize('page', prose.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert not [*prose.dead_links(page)]


def test_there_are_no_more_hard_sentences_than_there_were() -> None:
    hard = sum(len([*prose.findings(prose.read(page))]) for page in prose.pages())
    assert hard <= MOST


def test_a_hard_sentence_is_found() -> None:
    long = ' '.join(['word'] * (prose.LONGEST + 1))
    text = f'It works. {long.capitalize()}.\n\n    {long}\n\n| {long} |\n\nWho is asked is mended.'
    assert 'seconds to wait for a pending plan [default: 2.0]' in prose.read(prose.HELP)
    assert [found.split(':')[0] for found in prose.findings(text)] == [
        '31 words', "'mended', say fix", "'Who is asked', say planner",
    ]  # fmt: skip
