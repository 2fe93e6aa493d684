# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A description with its problem, as on a line of a file."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from safegen_ros.datasets.files import read_lines, read_row
from safegen_ros.datasets.planetarium.blocksworld import BlocksWorldKit
from safegen_ros.datasets.planetarium.floortile import FloorTileKit
from safegen_ros.datasets.planetarium.gripper import GripperKit
from safegen_ros.datasets.planetarium.layouts import Kit, LayoutTask, space_of
from safegen_ros.pddl.model import And, Atom, AtomFormula, Problem
from safegen_ros.pddl.writer import problem_text
from safegen_ros.tasks.planetarium.descriptions import description
from safegen_ros.tasks.planetarium.domains import planetarium_domain

SIZES = ('1-20', '21-40', '41-60', '61-80', '>80')
"""Bins of the number of propositions in the initial state and the goal (table 1)."""

ABSTRACTIONS = (
    'explicit to explicit', 'explicit to abstract', 'abstract to explicit', 'abstract to abstract',
)  # fmt: skip
"""How the initial state and the goal are described, in the order of table 1."""

_FOLDS = 5


@cache
def kits() -> Mapping[str, Kit]:
    """The configurations of every domain, by its name."""
    return {kit.domain: kit for kit in (BlocksWorldKit(), GripperKit(), FloorTileKit())}


def size_bin(propositions: int) -> str:
    """The bin of a number of propositions."""
    return SIZES[min((max(propositions, 1) - 1) // 20, len(SIZES) - 1)]


@dataclass(frozen=True, slots=True)
class Pair:
    """A description with its problem, in the order of the fields of its line.

    Attributes:
        split: `train`, or `test` for configurations that training does not have.
        start: configuration of the initial state.
        goal: configuration of the goal.
        abstraction: one of `ABSTRACTIONS`.
        placeholder: whether the objects in the goal are placeholders (section 4.1).
        propositions: in the initial state and the goal.
        size: one of `SIZES`.
        fold: a number below five, the same for all descriptions of a problem.
        problem: the problem in PDDL.
    """

    id: str
    domain: str
    split: str
    start: str
    goal: str
    abstraction: str
    placeholder: bool
    propositions: int
    size: str
    fold: int
    text: str
    problem: str

    def to_line(self) -> str:
        """The row as one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False) + '\n'


def read_pairs(path: Path) -> Iterator[Pair]:
    """The rows of a file, one after the other.

    Raises:
        DatasetError: it cannot be read, or a line is not a row.
    """
    for values, place in read_lines(path):
        yield read_row(Pair, values, place)


def make_problem(task: LayoutTask, number: int) -> tuple[Problem, Sequence[Atom]]:
    """A problem of a task, with its initial state in the order of its description."""
    kit = kits()[task.domain]
    parameters, wanted = space_of(kit, task.start, task.goal).problem(number)
    domain = planetarium_domain(task.domain)
    kinds = {
        name: kind if domain.types else 'object'
        for kind, names in kit.objects(parameters).items()
        for name in names
    }
    init = kit.start_atoms(task.start, parameters)
    goal = kit.goal_atoms(task.goal, wanted, parameters)
    formula = And(tuple(AtomFormula(atom[0], atom[1:]) for atom in goal))
    name = f'{task.name}_{number}'.replace('-', '_')
    return Problem(name, domain, kinds, frozenset(init), formula, ()), init


def make_pairs(task: LayoutTask, number: int, count: int, shuffled: bool, seed: int) -> list[Pair]:
    """The rows of a problem.

    Args:
        number: of the problem within its task.
        count: how many of the task's descriptions are wanted, from the first one.
        shuffled: whether explicit descriptions list their atoms in a random order.
        seed: of that order.
    """
    kit = kits()[task.domain]
    problem, init = make_problem(task, number)
    parameters, wanted = space_of(kit, task.start, task.goal).problem(number)
    goal = kit.goal_atoms(task.goal, wanted, parameters)
    words = {
        True: kit.start_words(task.start, parameters),
        False: _told(kit, init, shuffled, f'{seed} init {problem.name}'),
    }
    aims = {
        True: kit.goal_words(task.goal, wanted, parameters),
        False: _told(kit, goal, shuffled, f'{seed} goal {problem.name}'),
    }
    text, size = problem_text(problem), len(init) + len(goal)
    digest = sha256(f'{task.domain} {problem.name}'.encode()).digest()
    pairs = []
    for start_abstract, goal_abstract in task.abstractions[:count]:
        place = 2 * start_abstract + goal_abstract
        ways = 'ea'[start_abstract] + 'ea'[goal_abstract]
        pairs.append(
            Pair(
                id=f'{task.domain}-{task.name}-{number}-{ways}',
                domain=task.domain,
                split=task.split,
                start=task.start,
                goal=task.goal,
                abstraction=ABSTRACTIONS[place],
                placeholder=task.placeholders and place > 0,
                propositions=size,
                size=size_bin(size),
                fold=digest[0] % _FOLDS,
                text=description(
                    kit.objects(parameters), words[start_abstract], aims[goal_abstract]
                ),
                problem=text,
            )
        )
    return pairs


def _told(kit: Kit, atoms: Sequence[Atom], shuffled: bool, seed: str) -> list[str]:
    """Atoms in words, one by one."""
    clauses = [clause for clause in map(kit.clause, atoms) if clause]
    if shuffled:
        random.Random(seed).shuffle(clauses)  # noqa: S311  # no secret
    return clauses
