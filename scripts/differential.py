# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Our validator against VAL on random problems and plans; exit status 1 on any disagreement.

The problems go through the whole language in turn: steps, numbers, time, wishes (test/support). A
disagreement is saved with its texts. Same seed, same problems and plans, whatever the number of
processes.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test')]

from safegen_ros.paths import runs_dir  # noqa: E402
from safegen_ros.verify.val_faults import present_faults, unanswerable  # noqa: E402
from safegen_ros.verify.validator import Validator  # noqa: E402

PLANS_PER_PROBLEM = 4

Counts = Counter[tuple[str, ...]]


def compare(index: int, seed: int, folder: Path) -> tuple[Counts, list[str]]:
    """Judges a few plans of one random problem twice.

    Returns:
        What was counted, by kind, and a line for every disagreement.
    """
    settings.register_profile('suite')  # as conftest.py does for the tests
    against_val = import_module('support.against_val')
    rng = random.Random(f'{seed}-{index}')  # noqa: S311 - no secrets here
    part = list(against_val.DRAWN)[index % len(against_val.DRAWN)]
    problem = against_val.DRAWN[part](rng)
    validator = Validator(problem)
    counts: Counts = Counter()
    lines = []
    for number in range(PLANS_PER_PROBLEM):
        plan = against_val.draw_plan(rng, problem)
        ours = validator.verify(plan)
        said = against_val.difference(problem, plan, ours)
        column = 'differ' if said else 'agree'
        if unanswerable(problem, plan):
            column = 'not asked'
        for kind, name in (('part', part), ('category', ours.category.name)):
            counts[kind, name, column] += 1
        for operator in {c.operator for c in problem.constraints}:
            counts['operator', operator, column] += 1
        for operator in {each.text[1:].split('(')[0].strip(' 0123456789.') for each in ours.broken}:
            counts['operator', operator, 'broken'] += 1
        for fault in present_faults(problem, plan):
            counts['fault', fault.name, 'present'] += 1
        if said:
            where = folder / f'{seed}-{index}-{number}.txt'
            folder.mkdir(parents=True, exist_ok=True)
            where.write_text(f'{said}\n', encoding='utf-8')
            lines.append(f'{said.splitlines()[0]}; {where}')
    return counts, lines


def table(counts: Counts, kind: str) -> Iterable[str]:
    """The lines of one table."""
    names = sorted({name for what, name, _ in counts if what == kind})
    columns = sorted({column for what, _, column in counts if what == kind})
    yield f'{kind:24}' + ''.join(f'{column:>10}' for column in columns)
    for name in names:
        yield f'{name:24}' + ''.join(f'{counts[kind, name, each]:10,}' for each in columns)


def main() -> int:
    """Runs the comparison and prints its tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--plans', type=int, default=20_000, help='at least that many plans')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--jobs', type=int, default=2, help='processes')
    parser.add_argument('--folder', type=Path, default=runs_dir() / 'disagreements')
    options = parser.parse_args()
    problems = -(-options.plans // PLANS_PER_PROBLEM)
    work = partial(compare, seed=options.seed, folder=options.folder)
    counts: Counts = Counter()
    disagreements: list[str] = []
    start = time.monotonic()
    with get_context('spawn').Pool(options.jobs) as pool:
        for found, lines in pool.imap(work, range(problems), chunksize=20):
            counts.update(found)
            disagreements += lines
            for line in lines:
                print(line, flush=True)
    total = sum(n for (kind, *_), n in counts.items() if kind == 'category')
    for kind in ('part', 'category', 'operator', 'fault'):
        print(*table(counts, kind), '', sep='\n')
    seconds = time.monotonic() - start
    print(
        f'{total:,} plans of {problems:,} problems, seed {options.seed}, {seconds:.0f} s: '
        f'{len(disagreements)} disagreements'
    )
    return 1 if disagreements else 0


if __name__ == '__main__':
    sys.exit(main())
