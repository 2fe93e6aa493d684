# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A plan over time: a Gantt chart of steps that take time, and the numbers that they change.

Times and numbers are those of the proof (`verify.timed_actions`), or those that a run measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice, takewhile
from typing import Any

from safegen_ros.errors import PlanFormatError, SafegenError
from safegen_ros.pddl.facts import is_value, told_value
from safegen_ros.pddl.model import Number, Problem, State
from safegen_ros.pddl.moments import follows, plan_of_steps
from safegen_ros.pddl.numbers import NoNumber
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.record.present.constraint_status import trajectory
from safegen_ros.record.present.html import part
from safegen_ros.record.present.runs import WorldFrame
from safegen_ros.record.present.wording import step_words
from safegen_ros.record.run import AttemptRecord, RunRecord
from safegen_ros.record.run_log import told_steps
from safegen_ros.verdict import Category
from safegen_ros.verify.timed_actions import TimedActions

MOST_STEPS, MOST_LINES = 200, 8
"""Most steps of a plan that is drawn, and numbers that are drawn over it."""

_WIDTH, _LANE, _LINE = 400, 22, 64  # of the drawing; of a row of bars; of a number
_DIGIT, _APART = 7, 30  # width of a digit; least distance of two values that are written
_TICKS = 5


@dataclass(frozen=True, slots=True)
class GanttChart:
    """A plan over time.

    Attributes:
        bars: name of the row, start, end, and words of each step; empty where steps take no time.
        lines: name of each number that changes, and when it has which value.
        end: of the plan, in `unit`.
        known: until when the numbers are known.
        steps: when each step of the executor begins and ends; such a step is one of the plan, or
            what happens at a moment where steps overlap.
        unit: 's', or 'steps' where steps take no time.
    """

    bars: tuple[tuple[str, float, float, str], ...]
    lines: tuple[tuple[str, tuple[tuple[float, Number], ...]], ...]
    end: float
    known: float
    unit: str
    steps: tuple[tuple[float, float], ...] = ()


def chart_of(problem: Problem, plan: Plan, states: int | None = None) -> GanttChart | None:
    """The chart of a plan; None where it takes no time and changes no number.

    Args:
        plan: its steps; without times, as they follow each other.
        states: how many states of it are proved; all where None.
    """
    over_time = bool(problem.domain.durative or problem.timed)
    if not plan.steps or len(plan) > MOST_STEPS or not (over_time or problem.domain.functions):
        return None
    try:
        if not over_time:
            found = enumerate(trajectory(problem, plan.steps))
            return _chart(problem, Plan(plan.steps), islice(found, states))
        timed = TimedActions(problem)
        plan = timed.timed(plan)
        moments = ((time, timed.table.decode(bits)) for time, bits in timed.states(plan))
        return _chart(problem, plan, islice(moments, states))
    except (KeyError, ValueError, NoNumber):  # steps that the task does not know
        return None


def chart_of_attempt(problem: Problem, attempt: AttemptRecord) -> GanttChart | None:
    """The chart of a model's plan, its numbers as far as the plan is proved."""
    verdict = attempt.verdict
    if verdict.category in (Category.UNKNOWN, Category.FORMAT_ERROR):
        return None
    try:
        plan = plan_of_steps(told_steps(attempt.steps))
        written = parse_plan(attempt.text, timed=True)
        plan = written if written.steps == plan.steps else plan
    except PlanFormatError:
        pass  # it is written in another way
    except SafegenError:
        return None
    until = None if verdict.ok or verdict.failing_state < 0 else verdict.failing_state + 1
    return chart_of(problem, plan, until)


def chart_of_steps(problem: Problem, texts: Sequence[str]) -> GanttChart | None:
    """The chart of a proved plan by its steps as they are approved and executed."""
    try:
        return chart_of(problem, plan_of_steps(told_steps(texts)))
    except SafegenError:
        return None


