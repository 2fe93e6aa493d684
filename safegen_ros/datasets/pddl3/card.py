# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The dataset card: the content of a dataset, its sources and its limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from safegen_ros.datasets.pddl3.recipe import Recipe
from safegen_ros.datasets.pddl3.rows import SPLITS, TEST_SHARE, pair_files
from safegen_ros.datasets.pddl3.statistics import (
    longer_rows,
    longer_table,
    ranges_text,
    steps_of,
)
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.terminal import markdown_table

CARD = 'README.md'
"""Name of the file; Hugging Face shows it and reads the configurations at its top."""

ROWS = 'rows'
"""The configuration with everything that is known of a problem."""

_SIZES = ((1_000, 'n<1K'), (10_000, '1K<n<10K'), (100_000, '10K<n<100K'), (1_000_000, '100K<n<1M'))

_TEXT = Path(__file__).with_name('card.txt').read_text(encoding='utf-8')


def card_text(recipe: Recipe, statistics: Mapping[str, Any]) -> str:
    """The card of a dataset, with the values of `Statistics.values`."""
    totals = {
        split: sum(domain['splits'].get(split, {}).get('rows', 0) for domain in statistics.values())
        for split in SPLITS
    }
    there = [split for split in SPLITS if totals[split]]
    return _front_matter(recipe, there, sum(totals.values())) + _TEXT.format(
        name=recipe.name,
        seed=recipe.seed,
        accepted='Two validators that share no code accept every plan: ours and VAL.'
        if recipe.val
        else 'Our validator accepts every plan. VAL was not asked.',
        splits='\n'.join(f'| `{s}` | {totals[s]:,} | {_NEW[s]} |' for s in there),
        share=TEST_SHARE,
        held_out=_families_table(recipe),
        table=_paper_table(statistics),
        operators=_operators_table(statistics),
        short=_mostly_short(statistics),
        longer=_longer_table(statistics),
        notes=''.join(_notes(recipe)),
        buckets=_buckets_table(statistics),
        candidates=_candidates_table(statistics),
        rows=ROWS,
        forms=', '.join(f"'{form}'" for form in FORMATS),
    )


_NEW = {
    'train': 'it is to be trained on',
    'test': 'its problems, constraints included, are new up to renaming of objects',
    'test_family': 'so are its problems, and no other split has its constraint families',
    'test_renamed': 'its problems are those of training rows, in a new text: other names and order',
}


def _front_matter(recipe: Recipe, splits: Sequence[str], rows: int) -> str:
    size = next((name for most, name in _SIZES if rows < most), 'n>1M')
    lines = [
        '---', 'license: apache-2.0', 'language: [en]', f'pretty_name: {recipe.name}',
        'task_categories: [text-generation]', f'size_categories: [{size}]',
        'tags: [planning, robotics, safety, pddl, pddl3, synthetic]', 'configs:',
    ]  # fmt: skip
    lines += _config(ROWS, {split: f'{split}.jsonl' for split in splits}, ['  default: true'])
    for form in FORMATS:
        lines += _config(form, {split: pair_files(split)[form] for split in splits})
    return '\n'.join([*lines, '---', '', ''])


def _config(name: str, files: Mapping[str, str], more: Iterable[str] = ()) -> list[str]:
    lines = [f'- config_name: {name}', *more, '  data_files:']
    for split, path in files.items():
        lines += [f'  - split: {split}', f'    path: {path}']
    return lines


def _paper_table(statistics: Mapping[str, Any]) -> str:
    rows = []
    for domain, values in statistics.items():
        for split in ('train', 'test'):
            found = values['splits'].get(split)
            if found:
                rows.append(
                    (
                        domain, split, f'{found["rows"]:,}', f'{found["paper_rows"]:,}',
                        ranges_text(found['paper_ranges']), ranges_text(found['ranges']),
                    )
                )  # fmt: skip
    heads = ('domain', 'split', 'rows', "of the paper's sizes", 'which are', 'all sizes')
    return _table(heads, rows)


def _families_table(recipe: Recipe) -> str:
    rows = [
        (domain, family, ', '.join(kits()[domain].families[family].operators))
        for domain, wanted in recipe.domains.items()
        for family in wanted.held_out
    ]
    return _table(('domain', 'held-out family', 'its operators'), rows)


def _operators_table(statistics: Mapping[str, Any]) -> str:
    splits = [found for values in statistics.values() for found in values['splits'].values()]
    names = sorted({name for found in splits for name in found['operators']})
    rows = [(name, *(_operator(statistics, split, name) for split in SPLITS)) for name in names]
    return _table(('operator', *SPLITS), rows)


def _operator(statistics: Mapping[str, Any], split: str, name: str) -> str:
    """Rows with an operator, and how many of them have one of its constraints broken."""
    splits = [v['splits'][split] for v in statistics.values() if split in v['splits']]
    used, broken = (
        sum(found[field].get(name, 0) for found in splits) for field in ('operators', 'broken')
    )
    return f'{used:,} ({broken:,})'


def _longer_table(statistics: Mapping[str, Any]) -> str:
    heads = ('domain', 'split', 'rows', 'longer safe plan', 'new even without constraints')
    return _table(heads, longer_table(statistics))


def _mostly_short(statistics: Mapping[str, Any]) -> str:
    """Names the domains where most safe plans are as short as the unconstrained ones."""
    trained = {domain: values['splits']['train'] for domain, values in statistics.items()}
    few = [domain for domain, train in trained.items() if 2 * longer_rows(train) < train['rows']]
    return f'\nThis is so for most training rows of {", ".join(few)}.' if few else ''


_NOTES = {
    ('spanner', 'tightening-order'): """
The part `(at-most-once (at bob shed))` of Spanner's family `tightening-order` is the paper's. The
walk to the gate is one-way, so no plan can break it there: it is no coverage of `at-most-once`, and
the numbers in brackets leave it out.
""",
}
"""Facts about a constraint family, by domain and family."""


def _notes(recipe: Recipe) -> Iterable[str]:
    for (domain, family), note in _NOTES.items():
        if domain in recipe.domains and family in recipe.domains[domain].weights:
            yield note


def _buckets_table(statistics: Mapping[str, Any]) -> str:
    rows = []
    for domain, values in statistics.items():
        low, high = values['bucket_limits']
        train = values['splits']['train']
        least, most, mean = steps_of(train)
        rows.append(
            (
                domain, f'{low:g}', f'{high:g}', *map(str, train['buckets'].values()),
                f'{least} to {most}, {mean:.1f} on average',
            )
        )  # fmt: skip
    heads = ('domain', 'easy up to', 'medium up to', 'easy', 'medium', 'hard', 'steps of the plans')
    return _table(heads, rows)


def _candidates_table(statistics: Mapping[str, Any]) -> str:
    rows = [
        (
            domain, f'{values["candidates"]:,}', f'{values["duplicates"]:,}',
            ', '.join(f'{count:,} {reason}' for reason, count in values['refused'].items()) or '-',
        )
        for domain, values in statistics.items()
    ]  # fmt: skip
    return _table(('domain', 'looked at', 'equal to another row', 'refused'), rows)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return '\n'.join(markdown_table(heads, (), rows))
