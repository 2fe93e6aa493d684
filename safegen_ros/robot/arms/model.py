# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The description of an arm: kinematics, limits, speeds, shape and servos, and what follows.

MJCF, URDF, twin, skills, markers and the checks of every target read it; nothing else states a
length or a limit of an arm. An arm here has six joints, of which 2, 3 and 4 are parallel and the
axes of 5 and 6 are square to their neighbours'. With the flange straight down joint 5 is fixed and
joints 2, 3 and 4 have a fixed sum, which leaves a planar two-link problem for the wrist.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safegen_ros.errors import ErrorCode, RobotError

Joints = NDArray[np.float64]
Matrix = NDArray[np.float64]
Vector = tuple[float, float, float]

JOINT_NAMES = ('joint1', 'joint2', 'joint3', 'joint4', 'joint5', 'joint6')
"""Of every arm, from the base; a driver translates the names of its vendor."""

#: Radius of the suction tube, edges of the pad that touches a block [m].
TOOL_RADIUS = 0.012
PAD_SIZE: Vector = (0.014, 0.014, 0.008)

_EPSILON = 1e-9
_QUARTER = math.pi / 2


@dataclass(frozen=True, slots=True)
class DhRow:
    """One row of a standard DH table: d [m], a [m], alpha [rad], offset of theta [rad]."""

    d: float
    a: float
    alpha: float
    offset: float


@dataclass(frozen=True, slots=True)
class Segment:
    """A straight part of a link in its own frame: both ends [m] and the radius [m]."""

    start: Vector
    end: Vector
    radius: float


@dataclass(frozen=True, slots=True)
class Link:
    """One moving link.

    Attributes:
        name: URDF and MJCF name.
        origin: joint frame in the parent's joint frame [m].
        rpy: orientation of it, fixed-axis roll, pitch, yaw [rad].
        quaternion: the same as w, x, y, z.
        mass: [kg].
        segments: hull in the joint frame.
    """

    name: str
    origin: Vector
    rpy: Vector
    quaternion: tuple[float, float, float, float]
    mass: float
    segments: tuple[Segment, ...]


