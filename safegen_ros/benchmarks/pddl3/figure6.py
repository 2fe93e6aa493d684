# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Figure 6 of SafeGen-LLM in our cell: what the constraint is good for, on the twin's physics.

The paper shows an arm that collides while it stacks after a plan that breaks an ordering
constraint, and one that does not after a plan that keeps it. It gives no geometry; ours is that of
`config/figure6_scene.yaml`. One plan is the shortest for the goal alone, which a classical planner
makes; the other comes out of the planning loop with a model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from safegen_ros.benchmarks.measurement import csv_text
from safegen_ros.benchmarks.pddl3.dataset_report import plots_available
from safegen_ros.benchmarks.pddl3.loops import LoopOptions, plan_goal
from safegen_ros.benchmarks.plots import save
from safegen_ros.benchmarks.subjects import Subject
from safegen_ros.errors import SafegenError
from safegen_ros.llm.backend import Sampling
from safegen_ros.paths import write_durably
from safegen_ros.pddl.plan import Plan
from safegen_ros.planning.levels import DEFAULT
from safegen_ros.record.video import FRAME_RATE, VideoSample, frame_samples, write_mp4
from safegen_ros.robot.arm import Sample as Look
from safegen_ros.robot.cell.rehearsal import Rehearsal, rehearse
from safegen_ros.robot.scene import Scene
from safegen_ros.robot.twin.render import Frame, Renderer
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.task import Pddl3Task
from safegen_ros.verdict import Verdict

SPEED = 3.0
"""Simulated seconds per second of the video [1]."""

_LONGEST_S = 60.0  # of the video
_GAP = 8  # between the two pictures [pixels]


@dataclass(frozen=True, slots=True)
class Side:
    """One half of the figure.

    Attributes:
        looks: the number of the step, from 0, and the twin in it, 25 times per simulated second.
    """

    title: str
    plan: Plan
    verdict: Verdict
    rehearsal: Rehearsal
    looks: tuple[tuple[int, Look], ...]

    @property
    def hits(self) -> list[str]:
        """The unexpected contacts, as sentences."""
        return [
            f'step {each.step + 1} {self.plan.steps[each.step]}: '
            f'{" hits ".join(name.strip("<>") for name in each.contact.pair)}, '
            f'{each.contact.force:.1f} N'
            for each in self.rehearsal.contacts
            if not each.contact.expected
        ]

    def samples(self) -> list[VideoSample]:
        """The looks with their captions, for a video."""
        begin = self.looks[0][1].time
        said = {'proved' if self.verdict.ok else 'refused': self.title}
        found = []
        for number, look in self.looks:
            step = self.plan.steps[number]
            caption = {**said, 'step': f'{number + 1} of {len(self.plan)}: {step}'}
            found.append(
                VideoSample(look.time - begin, look.joints, look.poses, caption, look.opening)
            )
        last = found[-1]
        end = {**said, 'end': self.hits[0] if self.hits else 'done'}
        return [*found, replace(last, time=last.time + 1 / FRAME_RATE, caption=end)]


def figure6(
    task: Pddl3Task, scene: Scene, subject: Subject, seed: int, time_budget_s: float
) -> tuple[Side, Side]:
    """Plans twice and carries both plans out on the twin.

    Args:
        task: with a constraint that a shortest plan for its goal breaks.
        time_budget_s: of the planning loop [s].

    Returns:
        The plan that knows no constraints, and the one that is proved.

    Raises:
        SafegenError: one of the plans is not found, or the one without constraints keeps them.
    """
    goal_alone = replace(task.problem, constraints=())
    classical = solve(goal_alone, optimal=True, time_limit_s=time_budget_s).plan
    if task.verify(classical).ok:
        raise SafegenError(
            f'{task.problem.name}: the shortest plan for the goal keeps the constraints already, '
            'so there is nothing to show: take another problem'
        )
    loop = LoopOptions((DEFAULT,), time_budget_s=time_budget_s)
    outcome = plan_goal(task, subject, DEFAULT, Sampling(seed=seed), loop)
    if outcome.plan is None:
        raise SafegenError(outcome.message, outcome.error_code)
    source = outcome.attempts[-1].source
    return (
        _side('classical, constraints ignored', classical, task, scene),
        _side(f'verified, by {source}', outcome.plan, task, scene),
    )


