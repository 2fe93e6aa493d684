# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A verdict for a program, as JSON values; a verdict and the facts of a run for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.markup import escape
from rich.text import Text

from safegen_ros.pddl.writer import value_text
from safegen_ros.record.present.telling import ALARM, BAD, GOOD, NOTE, RunFact
from safegen_ros.terminal import Console
from safegen_ros.verdict import BrokenConstraint, Category, Verdict
from safegen_ros.verify.cost import Ranking

_AROUND = 5  # steps that are shown before and after the failing one
_MOST_LISTED = 20  # constraints, or atoms


_STYLES = {'': '', GOOD: 'green', NOTE: 'yellow', BAD: 'red', ALARM: 'bold red'}


def verdict_values(verdict: Verdict, steps: Sequence[object] | None) -> dict[str, Any]:
    """The verdict as values for JSON; docs/validation.md explains each.

    Args:
        steps: of the plan that was judged; None when the text is not a plan.
    """
    step = verdict.failing_step
    return {
        'category': verdict.category.name,
        'reason': verdict.reason,
        'failing_step': _index(step),
        'failing_action': str(steps[step]) if steps is not None and step >= 0 else None,
        'failing_state': _index(verdict.failing_state),
        'step_blocked': verdict.step_blocked,
        'unsatisfied': list(verdict.unsatisfied),
        'broken': [_broken_values(each) for each in verdict.broken],
        'goal_fraction': verdict.goal_fraction,
        'wishes': [asdict(each) for each in verdict.wishes],
        'plan_length': verdict.plan_length,
        'paper_category': verdict.paper_category().name,
    }


def ranking_values(ranking: Ranking) -> dict[str, Any]:
    """The value of the metric for a plan, for JSON."""
    value, reason = None, ranking.reason
    if ranking.value is not None:
        try:
            value = float(ranking.value)
        except OverflowError:
            reason = f'it is {value_text(ranking.value)}'
    return {'metric': ranking.metric, 'value': value, 'reason': reason}


def _broken_values(broken: BrokenConstraint) -> dict[str, Any]:
    return {
        'constraint': broken.text,
        'binding': dict(broken.binding),
        'state': broken.state,
        'step': _index(broken.step),
        'reason': broken.reason,
        'place': broken.place,
    }


def _index(value: int) -> int | None:
    """JSON has a word for nothing; -1 is an index in some languages."""
    return value if value >= 0 else None


def show_verdict(
    console: Console, verdict: Verdict, steps: Sequence[object] | None, name: str = ''
) -> None:
    """Prints a verdict: category and reason first, then where and why in detail.

    Args:
        steps: of the plan that was judged; None when the text is not a plan.
        name: what the plan is called; empty to leave that out.
    """
    colour = 'green' if verdict.ok else 'red'
    prefix = f'{escape(name)}: ' if name else ''
    print_folded(
        console,
        f'{prefix}[bold {colour}]{verdict.category.name}[/]: {escape(verdict.reason)}',
    )
    if verdict.ok or steps is None:
        return
    for line in _steps(verdict, steps):
        print_folded(console, line)
    for line in _broken(verdict):
        print_folded(console, line)
    if verdict.category is not Category.FORMAT_ERROR:
        where = 'at the end' if verdict.failing_step < 0 else 'at that point'
        print_folded(console, f'  goal: {verdict.goal_fraction:.0%} of its conditions hold {where}')


def print_fact(console: Console, fact: RunFact | None, details: int | None = None) -> None:
    """Prints a fact of a run, with at most so many of its details."""
    if fact is not None:
        for line in fact.text.splitlines():
            print_folded(console, f'  {escape(line)}', _STYLES[fact.tone], 2)
        for line in '\n'.join(fact.details[:details]).splitlines():
            print_folded(console, f'    {escape(line)}', 'dim', 4)


def print_folded(console: Console, line: str, style: str = '', hang: int = 0) -> None:
    """Prints markup, folded on a terminal; a pipe keeps one line for one fact.

    Args:
        hang: blanks before each line but the first.
    """
    if not console.is_terminal:
        console.print(line, style=style, highlight=False, soft_wrap=True)
        return
    text = Text.from_markup(line, style=style)
    lines = text[hang:].wrap(console, console.width - hang)
    for each in lines[1:]:
        each.pad_left(hang)
    console.print(text[:hang] + Text('\n').join(lines), highlight=False)


def _steps(verdict: Verdict, plan: Sequence[object]) -> Iterator[str]:
    """The steps around the failing one, or around the end, numbered from 1."""
    marked = verdict.failing_step if verdict.failing_step >= 0 else len(plan)
    first, end = max(0, marked - _AROUND), min(len(plan), marked + _AROUND + 1)
    end += end == len(plan) - 1  # a single step takes no more room than its number
    width = len(str(end))
    if first:
        yield f'    {"...":>{width}}'
    for index in range(first, end):
        text = f'{index + 1:>{width}}  {escape(str(plan[index]))}'
        yield f'  [bold red]> {text}[/]' if index == marked else f'    {text}'
    if end < len(plan):
        yield f'    {"...":>{width}}  {len(plan) - end} more steps'
    if marked == len(plan):
        yield f'  [bold red]>[/] {"":>{width}}  the plan ends'


def _broken(verdict: Verdict) -> Iterator[str]:
    for each in verdict.broken[:_MOST_LISTED]:
        if each.step >= 0:
            broken = f'broken by step {each.step + 1}'
        elif each.state == verdict.plan_length:
            broken = 'not satisfied at the end'
        else:
            broken = 'broken in the initial state'
        yield f'  [red]{broken}[/]: {escape(each.text)}'
        if each.reason not in verdict.reason:
            yield f'    {escape(each.reason)}'
        names = ', '.join(f'{variable} = {value}' for variable, value in each.binding)
        told = [f'for {names}' if names else '', f'written at {each.place}' if each.place else '']
        if any(told):
            yield f'    [dim]{escape(", ".join(filter(None, told)))}[/]'
    more = len(verdict.broken) - _MOST_LISTED
    if more > 0:
        yield f'  and {more} more constraints'
