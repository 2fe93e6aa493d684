# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a person sees while a task runs: attempts with their verdicts, then steps with progress."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from rich.live import Live
from rich.markup import escape
from rich.spinner import Spinner

from safegen_ros.ros.conversions import step_text
from safegen_ros.stages import ExecutionPhase, GoalStage, PlanningPhase
from safegen_ros.terminal import Console
from safegen_ros.verdict import Category

_COLOURS = {
    Category.SUCCESS: 'green',
    Category.GOAL_NOT_SATISFIED: 'yellow',
    Category.PRECONDITION_VIOLATION: 'magenta',
    Category.SAFETY_VIOLATION: 'red',
    Category.FORMAT_ERROR: 'red',
    Category.UNKNOWN: 'red',
}

_TRANSLATION = (
    PlanningPhase.TRANSLATING,
    PlanningPhase.TRANSLATED,
    PlanningPhase.UNDERSTOOD,
)


class RunDisplay:
    """Turns `RunTask` feedback into lines, with one live line for what is going on.

    Without a terminal the live line is left out, so that a log holds only what happened.

    Args:
        console: where to print.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = threading.Lock()
        self._start = ''
        self._rehearsed = ''
        self._done: dict[int, str] = {}  # lines of steps that are not on the disk yet
        self._kept = 0
        self._live = Live(console=console, refresh_per_second=10, transient=True)

    def __enter__(self) -> RunDisplay:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def feedback(self, feedback: Any) -> None:
        """Shows one `RunTask.Feedback`; called from the client's thread."""
        with self._lock:
            if feedback.stage == GoalStage.PLANNING:
                self._planning(feedback.planning)
            elif feedback.stage == GoalStage.EXECUTION:
                self._execution(feedback.execution)
            elif feedback.stage == GoalStage.APPROVAL:
                self._approval(feedback.pending)
            elif feedback.stage == GoalStage.REPLANNING:
                self._replanning(feedback.replan)
            elif feedback.stage == GoalStage.OBSERVATION:
                self._observation(feedback.observation)

    def _approval(self, pending: Any) -> None:
        digest = pending.digest
        self.line(f'  [yellow]the plan waits for approval[/]: safegen approve {digest}')
        self.busy(f'waiting for the word of an operator about plan {digest[:8]}')

    def _replanning(self, replan: Any) -> None:
        self.line(f'  [yellow]planned for anew[/]: {escape(replan.reason)}')
        self.busy('what is left is planned for anew')

    def _observation(self, seen: Any) -> None:
        if seen.look:
            self.line(f'  [cyan]looked at[/] {escape(seen.look)}')
        hidden = ' '.join(seen.world.unseen)
        said = seen.text or ' '.join(seen.world.facts)
        self.line(f'    [dim]seen: {escape(said)}[/]')
        if hidden:
            self.line(f'    [dim]out of view: {escape(hidden)}[/]')

    def pause(self) -> None:
        """Takes the live line away for good, as the terminal is needed for a question."""
        self._live.stop()

    def busy(self, text: str) -> None:
        """Sets the live line."""
        self._live.update(Spinner('dots', text=f' {text}', style='cyan'))

    def line(self, text: str) -> None:
        """Prints one line that stays."""
        self._console.print(text, highlight=False, soft_wrap=True)

    def _planning(self, progress: Any) -> None:
        if progress.phase == PlanningPhase.WAITING:
            return self.busy(f'other goals come first: {escape(progress.detail)}')
        if progress.phase in _TRANSLATION:
            return self._translation(progress)
        number = _attempt_number(progress)
        if progress.detail:
            self.line(f'  [yellow]no proved plan yet[/]: {escape(progress.detail)}')
        if progress.phase == PlanningPhase.GENERATING:
            self.busy(f'{number}: the model is writing ({escape(progress.source)})')
        elif progress.phase == PlanningPhase.VERIFYING:
            self.busy(f'{number}: the validator is checking')
        elif progress.phase == PlanningPhase.REHEARSING:
            self.busy(f'{number}: it is proved, and is rehearsed where the arm needs that')
        elif progress.phase == PlanningPhase.SEARCHING:
            self.busy('the search planner is at work')
        elif progress.phase == PlanningPhase.JUDGED:
            self._attempt(number, progress.attempt)

    def _translation(self, progress: Any) -> None:
        number = f'{progress.source}, {_attempt_number(progress)}'
        if progress.phase == PlanningPhase.TRANSLATING:
            self.busy(f'{escape(number)}: the model is writing the problem')
        elif progress.phase == PlanningPhase.UNDERSTOOD:
            self.line(f'  [green]understood as[/]  {escape(progress.reading)}')
            self.line(f'[dim]{escape(progress.problem.rstrip())}[/]')
            self.line(f'  [dim]digest of this reading: {escape(progress.reading_digest)}[/]')
        elif progress.detail:
            self.line(f'  {escape(number)}  [yellow]not usable[/]: {escape(progress.detail)}')

    def _attempt(self, number: str, attempt: Any) -> None:
        category = Category(attempt.verdict.category)
        colour = _COLOURS[category]
        who = {'model': number, 'search': 'search planner'}.get(
            attempt.source, f'{number}, {escape(attempt.source)}'
        )
        steps = len(attempt.plan.steps)
        self.line(
            f'  {who}  [bold {colour}]{category.name}[/]  '
            f'[dim]{steps} steps, {attempt.seconds:.2f} s[/]'
        )
        self.line(f'    [dim]{escape(_answer(attempt, category))}[/]')
        if category is not Category.SUCCESS:
            self.line(f'    [{colour}]{escape(attempt.verdict.reason)}[/]')

    def _execution(self, progress: Any) -> None:
        count = f'{progress.step}/{progress.total}'
        if progress.phase == ExecutionPhase.VERIFYING:
            self.busy('the executor is verifying the plan itself')
        elif progress.phase == ExecutionPhase.REHEARSING:
            self.busy('the executor is rehearsing the plan on a twin')
            self._rehearsed = ', and rehearsed on the twin'
        elif progress.phase == ExecutionPhase.PREPARING:
            self.line(f'  [green]verified again by the executor{self._rehearsed}[/]')
            self.busy('the executor is bringing the cell into the initial state')
            self._start = progress.detail
        elif self._start and progress.phase in (ExecutionPhase.MOVING, ExecutionPhase.DONE):
            self.line(f'  initial state: {escape(self._start)}')
            self._start = ''
        if progress.phase == ExecutionPhase.MOVING:
            self.busy(f'{count} done, now {escape(step_text(progress.current))}')
        elif progress.phase == ExecutionPhase.OBSERVED:
            bar = '█' * progress.step + '░' * (progress.total - progress.step)
            line = f'  [green]✓[/] {count:>5} {bar}  {escape(step_text(progress.current))}'
            self._done[progress.step] = line
            self._show_done()

    def kept(self, steps_done: int) -> None:
        """Shows steps that are on the disk, so that a killed client loses nothing it showed."""
        with self._lock:
            self._kept = steps_done
            self._show_done()

    def _show_done(self) -> None:
        for step in [each for each in self._done if each <= self._kept]:
            self.line(self._done.pop(step))


def _answer(attempt: Any, category: Category) -> str:
    """What was answered, in one line."""
    if attempt.plan.steps:
        text = ' '.join(step_text(step) for step in attempt.plan.steps)
    elif category is Category.SUCCESS:
        return 'the empty plan is proved: the goal holds already'
    else:
        text = ' '.join(attempt.text[:200].split()) or 'an empty answer'
    unread = category is Category.FORMAT_ERROR and attempt.source != 'search'
    return f'{text}  (as the model wrote it)' if unread else text


def _attempt_number(progress: Any) -> str:
    """Which attempt it is, of how many where that is known: step by step it is not."""
    of = f'/{progress.max_attempts}' if progress.max_attempts else ''
    return f'attempt {progress.attempt_number}{of}'
