# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The model that ships is the one that was measured, and does what its card says, roughly."""

from __future__ import annotations

import json
from hashlib import sha256

from scripted_model import BENCH

from safegen_ros.evaluation.evaluate import evaluate
from safegen_ros.evaluation.problems import load_problems
from safegen_ros.evaluation.subjects import model_checksum
from safegen_ros.paths import data_path

MODEL = data_path('models/safegen-mini')
FLOOR_PERCENT = 25


def test_shipped_files_are_the_ones_that_were_measured() -> None:
    lines = (MODEL / 'checksums.sha256').read_text().splitlines()
    listed = {name: digest for digest, name in (line.split('  ') for line in lines)}
    present = {p.name for p in MODEL.iterdir() if p.is_file() and p.name != 'checksums.sha256'}
    assert set(listed) == present
    for name, digest in listed.items():
        assert sha256((MODEL / name).read_bytes()).hexdigest() == digest, name
    assert sum(p.stat().st_size for p in MODEL.rglob('*') if p.is_file()) < 50_000_000
    measured = json.loads((MODEL / 'evaluation.json').read_text())
    assert measured['model']['checksum'] == model_checksum(MODEL)


def test_the_shipped_model_solves_unseen_problems_and_the_untrained_network_none() -> None:
    problems = load_problems(BENCH, domains=('blocksworld',), most=30)
    greedy, feedback, untrained = evaluate(
        MODEL, problems, 1, modes=('greedy', 'feedback', 'untrained'), max_new_tokens=128
    ).results
    assert 100 * greedy.tally().rate >= FLOOR_PERCENT, greedy.tally().as_dict()
    assert feedback.tally().successes >= greedy.tally().successes - 2
    assert untrained.tally().successes == 0
