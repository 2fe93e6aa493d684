# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A recorded run once more: each verdict is found again, and the plan is executed again.

A verdict must come out the same to the last character and the last bit of a number. Runs of a cell
are compared by their invariants: the end, the steps, the facts, and the poses of blocks up to a
tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from safegen_ros.errors import ErrorCode, RecordError, RobotError
from safegen_ros.pddl.facts import recorded_fact
from safegen_ros.pddl.model import Problem, State
from safegen_ros.pddl.moments import plan_of_steps
from safegen_ros.pddl.plan import Step
from safegen_ros.pddl.writer import atom_text
from safegen_ros.planning.loop import Steps
from safegen_ros.record.history import recorded_task
from safegen_ros.record.run import (
    NO_VERDICT,
    SYMBOLIC,
    TWIN,
    AttemptRecord,
    RunRecord,
)
from safegen_ros.record.run_log import told_steps
from safegen_ros.robot.cell.blocks import simulated_cell
from safegen_ros.robot.cell.execution import ExecutionOutcome, carry_out
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import Scene
from safegen_ros.schema import plain
from safegen_ros.tasks.cells import CellSetup, MultiRobotCell
from safegen_ros.tasks.context import StepAnswer
from safegen_ros.tasks.pddl3.planning.stepwise import (
    Limits,
    StepContext,
    StepwiseOutcome,
    run_stepwise,
)
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.tasks.table import read_action_task
from safegen_ros.tasks.task import ActionTask, WorldJob
from safegen_ros.verdict import Verdict
from safegen_ros.verify.validator import Validator

POSE_TOLERANCE_M = 0.002
"""How far a block may lie from where it was recorded: the twin is exact only from the same posture
of the arm on [m]."""

EXECUTION_LIMIT_S = 86400.0


@dataclass(frozen=True, slots=True)
class VerdictCheck:
    """A recorded verdict beside a fresh one.

    Attributes:
        what: whose verdict it is, such as 'attempt 2 (model)'.
    """

    what: str
    recorded: Verdict
    fresh: Verdict

    @property
    def differences(self) -> tuple[str, ...]:
        """Where their JSON differs, each as 'field: recorded ..., now ...'."""
        pair = (plain(_without_file(each)) for each in (self.recorded, self.fresh))
        return tuple(_differences('verdict', *pair))


def _without_file(verdict: Verdict) -> Verdict:
    """The places of constraints as line and column: a client names its file, a node has a text."""
    return replace(
        verdict,
        broken=tuple(
            replace(each, place=':'.join(each.place.rsplit(':', 2)[-2:])) for each in verdict.broken
        ),
    )


def _differences(place: str, recorded: Any, fresh: Any) -> Iterator[str]:
    if type(recorded) is type(fresh) and recorded == fresh:
        return
    if isinstance(recorded, dict) and isinstance(fresh, dict):
        for name in {**recorded, **fresh}:
            yield from _differences(f'{place}.{name}', recorded.get(name), fresh.get(name))
    elif isinstance(recorded, list) and isinstance(fresh, list) and len(recorded) == len(fresh):
        for index, pair in enumerate(zip(recorded, fresh, strict=True)):
            yield from _differences(f'{place}[{index}]', *pair)
    else:
        yield f'{place}: recorded {recorded!r}, now {fresh!r}'


def reverify(record: RunRecord) -> tuple[VerdictCheck, ...]:
    """Finds every verdict of a run again: for each attempt, and for the plan that was proved.

    Raises:
        SafegenError: the task can no longer be read, or a step-by-step run did not take the
            steps that are recorded.
    """
    if not record.attempts and record.verdict == NO_VERDICT:
        return ()  # also of a task that could not be read in the first place
    task = recorded_task(record)
    if record.stepwise and task.problem is not None:
        return tuple(_stepwise_checks(record, task, task.problem))
    if record.stepwise:
        return tuple(_played_checks(record, task))
    return tuple(_checks(record, task))


def _checks(record: RunRecord, task: ActionTask) -> Iterator[VerdictCheck]:
    tasks = {0: task}  # and what was left of it at each replan
    for each in record.replans:
        tasks[each.number] = read_action_task(each.problem, each.domain, task.rest_format)
    for attempt in record.attempts:
        if attempt.replan not in tasks:
            raise RecordError(f'{_name(attempt)} is for replan {attempt.replan}, which is missing')
        task = tasks[attempt.replan]
        judge = task.second_opinion if record.second_opinion else task.verify
        fresh = judge(attempt.text)
        yield VerdictCheck(_name(attempt), attempt.verdict, fresh)
    if record.plan_source and record.verdict != NO_VERDICT:  # else cut off before there was one
        task = tasks[max(tasks)]
        yield VerdictCheck('the plan', record.verdict, _proof(record, task))


