# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The report of a run for a person: Markdown from a `RunRecord`, and nothing else."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment

from safegen_ros.paths import write_durably
from safegen_ros.record.present.html import PRESENT, Fit, environment
from safegen_ros.record.present.summary import seen_words, step_rows, summary
from safegen_ros.record.present.wording import CATEGORY_WORDS
from safegen_ros.record.run import RunRecord
from safegen_ros.verdict import Verdict

_FOUND = {category: f'{words} ({category.name})' for category, words in CATEGORY_WORDS.items()}


def write_report(record: RunRecord, folder: Path) -> Path:
    """Write `report.md` and `report.json`; returns the path of the first."""
    write_durably(folder / 'report.json', record.to_json())
    write_durably(folder / 'report.md', render_report(record))
    return folder / 'report.md'


def render_report(record: RunRecord) -> str:
    """The report as Markdown text."""
    template = _templates().get_template('report.md')
    return template.render(
        run=record,
        summary=list(summary(record)),
        found=_FOUND,
        verdicts=[
            f'{verdict_line(each.verdict)} ({each.seconds:.2f} s)' for each in record.attempts
        ],
        verdict=verdict_line(record.verdict),
        steps=step_rows(record),
        seen=seen_words(record.cell),
        goal=[(g.condition, 'holds' if g.holds else 'DOES NOT HOLD') for g in record.goal],
        blocks=[(b.name, *(f'{value:.4f}' for value in b.position)) for b in record.blocks],
        timings=[(name, f'{value:.2f}') for name, value in record.timings.items()],
        files=[(each.name, each.file or 'not made', each.note) for each in record.artefacts],
    )


def verdict_line(verdict: Verdict) -> str:
    """A verdict in one line: category, step and reason."""
    where = f' at step {verdict.failing_step + 1}' if verdict.failing_step >= 0 else ''
    reason = f': {verdict.reason}' if verdict.reason and not verdict.ok else ''
    return f'{_FOUND[verdict.category]}{where}{reason}'


@cache
def _templates() -> Environment:
    found = environment(PRESENT)
    found.finalize = _inline
    found.filters['fenced'] = _fenced
    return found


def _inline(value: Any) -> Any:
    """Text of a model or client that cannot break out of its line or cell."""
    if hasattr(value, '__html__'):
        return value
    # Within a word, `_` is not a mark of Markdown.
    marks = r'[\\`*|<>\[\]]|(?<!\w)_|_(?!\w)'
    return Fit(re.sub(marks, r'\\\g<0>', ' '.join(str(value).split())))


def _fenced(text: str) -> Fit:
    """Text as it is, in a fence longer than any within it."""
    longest = max((len(run) for run in re.findall('`+', text)), default=0)
    fence = '`' * max(3, longest + 1)
    return Fit('\n'.join((fence, text.rstrip('\n'), fence)))
