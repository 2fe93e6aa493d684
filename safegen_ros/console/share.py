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

from safegen_ros import __version__
from safegen_ros.console.markup import PARTS_CSS, element, escaped
from safegen_ros.console.runs import problem_of, run_files
from safegen_ros.console.sections import (
    attempts_html,
    end_html,
    execution_html,
    summary_html,
    task_html,
    timeline_html,
)
from safegen_ros.console.share_look import SCRIPT, STYLE
from safegen_ros.errors import SafegenError
from safegen_ros.record.json_form import RecordError
from safegen_ros.record.run_log import KeptRun

MAX_VIDEO = 6 << 20
"""Largest video that is put into the page [bytes]."""

MAX_PAGE = 24 << 20
"""Largest page [characters]."""

_ATTEMPTS = (30, 8, 2)  # told in full: as many as there is room for

MAX_DIGESTED = 256 << 20
"""Largest file whose digest is told [bytes]."""


def share_html(folder: Path, kept: KeptRun) -> str:
    """A run as a page.

    Args:
        folder: where its journal is, with the other files.
        kept: what was written down.

    Raises:
        RecordError: a file of it cannot be read, or it is too large for a page.
    """
    record = kept.record
    problem = problem_of(record)
    before = summary_html(kept, problem) + task_html(record, problem)
    behind = ''.join(
        (
            execution_html(record, problem),
            *_video(folder),
            timeline_html(kept, problem),
            end_html(record),
            _files(folder),
        )
    )
    for most in _ATTEMPTS:
        body = before + attempts_html(record, most) + behind
        page = _page(f'{record.task.name}: run {record.run_id}', body)
        if len(page) <= MAX_PAGE:
            return page
    raise RecordError(
        f'{folder}: the page would have {len(page):,} characters, more than {MAX_PAGE:,}: '
        'send the folder itself'
    )


def write_share(folder: Path, kept: KeptRun, to: Path) -> None:
    """Writes the page of a run.

    Raises:
        RecordError: as `share_html`.
        SafegenError: it cannot be written there.
    """
    page = share_html(folder, kept)
    try:
        to.write_text(page, encoding='utf-8')
    except OSError as error:
        raise SafegenError(
            f'{to}: cannot be written: {error.strerror}: name another file with -o'
        ) from error


def _page(title: str, body: str) -> str:
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; media-src data:; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    foot = (
        f'Made by safegen_ros {__version__} from the journal of the run. It tells what was written '
        'down; whoever sends it could have changed it.'
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        '<meta name="referrer" content="no-referrer">'
        f'<title>{escaped(title, 200)}</title><style>{STYLE}{PARTS_CSS}</style></head>'
        f'<body><main>{body}</main><footer>{escaped(foot)}</footer>'
        f'<script>{SCRIPT}</script></body></html>\n'
    )


def _video(folder: Path) -> Iterator[str]:
    """The video of a run, where it has one that is small enough."""
    for path in run_files(folder):
        if path.suffix != '.mp4':
            continue
        name, size = path.name, path.stat().st_size
        if size > MAX_VIDEO:
            told = f'{name} has {size / 1e6:.0f} MB, which is too much for this page: ask for it.'
            yield _section('Video', element('p', escaped(told)))
            continue
        data = base64.b64encode(_read(path)).decode()
        video = f'<video controls preload="metadata" src="data:video/mp4;base64,{data}"></video>'
        yield _section('Video', video)


def _files(folder: Path) -> str:
    """The files of the run with their digests, by which a reader knows them again."""
    rows = []
    for path in run_files(folder):
        size = path.stat().st_size
        digest = 'not computed: too large'
        if size <= MAX_DIGESTED:
            digest = hashlib.sha256(_read(path)).hexdigest()
        name = PurePath(path.relative_to(folder)).as_posix()
        cells = (element('td', escaped(name, 200)), element('td', f'{size:,}'))
        rows.append(element('tr', *cells, element('td', element('code', digest))))
    head = '<thead><tr><th>file</th><th>bytes</th><th>SHA-256</th></tr></thead>'
    table = element('table', head, element('tbody', *rows))
    note = 'They are in the folder of the run; “Download the record” in the console packs them.'
    listed = element(
        'details',
        element('summary', f'{len(rows)} files'),
        element('div', table, class_='wide'),
    )
    return _section('Files and digests', element('p', note), listed)


def _section(title: str, *parts: str) -> str:
    return element('section', element('h2', title), *parts)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RecordError(f'{path}: cannot be read: {error.strerror}') from error
