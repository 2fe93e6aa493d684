# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A block has one colour: on the twin, in markers, in the 3-D view, on the stand, in pictures."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import pytest

from safegen_ros.console import choices
from safegen_ros.console.access import Gate
from safegen_ros.console.scene import Stand, Table
from safegen_ros.console.serving import serve
from safegen_ros.nodes.scene_markers import _blocks
from safegen_ros.pddl.model import Problem
from safegen_ros.record.present.pictures import goal_html, state_html
from safegen_ros.robot.cell.grounding import initial_layout
from safegen_ros.robot.description.mjcf import build_mjcf
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import load_scene

Rgb = tuple[int, ...]
SCENE = load_scene()
SHIPPED = [name for name in choices.problems() if name.startswith(('blocksworld', 'tower'))]


@pytest.fixture(scope='module')
def view() -> Iterator[Any]:
    server = serve(Gate('127.0.0.1'), 0)
    yield server.scene
    server.stop()


def _rgb(values: Any) -> Rgb:
    return tuple(round(255 * float(value)) for value in tuple(values)[:3])


def on_the_twin(poses: dict[str, Pose]) -> dict[str, Rgb]:
    root = ET.fromstring(build_mjcf(SCENE, poses))
    return {
        str(geom.get('name')).removeprefix('block:'): _rgb(str(geom.get('rgba')).split())
        for geom in root.iter('geom')
        if str(geom.get('name')).startswith('block:')
    }


def in_markers(poses: dict[str, Pose]) -> dict[str, Rgb]:
    markers = _blocks(SCENE, poses)
    names = [marker.text for marker in markers if marker.ns == 'names']
    colours = [(m.color.r, m.color.g, m.color.b) for m in markers if m.ns == 'blocks']
    return dict(zip(names, map(_rgb, colours), strict=True))


def in_the_view(table: Table) -> dict[str, Rgb]:
    return {
        label.text: tuple(box.color)
        for box, label in table._blocks
        if box.visible
    }  # fmt: skip


def on_the_stand(stand: Stand, problem: Problem) -> dict[str, Rgb]:
    stand.show(problem)
    boxes = {each.name: each for each in stand._handles if hasattr(each, 'color')}
    return {
        each.text: tuple(boxes[each.name.removesuffix('/name')].color)
        for each in stand._handles
        if each.name.endswith('/name')
    }


def in_a_picture(html: str) -> dict[str, Rgb]:
    found = re.findall(r'<g><rect[^>]*fill="rgb\((\d+),(\d+),(\d+)\)".*?<text[^>]*>([^<]+)<', html)
    return {name: (int(r), int(g), int(b)) for r, g, b, name in found}


def test_a_block_has_one_colour_everywhere(view: Any) -> None:
    table, stand = Table(view, '/live', SCENE), Stand(view, SCENE)
    assert len(SHIPPED) > 40
    other_order = 0
    for name in SHIPPED:
        problem = choices.read_problem(name).task.problem
        poses = dict(initial_layout(SCENE, tuple(problem.objects), problem.init).poses)
        other_order += [*poses] != [*problem.objects]
        table.show_blocks(poses)
        colours = on_the_twin(poses)
        assert {*colours} == {*problem.objects}
        assert in_markers(poses) == colours, name
        assert in_the_view(table) == colours, name
        assert in_a_picture(state_html(problem, problem.init)) == colours, name
        for shown in (on_the_stand(stand, problem), in_a_picture(goal_html(problem))):
            assert shown.items() <= colours.items(), name
            assert shown or not stand._shown
    assert other_order > 30  # else this would not tell one order from the other
