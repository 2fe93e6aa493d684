# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the twin without a screen: their looks, and frames by EGL or OSMesa.

The renderer has its own model, so a recording can be rendered after the run, or elsewhere.
"""

from __future__ import annotations

import importlib
import io
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from safegen_ros.errors import SafegenError
from safegen_ros.robot.arms.model import JOINT_NAMES, Joints
from safegen_ros.robot.arms.mycobot_280 import FINGER_JOINTS
from safegen_ros.robot.description.mjcf import CAMERA, add, block_geom, legend, mjcf_tree
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import GRIPPER, Scene
from safegen_ros.sync import Closing

# The twin moves in a model without it, so that looks cannot change the physics.
Frame = NDArray[np.uint8]

_FACE = 128  # edge of the picture of a face [pixels]
#: Degrees by which a picture is turned to be upright on a side, as MuJoCo names the sides.
_TURNS = {'right': 90, 'left': 270, 'up': 180, 'down': 0, 'front': 90}
_BEVEL = 0.008
_TABLE_HEIGHT = 0.75
_LEG = 0.025  # half its width
#: Colour of the title of a line; others are grey.
_TONES = {'refused': '#d64533', 'proved': '#218a55', 'goal': '#218a55'}
_GREY, _DARK, _WHITE = '#56677a', (16, 22, 30, 215), '#ffffff'


def dressed(scene: Scene, blocks: Mapping[str, Pose]) -> tuple[str, dict[str, bytes]]:
    """The MJCF of a scene as a camera is to see it, and the files that it names."""
    root = mjcf_tree(scene, blocks)
    asset = next(root.iter('asset'))
    geoms = {geom.get('name', ''): geom for geom in root.iter('geom')}
    _room(root, scene.arm.table)
    _bevelled(asset, 'base', [edge / 2 for edge in scene.arm.base_size])
    geoms['base'].set('type', 'mesh')
    geoms['base'].set('mesh', 'base')
    files = {}
    colours = legend(blocks)
    for number, name in enumerate(blocks):
        face = _face(name, colours[name][1])
        texture = ET.SubElement(asset, 'texture', name=f'face{number}', type='cube')
        for side, turn in _TURNS.items():
            file = f'face{number}_{turn}.png'
            texture.set(f'file{side}', file)
            files[file] = _png(face.rotate(turn))
        ET.SubElement(asset, 'material', name=f'face{number}', texture=f'face{number}')
        geoms[block_geom(name)].set('material', f'face{number}')
        del geoms[block_geom(name)].attrib['rgba']
    return ET.tostring(root, encoding='unicode'), files


def _room(root: ET.Element, half: float) -> None:
    """A floor, and the legs of the table."""
    world = next(root.iter('worldbody'))
    # The extent of the table alone: the floor would make the shadows coarse.
    add(root, 'statistic', center='.06 0 .1', extent=1.6 * half)
    down = (0, 0, -_TABLE_HEIGHT)
    add(world, 'geom', 'visual', type='plane', size='6 6 .1', pos=down, rgba='.80 .83 .86 1')
    at, half_height = half - 2 * _LEG, _TABLE_HEIGHT / 2
    size, rgba = (_LEG, _LEG, half_height - 0.0125), '.42 .45 .49 1'
    for x, y in product((-at, at), repeat=2):
        pos = (x, y, -half_height - 0.0125)
        add(world, 'geom', 'visual', type='box', size=size, pos=pos, rgba=rgba)


def _bevelled(asset: ET.Element, name: str, size: Sequence[float]) -> None:
    """A box with bevelled edges: the hull of three points at each of its eight corners."""
    inner = np.array(size) - _BEVEL
    corners = np.array([*product((-1, 1), repeat=3)])
    points = corners[:, None] * (inner + _BEVEL * np.eye(3))
    add(asset, 'mesh', name=name, vertex=points.ravel())


def _face(name: str, colour: tuple[float, float, float]) -> Image.Image:
    """The picture of a side of a block: its name, as large as fits, on its colour."""
    image = Image.new('RGB', (_FACE, _FACE), tuple(round(255 * part) for part in colour))
    bright = np.dot(colour, (0.3, 0.59, 0.11)) > 0.55
    size = min(76, 1.5 * _FACE / max(len(name), 1))
    ImageDraw.Draw(image).text(
        (_FACE / 2, _FACE / 2),
        name,
        fill='#101418' if bright else _WHITE,
        font=_font(size),
        anchor='mm',
    )
    return image


@lru_cache(maxsize=8)
def _font(size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def captioned(frame: Frame, caption: Mapping[str, str]) -> Frame:
    """A picture with lines at its bottom, each behind its title; legible at half the size."""
    image = Image.fromarray(frame)
    draw = ImageDraw.Draw(image, 'RGBA')
    size = image.height / 24
    font, row, left = _font(size), 1.6 * size, 0.6 * size
    top = image.height - row * len(caption) - left
    draw.rectangle((0, top - left, *image.size), fill=_DARK)
    indent = 2.2 * size + max(font.getlength(title) for title in caption)
    for number, (title, line) in enumerate(caption.items()):
        y = top + row * number
        pill = (left, y, indent - 0.4 * size, y + 0.88 * row)
        draw.rounded_rectangle(pill, size / 4, fill=_TONES.get(title, _GREY))
        draw.text(((pill[0] + pill[2]) / 2, y + 0.44 * row), title, _WHITE, font, 'mm')
        draw.text((indent, y + 0.44 * row), line, _WHITE, font, 'lm')
    return np.asarray(image)


def _png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, 'PNG')
    return file.getvalue()


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
