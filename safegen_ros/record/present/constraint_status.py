# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where each constraint and the goal stand in every state of a plan, as a row of lights.

The automata are those of `verify.monitors`, which the verdict and the run-time monitor come from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from safegen_ros.language.english import constraint_sentence, formula_words
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.ground import Grounder, goal_tests
from safegen_ros.pddl.model import Problem, State
from safegen_ros.pddl.plan import Step
from safegen_ros.pddl.writer import constraint_text, formula_text
from safegen_ros.record.present.markup import element, escaped
from safegen_ros.verify.monitors import MonitorSet, Status

RULE, GOAL = 'rule', 'goal'

MOST_LIGHTS = 30
"""Most constraints that are drawn; those that are not kept come before the others then."""

WORDS = {Status.SATISFIED: 'kept', Status.PENDING: 'still open', Status.VIOLATED: 'broken'}
"""What a light says."""

_GOAL_WORDS = {Status.SATISFIED: 'reached', Status.PENDING: 'not reached yet'}
_COLOURS = {Status.SATISFIED: '#1a7f4b', Status.PENDING: '#b26b00', Status.VIOLATED: '#c62828'}
_PITCH, _RADIUS, _HEIGHT = 26, 9, 40  # of a light in its picture
_PER_ROW = 20


@dataclass(frozen=True, slots=True)
class Light:
    """A constraint, or the goal, over the states of a plan.

    Attributes:
        kind: `RULE` or `GOAL`.
        formula: PDDL.
        plain: the same in words.
        standings: where it stands in s0 and after each step; the goal is satisfied or pending.
    """

    kind: str
    formula: str
    plain: str
    standings: tuple[Status, ...]


def trajectory(problem: Problem, steps: Sequence[Step]) -> tuple[State, ...]:
    """s0 and the state after each step, up to the first step that does not apply."""
    table = AtomTable(problem, fold_static=False)
    grounder = Grounder(problem, table)
    bits = table.encode(problem.init)
    found = [problem.init]
    for step in steps:
        try:
            action = grounder.action(step)
        except (KeyError, ValueError):
            break
        if not action.applicable(bits):
            break
        bits = action.apply(bits)
        found.append(table.decode(bits))
    return tuple(found)


def lights(problem: Problem, steps: Sequence[Step]) -> tuple[Light, ...]:
    """A light for each constraint and, as the last one, for the goal, as far as the steps apply."""
    return lights_observed(problem, trajectory(problem, steps))


def lights_observed(problem: Problem, states: Sequence[State]) -> tuple[Light, ...]:
    """The same for states that were observed; the first one is the initial state."""
    table = AtomTable(problem, fold_static=False)
    monitors = MonitorSet(problem, table)
    goals = goal_tests(problem, table)
    rows: list[list[Status]] = [[] for _ in monitors.monitors]
    reached: list[Status] = []
    standing = 0
    for index, state in enumerate(states):
        bits = table.encode(state)
        standing = monitors.progress(standing, bits) if index else monitors.start(bits)
        for row, monitor in zip(rows, monitors.monitors, strict=True):
            row.append(monitor.status(standing))
        met = all(test(bits) for _, test in goals)
        reached.append(Status.SATISFIED if met else Status.PENDING)
    found = [
        Light(
            RULE,
            constraint_text(monitor.constraint),
            constraint_sentence(monitor.constraint, problem),
            tuple(row),
        )
        for row, monitor in zip(rows, monitors.monitors, strict=True)
    ]
    goal = formula_words(problem.goal, problem)
    return (*found, Light(GOAL, formula_text(problem.goal), goal, tuple(reached)))


def light_words(
    light: Light, now: int | None = None, ended: bool = False, planned: bool = False
) -> str:
    """What a light says in a few words.

    Args:
        light: the light.
        now: index of the state that is the present; None for the last one.
        ended: whether no step comes any more, so that what is open stays so.
        planned: whether these are the states of a plan, which nobody need have executed.
    """
    by = ' by this plan' if planned and ended else ''
    shown = light.standings if now is None else light.standings[: now + 1]
    if not shown:
        return 'not looked at yet'
    if light.kind == GOAL:
        if ended and shown[-1] is Status.PENDING:
            return f'not reached{by}'
        return f'{_GOAL_WORDS[shown[-1]]}{by}'
    if Status.VIOLATED in shown:
        return f'broken {_moment(shown.index(Status.VIOLATED))}'
    if shown[-1] is Status.PENDING:
        return 'not kept by the end' if ended else WORDS[Status.PENDING]
    return f'kept{by}' if ended else 'kept so far'


def _moment(index: int) -> str:
    return f'by step {index}' if index else 'at the start'


