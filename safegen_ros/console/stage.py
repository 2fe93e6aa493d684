# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is in the 3-D view: the cell as it is measured, and beside it what may come and what was."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safegen_ros.console.rehearsed import PlanPreview, Posture, RehearsedMotion
from safegen_ros.console.scene import REPLAY_AT, Path, Stand, Table, light_room
from safegen_ros.console.shown import shown_plan
from safegen_ros.console.state import GoalView, Look, Snapshot
from safegen_ros.console.widgets import put
from safegen_ros.errors import RobotError
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.writer import atom_text
from safegen_ros.record.present.wording import steps_of
from safegen_ros.robot.arms.model import JOINT_NAMES
from safegen_ros.robot.arms.mycobot_280 import FINGER_JOINTS
from safegen_ros.robot.cell.grounding import initial_layout
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import Scene

if TYPE_CHECKING:
    import viser

_GHOST_STAGES = ('preparing', 'rehearsing')
"""Where a proved plan has not begun: its motion is shown over and over again."""

GHOST_HZ = 5.0
"""Pictures of the ghost [1/s], which moves for as long as a plan waits."""


class View(NamedTuple):
    """Position of the camera and what it looks at [m], for a picture of `ASPECT` or wider."""

    eye: tuple[float, float, float]
    target: tuple[float, float, float]


ASPECT = 0.95
"""Width over height of a picture with all of a view; a narrower one is taken from farther away."""

CELL = View((0.62, 0.42, 0.46), (0.13, 0.13, 0.12))
REPLAY = View((1.34, -0.35, 0.80), (0.1, -0.35, 0.05))
"""Views of the cell with the wanted towers, and of the cell with a replay beside it."""

_PHONES, _LIFT, _BACK = (0.4, 0.57), 0.5, 1.1
"""Widths over heights at which a picture is taken for that of a phone, where the panel of viser
covers the lower part; how much of half the picture the table is moved up, and how far back."""


class Stage:
    """The tables of the 3-D view.

    Args:
        server: `viser.ViserServer`.

    Attributes:
        views: where each viewer looks from.
    """

    def __init__(self, server: viser.ViserServer, cell: Scene) -> None:
        view = self._view = server.scene
        view.set_up_direction('+z')
        light_room(view)
        self.views = Views(server)
        self._cell = cell
        self._live = Table(view, '/live', cell)
        self._live.show_joints(cell.home_joints.tolist())
        told = 'Waiting for joint data'
        self._unknown = view.add_label('/live/unknown', told, position=(0.0, 0.0, 0.42))
        self._ghost = Table(view, '/ghost', cell, ghost=True)
        self._ghost.frame.visible = False
        self._note = view.add_label('/preview', '', position=(0.0, 0.0, 0.48), visible=False)
        self._start: tuple[Problem | None, Posture] | None = None
        self._path = Path(view, cell)
        self._goal = Stand(view, cell)
        self._replay: Table | None = None
        self._replay_label: viser.LabelHandle | None = None
        self._seen: Look | None = None
        self._stale = self._named = False
        self._rehearser = PlanPreview(cell)
        self._motion: RehearsedMotion | None = None
        self._posture: Posture | None = None

    def update(self, snapshot: Snapshot, now: float, chosen: Problem | None = None) -> None:
        """Shows the known state.

        Args:
            now: by the monotonic clock, which drives the ghost [s].
            chosen: a problem in the form of a task; shown while there is no goal.
        """
        goal = snapshot.goal
        pending, stage = snapshot.pending if snapshot.waits else None, goal.stage if goal else ''
        waiting = pending.may_be_approved if pending else stage in _GHOST_STAGES
        problem = goal.problem if goal is not None else chosen
        follows = begun(goal, snapshot.look)
        stale = not follows and problem is not None and not stands(problem, snapshot.look)
        if snapshot.look is not self._seen or stale != self._stale:
            self._seen, self._stale = snapshot.look, stale
            self._show_look(snapshot.look, stale)
        self._goal.show(problem)
        self._show_ghost(snapshot, now, waiting, problem)

    def _show_look(self, look: Look, stale: bool) -> None:
        angles = [angle for name in JOINT_NAMES if (angle := look.joints.get(name)) is not None]
        if len(angles) == len(JOINT_NAMES):
            put(self._unknown, visible=False)
            self._live.show_joints(angles)
            fingers = [look.joints.get(name) for name in FINGER_JOINTS]
            if None not in fingers:
                self._live.show_opening(2 * float(fingers[0] or 0.0))
        # The blocks of the task before are not those that the next plan will move.
        self._live.show_blocks({} if stale else look.poses)

    def _show_ghost(
        self, snapshot: Snapshot, now: float, waiting: bool, problem: Problem | None
    ) -> None:
        goal = snapshot.goal
        steps, planned = shown_plan(snapshot, goal) if goal is not None else ((), None)
        if goal is None or not goal.running or not steps or planned is None:
            self._rehearser.forget()
        else:
            poses = snapshot.look.poses if goal.record.replans else None
            self._rehearser.want(planned, Plan(steps_of(steps)), poses)
        motion = self._rehearser.motion
        if motion is not self._motion:
            self._motion = motion
            self._path.show([each.joints for each in motion.postures] if motion else [])
        posture = (
            motion.at(int(now * GHOST_HZ) / GHOST_HZ) if motion is not None and waiting else None
        )
        self._ghost.show_arm(posture is not None)
        if posture is None and (waiting or self._stale):
            start = self._start_of(problem, goal is not None and bool(goal.record.replans))
            posture = start if waiting or start.blocks else None
        note = preview_words(motion) if waiting else ''
        if goal is None and posture is not None:
            note = 'start of the chosen task'
        named = self._stale
        put(self._ghost.frame, visible=posture is not None)
        put(self._note, visible=bool(note), text=note)
        if posture is not None and (posture, named) != (self._posture, self._named):
            self._posture, self._named = posture, named
            self._ghost.show_joints(posture.joints)
            self._ghost.show_blocks(posture.blocks, named=named)

    def _start_of(self, problem: Problem | None, replanned: bool = False) -> Posture:
        """The arm at home, and the blocks as a plan finds them set up."""
        if self._start is None or problem is not self._start[0]:
            poses: dict[str, Pose] = {}
            if problem is not None and not replanned:
                with contextlib.suppress(RobotError):
                    objects = tuple(problem.objects)
                    poses = dict(initial_layout(self._cell, objects, problem.init).poses)
            home = tuple(self._cell.home_joints.tolist())
            self._start = (problem, Posture(0, home, poses))
        return self._start[1]

    @property
    def motion(self) -> RehearsedMotion | None:
        """The rehearsal of the plan that is shown; None before there is one."""
        return self._motion

    def show_replay(
        self, label: str, joints: Sequence[float] | None, poses: Mapping[str, Pose]
    ) -> None:
        """Shows a moment of a past run on a table beside the cell; the cell stays in view.

        Args:
            joints: shape (6,) [rad]; None where they were not recorded.
        """
        if self._replay is None or self._replay_label is None:
            self._replay = Table(self._view, '/replay', self._cell, REPLAY_AT)
            above = (0.0, 0.0, 0.56)
            self._replay_label = self._view.add_label('/replay/label', label, position=above)
        self._replay.frame.visible = True
        self._replay_label.text = label
        if joints is not None:
            self._replay.show_joints(joints)
        self._replay.show_blocks(poses)

    def hide_replay(self) -> None:
        """Takes the table of the replay away."""
        if self._replay is not None:
            self._replay.frame.visible = False

    def close(self) -> None:
        """Ends the rehearsals."""
        self._rehearser.close()


