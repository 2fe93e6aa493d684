# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The executor node: executes plans that it has verified itself.

Interfaces:
    action `execute_plan` (safegen_msgs/action/ExecutePlan): one goal at a time; a second one ends
        at once, and so does every one while the stack is stopped; cancel stops the cell at once, in
        every phase.
    services `stop` and `reset` (std_srvs/Trigger): end every goal and hold, until an operator
        allows goals again.
    topic `stopped` (safegen_msgs/msg/StopState, latched): whether it is stopped, and why.
    topic `heartbeat` (safegen_msgs/msg/Heartbeat): of the clients and nodes that sent the goals; a
        goal of which none is known does not begin. A sender, validator or supervisor that is lost
        while a goal is executed stops the stack, and so does an executor that was not scheduled.
    service `release` (std_srvs/Trigger): the tool lets go at an operator's word, see `releasing`.
    service `rehearse_plan` (safegen_msgs/srv/RehearsePlan): a proved plan on a separate twin;
        the executor does this itself before a real arm moves.
    client of service `monitor_step`: the validator judges each observation before the next step. A
        world that has left the proof stops the stack, unless the goal may be planned again.
    topic `~/progress` (safegen_msgs/msg/ExecutionProgress): each phase and step.
    topics `world_state` and `joint_states`: see `Samples`.
    services `get_world` and `blocks_set_up`: see `KnownWorld`.
    topics `robot_description`, `~/scene` and `/clock`: see `CellView`.

Stamps are times of the cell's simulation, as on `/clock`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rclpy.action import CancelResponse

from safegen_msgs.action import ExecutePlan
from safegen_msgs.msg import ExecutionProgress, Task, WorldState
from safegen_ros.errors import ARM_FAULTS, ErrorCode, RobotError, SafegenError
from safegen_ros.node_parameters import EXECUTOR
from safegen_ros.nodes.admission import require_keep_out
from safegen_ros.nodes.approval import ExecutionGate
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.nodes.cell_services import KnownWorld, RealArm, ReleaseServer
from safegen_ros.nodes.cell_view import CellView
from safegen_ros.nodes.clients import MonitorClient
from safegen_ros.nodes.rehearsal import Rehearser
from safegen_ros.nodes.running import run_node
from safegen_ros.nodes.samples import ARM_PERIOD_S, FACTS_PERIOD_S, Samples
from safegen_ros.nodes.served_goals import ExecutionGoal, ExecutionHandle
from safegen_ros.nodes.stop_latch import SoleExecutor
from safegen_ros.nodes.stop_server import ProtectiveStop, StopServer
from safegen_ros.paths import data_path
from safegen_ros.pddl.model import State
from safegen_ros.record.events import UnboundEvent
from safegen_ros.record.run import cell_name
from safegen_ros.robot.cell import execution
from safegen_ros.robot.cell.blocks import BlocksworldCell, simulated_cell
from safegen_ros.robot.cell.execution import Stoppable
from safegen_ros.robot.cell.settings import ARM_CELL, CELLS
from safegen_ros.robot.scene import Scene, load_scene
from safegen_ros.ros import conversions, qos, record_conversions
from safegen_ros.ros.rclpy_compat import GoalServer
from safegen_ros.ros.watchdog import CURE, ExecutionWatchdog
from safegen_ros.stages import ExecutionPhase
from safegen_ros.tasks.cells import CellSetup, MultiRobotCell, poses_in
from safegen_ros.tasks.task import ActionTask, job_of
from safegen_ros.verify.run_monitor import may_replan


@dataclass(frozen=True, slots=True)
class _Left:
    """The rest of a goal that was not as proved, and where it may go on."""

    task: Task
    cell: MultiRobotCell


