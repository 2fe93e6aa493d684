# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The order of examples in SFT: domains and weights as asked, a function of seed and epoch."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safegen_ros.training.samplers import BalancedSampler


@given(
    st.lists(
        st.tuples(st.sampled_from('abcd'), st.integers(1, 99), st.floats(0.1, 5)),
        min_size=1,
        max_size=200,
    ),
    st.integers(1, 16),
    st.integers(0),
)
def test_domains_and_weights_are_respected(
    items: list[tuple[str, int, float]], batch: int, seed: int
) -> None:
    domains, lengths, weights = map(list, zip(*items, strict=True))
    sampler = BalancedSampler(domains, lengths, weights, batch, seed)
    order = list(sampler)
    each = len(items) // len(set(domains))
    assert len(order) == len(sampler) == each * len(set(domains))
    assert set(Counter(domains[n] for n in order).values()) == {each}
    counts = Counter(order)
    for domain in set(domains):
        own = [n for n in range(len(items)) if domains[n] == domain]
        total = sum(weights[n] for n in own)
        for n in own:
            assert abs(counts[n] - each * weights[n] / total) < 1 + 1e-9
    assert order == list(BalancedSampler(domains, lengths, weights, batch, seed))


def test_without_weights_each_item_of_one_domain_comes_once() -> None:
    sampler = BalancedSampler(['a'] * 150, [1] * 150, [1.0] * 150, 8, 3)
    first = list(sampler)
    assert sorted(first) == list(range(150))
    sampler.set_epoch(1)
    assert sorted(sampler) == list(range(150))
    assert list(sampler) != first


def test_domains_are_taken_in_their_shares_all_the_way() -> None:
    domains = ['a'] * 100 + ['b'] * 600 + ['c'] * 100
    sampler = BalancedSampler(domains, [1] * 800, [1.0] * 800, 8, 3, {'a': 2.0, 'c': 0.5})
    order = list(sampler)
    assert len(order) == len(sampler) == 799  # 2, 1 and 0.5 parts in 3.5, rounded down
    counts = Counter(domains[n] for n in order)
    assert [counts[name] for name in 'abc'] == [457, 228, 114]
    half = Counter(domains[n] for n in order[:400])
    assert half['a'] / 400 == pytest.approx(2 / 3.5, abs=0.08)


def test_formats_are_mixed_all_the_way() -> None:
    """A weight must not bring its items early and leave the others for the end of the epoch."""
    weights = [3.0, 1.0] * 800
    order = list(BalancedSampler(['a'] * 1600, [1] * 1600, weights, 4, 1))
    for part in (order[:800], order[800:]):
        assert sum(n % 2 == 0 for n in part) / 800 == pytest.approx(0.75, abs=0.06)


def test_batches_hold_sequences_of_like_length() -> None:
    lengths = [(37 * n) % 200 for n in range(2000)]
    order = list(BalancedSampler(['a'] * 2000, lengths, [1.0] * 2000, 16, 1))
    batches = [[lengths[n] for n in order[i : i + 16]] for i in range(0, 2000, 16)]
    padding = sum(max(b) * len(b) - sum(b) for b in batches) / sum(lengths)
    assert padding < 0.1
