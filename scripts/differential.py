# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Our validator against VAL on random problems and plans; exit status 1 on any disagreement.

The problems come from test/support/strategies.py: small ones that go through everything that the
language has, and some of the built-in domains. Same seed, same problems and plans, whatever the
number of processes.
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
from safegen_ros.verdict import Category  # noqa: E402
from safegen_ros.verify.second_opinion import agree, save_case  # noqa: E402
from safegen_ros.verify.val import ask, val_literal_class  # noqa: E402
from safegen_ros.verify.val_faults import present_faults  # noqa: E402
from safegen_ros.verify.validator import Validator  # noqa: E402

PLANS_PER_PROBLEM = 4

Counts = Counter[tuple[str, ...]]


def compare(index: int, seed: int, folder: Path) -> tuple[Counts, list[str]]:
    """Judges a few plans of one random problem twice.

    Returns:
        What was counted, by kind, and a line for every disagreement.
    """
    settings.register_profile('suite')  # as conftest.py does for the tests
    strategies = import_module('support.strategies')
    rng = random.Random(f'{seed}-{index}')  # noqa: S311 - no secrets here
    problem = strategies.any_problem(rng)
    validator = Validator(problem)
    counts: Counts = Counter()
    lines = []
    for _ in range(PLANS_PER_PROBLEM):
        plan = strategies.plan(rng, problem)
        ours, theirs = validator.verify(plan), ask(problem, plan)
        same = agree(ours, theirs.verdict)
        counts['category', ours.category.name, 'agree' if same else 'differ'] += 1
        for operator in {c.operator for c in problem.constraints}:
            counts['operator', operator, 'agree' if same else 'differ'] += 1
        for operator in {each.text[1:].split('(')[0].strip(' 0123456789') for each in ours.broken}:
            counts['operator', operator, 'broken'] += 1
        for fault in present_faults(problem, plan):
            counts['fault', fault.name, 'present'] += 1
        literal = ours.paper_category() is val_literal_class(theirs.output)
        counts[
            'appendix E class', ours.paper_category().name, 'agree' if literal else 'differ'
        ] += 1
        if not same or not literal:
            where = save_case(folder, problem, plan, ours, theirs)
            lines.append(f'ours: {ours.reason}; VAL: {theirs.verdict.reason}; {where}')
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
    for kind in ('category', 'appendix E class', 'operator', 'fault'):
        print(*table(counts, kind), '', sep='\n')
    seconds = time.monotonic() - start
    print(
        f'{total:,} plans of {problems:,} problems, seed {options.seed}, {seconds:.0f} s: '
        f'{len(disagreements)} disagreements'
    )
    return 1 if disagreements or counts['category', Category.UNKNOWN.name, 'agree'] else 0


if __name__ == '__main__':
    sys.exit(main())
