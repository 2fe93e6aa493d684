# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The console as a process of the bring-up; its parameters are those of `safegen console`."""

from __future__ import annotations

import contextlib
import signal
import sys
from pathlib import Path
from types import FrameType

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.signals import SignalHandlerOptions

from safegen_ros.console.access import read_token
from safegen_ros.console.console import OperatorConsole, Settings
from safegen_ros.console.viser_workarounds import keep_compact
from safegen_ros.errors import SafegenError
from safegen_ros.node_parameters import CONSOLE
from safegen_ros.ros.parameters import declare, read
from safegen_ros.ros.stack_state import use_stack_discovery


def read_settings() -> Settings:
    """The settings from the ROS arguments of this process.

    Raises:
        SafegenError: the token cannot be read.
    """
    use_stack_discovery()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = rclpy.create_node('console')
        declare(node, CONSOLE)
        values = read(node, CONSOLE)
        namespace = node.get_namespace()
        node.destroy_node()
    finally:
        rclpy.shutdown()
    token = read_token(Path(values['token_file'])) if values['token_file'] else ''
    return Settings(
        values['host'], values['port'], token, values['read_only'], namespace, values['scene_file']
    )


def main() -> None:
    """Serves the page until SIGINT or SIGTERM."""
    signal.signal(signal.SIGTERM, _interrupt)
    keep_compact()  # before the threads of the middleware
    try:
        with OperatorConsole(read_settings()) as served, contextlib.suppress(KeyboardInterrupt):
            print(f'console: {served.url}', flush=True)
            served.wait()
    except (ParameterException, SafegenError) as error:
        print(f'error: {error}', file=sys.stderr)
        sys.exit(1)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == '__main__':
    main()