def chart_of_run(
    problem: Problem, record: RunRecord, frames: Sequence[WorldFrame]
) -> GanttChart | None:
    """The chart of the executed plan, with the measured times and numbers."""
    planned = chart_of_steps(problem, record.plan)
    if planned is None or not planned.bars or record.replans:
        return None
    told = {each.index: each for each in record.steps if each.seconds is not None}
    begun, ended = dict[float, float](), dict[float, float]()  # by the time in the plan
    for index, (start, end) in enumerate(planned.steps):
        if index in told:
            begun[start] = told[index].begun_s
            ended[end] = told[index].begun_s + (told[index].seconds or 0.0)
    if planned.steps != tuple(bar[1:3] for bar in planned.bars):
        begun = ended  # a moment happens at the end of its step
    bars = tuple(
        (row, begun[start], ended[end], words)
        for row, start, end, words in planned.bars
        if start in begun and end in ended
    )
    seen = [(frame.at, frame.state) for frame in frames if frame.at is not None]
    lines, known = _lines([(0.0, frames[0].state), *seen])
    if not bars:
        return None
    return GanttChart(bars, lines, max(known, *(end for _, _, end, _ in bars)), known, 's')


def _chart(
    problem: Problem, plan: Plan, moments: Iterable[tuple[float | Decimal, State]]
) -> GanttChart | None:
    rows = _rows(problem, plan)
    bars = tuple(
        (row, float(start), float(start + duration), step_words(step, problem))
        for row, step, (start, duration) in zip(rows, plan.steps, plan.times, strict=False)
    )
    end = max((end for _, _, end, _ in bars), default=float(len(plan)))
    # Timed events of the world may come long after the plan.
    lines, known = _lines(takewhile(lambda moment: float(moment[0]) <= end, moments))
    if not bars and not lines:
        return None
    steps = tuple(bar[1:3] for bar in bars)
    if not follows(plan):
        times = sorted({time for bar in bars for time in bar[1:3]})
        steps = tuple(zip([0.0, *times], times, strict=False))
    return GanttChart(bars, lines, end, known, 's' if bars else 'steps', steps)


def _lines(
    moments: Iterable[tuple[float | Decimal, State]],
) -> tuple[tuple[tuple[str, tuple[tuple[float, Number], ...]], ...], float]:
    """Each number that changes, and until when the numbers are known."""
    values: dict[str, list[tuple[float, Number]]] = {}
    time: float | Decimal = 0
    for time, state in moments:
        for function, value in map(told_value, filter(is_value, state)):
            line = values.setdefault(' '.join(function), [])
            if not line or line[-1][1] != value:
                line.append((float(time), value))
    lines = ((name, tuple(line)) for name, line in sorted(values.items()) if len(line) > 1)
    return tuple(lines), float(time)


def _rows(problem: Problem, plan: Plan) -> list[str]:
    """Who does each step, which is the one object of a type in all of them; else its action."""
    kinds = [
        [kind for _, kind in problem.domain.actions[step.action].parameters] for step in plan.steps
    ]
    single = [kind for kind in kinds[0] if all(each.count(kind) == 1 for each in kinds)]
    if not single:
        return [step.action for step in plan.steps]
    return [
        step.arguments[each.index(single[0])] for step, each in zip(plan.steps, kinds, strict=True)
    ]


