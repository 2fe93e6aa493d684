# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import math
from pathlib import Path

import pytest
import yaml

from safegen_ros.errors import ErrorCode
from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280
from safegen_ros.robot.scene import SceneError, default_scene_path, load_scene

SHIPPED = yaml.safe_load(default_scene_path().read_text(encoding='utf-8'))


def load_changed(tmp_path, change):
    document = copy.deepcopy(SHIPPED)
    change(document)
    path = tmp_path / 'scene.yaml'
    path.write_text(yaml.safe_dump(document), encoding='utf-8')
    return load_scene(path)


def set_slot(index, **values):
    return lambda document: document['slots'][index].update(values)


def test_the_shipped_scene_takes_six_blocks_in_any_configuration():
    scene = load_scene()
    assert scene.max_blocks == 6
    assert len(scene.slots) > 6  # six towers of one and a place to put a held block aside
    for slot in scene.slots:
        joints = scene.joints_above(slot.x, slot.y, 0.195, slot.azimuth)
        tip = MYCOBOT_280.forward(joints, scene.tool_length)[:3, 3]
        assert math.dist(tip, (slot.x, slot.y, 0.195)) < 1e-9


@pytest.mark.parametrize(
    ('change', 'place', 'what'),
    [
        (lambda d: d.pop('tool_length_m'), "field 'tool_length_m'", 'missing'),
        (lambda d: d.update(blok_size_m=1), "unknown field 'blok_size_m'", 'use block_size_m'),
        (lambda d: d.update(block_size_m='30 mm'), 'block_size_m', 'write a number'),
        (lambda d: d.update(block_size_m=30), 'block_size_m', 'take 0.015 to 0.05'),
        (lambda d: d.update(block_size_m=10**400), 'block_size_m', 'write a number'),
        (lambda d: d.update(block_size_m=float('nan')), 'block_size_m', 'is nan'),
        (lambda d: d.update(max_tower_blocks=2.5), 'max_tower_blocks', 'whole number'),
        (lambda d: d.update(slots=[]), 'slots', 'at least one'),
        (lambda d: d.update(slots=[3]), 'slots[0]', 'write an object'),
        (lambda d: d.update(motion=None), 'motion', 'write an object'),
        (lambda d: d['motion'].update(grasp_s=-1), 'motion.grasp_s', 'take 0 to 5'),
        (lambda d: d['motion'].pop('grasp_s'), "motion: field 'grasp_s'", 'missing'),
        (set_slot(2, name='s1'), 'slots[2] (s1)', 'twice'),
        (set_slot(2, name=''), 'slots[2].name', 'give it a name'),
        (set_slot(2, azimuth_deg=-45), 'slots[2] (s3)', 'from s2'),
        (set_slot(0, azimuth_deg=-108), 'slots[0] (s1)', 'from home'),
        (set_slot(4, radius_m=0.09), 'slots[4] (s5)', 'touch the base'),
        (set_slot(4, radius_m=0.20), 'slots[4] (s5)', 'tower of 6 does not fit'),
        (set_slot(4, radius_m=0.30), 'slots[4] (s5)', 'cannot be reached'),
        (lambda d: d.update(max_tower_blocks=7), 'slots[0] (s1)', 'tower of 7 does not fit'),
        (lambda d: d['home'].update(radius_m=0.35), 'home', 'cannot be reached'),
    ],
)
def test_a_bad_scene_is_refused_with_the_place_and_the_reason(tmp_path, change, place, what):
    with pytest.raises(SceneError) as caught:
        load_changed(tmp_path, change)
    assert caught.value.code == ErrorCode.UNSUPPORTED_SCENE
    assert f'scene.yaml: {place}' in caught.value.message
    assert what in caught.value.message


def test_a_tower_may_be_lower_farther_out(tmp_path):
    def change(document):
        document['max_tower_blocks'] = 4
        for slot in document['slots']:
            slot['radius_m'] = 0.22

    assert load_changed(tmp_path, change).max_blocks == 4


@pytest.mark.parametrize('text', ['a: [', 'just words', '', '\x00'])
def test_what_is_no_scene_is_refused(tmp_path, text):
    path = tmp_path / 'scene.yaml'
    path.write_text(text, encoding='utf-8')
    with pytest.raises(SceneError, match=r'scene\.yaml'):
        load_scene(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SceneError, match='nowhere'):
        load_scene(tmp_path / 'nowhere.yaml')


ALIASES = '\n'.join(
    ['- &a0 [x]', *(f'- &a{i} [{", ".join([f"*a{i - 1}"] * 9)}]' for i in range(1, 12))]
)
"""A text of some lines; written out, it would have billions of characters."""


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('[' * 5000, 'nested too deeply'),
        ('{a: ' * 3000, 'nested too deeply'),
        ('a: 2020-99-99', 'is not YAML'),
        (ALIASES, 'write an object'),
        ('name: \x1b[2J', 'is not YAML'),
    ],
)
def test_a_hostile_file_is_refused_in_words(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / 'scene.yaml'
    path.write_text(text)
    with pytest.raises(SceneError, match=said) as caught:
        load_scene(path)
    assert len(caught.value.message) < 2000, said
    assert caught.value.message.replace('\n', '').isprintable()
