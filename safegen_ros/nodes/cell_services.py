# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The cell of the executor in ROS: the real arm, and an operator's services beside its goals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from safegen_msgs.action import ExecutePlan
from safegen_msgs.msg import WorldState
from safegen_msgs.srv import GetWorld
from safegen_ros.errors import ErrorCode, RobotError, SafegenError
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.pddl.facts import objects_of
from safegen_ros.pddl.model import State
from safegen_ros.robot.arm import Sample
from safegen_ros.robot.cell.blocks import BlocksworldCell
from safegen_ros.robot.cell.grounding import difference
from safegen_ros.robot.cell.observed import AssumedWorld
from safegen_ros.robot.cell.perception import Perception, read_picture
from safegen_ros.robot.cell.real import MyCobotCell, connect_arm
from safegen_ros.robot.cell.settings import (
    ALL,
    PERCEIVED,
    ArmSettings,
    PerceptionSettings,
    settings_of,
)
from safegen_ros.robot.mycobot.effectors import check_tool
from safegen_ros.robot.scene import Scene
from safegen_ros.ros import conversions, qos
from safegen_ros.ros.conversions import pose_from_msg, seconds_of
from safegen_ros.tasks.cells import MultiRobotCell, poses_in

PERCEPTION = 'perception/world_state'
"""Where a perception node publishes safegen_msgs/msg/WorldState with the poses of all blocks."""
FRAME = 'base_link'
"""The frame of those poses; none named is taken for it."""


class RealArm:
    """Opens the cell of the real arm.

    Interfaces:
        subscription `perception/world_state` (safegen_msgs/msg/WorldState): poses of all blocks
            [m] in the frame of the arm's base; only with `world:=perceived`.
    """

    def __init__(self, node: SafegenNode) -> None:
        self._node = node
        self._perception: Perception | None = None
        self._subscribed = False

    def open(
        self,
        values: Mapping[str, Any],
        scene: Scene,
        sample: Callable[[Sample], None],
        *,
        rearm: bool,
    ) -> MyCobotCell:
        """Connects to the arm that the parameters name; nothing moves.

        Args:
            sample: called with every reading of the arm, and the blocks of that moment.
            rearm: whether its servos are powered and its error codes cleared; not where it is
                stopped, which leaves that to an operator's reset.

        Raises:
            SafegenError: a parameter is wrong, or the arm is not there or not ready.
        """
        check_tool(values['tool'], scene)
        settings = settings_of(ArmSettings, values)
        perceived = settings.world == PERCEIVED
        self._perception = self._open_perception(values) if perceived else None
        cell = MyCobotCell(
            scene,
            lambda tell: connect_arm(settings, scene.arm, tell),
            perception=self._perception,
            sample=sample,
        )
        if rearm:
            try:
                cell.rearm()
            except BaseException:
                cell.close()
                raise
        if cell.assumed is not None:
            self._node.get_logger().warning(
                'the blocks are not measured: their poses follow from the motions of the arm, '
                'once a person has confirmed that they are set up'
            )
        return cell

    def _open_perception(self, values: Mapping[str, Any]) -> Perception:
        node = self._node

        def silent() -> str:
            if node.count_publishers(PERCEPTION):
                return f'{PERCEPTION} has a publisher, that sends nothing: check that node'
            return f'{node.resolve_topic_name(PERCEPTION)} has no publisher: start it'

        if not self._subscribed:
            # Best effort, which also matches a reliable publisher.
            node.create_subscription(WorldState, PERCEPTION, self._take, qos.MEASURED)
            self._subscribed = True
        return Perception(settings_of(PerceptionSettings, values), silent=silent)

    def _take(self, message: WorldState) -> None:
        perception, stamp = self._perception, message.header.stamp
        if perception is None:
            return
        poses = [(item.name, pose_from_msg(item.pose)) for item in message.objects]
        perception.take(read_picture(seconds_of(stamp), message.header.frame_id, poses, FRAME))


SET_UP, WORLD = 'blocks_set_up', 'get_world'

SIMULATED = 'blocks placed for this task by the simulator'
CURRENT = 'the simulated world as it is'
FACTS = 'facts set for this task by the simulator'
LEFT = 'the world as the goal before has left it'
SEEN = 'blocks seen by the perception system'
STATED = 'blocks set up by a person, as an operator says; not measured'
BELIEVED = 'blocks where the last goal has left them; not measured'


