# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Small programs in place of nodes: what they do wrong, no real node should do."""

from __future__ import annotations

import os
import queue
import select
import subprocess
import sys
import threading
from pathlib import Path

import safegen_ros
from safegen_ros.bringup.profiles import NodeSpec
from safegen_ros.ros.stack_state import read_state
from support.waiting import WAIT_S

ROOT = Path(safegen_ros.__file__).parents[1]

PROGRAMS = {
    # Runs until SIGINT.
    'steady': """
import signal, sys
try:
    print('up', flush=True)
    while True:
        signal.pause()
except KeyboardInterrupt:
    print('bye', flush=True)
""",
    # As a node that is interrupted among its imports.
    'unready': """
import signal
print('up', flush=True)
signal.pause()
""",
    # A page that comes up late.
    'serves': """
import os, signal, socket, time
time.sleep(0.5)
server = socket.create_server(('127.0.0.1', int(os.environ['PORT'])))
print('served', flush=True)
signal.pause()
""",
    'dies': """
import sys
print('first line', flush=True)
print('the reason', file=sys.stderr, flush=True)
sys.exit(7)
""",
    # Ends when the file named by its variable appears as a pipe with a writer.
    'dies_when_told': """
import os, sys
print('up', flush=True)
open(os.environ['TELL']).read()
print('told to go', flush=True)
sys.exit(9)
""",
    'stubborn': """
import signal
signal.signal(signal.SIGINT, lambda *a: print('ignores SIGINT', flush=True))
signal.signal(signal.SIGTERM, lambda *a: print('ignores SIGTERM', flush=True))
print('up', flush=True)
while True:
    signal.pause()
""",
    'parent': """
import signal, subprocess, sys
child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])
print('grandchild', child.pid, flush=True)
signal.signal(signal.SIGINT, lambda *a: sys.exit(0))
while True:
    signal.pause()
""",
    'noisy': r"""
import signal, sys
sys.stdout.write('x' * 3_000_000 + '\n')
sys.stdout.write('a\x1b[31mred\x07\tb\n')
sys.stdout.buffer.write(b'bad \xff byte\n')
sys.stdout.flush()
try:
    print('up', flush=True)
    while True:
        signal.pause()
except KeyboardInterrupt:
    pass
""",
    'service': """
import sys
import rclpy
from rclpy.executors import ExternalShutdownException
from std_srvs.srv import Trigger
rclpy.init(args=sys.argv)
node = rclpy.create_node('unnamed')
node.create_service(Trigger, 'go', lambda request, response: response)
print('parameter', node.declare_parameter('word', '').value, flush=True)
try:
    rclpy.spin(node)
except (KeyboardInterrupt, ExternalShutdownException):
    rclpy.try_shutdown()
""",
}


def node_command(module, *arguments):
    """Runs a module as a node that cannot outlive this thread, and so answer another test."""
    child = [sys.executable, '-m', 'safegen_ros.child_process', str(os.getpid())]
    return [*child, module, *arguments]


def spec(program, name=None, **more):
    return NodeSpec(name or program, program, f'node_{program}', **more)


def wait_gone(fds):
    """Wait for the end of processes given by their pidfd, children of ours or not."""
    for fd in fds:
        ended, _, _ = select.select([fd], [], [], WAIT_S)
        os.close(fd)
        assert ended


class Command:
    """`Supervisor(...).run()` in a process of its own, and what it prints.

    With `patience_s` each step of its end waits so long [s] before the next, harder one.
    """

    def __init__(self, folder, *specs, patience_s=None):
        program = (
            'import sys\n'
            'from pathlib import Path\n'
            'from safegen_ros.bringup.profiles import NodeSpec, Ready\n'
            'from safegen_ros.bringup import supervisor\n'
            'from safegen_ros.bringup.supervisor import Supervisor\n'
            f'patience = {patience_s!r}\n'
            'if patience is not None:\n'
            '    steps = [(number, patience) for number, _ in supervisor.STOP_STEPS]\n'
            '    supervisor.STOP_STEPS = tuple(steps)\n'
            'from functools import partial\n'
            f'stack = Supervisor({specs!r}, log_dir=Path({str(folder / "log")!r}), screen=True)\n'
            'sys.exit(stack.run(partial(print, flush=True)))\n'
        )
        self.process = subprocess.Popen(
            [sys.executable, '-c', program],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.output = []
        self._queue = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        with self.process.stdout as pipe:
            for line in pipe:
                self._queue.put(line.rstrip('\n'))
        self._queue.put(None)

    def expect(self, *wanted):
        """Read until each of the texts has been the whole of a line; in any order."""
        missing = set(wanted)
        while missing:
            line = self._queue.get(timeout=WAIT_S)
            assert line is not None, f'ended without {missing}: {self.output}'
            self.output.append(line)
            missing.discard(line)

    def end(self):
        """Exit status, once all output has been read."""
        code = self.process.wait(timeout=WAIT_S)
        while (line := self._queue.get(timeout=WAIT_S)) is not None:
            self.output.append(line)
        self._reader.join()
        return code

    def pids(self, domain):
        return read_state(domain).nodes
