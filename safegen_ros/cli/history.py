# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen runs list`: the runs that are kept, newest first."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import islice
from typing import Any

from safegen_ros.cli.failures import ExitStatus, print_error
from safegen_ros.cli.show import record_state
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.paths import runs_dir
from safegen_ros.pddl.diagnostics import suggestion
from safegen_ros.record.history import (
    CUT_OFF,
    NOT_REACHED,
    RUNNING,
    SUCCESS,
    UNDERSTOOD,
    ListedRun,
    duration_s,
    list_runs,
    outcome_of,
    recorded_task,
)
from safegen_ros.record.run import RunRecord
from safegen_ros.terminal import Console

UNREADABLE, REWRITTEN, NOT_TRUSTED = 'UNREADABLE', 'REWRITTEN', 'NOT_TRUSTED'
FAILED = 'FAILED'
"""As a filter: whatever is not a success."""

_WORDS = (SUCCESS, FAILED, NOT_REACHED, RUNNING, CUT_OFF, UNDERSTOOD, UNREADABLE)
_CODES = tuple(code.name for code in ErrorCode if code is not ErrorCode.NONE)


def unknown_result(name: str) -> str:
    """Why no run can have ended so, in any case of letters; empty where one can."""
    known = (*_WORDS, *_CODES)
    if not name or name.upper() in known:
        return ''
    words = ', '.join(word.lower() for word in _WORDS)
    hint = suggestion(name.upper(), known).lower()
    return f'{name[:40]!a} is not an end of a run: {hint}use {words}, or an error code'


@dataclass(frozen=True, slots=True)
class Filter:
    """Which runs are wanted; what is empty does not matter.

    Attributes:
        domain: name of the PDDL domain.
        result: how it ended, in any case of letters; `FAILED` for all but successes.
        level: what the name of the level that wrote the plan begins with.
        since: the time in UTC from which on it began.
    """

    domain: str = ''
    result: str = ''
    level: str = ''
    since: datetime | None = None

    def wants(self, values: dict[str, Any]) -> bool:
        """Whether a run, as `run_values` returns it, is wanted."""
        result = self.result.upper()
        since = self.since and self.since.replace(tzinfo=timezone.utc)
        return (
            (not self.domain or values['domain'] == self.domain)
            and (
                not result
                or values['result'] == result
                or (result == FAILED and values['result'] != SUCCESS)
            )
            and (not self.level or str(values['level']).startswith(self.level))
            and (not since or (values['time'] and datetime.fromisoformat(values['time']) >= since))
        )


def run_values(listed: ListedRun) -> dict[str, Any]:
    """A run as values for JSON."""
    empty = dict.fromkeys(('time', 'domain', 'problem', 'goal', 'level', 'cell'), '')
    if listed.kept is None:
        return {
            'run': listed.name, **empty, 'result': UNREADABLE, 'attempts': 0,
            'steps': [0, 0], 'seconds': None, 'message': listed.error, 'released': [],
            'record': REWRITTEN if f': {REWRITTEN} at entry ' in listed.error else UNREADABLE,
        }  # fmt: skip
    kept, record = listed.kept, listed.kept.record
    good, signed = record_state(kept)
    return {
        'run': listed.name,
        'time': record.started,
        'domain': record.task.domain_name,
        'problem': record.task.name,
        'goal': _goal(record),
        'level': record.plan_source,
        'cell': record.cell,
        'result': outcome_of(kept),
        'attempts': len(record.attempts),
        'steps': [record.steps_done, len(record.plan)],
        'seconds': round(duration_s(kept), 3),
        'message': '' if record.ok else record.message,
        'released': [each.said or each.phase for each in record.releases],
        'record': signed.partition(' ')[0] if good else NOT_TRUSTED,
    }


def _goal(record: RunRecord) -> str:
    try:
        told = recorded_task(record).summary()
        return '; '.join(text for title, text in told if title == 'goal')
    except SafegenError:
        return ''  # what it was is still in the text that 'show' prints


def list_kept(limit: int, wanted: Filter, as_json: bool) -> int:
    """Prints the runs that are wanted, newest first, at most `limit` of them unless that is 0.

    Returns:
        The exit status.
    """
    found = (values for values in map(run_values, list_runs(runs_dir())) if wanted.wants(values))
    shown = islice(found, limit or None)
    broken = []
    if as_json:
        for values in shown:
            print(json.dumps(values), flush=True)
            broken += [values] * (values['result'] == UNREADABLE)
    else:
        rows = list(shown)
        if rows:
            _print(rows)
        else:
            what = "no runs yet; 'safegen demo' makes one" if wanted == Filter() else 'no such run'
            print(f'{what} (in {runs_dir()})')
        broken = [values for values in rows if values['result'] == UNREADABLE]
        for values in broken:
            print_error(values['message'])
    return ExitStatus.BAD_INPUT if broken else ExitStatus.OK


def _print(rows: list[dict[str, Any]]) -> None:
    """Two lines for each run: what it was about does not fit into 80 columns beside its end."""
    console = Console()
    titles = ('run', 'result', 'took', 'tries', 'record')
    cells = [_cells(values) for values in rows]
    widths = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]

    def line(parts: tuple[str, ...]) -> str:
        padded = (part.ljust(width) for part, width in zip(parts, widths, strict=True))
        return '  '.join(padded).rstrip()

    console.print(line(titles), style='bold', highlight=False, soft_wrap=True, markup=False)
    for values, parts in zip(rows, cells, strict=True):
        colour = 'green' if values['result'] == SUCCESS else 'red'
        console.print(line(parts), style=colour, highlight=False, soft_wrap=True, markup=False)
        begun = values['time'][5:16].replace('T', ' ')
        told = '  '.join(filter(None, (begun, values['domain'], values['level'], values['goal'])))
        if told:
            console.print(f'  {told}', highlight=False, soft_wrap=True, markup=False)
        for said in values['released']:
            console.print(f'  released: {said}', highlight=False, soft_wrap=True, markup=False)


def _cells(values: dict[str, Any]) -> tuple[str, ...]:
    seconds = values['seconds']
    return (
        values['run'],
        values['result'],
        '' if seconds is None else f'{seconds:.1f} s',
        str(values['attempts']),
        values['record'],
    )
