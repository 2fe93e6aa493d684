# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The executor node whose twin is watched from inside: `python -m watched_executor`.

A thread writes the joints that MuJoCo has, a hundred times a second, to a file of this process in
the folder that `SAFEGEN_TEST_WATCH` names: not what the node publishes. A file `strike` there does
to the twin what its text says, once.
"""

from __future__ import annotations

import os
import struct
import sys
import threading
import time
from pathlib import Path

from safegen_ros.nodes.executor import ExecutorNode
from safegen_ros.nodes.running import run_node
from safegen_ros.robot.twin.twin import MujocoTwin

VARIABLE = 'SAFEGEN_TEST_WATCH'
LOOK = struct.Struct('<8d')
"""Time on the clock of `time.monotonic` [s], six joints [rad], whether the tool is on."""
BLOCK_MOVED, OBSTRUCTED = 'block_moved', 'obstructed'


class WatchedExecutor(ExecutorNode):
    """An executor that is otherwise as it is."""

    def configure(self) -> None:
        super().configure()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        assert self._twin is not None
        twin, folder = self._twin.arm, Path(os.environ[VARIABLE])
        assert isinstance(twin, MujocoTwin)
        strike = folder / 'strike'
        with (folder / f'{os.getpid()}.looks').open('ab', buffering=0) as out:
            while True:
                look = (time.monotonic(), *twin.joint_positions(), float(twin.tool_on()))
                out.write(LOOK.pack(*look))
                if strike.exists():
                    what = strike.read_text()
                    strike.unlink()
                    _strike(twin, what)
                time.sleep(0.01)


def _strike(twin: MujocoTwin, what: str) -> None:
    if what == BLOCK_MOVED:
        scene = twin.scene
        twin.disturb('a', scene.slot_pose(scene.slots[-1]))
    elif what == OBSTRUCTED:
        twin._model.dof_damping[:6] = 1e4  # until the next goal sets the world up


if __name__ == '__main__':
    sys.exit(run_node(WatchedExecutor))