class KnownWorld:
    """The last known world, of an arm's cell or of a symbolic one.

    Interfaces:
        service `get_world` (safegen_msgs/srv/GetWorld): the facts that a goal with `from_current`
            starts from. Refused while a goal runs.
        service `blocks_set_up` (std_srvs/Trigger): a person's statement that the blocks stand as
            the next goal begins; only with a real arm and `world:=assumed`. It counts for one
            goal of `execute_plan`, until the tool lets go. Refused while a goal runs.

    Args:
        arm: the cell of the arm; None where there is none.
        cell: that of the last goal; None before the first one.
    """

    def __init__(
        self,
        node: SafegenNode,
        arm: Callable[[], BlocksworldCell | None],
        cell: Callable[[], MultiRobotCell | None],
    ) -> None:
        self._node, self._arm, self._cell = node, arm, cell
        group = node.group
        node.commands.trigger(
            SET_UP, 'the statement that the blocks are set up', lambda by: self._set_up()
        )
        self._service = node.create_service(GetWorld, WORLD, self._serve, callback_group=group)

    @property
    def assumed(self) -> AssumedWorld | None:
        """The belief where the blocks are; None where they are measured or simulated."""
        arm = self._arm()
        return arm.assumed if isinstance(arm, MyCobotCell) else None

    def state(self, objects: Collection[str] = ()) -> State:
        """The atoms that hold now.

        Args:
            objects: of the task, as a camera may see others; none for all.

        Raises:
            SafegenError: it is not known (`STATE_MISMATCH`), or a part is out of view
                (`UNSUPPORTED_FEATURE`).
        """
        if self._node.values['view'] != ALL:
            raise SafegenError(
                'a part of the world is out of view, and no goal starts from a guess: start the '
                'stack with view:=all, or send the goal without from_current',
                ErrorCode.UNSUPPORTED_FEATURE,
            )
        if (arm := self._arm()) is not None:
            return arm.known(objects)
        cell = self._cell()
        start = None if cell is None else cell.start()
        if start is None:
            raise RobotError(
                'there is no last known world of facts here: send a PDDL task without '
                'from_current first',
                ErrorCode.STATE_MISMATCH,
            )
        return start

    def require(self, init: State) -> None:
        """Raises `RobotError` (`STATE_MISMATCH`) unless just these atoms hold; also as `state`."""
        known = self.state({name for atom in init for name in objects_of(atom)})
        if known != init:
            raise RobotError(
                'the world is not in the initial state of this task: '
                f'{difference(init, known)}: plan again from where it is',
                ErrorCode.STATE_MISMATCH,
            )

    def source(self, goal: ExecutePlan.Goal) -> str:
        """Where the initial state of a goal of `execute_plan` comes from, in words."""
        arm = self._arm()
        if goal.resume:
            return LEFT
        if isinstance(arm, MyCobotCell):
            if arm.assumed is None:
                return SEEN
            return STATED if arm.assumed.confirmed else BELIEVED
        if goal.from_current:
            return CURRENT
        return FACTS if arm is None else SIMULATED

    def ended(self, fault: str) -> None:
        """Notes that a goal has ended, with the fault of the arm; empty without a fault."""
        if (assumed := self.assumed) is None:
            return
        assumed.lapse()
        if fault:
            assumed.forget(f'the last goal ended by a fault of the arm ({fault})')

    def _serve(self, request: GetWorld.Request, response: GetWorld.Response) -> GetWorld.Response:
        def work() -> None:
            self._require_idle()
            response.world.facts = conversions.facts_of(self.state(request.objects))
            response.world.objects = conversions.object_poses(poses_in(self._cell(), self._arm()))
            response.source = str(self._node.values['cell'])
            if isinstance(self._arm(), MyCobotCell):
                response.source = str(self._node.values['world'])

        return self._node.answered(request, response, work)

    def _set_up(self) -> str:
        self._require_idle()
        if (assumed := self.assumed) is None:
            raise SafegenError(
                'nothing to confirm: the blocks are measured, or placed by a simulator'
            )
        assumed.confirm()
        said = 'the next goal begins with the blocks as its task has them'
        self._node.get_logger().warning(f'{SET_UP}: {said}')
        return said

    def _require_idle(self) -> None:
        self._node.require_active()
        if not self._node.goals.wait_idle(0.0):
            raise SafegenError(
                'a goal is running, and changes the world: wait or cancel it',
                ErrorCode.EXECUTOR_UNAVAILABLE,
            )


SERVICE = 'release'


class ReleaseServer:
    """Has the tool let go where the arm stands, when nothing else is done with it.

    Interfaces:
        service `release` (std_srvs/Trigger): opens the gripper, or stops and vents the pump; moves
            no joint. It is in the journal before it is done, and how it went before it is
            answered. Refused while a goal runs, the stack is stopped or the node is not active.

    Args:
        node: the executor, whose goals wait for it as for a goal.
        cell: the cell of the arm; None where there is none.
        done: called when the tool has been switched: the world is another one then.
    """

    def __init__(
        self,
        node: SafegenNode,
        cell: Callable[[], BlocksworldCell | None],
        done: Callable[[], None],
    ) -> None:
        self._node = node
        self._cell = cell
        self._done = done
        node.commands.trigger(SERVICE, 'a release', lambda by: self._release())

    def _release(self) -> str:
        node = self._node
        cell = self._cell()
        if cell is None:
            raise SafegenError('a symbolic cell has no tool: there is nothing to let go of')
        try:
            node.admit(None)
        except SafegenError as error:
            if error.code is not ErrorCode.QUEUE_FULL:
                raise
            busy = 'a goal is running, and may need what it holds: wait or cancel it'
            raise SafegenError(busy, error.code) from error
        try:
            self._done()
            said = self._written(cell)
        finally:
            node.goals.leave()
        node.get_logger().warning(f'the service {SERVICE} was called: {said}')
        return said

    def _written(self, cell: BlocksworldCell) -> str:
        """Has the tool let go; writes it to the journal before, and the result after."""
        journal = self._node.journal
        journal.release('asked')
        try:
            said = cell.release()
        except SafegenError as error:
            journal.release('failed', error.message)
            raise
        try:
            journal.release('done', said)
        except SafegenError as error:
            raise SafegenError(f'{said}; but it is in no journal: {error.message}') from error
        return said
