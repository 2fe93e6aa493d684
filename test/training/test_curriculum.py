# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The order of prompts in GRPO: groups whole, domains alike, harder problems later."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.training_small import drawn

from safegen_ros.training.config import GrpoConfig
from safegen_ros.training.samplers import BUCKETS, CurriculumSampler, Shape

PHASES = GrpoConfig().curriculum
DOMAINS = ('blocksworld', 'ferry', 'grippers', 'spanner')
PLACES = [(domain, bucket) for domain in DOMAINS for bucket in BUCKETS for _ in range(10)]


def sampler(
    shape: Shape, seed: int = 1, places: list[tuple[str, str]] = PLACES
) -> CurriculumSampler:
    domains, buckets = zip(*places, strict=True)
    return CurriculumSampler(domains, buckets, [1.0] * len(places), PHASES, shape, seed)


@given(st.integers(1, 9), st.integers(2, 8), st.integers(1, 4), st.integers(1, 5), st.integers(0))
def test_groups_stay_together(
    prompts: int, generations: int, repeats: int, batches: int, seed: int
) -> None:
    shape = Shape(prompts, generations, repeats, batches)
    order = list(sampler(shape, seed))
    assert len(order) == len(sampler(shape, seed)) == prompts * generations * repeats * batches
    groups = [order[i : i + generations] for i in range(0, len(order), generations)]
    assert all(len(set(group)) == 1 for group in groups)
    for batch in range(batches):
        start = batch * repeats * prompts
        parts = [groups[start + i * prompts : start + (i + 1) * prompts] for i in range(repeats)]
        assert all(part == parts[0] for part in parts)
        assert len({group[0] for group in parts[0]}) == prompts
    taken = Counter(PLACES[group[0]][0] for group in groups)
    counts = [taken[domain] for domain in DOMAINS]
    assert max(counts) - min(counts) <= repeats


def test_rows_are_enough_for_what_is_asked() -> None:
    from safegen_ros.training.pddl3_world import enough_rows  # seconds, which no collection needs

    rows = [row for domain in ('ferry', 'spanner') for row in drawn(domain, 'train', 12)]
    assert enough_rows(rows, 100, 1) == rows
    some = enough_rows(rows, 5, 1)
    assert Counter(row.domain for row in some) == {'ferry': 5, 'spanner': 5}
    assert some == [row for row in rows if row in some] == enough_rows(rows, 5, 1)
    assert some != enough_rows(rows, 5, 2)


def test_every_batch_holds_all_domains() -> None:
    chosen = sampler(Shape(8, 8, 4, 50))
    for batch in range(50):
        assert set(Counter(PLACES[n][0] for n in chosen.prompts(batch)).values()) == {2}


def test_problems_become_harder_as_table_vii_says() -> None:
    batches = 1000
    chosen = sampler(Shape(4, 8, 1, batches))
    start = 0.0
    for end, *shares in PHASES:
        part = range(int(start * batches), int(end * batches))
        counts = Counter(PLACES[n][1] for batch in part for n in chosen.prompts(batch))
        total = sum(counts.values())
        for bucket, share in zip(BUCKETS, shares, strict=True):
            assert counts[bucket] / total == pytest.approx(share, abs=0.05)
        start = end


def test_a_batch_depends_on_seed_and_number_alone() -> None:
    shape = Shape(4, 2, 1, 20)
    order = list(sampler(shape))
    later = [n for batch in range(7, 20) for n in sampler(shape).prompts(batch) for _ in range(2)]
    assert order[7 * 8 :] == later
    assert order != list(sampler(shape, seed=2))


def test_buckets_that_a_domain_lacks_are_made_up_for() -> None:
    places = [('ferry', 'hard')] * 2 + [('spanner', 'easy')] + [('spanner', 'medium')]
    chosen = sampler(Shape(4, 2, 1, 30), places=places)
    for batch in range(30):
        counts = Counter(places[n][0] for n in chosen.prompts(batch))
        assert counts == {'ferry': 2, 'spanner': 2}


def test_weights_choose_between_formats() -> None:
    places = [('ferry', 'easy'), ('ferry', 'easy')]
    shape = Shape(1, 2, 1, 2000)
    chosen = CurriculumSampler(*zip(*places, strict=True), [3.0, 1.0], PHASES, shape, 1)
    counts = Counter(chosen.prompts(batch)[0] for batch in range(2000))
    assert counts[0] / 2000 == pytest.approx(0.75, abs=0.04)
