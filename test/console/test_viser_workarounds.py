# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A console has one heap for all of its threads."""

from __future__ import annotations

import subprocess
import sys

import pytest

THREADS = """
import ctypes, sys, threading
from safegen_ros.console.viser_workarounds import keep_compact

if sys.argv[1] == 'compact':
    assert keep_compact()
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fdopen.restype = ctypes.c_void_p
together = threading.Barrier(4)

def take():
    together.wait()
    libc.malloc(5000)
    together.wait()

threads = [threading.Thread(target=take) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
out = ctypes.c_void_p(libc.fdopen(1, b'w'))
libc.malloc_info(0, out)
libc.fflush(out)
"""


@pytest.mark.parametrize(('how', 'heaps'), [('compact', {1}), ('as it is', {2, 3, 4, 5})])
def test_all_threads_share_one_heap(how: str, heaps: set[int]) -> None:
    told = subprocess.run(
        [sys.executable, '-c', THREADS, how], capture_output=True, text=True, check=True
    )
    assert told.stdout.count('<heap nr=') in heaps
