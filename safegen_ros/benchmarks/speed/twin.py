# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench twin`: towers, and how much faster than the arm a rehearsal is."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random

from safegen_ros.benchmarks.measurement import Measurement, Notify, Report, silent
from safegen_ros.paths import data_path
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.robot.arm import Sample
from safegen_ros.robot.cell.rehearsal import rehearse
from safegen_ros.robot.pose import Pose, planar_distance
from safegen_ros.robot.scene import Scene, load_scene
from safegen_ros.tasks.pddl3.task import load_task

#: How far blocks stand from their slots at most, in x and y [m], and how far they are turned [rad].
STRAY_M = 0.004
STRAY_RAD = math.radians(22.0)


@dataclass(frozen=True, slots=True)
class TowerRun:
    """One tower.

    Attributes:
        said: what went wrong; empty when the tower stands.
        off_m: how far the block that is farthest off stands from the lowest one, in the plane [m].
        simulated_s: time that the arm took [s].
        wall_s: time that the twin took for it [s].
    """

    said: str
    off_m: float
    steps: int
    simulated_s: float
    wall_s: float


def build_towers(
    scene: Scene,
    count: int,
    *,
    height: int,
    sigma_m: float,
    seed: int,
    notify: Notify = silent,
) -> list[TowerRun]:
    """Builds towers from blocks that stand about their slots.

    Args:
        sigma_m: standard deviation of where the arm goes in x and y, at each pick and each place,
            half of it in z [m]; normally distributed.
    """
    runs = []
    for number in range(count):
        runs.append(_build(scene, height, sigma_m, Random(f'{seed} {number}')))  # noqa: S311
        notify('towers', number + 1, count)
    return runs


def _build(scene: Scene, height: int, sigma_m: float, rng: Random) -> TowerRun:
    problem, plan = _tower(height, rng)
    poses = {
        block: _strayed(scene.slot_pose(slot), rng)
        for block, slot in zip(problem.objects, rng.sample(scene.slots, height), strict=True)
    }
    last: list[Sample] = []

    def error() -> tuple[float, float, float]:
        return rng.gauss(0, sigma_m), rng.gauss(0, sigma_m), rng.gauss(0, sigma_m / 2)

    went = rehearse(
        problem, plan, scene, poses=poses, target_error=error,
        sample=lambda step, look: last.__setitem__(slice(None), [look]),
    )  # fmt: skip
    bottom = min(last[0].poses.values(), key=lambda pose: pose.position[2])
    off = max(planar_distance(pose, bottom) for pose in last[0].poses.values())
    said = '' if went.verdict.ok else went.verdict.reason
    return TowerRun(said, off, len(plan), went.simulated_s, went.wall_s)


def _tower(height: int, rng: Random) -> tuple[Problem, Plan]:
    """A tower of all blocks, which stand on the table, in a random order."""
    blocks = [f'b{number + 1}' for number in range(height)]
    rng.shuffle(blocks)
    pairs = list(pairwise(blocks))
    on = ' '.join(f'(on {up} {down})' for down, up in pairs)
    table = ' '.join(f'(on-table {block}) (clear {block})' for block in blocks)
    problem = load_task(
        f'(define (problem tower) (:domain blocksworld) (:objects {" ".join(blocks)}) '
        f'(:init (arm-empty) {table}) (:goal (and {on})))'
    ).problem
    steps = ' '.join(f'(pickup {up}) (stack {up} {down})' for down, up in pairs)
    return problem, parse_plan(steps)


def _strayed(pose: Pose, rng: Random) -> Pose:
    x, y, z = pose.position
    return Pose.upright(
        x + rng.uniform(-STRAY_M, STRAY_M), y + rng.uniform(-STRAY_M, STRAY_M), z,
        pose.yaw + rng.uniform(-STRAY_RAD, STRAY_RAD),
    )  # fmt: skip


LEAST_SPEED = 10.0
"""How much faster than real time a rehearsal must be [1]."""


def measure(
    towers: int,
    height: int,
    sigma_mm: float,
    scene: Path | None,
    seed: int,
    notify: Notify,
) -> Report:
    """Builds the towers and takes the figures.

    Args:
        sigma_mm: standard deviation of every pick and place [mm].
        scene: file of the cell; the shipped one when None.

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
