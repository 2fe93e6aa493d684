# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every state of a Blocksworld with n blocks, as arrays.

A state is a row of `support`: for each block the block under it, `n` for the table or `n + 1` for
the gripper. Moves are slots: with an empty gripper slot x lifts block x, with block x in the
gripper slot x puts it on the table and slot y stacks it on y. Each move can be undone by one move,
so `successors` is also the table of predecessors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from safegen_ros.llm.sketch import Formula

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
Row = tuple[int, ...]


@dataclass(frozen=True)
class StateSpace:
    """All reachable states for `size` blocks.

    Attributes:
        size: number of blocks n.
        support: shape (S, n).
        successors: shape (S, n), -1 where the move is not possible.
        held: shape (S,), the block in the gripper or -1.
        index: from a row of `support` to its state number.
    """

    size: int
    support: IntArray
    successors: IntArray
    held: IntArray
    index: dict[Row, int]

    def truth(self, formula: Formula) -> BoolArray:
        """In which states the formula holds, shape (S,)."""
        head, arguments = formula[0], formula[1:]
        if head == 'not':
            return ~self.truth(arguments[0])
        if head in ('and', 'or'):
            merge: Any = np.logical_and if head == 'and' else np.logical_or
            return _fold(merge, [self.truth(part) for part in arguments])
        if head in ('true', 'false'):
            return np.full(len(self.support), head == 'true')
        return self._atom(head, arguments)

    def _atom(self, predicate: str, arguments: tuple[int, ...]) -> BoolArray:
        table: BoolArray
        if predicate == 'on':
            table = self.support[:, arguments[0]] == arguments[1]
        elif predicate == 'on-table':
            table = self.support[:, arguments[0]] == self.size
        elif predicate == 'holding':
            table = self.held == arguments[0]
        elif predicate == 'arm-empty':
            table = self.held < 0
        elif predicate == 'clear':
            covered = (self.support == arguments[0]).any(axis=1)
            table = ~covered & (self.held != arguments[0])
        else:
            raise ValueError(f'no such predicate in Blocksworld: {predicate}')
        return table

    def towers(self, state: int) -> tuple[tuple[tuple[int, ...], ...], int | None]:
        """Towers from the table upwards and the held block, as `Sketch` wants them."""
        row = self.support[state].tolist()
        above = {below: block for block, below in enumerate(row) if below < self.size}
        towers = []
        for base in (block for block, below in enumerate(row) if below == self.size):
            tower = [base]
            while tower[-1] in above:
                tower.append(above[tower[-1]])
            towers.append(tuple(tower))
        held = int(self.held[state])
        return tuple(towers), held if held >= 0 else None


def _fold(merge: Any, parts: list[BoolArray]) -> BoolArray:
    """Fold truth tables with a logical ufunc."""
    result: BoolArray = merge.reduce(parts)
    return result


def _moves(row: Row) -> list[tuple[int, Row]]:
    size = len(row)
    table, gripper = size, size + 1
    clear = [x for x in range(size) if x not in row and row[x] != gripper]
    if gripper not in row:
        return [(x, (*row[:x], gripper, *row[x + 1 :])) for x in clear]
    block = row.index(gripper)
    places = [(block, table)] + [(y, y) for y in clear]
    return [(slot, (*row[:block], below, *row[block + 1 :])) for slot, below in places]


@cache
def state_space(size: int) -> StateSpace:
    """The state space for `size` blocks; built once (7057 states for 6 blocks)."""
    start: Row = (size,) * size
    index, rows, edges = {start: 0}, [start], []
    for number, row in enumerate(rows):  # grows while it is read: breadth-first search
        for slot, following in _moves(row):
            if following not in index:
                index[following] = len(rows)
                rows.append(following)
            edges.append((number, slot, index[following]))
    support = np.array(rows, dtype=np.int32)
    successors = np.full(support.shape, -1, dtype=np.int32)
    source, slot_of, target = np.array(edges, dtype=np.int32).T
    successors[source, slot_of] = target
    gripper = support == size + 1
    held = np.where(gripper.any(axis=1), gripper.argmax(axis=1), -1).astype(np.int32)
    return StateSpace(size, support, successors, held, index)
