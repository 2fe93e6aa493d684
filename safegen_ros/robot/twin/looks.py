# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What only a picture of the twin needs: the room, names on the blocks, round corners, captions.

The twin moves in a model without it, so that looks cannot change the physics.
"""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from safegen_ros.robot.description.mjcf import block_geom, legend, mjcf_tree
from safegen_ros.robot.description.mjcf_tools import numbers
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import Scene

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
    ET.SubElement(root, 'statistic', center='.06 0 .1', extent=numbers([1.6 * half]))
    ET.SubElement(
        world,
        'geom',
        {'class': 'visual'},
        type='plane',
        size='6 6 .1',
        pos=numbers((0, 0, -_TABLE_HEIGHT)),
        rgba='.80 .83 .86 1',
    )
    at = half - 2 * _LEG
    for x, y in product((-at, at), repeat=2):
        ET.SubElement(
            world,
            'geom',
            {'class': 'visual'},
            type='box',
            size=numbers((_LEG, _LEG, _TABLE_HEIGHT / 2 - 0.0125)),
            pos=numbers((x, y, -_TABLE_HEIGHT / 2 - 0.0125)),
            rgba='.42 .45 .49 1',
        )


def _bevelled(asset: ET.Element, name: str, size: Sequence[float]) -> None:
    """A box with bevelled edges: the hull of three points at each of its eight corners."""
    inner = np.array(size) - _BEVEL
    corners = np.array([*product((-1, 1), repeat=3)])
    points = corners[:, None] * (inner + _BEVEL * np.eye(3))
    ET.SubElement(asset, 'mesh', name=name, vertex=numbers(points.ravel()))


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
