# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Small problems of Planetarium's domains, and Definition 2 by trying everything."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, permutations, product

from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.deciding import changed_predicates
from safegen_ros.pddl.formulas import substitute
from safegen_ros.pddl.ground import Grounder, goal_tests
from safegen_ros.pddl.model import And, Atom, AtomFormula, Formula, Problem, State
from safegen_ros.tasks.planetarium.domains import planetarium_domain
from safegen_ros.tasks.planetarium.graphs import renamed
from support.strategies import disguised

DOMAINS = ('blocksworld', 'gripper', 'floor-tile')

BLOCKS = """(define (problem two)
  (:domain blocksworld)
  (:objects a b)
  (:init (arm-empty) (on-table a) (clear a) (on-table b) (clear b))
  (:goal (and (on a b) (clear a))))
"""

ROOMS = """(define (problem rooms) (:domain gripper)
  (:objects r1 r2 - room x - ball g - gripper)
  (:init (at-robby r1) (at x r1) (free g)) (:goal (at x r2)))
"""

TILES = """(define (problem tiles) (:domain floor-tile)
  (:objects rob t1 t2 red)
  (:init (robot-at rob t1) (robot-has rob red) (right t2 t1)) (:goal (painted t2 red)))
"""
"""Problems of the three domains as a model may write them."""


def goal_of(atoms: set[Atom] | frozenset[Atom]) -> Formula:
    """A conjunction of atoms."""
    return And(tuple(AtomFormula(atom[0], atom[1:]) for atom in sorted(atoms)))


def reachable(problem: Problem) -> set[State]:
    """Every state that can be reached."""
    table = AtomTable(problem)
    actions = Grounder(problem, table).all_actions()
    found = {table.encode(problem.init)}
    waiting = list(found)
    while waiting:
        state = waiting.pop()
        after = {action.apply(state) for action in actions if action.applicable(state)} - found
        found |= after
        waiting += after
    return {table.decode(state) for state in found}


def goal_states(problem: Problem, states: set[State] | None = None) -> set[State]:
    """Every goal state that can be reached; `states` are those that can be, if that is known."""
    table = AtomTable(problem)
    tests = [test for _, test in goal_tests(problem, table)]
    found = reachable(problem) if states is None else states
    return {state for state in found if all(test(table.encode(state)) for test in tests)}


def bijections(one: Problem, other: Problem) -> Iterator[dict[str, str]]:
    """Every bijection of objects that keeps types."""
    kinds = sorted({*one.objects.values(), *other.objects.values()})
    members = [
        [[name for name, kind in p.objects.items() if kind == each] for each in kinds]
        for p in (one, other)
    ]
    if [len(names) for names in members[0]] != [len(names) for names in members[1]]:
        return
    for orders in product(*(list(permutations(names)) for names in members[1])):
        pairs = zip(members[0], orders, strict=True)
        yield {a: b for names, order in pairs for a, b in zip(names, order, strict=True)}


def equivalent(one: Problem, other: Problem, placeholder: bool = False) -> bool:
    """Definition 2, and with placeholders the second half of Theorem 1, by trying everything."""
    wanted = goal_states(one)
    if placeholder and wanted:
        natures = _natures(other)
        goals = {
            substitute(other.goal, names): None
            for names in bijections(other, other)
            if all(natures[a] == natures[b] for a, b in names.items())
        }
        states = reachable(other)
        others = [goal_states(replace(other, goal=goal), states) for goal in goals]
    else:
        others = [goal_states(other)]
    return any(
        {renamed(state, names) for state in wanted} in others
        for names in bijections(one, other)
        if renamed(one.init, names) == other.init
    )


def _natures(problem: Problem) -> dict[str, set[str]]:
    """The atoms about one object that no action changes."""
    changed = changed_predicates(problem)
    return {
        name: {a[0] for a in problem.init if a[1:] == (name,) and a[0] not in changed}
        for name in problem.objects
    }


def blocksworld(rng: random.Random, count: int, idle: int = 0) -> Problem:
    """Random towers; the arm holds a block now and then; the goal is empty."""
    names = [f'b{number}' for number in range(count)]
    atoms: set[Atom] = set()
    towers: list[list[str]] = []
    for name in rng.sample(names, count):
        place = rng.randrange(len(towers) + 1)
        towers[place:] = (
            [[*towers[place], name], *towers[place + 1 :]] if towers[place:] else [[name]]
        )
    if towers and rng.random() < 0.25:
        atoms.add(('holding', towers[0].pop()))
    else:
        atoms.add(('arm-empty',))
    for tower in filter(None, towers):
        atoms |= {('on-table', tower[0]), ('clear', tower[-1])}
        atoms |= {('on', upper, lower) for lower, upper in pairwise(tower)}
    objects = [*names, *(f'idle{number}' for number in range(idle))]
    return _problem('blocksworld', dict.fromkeys(objects, 'object'), atoms)


