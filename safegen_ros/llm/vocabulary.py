# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The words that the small model reads and writes, and the text of a canonical task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from safegen_ros.llm.order import canonical_order
from safegen_ros.llm.sketch import OPERATORS, PREDICATES, Sketch
from safegen_ros.verdict import Category

MAX_BLOCKS = 10
ACTIONS = {'pickup': 1, 'putdown': 1, 'stack': 2, 'unstack': 2}
VERDICT_WORD = {
    Category.FORMAT_ERROR: 'format',
    Category.SAFETY_VIOLATION: 'safety',
    Category.PRECONDITION_VIOLATION: 'precondition',
    Category.GOAL_NOT_SATISFIED: 'goal',
}
PAD, BOS, EOS, UNK = '[pad]', '[bos]', '[eos]', '[unk]'
BLOCKSWORLD, INIT, GOAL, CONSTRAINTS = '[blocksworld]', '[init]', '[goal]', '[constraints]'
ATTEMPT, VERDICT, PLAN = '[attempt]', '[verdict]', '[plan]'
RESERVED = 48

WORDS: tuple[str, ...] = (
    *(PAD, BOS, EOS, UNK, BLOCKSWORLD, INIT, GOAL, CONSTRAINTS, ATTEMPT, VERDICT, PLAN),
    *(f'b{i}' for i in range(1, MAX_BLOCKS + 1)),
    *PREDICATES,
    *('not', 'and', 'or', 'true', 'false'),
    *OPERATORS,
    *ACTIONS,
    *VERDICT_WORD.values(),
    # Room for the words of further domains without changing the shape of the embedding.
    *(f'[reserved{i}]' for i in range(RESERVED)),
)
"""Every token; the position is its id. Commutative parts are sorted by these ids."""

WORD_ID = {word: number for number, word in enumerate(WORDS)}
BLOCK_WORDS = WORDS[WORD_ID['b1'] : WORD_ID['b1'] + MAX_BLOCKS]


def formula_words(formula: Sequence[Any], rank: Sequence[int]) -> list[str]:
    """Prefix notation; `and` and `or` are written as nested pairs.

    Args:
        formula: a formula or constraint of `sketch`.
        rank: the canonical position of each block, from 0.
    """
    head = formula[0]
    if head in ('and', 'or'):
        parts = sort_words([formula_words(part, rank) for part in formula[1:]])
        nested = [word for part in parts[:-1] for word in (head, *part)]
        return [*nested, *parts[-1]]
    words = [head]
    for item in formula[1:]:
        if isinstance(item, int):
            words.append(BLOCK_WORDS[rank[item]])
        else:
            words += formula_words(item, rank)
    return words


def sort_words(phrases: list[list[str]]) -> list[list[str]]:
    """Phrases in the order of their token ids."""
    return sorted(phrases, key=lambda phrase: [WORD_ID[word] for word in phrase])


def init_words(sketch: Sketch, order: Sequence[int]) -> list[str]:
    """The initial state tower by tower from the table upwards, the held block last."""
    below = {above: block for tower in sketch.towers for block, above in pairwise(tower)}
    rank = {block: position for position, block in enumerate(order)}
    words: list[str] = []
    for block in order:
        name = BLOCK_WORDS[rank[block]]
        if block == sketch.held:
            words += ['holding', name]
        elif block in below:
            words += ['on', name, BLOCK_WORDS[rank[below[block]]]]
        else:
            words += ['on-table', name]
    return words


@dataclass(frozen=True, slots=True)
class TaskText:
    """A task in canonical words.

    Attributes:
        words: the prompt up to the end of the constraints.
        order: block numbers in canonical order; `b1` stands for `order[0]`.
        constraint_order: for each constraint, as written, its index in the sketch.
    """

    words: tuple[str, ...]
    order: tuple[int, ...]
    constraint_order: tuple[int, ...]

    @property
    def rank(self) -> list[int]:
        """The canonical position of each block number."""
        rank = [0] * len(self.order)
        for position, block in enumerate(self.order):
            rank[block] = position
        return rank


def task_text(sketch: Sketch) -> TaskText:
    """The canonical text of a task: the same for every renaming and reordering of it."""
    order = canonical_order(sketch)
    rank = [0] * len(order)
    for position, block in enumerate(order):
        rank[block] = position
    goals = sort_words([formula_words(part, rank) for part in sketch.goal])
    constraints = [formula_words(part, rank) for part in sketch.constraints]
    written = sorted(
        range(len(constraints)), key=lambda i: [WORD_ID[word] for word in constraints[i]]
    )
    words = [BLOCKSWORLD, INIT, *init_words(sketch, order), GOAL]
    words += [word for phrase in goals for word in phrase]
    words.append(CONSTRAINTS)
    words += [word for i in written for word in constraints[i]]
    return TaskText(tuple(words), order, tuple(written))
