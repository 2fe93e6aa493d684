# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Stop strings: an answer ends before the one that is whole first, however its text comes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import SUITE

from safegen_ros.llm.backend import Completion, Sampling, StopCut


@settings(SUITE, max_examples=60)
@given(
    st.text('ab', max_size=12),
    st.lists(st.text('ab', min_size=1, max_size=3), max_size=2),
    st.lists(st.integers(1, 4), max_size=12),
)
def test_a_text_is_cut_in_the_same_place_however_it_comes(
    text: str, stop: list[str], sizes: list[int]
) -> None:
    cut, place, given_on = StopCut(stop), 0, ''
    for size in [*sizes, 1, *[1] * len(text)]:
        given_on += cut.feed(text[place : place + size])
        place += size
    given_on += cut.finish()
    found = [(text.index(each) + len(each), text.index(each)) for each in stop if each in text]
    assert cut.stopped == bool(found)
    assert given_on == cut.text == (text[: min(found)[1]] if found else text)


def test_an_empty_stop_string_is_refused() -> None:
    with pytest.raises(ValueError, match='empty'):
        Sampling(stop=('',))


def test_tokens_per_second_are_those_after_the_first() -> None:
    assert Completion('', 5, 11, 3.0, 'stop', 1.0).tokens_per_s == 5
    assert Completion('', 5, 1, 1.0, 'stop', 1.0).tokens_per_s == 0
