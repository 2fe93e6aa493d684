# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The problems of a measurement, and what the shipped model does with them."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from safegen_ros.errors import BackendError
from safegen_ros.evaluation.evaluate import evaluate, model_checksum
from safegen_ros.evaluation.problems import NONE, draw_problems
from safegen_ros.llm.canonical import canonical_task, sketch_of
from safegen_ros.llm.vocabulary import task_text
from safegen_ros.pddl.writer import problem_text
from safegen_ros.search.solve import solve
from safegen_ros.verdict import Category
from safegen_ros.verify.validator import verify
from safegen_ros.worlds.pddl3.domains.blocksworld.generator import in_test_split
from safegen_ros.worlds.pddl3.task import load_task

MODEL = Path(__file__).parents[2] / 'models' / 'safegen-mini'
FAMILIES = ('sometime-before on-table', 'sometime', 'always not on-table', 'mixed', NONE)
FLOOR_PERCENT = 65


def test_problems_are_new_strict_and_solvable() -> None:
    problems = draw_problems(15, 4, FAMILIES)
    texts = [canonical_task(p.problem).prompt for p in problems]
    assert len(set(texts)) == 15
    for problem in problems:
        assert in_test_split(task_text(sketch_of(problem.problem)[0]))
        reference = verify(problem.problem, problem.reference)
        assert reference.category is Category.SUCCESS
        assert reference.plan_length == problem.reference_length
        assert (problem.family == NONE) == (not problem.problem.constraints)
        assert load_task(problem_text(problem.problem)).problem.goal == problem.problem.goal
    assert [p.text for p in draw_problems(5, 4, FAMILIES)] == [p.text for p in problems[:5]]
    smallest = min(problems, key=lambda p: p.reference_length)
    assert len(solve(smallest.problem, optimal=True).plan) == smallest.reference_length


def test_shipped_files_are_the_ones_that_were_measured() -> None:
    lines = (MODEL / 'checksums.sha256').read_text().splitlines()
    listed = {name: digest for digest, name in (line.split('  ') for line in lines)}
    present = {p.name for p in MODEL.iterdir() if p.name != 'checksums.sha256'}
    assert set(listed) == present
    for name, digest in listed.items():
        assert sha256((MODEL / name).read_bytes()).hexdigest() == digest, name
    assert sum(p.stat().st_size for p in MODEL.iterdir()) < 50_000_000
    steps = [json.loads(line) for line in (MODEL / 'training_log.jsonl').read_text().splitlines()]
    assert steps[-1]['validation_loss'] < 0.2 * steps[0]['loss']


def test_the_shipped_model_solves_unseen_problems() -> None:
    problems = draw_problems(40, 2026, FAMILIES)
    report = evaluate(MODEL, problems, 1, modes=('greedy', 'feedback'))
    greedy, feedback = report.results
    percent = 100 * greedy.tally().rate
    assert percent >= FLOOR_PERCENT, greedy.tally().as_dict()
    assert feedback.tally().successes >= greedy.tally().successes - 4
    solved = feedback.solved_by_attempt(5)
    assert solved == sorted(solved)
    assert solved[-1] == feedback.tally().successes
    values = json.loads(json.dumps(report.as_dict()))
    assert values['checksum'] == model_checksum(MODEL)
    assert values['results'][0]['total']['trials'] == 40
    assert sum(v['trials'] for v in values['results'][0]['by_size'].values()) == 40


def test_the_untrained_network_solves_nothing() -> None:
    problems = draw_problems(16, 2026, FAMILIES)
    report = evaluate(MODEL, problems, 1, modes=('untrained', 'greedy'), max_new_tokens=64)
    untrained, trained = report.results
    assert untrained.tally().successes <= 1
    assert trained.tally().successes >= 8
    assert model_checksum(MODEL) == report.checksum


def test_the_same_seed_gives_the_same_report() -> None:
    problems = draw_problems(6, 8, ('sometime', NONE))
    one, two = (evaluate(MODEL, problems, 3, modes=('sampled',)).results[0] for _ in range(2))
    assert one.verdicts == two.verdicts


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r'config\.json is missing'):
        evaluate(tmp_path, [], 1)
    with pytest.raises(ValueError, match='unknown mode'):
        evaluate(MODEL, [], 1, modes=('lucky',))
