# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which goals the code that was published with the paper holds for equal, mistakes included.

For results that are to stand beside published ones. The rules are those of the package
`planetarium` at commit f257ae9 of github.com/BatsResearch/planetarium; docs/planetarium.md lists
where they differ from Definition 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import networkx as nx

from safegen_ros.pddl.model import Atom
from safegen_ros.tasks.planetarium.state_rules import StripsTask

_Specify = Callable[[StripsTask], frozenset[Atom] | None]


def published_specification(domain: str, task: StripsTask) -> frozenset[Atom] | None:
    """The goal as the published code fully specifies it; None where it raises an exception."""
    specify = _RULES.get(domain)
    return None if specify is None else specify(task)


def _blocksworld(task: StripsTask) -> frozenset[Atom]:
    """Looks at the goal once, for blocks with nothing above or nothing below them."""
    goal = task.goal
    on: nx.DiGraph = nx.DiGraph([(a[1], a[2]) for a in goal if a[0] == 'on'])
    on.add_nodes_from(task.objects)
    held = {atom[1] for atom in goal if atom[0] == 'holding'}
    clear = {atom[1] for atom in goal if atom[0] == 'clear'}
    tabled = {atom[1] for atom in goal if atom[0] == 'on-table'}
    tops = {b for b in task.objects if not on.in_degree(b) and b not in held | clear}
    bottoms = {b for b in task.objects if not on.out_degree(b) and b not in held | tabled}
    under = {block: nx.descendants(on, block) for block in tops | bottoms}
    apart = [
        (top, bottom)
        for top in tops
        for bottom in bottoms
        if top != bottom and bottom not in under[top] and top not in under[bottom]
    ]
    found = set(goal)
    found |= {('clear', block) for block in tops - {top for top, _ in apart}}
    found |= {('on-table', block) for block in bottoms - {bottom for _, bottom in apart}}
    if not held and not tops & bottoms:
        found.add(('arm-empty',))
    return frozenset(found)


def _gripper(task: StripsTask) -> frozenset[Atom]:
    """Adds what objects are, and grippers that must be free when all balls have their place.

    Any unary atom about a gripper in the goal counts as if it said what the gripper does.
    """
    kinds = {atom for atom in task.init if atom[0] in ('room', 'ball', 'gripper')}
    placed = {atom[1] for atom in task.goal if len(atom) == 3}
    spoken_of = {atom[-1] for atom in task.goal}
    balls = {atom[1] for atom in kinds if atom[0] == 'ball'}
    grippers = {atom[1] for atom in kinds if atom[0] == 'gripper'}
    free = {('free', g) for g in grippers - spoken_of} if balls <= placed else set()
    return task.goal | kinds | free


def _floortile(task: StripsTask) -> frozenset[Atom] | None:
    """Adds what stays, the colors that it takes to be fixed, and robots on tiles without others.

    It takes every color that the goal or the initial state has on a tile for one to be painted,
    and every painted tile for one to be painted with the color that is available.
    """
    robots = [name for name, kind in task.objects.items() if kind == 'robot']
    stays = ('up', 'right', 'painted', 'available-color')
    found = {*task.goal, *(atom for atom in task.init if atom[0] in stays)}
    painted = [atom for atom in found if atom[0] == 'painted']
    has = {atom for atom in task.init if atom[0] == 'robot-has' and atom[1] in robots}
    available = [atom[1] for atom in task.init if atom[0] == 'available-color']
    beside: nx.Graph = nx.Graph()
    beside.add_nodes_from(task.objects)
    beside.add_edges_from((a[1], a[2]) for a in task.init if a[0] in ('up', 'right', 'robot-at'))
    if not available:
        found |= has
    elif len(available) == 1:
        (color,) = available
        if len(robots) == 1:
            if not has:
                return None
            if color in {atom[2] for atom in (*has, *painted)}:
                found.add(('robot-has', robots[0], color))
        else:
            found |= {atom for atom in has if atom[2] == color}
            for atom in painted:
                near = [r for r in robots if nx.has_path(beside, r, atom[1])]
                if len(near) == 1:
                    found.add(('robot-has', near[0], color))
    for _, robot, tile in sorted(atom for atom in task.init if atom[0] == 'robot-at'):
        said = any(atom[:2] == ('robot-at', robot) for atom in task.goal)
        alone = not any(tile in atom[1:] for atom in task.init if atom[0] in ('up', 'right'))
        if alone and not said:
            found.add(('robot-at', robot, tile))
    return frozenset(found)


_RULES: Mapping[str, _Specify] = {
    'blocksworld': _blocksworld,
    'gripper': _gripper,
    'floor-tile': _floortile,
}
