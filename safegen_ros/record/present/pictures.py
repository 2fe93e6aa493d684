# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Pictures of states: towers of blocks with the hand over them, or the facts in words elsewhere.

Lines and words take the colour of the text around them, so that a picture fits a light page and a
dark one. The blocks have the colours that they have on the twin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from safegen_ros.language.english import formula_words
from safegen_ros.pddl.deciding import changed_predicates
from safegen_ros.pddl.facts import is_value
from safegen_ros.pddl.model import Atom, AtomFormula, Problem, State
from safegen_ros.pddl.plan import Step
from safegen_ros.record.present.constraint_status import trajectory
from safegen_ros.record.present.html import part
from safegen_ros.robot.description.mjcf import legend
from safegen_ros.tasks.pddl3.domains import builtin_domain

MOST_BLOCKS = 40
"""Most blocks that are drawn; more of them are listed in words."""


@dataclass(frozen=True, slots=True)
class Towers:
    """A state as it is drawn.

    Attributes:
        places: column and level of each block that stands, both from 0.
        height: of the highest tower that it has room for [blocks].
        hand: the column over which the hand is.
        held: the block in it, if any.
        anywhere: columns whose lowest block may stand on anything.
        hand_unknown: whether the hand is not shown.
    """

    places: dict[str, tuple[int, int]]
    columns: int
    height: int
    hand: int = 0
    held: str = ''
    anywhere: tuple[int, ...] = ()
    hand_unknown: bool = False


def is_blocksworld(problem: Problem) -> bool:
    """Whether a problem has blocks as the built-in domain does, and not too many."""
    ours = builtin_domain('blocksworld').predicates
    return dict(problem.domain.predicates) == dict(ours) and len(problem.objects) <= MOST_BLOCKS


def towers_of(problem: Problem, states: Sequence[State]) -> tuple[Towers, ...] | None:
    """The towers of several states, each at its place; None where some state has none to draw.

    A tower stands where it stood before; a block that is put on the table gets the column that it
    last had, or else the first free one.
    """
    home: dict[str, int] = {}
    hand = 0
    found: list[Towers] = []
    for state in states:
        piles = _piles(state)
        held = next((atom[1] for atom in state if atom[0] == 'holding'), '')
        standing = [name for pile in piles for name in pile]
        if sorted([*standing, *filter(None, [held])]) != sorted(problem.objects):
            return None
        standing_before = found[-1].places.keys() if found else frozenset()
        columns = _columns(problem, piles, home, standing_before)
        places = {
            name: (column, level)
            for pile, column in zip(piles, columns, strict=True)
            for level, name in enumerate(pile)
        }
        home.update({name: column for name, (column, _) in places.items()})
        moved = places.keys() if not found else places.keys() - found[-1].places.keys()
        if held:
            hand = home.setdefault(held, hand)
        elif found and moved:
            hand = home[min(moved)]
        found.append(Towers(places, 0, max(map(len, piles), default=0), hand, held))
    used = [column for each in found for column, _ in each.places.values()]
    columns_needed = 1 + max([*used, *home.values()], default=0)
    height = max(each.height for each in found) if found else 0
    return tuple(replace(each, columns=columns_needed, height=height) for each in found)


def _columns(
    problem: Problem, piles: Sequence[Sequence[str]], home: Mapping[str, int], stood: Set[str]
) -> list[int]:
    """A column for each pile, by its lowest block; first for those whose lowest block stood."""
    order = [*problem.objects]
    chosen: dict[str, int] = {}
    for base in sorted((pile[0] for pile in piles), key=lambda b: (b not in stood, order.index(b))):
        wanted = home.get(base)
        if wanted is None or wanted in chosen.values():
            wanted = next(c for c in range(len(piles)) if c not in chosen.values())
        chosen[base] = wanted
    return [chosen[pile[0]] for pile in piles]


