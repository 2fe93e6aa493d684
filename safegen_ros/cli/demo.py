# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The main job: bring the stack up, run one task, look at the end, keep a record."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from safegen_msgs.action import RunTask
from safegen_ros.bringup.process import SupervisorEvent
from safegen_ros.bringup.profiles import NodeSpec
from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs, parameters
from safegen_ros.cli.approval import Asking, lines
from safegen_ros.cli.display import RunDisplay, show_verdict
from safegen_ros.cli.failures import ExitStatus
from safegen_ros.cli.progress import stages
from safegen_ros.client import Client, Goal
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.goals.recorder import RunRecorder, RunStage
from safegen_ros.goals.request import (
    GoalRequest,
    PlanExecution,
    check_goal_options,
)
from safegen_ros.llm.model_folder import check_folder
from safegen_ros.llm.model_names import model_folder, named_model
from safegen_ros.paths import new_run_dir, runs_dir
from safegen_ros.pddl.model import Problem
from safegen_ros.planning.loop import SEARCH
from safegen_ros.record.run import ArtefactRecord, RunRecord
from safegen_ros.robot.scene import Scene
from safegen_ros.ros.stack_state import absolute_namespace
from safegen_ros.search.budget import Budget
from safegen_ros.search.in_process import solve_in_process
from safegen_ros.stages import GoalStage
from safegen_ros.tasks.pddl3.cells import choose_cell
from safegen_ros.tasks.table import pictures_of
from safegen_ros.tasks.task import ActionTask
from safegen_ros.terminal import Console
from safegen_ros.verify.validator import verify

_OBVIOUS_S, _OBVIOUS_MB = 2.0, 1024.0  # of the search for the plan that ignores the rules

SEARCH_ALONE = 'planned by search; the model wrote no plan'


def run_demo(
    asked: GoalRequest,
    cell: str,
    real_time_factor: float,
    model: str,
    video: bool,
    console: Console,
) -> int:
    """Runs `safegen demo`; returns the exit status.

    Raises:
        SafegenError: the table cannot show the task, or an option is wrong; nothing has been
            started then.
    """
    check_goal_options(asked.options)
    problem = asked.task.problem
    if problem is None:
        raise SafegenError(
            f'{asked.path}: a task in format {asked.task.format} is sent to a stack that is up: '
            "start it with 'safegen up sim cell:=symbolic', then 'safegen run'",
            ErrorCode.UNSUPPORTED_FEATURE,
        )
    if model and (folder := model_folder(named_model(model))):
        check_folder(folder)  # which the planner would do after seconds
    chosen = choose_cell(asked.path, problem, cell)
    asked = replace(asked, cell=chosen)
    values = {'real_time_factor': real_time_factor, 'model': model, 'cell': chosen.cell}
    specs = node_specs('sim', values)

    def work(session: RunRecorder) -> int:
        show_rules_matter(console, problem)
        with RunDisplay(console) as display:
            return _with_stack(specs, session, asked, display)

    status = kept_run(asked, work, video, console)
    console.print('next: safegen up sim --console', highlight=False)
    return status


def show_rules_matter(console: Console, problem: Problem) -> None:
    """Shows the shortest plan that ignores the rules of a problem, and which rule it breaks.

    Prints nothing where there is no rule, where that plan keeps the rules, or where the search
    takes too long.
    """
    if not problem.constraints:
        return
    try:
        free = replace(problem, constraints=())
        plan = solve_in_process(free, Budget(_OBVIOUS_S, _OBVIOUS_MB), optimal=True).plan
    except SafegenError:
        return
    verdict = verify(problem, plan)
    if not verdict.ok:
        console.print(f'\nThe shortest plan without the rules has {len(plan)} steps. It is unsafe:')
        show_verdict(console, verdict, plan.steps)
        console.print('\nNow the model plans with the rules, and not for the fewest steps:')


def run_goal(
    asked: GoalRequest,
    namespace: str,
    console: Console,
    *,
    video: bool = False,
    done: Callable[[Path], None] = lambda folder: None,
) -> int:
    """Runs `safegen run` on a stack that is already up.

    Args:
        asked: the task with its options, and perhaps a plan.
        video: whether to make a video of the motion.
        done: told the folder of the run when its record is whole.

    Raises:
        SafegenError: an option is wrong; nothing was sent then.
    """
    check_goal_options(asked.options)
    place = absolute_namespace(namespace)

    def work(session: RunRecorder) -> int:
        with RunDisplay(console) as display, Client(place) as client:
            return _run_goal(client, session, asked, display)

    return kept_run(asked, work, video, console, done)


