# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The executor node beside whose arm somebody stands: `python -m disturbed_executor`.

In the file that `SAFEGEN_TEST_DISTURB` names is a list of what that person does, each as [step,
block, place]: right after the next such step, before anybody looks, the block is put on another
one, or on the free slot at the end of the table where the place is empty.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from safegen_ros.nodes.executor import ExecutorNode
from safegen_ros.nodes.running import run_node
from safegen_ros.robot.cell.blocks import BlocksworldCell
from safegen_ros.robot.cell.execution import ConcurrentStep
from safegen_ros.robot.pose import Pose
from safegen_ros.tasks.cells import OneRobot

VARIABLE = 'SAFEGEN_TEST_DISTURB'


class DisturbedCell:
    """A cell on the twin; what it is not asked for here is as there."""

    def __init__(self, joint: OneRobot) -> None:
        self._joint = joint
        assert isinstance(joint.cell, BlocksworldCell)
        self._cell = joint.cell

    def __getattr__(self, name: str) -> Any:
        return getattr(self._joint, name)

    def take(self, step: ConcurrentStep) -> None:
        self._joint.take(step)
        [(action, arguments)] = step
        file = Path(os.environ[VARIABLE])
        acts = json.loads(file.read_text(encoding='utf-8')) if file.exists() else []
        if acts and acts[0][0] == f'({" ".join((action, *arguments))})':
            _, block, under = acts.pop(0)
            file.write_text(json.dumps(acts), encoding='utf-8')
            self._put(block, under)

    def _put(self, block: str, under: str) -> None:
        scene = self._cell.scene
        pose = scene.slot_pose(scene.slots[-1])
        if under:
            below = self._cell.poses()[under]
            x, y, z = below.position
            pose = Pose.upright(x, y, z + scene.block_size, below.yaw)
        self._cell.world.disturb(block, pose)


class DisturbedExecutor(ExecutorNode):
    """An executor that is otherwise as it is."""

    def _cell_for(self, task: Any) -> Any:
        return DisturbedCell(super()._cell_for(task))


if __name__ == '__main__':
    sys.exit(run_node(DisturbedExecutor))
