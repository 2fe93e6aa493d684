# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Distances between capsules, many at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_TINY = 1e-12


def closest(a: Floats, b: Floats, c: Floats, d: Floats) -> tuple[Floats, Floats]:
    """The least distance [m] of segments a-b and c-d, and the point halfway between them [m].

    Ends have shape (..., 3), as far as numpy broadcasts them.
    """
    u, v, w = b - a, d - c, a - c
    uu, vv, uv = _dot(u, u), _dot(v, v), _dot(u, v)
    uw, vw = _dot(u, w), _dot(v, w)
    across = uu * vv - uv * uv
    # Where they are parallel any point of the first will do; the second follows from it.
    s = np.where(across > _TINY, (uv * vw - vv * uw) / np.where(across > _TINY, across, 1.0), 0.0)
    s = s.clip(0.0, 1.0)
    t = ((s * uv + vw) / np.maximum(vv, _TINY)).clip(0.0, 1.0)
    s = ((t * uv - uw) / np.maximum(uu, _TINY)).clip(0.0, 1.0)
    near, far = a + s[..., None] * u, c + t[..., None] * v
    return np.linalg.norm(near - far, axis=-1), (near + far) / 2


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray((a * b).sum(axis=-1), dtype=np.float64)