@dataclass(frozen=True, eq=False)
class ArmModel:
    """One kind of arm.

    Attributes:
        name: in scene files, URDF and tasks.
        rows: DH table, standard convention; joint angles are without the offset of a row.
        limits: lowest and highest angle of each joint [rad].
        max_speed: of a joint [rad/s].
        max_acceleration: of a joint [rad/s^2].
        resolution: one count of the joint encoders [rad].
        nominal: an elbow-up posture over the middle of the table, where the search for a branch
            begins [rad].
        base_size: box of the fixed parts [m].
        hull: of each link in the frame of its joint.
        masses: of base and links [kg].
        gains: of the servo of each joint in simulation [N m/rad].
        torques: most of each joint [N m].
        base_radius: the base covers the table up to here [m].
        slot_pitch: least distance of two slots, for the wrist beside a full tower [m].
        table: half the edge of the table in pictures [m].
        driver: of the real arm, by its name in `robot.agent.serve.DRIVERS`; empty for none.
    """

    name: str
    rows: tuple[DhRow, ...]
    limits: tuple[tuple[float, float], ...]
    max_speed: float
    max_acceleration: float
    resolution: float
    nominal: tuple[float, ...]
    base_size: Vector
    hull: tuple[tuple[Segment, ...], ...]
    masses: tuple[float, ...]
    gains: tuple[float, ...]
    torques: tuple[float, ...]
    base_radius: float
    slot_pitch: float
    table: float
    driver: str = ''

    # Limits

    @cached_property
    def bounds(self) -> Joints:
        """The limits, shape (6, 2) [rad]."""
        bounds = np.array(self.limits)
        bounds.setflags(write=False)
        return bounds

    def clip(self, joints: Joints) -> Joints:
        """The nearest joints within the limits, shape (6,) [rad]."""
        return joints.clip(self.bounds[:, 0], self.bounds[:, 1])

    def check_joints(self, target: ArrayLike) -> Joints:
        """The target as an array (6,) [rad] when it may be sent to the arm.

        Raises:
            RobotError: `LIMIT_VIOLATION`, naming the joint, the value and the limit; also for a
                target that is not six finite numbers.
        """
        joints = np.asarray(target, dtype=np.float64)
        if joints.shape != (len(self.limits),):
            raise _violation(
                f'a joint target has {len(self.limits)} values [rad], got shape {joints.shape}'
            )
        for name, value, (low, high) in zip(JOINT_NAMES, joints.tolist(), self.limits, strict=True):
            if not math.isfinite(value):
                raise _violation(f'{name}: {value} is not a finite angle [rad]')
            if not low - _EPSILON <= value <= high + _EPSILON:
                raise _violation(
                    f'{name}: {value:.4f} rad ({math.degrees(value):.2f} deg) is outside '
                    f'[{low:.4f}, {high:.4f}] rad ([{math.degrees(low):.0f}, '
                    f'{math.degrees(high):.0f}] deg): choose a target within the limits'
                )
        return self.clip(joints)

    def within_limits(self, joints: Joints) -> bool:
        """Whether six angles [rad] are finite and inside the limits."""
        low, high = self.bounds.T
        return bool(np.all(joints >= low - _EPSILON) and np.all(joints <= high + _EPSILON))

    def move_duration(self, distance: Joints, speed: float) -> float:
        """Shortest time [s] of a smoothstep move of joints (6,) [rad] that keeps both caps.

        The smoothstep 3s^2 - 2s^3 peaks at 1.5 times its mean speed and at 6 times distance /
        time^2.
        """
        longest = float(np.max(np.abs(distance)))
        steepest = float(np.sqrt(6 * longest / self.max_acceleration))
        return max(1.5 * longest / (speed * self.max_speed), steepest)

    # Kinematics

    def forward(self, joints: ArrayLike, tool_length: float = 0.0) -> Matrix:
        """Pose of the tip, `tool_length` [m] beyond the flange, in the base frame, (4, 4)."""
        pose = np.eye(4)
        for row, theta in zip(self.rows, np.asarray(joints, dtype=np.float64), strict=True):
            pose = pose @ dh_matrix(row, float(theta))
        pose[:3, 3] += tool_length * pose[:3, 2]
        return pose

    def tool_yaw(self, joints: ArrayLike) -> float:
        """Yaw of a tool that points down [rad]: the block frame that the cup is aligned with."""
        q = np.asarray(joints, dtype=np.float64) + [row.offset for row in self.rows]
        return wrap(float(q[0]) - _QUARTER - float(q[5]))

    def top_down_solutions(
        self, x: float, y: float, z: float, yaw: float, tool_length: float = 0.0
    ) -> list[Joints]:
        """Every joint vector (6,) [rad] that puts the tip at x, y, z [m] pointing straight down.

        The branches are shoulder front or back, elbow up or down, and the four quarter turns under
        which a cube of this yaw [rad] looks the same. Limits are not applied.
        """
        shoulder, lateral, wrist, flange = (self.rows[i].d for i in (0, 3, 4, 5))
        square = x * x + y * y - lateral * lateral
        if not square >= 0.0:
            return []
        solutions = []
        height = z + tool_length + flange - shoulder
        for rho in (math.sqrt(square), -math.sqrt(square)):
            first = math.atan2(y, x) - math.atan2(-lateral, rho)
            for (lift, bend), turn in product(self._two_link(rho - wrist, height), range(4)):
                last = first - _QUARTER - yaw + turn * _QUARTER
                angles = (first, lift - _QUARTER, bend, -math.pi - lift - bend, _QUARTER, last)
                pairs = zip(angles, self.rows, strict=True)
                solutions.append(np.array([wrap(angle - row.offset) for angle, row in pairs]))
        return solutions

    def inverse_top_down(
        self, x: float, y: float, z: float, yaw: float, *, tool_length: float, seed: ArrayLike
    ) -> Joints:
        """The solution of `top_down_solutions` within the limits that is nearest to a seed (6,).

        Nearest is Euclidean over the joints, so that a long swing of joint 1, which all branches
        share, never hides a flip of the elbow.

        Raises:
            RobotError: `OUT_OF_REACH`, naming the point, its radius and the cure.
        """
        point = f'({x:.4f}, {y:.4f}, {z:.4f}) m at radius {math.hypot(x, y):.4f} m'
        if not all(math.isfinite(value) for value in (x, y, z, yaw)):
            raise RobotError(f'{point} is not a finite point', ErrorCode.OUT_OF_REACH)
        every = self.top_down_solutions(x, y, z, yaw, tool_length)
        allowed = [joints for joints in every if self.within_limits(joints)]
        if not allowed:
            raise RobotError(
                f'{point} cannot be reached tool down: {self._cure(x, y, every)}',
                ErrorCode.OUT_OF_REACH,
            )
        start = np.asarray(seed, dtype=np.float64)
        return min(allowed, key=lambda joints: float(np.linalg.norm(joints - start)))

    def _two_link(self, distance: float, height: float) -> list[tuple[float, float]]:
        """Both elbow solutions [rad] for a wrist at a distance and height [m]."""
        upper, forearm = -self.rows[1].a, -self.rows[2].a
        cosine = (distance**2 + height**2 - upper**2 - forearm**2) / (2 * upper * forearm)
        if not -1.0 <= cosine <= 1.0:
            return []
        # The lift is measured from the vertical and turns away from the wrist, hence the sign.
        direction = math.atan2(-distance, height)
        solutions = []
        for bend in (-math.acos(cosine), math.acos(cosine)):
            turn = math.atan2(forearm * math.sin(bend), upper + forearm * math.cos(bend))
            solutions.append((direction - turn, bend))
        return solutions

    def _cure(self, x: float, y: float, unlimited: list[Joints]) -> str:
        lateral = self.rows[3].d
        if math.hypot(x, y) < lateral:
            return f'the arm cannot reach inside {lateral:.4f} m of its axis; move it outwards'
        if not unlimited:
            return 'it is beyond the stretched or folded arm; move it nearer, lower or outwards'
        return 'every solution breaks a joint limit; choose another azimuth or radius'

    # Shape

    @property
    def flange_offset(self) -> float:
        """Flange along z of the last joint frame [m]."""
        return self.rows[-1].d

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """The links. Joint i turns about z of DH frame i-1; its frame has the theta offset."""
        result = []
        carried = np.eye(4)
        for index, row in enumerate(self.rows):
            frame = carried @ _turn_z(row.offset)
            origin = (float(frame[0, 3]), float(frame[1, 3]), float(frame[2, 3]))
            result.append(
                Link(
                    name=f'link{index + 1}',
                    origin=origin,
                    rpy=_rpy(frame),
                    quaternion=quaternion_of(frame),
                    mass=self.masses[index + 1],
                    segments=self.hull[index],
                )
            )
            carried = _tail(row)
        return tuple(result)

    def link_frames(self, joints: ArrayLike) -> list[Matrix]:
        """The frame of each moving link in the base frame, shape (4, 4), at six angles [rad]."""
        frames = []
        carried = np.eye(4)
        for row, theta in zip(self.rows, np.asarray(joints, dtype=np.float64), strict=True):
            frames.append(carried @ _turn_z(row.offset + float(theta)))
            carried = carried @ dh_matrix(row, float(theta))
        return frames


