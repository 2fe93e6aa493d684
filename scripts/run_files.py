# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Source files that one `safegen run` of ten steps enters, in all of its processes.

`.venv/bin/python scripts/run_files.py` brings a stack with the twin up, runs
examples/tower_order.pddl there, and prints how often each process parsed a plan text and which
files of safegen_ros it entered: those with a function that was called between the start of
`safegen run` and its end, calls by an import left out. It takes about a minute.
"""

from __future__ import annotations

import atexit
import json
import mmap
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = str(ROOT / 'safegen_ros')
TASK = ROOT / 'examples' / 'tower_order.pddl'
FOLDER = 'SAFEGEN_TRACE_FOLDER'
PARSER = ('pddl/plan.py', 'parse_plan')
STARTUP = 'import run_files\nrun_files.trace()\n'
DOMAIN = '87'
"""ROS domain of the stack where ROS_DOMAIN_ID names none."""


def trace() -> None:
    """Counts the calls of this process while the byte in the file `on` is set."""
    folder = Path(os.environ[FOLDER])
    with (folder / 'on').open('rb') as file:
        on = mmap.mmap(file.fileno(), 1, access=mmap.ACCESS_READ)
    calls: Counter[CodeType] = Counter()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        ours = on[0] and event == 'call' and code.co_filename.startswith(PACKAGE)
        if ours and (code in calls or not _importing(frame)):
            calls[code] += 1

    def write() -> None:
        sys.setprofile(None)
        on_files: dict[str, Counter[str]] = {}
        for code, number in list(calls.items()):
            if not code.co_filename.endswith('.py'):
                continue  # a template of a report
            name = str(Path(code.co_filename).relative_to(PACKAGE))
            on_files.setdefault(name, Counter())[code.co_name] += number
        text = json.dumps({'program': Path(sys.argv[0]).name, 'calls': on_files})
        (folder / f'{os.getpid()}.json').write_text(text, encoding='utf-8')

    atexit.register(write)
    threading.setprofile(profile)
    sys.setprofile(profile)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == '<module>' and frame.f_globals.get('__name__') != '__main__':
            return True
        frame = frame.f_back
    return False


def measure() -> dict[str, dict[str, dict[str, int]]]:
    """How often each function of each file was called, by program, file and name."""
    from safegen_ros.bringup.supervisor import Supervisor
    from safegen_ros.bringup.table import node_specs

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / 'on').write_bytes(b'\0')
        (folder / 'sitecustomize.py').write_text(STARTUP, encoding='utf-8')
        path = os.pathsep.join((name, str(ROOT / 'scripts')))
        environment = {
            **os.environ,
            'PYTHONPATH': path,
            FOLDER: name,
            'ROS_DOMAIN_ID': os.environ.get('ROS_DOMAIN_ID', DOMAIN),
            'SAFEGEN_RUNTIME_DIR': name,
            'SAFEGEN_RELEASE_DIR': name,
            'SAFEGEN_RUNS_DIR': f'{name}/runs',
        }
        specs = node_specs('sim', {'real_time_factor': 8.0})
        with (
            (folder / 'on').open('r+b', buffering=0) as switch,
            Supervisor(specs, log_dir=folder / 'log', environment=environment) as stack,
        ):
            stack.wait_ready()
            switch.write(b'\1')
            command = [str(Path(sys.executable).with_name('safegen')), 'run', str(TASK)]
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
            switch.seek(0)
            switch.write(b'\0')
        found = [json.loads(each.read_text(encoding='utf-8')) for each in folder.glob('*.json')]
    return {each['program']: each['calls'] for each in found if each['calls']}


def main() -> None:
    calls = measure()
    for program, files in sorted(calls.items()):
        print(f'{program}: {len(files)} files, {files.get(PARSER[0], {}).get(PARSER[1], 0)} parses')
        print(*(f'  {name}' for name in sorted(files)), sep='\n')
    print(f'all processes: {len(set().union(*calls.values()))} files')


if __name__ == '__main__':
    main()
