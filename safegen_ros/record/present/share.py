# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One run as one HTML file that needs no network and no script to be read.

Everything that came from a task, a model or a client is escaped, and the page may load nothing. The
one script is ours: it shows the states of the run one at a time; without it they stand in a row.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any

from safegen_ros import __version__
from safegen_ros.errors import RecordError, SafegenError
from safegen_ros.pddl.model import Problem
from safegen_ros.record.history import duration_s, outcome_of, recorded_task
from safegen_ros.record.present import html
from safegen_ros.record.present.cards import MOST_RULES, attempt_html, steps_html, task_html
from safegen_ros.record.present.chart import chart_html, chart_of_run
from safegen_ros.record.present.constraint_status import legend_html, lights_html, lights_observed
from safegen_ros.record.present.pictures import film_html, goal_html, state_html
from safegen_ros.record.present.report import moved, story, summary
from safegen_ros.record.present.runs import (
    FrameSource,
    WorldFrame,
    frames,
    problem_of,
    problem_of_attempt,
    run_files,
)
from safegen_ros.record.present.telling import result_word, timeline
from safegen_ros.record.run import RunRecord
from safegen_ros.record.run_log import KeptRun

MAX_VIDEO = 6 << 20
"""Largest video that is put into the page [bytes]."""

MAX_PAGE = 24 << 20
"""Largest page [characters]."""

_ATTEMPTS = (30, 8, 2)  # told in full: as many as there is room for

MAX_DIGESTED = 256 << 20
"""Largest file whose digest is shown [bytes]."""

MOST_STEPS, MOST_EVENTS = 200, 400
"""Most steps of a plan that are listed or drawn, and events that are listed."""


def share_html(folder: Path, kept: KeptRun) -> str:
    """A run as a page.

    Args:
        folder: where its journal is, with the other files.

    Raises:
        RecordError: a file of it cannot be read, or it is too large for a page.
    """
    templates = html.environment(html.PRESENT)
    script = templates.get_template('share.js').render().encode()
    values = {
        'digest': base64.b64encode(hashlib.sha256(script).digest()).decode(),
        'videos': list(_videos(folder)),
        'files': list(_files(folder)),
        'version': __version__,
    }
    told = _told(kept)
    for most in _ATTEMPTS:
        told |= _attempts(kept.record, most)
        page = templates.get_template('share.html').render(run=told, **values)
        if len(page) <= MAX_PAGE:
            return page
    raise RecordError(
        f'{folder}: the page would have {len(page):,} characters, more than {MAX_PAGE:,}: '
        'send the folder itself'
    )


def _told(kept: KeptRun) -> dict[str, Any]:
    """The page of a run without its attempts."""
    record, problem = kept.record, problem_of(kept.record)
    tone, word = result_word(kept)
    begun = record.started.replace('T', ' ').replace('+00:00', ' UTC')
    task, understood = record.task, record.understood
    texts = [
        ('Reading of the request', understood.reading if understood else ''),
        ('The task as it was sent', task.problem),
        ('The same in PDDL', task.pddl),
        ('The domain that was sent with it', task.domain),
    ]
    moments = timeline(kept, problem)
    made = [(name.lower(), text) for name, text in summary(record)]
    made += [(name, f'{seconds:.2f} s') for name, seconds in sorted(record.timings.items())]
    made += sorted(record.versions.items())
    return {
        'title': f'{task.name}: run {record.run_id}',
        'name': task.name,
        'kind': tone,
        'word': word,
        'story': list(story(kept)),
        'about': f'{record.run_id}, begun {begun}, {duration_s(kept):.1f} s, result '
        f'{outcome_of(kept)}.',
        'question': understood.question if understood else '',
        'texts': [each for each in texts if each[1]],
        'moved': moved(record),
        'moments': moments[:MOST_EVENTS],
        'later': max(0, len(moments) - MOST_EVENTS),
        'goal': [(each.condition, each.holds) for each in record.goal[:MOST_RULES]],
        'made': made,
        **(_asked(problem) if problem is not None else {'pictures': [], 'summary': _lines(record)}),
        **_execution(record, problem),
    }


def _asked(problem: Problem) -> dict[str, Any]:
    start = state_html(problem, problem.init, 'the start')
    return {
        'pictures': [start, goal_html(problem, 'what the goal asks for')],
        'task': task_html(problem),
    }


def _lines(record: RunRecord) -> list[str]:
    """A task without states that can be drawn, in its own words."""
    try:
        lines = recorded_task(record).summary()
    except SafegenError as error:
        return [f'This task can no longer be read: {error.message}']
    return [f'{title}: {text}'.removeprefix(': ') for title, text in lines][:MOST_RULES]


def _attempts(record: RunRecord, most: int) -> dict[str, Any]:
    """The attempts, as many as are shown in full."""
    shown = record.attempts[:most]
    told = []
    for before, attempt in zip((None, *shown), shown, strict=False):
        # The rest of a task that is worked on step by step is not written down.
        problem = None if attempt.base else problem_of_attempt(record, attempt.replan)
        same = before if before is not None and before.replan == attempt.replan else None
        told.append(attempt_html(attempt, problem, same, MOST_STEPS))
    return {
        'legend': legend_html(),
        'attempts': told,
        'untold': len(record.attempts) - len(shown),
    }


def _execution(record: RunRecord, problem: Problem | None) -> dict[str, Any]:
    """The states of the run, and the lights over them."""
    if problem is None or not (record.plan or record.steps):
        plan = steps_html(record.plan, problem, most=MOST_STEPS) if record.plan else ''
        return {'film': [], 'plan': plan, 'chart': ''}
    found = frames(problem, record)[: MOST_STEPS + 1]
    states, captions = [frame.state for frame in found], [_caption(frame) for frame in found]
    seen = sum(frame.source is not FrameSource.FORESEEN for frame in found) - 1
    now = None if seen == len(found) - 1 else max(0, seen)
    return {
        'film': list(zip(captions, film_html(problem, states, captions), strict=True)),
        'lights': lights_html(lights_observed(problem, states), now=now, ended=now is None),
        'chart': chart_html(chart_of_run(problem, record, found)),
    }


def _caption(frame: WorldFrame) -> str:
    when = f', seen after {frame.at:.1f} s' if frame.at is not None else ''
    what = f'after step {frame.step}: {frame.text}' if frame.step else 'the start'
    return f'{what} ({frame.source.value}{when})'


def _videos(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Name, data and size [MB] of each video; no data where it is too large."""
    for path in run_files(folder):
        if path.suffix == '.mp4':
            size = path.stat().st_size
            data = base64.b64encode(_read(path)).decode() if size <= MAX_VIDEO else ''
            yield path.name, data, f'{size / 1e6:.0f}'


def _files(folder: Path) -> Iterator[tuple[str, str, str]]:
    """The files of the run with their sizes and digests, by which a reader knows them again."""
    for path in run_files(folder):
        size = path.stat().st_size
        digest = 'not computed: too large'
        if size <= MAX_DIGESTED:
            digest = hashlib.sha256(_read(path)).hexdigest()
        yield PurePath(path.relative_to(folder)).as_posix(), f'{size:,}', digest


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RecordError(f'{path}: cannot be read: {error.strerror}') from error
