# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen show RUN --compare OTHER`: what is different in two runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.markup import escape

from safegen_ros.cli.failures import EXIT_OK
from safegen_ros.cli.kept_runs import with_run
from safegen_ros.console.compare import Difference, compare_runs
from safegen_ros.record.run_log import KeptRun
from safegen_ros.terminal import Console


def show_two(name: str, other: str, as_json: bool) -> int:
    """Prints what is different in two runs; returns the exit status."""

    def work(folder: Path, kept: KeptRun) -> int:
        return with_run(other, partial(_show, kept, as_json))

    return with_run(name, work)


def _show(left: KeptRun, as_json: bool, folder: Path, right: KeptRun) -> int:
    rows = compare_runs(left, right)
    names = [left.record.run_id, right.record.run_id]
    if as_json:
        print(json.dumps({'runs': names, 'different': rows}))
    else:
        _print(names, rows)
    return EXIT_OK


def _print(names: Sequence[str], rows: Sequence[Difference]) -> None:
    say = partial(Console().print, highlight=False, soft_wrap=True)
    say(f'[bold]- {names[0]}[/]\n[bold]+ {names[1]}[/]')
    for what, one, another in rows:
        say(f'[bold]{escape(what)}[/]')
        for mark, text in (('-', one), ('+', another)):
            say(f'  {mark} {escape(" ".join(text.split()) or "nothing")}')
    if not rows:
        say('nothing is different')
