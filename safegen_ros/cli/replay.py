# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen runs replay`: a recorded run once more, compared with its record."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.markup import escape

from safegen_ros.cli.failures import ExitStatus
from safegen_ros.cli.show import named_run, record_state
from safegen_ros.errors import SafegenError, UsageError
from safegen_ros.record.replay import (
    ExecutionCheck,
    VerdictCheck,
    reexecute,
    reverify,
    why_not_executed,
)
from safegen_ros.record.run import TWIN
from safegen_ros.record.run_log import KeptRun
from safegen_ros.robot.scene import load_scene
from safegen_ros.terminal import Console


def replay_run(name: str, execute: bool, scene: Path | None, as_json: bool) -> int:
    """Goes through the run that a user means once more; returns the exit status."""
    folder, kept = named_run(name)
    try:
        return _replayed(kept, execute, scene, as_json)
    except SafegenError as error:
        raise UsageError(f'{folder}: {error.message}') from error


def _replayed(kept: KeptRun, execute: bool, scene: Path | None, as_json: bool) -> int:
    record = kept.record
    skipped = why_not_executed(record) if execute else '--no-execute was given'
    with Console(stderr=True).status('replaying'):
        verdicts = reverify(record)
        done = None if skipped else reexecute(record, load_scene(scene))
    same = not any(each.differences for each in verdicts) and not (done and done.differences)
    signed, words = record_state(kept)
    if as_json:
        values = {
            'run': record.run_id,
            'same': same,
            'signature': {'good': signed, 'state': words},
            'verdicts': [_verdict_values(each) for each in verdicts],
            'execution': {'skipped': skipped} if done is None else _done_values(done),
        }
        print(json.dumps(values))
    else:
        say = partial(Console().print, highlight=False, soft_wrap=True)
        say(f'record: {escape(words)}', style='' if signed else 'bold red')
        for line in _told(verdicts, done, skipped, record.cell):
            say(line)
        say('[green]all is as it was recorded[/]' if same else '[bold red]NOT AS RECORDED[/]')
    return ExitStatus.OK if same and signed else ExitStatus.FAILED


def _told(
    verdicts: tuple[VerdictCheck, ...], done: ExecutionCheck | None, skipped: str, cell: str
) -> Iterator[str]:
    if not verdicts:
        yield 'no verdict is recorded'
    for each in verdicts:
        what = f'{escape(each.what)}: {each.recorded.category.name}'
        yield from _compared(what, each.differences)
    if done is None:
        yield f'not executed: {skipped}'
        return
    where = 'on the MuJoCo twin' if cell == TWIN else 'on symbols'
    far = '' if done.deviation is None else f', blocks within {1000 * done.deviation:.2f} mm'
    what = f'execution {where}: {done.outcome.steps_done} steps{far}'
    yield from _compared(what, done.differences)


def _compared(what: str, differences: Sequence[str]) -> Iterator[str]:
    yield f'{"[red]differs[/]" if differences else "[green]same[/]"}  {what}'
    yield from (f'    {escape(line)}' for line in differences)


def _verdict_values(check: VerdictCheck) -> dict[str, Any]:
    return {
        'what': check.what,
        'recorded': check.recorded.category.name,
        'now': check.fresh.category.name,
        'differences': list(check.differences),
    }


def _done_values(check: ExecutionCheck) -> dict[str, Any]:
    return {
        'error': check.outcome.error_code.name,
        'steps_done': check.outcome.steps_done,
        'deviation_m': check.deviation,
        'seconds': round(check.outcome.seconds, 3),
        'differences': list(check.differences),
    }
