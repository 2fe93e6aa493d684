# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The model that ships is the one that was measured, and does what its card says, roughly."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
from support.scripted_model import BENCH

from safegen_ros.benchmarks.pddl3.evaluate import evaluate
from safegen_ros.benchmarks.pddl3.problems import load_problems
from safegen_ros.benchmarks.subjects import load_stages, model_checksum
from safegen_ros.paths import data_path
from safegen_ros.tasks.pddl3.formats import FORMATS

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
