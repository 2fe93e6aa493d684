# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a person sees of a verdict, of the facts of a run, and while a task runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.live import Live
from rich.markup import escape
from rich.spinner import Spinner
from rich.text import Text

from safegen_ros.pddl.writer import value_text
from safegen_ros.record import events
from safegen_ros.record import run as records
from safegen_ros.record.present.report import steps_in_all
from safegen_ros.record.present.telling import ALARM, BAD, GOOD, NOTE, RunFact, repeated, tell
from safegen_ros.record.signatures import ApprovalRecord
from safegen_ros.stages import ExecutionPhase, GoalStage, PlanningPhase
from safegen_ros.sync import Closing
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


_TOLD = (
    records.AnswerRecord,
    ApprovalRecord,
    records.AttemptRecord,
    events.MeasuredEvent,
    events.PassedEvent,
    records.ReplanRecord,
    records.UnderstoodRecord,
)
"""Events to print; the command prints the end of the goal."""

_BUSY = {
    PlanningPhase.WAITING: 'other goals come first: {detail}',
    PlanningPhase.TRANSLATING: '{source}, {attempt}: the model is writing the problem',
    PlanningPhase.GENERATING: '{attempt}: the model is writing ({source})',
    PlanningPhase.VERIFYING: '{attempt}: the validator is checking',
    PlanningPhase.REHEARSING: '{attempt}: it is proved, and is rehearsed where the arm needs that',
    PlanningPhase.SEARCHING: 'the search planner is at work',
}
"""What goes on in a phase of planning, of which the record says nothing."""

QUIET_S = 1.0
"""How long a log may be silent about the current work [s]."""

_BAR = 40  # the longest plan with a bar of a block for each step


class RunDisplay(Closing):
    """Shows the events of a run as lines, with one live line for the current work.

    Without a terminal only work that goes on for `QUIET_S` gets a line.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = threading.Lock()
        self._executing = False
        self._live = Live(console=console, refresh_per_second=10, transient=True)
        self._waits = threading.Timer(0.0, lambda: None)

    def __enter__(self) -> RunDisplay:
        if self._console.is_terminal:
            self._live.start()
        return self

    def show(self, event: events.Event, record: records.RunRecord) -> None:
        """Shows an event that the record has, so that a killed client loses nothing it showed."""
        with self._lock:
            if isinstance(event, _TOLD):
                short = isinstance(event, records.AttemptRecord) and repeated(
                    event, record.attempts
                )
                print_fact(self._console, short or tell(event, cell=record.cell))
            if isinstance(event, records.ReplanRecord):
                self._executing = False
                self.busy('replanning the remaining task')
            elif isinstance(event, events.PhaseEvent):
                self._phase(event, record)
            elif isinstance(event, events.StepEvent):
                self._executing = True
                self.busy(f'{event.index} done, now {escape(event.step)}')
            elif isinstance(event, events.ObservedEvent):
                self._observed(event, record)

    def _phase(self, event: events.PhaseEvent, record: records.RunRecord) -> None:
        self._executing = True
        fact = tell(event)
        told = event.phase in (ExecutionPhase.REHEARSING, ExecutionPhase.PREPARING)
        if told and not (record.stepwise and record.steps):  # where each step is an execution
            print_fact(self._console, fact)
        if fact is not None:
            self.busy(escape(fact.text))

    def _observed(self, event: events.ObservedEvent, record: records.RunRecord) -> None:
        fact = tell(event)
        if event.look:
            print_fact(self._console, fact)
        elif event.done and record.steps:
            total = 0 if record.stepwise else steps_in_all(record)
            bar = '█' * event.done + '░' * (total - event.done) if 0 < total <= _BAR else ''
            count = f'{event.done}/{total}' if total else f'{event.done}'
            step = escape(record.steps[-1].step)
            self.line(f'  [green]✓[/] {count:>5} {bar}  {step}')
        if record.stepwise and fact is not None and not event.look:
            for line in fact.details:
                self.line(f'    [dim]{escape(line)}[/]')

    def feedback(self, feedback: Any) -> None:
        """Shows what goes on by one `RunTask.Feedback`; called from the client's thread."""
        with self._lock:
            if feedback.stage == GoalStage.APPROVAL:
                digest = feedback.pending.digest
                self.line(f'  [yellow]the plan waits for approval[/]: safegen approve {digest}')
                self.busy(f'waiting for approval of plan {digest[:8]}')
            elif feedback.stage == GoalStage.PLANNING:
                self._planning(feedback.planning)

    def planning(self, progress: Any) -> None:
        """Shows what goes on by one `PlanningProgress`."""
        with self._lock:
            self._planning(progress)

    def _planning(self, progress: Any) -> None:
        busy = _BUSY.get(progress.phase)
        if busy is None or self._executing:  # what is late must not hide what goes on
            return
        attempt = f'attempt {progress.attempt_number}'
        told = busy.format(detail=progress.detail, source=progress.source, attempt=attempt)
        self.busy(escape(told))

    def close(self) -> None:
        """Takes the live line away for good, also where the terminal is needed for a question."""
        self._live.stop()
        self._waits.cancel()

    def busy(self, text: str) -> None:
        """Sets the live line."""
        self._live.update(Spinner('dots', text=f' {text}', style='cyan'))
        if not self._console.is_terminal:
            self._waits.cancel()
            self._waits = threading.Timer(QUIET_S, self.line, (f'  … {text}',))
            self._waits.daemon = True
            self._waits.start()

    def line(self, text: str) -> None:
        """Prints one line that stays."""
        self._console.print(text, highlight=False, soft_wrap=True)
