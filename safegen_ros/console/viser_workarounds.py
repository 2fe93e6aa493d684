# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Keeps a process that runs for months from growing where nothing in it does.

The console sends some hundred messages a second to each viewer, each packed in memory that one
thread takes and another one gives back. With a heap for each thread, as glibc has it, the holes in
them add up: the process grew by some MB an hour while what it held stayed the same.
"""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _ARENA_MAX = -1, -8  # of <malloc.h>
_GIVEN_BACK = 1 << 18  # from this on, what is free at the end of the heap is given back [bytes]


def keep_compact() -> bool:
    """Has this process keep one heap; call it before threads begin.

    Returns:
        whether the C library can; only glibc can, and only there is it needed.
    """
    mallopt = getattr(ctypes.CDLL(None), 'mallopt', None)
    if mallopt is None:
        return False
    # Once it is set, the size from which memory is taken outside of the heap no longer rises: what
    # messages are packed in comes and goes, and leaves a hole where it was on the heap.
    return bool(mallopt(_ARENA_MAX, 1) and mallopt(_TRIM_THRESHOLD, _GIVEN_BACK))
