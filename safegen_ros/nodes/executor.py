# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The executor node: carries out plans that it has verified itself.

Interfaces:
    action `execute_plan` (safegen_msgs/action/ExecutePlan): one goal at a time, a second one is
        rejected, and every one while the stack is stopped; cancel stops the cell at once, in every
        phase.
    services `stop` and `reset` (std_srvs/Trigger): end every goal and hold, until an operator
        allows goals again.
    topic `stopped` (safegen_msgs/msg/StopState, latched): whether it is stopped, and why.
    topic `heartbeat` (unique_identifier_msgs/UUID): signs of life of those who sent the goals; a
        sender that falls silent while its goal is executed stops the stack. So does the validator,
        which is asked by service `validate_plan`.
    topic `~/progress` (safegen_msgs/msg/ExecutionProgress): each phase and step.
    topic `world_state` (safegen_msgs/msg/WorldState): measured poses [m] in the frame `base_link`;
        from a symbolic cell the facts that hold, and no poses.
    topic `joint_states` (sensor_msgs/msg/JointState): measured joints [rad]; not with a symbolic
        cell, which has no joints.

Stamps are times of the cell's simulation.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Pose, Quaternion
from rclpy.action import ActionServer, CancelResponse
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from safegen_msgs.action import ExecutePlan
from safegen_msgs.msg import ExecutionProgress, ObjectPose, WorldState
from safegen_ros.bringup import CELLS
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.nodes import conversions, qos
from safegen_ros.nodes.base import RESULT_TIMEOUT_S, SafegenNode, run_node
from safegen_ros.nodes.managed import AUTOSTART
from safegen_ros.nodes.parameters import Parameter
from safegen_ros.nodes.stop_latch import CURE
from safegen_ros.nodes.stopping import StopServer
from safegen_ros.nodes.watchdog import Watchdog
from safegen_ros.pddl.model import State
from safegen_ros.pddl.writer import atom_text
from safegen_ros.planning.loop import Deadline
from safegen_ros.robot import execution
from safegen_ros.robot.blocks import BlocksworldCell, simulated_cell
from safegen_ros.robot.limits import JOINT_NAMES
from safegen_ros.robot.pose import Pose as TwinPose
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.symbolic import SymbolicCell, SymbolicSample
from safegen_ros.robot.twin import Sample
from safegen_ros.worlds.pddl3.domains import require_same_actions
from safegen_ros.worlds.pddl3.task import Pddl3Task

PARAMETERS = (
    AUTOSTART,
    Parameter('cell', 'twin', 'what executes: twin, or symbolic, which moves nothing'),
    Parameter('scene_file', '', 'YAML of the robot cell; empty for config/scene.yaml'),
    Parameter('step_seconds', 1.0, 'time of an action in the symbolic cell [s]', 0.0, 3600.0),
    Parameter(
        'real_time_factor',
        0.0,
        'speed of the cell against the wall clock [1]; 0 is as fast as the machine can',
        0.0,
        100.0,
    ),
    Parameter('time_budget', 300.0, 'for goals that carry no time budget [s]', 1.0, 86400.0),
    Parameter(
        'heartbeat_timeout',
        4.0,
        'longest silence of the sender of a goal, and of the validator, during an execution [s]',
        1.0,
        600.0,
    ),
)