class ExecutorNode(SafegenNode):
    """Executes verified plans on the arm's twin, or in a symbolic cell if so configured."""

    AFTER = ('validator',)
    UNAVAILABLE = ErrorCode.EXECUTOR_UNAVAILABLE

    def __init__(self) -> None:
        super().__init__('executor', EXECUTOR)
        self._progress = self.create_publisher(ExecutionProgress, '~/progress', qos.EVENTS)
        self._view = CellView(self)
        self._samples = Samples(self, self._view, self._unseen)
        self._arm = RealArm(self)
        self._twin: BlocksworldCell | None = None
        self._task_cell: MultiRobotCell | None = None
        self._cell: Stoppable | None = None
        self._cancelled: set[bytes] = set()
        # Before anything can be configured: a stop is never out of place.
        self._stop = StopServer(self, self.halt, self._rearm)
        self._protect = ProtectiveStop(self, self._stop)
        self._sole = SoleExecutor(self, self._stop.stop)
        self._watchdog = ExecutionWatchdog(self.heartbeats, self.interruption, self._protect.stop)
        self._monitor = MonitorClient(self)
        self._gate = ExecutionGate(self)
        self._rehearser = Rehearser(
            self, lambda: self._twin, lambda: self.values['cell'] == ARM_CELL
        )
        self._release = ReleaseServer(self, lambda: self._twin, self._forget)
        self._known = KnownWorld(self, lambda: self._twin, lambda: self._task_cell)
        self._left: _Left | None = None
        self.diagnostics.add(
            self.goals_health, self._stop.health, self._watchdog.health, self._view.health,
            self._samples.health,
        )  # fmt: skip
        self._server: GoalServer | None = None

    def refuses_unknown(self) -> bool:
        """For the real arm always: a limit that is not in force is not a limit."""
        return super().refuses_unknown() or self.values['cell'] == ARM_CELL

    def configure(self) -> None:
        """Connects to the cell; nothing moves."""
        self.load_site()
        values = self.values
        self.journal.open(values['journal'])
        # Before the arm is opened, which is powered only where an operator has released it.
        self._stop.commission(values['cell'] == ARM_CELL)
        if values['cell'] == ARM_CELL and not self.commands.required:
            self.get_logger().warning(
                'Any program that reaches this ROS domain can move the arm. To require signatures '
                'of operators, set operators_file (docs/security.md).'
            )
        if values['cell'] == 'twin':
            self._samples.offer_joints()
            scene = self._scene()
            self._view.open(scene, simulated=True, real_time_factor=values['real_time_factor'])
            self._cell = self._twin = simulated_cell(
                scene,
                real_time_factor=values['real_time_factor'],
                sample=self._samples.sample,
            )
            self._samples.open(self._twin.look)
        elif values['cell'] == ARM_CELL:
            if self.get_parameter('use_sim_time').value:
                raise SafegenError(
                    'parameter use_sim_time: a real arm has no simulated time, and its samples '
                    'would be stamped 0: set it to false'
                )
            self._samples.offer_joints()
            scene = self._scene()
            self._view.open(scene, simulated=False)
            limit = min(values['speed_limit'], self.site.speed_limit)
            values = {**values, 'speed_limit': limit}
            self._cell = self._twin = self._arm.open(
                values, scene, self._samples.sample, rearm=not self._stop.state.stopped
            )
            self._samples.open(self._twin.look, period_s=ARM_PERIOD_S)
        elif values['cell'] == 'symbolic':
            self._view.open(None, simulated=True, real_time_factor=values['real_time_factor'])
            self._samples.open(None, period_s=FACTS_PERIOD_S)
        else:
            raise SafegenError(
                f'parameter cell: {values["cell"]!r} is not a cell: use one of '
                f'{" ".join((*CELLS, ARM_CELL))}'
            )
        self._watchdog.timeout_s = self._monitor.timeout_s = values['heartbeat_timeout']

    def _scene(self) -> Scene:
        file = self.values['scene_file']
        return self.site.applied(load_scene(file and data_path(file)))

    def activate(self) -> None:
        """Offers the action, which stays there from now on, and rejects while inactive."""
        self._stop.claim()
        self._sole.check()
        if self._server is None:
            self._server = self.serve(ExecutePlan, 'execute_plan', self._execute, self._cancel)
        self._rehearser.activate()
        where = 'on the MuJoCo twin' if self._twin else 'in a symbolic cell: nothing moves'
        if self.values['cell'] == ARM_CELL:
            where = 'on the real arm'
        self.get_logger().info(f'ready to execute {where}')

    def hardware(self) -> str:
        """The cell, for the diagnostics."""
        return str(self.values.get('cell', ''))

    def halt(self) -> None:
        """Stops the cell; only a new goal lets it move again."""
        if self._cell is not None:
            self._cell.stop()

    def _rearm(self) -> None:
        """Makes the arm fit to move again; raises where it is not."""
        if self._twin is not None:
            self._twin.rearm()

    def end(self) -> None:
        """The last transition; then the next executor may have this domain and namespace."""
        super().end()
        self._stop.close()

    def _forget(self) -> None:
        self._left = None
        self._rehearser.forget()
        if (assumed := self._known.assumed) is not None:
            assumed.lapse()

    def cleanup(self) -> None:
        """Lets go of the cell."""
        self._samples.close()
        if self._twin is not None:
            self._twin.close()
        self._view.close()
        self._let_go()
        self._cell = self._twin = self._left = self._task_cell = None
        self.journal.close()

    def admit(self, goal: object) -> None:
        """No goal may move anything while the stack is stopped."""
        self._stop.look()
        stop = self._stop.state
        if stop.stopped:
            raise SafegenError(
                f'the stack is stopped ({stop.reason}); {CURE}', ErrorCode.EXECUTION_STOPPED
            )
        super().admit(goal)

    def _cancel(self, handle: ExecutionHandle) -> CancelResponse:
        # The goal's own state turns to canceling only after this callback.
        self._cancelled.add(bytes(handle.goal_id.uuid))
        self.halt()
        return self.accept_cancel(handle)

    def _execute(self, handle: ExecutionHandle) -> ExecutePlan.Result:
        goal = ExecutionGoal(self, handle, self._stop, self._cancelled)

        def begin() -> None:
            came = record_conversions.plan_event(goal.plan)
            cell = cell_name(self.values['cell'], self.values['world'])
            self.journal.begin(handle, 'execute_plan', came, cell=cell)

        # One goal is here at a time, so that none waits for its turn.
        self.serve_goal(goal, begin, lambda: self._carry_out(goal))
        self._cancelled.discard(goal.key)
        return goal.result

    def _carry_out(self, goal: ExecutionGoal) -> None:
        """Executes a goal, and fills in its result."""

        def run() -> execution.ExecutionOutcome:
            with self._watchdog.watching(goal.key, goal.cancelled):
                return self._run(goal)

        self._gate.check(goal.handle)
        asked, result = goal.request, goal.result
        outcome = self._protect.carry_out(
            run, replan=asked.replan, cancelled=lambda: goal.key in self._cancelled
        )
        self._view.end(outcome.verdict, outcome.message)
        result.verdict = conversions.verdict_to_msg(outcome.verdict)
        # In step mode it says whether the step was taken, even if it failed.
        result.steps_done = outcome.taken if asked.step_by_step else outcome.steps_done
        result.execution_time = conversions.duration_to_msg(outcome.seconds)
        if outcome.observed is not None:
            result.final_state = self._world_state(outcome.observed)
            result.observation = self._task_cell.words() if self._task_cell else ''
        code, rest = outcome.error_code, outcome.remaining
        goes_on = may_replan(code, asked.replan) or (asked.step_by_step and code is ErrorCode.NONE)
        if goes_on and rest is not None and self._task_cell is not None:
            task = conversions.task_from_msg(asked.task)
            result.remaining = conversions.remaining_to_msg(rest, task)
            self._left = _Left(result.remaining, self._task_cell)
        if code is not ErrorCode.NONE:
            raise SafegenError(outcome.message, code)

    def _run(self, served: ExecutionGoal) -> execution.ExecutionOutcome:
        goal, cancelled = served.request, served.cancelled
        budget = conversions.budget_from_msg(
            goal.time_budget, self.values['time_budget'], ErrorCode.EXECUTION_TIMEOUT
        )
        task = self.bound.task(goal.task, goal.resume)
        if unbound := self.bound.unbound(goal.task, goal.resume):
            served.note(UnboundEvent(unbound))
        steps = conversions.steps_from_msg(goal.plan)
        self._view.begin(record_conversions.step_texts(goal.plan))
        if goal.from_current:
            self._known.require(task.init)
        # A goal that is cancelled before its cell is known finds this out from `cancelled`.
        self._task_cell = cell = self._left_cell(goal) if goal.resume else self._cell_for(task)
        self._cell = cell
        self._left = None  # whatever comes of it, the world is another one then

        began, spelling = time.monotonic(), conversions.spelling_of(task)

        def notify(progress: execution.ExecutionProgress) -> None:
            message = conversions.execution_progress_to_msg(progress, spelling)
            if progress.phase == ExecutionPhase.PREPARING:
                message.detail = self._known.source(goal)
            # Before the step that it announces, and before it is published.
            at = time.monotonic() - began
            served.note(record_conversions.progress_event(message, at, progress.seen))
            if progress.phase == ExecutionPhase.PREPARING:
                self._stop.begin_motion(f'goal {served.key.hex()[:8]}, {progress.total} steps')
            elif progress.phase == ExecutionPhase.MOVING:
                self._stop.look()
            self._view.progress(progress)
            self._progress.publish(message)
            served.publish(ExecutePlan.Feedback(progress=message))

        job = job_of(
            task,
            steps,
            cell,
            step_by_step=goal.step_by_step,
            look=goal.look,
            resume=goal.resume,
        )
        if goal.from_current and self.values['cell'] == 'twin' and self._twin is not None:
            job = replace(job, start=self._twin.home)
        try:
            outcome = execution.carry_out(
                job,
                time_budget_s=budget,
                cancelled=cancelled,
                notify=notify,
                resume=goal.resume,
                watch=self._monitor.watch(served.id, goal, steps, cancelled),
                rehearse=self._rehearser.for_goal(goal, task, steps, cancelled),
            )
        except BaseException as error:
            self._known.ended(str(error))
            raise
        finally:
            self._view.rest()
            self._rehearser.forget()
        self._known.ended(outcome.message if outcome.error_code in ARM_FAULTS else '')
        return outcome

    def _left_cell(self, goal: ExecutePlan.Goal) -> MultiRobotCell:
        """The cell as the goal before has left it; only the rest of that goal may go on there.

        So no constraint can be lost between two plans.
        """
        left = self._left
        if left is None or left.task != goal.task:
            raise SafegenError(
                'there is no such task to resume: its text must be `remaining` of the goal right '
                'before, which was not as proved: send a goal without resume',
                ErrorCode.PLAN_REFUSED,
            )
        return left.cell

    def _cell_for(self, task: ActionTask) -> MultiRobotCell:
        require_keep_out(task, self.values['cell'], self.site)
        self._let_go()
        values = self.values
        return task.cell(
            CellSetup(
                values['step_seconds'],
                values['real_time_factor'],
                self._samples.facts,
                values['cell'],
                self._twin,
                self._samples.look,
                values['view'],
                values['start_file'],
            )
        )

    def _unseen(self) -> Sequence[str]:
        return self._task_cell.unseen if self._task_cell else ()

    def _let_go(self) -> None:
        if self._task_cell is not None:
            self._task_cell.close()

    def _world_state(self, observed: State) -> WorldState:
        try:
            poses = poses_in(self._task_cell, self._twin)
        except RobotError:
            poses = {}  # after a fault they are not known, and the client gets the fault
        return self._samples.world_state(observed, poses)


def main() -> None:
    """Runs the node."""
    sys.exit(run_node(ExecutorNode))


if __name__ == '__main__':
    main()
