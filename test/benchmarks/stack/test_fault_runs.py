# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Random faults end in a stop or well; `safegen bench faults` has hundreds, of every kind."""

from __future__ import annotations

import pytest

from safegen_ros.benchmarks.stack.fault_runs import FAULTS, run_all
from safegen_ros.robot.scene import load_scene


@pytest.mark.nightly
def test_random_faults_end_in_a_stop_or_well() -> None:
    chosen = ('noise', 'power_off', 'unplugged', 'mover_killed')
    runs = run_all(load_scene(), map(FAULTS.index, chosen), jobs=4)
    assert [run.message for run in runs if run.ended == 'wrong'] == []
    assert [run.fault for run in runs] == list(chosen)
    assert [run.ended for run in runs[1:]] == ['stopped'] * 3
    assert sum(run.motions + run.resumes for run in runs) == 0
