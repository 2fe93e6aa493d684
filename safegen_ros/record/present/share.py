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
from safegen_ros.errors import SafegenError
from safegen_ros.record.json_form import RecordError
from safegen_ros.record.present.markup import PARTS_CSS, element, escaped
from safegen_ros.record.present.runs import problem_of, run_files
from safegen_ros.record.present.sections import (
    attempts_html,
    end_html,
    execution_html,
    summary_html,
    task_html,
    timeline_html,
)
from safegen_ros.record.run_log import KeptRun

MAX_VIDEO = 6 << 20
"""Largest video that is put into the page [bytes]."""

MAX_PAGE = 24 << 20
"""Largest page [characters]."""

_ATTEMPTS = (30, 8, 2)  # told in full: as many as there is room for

MAX_DIGESTED = 256 << 20
"""Largest file whose digest is told [bytes]."""

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --soft: #f3f4f6;
  --line: #c9ced6; --good: #146c3e; --bad: #b3261e; --open: #8a5300; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaed; --paper: #14171b; --soft: #1f242a; --line: #434a54;
    --good: #6fd39b; --bad: #ff9a90; --open: #f0bd6a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main, footer { max-width: 62rem; margin: 0 auto; padding: 1rem 1.25rem; }
footer { font-size: .85rem; border-top: 1px solid var(--line); }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .2em 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 0 0 .5em; }
h3 { font-size: 1.05rem; margin: 0 0 .4em; overflow-wrap: anywhere; }
section { border-top: 1px solid var(--line); padding: 1.1rem 0 .6rem; }
p, li { overflow-wrap: anywhere; }
.lead { font-size: 1.1rem; }
.good { color: var(--good); } .bad { color: var(--bad); } .open { color: var(--open); }
.banner { border-left: .5rem solid currentColor; padding: .3rem .9rem; background: var(--soft); }
.banner p { color: var(--ink); margin: .3em 0; }
.card { background: var(--soft); border-radius: .5rem; padding: .9rem 1rem; margin: 0 0 1rem; }
.columns { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; align-items: flex-start; }
.columns > * { flex: 1 1 18rem; min-width: 0; }
ol { margin: .2em 0 .8em; padding-left: 2.2em; }
.sg-fails { font-weight: bold; color: var(--bad); }
pre { background: var(--soft); padding: .7rem; overflow: auto; max-height: 24rem; font-size: .85rem;
  white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; }
.card pre { background: var(--paper); }
code { font-size: .85em; overflow-wrap: anywhere; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .15em .9em .15em 0;
  vertical-align: top; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
summary { cursor: pointer; }
.film { display: flex; flex-wrap: wrap; gap: 1rem 1.5rem; align-items: flex-end; }
.film .frame { border: 1px solid var(--line); border-radius: .4rem; padding: .5rem .7rem; }
.film.one .frame { display: none; } .film.one .frame.shown { display: block; }
.scrub { display: flex; gap: .8rem; align-items: center; margin: 0 0 .6rem; }
.scrub[hidden] { display: none; }
.scrub label { flex: 1; display: flex; gap: .6rem; } .scrub input { flex: 1; }
video { max-width: 100%; }
.time { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
.alarm { font-weight: bold; color: var(--bad); }
.quiet { font-size: .9rem; }
@media print { details > * { display: block; } }
"""
"""It follows what the reader prefers, light or dark."""

SCRIPT = """
for (const film of document.querySelectorAll('.film')) {
  const frames = film.querySelectorAll('.frame');
  const control = film.previousElementSibling;
  if (frames.length < 2 || !control || !control.matches('.scrub')) continue;
  const slider = control.querySelector('input'), told = control.querySelector('output');
  const show = () => {
    frames.forEach((frame, index) => frame.classList.toggle('shown', index == slider.value));
    told.textContent = slider.value + ' of ' + (frames.length - 1);
    slider.setAttribute('aria-valuetext', frames[slider.value].dataset.told);
  };
  slider.max = frames.length - 1;
  slider.addEventListener('input', show);
  control.hidden = false;
  film.classList.add('one');
  show();
}
"""
"""Without it every state is shown at once."""


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