def kept_run(
    asked: GoalRequest,
    work: Callable[[RunRecorder], int],
    video: bool,
    console: Console,
    done: Callable[[Path], None] = lambda folder: None,
) -> int:
    """Does the work of a run and keeps its record, whatever comes of it.

    Args:
        work: everything from here to the measured end; returns the exit status.
        video: whether to make a video of the motion.
        done: told the folder of the run when its record is whole.

    Returns:
        The exit status.
    """
    folder, source = new_run_dir(runs_dir()), str(asked.path)
    session = RunRecorder(
        folder,
        asked.task,
        source,
        asked.domain_text,
        asked.spoken,
        stepwise=asked.options.step_by_step,
    )
    started = time.monotonic()
    _show_task(console, asked)
    try:
        return _followed(session, work, console)
    finally:
        session.stop_listening()
        with session:
            _keep(session, asked.task, video, console, time.monotonic() - started)
        done(session.folder)


def _followed(session: RunRecorder, work: Callable[[RunRecorder], int], console: Console) -> int:
    """The exit status of a run, with its end in the record and on the screen."""
    try:
        return work(session)
    except KeyboardInterrupt:
        if session.record.ok:  # only the stack was still to be ended, and it has been
            return ExitStatus.OK
        if not session.known:
            session.interrupted()
            console.print(_ending(session.record, 'yellow'), highlight=False, soft_wrap=True)
        return ExitStatus.INTERRUPTED
    except SafegenError as error:
        session.end(error.code, error.message)
        console.print(_ending(session.record, 'bold red'), highlight=False, soft_wrap=True)
        return ExitStatus.FAILED
    except Exception as error:
        session.end(ErrorCode.UNKNOWN, f'{type(error).__name__}: {error}')
        raise


def _ending(record: RunRecord, colour: str) -> str:
    """The code and the message of the end; a code that says nothing is left out."""
    if record.error_code in (ErrorCode.UNKNOWN, ErrorCode.NONE):
        return f'[{colour}]{escape(record.message)}[/]'
    return f'[{colour}]{record.error_code.name}[/] {escape(record.message)}'


def _with_stack(
    specs: tuple[NodeSpec, ...], session: RunRecorder, asked: GoalRequest, display: RunDisplay
) -> int:
    display.busy('safegen up sim: starting planner, validator and executor')
    log = session.folder / 'log'
    # A stop of this stack ends with it: no reset could follow, and nothing real moves.
    own = {'SAFEGEN_RUNTIME_DIR': str(log), 'SAFEGEN_RELEASE_DIR': str(log)}
    stack = Supervisor(specs, log_dir=log, environment=own, on_event=_stack_event(display, specs))
    with stack:
        stack.wait_ready()
        with Client(alive=stack.why_gone) as client:
            status = _run_goal(client, session, asked, display)
        display.busy('stopping the nodes')
        return status


def _run_goal(client: Client, session: RunRecorder, asked: GoalRequest, display: RunDisplay) -> int:
    """Sends the goal, follows it to its end and compares the world with it."""
    asking = Asking(client) if asked.options.approval and sys.stdin.isatty() else None

    def feedback(message: Any) -> None:
        display.feedback(message)
        if asking is not None and message.stage == GoalStage.APPROVAL:
            display.close()
            for line in lines(message.pending):
                display.line(f'  {escape(line)}')
            asking.ask(message.pending)

    session.noted = display.show
    with session.connected(client):
        session.stage = RunStage.SENDING
        if session.symbolic and asked.cell is None:
            display.line('  the stack has a symbolic cell: nothing moves, nothing is measured')
        if asked.plan is not None:
            session.sent(asked.task, asked.plan)
        goal = asked.start(client, feedback)
        session.accepted(goal.id)
        result, interrupted = result_of(goal)
        session.finish(result, interrupted)
    if result.error_code != ErrorCode.NONE:
        display.line(_ending(session.record, 'yellow' if interrupted else 'bold red'))
        return ExitStatus.INTERRUPTED if interrupted else ExitStatus.FAILED
    session.look(asked.task, result.final_state)
    if asked.options.strategy.strip() != SEARCH and search_alone(session.record):
        display.line(f'[yellow]{SEARCH_ALONE}[/]')
    return ExitStatus.OK if session.record.ok else ExitStatus.FAILED