def chart_html(
    chart: GanttChart | None, *, fails: int = -1, done: int = 0, now: float | None = None
) -> str:
    """The chart as a figure with its text for who does not see it; empty where there is none.

    Args:
        fails: index of the step that fails; -1 where none does.
        done: how many steps of the executor are done.
        now: the present, on the clock of the plan; None where it does not run.
    """
    if chart is None:
        return ''
    scale = _WIDTH / (chart.end or 1)
    over = chart.steps[done - 1][1] if 0 < done <= len(chart.steps) else -1.0
    rows: list[dict[str, Any]] = []
    top = 0.0
    for name in dict.fromkeys(row for row, *_ in chart.bars):
        lanes: list[float] = []  # the end of the last bar of each
        bars = []
        for index, (row, start, end, words) in enumerate(chart.bars):
            if row != name:
                continue
            lane = next((i for i, free in enumerate(lanes) if free <= start), len(lanes))
            lanes[lane : lane + 1] = [end]
            running = now is not None and start <= now
            kind = 'fails' if index == fails else 'done' if end <= over else 'now' * running
            width = max((end - start) * scale - 1, 2)
            label = f'{_MARKS[kind]}{index + 1}'
            told = f'step {index + 1}, {words}, {_number(start)} to {_number(end)} s{_SAID[kind]}'
            bars.append(
                {'x': start * scale, 'y': top + 16 + _LANE * lane, 'width': width, 'kind': kind,
                 'label': label if _DIGIT * len(label) < width else '', 'told': told}
            )  # fmt: skip
        rows.append({'name': name, 'y': top + 12, 'bars': bars})
        top += 20 + _LANE * len(lanes)
    lines = []
    for name, values in chart.lines[:MOST_LINES]:
        lines.append({'name': name, 'y': top + 12, **_line(values, chart, top + 18, scale)})
        top += _LINE
    step = _tick(chart.end)
    ticks = [(_number(i * step), i * step * scale) for i in range(int(chart.end / step) + 1)]
    at = None if now is None else min(now, chart.end) * scale
    left = len(chart.lines) - len(lines)
    spoken = '; '.join(_spoken(chart, rows, lines))
    return part('chart', rows, lines, ticks, chart.unit, at, _WIDTH, top, spoken, left)


_SAID = {'': '', 'done': ' (done)', 'fails': ' (here it fails)', 'now': ' (now)'}
_MARKS = {'': '', 'done': '✓', 'fails': '✕', 'now': '▶'}


def _line(
    values: Sequence[tuple[float, Number]], chart: GanttChart, top: float, scale: float
) -> dict[str, Any]:
    """A number over the plan as a path, with the values that there is room for."""
    numbers = [value for _, value in values]
    low, span = min(numbers), max(numbers) - min(numbers)
    height = _LINE - 36
    points = [
        (time * scale, top + 12 + height * (1 - float(Fraction(value - low) / span)))
        for time, value in values
    ]
    path = f'M{points[0][0]:.1f} {points[0][1]:.1f}'
    path += ''.join(f'H{x:.1f}V{y:.1f}' for x, y in points[1:]) + f'H{chart.known * scale:.1f}'
    shown: list[tuple[float, float, str]] = []
    for (x, y), value in zip(points, numbers, strict=True):
        if not shown or x - shown[-1][0] >= _APART:
            shown.append((x, y, _number(value)))
    told = [f'{_number(value)} from {_number(time)}' for time, value in values]
    return {'path': path, 'shown': shown, 'told': told}


def _spoken(
    chart: GanttChart, rows: list[dict[str, Any]], lines: list[dict[str, Any]]
) -> list[str]:
    told = [f'{len(chart.bars)} steps in {_number(chart.end)} s'] if chart.bars else []
    told += [f'{row["name"]}: {", ".join(bar["told"] for bar in row["bars"])}' for row in rows]
    return told + [f'{line["name"]} is {", ".join(line["told"])} {chart.unit}' for line in lines]


def _number(value: Number | float) -> str:
    exact = Fraction(value)
    return f'{Decimal(exact.numerator) / Decimal(exact.denominator):.5g}'.removesuffix('.0')


def _tick(end: float) -> float:
    """A round distance, of which there are at most `_TICKS` up to the end."""
    size = Decimal(1).scaleb(Decimal(end or 1).adjusted() - 1)
    return float(next(s * size for s in (1, 2, 5, 10, 20, 50, 100) if end <= _TICKS * s * size))
