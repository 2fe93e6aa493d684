# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Pictures of states: towers of blocks with the hand over them, or the facts in words elsewhere.

Lines and words take the colour of the text around them, so that a picture fits a light page and a
dark one. The blocks have the colours that they have on the twin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from safegen_ros.language.english import formula_words
from safegen_ros.pddl.facts import is_value
from safegen_ros.pddl.model import Atom, AtomFormula, Problem, State
from safegen_ros.pddl.plan import Step
from safegen_ros.pddl.pruning import changed_predicates
from safegen_ros.record.present.constraint_status import trajectory
from safegen_ros.record.present.html import part
from safegen_ros.record.present.towers import Towers, goal_towers, is_blocksworld, towers_of
from safegen_ros.robot.description.mjcf import legend

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
        problem: the problem.
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
        problem: the problem.
        steps: of the plan.
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
