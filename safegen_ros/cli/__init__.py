# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command line, `safegen`."""

import os
import sys


def start() -> None:
    """Runs the command line; Ctrl-C ends it in one line, also while it is imported."""
    try:
        from safegen_ros.cli.main import main

        main()
    except KeyboardInterrupt:
        print('interrupted', file=sys.stderr)
        sys.exit(130)
    except SystemExit as ended:
        if sys.argv[1:2] == ['status'] and isinstance(ended.code, int):
            # Fast DDS sleeps 0.1 s in a destructor; nothing is left to be done here.
            sys.stdout.flush()
            os._exit(ended.code)
        raise