def check_speed(speed: float) -> float:
    """The speed when it is a fraction of the highest joint speed, in (0, 1]."""
    if not 0.0 < speed <= 1.0:
        raise _violation(f'speed {speed} is not a fraction in (0, 1] of the highest joint speed')
    return float(speed)


def dh_matrix(row: DhRow, theta: float) -> Matrix:
    """Transform of one standard DH row, shape (4, 4); theta without the row's offset [rad]."""
    return _turn_z(theta + row.offset) @ _tail(row)


def along_dh(row: DhRow, radius: float) -> tuple[Segment, ...]:
    """A hull along the offsets of a DH row, of a radius [m]."""
    corner, end = (0.0, 0.0, row.d), (row.a, 0.0, row.d)
    up = (Segment((0.0, 0.0, 0.0), corner, radius),) if row.d else ()
    out = (Segment(corner, end, radius),) if row.a else ()
    return up + out


def wrap(angle: float) -> float:
    """The same angle in (-pi, pi]."""
    wrapped = math.remainder(angle, 2 * math.pi)
    return math.pi if wrapped == -math.pi else wrapped


def quaternion_of(frame: Matrix) -> tuple[float, float, float, float]:
    """Orientation of a frame (4, 4) as w, x, y, z."""
    return _quaternion(_rpy(frame))


def _violation(message: str) -> RobotError:
    return RobotError(message, ErrorCode.LIMIT_VIOLATION)


def _tail(row: DhRow) -> Matrix:
    """What of a DH row comes after its turn: translations and the twist, shape (4, 4)."""
    c, s = math.cos(row.alpha), math.sin(row.alpha)
    return np.array([[1, 0, 0, row.a], [0, c, -s, 0], [0, s, c, row.d], [0, 0, 0, 1.0]])


def _turn_z(angle: float) -> Matrix:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def _rpy(frame: Matrix) -> Vector:
    r = frame[:3, :3]
    pitch = math.asin(min(1.0, max(-1.0, -float(r[2, 0]))))
    if abs(math.cos(pitch)) > 1e-6:
        return (math.atan2(r[2, 1], r[2, 2]), pitch, math.atan2(r[1, 0], r[0, 0]))
    return (0.0, pitch, math.atan2(-r[0, 1], r[1, 1]))


def _quaternion(rpy: Vector) -> tuple[float, float, float, float]:
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(a / 2), math.sin(a / 2)) for a in rpy)
    return (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )
