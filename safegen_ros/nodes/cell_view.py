# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The view of a cell: its description, and markers of arm, table, blocks, plan and verdict.

The arm is among the markers because its links need `/tf` to be drawn from the URDF, which takes
robot_state_publisher; these markers need nothing but their one frame.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Quaternion, Vector3
from geometry_msgs.msg import Pose as PoseMessage
from numpy.typing import NDArray
from rclpy.publisher import Publisher
from std_msgs.msg import ColorRGBA, String
from visualization_msgs.msg import Marker, MarkerArray

from safegen_ros.nodes.base import SafegenNode
from safegen_ros.robot.arm import Sample
from safegen_ros.robot.arms.model import TOOL_RADIUS, Joints, quaternion_of
from safegen_ros.robot.arms.mycobot_280 import FINGER_SIZE, HULL_SIZE, MAX_OPENING
from safegen_ros.robot.cell.execution import ExecutionProgress
from safegen_ros.robot.description.mjcf import legend
from safegen_ros.robot.description.urdf import build_urdf
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import GRIPPER, Scene
from safegen_ros.ros import diagnostics, qos
from safegen_ros.ros.conversions import seconds_of
from safegen_ros.ros.diagnostics import Health
from safegen_ros.ros.liveness import Ticker
from safegen_ros.ros.simulation_clock import SimulationClock
from safegen_ros.stages import ExecutionPhase
from safegen_ros.sync import Closing
from safegen_ros.verdict import Verdict

FRAME = 'base_link'
"""Root of the URDF, in which everything of the cell is measured."""

SHOWN_STEPS = 12
"""Most lines of a plan that are shown; those around the step under way."""

SHOWN_REASON = 160
"""Most characters of the reason of a verdict [1]."""

Colour = tuple[float, float, float]

_TABLE = (0.62, 0.60, 0.56)
_SLOT = (0.45, 0.44, 0.42)
_SHELL, _JOINT = (0.93, 0.94, 0.95), (0.36, 0.40, 0.45)
_INK, _GOOD, _BAD = (0.95, 0.95, 0.95), (0.30, 0.80, 0.45), (0.95, 0.35, 0.25)
_TABLE_HEIGHT_M = 0.01
_LABEL_M, _TEXT_M = 0.015, 0.018
_PLAN_AT: tuple[float, float, float] = (-0.10, 0.30, 0.20)
_VERDICT_AT: tuple[float, float, float] = (-0.10, 0.0, 0.45)


