# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How fast the household is: steps of the world, and a sweep over all tasks."""

from __future__ import annotations

import random
from statistics import fmean

from safegen_ros.benchmarks.measurement import Measurement, Report, timed
from safegen_ros.tasks.household.actions import ENDINGS, HouseholdAction, Verb
from safegen_ros.tasks.household.episode import run_episode
from safegen_ros.tasks.household.scenes import load_scene
from safegen_ros.tasks.household.scripted import GoalAgent
from safegen_ros.tasks.household.tasks import clean_tasks
from safegen_ros.tasks.household.transitions import step
from safegen_ros.tasks.household.world import Setting


def measure(steps: int = 20_000, seed: int = 0) -> Report:
    """Times steps of the world, which are actions by chance, and a sweep by the oracle."""
    chance = random.Random(seed)  # noqa: S311
    world = load_scene('kitchen-1', Setting(partial=False))
    names = sorted(world.things)
    verbs = [verb for verb in Verb if verb not in ENDINGS]
    actions = [HouseholdAction(chance.choice(verbs), chance.choice(names)) for _ in range(steps)]

    def walk() -> int:
        here, done = world, 0
        for action in actions:
            here, feedback, _ = step(here, action)
            done += feedback.success
        return done

    done, seconds = timed(walk)
    tasks = clean_tasks().values()
    episodes, sweep = timed(lambda: [run_episode(t, GoalAgent(careful=True)) for t in tasks])
    mean = fmean(len(episode.moments) for episode in episodes)
    return Report(
        'household', {'steps': steps, 'seed': seed},
        (
            Measurement('steps of the world', steps / seconds, '1/s'),
            Measurement('steps that the world does not refuse', done / seconds, '1/s'),
            Measurement(
                f'the {len(episodes)} tasks by the oracle', sweep, 's',
                note=f'with observations, monitors and scores; {mean:.1f} actions each',
            ),
        ),
        verb='bench household speed',
    )  # fmt: skip
