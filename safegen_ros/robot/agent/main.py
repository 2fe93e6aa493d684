# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen-agent`: drives the arm of this computer for one client, on standard input and output.

`safegen_ros.robot.agent_client` starts it. It needs the arm's libraries, and neither ROS nor
MuJoCo: `pip install 'safegen_ros[arm]'`.
"""

from __future__ import annotations

import argparse
import sys

from safegen_ros.robot.agent.guard import Guard
from safegen_ros.robot.agent.messages import (
    HANG_TIMEOUT_S,
    LINK_TIMEOUT_S,
    TIMEOUT_RANGE_S,
)


def main() -> None:
    """Runs the agent until its client is gone."""
    parser = argparse.ArgumentParser(
        'safegen-agent',
        description='Drives the arm of this computer for one client, on standard input and output, '
        'and holds it when the client falls silent.',
    )
    parser.add_argument(
        '--link-timeout',
        type=float,
        default=LINK_TIMEOUT_S,
        metavar='S',
        help='silence of the client after which the arm is held [s], 0.1 to 10',
    )
    parser.add_argument(
        '--hang-timeout',
        type=float,
        default=HANG_TIMEOUT_S,
        metavar='S',
        help='silence of the process that moves the arm after which the arm is held [s], 0.1 to 10',
    )
    arguments = parser.parse_args()
    for name in ('link_timeout', 'hang_timeout'):
        low, high = TIMEOUT_RANGE_S
        if not low <= getattr(arguments, name) <= high:
            parser.error(f'--{name.replace("_", "-")} must be from {low:g} to {high:g} s')
    guard = Guard(['--link-timeout', str(arguments.link_timeout)], arguments.hang_timeout)
    sys.exit(guard.run())


if __name__ == '__main__':
    main()
