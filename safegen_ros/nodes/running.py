# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The process of a node: its start, its executor, its signals and its end."""

from __future__ import annotations

import gc
import queue
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from safegen_ros.errors import SafegenError
from safegen_ros.nodes.base import CLOSE_TIMEOUT_S, SafegenNode
from safegen_ros.ros.parameter_files import check_parameter_file, parameter_files
from safegen_ros.ros.rclpy_compat import finish_callbacks

SWITCH_S = 5e-4
"""How long a thread may keep the others from running [s]; each goal has to do with several."""

# Most callbacks that may run at once; a thread is made only when all others are at work.
_THREADS = 64
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def _on_stop_signals(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in _STOP_SIGNALS:
        signal.signal(number, handler)


def _exit_now(number: int, frame: FrameType | None) -> None:
    _on_stop_signals(lambda *_: None)  # a second one would cut off what the first one begins
    raise SystemExit(0)


def _init() -> None:
    """Connects to ROS; raises `SafegenError` where an argument or a parameter file is wrong."""
    try:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # the errors of rcl have no public name
        raise SafegenError(str(error).splitlines()[0]) from error


def run_node(make: Callable[[], SafegenNode]) -> int:
    """Runs a node until the process is asked to end.

    A running goal is answered before the node ends. The signal handlers of rclpy would cut the
    connections first, and are not used.

    Returns:
        The exit status: 0 after SIGINT or SIGTERM, 1 when the node could not start or failed.
    """
    # Several signals come at once where a supervisor dies, and their handler runs in the middle of
    # whatever this thread does: it must take no lock, which rules out an Event.
    news: queue.SimpleQueue[None] = queue.SimpleQueue()
    stop = threading.Event()
    sys.setswitchinterval(SWITCH_S)
    _on_stop_signals(_exit_now)  # nothing runs yet that would have to be ended in order
    try:
        for path in parameter_files(sys.argv):
            check_parameter_file(path)
        _init()
        node = make()
    except (ParameterException, SafegenError) as error:
        print(f'cannot start: {error}', file=sys.stderr, flush=True)
        rclpy.try_shutdown()
        return 1
    executor = MultiThreadedExecutor(num_threads=_THREADS)
    executor.add_node(node)
    failed, ended = threading.Event(), threading.Event()

    def spin() -> None:
        try:
            while not ended.is_set():
                executor.spin_once()
        except ExternalShutdownException:
            pass
        except BaseException:
            # After an error in a callback nothing is known: the node ends, and with it the stack.
            failed.set()
            raise
        finally:
            stop.set()
            news.put(None)

    spinning = threading.Thread(target=spin, name='spin')
    spinning.start()
    try:
        # A signal ends even the reading of a model, which nothing else would.
        node.bring_up(stop)
        _on_stop_signals(lambda *_: news.put(None))
        news.get()
    except SystemExit:
        pass
    except SafegenError as error:
        print(f'cannot start: {error}', file=sys.stderr, flush=True)
        failed.set()
    _on_stop_signals(lambda *_: None)  # not a second time in the middle of the end
    node.end()  # so that clients still get an answer
    ended.set()
    executor.create_task(lambda: None)  # `wake` alone does not end a `spin_once`
    # Before `shutdown`, which takes from a thread that is about to wait what would wake it up.
    spinning.join(CLOSE_TIMEOUT_S)
    finish_callbacks(executor)
    executor.shutdown(timeout_sec=CLOSE_TIMEOUT_S)
    node.destroy_node()
    rclpy.try_shutdown()
    for number in _STOP_SIGNALS:  # the interpreter would die of one while it ends
        signal.signal(number, signal.SIG_IGN)
    gc.freeze()  # else the interpreter looks at the objects of torch once more, which takes seconds
    return 1 if failed.is_set() else 0
