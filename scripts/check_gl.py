# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Finds out which offscreen OpenGL MuJoCo can draw with here, by drawing with it.

Prints `egl`, `osmesa` or `none`. Needs mujoco and its dependencies, nothing of this repository, so
that the set-up can run it before anything else is installed.
"""

from __future__ import annotations

import os
import subprocess
import sys

BACKENDS = ('egl', 'osmesa')
TIMEOUT_S = 60.0
SCENE = """
<mujoco>
  <worldbody>
    <light pos="0 0 3"/>
    <geom type="sphere" size="0.5" rgba="1 0 0 1"/>
  </worldbody>
</mujoco>
"""


def draw() -> bool:
    """Draws a red ball with the backend that `MUJOCO_GL` names; whether it can be seen."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(SCENE)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    renderer = mujoco.Renderer(model, height=48, width=64)
    renderer.update_scene(data)
    pixels = renderer.render()
    renderer.close()
    red, green, _ = (int(value) for value in pixels[24, 32])
    return red > 50 and red > 2 * green


def works(backend: str, *, verbose: bool) -> bool:
    """Whether `backend` draws, tried in a process of its own: a broken driver may end it."""
    environment = {**os.environ, 'MUJOCO_GL': backend, 'PYOPENGL_PLATFORM': backend}
    try:
        result = subprocess.run(
            [sys.executable, __file__, '--draw'],
            env=environment,
            timeout=TIMEOUT_S,
            capture_output=True,
            text=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    if verbose and result.returncode:
        sys.stderr.write(f'{backend}: {result.stderr.strip().splitlines()[-1:]}\n')
    return result.returncode == 0


def main(arguments: list[str]) -> int:
    """Runs the command line: nothing, `--verbose`, or `--draw` (used by itself)."""
    if '--draw' in arguments:
        return 0 if draw() else 1
    verbose = '--verbose' in arguments
    print(next((name for name in BACKENDS if works(name, verbose=verbose)), 'none'))
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
