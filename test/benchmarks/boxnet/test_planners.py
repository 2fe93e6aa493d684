# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Scores of models on BoxNet2D: every kind of failure in its column, and runs that go on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
from support.boxnet_planner import ScriptedPlanner, untrained_boxnet

from safegen_ros.benchmarks.boxnet.planners import (
    RUNS,
    TrialRecord,
    compare,
    figures,
    run_rows,
    spread,
)
from safegen_ros.datasets.boxnet.draw import GRID, UNSOLVABLE, tasks
from safegen_ros.datasets.boxnet.recipe import Block, Split
from safegen_ros.datasets.boxnet.rows import BoxNetRow, make_rows
from safegen_ros.errors import BackendError, SafegenError
from safegen_ros.llm.backend import Message, Sampling
from safegen_ros.llm.transformers_backend import TransformersBackend
from safegen_ros.paths import data_path
from safegen_ros.tasks.boxnet.answers import REFUSAL
from safegen_ros.tasks.boxnet.model import Plan, Task
from safegen_ros.tasks.boxnet.planner import FULL, HELD, NEXT, PlannerOptions, plan_with_model
from safegen_ros.tasks.boxnet.prompts import answer_text, full_prompt, style_of

SAMPLING = Sampling(seed=1)


def rows(variant: str, count: int) -> list[BoxNetRow]:
    split = Split('test', variant, True, ((2, 2),), (2,), count, count)
    return list(make_rows(Block(split, (2, 2), 2, count), 0))


SOLVABLE = rows(GRID, 3)
FIRST = {full_prompt(row.task): row for row in SOLVABLE}


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
    assert (score.trials, score.success) == (12, 25)
    assert {n: score.more[n] for n in ('unreachable', 'collision', 'incomplete')} == {
        'unreachable': 25, 'collision': 0, 'incomplete': 50,
    }  # fmt: skip
    assert score.failures == {'format': 25, 'precond': 25, 'safety': 0, 'goal': 25}
    assert (score.more['vs optimal'], score.more['at once']) == (0, 1)
    assert score.more['reward'] == pytest.approx((1.1 + 0.1 + 0 + 0) / 4)


def test_runs_that_are_kept_are_not_made_again(tmp_path: Path) -> None:
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
    unsolvable = rows(UNSOLVABLE, 2)
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
UNTRAINED = TASKS[::2]
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
    assert solved(untrained_boxnet(tmp_path), FULL, UNTRAINED) <= len(UNTRAINED) // 2
    size = sum(path.stat().st_size for path in MODEL.rglob('*') if path.is_file())
    assert size < 15_000_000
