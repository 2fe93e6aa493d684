# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Text that nobody vouches for stays text in every page."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import safegen_ros
from safegen_ros.record.present.html import LONGEST, PRESENT, environment, part, upto
from safegen_ros.untrusted import visible

HOSTILE = (
    '<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', "' onload='x", '</style><b>',
    '</textarea>', '<!--', ']]>', '&lt;', '\u202egnp.exe', '\x00\x1b[31m', 'a\u200bb', '\ud800',
    'javascript:alert(1)', '{{7*7}}', '\u2028',
)  # fmt: skip
TEMPLATES = sorted(Path(safegen_ros.__file__).parent.rglob('templates/*.html'))


@given(st.text(max_size=LONGEST) | st.sampled_from(HOSTILE))
def test_a_text_stays_a_text_between_tags_and_in_an_attribute(text: str) -> None:
    told = environment(PRESENT).from_string('<p title="{{ text }}">{{ text }}</p>')
    found = re.fullmatch(r'<p title="([^"<>]*)">([^<>]*)</p>', told.render(text=text))
    assert found is not None
    assert html.unescape(found[1]) == html.unescape(found[2]) == visible(text)
    found[0].encode()  # no surrogate is left


def test_what_a_template_has_drawn_goes_into_another_one_as_it_is() -> None:
    inner = part('note', '<b>')
    assert '<p>&lt;b&gt;</p>' in part('pair', [inner])
    assert '&lt;p&gt;' in part('pair', [str(inner) + ''])


def test_a_long_text_is_cut_and_says_so() -> None:
    assert upto('x' * 50, 10) == f'{"x" * 10} … (40 more characters)'
    assert '(6,000 more characters)' in part('note', 'x' * 10_000)


def test_numbers_are_short() -> None:
    assert 'x1="0.33"' in part('line', 1 / 3, 2.0, 0.0, 0.0)
    assert 'y1="2"' in part('line', 1 / 3, 2.0, 0.0, 0.0)


@pytest.mark.parametrize('path', TEMPLATES, ids=lambda path: path.name)
def test_no_page_lets_a_text_through_unescaped(path: Path) -> None:
    assert not re.search(r'\|\s*safe\b|autoescape', path.read_text(encoding='utf-8'))
