# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""States, plans and collisions of BoxNet3D as MuJoCo draws them, and films of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from safegen_ros.cells.mjcf import CAMERA, box, link
from safegen_ros.cells.motion import MotionPlanner, errand
from safegen_ros.cells.world import CellSample, CollisionWorld
from safegen_ros.datasets.files import writing
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.robot.arms.family import Floats
from safegen_ros.robot.twin.render import Frame, Offscreen
from safegen_ros.sync import Closing
from safegen_ros.tasks.boxnet.findings import Fault
from safegen_ros.tasks.boxnet.geometry import UNIT
from safegen_ros.tasks.boxnet.model import State, Step, object_name
from safegen_ros.tasks.boxnet.spatial import SpatialTask
from safegen_ros.tasks.boxnet.spatial.kinematic import KINEMATIC
from safegen_ros.tasks.boxnet.verifier import Judged

FRAME_RATE = 25
MOST_PANELS = 12
"""Steps in a picture of a plan; those before the last ones are left out of a longer plan."""

_COLUMNS = 3


class CellRenderer(Closing):
    """Draws moments of the cell of a task; all calls from the thread that created it."""

    def __init__(self, task: SpatialTask, *, width: int = 640, height: int = 480) -> None:
        self._world = CollisionWorld(task, 0.0)
        named = {box(index): str(index) for index in range(self._world.boxes)}
        named |= {f'{link(robot, 0)}:0': f'R{robot}' for robot in range(self._world.robots)}
        labels = {self._world.model.geom(name).id: label for name, label in named.items()}
        self._offscreen = Offscreen(
            self._world.model, CAMERA, width=width, height=height, labels=labels
        )

    def frame(
        self,
        sample: CellSample,
        caption: Mapping[str, str] | None = None,
        mark: Sequence[float] | None = None,
    ) -> Frame:
        """An RGB picture (height, width, 3); `mark`: x, y, z and radius of a red ball [m]."""
        data = self._world.data
        data.qpos[self._world.joints] = sample.joints
        for place, pose in zip(self._world.box_poses, sample.boxes, strict=True):
            data.qpos[place] = pose
        return self._offscreen.draw(data, caption, mark)

    def close(self) -> None:
        """Frees the resources of drawing; safe to call twice."""
        self._offscreen.close()


def still(task: SpatialTask, state: State, joints: Floats | None = None) -> CellSample:
    """A state at rest."""
    family = task.family
    if joints is None:
        joints = np.concatenate(
            [family.postures([task.from_base(r, tip)]) for r, tip in enumerate(state.tips)]
        )
    boxes = [(x / UNIT, y / UNIT, family.box / 2, 1.0, 0, 0, 0) for x, y in state.objects]
    return CellSample(0.0, joints, np.array(boxes), (None,) * len(task.bases))


def draw_task(task: SpatialTask, path: Path) -> None:
    """Draws the first state of a task."""
    _draw(task, [(still(task, task.start), None, task.id)], path)


def draw_judged(task: SpatialTask, judged: Judged, path: Path) -> None:
    """Draws the state that each step of a plan leads to.

    A step that may not be taken comes last, at the moment when the arms are closest to where they
    collide; a red ball is there.
    """
    panels: list[tuple[CellSample, Sequence[float] | None, str]] = [
        (still(task, state), None, f'after step {at}' if at else 'start')
        for at, state in enumerate(judged.states)
    ]
    fault = judged.fault
    if fault is not None and 0 <= fault.step < len(judged.plan):
        joints, mark = _moment(task, judged.states[-1], judged.plan[fault.step], fault)
        title = f'step {fault.step + 1}: {fault.finding.value.replace("_", " ")}'
        panels.append((still(task, judged.states[-1], joints), mark, title))
    _draw(task, panels[-MOST_PANELS:], path)


def write_film(task: SpatialTask, samples: Sequence[CellSample], path: Path) -> int:
    """Writes a run, a sample each 40 ms, as H.264 in MP4; returns the number of frames."""
    from safegen_ros.record.video import write_mp4

    with CellRenderer(task) as renderer:
        return write_mp4(_frames(task, renderer, samples), path, FRAME_RATE)


def _frames(
    task: SpatialTask, renderer: CellRenderer, samples: Sequence[CellSample]
) -> Iterator[Frame]:
    for sample in samples:
        held = ', '.join(
            f'Robot {robot}: {object_name(index)}'
            for robot, index in enumerate(sample.carrying)
            if index is not None
        )
        yield renderer.frame(sample, {'time': f'{sample.time:.1f} s', 'carried': held or '-'})


def _moment(
    task: SpatialTask, state: State, step: Step, fault: Fault
) -> tuple[Floats | None, Sequence[float] | None]:
    """The joints when those who collide are closest to where they do, and a ball there."""
    if fault.point is None:
        return None, None
    x, y = map(float, fault.point)
    mark = (x, y, task.family.tip_height, task.family.radius)
    if not all(KINEMATIC.turns(task, move) for move in step):
        return None, mark
    motion = MotionPlanner(CollisionWorld(task, 0.0), task.family.clearance)
    joints = motion.world.postures(state)
    path = motion.swung(joints, errand(motion.world, state, step))
    off = np.zeros(len(path))
    for robot in fault.robots:
        base = task.bases[robot]
        hulls = task.family.capsules(path[:, robot])[..., :2] + [base[0] / UNIT, base[1] / UNIT]
        off += np.linalg.norm(hulls - [x, y], axis=-1).min(axis=(1, 2))
    return path[int(off.argmin())], mark


def _draw(
    task: SpatialTask,
    panels: Sequence[tuple[CellSample, Sequence[float] | None, str]],
    path: Path,
) -> None:
    from matplotlib.figure import Figure

    if path.suffix != '.png':
        raise SafegenError(f'{path}: is drawn as PNG: name it .png', ErrorCode.BAD_PDDL)
    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure((columns * 4.2, rows * 3.4), layout='constrained')
    with CellRenderer(task) as renderer:
        for place, (sample, mark, title) in enumerate(panels, 1):
            axes = figure.add_subplot(rows, columns, place)
            axes.imshow(renderer.frame(sample, mark=mark))
            axes.set_axis_off()
            axes.set_title(title, fontsize=9)
    with writing(path):
        # Without the version of the library, so that the same steps give the same bytes.
        figure.savefig(path, dpi=110, metadata={'Software': None})