def begun(goal: GoalView | None, look: Look) -> bool:
    """Whether a goal goes on with the blocks as they were seen last, or has ended with those."""
    if goal is None or not (look.poses or goal.step):
        return False
    return not goal.running or goal.stage == 'executing' or bool(goal.record.replans)


def stands(problem: Problem, look: Look) -> bool:
    """Whether the blocks were seen as a problem begins."""
    return set(look.facts) == set(map(atom_text, problem.init))


def preview_words(motion: RehearsedMotion | None) -> str:
    """What the preview of a plan that waits is, while it is not a motion to look at."""
    if motion is None:
        return 'preview of the proved plan …'
    return f'no whole preview: {motion.trouble}' if motion.trouble else ''


class Views:
    """The view of each viewer, which follows the shape of its picture."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._shown: dict[int, tuple[View, float]] = {}
        self._lock = threading.Lock()
        server.initial_camera.position, server.initial_camera.look_at = CELL
        server.on_client_connect(self._greet)
        server.on_client_disconnect(self._forget)

    def show(self, client: viser.ClientHandle, view: View) -> None:
        """Has a viewer look from there."""
        camera = client.camera
        with self._lock:  # a picture that changes its shape meanwhile must be the last one
            self._shown[client.client_id] = view, _aspect(camera)
            camera.position, camera.look_at = framed(view, _aspect(camera), camera.fov)

    def _greet(self, client: viser.ClientHandle) -> None:
        @client.camera.on_update
        def _(camera: viser.CameraHandle) -> None:
            view, aspect = self._shown.get(client.client_id, (CELL, 0.0))
            if abs(_aspect(camera) - aspect) > 0.01:
                self.show(client, view)

        self.show(client, CELL)  # behind the callback, which a change of shape must not miss

    def _forget(self, client: viser.ClientHandle) -> None:
        self._shown.pop(client.client_id, None)


def framed(
    view: View, aspect: float, fov: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Position and target of the camera that shows a view [m].

    Args:
        aspect: width over height of the picture.
        fov: vertical angle of the picture [rad].
    """
    eye, target = np.array(view.eye), np.array(view.target)
    back = (eye - target) * max(1.0, ASPECT / aspect)
    if _PHONES[0] <= aspect <= _PHONES[1]:  # looking lower moves the table up, where it is free
        back *= _BACK
        across = np.cross((0.0, 0.0, 1.0), back)
        up = np.cross(back, across / np.linalg.norm(across))
        return target + back, target - up * _LIFT * math.tan(fov / 2)
    return target + back, target


def _aspect(camera: viser.CameraHandle) -> float:
    return camera.image_width / max(camera.image_height, 1)
