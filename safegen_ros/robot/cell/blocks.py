# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Blocksworld on the table: the one table from symbolic actions to skills."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot import skills
from safegen_ros.robot.arm import TABLE, TOOL, Arm, Sample, World
from safegen_ros.robot.cell.grounding import (
    EXACT,
    Tolerance,
    Tool,
    difference,
    free_slot,
    ground,
    initial_layout,
    text_of,
)
from safegen_ros.robot.pose import KeepOut, Pose, planar_distance
from safegen_ros.robot.program import ProgramArm, Recorder
from safegen_ros.robot.scene import GRIPPER, Scene
from safegen_ros.robot.skills import Target
from safegen_ros.robot.twin.contacts import CollisionError
from safegen_ros.sync import Closing

if TYPE_CHECKING:
    from safegen_ros.pddl.model import Atom, State

Offset = tuple[float, float, float]


class BlocksworldCell(Closing):
    """An arm, its table and the blocks on it, driven by Blocksworld actions.

    It keeps no belief: every action starts from the poses measured then.

    Args:
        world: where blocks are measured; for the twin the same object as the arm.
        target_error: drawn once per pick and place and added to the target [m]; the bench puts
            the repeatability of a real arm in here.
        tolerance: of the measured poses.
    """

    def __init__(
        self,
        scene: Scene,
        arm: Arm,
        world: World,
        *,
        target_error: Callable[[], Offset] | None = None,
        tolerance: Tolerance = EXACT,
    ) -> None:
        self.scene = scene
        self.arm = arm
        self.world = world
        self._error = target_error
        self._tolerance = tolerance

    def prepare(self, objects: Sequence[str], init: State) -> None:
        """Sets the blocks up as the initial state says, and checks that they stand so.

        A block that is held initially is put on a free slot and picked up.

        Raises:
            RobotError: `UNSUPPORTED_SCENE` when the state does not fit the table, before anything
                moves; `STATE_MISMATCH` when the measured state is another one.
            Canceled: the arm was stopped.
        """
        layout = initial_layout(self.scene, objects, init)
        self.world.reset(layout.poses)
        self._perform(lambda arm: skills.home(arm, self.scene, layout.poses.values()))
        if layout.held is not None:
            self._take(layout.held, TABLE)
        measured = self.observe()
        if measured != init:
            raise RobotError(
                f'the table does not show the initial state: {difference(init, measured)}',
                ErrorCode.STATE_MISMATCH,
            )

    def start_of(self, objects: Sequence[str], init: State) -> tuple[dict[str, Pose], str | None]:
        """Where the blocks will stand when a task begins, and the one that the arm takes first."""
        layout = initial_layout(self.scene, objects, init)
        return self.world.expect(layout.poses), layout.held

    def obstacles(self) -> tuple[KeepOut, ...]:
        """What stands in the way of the arm, as `start_of` or `observe` has seen it last."""
        return ()

    def execute(self, action: str, arguments: Sequence[str]) -> None:
        """Executes one action and checks its effect on the measured blocks.

        Raises:
            RobotError: the action or a block is unknown, the arm failed or collided, or
                (`STATE_MISMATCH`) the measured effect is not that of the action.
            Canceled: the arm was stopped.
        """
        call = f'({" ".join((action, *arguments))})'
        known = _ACTIONS.get(action)
        if known is None or known.arity != len(arguments):
            raise RobotError(
                f'{call} is not an action of this cell: {_usage()}', ErrorCode.UNSUPPORTED_SCENE
            )
        poses = self.poses()
        for name in arguments:
            if name not in poses:
                raise RobotError(
                    f'{call}: there is no block {name} (blocks: {" ".join(poses)})',
                    ErrorCode.UNSUPPORTED_SCENE,
                )
        known.skill(self, *arguments)
        effect = known.effect(*arguments)
        measured = self.observe()
        if effect not in measured:
            raise RobotError(
                f'{call} did not make ({" ".join(effect)}) true; measured: {text_of(measured)}',
                ErrorCode.STATE_MISMATCH,
            )

    def observe(self) -> State:
        """The measured state."""
        return ground(
            self.world.block_poses(), self._tool(), self.scene.block_size, self._tolerance
        )

    def known(self, names: Collection[str] = ()) -> State:
        """The last known state, between goals; raises as `observe`. No names: all blocks."""
        return self.observe()

    def look(self) -> Sample | None:
        """Measures an idle arm; None where the reading itself is passed on."""
        arm = self.arm
        return Sample(0.0, arm.joint_positions(), self.poses(), arm.tool_on(), arm.opening())

    def poses(self) -> dict[str, Pose]:
        """Measured pose of each block."""
        return self.world.block_poses()

    def home(self) -> None:
        """Parks the arm beside the slots, above every tower."""
        held = {atom[1] for atom in self.observe() if atom[0] == 'holding'}
        resting = [pose for name, pose in self.poses().items() if name not in held]
        self._perform(lambda arm: skills.home(arm, self.scene, resting, carrying=bool(held)))

    def release(self) -> str:
        """Has the tool let go where the arm stands, and says so; what it holds falls."""
        self.arm.reset_stop()
        held = self.arm.tool_on()
        if isinstance(self.arm, World):  # an arm that sees its blocks feels how they fall
            bodies = (TOOL, TABLE, *self.poses())
            self.arm.expect_contacts(*combinations(bodies, 2))
        try:
            self.arm.set_tool(False)
            self.arm.wait(self.scene.motion.release_s)
        except CollisionError:
            self.arm.reset_stop()  # a hard landing
        done = 'the gripper is open' if self.scene.tool == GRIPPER else 'the pump is off'
        return f'{done}; ' + ('what it held is let go' if held else 'it was not known to hold')

    def stop(self) -> None:
        """Holds the arm and latches; any thread."""
        self.arm.stop()

    def reset_stop(self) -> None:
        """Allows motion again after a stop or a fault; the caller has looked at the table."""
        self.arm.reset_stop()

    def rearm(self) -> None:
        """Makes the arm fit to move at an operator's word; see `Arm.rearm`."""
        self.arm.rearm()

    def close(self) -> None:
        """Releases the arm."""
        self.arm.close()

    # One method per kind of motion; the action table below names them.

    def _take(self, block: str, support: str = TABLE) -> None:
        poses = self.poses()
        pose = self._offset(poses.pop(block))
        target = Target(block, pose, support)
        self._perform(lambda arm: skills.pick(arm, self.scene, target, poses.values()))

    def _put_down(self, block: str) -> None:
        poses = self.poses()
        here = poses.pop(block)
        slot = free_slot(self.scene, poses.values(), here)
        self._place(block, self.scene.slot_pose(slot), TABLE, poses)

    def _stack(self, block: str, support: str) -> None:
        poses = self.poses()
        del poses[block]
        x, y, _ = self._tower_axis(poses, support).position
        z = poses[support].position[2] + self.scene.block_size
        yaw = poses[support].yaw
        self._place(block, Pose.upright(x, y, z, yaw), support, poses)

    def _place(self, block: str, pose: Pose, support: str, others: dict[str, Pose]) -> None:
        target = Target(block, self._offset(pose), support)
        self._perform(lambda arm: skills.place(arm, self.scene, target, others.values()))

    def _perform(self, skill: Callable[[Arm], None]) -> None:
        """Has the arm perform a skill, as one program where it takes programs."""
        if not isinstance(self.arm, ProgramArm):
            skill(self.arm)
            return
        recorder = Recorder(self.arm.joint_positions(), self.arm.tool_on(), self.scene.arm)
        skill(recorder)
        self.arm.run_program(recorder.program)

    def _tower_axis(self, poses: dict[str, Pose], block: str) -> Pose:
        """The bottom of a block's tower: placing over it keeps errors from adding up."""
        tower = [
            pose
            for pose in poses.values()
            if planar_distance(pose, poses[block]) < self.scene.block_size / 2
            and pose.position[2] <= poses[block].position[2]
        ]
        return min(tower, key=lambda pose: pose.position[2])

    def _offset(self, pose: Pose) -> Pose:
        if self._error is None:
            return pose
        x, y, z = (a + b for a, b in zip(pose.position, self._error(), strict=True))
        return Pose((x, y, z), pose.orientation)

    def _tool(self) -> Tool:
        return Tool(self.scene.held_centre(self.arm.joint_positions()), self.arm.tool_on())


