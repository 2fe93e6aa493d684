# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The process of the agent that moves the arm; `guard.Guard` starts it and watches it."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from typing import NamedTuple

from safegen_ros.errors import RobotError
from safegen_ros.robot.agent import guard
from safegen_ros.robot.agent.messages import Open, SerialPort
from safegen_ros.robot.agent.session import Sampler, Session, SessionFiles
from safegen_ros.robot.arm import Arm
from safegen_ros.robot.arms.model import ArmModel
from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280
from safegen_ros.robot.mycobot.driver import MyCobot
from safegen_ros.robot.mycobot.effectors import effector_of
from safegen_ros.robot.mycobot.frames import STOP
from safegen_ros.robot.mycobot.link import open_serial, open_tcp
from safegen_ros.robot.mycobot.owner import Robot

#: An agent whose link has died gets this time to hold the arm and to let go of the port [s].
PORT_PATIENCE_S = 8.0


#: Takes news of a port: before anything is sent to it, and when it is free again.
Tell = Callable[[bytes], None]


class Driver(NamedTuple):
    """A kind of arm that a client may ask for, and what opens it, which may raise `RobotError`."""

    model: ArmModel
    open: Callable[[Open, Sampler, Tell], Arm]


def _open_mycobot(request: Open, sample: Sampler, tell: Tell) -> Arm:
    effector, at = effector_of(request.tool), request.at
    robot: Robot
    if isinstance(at, SerialPort):
        robot = open_serial(at.port, at.baud, PORT_PATIENCE_S)
    else:
        robot = open_tcp(at.host, at.tcp_port)
    # Not before it is ours: the guard of a process that dies waiting must not stop another's arm.
    tell(guard.taken(at, STOP))
    try:
        return MyCobot(robot, effector, sample=sample)
    except BaseException:
        tell(guard.released())
        raise


def _open_twin(request: Open, sample: Sampler, tell: Tell) -> Arm:
    try:
        from safegen_ros.robot.scene import load_scene
        from safegen_ros.robot.twin.twin import MujocoTwin
    except ModuleNotFoundError as error:
        cure = "pip install 'safegen_ros[sim]'"
        raise RobotError(f'there is no {error.name} on the computer of the arm: {cure}') from error
    return MujocoTwin(load_scene(), real_time_factor=1.0, sample=sample)


DRIVERS = {
    MYCOBOT_280.driver: Driver(MYCOBOT_280, _open_mycobot),
    'twin': Driver(MYCOBOT_280, _open_twin),
}


def serve(news: int, end: int, link_timeout_s: float) -> int:
    """Serves the client on standard input and output; returns the exit status.

    `news` is the descriptor for the news of the guard; at the end of `end` this process ends.
    """

    def tell(line: bytes) -> None:
        # Without its guard it ends, as `end` says; until then it must not fail.
        with contextlib.suppress(BrokenPipeError):
            os.write(news, line)

    # What a library prints must not get between the lines of the protocol.
    sink = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    session = Session(
        SessionFiles(sys.stdin.fileno(), sink, end),
        lambda request, sample: DRIVERS[request.arm].open(request, sample, tell),
        {name: driver.model for name, driver in DRIVERS.items()},
        link_timeout_s=link_timeout_s,
        alive=lambda: tell(guard.ALIVE),
    )
    reason = session.run()
    if session.held:
        tell(guard.released())
    print(f'safegen-agent: {reason}', file=sys.stderr)
    return 0


def main() -> None:
    """Runs the process."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--news', type=int, required=True)
    parser.add_argument('--end', type=int, required=True)
    parser.add_argument('--link-timeout', type=float, required=True)
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the guard takes it
    status = 1
    try:
        status = serve(arguments.news, arguments.end, arguments.link_timeout)
    except Exception as error:
        print(f'safegen-agent: error: {type(error).__name__}: {error}', file=sys.stderr)
    finally:
        sys.stderr.flush()
        # Not `sys.exit`: the library of the pins switches them off at exit, and a block that hangs
        # from the cup would fall. A thread that waits for a dead port must not hold us, either.
        os._exit(status)


if __name__ == '__main__':
    main()