def gripper(rng: random.Random, rooms: int, balls: int, grippers: int) -> Problem:
    """Balls in random rooms and grippers; the goal is empty."""
    kinds = {f'room{n}': 'room' for n in range(rooms)}
    kinds.update({f'ball{n}': 'ball' for n in range(balls)})
    kinds.update({f'hand{n}': 'gripper' for n in range(grippers)})
    atoms: set[Atom] = {(kind, name) for name, kind in kinds.items()}
    atoms.add(('at-robby', f'room{rng.randrange(rooms)}'))
    free = [name for name, kind in kinds.items() if kind == 'gripper']
    for ball in [name for name, kind in kinds.items() if kind == 'ball']:
        if free and rng.random() < 0.3:
            atoms.add(('carry', ball, free.pop()))
        else:
            atoms.add(('at', ball, f'room{rng.randrange(rooms)}'))
    atoms |= {('free', name) for name in free}
    return _problem('gripper', dict.fromkeys(kinds, 'object'), atoms)


def floortile(rng: random.Random, robots: int, tiles: int, colors: int) -> Problem:
    """Tiles that are linked at random, some painted; the goal is empty."""
    kinds = {f'robot{n}': 'robot' for n in range(robots)}
    kinds.update({f'tile{n}': 'tile' for n in range(tiles)})
    kinds.update({f'color{n}': 'color' for n in range(colors)})
    atoms: set[Atom] = set()
    for lower, upper in zip(range(tiles), range(1, tiles), strict=False):
        if rng.random() < 0.6:
            atoms.add((rng.choice(['up', 'right']), f'tile{upper}', f'tile{lower}'))
    for robot in range(robots):
        atoms.add(('robot-at', f'robot{robot}', f'tile{rng.randrange(tiles)}'))
        atoms.add(('robot-has', f'robot{robot}', f'color{rng.randrange(colors)}'))
    atoms |= {('available-color', f'color{n}') for n in range(colors) if rng.random() < 0.5}
    if rng.random() < 0.3:
        atoms.add(('painted', f'tile{rng.randrange(tiles)}', f'color{rng.randrange(colors)}'))
    return _problem('floor-tile', kinds, atoms)


def _problem(domain: str, objects: dict[str, str], init: set[Atom]) -> Problem:
    return Problem('small', planetarium_domain(domain), objects, frozenset(init), And(()), ())


def small(rng: random.Random, domain: str) -> Problem:
    """A problem whose states and bijections can all be looked at, with a goal."""
    if domain == 'blocksworld':
        problem = blocksworld(rng, rng.choice([1, 2, 3, 3]), rng.choice([0, 0, 0, 1]))
    elif domain == 'gripper':
        problem = gripper(rng, rng.choice([1, 1, 2]), rng.choice([1, 2]), rng.choice([0, 1, 1, 2]))
    else:
        problem = floortile(rng, rng.choice([1, 1, 2]), rng.choice([1, 2, 3]), rng.choice([1, 2]))
    return replace(problem, goal=random_goal(rng, problem))


def random_goal(rng: random.Random, problem: Problem) -> Formula:
    """Some atoms of a state that can be reached, and now and then one that does not fit."""
    state = sorted(rng.choice(sorted(reachable(problem), key=sorted)))
    atoms = set(rng.sample(state, rng.randint(0, min(len(state), 5))))
    if rng.random() < 0.15:
        atoms.add(rng.choice(all_atoms(problem)))
    return goal_of(atoms)


def all_atoms(problem: Problem) -> list[Atom]:
    """Every atom that the predicates and the objects of a problem allow."""
    objects = problem.objects_by_type()
    return [
        (predicate, *names)
        for predicate, kinds in problem.domain.predicates.items()
        for names in product(*(objects[kind] for kind in kinds))
    ]


def varied(rng: random.Random, problem: Problem) -> Problem:
    """A problem that may or may not mean the same: its goal has been changed a little."""
    parts = list(problem.goal_conjuncts())
    common = set.intersection(*map(set, goal_states(problem))) if goal_states(problem) else set()
    change = rng.randrange(4)
    if change == 0 and parts:
        parts.pop(rng.randrange(len(parts)))
    elif change == 1 and common:
        atom = rng.choice(sorted(common))
        parts.append(AtomFormula(atom[0], atom[1:]))
    elif change == 2:
        parts = list(Problem.goal_conjuncts(replace(problem, goal=random_goal(rng, problem))))
    elif parts:
        part = parts.pop(rng.randrange(len(parts)))
        parts.append(substitute(part, rng.choice(list(bijections(problem, problem)))))
    return disguised(rng, replace(problem, goal=And(tuple(parts))))


def larger(rng: random.Random, domain: str) -> Problem:
    """A problem of a usual size, with a goal that can be reached."""
    if domain == 'blocksworld':
        problem = blocksworld(rng, rng.randint(4, 12))
        state = blocksworld(rng, len(problem.objects)).init
    elif domain == 'gripper':
        sizes = rng.randint(2, 4), rng.randint(3, 8), rng.randint(1, 3)
        problem = gripper(rng, *sizes)
        state = gripper(rng, *sizes).init
    else:
        problem = floortile(rng, rng.randint(1, 2), rng.randint(4, 9), rng.randint(2, 3))
        state = problem.init
    return replace(problem, goal=goal_of(set(rng.sample(sorted(state), len(state) // 2))))
