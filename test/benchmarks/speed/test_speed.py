# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of speed take every figure, of work whose result is known."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from safegen_ros.benchmarks.measurement import silent
from safegen_ros.benchmarks.speed import concurrency, corpus, validator
from safegen_ros.benchmarks.speed import shield as bench_shield
from safegen_ros.benchmarks.speed.concurrency import draw_tasks
from safegen_ros.benchmarks.speed.corpus import Case, draw_cases
from safegen_ros.benchmarks.speed.shield import along, byte_tokenizer, token_costs
from safegen_ros.benchmarks.speed.validator import measure
from safegen_ros.errors import SafegenError
from safegen_ros.llm.backend import Completion, Message, Sampling
from safegen_ros.llm.decoding.logits_processors import ShieldProcessor
from safegen_ros.llm.decoding.shield import TextShield
from safegen_ros.llm.decoding.token_trie import token_trie
from safegen_ros.pddl.plan import Plan
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle, plan_syntax
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.admissible import Shield
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


MADE = kits()['blocksworld'].problem(0)


@pytest.fixture(scope='module')
def small() -> Any:
    return byte_tokenizer([MADE.text], size=400, files=1)


def _written(tokenizer: Any, plan: Plan) -> tuple[TextShield, list[int]]:
    written = plan_syntax(InstructStyle(), MADE.problem)
    ends = {tokenizer.eos_token_id}
    shield = TextShield(Shield(MADE.problem), written, token_trie(tokenizer), ends)
    ids = tokenizer(written.plan(plan), add_special_tokens=False)['input_ids']
    return shield, [*ids, tokenizer.eos_token_id]


def test_every_token_of_a_plan_is_timed(small: Any) -> None:
    import torch

    shield, ids = _written(small, MADE.witness)
    taken = list(along(shield, ids, MADE.witness, torch.randn(1, len(small))))
    assert len(taken) == len(ids)
    assert min(taken) > 0.0


def test_a_plan_that_the_shield_refuses_is_not_measured(small: Any) -> None:
    import torch

    wrong = Plan(MADE.witness.steps[1:])
    shield, ids = _written(small, wrong)
    with pytest.raises(SafegenError, match='the shield refuses token'):
        list(along(shield, ids, wrong, torch.randn(1, len(small))))


@pytest.mark.nightly
def test_the_figures_are_those_of_the_processor(
    small: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_shield, 'byte_tokenizer', lambda texts: small)
    honest = ShieldProcessor.__call__

    def slow(self: ShieldProcessor, input_ids: Any, scores: Any) -> Any:
        begun = time.process_time()
        while time.process_time() - begun < 2e-3:
            pass
        return honest(self, input_ids, scores)

    monkeypatch.setattr(ShieldProcessor, '__call__', slow)
    found = list(token_costs(1, 0, silent))
    means = [each for each in found if each.name.endswith('mean')]
    assert [each.name.split(', ')[2] for each in means] == [
        'safegen-mini of 369 tokens', f'byte-level BPE of {len(small)} tokens',
    ]  # fmt: skip
    for each in means:
        assert each.target == 100.0
        assert each.reached is False
        assert each.value is not None
        assert each.value > 2000.0


def test_without_torch_the_figure_is_missing_and_not_made_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bench_shield, 'find_spec', lambda name: None)
    (missing,) = token_costs(1, 0, silent)
    assert (missing.value, missing.reached) == (None, None)
    assert 'torch is missing' in missing.note


ASKED = InstructStyle(), 1, 'model, search', 0
WAIT_S = 60.0


class Script:
    """Knows a plan for each problem of some domains, and answers no call but the first alone."""

    def __init__(self, right: Sequence[str], at_once: int) -> None:
        style = InstructStyle()
        self.plans = {
            style.messages(task.problem, [])[0]['content']: str(solve(task.problem).plan)
            for task in draw_tasks(1, 0)
            if task.problem.domain.name in right
        }
        self.asked: Counter[str] = Counter()
        self._together = threading.Barrier(at_once)

    def generate(self, messages: Sequence[Message], sampling: Sampling, *_: Any) -> Completion:
        first = messages[0]['content']
        if self.asked:
            self._together.wait(WAIT_S)
        self.asked[first] += 1
        return Completion(self.plans.get(first, 'I do not know.'), 50, 10, 0.0, 'stop')


def test_every_goal_is_served_and_labelled_with_who_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(concurrency, 'AT_ONCE', (2,))
    right = [task.problem.domain.name for task in draw_tasks(1, 0)]
    told: list[tuple[str, int, int]] = []
    plain, shared = Script(right, 1), Script(right, 2)
    report = concurrency.measure(plain, shared, *ASKED, lambda *stage: told.append(stage))
    assert len(plain.asked) == len(shared.asked) == len(kits())
    assert plain.asked.total() == 1 + 3 * len(kits())
    assert shared.asked.total() == plain.asked.total() + len(kits())
    assert told[-1] == ('goals', 1, 1)
    figures = {m.name: m for m in report.measurements}
    assert '4 answers, 10.0 tokens each' in figures['plain generate, one after the other'].note
    rate = figures['2 at once'].value
    assert rate is not None
    assert rate > 0
    by_model = figures['2 goals at once: proved plans by the model']
    assert (by_model.value, by_model.note) == (100, 'of 4 goals: 4 by model')


def test_what_the_search_planner_answers_is_not_the_models(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(concurrency, 'AT_ONCE', (1,))
    report = concurrency.measure(Script([], 1), Script(['ferry'], 1), *ASKED, lambda *stage: None)
    figures = {m.name: m for m in report.measurements}
    by_model = figures['1 goal at once: proved plans by the model']
    assert (by_model.value, by_model.note) == (25, 'of 4 goals: 1 by model, 3 by search')
    assert figures['1 goal at once: goal to proved plan, median'].target == 1.0
