# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""BoxNet3D in MuJoCo: the third depth. A contact on every way that is found is a collision."""

from __future__ import annotations

from collections.abc import Sequence

from safegen_ros.cells.motion import PLANNED, MotionPlanner, Way, errand
from safegen_ros.cells.world import CollisionWorld, Touch
from safegen_ros.tasks.boxnet.findings import Fault, Finding
from safegen_ros.tasks.boxnet.geometry import meeting_text
from safegen_ros.tasks.boxnet.model import Move, State, object_name, robot_name
from safegen_ros.tasks.boxnet.spatial.depth import boxes, exactly
from safegen_ros.tasks.boxnet.spatial.kinematic import Kinematic
from safegen_ros.tasks.boxnet.spatial.model import SpatialTask


class Physics(Kinematic):
    """Reach is that of the depth above; a step collides where no way is found without a contact.

    Planners that ask for pairs of arms get the answer of the depth above.

    Args:
        plan: whether other ways are looked for where the swing of the arms touches something.
    """

    name = 'physics'

    def __init__(self, *, plan: bool = True, seed: int = 0) -> None:
        self.plan, self.seed = plan, seed
        self.planned = 0
        """Steps for which another way than the swing was found."""
        self._motion: MotionPlanner | None = None

    def together(self, task: SpatialTask, state: State, step: Sequence[Move]) -> Fault | None:
        """What collides in a step whose moves can each be made."""
        motion = self._motion_of(task)
        joints = motion.world.postures(state)
        motion.world.place(joints, state)
        found = motion.way(joints, errand(motion.world, state, step), self.plan)
        if not isinstance(found, Way):
            return fault_of(task, found, ', and no way around was found' if self.plan else '')
        self.planned += found.kind == PLANNED
        return boxes(task, state, step)

    def touches(self, task: SpatialTask, state: State) -> bool:
        """Whether something touches in a state in which nothing moves."""
        motion = self._motion_of(task)
        motion.world.place(motion.world.postures(state), state)
        asked = errand(motion.world, state, ())
        return motion.world.touches(asked.own, {}, motion.clearance) is not None

    def _motion_of(self, task: SpatialTask) -> MotionPlanner:
        if self._motion is None or self._motion.world.task != task:
            clearance = task.family.clearance / 2
            self._motion = MotionPlanner(CollisionWorld(task, clearance), clearance, self.seed)
        return self._motion


def fault_of(task: SpatialTask, touch: Touch, more: str = '') -> Fault:
    """The words for two things that touch."""
    robots = len(task.bases)
    x, y, z = touch.place
    point = exactly(x, y)
    one, other = (_name(side, robots) for side in (touch.one, touch.other))
    involved = tuple(side for side in (touch.one, touch.other) if 0 <= side < robots)
    loads = tuple(side - robots for side in (touch.one, touch.other) if side >= robots)
    finding = Finding.ROBOT_COLLISION
    if loads:
        finding = Finding.ROBOT_OBJECT_COLLISION if involved else Finding.OBJECT_COLLISION
    return Fault(
        finding,
        f'{one} and {other} collide at {meeting_text(point)}: the {touch.parts[0]} of {one} and '
        f'the {touch.parts[1]} of {other} meet {z:.2f} m above the table{more}: do these moves '
        'in different steps, or move one of them away before',
        robots=involved,
        objects=loads,
        point=point,
    )


def _name(side: int, robots: int) -> str:
    if side < 0:
        return 'the table'
    return robot_name(side) if side < robots else object_name(side - robots)
