# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Becomes another program, with a bound on its memory: arguments PARENT_PID BYTES PROGRAM [...].

The limits are set here, after exec, because a `preexec_fn` would run Python between fork and exec
of a process that has threads. They stay with the process when it becomes the program.
"""

from __future__ import annotations

import os
import resource
import sys

from safegen_ros.child_process import die_with_parent


def main() -> None:
    """Entry point: PARENT_PID, the most bytes of memory, and the program with its arguments."""
    die_with_parent(int(sys.argv[1]))
    most = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.execv(sys.argv[3], sys.argv[3:])  # noqa: S606 - a fixed program, no shell


if __name__ == '__main__':
    main()