def lights_html(
    shown: Sequence[Light],
    now: int | None = None,
    fail: int | None = None,
    ended: bool = False,
    planned: bool = False,
) -> str:
    """The lights as figures, each with its words and a row of signs.

    Args:
        shown: what `lights` returned.
        now: index of the state that is the present, after which all is foreseen; None for the end,
            or for the state in which a plan fails.
        fail: index of the state in which a plan fails; None where it does not.
        ended: whether no step comes any more.
        planned: whether these are the states of a plan, which nobody need have executed.
    """
    now = fail if now is None else now
    figures = []
    for number, light in _drawn(shown):
        title = 'Goal' if light.kind == GOAL else f'Rule {number}'
        state = light_words(light, now, ended, planned)
        caption = element(
            'figcaption',
            element('b', f'{title}: {escaped(state)}. '),
            escaped(light.plain),
        )
        figures.append(element('figure', caption, *_rows(light, now, fail), class_='sg-light'))
    if len(shown) > len(figures):
        figures.append(element('p', f'{len(shown) - len(figures)} more rules are not drawn.'))
    return element('div', *figures, class_='sg-lights')


def _drawn(shown: Sequence[Light]) -> list[tuple[int, Light]]:
    """The lights that there is room for, with their numbers from 1."""
    numbered = list(enumerate(shown, 1))
    if len(numbered) <= MOST_LIGHTS:
        return numbered

    def rank(pair: tuple[int, Light]) -> int:
        light = pair[1]
        if light.kind == GOAL or Status.VIOLATED in light.standings:
            return 0
        return 1 if light.standings[-1:] == (Status.PENDING,) else 2

    return sorted(sorted(numbered, key=rank)[:MOST_LIGHTS])


def legend_html() -> str:
    """What the signs mean."""
    signs = [
        element(
            'span',
            _svg(22, 22, _sign(status, 11, 11), aria_hidden='true'),
            f' {WORDS[status]}',
            class_='sg-key',
        )
        for status in Status
    ]
    told = 'One sign for the start (0) and one after each step.'
    return element('p', f'{told} ', ' '.join(signs), class_='sg-legend')


def _rows(light: Light, now: int | None, fail: int | None) -> Iterator[str]:
    for begin in range(0, len(light.standings), _PER_ROW):
        part = light.standings[begin : begin + _PER_ROW]
        parts = [element('title', escaped(_spoken(light)))] if not begin else []
        for place, status in enumerate(part):
            index = begin + place
            x = _PITCH * place + _PITCH / 2
            if index == fail:
                parts.append(_band(x))
            foreseen = now is not None and index > now
            parts.append(element('g', _sign(status, x, 13), opacity=0.45 if foreseen else None))
            parts.append(_number(str(index), x, bold=index in (now, fail)))
        told = _spoken(light) if not begin else f'from step {begin} on'
        yield _svg(_PITCH * len(part), _HEIGHT, *parts, role='img', aria_label=told)


def _svg(width: float, height: float, *parts: str, **attributes: object) -> str:
    return element(
        'svg', *parts, viewBox=f'0 0 {width:g} {height:g}',
        width=width, height=height, **attributes,
    )  # fmt: skip


def _spoken(light: Light) -> str:
    """The whole row in words."""
    words = _GOAL_WORDS if light.kind == GOAL else WORDS
    told = []
    for status, members in groupby(enumerate(light.standings), key=lambda pair: pair[1]):
        indices = [index for index, _ in members]
        first, last = indices[0], indices[-1]
        begin = f'step {first}' if first else 'start'
        when = begin if first == last else f'{begin} to step {last}'
        told.append(f'{when}: {words[status]}')
    return '; '.join(told)


def _sign(status: Status, x: float, y: float) -> str:
    """A sign that is told by its form: a tick in a disc, an open ring, a cross in a square."""
    colour, r = _COLOURS[status], _RADIUS
    if status is Status.SATISFIED:
        tick = f'M{x - 4.5:g} {y:g}l3.2 3.4l5.6 -6.6'
        return element('circle', cx=x, cy=y, r=r, fill=colour) + _stroke(tick)
    if status is Status.PENDING:
        ring = element('circle', cx=x, cy=y, r=r - 1.5, fill='none', stroke=colour, stroke_width=3)
        return ring + element('circle', cx=x, cy=y, r=1.8, fill=colour)
    cross = f'M{x - 4:g} {y - 4:g}l8 8m0 -8l-8 8'
    return element(
        'rect', x=x - r, y=y - r, width=2 * r, height=2 * r, rx=2, fill=colour
    ) + _stroke(cross)


def _stroke(path: str) -> str:
    return element(
        'path', d=path, fill='none', stroke='#fff', stroke_width=2.4, stroke_linecap='round'
    )


def _band(x: float) -> str:
    return element(
        'rect', x=x - 12, y=1, width=24, height=_HEIGHT - 2, rx=4, fill='none',
        stroke=_COLOURS[Status.VIOLATED], stroke_width=1.5, stroke_dasharray='4 2',
    )  # fmt: skip


def _number(text: str, x: float, *, bold: bool) -> str:
    return element(
        'text', text, x=x, y=36, text_anchor='middle', font_size=11, fill='currentColor',
        font_weight='bold' if bold else None,
    )  # fmt: skip
