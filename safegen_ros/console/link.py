# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The console's side of the interfaces of the nodes: what it hears, and the little that it can ask.

It follows every goal of the stack, whoever has sent it, by the topics that any client of an action
may hear. What it can do is what the actions and services allow, and nothing else.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.qos import qos_profile_action_status_default
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from unique_identifier_msgs.msg import UUID
from visualization_msgs.msg import Marker, MarkerArray

from safegen_msgs import msg
from safegen_msgs.action import ExecutePlan, PlanTask, RunTask
from safegen_ros.client import Client
from safegen_ros.console import state
from safegen_ros.console.state import (
    ConsoleState,
    GoalView,
    MonitorView,
    PartView,
    Pending,
    StopView,
)
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.nodes.approval import PENDING, Approver, pending_digest
from safegen_ros.robot.pose import Pose
from safegen_ros.ros import (
    conversions,
    diagnostics,
    qos,
    record_conversions,
)
from safegen_ros.ros.calls import wait_for
from safegen_ros.ros.commands import CommandClient
from safegen_ros.ros.liveness import Instance
from safegen_ros.stages import PlanningPhase

ANSWER_S = 10.0
"""How long a service may take to answer [s]; a stop answers when the arm is at rest."""

RESET_ANSWER_S = 60.0
"""The same for a reset, which connects to an arm that may be silent, and asks it again."""

THERE_S = 1.0
"""How long a service may take to be found [s]."""

NODES = ('validator', 'executor', 'planner')

_ACTIONS = {state.RUN: RunTask, state.PLAN: PlanTask, state.EXECUTE: ExecutePlan}
_MOST_OVER = 1000  # goals that are known to be over; what is told of older ones says so itself
_OVER = (GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED)