@dataclass(frozen=True, slots=True)
class PlanText:
    """The text about the plan under way.

    Attributes:
        steps: each as PDDL text.
        verdict: name of the category of the executor's own verdict; empty before there is one.
        reason: what ended the execution; empty while all is well.
    """

    steps: tuple[str, ...] = ()
    done: int = 0
    verdict: str = ''
    reason: str = ''

    def plan_lines(self) -> str:
        """The steps around the one under way: done, under way, and to come."""
        first = max(0, min(self.done - SHOWN_STEPS // 2, len(self.steps) - SHOWN_STEPS))
        shown = list(enumerate(self.steps))[first : first + SHOWN_STEPS]
        marks = ['[x]' if i < self.done else '[>]' if i == self.done else '[ ]' for i, _ in shown]
        lines = [f'{m} {i + 1} {text}' for m, (i, text) in zip(marks, shown, strict=True)]
        return '\n'.join([f'{self.done} of {len(self.steps)} steps', *lines])

    def verdict_line(self) -> str:
        """The verdict, and what went wrong."""
        name = self.verdict or 'no verdict'
        return f'{name}: {self.reason[:SHOWN_REASON]}' if self.reason else name


class SceneMarkers:
    """Makes the markers of one cell.

    Args:
        scene: geometry of the cell; None where there is nothing but facts.
    """

    def __init__(self, scene: Scene | None) -> None:
        self._scene = scene

    def array(self, stamp: Time, look: Sample | None, plan: PlanText) -> MarkerArray:
        """All there is to see, from nothing: late joiners need no other message.

        Args:
            look: at the arm and the blocks; None where there is nothing to look at.
        """
        markers = [_marker('', Marker.CUBE, Pose((0.0, 0.0, 0.0)), (0.0, 0.0, 0.0), _INK)]
        markers[0].action = Marker.DELETEALL
        if self._scene is not None:
            markers += _table(self._scene)
            if look is not None:
                markers += _blocks(self._scene, look.poses)
                markers += _arm(self._scene, look.joints)
                markers += _tool(self._scene, look)
        markers += _texts(plan)
        numbers: dict[str, int] = {}
        for marker in markers:
            marker.id = numbers[marker.ns] = numbers.get(marker.ns, -1) + 1
            marker.header.frame_id = FRAME
            marker.header.stamp = stamp
        return MarkerArray(markers=markers)


def _table(scene: Scene) -> list[Marker]:
    side = 2 * scene.arm.table
    middle = Pose((side / 4, 0.0, -_TABLE_HEIGHT_M / 2))
    made = [_marker('table', Marker.CUBE, middle, (side, side, _TABLE_HEIGHT_M), _TABLE)]
    edge = 1.4 * scene.block_size
    for slot in scene.slots:
        at = Pose((slot.x, slot.y, 0.0005))
        made.append(_marker('slots', Marker.CYLINDER, at, (edge, edge, 0.001), _SLOT))
    return made


def _blocks(scene: Scene, poses: Mapping[str, Pose]) -> list[Marker]:
    size, made = scene.block_size, []
    colours = legend(poses)
    for name, pose in poses.items():
        made.append(_marker('blocks', Marker.CUBE, pose, (size, size, size), colours[name][1]))
        x, y, z = pose.position
        # Beside the block, since there may be another one on it.
        made.append(_text('names', name, (x + size, y, z), _LABEL_M, _INK))
    return made


def _arm(scene: Scene, joints: Joints) -> list[Marker]:
    arm = scene.arm
    base = Pose((0.0, 0.0, arm.base_size[2] / 2))
    made = [_marker('arm', Marker.CUBE, base, arm.base_size, _JOINT)]
    for link, frame in zip(arm.links, arm.link_frames(joints), strict=True):
        for part in link.segments:
            ends = (frame @ np.array([*end, 1.0]) for end in (part.start, part.end))
            made.append(_bar(next(ends)[:3], next(ends)[:3], part.radius, _SHELL))
    return made


def _tool(scene: Scene, look: Sample) -> list[Marker]:
    flange = scene.arm.forward(look.joints)
    if scene.tool != GRIPPER:
        lip = scene.arm.forward(look.joints, scene.tool_length)
        return [_bar(flange[:3, 3], lip[:3, 3], TOOL_RADIUS, _JOINT)]
    # Where it is not measured, the gripper is shown open.
    half = (MAX_OPENING if look.opening is None else look.opening) / 2
    hull = scene.tool_length - FINGER_SIZE[2]
    made = [_box(flange, (0.0, 0.0, hull / 2), (*HULL_SIZE, hull), _JOINT)]
    aside, along = half + FINGER_SIZE[0] / 2, hull + FINGER_SIZE[2] / 2
    return made + [_box(flange, (x, 0.0, along), FINGER_SIZE, _INK) for x in (-aside, aside)]


def _box(
    frame: NDArray[np.float64], at: Sequence[float], size: Sequence[float], colour: Colour
) -> Marker:
    """A box, aligned with a frame (4, 4), with its centre at a point of that frame [m]."""
    x, y, z = (float(value) for value in (frame @ np.array([*at, 1.0]))[:3])
    qw, qx, qy, qz = quaternion_of(frame)
    pose = Pose((x, y, z), (qx, qy, qz, qw))
    return _marker('arm', Marker.CUBE, pose, size, colour)


def _bar(
    start: NDArray[np.float64], end: NDArray[np.float64], radius: float, colour: Colour
) -> Marker:
    """A cylinder from one point to another [m]."""
    along = end - start
    length = float(np.linalg.norm(along))
    x, y, z = (float(value) for value in along / length)
    # The shortest turn that takes the z axis there; straight down it may be about any axis.
    turn = (1.0, 0.0, 0.0, 0.0) if z < -1 + 1e-9 else (-y, x, 0.0, 1.0 + z)
    norm = math.hypot(*turn)
    qx, qy, qz, qw = (value / norm for value in turn)
    cx, cy, cz = (float(value) for value in (start + end) / 2)
    pose = Pose((cx, cy, cz), (qx, qy, qz, qw))
    return _marker('arm', Marker.CYLINDER, pose, (2 * radius, 2 * radius, length), colour)


def _texts(plan: PlanText) -> list[Marker]:
    if not plan.verdict and not plan.steps and not plan.reason:
        return []
    colour = _INK if not plan.verdict else _GOOD if not plan.reason else _BAD
    return [
        _text('plan', plan.plan_lines(), _PLAN_AT, _TEXT_M, _INK),
        _text('verdict', plan.verdict_line(), _VERDICT_AT, _TEXT_M, colour),
    ]


def _text(
    ns: str, text: str, at: tuple[float, float, float], height: float, colour: Colour
) -> Marker:
    marker = _marker(ns, Marker.TEXT_VIEW_FACING, Pose(at), (0.0, 0.0, height), colour)
    marker.text = text
    return marker


def _marker(ns: str, kind: int, pose: Pose, size: Sequence[float], colour: Colour) -> Marker:
    red, green, blue = colour
    x, y, z, w = pose.orientation
    return Marker(
        ns=ns,
        type=kind,
        action=Marker.ADD,
        pose=PoseMessage(
            position=Point(**dict(zip('xyz', pose.position, strict=True))),
            orientation=Quaternion(x=x, y=y, z=z, w=w),
        ),
        scale=Vector3(**dict(zip('xyz', map(float, size), strict=True))),
        color=ColorRGBA(r=red, g=green, b=blue, a=1.0),
    )


PERIOD_S = 0.1
"""Shortest time between two sets of markers, and between two messages of an idle clock [s]."""


class CellView(Closing):
    """Shows the cell of an executor while it is configured.

    Interfaces:
        topic `robot_description` (std_msgs/msg/String, latched): URDF of the arm; only with an arm.
        topic `~/scene` (visualization_msgs/msg/MarkerArray, latched): see `SceneMarkers`.
        topic `/clock` (rosgraph_msgs/msg/Clock): see `SimulationClock`; only of a simulated cell.
    """

    def __init__(self, node: SafegenNode) -> None:
        self._node = node
        self._lock = threading.Lock()
        self._ticker: Ticker | None = None
        self._clock: SimulationClock | None = None
        self._running_clock: SimulationClock | None = None
        self._description: Publisher[String] | None = None
        self._publisher = node.create_publisher(MarkerArray, '~/scene', qos.LATCHED)
        self._markers = SceneMarkers(None)
        self._moving = threading.Event()
        self._forget()

    @property
    def moving(self) -> bool:
        """Whether a goal moves the cell now, or makes it ready for that."""
        return self._moving.is_set()

    def rest(self) -> None:
        """Takes in that nothing moves the cell any more."""
        self._moving.clear()

    def _forget(self) -> None:
        self._stamp = Time()
        self._look: Sample | None = None
        self._plan = PlanText()
        self._changed = True

    def open(self, scene: Scene | None, *, simulated: bool, real_time_factor: float = 1.0) -> None:
        """Begins to show a cell.

        Args:
            scene: geometry of the arm's cell; None where there are nothing but facts.
            simulated: whether the cell has its own time.
            real_time_factor: of that time, 0 for as fast as it can [1].
        """
        self.close()
        with self._lock:
            self._forget()
            self._markers = SceneMarkers(scene)
        if scene is not None:
            if self._description is None:
                self._description = self._node.create_publisher(
                    String, 'robot_description', qos.LATCHED
                )
            self._description.publish(String(data=build_urdf(scene)))
        if simulated:
            if self._clock is None:
                self._clock = SimulationClock(self._node, lambda: not self.moving)
            self._clock.factor = real_time_factor or 1.0
        self._running_clock = self._clock if simulated else None
        self._ticker = Ticker(self._node, PERIOD_S, self._tick)

    def stamp(self, seconds: float) -> Time:
        """The stamp of a look at the cell.

        Args:
            seconds: simulated time since the world of the cell was made [s]; a cell that is not
                simulated is stamped by the clock of the node.
        """
        if self._running_clock is not None:
            return self._running_clock.stamp(seconds)
        return self._node.get_clock().now().to_msg()

    def idle_stamp(self) -> Time:
        """The stamp of a look at a cell that nothing moves."""
        if self._running_clock is not None:
            return self._running_clock.idle_stamp()
        return self._node.get_clock().now().to_msg()

    def sample(self, stamp: Time, look: Sample) -> None:
        """Takes in a look at the cell; it is shown a moment later, unless a newer one comes."""
        with self._lock:
            self._stamp, self._look = stamp, look
            self._changed = True

    def begin(self, steps: Sequence[object]) -> None:
        """Takes in the plan of a goal."""
        with self._lock:
            self._plan = PlanText(tuple(map(str, steps)))
            self._changed = True

    def progress(self, progress: ExecutionProgress) -> None:
        """Takes in how far it is."""
        if progress.phase == ExecutionPhase.PREPARING:
            self._moving.set()
        verdict = (
            '' if progress.phase == ExecutionPhase.VERIFYING else 'SUCCESS'
        )  # or it would have ended here
        with self._lock:
            self._plan = replace(self._plan, done=progress.step, verdict=verdict)
            self._changed = True

    def end(self, verdict: Verdict, message: str) -> None:
        """Takes in how it ended.

        Args:
            verdict: the executor's own.
            message: what went wrong; empty where nothing did.
        """
        with self._lock:
            self._plan = replace(self._plan, verdict=verdict.category.name, reason=message)
            self._changed = True

    def health(self) -> Health:
        """What the cell is doing, and how the last execution ended."""
        with self._lock:
            plan, stamp = self._plan, self._stamp
        values = {
            'steps done': plan.done,
            'steps': len(plan.steps),
            'verdict': plan.verdict,
            'last look [s]': f'{seconds_of(stamp):.2f}',
        }
        if self._ticker is None:
            return Health('cell', diagnostics.WARN, 'there is none: configure the node', values)
        if plan.reason:
            message = f'the last execution failed: {plan.reason}'
            return Health('cell', diagnostics.WARN, message, values)
        moving = not self._node.goals.wait_idle(0.0)
        return Health('cell', diagnostics.OK, 'executes a plan' if moving else 'idle', values)

    def _tick(self) -> None:
        if self._running_clock is not None:
            self._running_clock.tick()
        with self._lock:
            if not self._changed:
                return
            self._changed = False
            now = (self._stamp, self._look, self._plan)
        self._publisher.publish(self._markers.array(*now))

    def close(self) -> None:
        """Ends the view; what it published last stays for late joiners."""
        if self._ticker is not None:
            self._ticker.close()
        self._ticker = None
