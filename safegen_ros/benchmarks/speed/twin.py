# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench twin`: towers, and how much faster than the arm a rehearsal is."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path

from safegen_ros.benchmarks.pddl3.towers import build_towers
from safegen_ros.benchmarks.speed.report import Measurement, Report
from safegen_ros.paths import data_path
from safegen_ros.robot.scene import load_scene

LEAST_SPEED = 10.0
"""How much faster than real time a rehearsal is to be [1]."""


def measure(
    towers: int,
    height: int,
    sigma_mm: float,
    scene: Path | None,
    seed: int,
    notify: Callable[[str, int, int], None],
) -> Report:
    """Builds the towers and takes the figures.

    Args:
        towers: how many.
        height: blocks of each.
        sigma_mm: standard deviation of every pick and place [mm].
        scene: file of the cell; the shipped one when None.
        seed: of places and errors.
        notify: told after each tower.

    Raises:
        SafegenError: the scene is wrong, or does not take such towers.
    """
    cell = load_scene(None if scene is None else data_path(scene))
    runs = build_towers(
        cell, towers, height=height, sigma_m=sigma_mm / 1e3, seed=seed, notify=notify
    )
    failed = [run.said for run in runs if run.said]
    standing = [run.off_m * 1e3 for run in runs if not run.said]
    speed = sum(run.simulated_s for run in runs) / sum(run.wall_s for run in runs)
    figures = (
        Measurement(
            'towers that stand', 100 * (len(runs) - len(failed)) / len(runs), '%', 100.0,
            note=f'{len(runs) - len(failed)} of {len(runs)}' + (f'; {failed[0]}' if failed else ''),
        ),
        Measurement(
            'farthest block from the lowest one, most', max(standing, default=None), 'mm',
            note=f'mean of all towers {statistics.fmean(standing):.2f}' if standing else '',
        ),
        Measurement(
            'time of the arm for a step, mean',
            statistics.fmean(run.simulated_s / run.steps for run in runs), 's',
        ),
        Measurement('speed of the rehearsal against the arm', speed, 'x', LEAST_SPEED),
    )  # fmt: skip
    settings = {
        'towers': towers, 'height': height, 'sigma_mm': sigma_mm, 'seed': seed,
        'scene': 'config/scene.yaml' if scene is None else str(scene),
    }  # fmt: skip
    return Report('twin', settings, figures)
