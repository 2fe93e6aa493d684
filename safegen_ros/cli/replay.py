# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen runs replay`: a recorded run once more, compared with its record."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from rich.markup import escape

from safegen_ros.cli.failures import EXIT_BAD_INPUT, EXIT_FAILED, EXIT_OK, print_error
from safegen_ros.cli.show import record_state, with_run
from safegen_ros.errors import SafegenError
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

    def work(folder: Path, kept: KeptRun) -> int:
        try:
            return _replayed(kept, execute, scene, as_json)
        except SafegenError as error:
            print_error(f'{folder}: {error.message}')
            return EXIT_BAD_INPUT

    return with_run(name, work)


def _replayed(kept: KeptRun, execute: bool, scene: Path | None, as_json: bool) -> int:
    record = kept.record
    skipped = why_not_executed(record) if execute else '--no-execute was given'
    with Console(stderr=True).status('replaying'):
        verdicts = reverify(record)
        done = None if skipped else reexecute(record, load_scene(scene))
    same = not any(each.differences for each in verdicts) and not (done and done.differences)
    signed, words = record_state(kept)
    if as_json:
        print(
            json.dumps(
                {
                    'run': record.run_id,
                    'same': same,
                    'signature': {'good': signed, 'state': words},
                    'verdicts': [_verdict_values(each) for each in verdicts],
                    'execution': {'skipped': skipped} if done is None else _done_values(done),
                }
            )
        )
    else:
        say = partial(Console().print, highlight=False, soft_wrap=True)
        say(f'record: {escape(words)}', style='' if signed else 'bold red')
        _show(say, verdicts, done, skipped, record.cell)
        say('[green]all is as it was recorded[/]' if same else '[bold red]NOT AS RECORDED[/]')
    return EXIT_OK if same and signed else EXIT_FAILED


def _show(
    say: Any,
    verdicts: tuple[VerdictCheck, ...],
    done: ExecutionCheck | None,
    skipped: str,
    cell: str,
) -> None:
    if not verdicts:
        say('no verdict is recorded')
    for each in verdicts:
        mark = '[red]differs[/]' if each.differences else '[green]same[/]'
        say(f'{mark}  {escape(each.what)}: {each.recorded.category.name}')
        for line in each.differences:
            say(f'    {escape(line)}')
    if done is None:
        say(f'not executed: {skipped}')
        return
    where = 'on the MuJoCo twin' if cell == TWIN else 'on symbols'
    mark = '[red]differs[/]' if done.differences else '[green]same[/]'
    far = '' if done.deviation is None else f', blocks within {1000 * done.deviation:.2f} mm'
    say(f'{mark}  execution {where}: {done.outcome.steps_done} steps{far}')
    for line in done.differences:
        say(f'    {escape(line)}')


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