class ExecutorNode(SafegenNode):
    """Executes verified plans on the arm's twin, or in a symbolic cell where it is told to."""

    AFTER = ('validator',)

    def __init__(self) -> None:
        super().__init__('executor', PARAMETERS)
        self._progress = self.create_publisher(ExecutionProgress, '~/progress', qos.EVENTS)
        self._world = self.create_publisher(WorldState, 'world_state', qos.SAMPLES)
        self._joints: Publisher | None = None
        self._last = WorldState()
        self._twin: BlocksworldCell | None = None
        self._cell: execution.Cell | None = None
        self._cancelled: set[bytes] = set()
        # Before anything can be configured: a stop is never out of place.
        self._stop = StopServer(self, self.halt)
        self._watchdog = Watchdog(self, self._stop.stop)
        self._server: ActionServer | None = None

    def configure(self) -> None:
        """Connects to the cell; nothing moves."""
        values = self.values
        if values['cell'] == 'twin':
            if self._joints is None:
                self._joints = self.create_publisher(JointState, 'joint_states', qos.SAMPLES)
            self._cell = self._twin = simulated_cell(
                load_scene(values['scene_file'] or None),
                real_time_factor=values['real_time_factor'],
                sample=self._publish_sample,
            )
        elif values['cell'] != 'symbolic':
            raise SafegenError(
                f'parameter cell: {values["cell"]!r} is no cell: use one of {" ".join(CELLS)}'
            )
        self._watchdog.timeout_s = values['heartbeat_timeout']

    def activate(self) -> None:
        """Offers the action, which stays there from now on, and rejects while inactive."""
        if self._server is None:
            self._server = ActionServer(
                self,
                ExecutePlan,
                'execute_plan',
                self._execute,
                callback_group=self.group,
                goal_callback=self.accept_if_room,
                cancel_callback=self._cancel,
                feedback_pub_qos_profile=qos.EVENTS,
                result_timeout=RESULT_TIMEOUT_S,
            )
        where = 'on the MuJoCo twin' if self._twin else 'in a symbolic cell: nothing moves'
        self.get_logger().info(f'ready to execute {where}')

    def halt(self) -> None:
        """Stops the cell; only a new goal lets it move again."""
        if self._cell is not None:
            self._cell.stop()

    def cleanup(self) -> None:
        """Lets go of the cell."""
        if self._twin is not None:
            self._twin.close()
        self._cell = self._twin = None

    def refusal(self, goal: object) -> str:
        """No goal is taken while the stack is stopped."""
        stop = self._stop.state
        return f'the stack is stopped: {stop.reason}: {CURE}' if stop.stopped else ''

    def _cancel(self, goal_handle: Any) -> CancelResponse:
        # The goal's own state turns to canceling only after this callback.
        self._cancelled.add(bytes(goal_handle.goal_id.uuid))
        self.halt()
        return self.accept_cancel(goal_handle)

    def _execute(self, goal_handle: Any) -> ExecutePlan.Result:
        result = ExecutePlan.Result()

        stops = self._stop.state.count

        def work() -> tuple[ErrorCode, str]:
            with self._watchdog.watching(bytes(goal_handle.goal_id.uuid)):
                outcome = self._run(goal_handle, lambda: self._stopped_since(stops))
            result.verdict = conversions.verdict_to_msg(outcome.verdict)
            result.steps_done = outcome.steps_done
            result.execution_time = conversions.duration_to_msg(outcome.seconds)
            if outcome.observed is not None:
                result.final_state = self._world_state(outcome.observed)
            if outcome.error_code is ErrorCode.EXECUTION_CANCELED and self._stopped_since(stops):
                return ErrorCode.EXECUTION_STOPPED, self._stopped_because()
            return outcome.error_code, outcome.message

        # Nothing waits for the arm; the time of a goal counts from its first step of work.
        self.serve_goal(goal_handle, result, Deadline(math.inf, self.inactive.is_set), work)
        self._cancelled.discard(bytes(goal_handle.goal_id.uuid))
        return result

    def _stopped_since(self, stops: int) -> bool:
        """Whether the stack is stopped, or was after so many stops, even if it has been reset."""
        stop = self._stop.state
        return stop.stopped or stop.count != stops

    def _stopped_because(self) -> str:
        reason = self._stop.state.reason or 'it has been reset since'
        return f'the stack was stopped: {reason}; the execution has ended: {CURE}'

    def _run(self, goal_handle: Any, stopped: Callable[[], bool]) -> execution.ExecutionOutcome:
        goal = goal_handle.request
        goal_id = bytes(goal_handle.goal_id.uuid)
        budget = conversions.budget_from_msg(
            goal.time_budget, self.values['time_budget'], ErrorCode.EXECUTION_TIMEOUT
        )
        task = conversions.task_from_msg(goal.task)
        # A goal that is cancelled before its cell is known finds this out from `cancelled`.
        self._cell = cell = self._cell_for(task)

        def notify(progress: execution.ExecutionProgress) -> None:
            message = conversions.execution_progress_to_msg(progress)
            self._progress.publish(message)
            goal_handle.publish_feedback(ExecutePlan.Feedback(progress=message))

        return execution.execute_plan(
            task.problem,
            conversions.plan_from_msg(goal.plan),
            cell,
            time_budget_s=budget,
            cancelled=lambda: goal_id in self._cancelled or stopped() or self.inactive.is_set(),
            notify=notify,
        )

    def _cell_for(self, task: Pddl3Task) -> execution.Cell:
        """The cell that carries out a task; the twin refuses actions that it does not know."""
        if self._twin is None:
            return SymbolicCell(
                task.problem,
                step_seconds=self.values['step_seconds'],
                real_time_factor=self.values['real_time_factor'],
                sample=self._publish_facts,
            )
        try:
            require_same_actions(task.problem.domain, 'blocksworld')
        except SafegenError as error:
            cure = 'or start the stack with cell:=symbolic, where nothing moves'
            raise SafegenError(f'{error.message}, {cure}', error.code) from error
        return self._twin

    def _publish_facts(self, sample: SymbolicSample) -> None:
        world = WorldState(facts=_facts(sample.state))
        world.header.stamp = _stamp(sample.time)
        self._last = world
        self._world.publish(world)

    def _publish_sample(self, sample: Sample) -> None:
        joints = JointState(name=list(JOINT_NAMES), position=[float(q) for q in sample.joints])
        joints.header.stamp = _stamp(sample.time)
        joints.header.frame_id = 'base_link'
        world = WorldState()
        world.header = joints.header
        world.objects = [_object_pose(name, pose) for name, pose in sample.poses.items()]
        self._last = world
        if self._joints is not None:
            self._joints.publish(joints)
        self._world.publish(world)

    def _world_state(self, observed: State) -> WorldState:
        """The last observed world, with the poses as they are measured now where there are any."""
        world = WorldState(header=self._last.header, facts=_facts(observed))
        if self._twin is not None:
            poses = self._twin.poses()
            world.objects = [_object_pose(name, pose) for name, pose in poses.items()]
        return world


def _facts(state: State) -> list[str]:
    return [atom_text(atom) for atom in sorted(state)]


def _object_pose(name: str, pose: TwinPose) -> ObjectPose:
    x, y, z = (float(v) for v in pose.position)
    qx, qy, qz, qw = (float(v) for v in pose.orientation)
    return ObjectPose(
        name=name,
        pose=Pose(position=Point(x=x, y=y, z=z), orientation=Quaternion(w=qw, x=qx, y=qy, z=qz)),
    )


def _stamp(seconds: float) -> Time:
    return Time(sec=int(seconds), nanosec=int((seconds - int(seconds)) * 1e9))


def main() -> None:
    """Runs the node."""
    sys.exit(run_node(ExecutorNode))


if __name__ == '__main__':
    main()