def _proof(record: RunRecord, task: ActionTask) -> Verdict:
    """The verdict on the executed plan, or on the one to execute."""
    return task.verify(task.answer_of(recorded_steps(record)))


def _played_checks(record: RunRecord, task: ActionTask) -> Iterator[VerdictCheck]:
    """The answers lead through a separate world, without chance, as they did then."""
    told: list[StepAnswer] = []
    last = task.replay([attempt.text for attempt in record.attempts], told.append)
    for attempt, fresh in zip(record.attempts, told, strict=False):
        yield VerdictCheck(_name(attempt), attempt.verdict, fresh.verdict)
    if record.verdict != NO_VERDICT:
        yield VerdictCheck('the steps taken', record.verdict, last)


def _stepwise_checks(
    record: RunRecord, task: ActionTask, problem: Problem
) -> Iterator[VerdictCheck]:
    """The rest of the task at each step comes of the same code, fed with the observations."""
    run = _ObservedRun(record, problem)
    outcome = run.outcome
    for attempt in record.attempts:
        problems = run.left.get(attempt.base)
        if problems is None:
            raise RecordError(
                f'{_name(attempt)} was made after {attempt.base} steps, but what was observed does '
                'not lead there any more'
            )
        fresh = list(_fresh(attempt, problems, task))
        same = attempt.verdict if attempt.verdict in fresh else fresh[-1]
        yield VerdictCheck(_name(attempt), attempt.verdict, same)
    if record.verdict != NO_VERDICT:  # else its process ended before it gave one
        yield VerdictCheck('the steps taken', record.verdict, outcome.verdict)


def _fresh(
    attempt: AttemptRecord, problems: Sequence[Problem], task: ActionTask
) -> Iterator[Verdict]:
    """The verdicts on an attempt for the rest of the task, before and after each look.

    The nodes send that as text, so that constraints have their places there.
    """
    for problem in problems:
        yield Validator(problem).verify(attempt.text)
        domain, text = task.rest(problem)
        yield load_task(text, domain).verify(attempt.text)


class _ObservedRun:
    """A step-by-step run with the steps and the observations of a record."""

    def __init__(self, record: RunRecord, problem: Problem) -> None:
        self._problem = problem
        self._steps = plan_of_steps(recorded_steps(record)).steps
        self._worlds = record.worlds
        self._looked = 0
        self._glanced = 0
        self._taken = 0
        self.left: dict[int, list[Problem]] = {}

    @cached_property
    def outcome(self) -> StepwiseOutcome:
        """How it ends; fills `left`, the rest of the task after each number of steps."""
        limits = Limits(len(self._steps) + 1, math.inf)
        return run_stepwise(
            self._problem,
            self._observe,
            self._act,
            self._choose,
            limits,
            notify=self._notify,
            sight=self,
        )

    def unseen(self) -> frozenset[str]:
        """What was out of view, behind the look under way if there is one."""
        return frozenset(self._worlds[self._looked - 1 + self._glanced].unseen)

    def look(self, name: str) -> None:
        """Takes the look that was taken."""
        if not self._look_follows():
            raise RobotError(f'{name} was not looked at', ErrorCode.STATE_MISMATCH)
        self._glanced = 1

    def _look_follows(self) -> bool:
        return self._looked < len(self._worlds) and bool(self._worlds[self._looked].look)

    def _observe(self) -> State:
        if self._looked == len(self._worlds):
            raise RobotError('nothing more was observed', ErrorCode.STATE_MISMATCH)
        self._looked, self._glanced = self._looked + 1, 0
        return frozenset(map(recorded_fact, self._worlds[self._looked - 1].facts))

    def _act(self, step: Step) -> None:
        if self._looked == len(self._worlds):
            raise RobotError(f'{step} was not done', ErrorCode.ROBOT_FAULT)
        self._taken += 1

    def _choose(self, moment: StepContext, cancelled: Callable[[], bool]) -> Step | None:
        if self._look_follows():  # it was for a step with objects out of view
            unseen = self.unseen()
            return next((s for s in moment.choices if unseen & set(s.arguments)), None)
        return self._steps[self._taken] if self._taken < len(self._steps) else None

    def _notify(self, moment: StepContext) -> None:
        self.left.setdefault(len(moment.steps), []).append(moment.problem)


