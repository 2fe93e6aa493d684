# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How the stack is, as markup: nodes, stop, link, heartbeats, monitors and diagnostics."""

from __future__ import annotations

import time
from collections.abc import Callable

from safegen_ros.console.state import Snapshot
from safegen_ros.record.present.cards import panel
from safegen_ros.record.present.markup import element, escaped

LEVELS = ('well', 'warning', 'ERROR', 'silent')
"""What the levels of `/diagnostics` are called."""

FRESH_S = 2.0
"""A sample or a heartbeat that is older is shown as old [s]."""


def stack_html(snapshot: Snapshot, now: float | None = None) -> str:
    """The whole of it.

    Args:
        snapshot: what is known.
        now: by the monotonic clock [s]; the present when None.
    """
    now = time.monotonic() if now is None else now
    nodes = [(name, state or 'not there') for name, state in snapshot.nodes.items()]
    return panel(
        element('h3', 'Nodes'),
        _table(nodes, bad=lambda state: state != 'active'),
        element('h3', 'Link'),
        _table(_links(snapshot, now)),
        element('h3', 'Rules in the observed world'),
        _monitors(snapshot),
        element('h3', 'Diagnostics'),
        _parts(snapshot),
    )


def _links(snapshot: Snapshot, now: float) -> list[tuple[str, str]]:
    look, stop = snapshot.look, snapshot.stop
    rows = [
        ('stop', 'not known' if not stop.known else stop.reason if stop.stopped else 'not stopped'),
        ('last look at the arm', _age(look.heard or None, now)),
        ('last heartbeat of a sender', _age(snapshot.beat, now)),
    ]
    if snapshot.others:
        rows.append(('goals beside the one shown', str(snapshot.others)))
    return rows


def _age(at: float | None, now: float) -> str:
    if at is None:
        return 'none yet'
    age = now - at
    return 'now' if age < FRESH_S else f'{age:.0f} s ago'


def _monitors(snapshot: Snapshot) -> str:
    monitor = snapshot.monitor
    if not monitor.standings:
        return element('p', 'No rule was watched yet.')
    rows = [(text, standing) for text, standing in monitor.standings]
    told = _table(rows, bad=lambda standing: standing == 'violated')
    why = element('p', escaped(monitor.reason), class_='sg-bad') if monitor.reason else ''
    return element('p', f'After step {monitor.step}:') + told + why


def _parts(snapshot: Snapshot) -> str:
    if not snapshot.parts:
        return element('p', 'No node has reported yet.')
    parts = sorted(snapshot.parts.values(), key=lambda part: (-part.level, part.name))
    rows = [(part.name, f'{LEVELS[min(part.level, 3)]}: {part.message}') for part in parts]
    return _table(rows, bad=lambda told: told.startswith(('ERROR', 'silent')))


def _table(rows: list[tuple[str, str]], bad: Callable[[str], bool] = lambda text: False) -> str:
    lines = [
        element(
            'tr',
            element('th', escaped(name, 400)),
            element('td', escaped(text, 400), class_='sg-bad' if bad(text) else None),
        )
        for name, text in rows
    ]
    return element('table', *lines)
