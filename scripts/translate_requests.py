# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Has a translator translate the requests in data/requests, and compares with what they mean.

    .venv/bin/python scripts/translate_requests.py data/requests/second.jsonl MODEL

Each line of such a file has a request about the blocks of world.pddl beside it, the atoms of its
goal, and its rule in words, if it has one: of a rule only that there is one is compared.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from safegen_ros.errors import SafegenError
from safegen_ros.llm.backend import Backend, Sampling
from safegen_ros.llm.open_backend import open_backend
from safegen_ros.tasks.planetarium.nl_to_pddl import Question, translate
from safegen_ros.tasks.planetarium.request import read_request
from safegen_ros.tasks.planetarium.styles import TranslationStyle, translation_style_of

SAMPLING = Sampling(temperature=0.6, top_p=0.9, max_new_tokens=1024, seed=0)


def judged(
    row: dict[str, Any], world: str, backend: Backend, style: TranslationStyle
) -> tuple[str, str]:
    """What became of a request: right, wrong, asked back or refused; and what was understood."""
    request = read_request(str(row['request']), start=world)
    try:
        found = translate(request, backend, SAMPLING, style=style)
    except SafegenError as error:
        return 'refused', error.message
    if isinstance(found, Question):
        return 'asked back', ' '.join(found.text.split())
    atoms: Any = found.problem.goal_conjuncts()  # those of a translator are atoms
    goal = {f'({" ".join((atom.predicate, *atom.terms))})' for atom in atoms}
    same = goal == set(row['goal'])
    ruled = bool(found.problem.constraints) == bool(row['rule'])
    rules = ', with rules' if found.problem.constraints else ''
    return 'right' if same and ruled else 'wrong', ' '.join(sorted(goal)) + rules


def main() -> None:
    """Prints a line for each request, and how many of each there are."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('requests', type=Path)
    parser.add_argument('model')
    given = parser.parse_args()
    style = translation_style_of(given.model)
    if style is None:
        parser.error(f'{given.model} is a model for another world')
    world = (given.requests.parent / 'world.pddl').read_text(encoding='utf-8')
    counts: Counter[str] = Counter()
    with closing(open_backend(given.model)) as backend:
        for line in given.requests.read_text(encoding='utf-8').splitlines():
            row = json.loads(line)
            became, meaning = judged(row, world, backend, style)
            counts[became] += 1
            print(f'{became:<10} {row["request"]}  =>  {meaning}')
    print(', '.join(f'{count} {name}' for name, count in sorted(counts.items())))


if __name__ == '__main__':
    main()