def _name(attempt: AttemptRecord) -> str:
    return f'attempt {attempt.number} ({attempt.source})'


def recorded_steps(record: RunRecord) -> Steps:
    """The plan that was executed, or would have been; several robots may act in a step."""
    return told_steps(record.plan)


@dataclass(frozen=True, slots=True)
class ExecutionCheck:
    """An execution beside the recorded one.

    Attributes:
        deviation: how far the block that is farthest off lies from where it was recorded [m]; None
            where no poses were recorded.
    """

    outcome: ExecutionOutcome
    deviation: float | None
    differences: tuple[str, ...]


def why_not_executed(record: RunRecord) -> str:
    """Why a run cannot be executed again; empty when it can.

    Raises:
        SafegenError: the task can no longer be read.
    """
    if not record.steps and not record.steps_done:
        return 'nothing was executed'
    if record.stepwise and recorded_task(record).problem is None:
        return 'it was worked on step by step, and its verdicts were found in the same world'
    if record.replans:
        return 'the world was not as foreseen, and the task was replanned'
    if not record.verdict.ok:
        return 'the executed plan was not proved'
    if not _proof(record, recorded_task(record)).ok:
        return 'the world was not as foreseen, and the steps alone are not a plan of the task'
    return ''


def reexecute(record: RunRecord, scene: Scene) -> ExecutionCheck:
    """Carries the recorded plan out again, in the same kind of cell and as fast as it can.

    A run that ended before its last step is executed as far as it came, and then stopped.

    Args:
        record: the run; `why_not_executed` says nothing of it.

    Raises:
        SafegenError: the task can no longer be read.
    """
    task = recorded_task(record)
    if record.cell == TWIN and task.problem is not None:
        with simulated_cell(scene) as twin:
            cell = task.cell(CellSetup(kind=TWIN, arm=twin))
            return _with_poses(record, _executed(record, task, cell), twin.poses())
    cell = task.cell(CellSetup(kind=TWIN if record.cell == TWIN else SYMBOLIC))
    with closing(cell):
        return _with_poses(record, _executed(record, task, cell), cell.poses())


def _executed(record: RunRecord, task: ActionTask, cell: MultiRobotCell) -> ExecutionCheck:
    done = 0
    whole = record.error_code is ErrorCode.NONE

    def cancelled() -> bool:
        return not whole and done >= record.steps_done

    def notify(progress: Any) -> None:
        nonlocal done
        done = progress.step

    steps = recorded_steps(record)
    outcome = carry_out(
        WorldJob(task, steps, cell, task.monitor(steps)),
        time_budget_s=EXECUTION_LIMIT_S,
        cancelled=cancelled,
        notify=notify,
    )
    found = []
    if whole and outcome.error_code is not ErrorCode.NONE:
        found.append(f'recorded SUCCESS, now {outcome.error_code.name}: {outcome.message}')
    if outcome.steps_done != record.steps_done:
        found.append(f'recorded {record.steps_done} steps done, now {outcome.steps_done}')
    found += _changed_facts(record, outcome)
    return ExecutionCheck(outcome, None, tuple(found))


def _with_poses(
    record: RunRecord, check: ExecutionCheck, poses: Mapping[str, Pose]
) -> ExecutionCheck:
    """An execution on the twin, with how far its blocks lie from where they were recorded."""
    distances = {
        block.name: math.dist(block.position, poses[block.name].position)
        for block in record.blocks
        if block.name in poses
    }
    moved = tuple(
        f'block {name} lies {1000 * distance:.1f} mm from where it was recorded'
        for name, distance in distances.items()
        if distance > POSE_TOLERANCE_M
    )
    deviation = max(distances.values(), default=None)
    return replace(check, deviation=deviation, differences=(*check.differences, *moved))


def _changed_facts(record: RunRecord, outcome: ExecutionOutcome) -> Iterator[str]:
    """How the last world differs; where none was observed then or now, nothing can be said.

    A run that ended within a step was looked at last where this step had left the world, which
    carrying out the steps before it does not show.
    """
    at_the_end = [world for world in record.worlds if world.done == record.steps_done]
    if any(step.index >= record.steps_done for step in record.steps):
        at_the_end = at_the_end[:-1]
    if not at_the_end or outcome.observed is None:
        return
    recorded = frozenset(map(recorded_fact, at_the_end[-1].facts))
    for atom in sorted(recorded - outcome.observed):
        yield f'recorded {atom_text(atom)}, which does not hold now'
    for atom in sorted(outcome.observed - recorded):
        yield f'{atom_text(atom)} holds now, and did not then'
