# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Random Blocksworld episodes on the twin."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from safegen_ros.errors import SafegenError
from safegen_ros.robot.cell.blocks import BlocksworldCell, Offset
from safegen_ros.robot.scene import Scene
from safegen_ros.robot.twin.twin import MujocoTwin

if TYPE_CHECKING:
    from safegen_ros.pddl.model import State

Call = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Episode:
    """How many actions an episode did, and the fault that ended it, or ''."""

    actions: int
    fault: str


def random_state(rng: random.Random, blocks: int) -> State:
    """A random configuration of blocks b1.. with an empty hand."""
    towers: list[list[str]] = []
    for name in rng.sample([f'b{index + 1}' for index in range(blocks)], blocks):
        place = rng.randrange(len(towers) + 1)
        if place == len(towers):
            towers.append([name])
        else:
            towers[place].append(name)
    atoms: set[tuple[str, ...]] = {('arm-empty',)}
    for tower in towers:
        atoms |= {('on-table', tower[0]), ('clear', tower[-1])}
        atoms |= {('on', up, down) for down, up in pairwise(tower)}
    return frozenset(atoms)


def successors(state: State) -> dict[Call, State]:
    """Every legal action of the four-operator Blocksworld, with the state that it leads to."""
    held = next((atom[1] for atom in state if atom[0] == 'holding'), None)
    clear = sorted(atom[1] for atom in state if atom[0] == 'clear')
    moves: dict[Call, State] = {}
    if held is not None:
        free = {('arm-empty',), ('clear', held)}
        rest = state - {('holding', held)}
        moves['putdown', held] = rest | free | {('on-table', held)}
        for under in clear:
            moves['stack', held, under] = (rest - {('clear', under)}) | free | {('on', held, under)}
        return moves
    for block in clear:
        rest = state - {('arm-empty',), ('clear', block)} | {('holding', block)}
        if ('on-table', block) in state:
            moves['pickup', block] = rest - {('on-table', block)}
        for atom in state:
            if atom[:2] == ('on', block):
                moves['unstack', block, atom[2]] = rest - {atom} | {('clear', atom[2])}
    return moves


def run_episode(scene: Scene, seed: int, blocks: int, noise: float, actions: int) -> Episode:
    """Legal actions from a random state, each compared with the measured blocks.

    Args:
        scene: geometry and speeds.
        seed: of the state, the actions and the noise.
        blocks: number of blocks.
        noise: standard deviation of each target in x and y, half of it in z [m].
        actions: number of random actions.
    """
    rng = random.Random(seed)
    objects = [f'b{index + 1}' for index in range(blocks)]
    state = random_state(rng, blocks)
    done, fault = 0, ''
    with MujocoTwin(scene) as twin:
        cell = BlocksworldCell(scene, twin, twin, target_error=gaussian(rng, noise))
        try:
            cell.prepare(objects, state)
            while not fault and done < actions:
                call = rng.choice(sorted(successors(state)))
                state = successors(state)[call]
                done += 1
                cell.execute(call[0], call[1:])
                if cell.observe() != state:
                    fault = f'{" ".join(call)}: measured another state'
        except SafegenError as error:
            fault = error.message
        return Episode(done, fault)


def gaussian(rng: random.Random, sigma: float) -> Callable[[], Offset]:
    """Errors of a target [m]: sigma in x and y, half of it in z."""
    return lambda: (rng.gauss(0, sigma), rng.gauss(0, sigma), rng.gauss(0, sigma / 2))
