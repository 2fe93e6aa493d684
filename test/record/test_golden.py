# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs that release 0.1 recorded: they are read, proved and executed again as they were then.

Each file has the kinds and data of a journal, one entry a line. The kept ones are never replaced.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from safegen_ros.record.journal import JOURNAL, Journal
from safegen_ros.record.replay import reexecute, reverify, why_not_executed
from safegen_ros.record.run_log import load_run
from safegen_ros.robot.scene import load_scene

RUNS = sorted((Path(__file__).parents[1] / 'golden' / 'runs').glob('*.jsonl'))
UNEXECUTED = {
    'cancelled': 'nothing was executed', 'exhausted': 'nothing was executed',
    'household': 'it was worked on step by step', 'looks': 'the world was not as foreseen',
    'no-plan': 'nothing was executed', 'refused-plan': 'nothing was executed',
    'replan': 'the world was not as foreseen',
}  # fmt: skip
"""Runs without an execution that can be repeated, each with the reason."""


def test_there_are_runs_of_every_kind():
    assert len(RUNS) >= 20


@pytest.mark.parametrize('path', RUNS, ids=lambda path: path.stem)
def test_a_recorded_run_replays_without_a_difference(path: Path, tmp_path: Path):
    with Journal(tmp_path / JOURNAL) as journal:
        journal.extend(json.loads(line) for line in path.read_text().splitlines())
    record = load_run(tmp_path).record
    assert [each.differences for each in reverify(record) if each.differences] == []
    why = why_not_executed(record)
    assert bool(why) == (path.stem in UNEXECUTED)
    assert why.startswith(UNEXECUTED.get(path.stem, ''))
    if not why:
        assert reexecute(record, load_scene(None)).differences == ()
