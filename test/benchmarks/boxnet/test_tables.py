# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A small model on all splits of BoxNet2D: both modes, plain and shielded, beside the paper."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from support.boxnet_planner import HeldPlanner, ScriptedPlanner, untrained_boxnet

from safegen_ros.benchmarks.boxnet.planners import (
    RUNS,
    TrialRecord,
    compare,
    figures,
    run_rows,
    spread,
)
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
from safegen_ros.datasets.boxnet.draw import GRID, UNSOLVABLE, tasks
from safegen_ros.datasets.boxnet.recipe import Block, Split
from safegen_ros.datasets.boxnet.rows import BoxNetRow, make_rows
from safegen_ros.errors import BackendError, SafegenError
from safegen_ros.llm.backend import Completion, Message, Sampling
from safegen_ros.llm.transformers_backend import TransformersBackend
from safegen_ros.paths import data_path
from safegen_ros.tasks.boxnet.answers import REFUSAL
from safegen_ros.tasks.boxnet.model import Plan, Task
from safegen_ros.tasks.boxnet.planner import FULL, HELD, NEXT, PlannerOptions, plan_with_model
from safegen_ros.tasks.boxnet.prompts import MapStyle, answer_text, plan_prompt, style_of
from safegen_ros.tasks.boxnet.rule_planner import RulePlanner
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
        row.task, row.task.start, RulePlanner(row.task).plan(row.task.start)
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


SAMPLING = Sampling(seed=1)


def rows_of(variant: str, count: int) -> list[BoxNetRow]:
    split = Split('test', variant, True, ((2, 2),), (2,), count, count)
    return list(make_rows(Block(split, (2, 2), 2, count), 0))


SOLVABLE = rows_of(GRID, 3)
FIRST = {plan_prompt(row.task, whole=True): row for row in SOLVABLE}


def by_trial(messages: Sequence[Message], sampling: Sampling) -> str:
    """Right in the first trial; then a collision-free end short of the goal, a reach, and prose."""
    plan: Plan = FIRST[messages[0]['content']].plan or ()
    trial = sampling.seed // 10_000 - 1
    away = f'[{{"Robot 0": "{plan[0][0].text.partition(" ->")[0]} -> [9.0, 9.0], False"}}]'
    return (
        answer_text('so', plan, whole=True), answer_text('so', plan[:1], whole=True), away, 'Sure!',
    )[trial]  # fmt: skip


def test_failures_are_counted_as_the_paper_does(tmp_path: Path) -> None:
    found = run_rows(SOLVABLE, ScriptedPlanner(by_trial), SAMPLING, PlannerOptions(), tmp_path)
    assert len(found) == 12
    score = figures(found)
    assert (score.trials, score.success) == (3, 25)
    assert {n: score.more[n] for n in ('unreachable', 'collision', 'incomplete')} == {
        'unreachable': 25, 'collision': 0, 'incomplete': 50,
    }  # fmt: skip
    assert score.failures == {'format': 25, 'precond': 25, 'safety': 0, 'goal': 25}
    assert (score.more['vs optimal'], score.more['at once']) == (0, 1)
    assert score.more['reward'] == pytest.approx((1.1 + 0.1 + 0 + 0) / 4)


def test_kept_trials_are_not_made_again(tmp_path: Path) -> None:
    asked = 0

    def breaks(messages: Sequence[Message], sampling: Sampling) -> str:
        nonlocal asked
        asked += 1
        if asked == 6:
            raise BackendError('gone')
        return by_trial(messages, sampling)

    with pytest.raises(SafegenError, match='gone'):
        run_rows(SOLVABLE, ScriptedPlanner(breaks), SAMPLING, PlannerOptions(), tmp_path)
    kept = (tmp_path / RUNS).read_text()
    (tmp_path / RUNS).write_text(kept[:-20])  # as a kill leaves it
    backend = ScriptedPlanner(by_trial)
    found = run_rows(SOLVABLE, backend, SAMPLING, PlannerOptions(), tmp_path)
    assert len(backend.asked) == 12 - 4
    fresh = run_rows(
        SOLVABLE, ScriptedPlanner(by_trial), SAMPLING, PlannerOptions(), tmp_path / 'fresh'
    )
    assert found == fresh
    for other in ({'sampling': Sampling(seed=2)}, {'model': 'another'}):
        with pytest.raises(SafegenError, match='of another model or other options'):
            run_rows(
                SOLVABLE, backend, **{'sampling': SAMPLING} | other, options=PlannerOptions(),
                folder=tmp_path,
            )  # fmt: skip


def test_a_task_without_a_plan_is_solved_by_saying_so(tmp_path: Path) -> None:
    backend = ScriptedPlanner(lambda messages, sampling: REFUSAL)
    unsolvable = rows_of(UNSOLVABLE, 2)
    found = run_rows(unsolvable, backend, SAMPLING, PlannerOptions(), tmp_path, trials=1)
    assert figures(found).success == 100
    wrong = run_rows(SOLVABLE, backend, SAMPLING, PlannerOptions(), tmp_path / 'other', trials=1)
    assert (figures(wrong).success, figures(wrong).failures['goal']) == (0, 100)


def test_the_figures_of_the_paper_are_beside(tmp_path: Path) -> None:
    found = run_rows(
        SOLVABLE, ScriptedPlanner(by_trial), SAMPLING, PlannerOptions(), tmp_path, at_once=2
    )
    comparison = compare(found, 'scripted', PlannerOptions())
    best = next(line for line in comparison.lines if line.whose == 'paper: Qwen3-4B-RL')
    assert (best.figures.success, best.figures.more['StepDiff']) == (87, -0.84)
    assert (best.figures.more['unreachable'], best.figures.more['collision']) == (6, 5)
    assert [line.case for line in comparison.lines][-1] == '2 objects'
    values = json.loads(json.dumps(comparison.as_dict()))
    assert values['command'] == 'safegen bench boxnet eval'
    assert len(values['measured']) == len(found)
    assert all(isinstance(record, TrialRecord) for record in found)


def test_some_rows_come_from_all_over_a_split() -> None:
    some = spread(SOLVABLE * 5, 4)
    assert some == [(SOLVABLE * 5)[at] for at in (0, 3, 7, 11)]
    assert spread(SOLVABLE, 0) == spread(SOLVABLE, 9) == SOLVABLE


MODEL = data_path('models/safegen-boxnet-mini')
TASKS = [
    next(tasks((side, side), objects, 'shipped', held_out=True))
    for side, objects in product((3, 4, 5), (1, 2, 3))
]
FLOOR = 7
"""Of nine; below what was measured, since other processors round otherwise."""
SOME_TASKS = TASKS[::2]
"""A network that knows nothing writes long plans, which takes its time."""


def solved(folder: Path, mode: str, among: list[Task] = TASKS) -> int:
    backend, style = TransformersBackend(folder), style_of(str(folder))
    greedy = Sampling(temperature=0.0, max_new_tokens=200)
    held = PlannerOptions(mode, HELD, most_steps=12)
    found = (plan_with_model(task, backend, greedy, held, style=style) for task in among)
    return sum(run.judged.verdict.ok for run in found)


@pytest.mark.nightly
def test_the_shipped_model_has_learned_to_plan(tmp_path: Path) -> None:
    for mode in (FULL, NEXT):
        assert solved(MODEL, mode) >= FLOOR
    assert solved(untrained_boxnet(tmp_path), FULL, SOME_TASKS) <= len(SOME_TASKS) // 2
    size = sum(path.stat().st_size for path in MODEL.rglob('*') if path.is_file())
    assert size < 15_000_000
