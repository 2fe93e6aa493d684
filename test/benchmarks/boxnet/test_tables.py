# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A small model on all splits of BoxNet2D: both modes, plain and shielded, beside the paper."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.boxnet_planner import HeldPlanner, ScriptedPlanner

from safegen_ros.benchmarks.boxnet.tables import (
    MEASURED,
    SPLITS,
    UNTRAINED,
    Asked,
    BoxnetStudy,
    stages_to_ask,
    tables,
)
from safegen_ros.benchmarks.measurement import silent
from safegen_ros.benchmarks.tables import markdown
from safegen_ros.datasets.boxnet.draw import GRID, UNSOLVABLE
from safegen_ros.datasets.boxnet.recipe import Block, Split
from safegen_ros.datasets.boxnet.rows import BoxNetRow, make_rows
from safegen_ros.llm.backend import Completion, Message, Sampling
from safegen_ros.tasks.boxnet.prompts import MapStyle
from safegen_ros.tasks.boxnet.rule_planner import steady_plan
from safegen_ros.tasks.boxnet.words import WHOLE, answer_words, map_words

SIZES = (3, 2), (2, 2)


def rows(split: str) -> list[BoxNetRow]:
    variant = UNSOLVABLE if split == 'test_unsolvable' else GRID
    return [
        row
        for size in SIZES
        for row in make_rows(Block(Split(split, variant, True, SIZES, (1,), 4, 2), size, 1, 1), 0)
    ]


DATA = {split: rows(split) for split in SPLITS}
KNOWN = {
    word
    for found in DATA.values()
    for row in found
    for word in map_words(row.task, row.task.start, WHOLE)
}
SAID = {
    ' '.join(map_words(row.task, row.task.start, WHOLE)): answer_words(
        row.task, row.task.start, steady_plan(row.task, row.task.start)
    )
    for found in DATA.values()
    for row in found
}


class Right(HeldPlanner):
    """Knows whole plans alone; where it is not held it does first what does not reach."""

    def __init__(self) -> None:
        super().__init__(lambda messages, sampling: ' '.join(SAID.get(messages[-1]['content'], [])))

    def generate(self, messages: Sequence[Message], *args: Any, **more: Any) -> Completion:
        found = super().generate(messages, *args, **more)
        words = found.text.split()
        bad = [*words[:4], '9.25', '9.25', 'go', 'then'] if len(words) > 1 else []
        return replace(found, text=' '.join([*bad, *words]))


@pytest.fixture
def study(tmp_path: Path) -> BoxnetStudy:
    for split, found in DATA.items():
        lines = ''.join(row.to_line() for row in found)
        (tmp_path / f'{split}.jsonl').write_text(lines, encoding='utf-8')
    return BoxnetStudy(tmp_path, tmp_path / 'runs', Sampling(seed=0), trials=2, rows=0, at_once=2)


@pytest.mark.parametrize(
    ('served', 'besides'),
    [
        ({'PT': 'pt', 'SFT': '.', 'GRPO': 'grpo'}, [('after reinforcement', 'grpo')]),
        ({'GRPO': '.', 'SFT': 'sft', 'PT': 'pt'}, [('before reinforcement', 'sft')]),
        ({'PT': 'pt', 'SFT': '.'}, []),
    ],
)
def test_all_stages_of_a_model_are_measured_and_the_untrained_one_last(
    tmp_path: Path, served: dict[str, str], besides: list[tuple[str, str]]
) -> None:
    for folder in served.values():
        (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / 'stages.json').write_text(json.dumps(served))
    assert stages_to_ask(tmp_path) == [
        (tmp_path.name, tmp_path, MEASURED),
        *((name, tmp_path / folder, MEASURED) for name, folder in besides),
        (UNTRAINED, tmp_path / 'pt', {'test': MEASURED['test']}),
    ]


def test_a_model_may_come_without_its_untrained_network(tmp_path: Path) -> None:
    (tmp_path / 'stages.json').write_text('{"SFT": "."}')
    assert stages_to_ask(tmp_path) == [(tmp_path.name, tmp_path, MEASURED)]


def test_every_split_mode_and_shield_has_a_line_beside_the_paper(study: BoxnetStudy) -> None:
    style = MapStyle({*KNOWN, 'next'})
    models = [
        Asked('mini', Right(), style, MEASURED),
        Asked(UNTRAINED, ScriptedPlanner(lambda *_: 'so so'), style, {SPLITS[0]: ('plain',)}),
    ]
    every, by_objects = tables(models, study, 'DATA', ('a fact',), silent)
    success = {(line.group, line.case, line.whose): line.figures.success for line in every.lines}
    for split in SPLITS[:-1]:
        assert success[split, 'FULLPLAN, plain', 'mini'] == 0
        assert success[split, 'FULLPLAN, shielded', 'mini'] == 100
        assert success[split, 'REPLAN, plain', 'mini'] == 0
    assert success['test_unsolvable', 'FULLPLAN, plain', 'mini'] == 100
    assert success['test_unsolvable', 'FULLPLAN, plain', 'paper: Qwen3-4B-RL*'] == 98
    assert success['test', 'FULLPLAN, beam', 'mini'] == 100
    assert success['test', 'FULLPLAN, plain', UNTRAINED] == 0
    assert ('test_unsolvable', 'FULLPLAN, shielded', 'mini') not in success
    assert success['test', 'REPLAN, plain', 'paper: Qwen3-4B-RL'] == 75
    assert ('randrob', 'FULLPLAN, plain', UNTRAINED) not in success
    assert {line.case for line in by_objects.lines} == {'1 object'}
    page = markdown(every)
    assert 'Printed by `safegen bench boxnet tables DATA`' in page
    assert 'No state is entered twice' in page
    assert '| 2 0 0 0 |' in page
    assert '| unseenmap | FULLPLAN, plain | paper: Qwen2.5-3B-RL | - | 35.0 | - |' in page
    first = every.measured[0]
    assert (first['split'], first['findings']) == ('test', {'unreachable': 4})


def test_runs_that_are_kept_are_not_made_again(study: BoxnetStudy) -> None:
    backend = Right()
    models = [Asked('mini', backend, MapStyle({*KNOWN, 'next'}), MEASURED)]
    before = tables(models, study, 'DATA', (), silent)
    asked = len(backend.asked)
    assert tables(models, study, 'DATA', (), silent)[0].lines == before[0].lines
    assert len(backend.asked) == asked
