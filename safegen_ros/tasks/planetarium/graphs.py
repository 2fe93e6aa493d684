# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Problems as graphs, and the bijections of objects that map one graph onto another.

The paper's scene graph has a node for every object and one for every proposition (section 3.3).
Here a proposition about one object is part of the label of its node, one about two is part of the
label of an edge, and only one about three or more is a separate node. That says the same and is a
third of the size. Labels are refined by their neighbours (Weisfeiler and Leman 1968) before
networkx searches; mostly no choice is left then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import networkx as nx
from networkx.algorithms.isomorphism import DiGraphMatcher

from safegen_ros.pddl.model import Atom
from safegen_ros.search.budget import SearchLimit
from safegen_ros.tasks.pddl3.domains.isomorphism import ranked, refined

Bijection = dict[str, str]
"""The objects of one problem, each with the one of another problem that stands for it."""

Scenes = Mapping[str, Collection[Atom]]
"""Scenes by their names, `init` and `goal`; a problem graph is that of both (section 3.3)."""

MOST_NODES = 600
"""Most nodes of graphs whose labels leave a choice; networkx goes as deep as there are nodes."""

_Colours = dict[Any, int]


def never_stop() -> None:
    """The `tick` of a caller without a limit of time."""


def scene_graph(objects: Mapping[str, str], scenes: Scenes) -> nx.DiGraph:
    """The graph of one scene, or of several over the same objects.

    Args:
        objects: name to the key of its kind; only objects of equal kinds may stand for each other.

    Returns:
        A graph whose nodes and edges have a `label`. An object is a node `(name,)`; an atom of
        three objects or more is the node `(scene, *atom)`. Atoms without objects are in the
        `label` of the graph.
    """
    about: dict[Atom, list[tuple[Any, ...]]] = {(name,): [] for name in objects}
    between: dict[tuple[Atom, Atom], list[tuple[Any, ...]]] = {}
    labels: dict[Atom, tuple[Any, ...]] = {}
    alone = []
    for scene, atoms in scenes.items():
        for atom in atoms:
            predicate, *names = atom
            if not names:
                alone.append((scene, predicate))
            elif len(set(names)) == 1:
                about[names[0],].append((scene, predicate, len(names)))
            elif len(names) == 2:
                ends = ((names[0],), (names[1],))
                between.setdefault(ends, []).append((scene, predicate))
            else:
                node = (scene, *atom)
                labels[node] = ('atom', scene, predicate)
                for place, name in enumerate(names):
                    between.setdefault((node, (name,)), []).append((str(place),))
    graph: nx.DiGraph = nx.DiGraph(label=tuple(sorted(alone)))
    for name, kind in objects.items():
        graph.add_node((name,), label=('object', kind, *sorted(about[name,])))
    for node, label in labels.items():
        graph.add_node(node, label=label)
    for (start, end), found in between.items():
        graph.add_edge(start, end, label=tuple(sorted(found)))
    return graph


def isomorphisms(
    one: nx.DiGraph, other: nx.DiGraph, tick: Callable[[], None] = never_stop
) -> Iterator[Bijection]:
    """Every bijection of objects that maps one graph onto the other, labels included.

    `tick` is called again and again; it ends the search by raising.

    Raises:
        SearchLimit: the graphs have more than `MOST_NODES` nodes, and labels leave a choice.
    """
    if one.graph != other.graph or one.number_of_edges() != other.number_of_edges():
        return
    found = _refined(one, other, tick)
    if found is None:
        return
    first, second = found
    if len(set(first.values())) == len(first):
        named = {colour: node for node, colour in second.items()}
        mapping = {node: named[colour] for node, colour in first.items()}
        if all(
            other.has_edge(mapping[start], mapping[end])
            and other[mapping[start]][mapping[end]]['label'] == label
            for start, end, label in one.edges(data='label')
        ):
            yield _objects_of(mapping)
        return
    if len(one) > MOST_NODES:
        raise SearchLimit(
            f'more than {MOST_NODES} objects, some of which look alike, are too many to be compared'
        )
    nx.set_node_attributes(one, first, 'colour')
    nx.set_node_attributes(other, second, 'colour')

    def same_colour(here: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
        tick()
        return bool(here['colour'] == there['colour'])

    def same_label(here: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
        return bool(here['label'] == there['label'])

    matcher = DiGraphMatcher(one, other, same_colour, same_label)
    yield from map(_objects_of, matcher.isomorphisms_iter())


def isomorphism(
    one: nx.DiGraph, other: nx.DiGraph, tick: Callable[[], None] = never_stop
) -> Bijection | None:
    """A bijection of objects that maps one graph onto the other, None where there is none."""
    return next(isomorphisms(one, other, tick), None)


def embeddings(
    small: nx.DiGraph, large: nx.DiGraph, tick: Callable[[], None] = never_stop
) -> Iterator[Bijection]:
    """Every map of the objects of one graph into another that maps its atoms to atoms of that.

    The other one may have more objects and more atoms. `tick` is called as in `isomorphisms`.
    """
    if not set(small.graph['label']) <= set(large.graph['label']):
        return

    def fits(there: Mapping[str, Any], here: Mapping[str, Any]) -> bool:
        tick()
        kind, atoms = here['label'][:2], here['label'][2:]
        return bool(kind == there['label'][:2]) and set(atoms) <= set(there['label'][2:])

    def holds(there: Mapping[str, Any], here: Mapping[str, Any]) -> bool:
        return set(here['label']) <= set(there['label'])

    for mapping in DiGraphMatcher(large, small, fits, holds).subgraph_monomorphisms_iter():
        yield {node[0]: name[0] for name, node in mapping.items() if len(node) == 1}


def _objects_of(mapping: Mapping[Atom, Atom]) -> Bijection:
    return {node[0]: mapping[node][0] for node in mapping if len(node) == 1}


def _refined(
    one: nx.DiGraph, other: nx.DiGraph, tick: Callable[[], None]
) -> tuple[_Colours, _Colours] | None:
    """Colours that every isomorphism keeps; None where their counts show that there is none."""
    both = nx.disjoint_union(one, other)
    roles: dict[Any, int] = {}
    links: list[list[tuple[int, int]]] = [[] for _ in both]
    for start, end, label in both.edges(data='label'):
        role = 2 * roles.setdefault(label, len(roles))
        links[start].append((role, end))
        links[end].append((role + 1, start))
    labels = [repr(label) for _, label in both.nodes(data='label')]
    colours = refined(ranked(labels), links, tick)
    first, second = colours[: len(one)], colours[len(one) :]
    if sorted(first) != sorted(second):
        return None
    return dict(zip(one, first, strict=True)), dict(zip(other, second, strict=True))


def renamed(atoms: Iterable[Atom], names: Mapping[str, str]) -> frozenset[Atom]:
    """Atoms with their objects renamed."""
    return frozenset([(atom[0], *map(names.__getitem__, atom[1:])) for atom in atoms])