class Link:
    """Fills a state from the topics of the stack, and calls its services.

    Args:
        client: of the stack; its node carries all of this.
        at: where what is heard goes.
        begun: told the id of a goal that somebody else has sent, so that its task can be looked up.
    """

    def __init__(self, client: Client, at: ConsoleState, begun: Callable[[str], None]) -> None:
        self._state = at
        self._begun = begun
        self._lock = threading.Lock()
        self._open: dict[str, str] = {}
        self._ours: dict[str, GoalView] = {}
        self._over: dict[str, bool] = {}  # whether it was followed before it was over
        # When the last look of a goal came, Unix time, and when it was, by the cell's clock [s].
        self._last_look = (-math.inf, 0.0)
        self._node: Any = client.node
        self._group = MutuallyExclusiveCallbackGroup()
        self._approver = Approver(self._node)
        self._heartbeats = client.heartbeats
        self._stop: Any = self._node.create_client(Trigger, 'stop')
        self._commands = CommandClient(self._node, 'executor')
        self._cancels: dict[str, Any] = {
            name: self._node.create_client(CancelGoal, f'{name}/_action/cancel_goal')
            for name in _ACTIONS
        }
        self._results: dict[str, Any] = {
            name: self._node.create_client(
                kind.Impl.GetResultService, f'{name}/_action/get_result', qos_profile=qos.REQUESTS
            )
            for name, kind in _ACTIONS.items()
        }
        self._listen()

    def _listen(self) -> None:
        hear = self._hear
        hear(JointState, 'joint_states', self._joints, qos.SAMPLES)
        hear(msg.WorldState, 'world_state', self._world, qos.SAMPLES)
        hear(MarkerArray, 'executor/scene', self._scene, qos.LATCHED)
        hear(msg.StopState, 'stopped', self._stopped, qos.LATCHED)
        hear(msg.PendingPlan, f'planner/{PENDING}', self._pending, qos.LATCHED)
        hear(msg.MonitorStatus, 'validator/status', self._monitored, qos.LATCHED)
        hear(DiagnosticArray, diagnostics.TOPIC, self._diagnosed, qos.EVENTS)
        self._heartbeats.listen(self._beat)
        for name, kind in _ACTIONS.items():
            hear(
                GoalStatusArray,
                f'{name}/_action/status',
                partial(self._statuses, name),
                qos_profile_action_status_default,
            )
            hear(
                kind.Impl.FeedbackMessage,
                f'{name}/_action/feedback',
                partial(self._feedback, name),
                qos.EVENTS,
            )

    def _hear(self, kind: Any, topic: str, take: Callable[..., None], profile: Any) -> None:
        self._node.create_subscription(kind, topic, take, profile, callback_group=self._group)

    # What is heard, in the thread of the client.

    def _joints(self, message: JointState, info: Any) -> None:
        joints = dict(zip(message.name, message.position, strict=False))
        sent = info['source_timestamp'] * 1e-9
        self._look(joints=joints, stamp=_seconds(message.header.stamp), sent=sent)

    def _world(self, message: msg.WorldState, info: Any) -> None:
        ended, stamp = self._last_look
        if info['source_timestamp'] * 1e-9 < ended and _seconds(message.header.stamp) <= stamp:
            return  # a sample of a goal whose result has overtaken it
        poses = {each.name: _pose(each.pose) for each in message.objects}
        self._look(poses=poses, facts=tuple(message.facts))

    def _look(self, **values: Any) -> None:
        now = time.monotonic()
        self._state.change(lambda p: replace(p, look=replace(p.look, heard=now, **values)))

    def _scene(self, message: MarkerArray) -> None:
        """Where the blocks are before anything has moved: samples come with motion only."""
        names = [m.text for m in message.markers if m.ns == 'names' and m.action == Marker.ADD]
        boxes = [m.pose for m in message.markers if m.ns == 'blocks' and m.action == Marker.ADD]
        if not self._state.snapshot.look.poses and len(names) == len(boxes):
            self._look(poses=dict(zip(names, map(_pose, boxes), strict=True)))

    def _stopped(self, message: msg.StopState) -> None:
        stop = StopView(True, message.stopped, message.reason, message.count)
        self._state.set(stop=stop)

    def _pending(self, message: msg.PendingPlan) -> None:
        if not message.digest:
            self._state.set(pending=None)
            return
        # A plan of another digest than it says may be looked at, but not be allowed.
        right = message.digest == pending_digest(message)
        goal = bytes(message.goal_id.uuid).hex()
        pending = Pending(
            goal,
            message.digest if right else '',
            record_conversions.step_texts(message.plan),
            conversions.verdict_from_msg(message.verdict),
            _seconds(message.expires),
            message.replans,
            message.request,
        )
        self._state.set(pending=pending)
        problem = _problem(message.task)
        self._state.goal(goal, lambda view: state.awaits(view, pending.steps, problem))

    def _monitored(self, message: msg.MonitorStatus) -> None:
        standings = tuple(zip(message.constraints, message.standings, strict=False))
        goal = bytes(message.goal_id.uuid).hex()
        self._state.set(monitor=MonitorView(goal, message.step, standings, message.reason))

    def _diagnosed(self, message: DiagnosticArray) -> None:
        parts = {
            each.name: PartView(
                each.name, int.from_bytes(each.level, 'little'), each.message, each.hardware_id
            )
            for each in message.status
        }
        self._state.change(lambda p: replace(p, parts={**p.parts, **parts}))

    def _beat(self, instance: Instance) -> None:
        if instance.sent:
            self._state.set(beat=time.monotonic())

    def _statuses(self, action: str, message: GoalStatusArray) -> None:
        for each in message.status_list:
            id = bytes(each.goal_info.goal_id.uuid).hex()
            if each.status in _OVER:
                self._end(action, id)
            else:
                self._begin(action, id)
        self._count()

    def _begin(self, action: str, id: str) -> None:
        """Follows a goal from now on; those that a `run_task` leads to are a part of it."""
        with self._lock:
            if id in self._open or id in self._over:
                return
            led_to = action == state.EXECUTE and state.RUN in self._open.values()
            self._open[id] = action
            view = None if led_to else self._ours.pop(id, None) or GoalView(id, action)
            # Under the lock, so that whoever announces a goal that is known finds it shown.
            if view is not None:
                self._state.set(goal=view)
        self._ask_result(action, id)
        if view is not None and not view.ours:
            self._begun(id)

    def _end(self, action: str, id: str) -> None:
        """Remembers that a goal is over, so that a status of it that comes late begins nothing."""
        with self._lock:
            followed = self._open.pop(id, None) is not None or self._over.get(id, False)
            # Only the last status is kept for who is held up, and a short goal is over in that.
            unseen = self._ours.pop(id, None)
            self._over[id] = followed or unseen is not None
            while len(self._over) > _MOST_OVER:
                del self._over[next(iter(self._over))]
            if unseen is not None:
                self._state.set(goal=unseen)
        if unseen is not None:
            self._ask_result(action, id)

    def _count(self) -> None:
        with self._lock:
            running = len([a for a in self._open.values() if a != state.EXECUTE])
        self._state.set(others=max(0, running - 1))

    def _ask_result(self, action: str, id: str) -> None:
        kind = _ACTIONS[action].Impl.GetResultService
        request = kind.Request(goal_id=UUID(uuid=list(bytes.fromhex(id))))
        future = self._results[action].call_async(request)
        future.add_done_callback(lambda done: self._result(id, done))

    def _result(self, id: str, future: Any) -> None:
        answer = future.result()
        if answer is None or answer.status == GoalStatus.STATUS_UNKNOWN:
            return
        # Samples come with motion only: what was moved since is seen in the last look of all.
        world = getattr(answer.result, 'final_state', msg.WorldState())
        if world.objects:
            self._last_look = (time.time(), _seconds(world.header.stamp))
            poses = {each.name: _pose(each.pose) for each in world.objects}
            self._look(poses=poses, facts=tuple(world.facts))
        self._state.goal(id, lambda view: state.ended(view, answer.result))

    def _feedback(self, action: str, message: Any) -> None:
        id, feedback = bytes(message.goal_id.uuid).hex(), message.feedback
        if action != state.RUN:
            change = state.planned if action == state.PLAN else state.executed
            self._state.goal(id, lambda view: change(view, feedback.progress))
        elif feedback.stage == RunTask.Feedback.PLANNING:
            self._state.goal(id, lambda view: state.planned(view, feedback.planning))
            self._understood(id, feedback.planning)
        elif feedback.stage == RunTask.Feedback.EXECUTION:
            self._state.goal(id, lambda view: state.executed(view, feedback.execution))
        elif feedback.stage == RunTask.Feedback.REPLANNING:
            left = _problem(feedback.replan.task)
            self._state.goal(id, lambda view: state.replanned(view, feedback.replan, left))

    def _understood(self, id: str, progress: Any) -> None:
        """The problem that a model has written for words."""
        if progress.phase == PlanningPhase.UNDERSTOOD:
            problem = _problem(msg.Task(problem=progress.problem))
            self._state.goal(id, lambda view: view.with_problem(problem))

    # What can be asked.

    def refresh(self) -> None:
        """Shows the states of the nodes, and ends the goals of those that are gone."""
        there = {
            name for name in NODES if self._node.count_publishers(f'{name}/transition_event') > 0
        }
        self._state.set(nodes={name: self._heartbeats.state(name) for name in NODES})
        # By the graph, and not by the states: a node that is held up still has its goals.
        if 'planner' not in there:
            self._state.set(pending=None)
        with self._lock:
            actions = dict(self._open)
        for id, action in actions.items():
            if ('executor' if action == state.EXECUTE else 'planner') not in there:
                self._lost(action, id)

    def _lost(self, action: str, id: str) -> None:
        """Nobody holds the goal any more, and nobody will tell how it ended."""
        self._end(action, id)
        self._state.goal(
            id,
            lambda view: replace(
                view, stage='ended', moving=False, code=ErrorCode.SERVER_LOST,
                message='the node that held the goal is gone: look at the cell before the next one',
            ) if view.running else view,
        )  # fmt: skip

    def announce(self, view: GoalView) -> None:
        """Names a goal that this console has sent; its first status may have come before."""
        id, problems = view.id, view.problems
        with self._lock:
            unseen = not self._over.get(id, True)
            if unseen:
                self._over[id] = True
                self._state.set(goal=view)
            elif id in self._open or id in self._over:
                self._state.goal(
                    id,
                    lambda seen: replace(seen, ours=True, problems={**problems, **seen.problems}),
                )
            else:
                self._ours[id] = view
        if unseen:
            self._ask_result(view.action, id)

    def stop(self) -> str:
        """Stops the arm and ends every goal; what was answered.

        Raises:
            SafegenError: no executor answers: nothing was stopped by this.
        """
        service, lost = self._stop, ErrorCode.SERVER_LOST
        if not service.wait_for_service(timeout_sec=THERE_S):
            raise SafegenError(
                'no executor is there to stop: if something moves, use the emergency stop of the '
                'arm',
                lost,
            )
        future = service.call_async(Trigger.Request())
        return _said(wait_for(future, ANSWER_S, 'the service stop of the executor', lost))

    def reset(self) -> str:
        """Allows goals again; raises `SafegenError` where nobody answers, or it is refused."""
        return _said(self._commands.do('reset', timeout_s=RESET_ANSWER_S))

    def set_up(self) -> str:
        """States that the blocks stand as the next goal begins; raises as `reset`."""
        return _said(self._commands.do('blocks_set_up', timeout_s=ANSWER_S))

    def release(self) -> str:
        """Has the tool let go; raises as `reset`."""
        return _said(self._commands.do('release', timeout_s=ANSWER_S))

    def cancel(self, view: GoalView) -> str:
        """Cancels a goal, whoever has sent it; what was answered.

        Raises:
            SafegenError: nobody answers, or the goal cannot be cancelled any more.
        """
        request = CancelGoal.Request(
            goal_info=GoalInfo(goal_id=UUID(uuid=list(bytes.fromhex(view.id))))
        )
        service, lost = self._cancels[view.action], ErrorCode.SERVER_LOST
        if not service.wait_for_service(timeout_sec=THERE_S):
            raise SafegenError('nobody is there who holds the goal', lost)
        answer = wait_for(service.call_async(request), ANSWER_S, f'action {view.action}', lost)
        if not answer.goals_canceling:
            raise SafegenError('the goal has ended already')
        return 'the goal is cancelled'

    def say(self, digest: str, approve: bool, by: str, reason: str) -> str:
        """The operator's word about the plan of a digest; what was answered.

        Raises:
            SafegenError: nobody answers, or no such plan waits.
        """
        answer = self._approver.say(digest, approve, by, reason, ANSWER_S)
        if not answer.success:
            raise SafegenError(answer.message)
        return str(answer.message)


def _problem(task: msg.Task) -> Any:
    """The problem of a task message; None where it cannot be read here."""
    try:
        return conversions.problem_from_msg(task)
    except SafegenError:
        return None


def _seconds(stamp: Any) -> float:
    return float(stamp.sec + stamp.nanosec * 1e-9)


def _pose(message: Any) -> Pose:
    p, q = message.position, message.orientation
    return Pose((p.x, p.y, p.z), (q.x, q.y, q.z, q.w))


def _said(answer: Any) -> str:
    """The message of an answer; raises `SafegenError` with it where the answer is a refusal."""
    if not answer.success:
        raise SafegenError(answer.message)
    return str(answer.message)
