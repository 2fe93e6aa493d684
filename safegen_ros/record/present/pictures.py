# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Pictures of states: towers of blocks with the hand over them, or the facts in words elsewhere.

Lines and words take the colour of the text around them, so that a picture fits a light page and a
dark one. The blocks have the colours that they have on the twin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from safegen_ros.language.english import formula_words
from safegen_ros.pddl.bits import changed_predicates
from safegen_ros.pddl.model import Atom, AtomFormula, Problem, State
from safegen_ros.pddl.plan import Step
from safegen_ros.record.present.constraint_status import trajectory
from safegen_ros.record.present.markup import element, escaped, list_html
from safegen_ros.record.present.towers import Towers, goal_towers, is_blocksworld, towers_of
from safegen_ros.robot.description.mjcf import legend

MOST_FACTS = 40
"""Most facts that are listed of one state."""

_SIDE, _GAP, _HAND = 34, 12, 52  # of a block; between towers; of the room for the hand
_LONGEST_NAME = 24  # characters
_CHARACTER = 8.2  # width of one at a size of 14


def film_html(
    problem: Problem, states: Sequence[State], titles: Sequence[str] = ()
) -> tuple[str, ...]:
    """A picture of each of several states, in which a tower stays at its place.

    Args:
        problem: the problem.
        states: in order; what is new in each is marked.
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
        found.append(_figure(body, title))
    return tuple(found)


def state_html(problem: Problem, state: State, title: str = '') -> str:
    """A picture of one state."""
    return film_html(problem, (state,), (title,))[0]


def before_after_html(problem: Problem, steps: Sequence[Step], index: int) -> str:
    """The state before a step and the one after it, in which what it changed is marked.

    Where the step does not apply, or an earlier one does not, that is said in place of a picture.

    Args:
        problem: the problem.
        steps: of the plan.
        index: of the step, from 0.
    """
    states = trajectory(problem, steps)
    if index >= len(states):
        what = f'Step {len(states)} is not possible, so that step {index + 1} is never reached.'
        return element('p', what)
    names = (f'before step {index + 1}', f'after step {index + 1}')
    pair = states[index : index + 2]
    pictures = film_html(problem, pair, names[: len(pair)])
    if len(pair) == 2:
        return element('div', *pictures, class_='sg-pair')
    none = element('p', f'There is no state after step {index + 1}: it is not possible here.')
    return element('div', *pictures, _figure(none, names[1]), class_='sg-pair')


def goal_html(problem: Problem, title: str = '') -> str:
    """What the goal asks for: the towers it names, or its conditions in words."""
    found = goal_towers(problem)
    if found is None:
        parts = [escaped(formula_words(part, problem)) for part in problem.goal_conjuncts()]
        return _figure(list_html(parts), title)
    told = f'goal: {formula_words(problem.goal, problem)}'
    return _figure(_towers(problem, found, frozenset(), told), title)


def _figure(body: str, title: str) -> str:
    caption = element('figcaption', escaped(title)) if title else ''
    return element('figure', caption, body, class_='sg-picture')


def _spoken(problem: Problem, state: State) -> str:
    shown = sorted(atom for atom in state if atom[0] != 'clear')
    return '; '.join(fact_words(problem, atom) for atom in shown[:MOST_FACTS])


def fact_words(problem: Problem, atom: Atom) -> str:
    """An atom in words."""
    return formula_words(AtomFormula(atom[0], atom[1:]), problem)


def _facts(problem: Problem, state: State, new: State, gone: State) -> str:
    """The facts that can change, those that did with a sign before them."""
    changing = changed_predicates(problem)
    shown = sorted(atom for atom in state if atom[0] in changing)
    # What has changed comes first, since a long list is cut.
    shown.sort(key=lambda atom: atom not in new)
    items = [
        element('ins', f'+ {escaped(fact_words(problem, atom))} (new)')
        if atom in new
        else escaped(fact_words(problem, atom))
        for atom in shown[:MOST_FACTS]
    ]
    items += [
        element('del', f'− {escaped(fact_words(problem, atom))} (no more)')  # noqa: RUF001
        for atom in sorted(gone)[:MOST_FACTS]
    ]
    if len(shown) > MOST_FACTS:
        items.append(f'and {len(shown) - MOST_FACTS} more')
    return list_html(items or ['nothing that can change is true'])


def _towers(problem: Problem, drawn: Towers, new: State, told: str) -> str:
    """Towers on a table, seen from the side, with the hand above."""
    names = [*problem.objects]
    colours = legend(names)
    width = _block_width(names)
    pitch = width + _GAP
    total = pitch * drawn.columns + _GAP
    floor = _HAND + _SIDE * drawn.height + 4
    moved = {atom[1] for atom in new if atom[0] in ('on', 'on-table', 'holding')}
    parts = [element('title', escaped(told, 600))]
    for name, (column, level) in drawn.places.items():
        x = _GAP + pitch * column
        y = floor - _SIDE * (level + 1)
        parts.append(_block(name, x, y, width, colours[name][1], name in moved))
    for column in drawn.anywhere:
        x = _GAP + pitch * column
        parts.append(_text('anywhere', x + width / 2, floor + 14, 11))
    hand = _GAP + pitch * drawn.hand + width / 2
    parts += _hand(drawn, hand, width, colours, moved)
    parts.append(_line(2, floor, total - 2, floor, 3))
    height = floor + 20
    return element(
        'svg', *parts, viewBox=f'0 0 {total:g} {height:g}',
        width=total, height=height, role='img', aria_label=told,
    )  # fmt: skip


def _block_width(names: Sequence[str]) -> float:
    longest = max((min(len(name), _LONGEST_NAME) for name in names), default=2)
    return max(_SIDE + 6, _CHARACTER * longest + 12)


def _block(
    name: str, x: float, y: float, width: float, rgb: tuple[float, float, float], moved: bool
) -> str:
    red, green, blue = (round(255 * value) for value in rgb)
    ink = '#000' if _luminance(rgb) > 0.18 else '#fff'
    box = element(
        'rect', x=x, y=y + 1, width=width, height=_SIDE - 2, rx=4,
        fill=f'rgb({red},{green},{blue})', stroke='currentColor', stroke_width=3 if moved else 1,
    )  # fmt: skip
    short = name if len(name) <= _LONGEST_NAME else f'{name[: _LONGEST_NAME - 1]}…'
    label = _text(short, x + width / 2, y + _SIDE / 2 + 5, 14, ink)
    mark = _text('◆', x + 8, y + 12, 9, ink) if moved else ''
    return element('g', box, label, mark)


def _luminance(rgb: tuple[float, float, float]) -> float:
    """About what WCAG calls so, which tells the ink that is read better."""
    weights = (0.2126, 0.7152, 0.0722)
    red, green, blue = (float(value**2.2) for value in rgb)
    return weights[0] * red + weights[1] * green + weights[2] * blue


def _hand(
    drawn: Towers,
    x: float,
    width: float,
    colours: Mapping[str, tuple[str, tuple[float, float, float]]],
    moved: set[str],
) -> list[str]:
    """The hand, with the block that it holds."""
    if drawn.hand_unknown:
        return []
    parts = [_line(x, 0, x, 8, 3), _line(x - width / 2 - 3, 8, x + width / 2 + 3, 8, 3)]
    parts += [_line(x + s * (width / 2 + 3), 8, x + s * (width / 2 + 3), 18, 3) for s in (-1, 1)]
    if drawn.held:
        rgb = colours[drawn.held][1]
        parts.append(_block(drawn.held, x - width / 2, 11, width, rgb, drawn.held in moved))
    else:
        parts.append(_text('empty', x, 24, 11))
    return parts


def _line(x1: float, y1: float, x2: float, y2: float, width: float) -> str:
    return element(
        'line', x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), stroke='currentColor',
        stroke_width=width, stroke_linecap='round',
    )  # fmt: skip


def _text(text: str, x: float, y: float, size: float, ink: str = 'currentColor') -> str:
    return element(
        'text', escaped(text), x=float(x), y=float(y), text_anchor='middle', font_size=size,
        font_family='sans-serif', fill=ink,
    )  # fmt: skip
