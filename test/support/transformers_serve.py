# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs `transformers serve`, which loads whatever folder it is asked for, as a process."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

_ADDRESS = re.compile(r'running on (http://127\.0\.0\.1:\d+)')
_START_S = 120


class TransformersServe:
    """`transformers serve` on a free port of the loopback interface."""

    def __init__(self) -> None:
        self._hub = tempfile.mkdtemp(prefix='safegen-test-hub-')
        command = Path(sys.executable).with_name('transformers')
        self.process = subprocess.Popen(
            [command, 'serve', '--device', 'cpu', '--host', '127.0.0.1', '--port', '0'],
            env={
                **os.environ,
                'HF_HUB_CACHE': self._hub,
                'HF_HUB_OFFLINE': '1',  # or it asks the network for folders that it lacks
                'PYTHONUNBUFFERED': '1',
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._log: list[str] = []
        self._ready = threading.Event()
        self.url = ''
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self._ready.wait(_START_S), self._log
        assert self.url, self._log

    def kill(self) -> None:
        """Ends the process without a word to its clients."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        shutil.rmtree(self._hub, ignore_errors=True)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._log.append(line)
            if found := _ADDRESS.search(line):
                self.url = f'{found[1]}/v1'
                self._ready.set()
        self._ready.set()
