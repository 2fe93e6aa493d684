# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Text that nobody vouches for."""

from __future__ import annotations

import html
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from safegen_ros.record.present.markup import element, escaped, list_html
from safegen_ros.untrusted import visible

HOSTILE = (
    '<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', "' onload='x", '</style><b>',
    '</textarea>', '<!--', ']]>', '&lt;', '\u202egnp.exe', '\x00\x1b[31m', 'a\u200bb', '\ud800',
    'javascript:alert(1)', '{{7*7}}', '\u2028',
)  # fmt: skip


@given(st.text() | st.sampled_from(HOSTILE))
def test_a_text_stays_a_text(text: str) -> None:
    safe = escaped(text, 10_000)
    assert not set('<>"\'') & set(safe)
    assert html.unescape(safe) == visible(text)
    safe.encode()  # no surrogate is left
    root = ElementTree.fromstring(element('p', safe, title=text[:50], data_told=text[:50]))
    assert not list(root)
    assert set(root.keys()) == {'title', 'data-told'}
    # A parser of XML takes any kind of line end for '\n'.
    assert (root.text or '').replace('\r', '\n') == visible(text).replace('\r', '\n')


def test_characters_that_hide_or_turn_others_are_seen() -> None:
    assert visible('a\u202eb') == 'a⟨U+202E⟩b'
    assert visible('\x1b[31m') == '⟨U+001B⟩[31m'
    assert visible('\ud800') == '⟨U+D800⟩'
    assert visible('für\n\tb1') == 'für\n\tb1'


def test_a_long_text_is_cut_and_says_so() -> None:
    assert escaped('x' * 50, 10) == f'{"x" * 10} … (40 more characters)'
    assert escaped('<' * 20, 10).startswith('&lt;' * 10)


def test_attributes() -> None:
    assert (
        element('a', 'x', class_='k', font_size=1.5, hidden=None)
        == '<a class="k" font-size="1.5">x</a>'
    )
    assert element('a', b=2.0, c=1 / 3) == '<a b="2" c="0.33"></a>'
    assert list_html(['a', 'b']) == '<ul><li>a</li><li>b</li></ul>'
