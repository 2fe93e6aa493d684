# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The console's side of the interfaces of the nodes: what it hears, and the little that it can ask.

It follows every goal of the stack, from any sender, by the topics that any client of an action may
hear. What it can do is what the actions and services allow, and nothing else.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from action_msgs.msg import GoalInfo, GoalStatus
from action_msgs.srv import CancelGoal
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.client import Client as ServiceClient
from rclpy.qos import QoSProfile
from rclpy.subscription import MessageInfo
from rclpy.task import Future
from rclpy.type_support import MsgT
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from unique_identifier_msgs.msg import UUID
from visualization_msgs.msg import Marker, MarkerArray

from safegen_msgs import msg
from safegen_msgs.action import ExecutePlan, PlanTask, RunTask
from safegen_msgs.srv import Operate
from safegen_ros.client import Client
from safegen_ros.console import state
from safegen_ros.console.state import ConsoleState, Goals, MonitorView, PartView, Pending, StopView
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.nodes.approval import PENDING, Approver, pending_digest
from safegen_ros.pddl.model import Problem
from safegen_ros.record.events import EndEvent, Event
from safegen_ros.ros import conversions, diagnostics, qos, record_conversions
from safegen_ros.ros.calls import wait_for
from safegen_ros.ros.commands import CommandClient
from safegen_ros.ros.conversions import pose_from_msg, seconds_of
from safegen_ros.ros.liveness import NodeInstance
from safegen_ros.stages import GoalStage

_Results: TypeAlias = ExecutePlan.Impl.GetResultService

ANSWER_S = 10.0
"""How long a service may take to answer [s]; a stop answers when the arm is at rest."""

RESET_ANSWER_S = 60.0
"""The same for a reset, which connects to an arm that may be silent, and asks it again."""

THERE_S = 1.0
"""How long a service may take to be found [s]."""

NODES = ('validator', 'executor', 'planner')


