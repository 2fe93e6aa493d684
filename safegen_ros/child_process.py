# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs what cannot outlive its parent: a module as a node, or a program with a bound on its memory.

The arguments are PARENT_PID MODULE [...], or PARENT_PID --memory BYTES PROGRAM [...]. This process
asks for the signal at the death of its parent, and sets the bound, after exec. A `preexec_fn` would
run Python between fork and exec of a process with threads.
"""

from __future__ import annotations

import ctypes
import os
import resource
import runpy
import signal
import sys

BOUNDED = '--memory'
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def die_with_parent(parent: int) -> None:
    """Ask the kernel for SIGTERM when the thread that started this process ends.

    Args:
        parent: process id of the parent; when it has gone already, this process ends at once.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f'prctl(PR_SET_PDEATHSIG): {os.strerror(number)}')
    if os.getppid() != parent:
        sys.exit('the supervisor ended before this node started')


def describe_exit(code: int) -> str:
    """An exit status in words, as `subprocess` counts it."""
    if code >= 0:
        return f'exit status {code}'
    try:
        return f'signal {signal.Signals(-code).name}'
    except ValueError:
        return f'signal {-code}'


def main() -> None:
    """Entry point."""
    die_with_parent(int(sys.argv[1]))
    if sys.argv[2] == BOUNDED:  # the limits stay when this process becomes the program
        most = int(sys.argv[3])
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.execv(sys.argv[4], sys.argv[4:])  # noqa: S606 - a fixed program, no shell
    # A shell starts background jobs with SIGINT ignored, and that is inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    module = sys.argv[2]
    sys.argv = sys.argv[2:]
    try:
        runpy.run_module(module, run_name='__main__', alter_sys=True)
    except KeyboardInterrupt:
        # A node handles its own; this one came before it could, among its imports.
        sys.exit('interrupted before it was up')


if __name__ == '__main__':
    main()