def search_alone(record: RunRecord) -> bool:
    """Whether the search planner wrote every plan of a run, and the model none."""
    return bool(record.attempts) and all(each.source == SEARCH for each in record.attempts)


def result_of(goal: Goal[RunTask.Result] | PlanExecution) -> tuple[RunTask.Result, bool]:
    """The result of a goal, and whether Ctrl-C has cancelled it.

    Raises:
        SafegenError: there is no result, also because the goal could not be cancelled.
    """
    try:
        try:
            return goal.result(), False
        except KeyboardInterrupt:  # the goal has been cancelled by then; this gets its result
            return goal.cancel(), True
    except SafegenError as error:
        if not isinstance(error.__context__, KeyboardInterrupt):
            raise
        raise SafegenError(
            f'interrupted by the user, but the goal could not be cancelled: {error.message}: look '
            'at the cell before the next one',
            error.code,
        ) from error


def _stack_event(
    display: RunDisplay, specs: tuple[NodeSpec, ...]
) -> Callable[[SupervisorEvent], None]:
    with_model = {
        s.name: f', with the model {parameters(s)["model"]}' for s in specs if s.name == 'planner'
    }

    def show(event: SupervisorEvent) -> None:
        if event.kind == 'ready':
            node = event.node.strip('/')
            more = escape(with_model.get(node, ''))
            display.line(f'  [dim]{node} is up after {event.text}{more}[/]')
        elif event.kind in ('died', 'killed'):
            display.line(f'  [red]{event.node.strip("/")} {event.kind}: {escape(event.text)}[/]')

    return show


def _show_task(console: Console, asked: GoalRequest) -> None:
    task = asked.task
    table = Table.grid(padding=(0, 2))
    table.add_row('[bold]task[/]', escape(f'{task.name}  ({asked.path})'))
    table.add_row('[bold]sent as[/]', task.format)
    for title, text in task.summary():
        table.add_row(f'[bold]{title}[/]', escape(text))
    if asked.cell is not None:
        table.add_row('[bold]cell[/]', escape(asked.cell.text))
    console.print(table, highlight=False)


def _keep(
    session: RunRecorder, task: ActionTask, video: bool, console: Console, seconds: float
) -> None:
    """Makes the report, pictures and the video, and says where everything is."""
    folder = session.folder
    # Before the video, which takes long and which an impatient user may interrupt.
    report = session.keep(seconds)
    keep_pictures = pictures_of(task.format)
    if keep_pictures is not None:
        session.keep(seconds, *keep_pictures(folder, task, session.record, video))
    elif video and session.record.steps and session.symbolic:
        note = 'a symbolic cell has no motion to show'
        console.print(f'no video: {note}')
        session.keep(seconds, ArtefactRecord('video', '', note))
    elif video and session.record.steps:
        session.keep(seconds, _video(folder, session.scene, console))
    console.print(f'record: {report}', highlight=False, soft_wrap=True)
    for artefact in session.record.artefacts:
        if artefact.file:
            console.print(
                f'  [dim]{artefact.name}: {folder / artefact.file} {escape(artefact.note)}[/]',
                highlight=False,
                soft_wrap=True,
            )
    more = 'next: safegen runs show last\nnext: safegen runs share last'
    console.print(more, highlight=False)


def _video(folder: Path, scene: Scene, console: Console) -> ArtefactRecord:
    if not console.is_terminal:
        console.print('writing the film, which takes up to a minute without a GPU')
    try:
        # Imported here: MuJoCo's start would compete with that of the nodes.
        from safegen_ros.record.video import try_video

        files = folder / 'run.mcap', folder / 'twin.mp4'
        with stages(console, 10.0) as notify:
            video = try_video(*files, scene, partial(notify, 'pictures of the film'))
    except KeyboardInterrupt:
        video = ArtefactRecord('video', '', 'interrupted')
    if not video.file:
        console.print(f'[yellow]no video[/]: {escape(video.note)}', soft_wrap=True)
    return video
