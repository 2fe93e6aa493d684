# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The prompts for BoxNet3D: all steps at once, or the next one.

The frame and the answers are those of BoxNet2D; the rules and the worked example are of this world,
and the verifier accepts the example at every depth.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

from safegen_ros.robot.arms import FAMILIES
from safegen_ros.tasks.boxnet.geometry import UNIT, point_text
from safegen_ros.tasks.boxnet.model import Plan, State, map_text, observation, plan_json, step_json
from safegen_ros.tasks.boxnet.spatial import SpatialTask
from safegen_ros.tasks.boxnet.spatial.model import rest_place


@cache
def example(arm: str = 'ur5e') -> tuple[SpatialTask, Plan]:
    """A task with a plan, in which Object 0 is handed from one robot to the other.

    Args:
        arm: kind of the arms, a key of `FAMILIES`.
    """
    family = FAMILIES[arm]
    side = round(family.cell * UNIT)
    bases = (side, side), (2 * side, side)
    tips = tuple(rest_place(base, family.rest) for base in bases)
    left, middle, right = ((side // 2 + n * side, side // 2) for n in range(3))
    above, corner = ((x, y + side) for x, y in (middle, right))
    task = SpatialTask('example', 3, 2, bases, State(tips, (left, corner)), (right, above), arm)
    return task, (
        (task.move(0, tips[0], left, False), task.move(1, tips[1], corner, False)),
        (task.move(0, left, middle, True), task.move(1, corner, above, True)),
        (task.move(0, middle, tips[0], False),),
        (task.move(1, above, middle, False),),
        (task.move(1, middle, right, True),),
    )


_RULES = Path(__file__).with_name('rules.txt').read_text(encoding='utf-8').rstrip()

_FORM = '"Move [x, y], True" or "Move [x, y], False", which say where the tip goes'


def prompt_words(task: SpatialTask, *, whole: bool) -> dict[str, str]:
    """The words of this world in the request for all steps of a plan, or for the first one."""
    shown, plan = example(task.arm)
    handed = (
        'Robot 0 reaches Object 0, Robot 1 its target; both reach '
        f'{point_text(plan[1][0].end)}, so it is handed on there. Before Robot 1 comes to it, '
        'Robot 0 goes aside. Robot 1 first brings Object 1 to its target.'
    )
    apart = 'Robot 0 reaches Object 0 and Robot 1 reaches Object 1; their ways stay apart.'
    return {
        'rules': _rules(task),
        'form': _FORM,
        'thoughts': handed if whole else apart,
        'example': (map_text if whole else observation)(shown, shown.start),
        'answer': plan_json(plan) if whole else step_json(plan[0]),
    }


def _rules(task: SpatialTask) -> str:
    family = task.family
    shown, plan = example(task.arm)
    near, far = family.reach
    base, yes, no = shown.bases[0], plan[0][0].end, plan[0][1].end
    reached, missed = (math.hypot(*shown.from_base(0, point)) for point in (yes, no))
    dead = ''
    if family.dead is not None:
        low, high = (round(math.degrees(angle)) for angle in family.dead)
        dead = (
            f', and its direction from the base must not be between {low} and {high} degrees, '
            'counter-clockwise from x; nor does the arm swing through there, but the other way '
            'round'
        )
    return _RULES.format(
        side=family.cell,
        radius=family.radius,
        apart=2 * family.radius,
        near=near,
        far=far,
        dead=dead,
        reach=(
            f'A base {point_text(base)} reaches {point_text(yes)}, where d = {reached:.3f}; it '
            f'does not reach {point_text(no)}, where d = {missed:.3f}.'
        ),
    )
