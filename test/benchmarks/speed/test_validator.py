# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The validator's benchmark measures what it says: mixed plans, true rivals, memory that shows."""

from __future__ import annotations

import pytest

from safegen_ros.benchmarks.measurement import silent
from safegen_ros.benchmarks.speed import corpus, validator
from safegen_ros.benchmarks.speed.corpus import Case, draw_cases
from safegen_ros.benchmarks.speed.validator import measure
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.validator import Validator, verify


@pytest.fixture(scope='module')
def cases() -> list[Case]:
    """A small corpus."""
    return draw_cases(2, 12, 0, silent)


def test_the_corpus_has_all_domains_and_all_kinds_of_plans(cases: list[Case]) -> None:
    assert {case.domain for case in cases} == set(kits())
    assert all(len(set(case.plans)) == len(case.plans) == 12 for case in cases)
    verdicts = [verify(case.problem, plan).category for case in cases for plan in case.plans]
    assert set(verdicts) == set(Category) - {Category.UNKNOWN}
    assert verdicts.count(Category.SUCCESS) > len(verdicts) / 5
    assert all(verify(case.problem, case.plans[0]).ok for case in cases)
    assert not any(verify(case.problem, case.plans[1]).ok for case in cases)


def test_plans_that_drain_a_battery_succeed_and_fail_by_it(cases: list[Case]) -> None:
    drained = [corpus.with_numbers(case) for case in cases]
    reasons = [verify(case.problem, plan).reason for case in drained for plan in case.plans]
    assert any('the goal holds' in reason for reason in reasons)
    assert any('battery' in reason for reason in reasons)


def test_a_seed_gives_the_same_corpus(cases: list[Case]) -> None:
    assert draw_cases(1, 6, 3, silent) == draw_cases(1, 6, 3, silent)
    assert draw_cases(1, 6, 4, silent)[0].plans != draw_cases(1, 6, 3, silent)[0].plans


def test_memory_that_is_kept_shows(cases: list[Case], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, 'MIXED_PLANS', 150)
    monkeypatch.setattr(corpus, 'SETTLED_PLANS', 50)
    kept: list[bytes] = []
    honest = Validator.verify

    def leaking(self: Validator, plan: str) -> Verdict:
        kept.append(bytes(5_000))
        return honest(self, plan)

    flat = next(corpus.memory(cases[:1], silent)).value
    monkeypatch.setattr(Validator, 'verify', leaking)
    leak = next(corpus.memory(cases[:1], silent)).value
    assert flat is not None
    assert leak is not None
    assert 4_500 < leak - flat < 7_000


@pytest.mark.nightly
def test_every_figure_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, 'MIXED_PLANS', 60)
    monkeypatch.setattr(corpus, 'SETTLED_PLANS', 30)
    monkeypatch.setattr(corpus, 'LARGE_STEPS', 400)
    monkeypatch.setattr(validator, '_ROUNDS', 1)
    up = validator.up_seconds
    monkeypatch.setattr(validator, 'up_seconds', lambda cases, notify: up(cases[:1], notify))
    report = measure(1, 6, 0, silent)
    found = {m.name: m for m in report.measurements}
    assert len(found) == len(report.measurements)
    targets = [m.target for m in report.measurements if m.target is not None]
    assert targets == [150.0, 200.0, 100.0, 100.0, 50.0, 1.0, corpus.MOST_GROWTH_B]
    for name, figure in found.items():
        if figure.value is None:
            assert (name, figure.note) == (
                f'{validator.UP} / {validator.KEPT}',
                validator.UP_MISSING,
            )
        elif 'memory' not in name:
            assert figure.value > 0, name
    val, ours = found[validator.VAL], found[validator.KEPT]
    assert val.value is not None
    assert ours.value is not None
    assert found[f'{validator.VAL} / {validator.KEPT}'].value == pytest.approx(
        val.value / ours.value
    )
    assert report.details['timed plans'] == 3 * len(kits())