def _piles(state: Iterable[Atom]) -> list[list[str]]:
    """The towers of a state, each from the table up; blocks that stand on nothing are left out."""
    above = {atom[2]: atom[1] for atom in state if atom[0] == 'on'}
    piles = []
    for base in sorted(atom[1] for atom in state if atom[0] == 'on-table'):
        pile = [base]
        while (upper := above.get(pile[-1])) is not None and upper not in pile:
            pile.append(upper)
        piles.append(pile)
    return piles


def wanted_towers(problem: Problem) -> tuple[tuple[str, ...], ...]:
    """The towers that a goal asks for, each from below; none where it asks for anything else too.

    Whether the lowest block has to stand on the table is in the goal itself.
    """
    atoms = [part for part in problem.goal_conjuncts() if isinstance(part, AtomFormula)]
    wanted = {(part.predicate, *part.terms) for part in atoms}
    if not is_blocksworld(problem) or len(atoms) < len(problem.goal_conjuncts()):
        return ()
    if not wanted or {atom[0] for atom in wanted} - {'on', 'on-table', 'clear'}:
        return ()
    named = {name for atom in wanted for name in atom[1:]}
    upper = {atom[1] for atom in wanted if atom[0] == 'on'}
    lowest = {('on-table', name) for name in named - upper}
    piles = _piles({*(atom for atom in wanted if atom[0] == 'on'), *lowest})
    drawn = [name for pile in piles for name in pile]
    supported = [atom[1] for atom in wanted if atom[0] in ('on', 'on-table')]
    # What contradicts itself, such as a block on two others, is not a tower.
    if sorted(drawn) != sorted(named) or len(set(supported)) < len(supported):
        return ()
    order = [*problem.objects]
    return tuple(sorted(map(tuple, piles), key=lambda pile: order.index(pile[0])))


def goal_towers(problem: Problem) -> Towers | None:
    """The same to be drawn; None where there is nothing to draw."""
    piles = wanted_towers(problem)
    if not piles:
        return None
    places = {
        name: (column, level)
        for column, pile in enumerate(piles)
        for level, name in enumerate(pile)
    }
    table = {
        part.terms[0]
        for part in problem.goal_conjuncts()
        if isinstance(part, AtomFormula) and part.predicate == 'on-table'
    }
    anywhere = tuple(column for column, pile in enumerate(piles) if pile[0] not in table)
    height = max(map(len, piles))
    return Towers(places, len(piles), height, anywhere=anywhere, hand_unknown=True)


MOST_FACTS = 40
"""Most facts that are listed of one state."""

_SIDE, _GAP, _HAND = 34, 12, 52  # of a block; between towers; of the room for the hand
_LONGEST_NAME = 24  # characters
_CHARACTER = 8.2  # width of one at a size of 14
_ANYWHERE = 64  # from one label of that text to the next


def film_html(
    problem: Problem, states: Sequence[State], titles: Sequence[str] = ()
) -> tuple[str, ...]:
    """A picture of each of several states, in which a tower stays at its place.

    Args:
        states: in order; the changes in each are marked.
        titles: a caption for each; none by default.
    """
    drawn = towers_of(problem, states) if is_blocksworld(problem) else None
    found = []
    for index, state in enumerate(states):
        before = states[index - 1] if index else state
        title = titles[index] if titles else ''
        new, gone = state - before, before - state
        body = (
            _facts(problem, state, new, gone)
            if drawn is None
            else _towers(problem, drawn[index], new, _spoken(problem, state))
        )
        found.append(part('figure', body, title))
    return tuple(found)


def state_html(problem: Problem, state: State, title: str = '') -> str:
    """A picture of one state."""
    return film_html(problem, (state,), (title,))[0]


def before_after_html(problem: Problem, steps: Sequence[Step], index: int) -> str:
    """The state before a step and the one after it, in which what it changed is marked.

    Where the step does not apply, or an earlier one does not, a sentence replaces the picture.

    Args:
        index: of the step, from 0.
    """
    states = trajectory(problem, steps)
    if index >= len(states):
        what = f'Step {len(states)} is not possible, so that step {index + 1} is never reached.'
        return part('note', what)
    names = (f'before step {index + 1}', f'after step {index + 1}')
    pair = states[index : index + 2]
    pictures = film_html(problem, pair, names[: len(pair)])
    if len(pair) < 2:
        none = part('note', f'There is no state after step {index + 1}: it is not possible here.')
        pictures = (*pictures, part('figure', none, names[1]))
    return part('pair', pictures)


