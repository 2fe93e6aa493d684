# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the shield takes for a token is measured with the shield, and shows when it takes longer."""

from __future__ import annotations

import time
from typing import Any

import pytest

from safegen_ros.benchmarks.measurement import silent
from safegen_ros.benchmarks.speed import shield as bench_shield
from safegen_ros.benchmarks.speed.shield import along, byte_tokenizer, token_costs
from safegen_ros.errors import SafegenError
from safegen_ros.llm.decoding.logits_processors import ShieldProcessor
from safegen_ros.llm.decoding.shield import TextShield
from safegen_ros.llm.decoding.token_trie import token_trie
from safegen_ros.pddl.plan import Plan
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle, plan_syntax
from safegen_ros.verify.admissible import Shield

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
