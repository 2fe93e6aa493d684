# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The figures of SafeGen-LLM that ours stand beside, as its text gives them."""

from __future__ import annotations

from collections.abc import Mapping

from safegen_ros.benchmarks.comparison import CLASSES, Figures

DOMAINS = ('blocksworld', 'ferry', 'grippers', 'spanner')

TEST_PROBLEMS = 50
"""Counts of each domain (table VIII)."""

ALL = 'all domains'

_STAGES = ('PT', 'SFT', 'GRPO')
_FORMS = ('pddl', 'english', 'json')

# Success, then the failures in the order of CLASSES; of each a value for every stage or format.
_TABLE_2 = {
    'Qwen3-14B': (
        '2 70 88  90 0 0   6 24 12  0 2 0   2 4 0',
        '0 86 96  10 0 0   90 4 4   0 10 0  0 0 0',
        '2 92 98  0 0 0    46 4 0   46 4 2  6 0 0',
        '0 100 100  2 0 0  98 0 0   0 0 0   0 0 0',
    ),
    'Llama-8B': (
        '0 50 78  78 0 0   22 38 16  0 2 2   0 10 4',
        '0 80 88  2 0 0    98 4 8    0 16 4  0 0 0',
        '0 66 82  42 0 0   42 22 14  16 8 2  0 4 2',
        '0 92 94  100 0 0  0 8 6     0 0 0   0 0 0',
    ),
}
_TABLE_3 = (
    '88 74 80   0 0 0  12 18 8  0 8 8  0 0 4',
    '96 90 96   0 0 0  4 6 2    0 4 2  0 0 0',
    '98 82 98   0 0 0  0 14 2   2 4 0  0 0 0',
    '100 90 96  0 2 0  0 8 4    0 0 0  0 0 0',
)

_TABLE_4 = {
    'Qwen3-14B GRPO': '94 98 98 100 97.5  1.36 1.12 1.14 1 1.16',
    'Qwen3-14B PT': '50 0 50 0 25  3.5 5 3 5 4.13',
}
"""Success and attempts ("retries") in the order of DOMAINS, with the averages of the paper."""

SAFEPILOT = 'SafePilot'

Beside = Mapping[tuple[str, str], tuple[tuple[str, Figures], ...]]
"""By group and case: who it is, and the figures."""


def _row(text: str, cases: tuple[str, ...]) -> dict[str, Figures]:
    """The figures of a row for each case."""
    values = list(map(float, text.split()))
    width = len(cases)
    columns = [values[at : at + width] for at in range(0, len(values), width)]
    return {
        case: Figures(
            TEST_PROBLEMS, columns[0][at],
            {name: column[at] for name, column in zip(CLASSES, columns[1:], strict=True)},
        )
        for at, case in enumerate(cases)
    }  # fmt: skip


def _table(rows: tuple[str, ...], cases: tuple[str, ...]) -> dict[tuple[str, str], Figures]:
    """The figures by domain and case, with the mean of all domains."""
    found = {
        (domain, case): figures
        for domain, text in zip(DOMAINS, rows, strict=True)
        for case, figures in _row(text, cases).items()
    }
    return found | {(ALL, case): _mean([found[d, case] for d in DOMAINS]) for case in cases}


def _mean(figures: list[Figures]) -> Figures:
    count = len(figures)
    failures = {name: sum(f.failures[name] for f in figures) / count for name in CLASSES}
    return Figures(
        sum(f.trials for f in figures), sum(f.success for f in figures) / count, failures
    )


def table2() -> Beside:
    """Table II: two models after each stage, by domain."""
    tables = {model: _table(rows, _STAGES) for model, rows in _TABLE_2.items()}
    return {
        place: tuple((model, table[place]) for model, table in tables.items())
        for place in next(iter(tables.values()))
    }


def table3() -> Beside:
    """Table III: the formats, by domain."""
    return {k: (('Qwen3-14B', v),) for k, v in _table(_TABLE_3, _FORMS).items()}


def figure4() -> Beside:
    """Figure 4: one model after each stage; the text does not give the other classes."""
    told = {
        'PT': Figures(TEST_PROBLEMS, 0, {'precond': 98, 'safety': 2}),
        'SFT': Figures(TEST_PROBLEMS, 66, {'precond': 20, 'safety': 10}),
        'GRPO': Figures(TEST_PROBLEMS, 82, {'precond': 8, 'safety': 4}),
    }
    return {('blocksworld', stage): (('Mistral-7B', f),) for stage, f in told.items()}


def figure5() -> Beside:
    """Figure 5: three models by domain; that of Spanner for GPT-5 Nano is not in the text."""
    nano = {'blocksworld': 18, 'ferry': 20, 'grippers': 94}
    found = {}
    for (domain, stage), others in table2().items():
        if stage != 'GRPO':
            continue
        trained = tuple((f'{model}, GRPO', figures) for model, figures in others)
        more = (('GPT-5 Nano', Figures(TEST_PROBLEMS, nano[domain], {})),) if domain in nano else ()
        found[domain, 'single shot'] = (*trained, *more)
    return found


def table4() -> Beside:
    """Table IV: success and attempts with SafePilot, by domain; failures are not told."""
    places, found = (*DOMAINS, ALL), dict[tuple[str, str], tuple[tuple[str, Figures], ...]]()
    for at, place in enumerate(places):
        lines = []
        for model, text in _TABLE_4.items():
            values = list(map(float, text.split()))
            trials = TEST_PROBLEMS * (len(DOMAINS) if place == ALL else 1)
            attempts = {'attempts': values[len(places) + at]}
            lines.append((model, Figures(trials, values[at], {}, attempts)))
        found[place, SAFEPILOT] = tuple(lines)
    return found
