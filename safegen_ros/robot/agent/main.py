# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen-agent`: drives the arm of this computer for one client, on standard input and output.

It is started over SSH, by `safegen_ros.robot.ssh`. It needs the arm's libraries, and neither ROS
nor MuJoCo: `pip install 'safegen_ros[arm]'`.
"""

from __future__ import annotations

import argparse
import sys

from safegen_ros.robot.agent.guard import Guard
from safegen_ros.robot.agent.messages import LINK_TIMEOUT_S


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
    timeout = parser.parse_args().link_timeout
    if not 0.1 <= timeout <= 10.0:
        parser.error('--link-timeout must be from 0.1 to 10 s')
    sys.exit(Guard(['--link-timeout', str(timeout)]).run())


if __name__ == '__main__':
    main()
