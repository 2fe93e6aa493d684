# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is measured on the physics of the twin: towers, and figure 6."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import av
import pytest

from safegen_ros.benchmarks.pddl3.figure6 import Side, figure6, write_figure6
from safegen_ros.benchmarks.speed.twin import build_towers
from safegen_ros.benchmarks.subjects import Subject
from safegen_ros.errors import SafegenError
from safegen_ros.llm.transformers_backend import TransformersBackend
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.robot.cell.rehearsal import rehearse
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.twin.render import RenderError, backend
from safegen_ros.tasks.pddl3.prompts.styles import PromptStyle
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_task

SCENE = load_scene()
CROSSED = load_scene(Path(__file__).parents[3] / 'config' / 'figure6_scene.yaml')


def test_a_tower_stands_where_errors_are_small_and_is_told_of_where_they_are_not() -> None:
    (stands,) = build_towers(SCENE, 1, height=2, sigma_m=0.0005, seed=3)
    assert stands.said == ''
    assert 0.0 < stands.off_m < 0.006
    assert stands.simulated_s > 5.0
    (falls,) = build_towers(SCENE, 1, height=2, sigma_m=0.03, seed=3)
    assert 'rehearsal on the twin, step' in falls.said


@pytest.fixture(scope='module')
def task() -> Pddl3Task:
    """Three blocks, one of which has to move first."""
    return load_task(
        '(define (problem p) (:domain blocksworld) (:objects b1 b2 b3)'
        ' (:init (arm-empty) (on-table b1) (on-table b2) (on-table b3)'
        ' (clear b1) (clear b2) (clear b3))'
        ' (:goal (on b2 b1)) (:constraints (sometime-before (on b2 b1) (holding b3))))'
    )


def test_a_problem_whose_shortest_plan_is_safe_shows_nothing(
    task: Pddl3Task, word_backend: TransformersBackend, word_style: PromptStyle
) -> None:
    free = replace(task, problem=replace(task.problem, constraints=()))
    subject = Subject('random', '', 1, word_style, word_backend)
    with pytest.raises(SafegenError, match='take another problem'):
        figure6(free, CROSSED, subject, 0, 10.0)


@pytest.mark.nightly
def test_both_sides_are_written_as_video_picture_log_and_figures(
    task: Pddl3Task, tmp_path: Path
) -> None:
    try:
        backend()
    except RenderError as error:
        pytest.skip(str(error))
    sides = []
    for title, text in (('one', '(pickup b1)'), ('other', '(pickup b2)')):
        looks: list = []
        plan: Plan = parse_plan(text)
        went = rehearse(
            task.problem, plan, CROSSED, sample=lambda step, look, to=looks: to.append((step, look))
        )
        moves = tuple(look for look in looks if look[0] >= 0)
        sides.append(Side(title, plan, task.verify(plan), went, moves))
    video, log, figures, picture = write_figure6(
        (sides[0], sides[1]), CROSSED, {'seed': 1}, tmp_path
    )
    with av.open(str(video)) as opened:
        stream = opened.streams.video[0]
        assert stream.width == 2 * 640 + 8
        assert sum(1 for _ in opened.decode(stream)) > 25
    assert picture.read_bytes().startswith(b'\x89PNG')
    rows = list(csv.DictReader(log.open()))
    assert {(row['plan'], row['one'], row['other']) for row in rows} >= {
        ('one', 'tool', 'b1'),
        ('other', 'tool', 'b2'),
    }
    written = json.loads(figures.read_text())
    assert written['seed'] == 1
    assert [side['rehearsal'] for side in written['sides']] == ['SUCCESS', 'SUCCESS']
    assert [side['validator'] for side in written['sides']] == ['GOAL_NOT_SATISFIED'] * 2
