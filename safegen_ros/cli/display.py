# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a person sees while a task runs: attempts with their verdicts, then steps with progress."""

from __future__ import annotations

import threading
from typing import Any

from rich.live import Live
from rich.markup import escape
from rich.spinner import Spinner

from safegen_ros.cli.verdicts import print_fact
from safegen_ros.record import events
from safegen_ros.record import run as records
from safegen_ros.record.present.report import steps_in_all
from safegen_ros.record.present.telling import repeated, tell
from safegen_ros.record.signatures import ApprovalRecord
from safegen_ros.stages import ExecutionPhase, GoalStage, PlanningPhase
from safegen_ros.sync import Closing
from safegen_ros.terminal import Console

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