@dataclass(frozen=True, slots=True)
class _Action:
    """How an action is done, and the atom that must be measured afterwards."""

    arity: int
    skill: Callable[..., None]
    effect: Callable[..., Atom]


_ACTIONS: dict[str, _Action] = {
    'pickup': _Action(1, BlocksworldCell._take, lambda block: ('holding', block)),
    'putdown': _Action(1, BlocksworldCell._put_down, lambda block: ('on-table', block)),
    'stack': _Action(2, BlocksworldCell._stack, lambda block, under: ('on', block, under)),
    'unstack': _Action(2, BlocksworldCell._take, lambda block, under: ('holding', block)),
}


def simulated_cell(
    scene: Scene,
    *,
    real_time_factor: float = 0.0,
    sample: Callable[[Sample], None] | None = None,
    target_error: Callable[[], Offset] | None = None,
) -> BlocksworldCell:
    """A cell on the MuJoCo twin; see `MujocoTwin` for the arguments."""
    from safegen_ros.robot.twin.twin import MujocoTwin

    twin = MujocoTwin(scene, real_time_factor=real_time_factor, sample=sample)
    return BlocksworldCell(scene, twin, twin, target_error=target_error)


def _usage() -> str:
    return 'use ' + ', '.join(f'{name}/{action.arity}' for name, action in _ACTIONS.items())
