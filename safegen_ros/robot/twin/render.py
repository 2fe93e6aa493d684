# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the twin without a screen: RGB frames from samples, by EGL or OSMesa.

It has its own model, so a recording can be rendered after the run, or elsewhere.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from safegen_ros.errors import SafegenError
from safegen_ros.robot.arms.model import JOINT_NAMES, Joints
from safegen_ros.robot.arms.mycobot_280 import FINGER_JOINTS
from safegen_ros.robot.description.mjcf import CAMERA, block_geom
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import GRIPPER, Scene
from safegen_ros.robot.twin.looks import Frame, captioned, dressed
from safegen_ros.sync import Closing

#: In the order in which they are tried, with the Debian package that brings each.
_BACKENDS = {'egl': 'libegl1', 'osmesa': 'libosmesa6'}
_PROBE = (
    'import sys, importlib; c = importlib.import_module("mujoco." + sys.argv[1]).GLContext(32, 32);'
    ' c.make_current(); c.free()'
)
_MAX_GEOMS = 2000
_LARGE = 900  # height of a picture with letters of twice the size [pixels]


class RenderError(SafegenError):
    """There is no way to draw on this machine; the message names the package that helps."""


@lru_cache(maxsize=1)
def backend() -> str:
    """The first of egl and osmesa that works here; `MUJOCO_GL` decides alone when it names one.

    Each is tried in a separate process, because PyOpenGL keeps the platform of the first try.

    Raises:
        RenderError: neither works; what each said, and the Debian packages.
    """
    chosen = os.environ.get('MUJOCO_GL', '').strip().lower()
    candidates = [chosen] if chosen in _BACKENDS else list(_BACKENDS)
    said = []
    for name in candidates:
        environment = {**os.environ, 'MUJOCO_GL': name, 'PYOPENGL_PLATFORM': name}
        probe = subprocess.run(
            [sys.executable, '-c', _PROBE, name],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if probe.returncode == 0:
            return name
        lines = probe.stderr.strip().splitlines()
        said.append(f'{name}: {lines[-1] if lines else "no message"}')
    packages = ' or '.join(_BACKENDS[name] for name in candidates)
    raise RenderError(
        f'no offscreen OpenGL ({"; ".join(said)}): install the Debian package {packages}, e.g. '
        f'apt-get install {_BACKENDS[candidates[0]]}'
    )


class Offscreen(Closing):
    """Draws a MuJoCo model as one camera of it sees it; all calls from the thread that created it.

    Args:
        model: the compiled model.
        camera: name of the camera.
        width: of a frame [pixels].
        height: of a frame [pixels].
        labels: the texts at geoms, by their id.
    """

    def __init__(
        self,
        model: Any,
        camera: str,
        *,
        width: int,
        height: int,
        labels: Mapping[int, str],
    ) -> None:
        context = importlib.import_module(f'mujoco.{backend()}').GLContext
        self._model, self._labels = model, labels
        self._gl: Any = context(width, height)
        self._gl.make_current()
        scale = mujoco.mjtFontScale
        font = scale.mjFONTSCALE_100 if height < _LARGE else scale.mjFONTSCALE_200
        self._context: Any = mujoco.MjrContext(model, font.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        self._scene = mujoco.MjvScene(model, maxgeom=_MAX_GEOMS)
        self._options = mujoco.MjvOption()
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._camera.fixedcamid = model.camera(camera).id
        self._viewport = mujoco.MjrRect(0, 0, width, height)
        self._pixels: Frame = np.zeros((height, width, 3), dtype=np.uint8)

    def draw(
        self,
        data: Any,
        caption: Mapping[str, str] | None = None,
        mark: Sequence[float] | None = None,
    ) -> Frame:
        """An RGB picture, shape (height, width, 3), of the positions in `data`."""
        mujoco.mj_kinematics(self._model, data)
        mujoco.mj_camlight(self._model, data)
        self._gl.make_current()
        mujoco.mjv_updateScene(
            self._model,
            data,
            self._options,
            None,
            self._camera,
            mujoco.mjtCatBit.mjCAT_ALL.value,
            self._scene,
        )
        self._write_labels()
        if mark is not None:
            self._mark(*mark)
        mujoco.mjr_render(self._viewport, self._scene, self._context)
        mujoco.mjr_readPixels(self._pixels, None, self._viewport, self._context)
        frame = np.ascontiguousarray(self._pixels[::-1])
        return captioned(frame, caption) if caption else frame

    def close(self) -> None:
        """Frees the OpenGL context; safe to call twice."""
        if self._gl is not None:
            self._gl.make_current()
            self._context.free()
            self._gl.free()
            self._gl = None

    def _write_labels(self) -> None:
        for index in range(self._scene.ngeom):
            geom = self._scene.geoms[index]
            if geom.objtype == mujoco.mjtObj.mjOBJ_GEOM and geom.objid in self._labels:
                geom.label = self._labels[geom.objid]

    def _mark(self, x: float, y: float, z: float, radius: float) -> None:
        ball = self._scene.geoms[self._scene.ngeom]
        mujoco.mjv_initGeom(
            ball,
            mujoco.mjtGeom.mjGEOM_SPHERE.value,
            np.full(3, radius),
            np.array([x, y, z]),
            np.eye(3).reshape(-1),
            np.array([0.9, 0.1, 0.1, 0.8], dtype=np.float32),
        )
        self._scene.ngeom += 1


class Renderer(Closing):
    """Draws samples of one world; all calls from the thread that created it."""

    def __init__(
        self,
        scene: Scene,
        blocks: Mapping[str, Pose],
        *,
        width: int = 1280,
        height: int = 720,
    ) -> None:
        self._model = mujoco.MjModel.from_xml_string(*dressed(scene, blocks))
        self._data = mujoco.MjData(self._model)
        self._joints = self._addresses(JOINT_NAMES)
        self._fingers = self._addresses(FINGER_JOINTS if scene.tool == GRIPPER else ())
        self._blocks = dict(
            zip(blocks, self._addresses([block_geom(name) for name in blocks]), strict=True)
        )
        self._offscreen = Offscreen(self._model, CAMERA, width=width, height=height, labels={})

    def frame(
        self,
        joints: Joints,
        poses: Mapping[str, Pose],
        caption: Mapping[str, str] | None = None,
        *,
        opening: float | None = None,
    ) -> Frame:
        """An RGB picture, shape (height, width, 3), of joints (6,) [rad] and block poses."""
        self._data.qpos[self._joints] = joints
        if self._fingers.size and opening is not None:
            self._data.qpos[self._fingers] = opening / 2
        for name, pose in poses.items():
            address = self._blocks[name]
            x, y, z, w = pose.orientation
            self._data.qpos[address : address + 7] = (*pose.position, w, x, y, z)
        return self._offscreen.draw(self._data, caption)

    def close(self) -> None:
        """Frees the OpenGL context; safe to call twice."""
        self._offscreen.close()

    def _addresses(self, joints: Any) -> NDArray[np.int_]:
        return np.array([self._model.joint(name).qposadr[0] for name in joints], dtype=int)
