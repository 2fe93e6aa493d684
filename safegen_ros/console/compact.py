# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Keeps a process that runs for months from growing where nothing in it does.

The console sends some hundred messages a second to each viewer, each packed in memory that one
thread takes and another one gives back. With a heap for each thread, as glibc has it, the holes in
them add up: the process grew by some MB an hour while what it held stayed the same.
"""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # of <malloc.h>
_GIVEN_BACK = 1 << 20  # from this on, what is free at the end of the heap is given back [bytes]


def keep_compact() -> bool:
    """Has this process keep one heap; call it before threads begin.

    Returns:
        whether the C library can; only glibc can, and only there is it needed.
    """
    mallopt = getattr(ctypes.CDLL(None), 'mallopt', None)
    if mallopt is None:
        return False
    # A threshold that is set no longer rises by itself.
    wanted = {_ARENA_MAX: 1, _MMAP_THRESHOLD: _GIVEN_BACK, _TRIM_THRESHOLD: _GIVEN_BACK}
    return all(mallopt(option, value) for option, value in wanted.items())