def goal_html(problem: Problem, title: str = '') -> str:
    """What the goal asks for: the towers it names, or its conditions in words."""
    found = goal_towers(problem)
    if found is None:
        told = [formula_words(each, problem) for each in problem.goal_conjuncts()]
        return part('figure', part('items', told), title)
    spoken = f'goal: {formula_words(problem.goal, problem)}'
    return part('figure', _towers(problem, found, frozenset(), spoken), title)


def _spoken(problem: Problem, state: State) -> str:
    shown = sorted(atom for atom in state if atom[0] != 'clear')
    return '; '.join(fact_words(problem, atom) for atom in shown[:MOST_FACTS])


def fact_words(problem: Problem, atom: Atom) -> str:
    """An atom in words, or the value of a function."""
    if is_value(atom):
        return f'{atom[1]} is {atom[2]}'
    return formula_words(AtomFormula(atom[0], atom[1:]), problem)


def _facts(problem: Problem, state: State, new: State, gone: State) -> str:
    """The facts that can change, those that did with a sign before them."""
    changing = changed_predicates(problem) | {'='}  # values
    shown = sorted(atom for atom in state if atom[0] in changing)
    # What has changed comes first, since a long list is cut.
    shown.sort(key=lambda atom: atom not in new)
    told = [(fact_words(problem, atom), atom in new) for atom in shown[:MOST_FACTS]]
    lost = [fact_words(problem, atom) for atom in sorted(gone)[:MOST_FACTS]]
    return part('facts', told, lost, max(0, len(shown) - MOST_FACTS))


def _towers(problem: Problem, drawn: Towers, new: State, told: str) -> str:
    """Towers on a table, seen from the side, with the hand above."""
    names = [*problem.objects]
    colours = legend(names)
    longest = max((min(len(name), _LONGEST_NAME) for name in names), default=2)
    width = max(_SIDE + 6, _CHARACTER * longest + 12)
    pitch = max(width + _GAP, _ANYWHERE if drawn.anywhere else 0)
    floor = _HAND + _SIDE * drawn.height + 4
    moved = {atom[1] for atom in new if atom[0] in ('on', 'on-table', 'holding')}

    def block(name: str, x: float, y: float) -> dict[str, Any]:
        rgb = colours[name][1]
        return {
            'name': name if len(name) <= _LONGEST_NAME else f'{name[: _LONGEST_NAME - 1]}…',
            'x': x,
            'y': y,
            'width': width,
            'rgb': [round(255 * value) for value in rgb],
            'ink': '#000' if _luminance(rgb) > 0.18 else '#fff',
            'moved': name in moved,
        }

    blocks = [
        block(name, _GAP + pitch * column, floor - _SIDE * (level + 1))
        for name, (column, level) in drawn.places.items()
    ]
    hand: dict[str, Any] | None = None
    if not drawn.hand_unknown:
        x = _GAP + pitch * drawn.hand
        held = block(drawn.held, x, 11) if drawn.held else None
        hand = {'x': x + width / 2, 'half': width / 2 + 3, 'held': held}
    anywhere = [_GAP + pitch * column + width / 2 for column in drawn.anywhere]
    total = pitch * drawn.columns + _GAP
    return part('towers', told, blocks, _SIDE, total, floor, anywhere, hand)


def _luminance(rgb: tuple[float, float, float]) -> float:
    """The luminance of WCAG, about, which shows the ink that is read better."""
    weights = (0.2126, 0.7152, 0.0722)
    red, green, blue = (float(value**2.2) for value in rgb)
    return weights[0] * red + weights[1] * green + weights[2] * blue