class StackLink:
    """Fills a state from the topics of the stack, and calls its services.

    Args:
        client: of the stack; its node carries all of this.
        at: where what is heard goes.
        begun: told the id of a goal that somebody else has sent, so that its task can be looked up.
    """

    def __init__(self, client: Client, at: ConsoleState) -> None:
        self._state = at
        self.goals = Goals(at)
        # When the last look of a goal came, Unix time, and when it was, by the cell's clock [s].
        self._last_look = (-math.inf, 0.0)
        self._node = client.node
        self._group = MutuallyExclusiveCallbackGroup()
        self._approver = Approver(self._node)
        self._heartbeats = client.heartbeats
        self._stop: ServiceClient[Trigger.Request, Trigger.Response]
        self._stop = self._node.create_client(Trigger, 'stop')
        self._commands = CommandClient(self._node, 'executor')
        self._cancels: dict[str, ServiceClient[CancelGoal.Request, CancelGoal.Response]] = {
            name: self._node.create_client(CancelGoal, f'{name}/_action/cancel_goal')
            for name in (state.RUN, state.PLAN, state.EXECUTE)
        }
        self._results: ServiceClient[_Results.Request, _Results.Response] = (
            self._node.create_client(
                _Results,
                f'{state.EXECUTE}/_action/get_result',
                qos_profile=qos.REQUESTS,
            )
        )
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
        hear(RunTask.Impl.FeedbackMessage, 'run_task/_action/feedback', self._asked, qos.EVENTS)
        hear(PlanTask.Impl.FeedbackMessage, 'plan_task/_action/feedback', self._asked, qos.EVENTS)
        record_conversions.hear_events(self._node, self._event, callback_group=self._group)

    def _hear(
        self, kind: type[MsgT], topic: str, take: Callable[..., None], profile: QoSProfile
    ) -> None:
        self._node.create_subscription(kind, topic, take, profile, callback_group=self._group)

    # What is heard, in the thread of the client.

    def _joints(self, message: JointState, info: MessageInfo) -> None:
        joints = dict(zip(message.name, message.position, strict=False))
        sent = info['source_timestamp'] * 1e-9
        self._look(joints=joints, stamp=seconds_of(message.header.stamp), sent=sent)

    def _world(self, message: msg.WorldState, info: MessageInfo) -> None:
        ended, stamp = self._last_look
        if info['source_timestamp'] * 1e-9 < ended and seconds_of(message.header.stamp) <= stamp:
            return  # a sample of a goal whose result has overtaken it
        poses = {each.name: pose_from_msg(each.pose) for each in message.objects}
        self._look(poses=poses, facts=tuple(message.facts))

    def _look(self, **values: Any) -> None:
        now = time.monotonic()
        self._state.change(lambda p: replace(p, look=replace(p.look, heard=now, **values)))

    def _scene(self, message: MarkerArray) -> None:
        """Where the blocks are before anything has moved: samples come with motion only."""
        names = [m.text for m in message.markers if m.ns == 'names' and m.action == Marker.ADD]
        boxes = [m.pose for m in message.markers if m.ns == 'blocks' and m.action == Marker.ADD]
        if not self._state.snapshot.look.poses and len(names) == len(boxes):
            self._look(poses=dict(zip(names, map(pose_from_msg, boxes), strict=True)))

    def _stopped(self, message: msg.StopState) -> None:
        stop = StopView(
            True, message.stopped, message.reason, message.count, seconds_of(message.stamp)
        )
        if self._state.snapshot.stop.stopped and not stop.stopped:
            self.goals.leave()
        self._state.set(stop=stop)

    def _pending(self, message: msg.PendingPlan) -> None:
        if not message.digest:
            self._state.set(pending=None)
            return
        # A plan of another digest than it says may be looked at, but not be allowed.
        right = message.digest == pending_digest(message)
        goal = record_conversions.goal_id_text(message.goal_id)
        pending = Pending(
            goal,
            message.digest if right else '',
            record_conversions.step_texts(message.plan),
            conversions.verdict_from_msg(message.verdict),
            seconds_of(message.expires),
            _problem(message.task),
            message.request,
        )
        self._state.set(pending=pending)

    def _monitored(self, message: msg.MonitorStatus) -> None:
        standings = tuple(zip(message.constraints, message.standings, strict=False))
        goal = record_conversions.goal_id_text(message.goal_id)
        self._state.set(monitor=MonitorView(goal, message.step, standings, message.reason))

    def _diagnosed(self, message: DiagnosticArray) -> None:
        parts = {
            each.name: PartView(
                each.name, int.from_bytes(each.level, 'little'), each.message, each.hardware_id
            )
            for each in message.status
        }
        self._state.change(lambda p: replace(p, parts={**p.parts, **parts}))

    def _beat(self, instance: NodeInstance) -> None:
        if instance.sent:
            self._state.set(beat=time.monotonic())

    def _event(self, node: str, goal: str, event: Event) -> None:
        self.goals.take(node, goal, event)
        if node == 'executor' and isinstance(event, EndEvent):
            request = _Results.Request(goal_id=_uuid(goal))
            self._results.call_async(request).add_done_callback(self._last_seen)

    def _last_seen(self, future: Future[_Results.Response]) -> None:
        """Samples come with motion only: the last look of all shows later moves."""
        answer = future.result()
        if answer is None or answer.status == GoalStatus.STATUS_UNKNOWN:
            return
        world = answer.result.final_state
        if world.objects:
            self._last_look = (time.time(), seconds_of(world.header.stamp))
            poses = {each.name: pose_from_msg(each.pose) for each in world.objects}
            self._look(poses=poses, facts=tuple(world.facts))

    def _asked(self, message: RunTask.Impl.FeedbackMessage | PlanTask.Impl.FeedbackMessage) -> None:
        """The planner at work, which is not an event of a run."""
        feedback = message.feedback
        if isinstance(feedback, PlanTask.Feedback):
            progress = feedback.progress
        elif feedback.stage == GoalStage.PLANNING:
            progress = feedback.planning
        else:
            return
        self.goals.asked(record_conversions.goal_id_text(message.goal_id), progress)

    # What can be asked.

    def refresh(self) -> None:
        """Shows the states of the nodes, and ends the goals of those that are gone."""
        there = {
            name for name in NODES if self._node.count_publishers(f'{name}/transition_event') > 0
        }
        nodes = {name: self._heartbeats.state(name) for name in NODES}
        gone = {*NODES} - there
        self._state.change(
            lambda told: replace(
                told, nodes=nodes, parts={n: p for n, p in told.parts.items() if p.node not in gone}
            )
        )
        # By the graph, and not by the states: a node that is held up still has its goals.
        if 'planner' not in there:
            self._state.set(pending=None)
        self.goals.lose(there)

    def stop(self) -> str:
        """Stops the arm and ends every goal; returns the answer.

        Raises:
            SafegenError: no executor answers: nothing was stopped by this.
        """
        service, lost = self._stop, ErrorCode.SERVER_LOST
        if not service.wait_for_service(timeout_sec=THERE_S):
            raise SafegenError(
                'no executor to stop: if something moves, use the emergency stop of the arm',
                lost,
            )
        future = service.call_async(Trigger.Request())
        return _said(wait_for(future, ANSWER_S, 'the service stop of the executor', lost))

    def reset(self) -> str:
        """Allows goals again; raises `SafegenError` without an answer, or if it is refused."""
        return _said(self._commands.do('reset', timeout_s=RESET_ANSWER_S))

    def set_up(self) -> str:
        """States that the blocks stand as the next goal begins; raises as `reset`."""
        return _said(self._commands.do('blocks_set_up', timeout_s=ANSWER_S))

    def release(self) -> str:
        """Has the tool let go; raises as `reset`."""
        return _said(self._commands.do('release', timeout_s=ANSWER_S))

    def cancel(self, action: str, id: str) -> str:
        """Cancels a goal of an action, from any sender; returns the answer.

        Raises:
            SafegenError: no answer came, or it is too late to cancel the goal.
        """
        request = CancelGoal.Request(goal_info=GoalInfo(goal_id=_uuid(id)))
        service, lost = self._cancels[action], ErrorCode.SERVER_LOST
        if not service.wait_for_service(timeout_sec=THERE_S):
            raise SafegenError('no node holds the goal', lost)
        answer = wait_for(service.call_async(request), ANSWER_S, f'action {action}', lost)
        if not answer.goals_canceling:
            raise SafegenError('the goal has ended already')
        return 'the goal is cancelled'

    def say(self, digest: str, approve: bool, by: str, reason: str) -> str:
        """The operator's decision about the plan of a digest; returns the answer.

        Raises:
            SafegenError: no answer came, or no such plan waits.
        """
        answer = self._approver.say(digest, approve, by, reason, ANSWER_S)
        if not answer.success:
            raise SafegenError(answer.message)
        return answer.message


def _uuid(goal: str) -> UUID:
    return UUID(uuid=list(bytes.fromhex(goal)))


def _problem(task: msg.Task) -> Problem | None:
    """The problem of a task message; None where it cannot be read here."""
    try:
        return conversions.problem_from_msg(task)
    except SafegenError:
        return None


def _said(answer: Trigger.Response | Operate.Response) -> str:
    """The message of an answer; raises `SafegenError` with it where the answer is a refusal."""
    if not answer.success:
        raise SafegenError(answer.message)
    return answer.message
