# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Programs that run within a budget, on files that only memory holds.

Nothing is left behind, whatever happens: a program ends with the process that started it, and its
files end with both.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import safegen_ros
from safegen_ros import child_process
from safegen_ros.search.budget import Budget

_POLL_S = 0.02
_MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A file without a name.

    Attributes:
        descriptor: by which this process, and those that it passes it to, know it.
    """

    descriptor: int

    @property
    def path(self) -> str:
        """Its path in a process that has the descriptor."""
        return f'/proc/self/fd/{self.descriptor}'

    def text(self) -> str:
        """What it holds."""
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        with open(self.descriptor, encoding='ascii', errors='replace', closefd=False) as file:
            return file.read()


@contextmanager
def memory_files(*texts: str) -> Iterator[tuple[MemoryFile, ...]]:
    """Files in memory that hold some texts and are gone with the last process that has them."""
    with ExitStack() as stack:
        files = []
        for text in texts:
            file = MemoryFile(os.memfd_create('safegen'))
            stack.callback(os.close, file.descriptor)
            with open(file.descriptor, 'w', encoding='ascii', closefd=False) as stream:
                stream.write(text)
            files.append(file)
        yield tuple(files)


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """How a program ended.

    Attributes:
        code: its exit code, or minus the number of the signal.
    """

    code: int
    output: str
    errors: str


def run_program(
    command: Sequence[str],
    budget: Budget,
    files: Sequence[MemoryFile] = (),
    stdin: MemoryFile | None = None,
    python_path: Path | None = None,
) -> ProgramResult:
    """Runs a program to its end.

    Args:
        budget: asked all the time; the program may take as much memory as it allows.
        stdin: its standard input; nothing by default.

    Raises:
        SearchLimit: the time is over; the program has been killed.
        Canceled: the caller wants to stop; likewise.
    """
    modules = [Path(safegen_ros.__file__).parents[1], *([python_path] if python_path else [])]
    most = int(budget.memory_limit_mb * _MEGABYTE)
    with memory_files('', '') as (output, errors):
        if stdin is not None:
            os.lseek(stdin.descriptor, 0, os.SEEK_SET)
        process = subprocess.Popen(
            [
                sys.executable, '-S', '-m', child_process.__name__, str(os.getpid()),
                child_process.BOUNDED, str(most), *command,
            ],
            stdin=subprocess.DEVNULL if stdin is None else stdin.descriptor,
            stdout=output.descriptor,
            stderr=errors.descriptor,
            env={**os.environ, 'PYTHONPATH': os.pathsep.join(map(str, modules))},
            pass_fds=[file.descriptor for file in files],
            start_new_session=True,
        )  # fmt: skip
        try:
            while True:
                try:
                    code = process.wait(_POLL_S)
                    return ProgramResult(code, output.text(), errors.text())
                except subprocess.TimeoutExpired:
                    budget.tick()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
