# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command line, `safegen`."""

import sys


def start() -> None:
    """Runs the command line; Ctrl-C ends it in one line, also while it is imported."""
    try:
        from safegen_ros.cli.main import main

        main()
    except KeyboardInterrupt:
        print('interrupted', file=sys.stderr)
        sys.exit(130)
