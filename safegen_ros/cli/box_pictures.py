# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The picture and the video of a run of many arms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np

from safegen_ros.cells.world import CellSample
from safegen_ros.errors import SafegenError
from safegen_ros.record.mcap_reader import Recorded, read_messages
from safegen_ros.record.replay import recorded_steps
from safegen_ros.record.run import TWIN, ArtefactRecord, RunRecord
from safegen_ros.stages import ExecutionPhase
from safegen_ros.tasks.boxnet.atoms import moves
from safegen_ros.tasks.boxnet.goal import BoxnetGoal, read_goal
from safegen_ros.tasks.boxnet.model import Task
from safegen_ros.tasks.boxnet.reader import is_spatial
from safegen_ros.tasks.boxnet.spatial import SpatialTask
from safegen_ros.tasks.boxnet.verifier import Judged, judge

_JOINTS_PER_ARM = 6


def drawing(task: Task) -> ModuleType:
    """What draws a task and its plans: MuJoCo where the arms have a shape."""
    if is_spatial(task):
        from safegen_ros.cells import pictures

        return pictures
    from safegen_ros.benchmarks.boxnet import plots

    return plots


def samples_of(messages: Iterable[Recorded], judged: Judged) -> Iterator[CellSample]:
    """The recorded cell, with the load of each arm by the plan.

    Args:
        messages: `joint_states`, `world_state` and `progress`, as they were recorded.
        judged: the plan, from its first state.
    """
    robots = len(judged.states[0].tips)
    angles: dict[tuple[int, int], np.ndarray] = {}
    carrying: tuple[int | None, ...] = (None,) * robots
    for item in messages:
        kind, message = item.topic.rpartition('/')[2], item.message
        if kind == 'progress':
            moving = message.phase == ExecutionPhase.MOVING and message.step < len(judged.plan)
            carrying = _carried(judged, message.step) if moving else (None,) * robots
            continue
        if kind not in ('joint_states', 'world_state'):
            continue
        stamp = message.header.stamp.sec, message.header.stamp.nanosec
        if kind == 'joint_states' and len(message.position) == robots * _JOINTS_PER_ARM:
            angles[stamp] = np.array(message.position).reshape(robots, _JOINTS_PER_ARM)
        elif kind == 'world_state' and stamp in angles and message.objects:
            boxes = [
                (p.x, p.y, p.z, q.w, q.x, q.y, q.z)
                for each in sorted(message.objects, key=lambda box: int(box.name[len('object') :]))
                for p, q in [(each.pose.position, each.pose.orientation)]
            ]
            seconds = stamp[0] + stamp[1] * 1e-9
            yield CellSample(seconds, angles.pop(stamp), np.array(boxes), carrying)


def _carried(judged: Judged, step: int) -> tuple[int | None, ...]:
    """The box that each robot takes along in a step."""
    before = judged.states[step]
    carried = {
        move.robot: before.objects.index(move.start) for move in judged.plan[step] if move.carry
    }
    return tuple(carried.get(robot) for robot in range(len(before.tips)))


def keep_pictures(
    folder: Path, goal: BoxnetGoal, record: RunRecord, video: bool
) -> list[ArtefactRecord]:
    """Makes the picture of the plan of a run, and a video of the motion where that is wanted.

    Args:
        video: whether a video is wanted.

    Returns:
        The files, each with a note that says why it is missing where it is.
    """
    if not record.plan:
        return []
    last = read_goal(record.replans[-1].problem, 'replan') if record.replans else goal
    task = last.task
    try:
        judged = judge(task, tuple(moves(task, step) for step in recorded_steps(record)))
        drawing(task).draw_judged(task, judged, folder / 'plan.png')
        kept = [ArtefactRecord('picture', 'plan.png', f'{len(judged.plan)} steps')]
    except SafegenError as error:
        return [ArtefactRecord('picture', '', error.message)]
    if video and is_spatial(task) and record.cell == TWIN:
        kept.append(_film(folder, task, judged))
    return kept


def _film(folder: Path, task: SpatialTask, judged: Judged) -> ArtefactRecord:
    from safegen_ros.cells.pictures import write_film

    try:
        samples = list(samples_of(read_messages(folder / 'run.mcap'), judged))
        if not samples:
            return ArtefactRecord('video', '', 'the recording has no motion of the arms')
        frames = write_film(task, samples, folder / 'cell.mp4')
    except (SafegenError, OSError) as error:
        return ArtefactRecord('video', '', str(error))
    return ArtefactRecord('video', 'cell.mp4', f'{frames} frames')
