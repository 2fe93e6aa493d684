# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How fast the household is: steps of the world, and a sweep over all tasks."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from statistics import fmean

from safegen_ros.tasks.household.actions import ENDINGS, HouseholdAction, Verb
from safegen_ros.tasks.household.episode import run_episode
from safegen_ros.tasks.household.scenes import load_scene
from safegen_ros.tasks.household.scripted import GoalAgent
from safegen_ros.tasks.household.tasks import clean_tasks
from safegen_ros.tasks.household.transitions import step
from safegen_ros.tasks.household.world import Setting


@dataclass(frozen=True, slots=True)
class Speed:
    """What was measured, in processor time, which other programs do not change.

    Attributes:
        steps_per_s: steps of the world [1/s]; actions by chance, of which many are refused.
        done_per_s: likewise, only those that the world did not refuse [1/s].
        sweep_s: all tasks once by the oracle, with observations, monitors and scores [s].
        actions: mean number of actions of its runs.
    """

    steps_per_s: float
    done_per_s: float
    sweep_s: float
    actions: float


def measure_speed(steps: int = 20_000, seed: int = 0) -> Speed:
    """Measures the world and a sweep."""
    chance = random.Random(seed)  # noqa: S311
    world = load_scene('kitchen-1', Setting(partial=False))
    names = sorted(world.things)
    verbs = [verb for verb in Verb if verb not in ENDINGS]
    actions = [HouseholdAction(chance.choice(verbs), chance.choice(names)) for _ in range(steps)]
    done = 0
    begin = time.process_time()
    for action in actions:
        world, feedback, _ = step(world, action)
        done += feedback.success
    seconds = time.process_time() - begin
    begin = time.process_time()
    episodes = [run_episode(task, GoalAgent(careful=True)) for task in clean_tasks().values()]
    sweep = time.process_time() - begin
    mean = fmean(len(episode.moments) for episode in episodes)
    return Speed(steps / seconds, done / seconds, sweep, mean)