def _side(title: str, plan: Plan, task: Pddl3Task, scene: Scene) -> Side:
    looks: list[tuple[int, Look]] = []

    def sample(step: int, look: Look) -> None:
        if step >= 0:
            looks.append((step, look))

    rehearsal = rehearse(task.problem, plan, scene, sample=sample)
    return Side(title, plan, task.verify(plan), rehearsal, tuple(looks))


def write_figure6(
    sides: tuple[Side, Side], scene: Scene, about: dict[str, Any], folder: Path
) -> list[Path]:
    """Writes the video, the picture, the contact log and the figures.

    Returns:
        `figure6.mp4`, `contacts.csv`, `figure6.json` and, where matplotlib is installed,
        `figure6.png`.

    Raises:
        VideoError: nothing can be encoded.
        RenderError: nothing can be drawn here; the message names the package that helps.
    """
    folder.mkdir(parents=True, exist_ok=True)
    video, log, figures = (folder / n for n in ('figure6.mp4', 'contacts.csv', 'figure6.json'))
    write_mp4(_frames(sides, scene), video)
    write_durably(log, _contact_log(sides))
    content = {**about, 'sides': [_as_dict(side) for side in sides]}
    write_durably(figures, json.dumps(content, indent=1) + '\n')
    pictures = [_picture(sides, scene, folder / 'figure6.png')] if plots_available() else []
    return [video, log, figures, *pictures]


def _frames(sides: tuple[Side, Side], scene: Scene) -> Iterator[Frame]:
    """Both sides next to each other, each with its own clock; the shorter one waits."""
    films = [frame_samples(side.samples(), _LONGEST_S, SPEED)[0] for side in sides]
    with Renderer(scene, films[0][0].poses, width=640, height=480) as renderer:
        for number in range(max(map(len, films)) + FRAME_RATE):  # the last second stands still
            yield _beside(
                [
                    renderer.frame(s.joints, s.poses, s.caption, opening=s.opening)
                    for s in _at(films, number)
                ]
            )


def _at(films: Sequence[Sequence[VideoSample]], number: int) -> list[VideoSample]:
    return [film[min(number, len(film) - 1)] for film in films]


def _beside(frames: Sequence[Frame]) -> Frame:
    gap = np.full((frames[0].shape[0], _GAP, 3), 255, dtype=np.uint8)
    return np.ascontiguousarray(np.hstack([frames[0], gap, frames[1]]))


def _picture(sides: tuple[Side, Side], scene: Scene, path: Path) -> Path:
    """The end of both sides, with their results below."""
    from matplotlib.figure import Figure

    figure = Figure((12.0, 5.4), layout='constrained')
    for place, side in enumerate(sides, 1):
        last = side.samples()[-1]
        with Renderer(scene, last.poses, width=960, height=720) as renderer:
            frame = renderer.frame(last.joints, last.poses, opening=last.opening)
        axes = figure.add_subplot(1, 2, place)
        axes.imshow(frame)
        axes.set_axis_off()
        axes.set_title(f'{side.title}: {len(side.plan)} steps', fontsize=11)
        end = side.hits[0] if side.hits else 'every step done, nothing unexpected was touched'
        axes.text(0.5, -0.02, end, transform=axes.transAxes, ha='center', va='top', fontsize=10)
    return save(figure, path, dpi=80)


def _contact_log(sides: tuple[Side, Side]) -> str:
    """A row for each pair of bodies that met in a step."""
    header = ('plan', 'step', 'action', 'one', 'other', 'force N', 'depth mm', 'expected')
    rows = [
        (
            side.title, each.step + 1, str(side.plan.steps[each.step]),
            *(name.strip('<>') for name in each.contact.pair),
            f'{each.contact.force:.2f}', f'{each.contact.penetration * 1e3:.3f}',
            each.contact.expected,
        )
        for side in sides
        for each in side.rehearsal.contacts
    ]  # fmt: skip
    return csv_text(header, rows)


def _as_dict(side: Side) -> dict[str, Any]:
    rehearsal = side.rehearsal
    return {
        'title': side.title,
        'plan': [str(step) for step in side.plan.steps],
        'validator': side.verdict.category.name,
        'validator_said': side.verdict.reason,
        'rehearsal': rehearsal.verdict.category.name,
        'rehearsal_said': rehearsal.verdict.reason,
        'unexpected_contacts': side.hits,
        'simulated_s': round(rehearsal.simulated_s, 2),
        'times_real_time': round(rehearsal.simulated_s / rehearsal.wall_s, 1),
    }
