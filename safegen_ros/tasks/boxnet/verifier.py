# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The rules of BoxNet2D: reach, arms that must not touch, objects that must not coincide.

Within a step the checks come in this order: where each move begins, what it carries, how far it
reaches, then arms against arms, then objects against objects. The first fault is the verdict.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

from safegen_ros.tasks.boxnet.answers import (
    MoveReader,
    PlanAnswer,
    PlanAnswerError,
    read_plan,
    read_step,
)
from safegen_ros.tasks.boxnet.findings import Fault, Finding
from safegen_ros.tasks.boxnet.geometry import (
    UNIT,
    Meeting,
    Point,
    meeting_point,
    meeting_text,
    point_text,
    touching,
)
from safegen_ros.tasks.boxnet.model import Move, Plan, State, Task, object_name, robot_name
from safegen_ros.verdict import BrokenConstraint, Category, Verdict

CONSTRAINTS = {
    Finding.ROBOT_COLLISION: 'no two arms touch',
    Finding.ROBOT_OBJECT_COLLISION: 'no arm touches an object that it does not carry or go to',
    Finding.OBJECT_COLLISION: 'no two objects are at one place',
}
"""The rule of the world that each collision breaks."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A plan with its outcome.

    Attributes:
        plan: its steps; none where it cannot be read.
        states: the first one, and that after each step until the fault.
        fault: the first thing that is wrong; None for a plan that solves the task.
        formatted: whether the answer has the form that is asked for.
    """

    verdict: Verdict
    finding: Finding
    plan: Plan
    states: tuple[State, ...]
    fault: Fault | None = None
    formatted: bool = False


class StepRules(ABC):
    """What decides of a step in one world; the checks that need no geometry are here."""

    def take_step(self, task: Any, state: State, step: Sequence[Move]) -> State | Fault:
        """The state after a step, or what keeps it from being taken."""
        fault = self.alone(task, state, step) or self.together(task, state, step)
        return fault or after(task, state, step)

    def alone(self, task: Any, state: State, step: Sequence[Move]) -> Fault | None:
        """What is wrong with a move, whatever the others do."""
        seen = set[int]()
        for move in step:
            name, tip, who = robot_name(move.robot), state.tips[move.robot], (move.robot,)
            if move.robot in seen:
                reason = f'{name} moves twice: give it one move in a step'
                return Fault(Finding.REPEATED_ROBOT, reason, robots=who)
            seen.add(move.robot)
            if move.start != tip:
                reason = (
                    f'{name} begins at {point_text(move.start)}, but its arm is at '
                    f'{point_text(tip)}: begin there'
                )
                return Fault(Finding.NOT_AT_START, reason, robots=who)
            carried = task.aligned(state, tip) if move.carry else None
            if move.carry and carried is None:
                reason = (
                    f'{name} carries, but there is no object {task.hold_rule} its arm '
                    f'{point_text(tip)}: move the arm to the object in a step before'
                )
                return Fault(Finding.NOTHING_TO_CARRY, reason, robots=who)
            why = self.out_of_reach(task, move)
            if why is not None:
                reason = f'{name} cannot reach {point_text(move.end)}: {why}'
                objects = () if carried is None else (carried,)
                return Fault(Finding.UNREACHABLE, reason, robots=who, objects=objects)
        return None

    @abstractmethod
    def out_of_reach(self, task: Any, move: Move) -> str | None:
        """Why a tip does not get to the end of its move, and what to do; None where it does."""

    @abstractmethod
    def together(self, task: Any, state: State, step: Sequence[Move]) -> Fault | None:
        """What collides in a step whose moves can each be made."""

    @abstractmethod
    def arms_touch(self, task: Any, one: Move, other: Move) -> bool:
        """Whether two robots that move at once collide; both moves are within reach."""


class FlatRules(StepRules):
    """The rules of BoxNet2D, in which arms are lines and objects are points."""

    def out_of_reach(self, task: Task, move: Move) -> str | None:
        """Why a tip does not get to the end of its move."""
        if task.reaches(move.robot, move.end):
            return None
        base = task.bases[move.robot]
        axis = 'x' if abs(move.end[0] - base[0]) >= UNIT else 'y'
        return (
            f'that is 1 or more away in {axis} from its base {point_text(base)}: use a robot whose '
            'base is closer, or go less far'
        )

    def together(self, task: Task, state: State, step: Sequence[Move]) -> Fault | None:
        """What collides in a step whose moves can each be made."""
        near = task.neighbours
        for one, other in combinations(step, 2):
            # Most pairs are far apart: a call for each would cost more than all the rest.
            if other.robot in near[one.robot] and arms_touch(task, one, other):
                return next(_contacts(task, one, other))
        idle = _against_idle(task, state, step) if task.idle_arms == 'block' else None
        return idle or objects_meet(task, state, step)

    def arms_touch(self, task: Task, one: Move, other: Move) -> bool:
        """Whether two robots that move at once collide."""
        return arms_touch(task, one, other)


_FLAT = FlatRules()


def take_step(task: Task, state: State, step: Sequence[Move]) -> State | Fault:
    """The state after a step, or what keeps it from being taken."""
    return (task.rules or _FLAT).take_step(task, state, step)


def arms_touch(task: Task, one: Move, other: Move) -> bool:
    """Whether two robots that move at once, each within its reach, collide."""
    if task.rules is not None:
        return task.rules.arms_touch(task, one, other)
    if other.robot not in task.neighbours[one.robot]:
        return False
    a, b = task.bases[one.robot], task.bases[other.robot]
    # Their ways or final arms have a point in common.
    return (
        touching(one.start, one.end, other.start, other.end)
        or touching(one.start, one.end, b, other.end)
        or touching(a, one.end, other.start, other.end)
        or touching(a, one.end, b, other.end)
    )


def after(task: Task, state: State, step: Iterable[Move]) -> State:
    """The state that a step leads to, when nothing keeps it from being taken."""
    tips, objects = list(state.tips), list(state.objects)
    for move in step:
        carried = task.aligned(state, state.tips[move.robot]) if move.carry else None
        if carried is not None:
            objects[carried] = move.end
        tips[move.robot] = move.end
    return State(tuple(tips), tuple(objects))


def objects_meet(task: Task, state: State, step: Sequence[Move]) -> Fault | None:
    """Two objects that are at one place after a step."""
    if not any(move.carry for move in step):
        return None
    reached = after(task, state, step).objects
    for (one, a), (other, b) in combinations(enumerate(reached), 2):
        if (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 < task.apart**2:
            how = 'are both' if a == b else 'meet'
            return Fault(
                Finding.OBJECT_COLLISION,
                f'{object_name(one)} and {object_name(other)} {how} at {point_text(a)} after the '
                'step: put one of them elsewhere first',
                robots=tuple(m.robot for m in step if m.carry and m.end in (a, b)),
                objects=(one, other),
                point=(Fraction(a[0] + b[0], 2 * UNIT), Fraction(a[1] + b[1], 2 * UNIT)),
            )
    return None


def _contacts(task: Task, one: Move, other: Move) -> Iterator[Fault]:
    """How two robots touch, the plainest way first."""
    a, b = robot_name(one.robot), robot_name(other.robot)
    base, opposite = task.bases[one.robot], task.bases[other.robot]

    def fault(what: str, cure: str, point: Meeting) -> Fault:
        return Fault(
            Finding.ROBOT_COLLISION,
            f'{a} and {b} collide at {meeting_text(point)}: {what}: {cure}',
            robots=(one.robot, other.robot),
            point=point,
        )

    if one.end == other.end:
        point = meeting_point(one.end, one.end, other.end, other.end)
        yield fault('both end there', 'let one of them end elsewhere or wait', point)
    pairs: tuple[tuple[str, Point, Point, Point, Point], ...] = (
        ('their ways cross', one.start, one.end, other.start, other.end),
        (f'the way of {a} meets the arm of {b}', one.start, one.end, opposite, other.end),
        (f'the way of {b} meets the arm of {a}', base, one.end, other.start, other.end),
        ('their arms cross after the step', base, one.end, opposite, other.end),
    )
    for what, p, q, r, s in pairs:
        if touching(p, q, r, s):
            yield fault(what, 'do these moves in different steps', meeting_point(p, q, r, s))


def _against_idle(task: Task, state: State, step: Sequence[Move]) -> Fault | None:
    busy = {move.robot for move in step}
    for move in step:
        base = task.bases[move.robot]
        for idle in sorted(task.neighbours[move.robot] - busy):
            arm = task.bases[idle], state.tips[idle]
            for what, a in (('way', move.start), ('arm', base)):
                if touching(a, move.end, *arm):
                    point = meeting_point(a, move.end, *arm)
                    return Fault(
                        Finding.ROBOT_COLLISION,
                        f'{robot_name(move.robot)} and {robot_name(idle)} collide at '
                        f'{meeting_text(point)}: the {what} of {robot_name(move.robot)} meets the '
                        f'arm of {robot_name(idle)}, which does nothing: move that arm away before',
                        robots=(move.robot, idle),
                        point=point,
                    )
    return None


def judge(task: Task, plan: Plan) -> Judged:
    """What becomes of a plan from the first state of a task."""
    states = [task.start]
    for at, step in enumerate(plan):
        found = take_step(task, states[-1], step)
        if isinstance(found, Fault):
            fault = replace(found, reason=f'step {at + 1}: {found.reason}', step=at)
            return _failed(task, plan, states, fault)
        states.append(found)
    last = states[-1]
    if task.solved(last):
        count = f'{len(plan)} step{"s" * (len(plan) != 1)}'
        verdict = Verdict(Category.SUCCESS, f'solved in {count}', -1, len(plan), 1.0)
        return Judged(verdict, Finding.OK, plan, tuple(states))
    missing = tuple(_missing(task, last))
    reason = f'after the last step {"; ".join(missing)}: carry on until all are at their targets'
    return _failed(task, plan, states, Fault(Finding.INCOMPLETE, reason), missing)


def verify(task: Task, text: str) -> Judged:
    """What becomes of the text of a plan, whatever it is."""
    answer = _read(read_plan, text, task, task.start)
    if isinstance(answer, Fault):
        return _failed(task, (), [task.start], answer)
    if answer.refused:
        return _failed(task, (), [task.start], refusal(), formatted=answer.formatted)
    return replace(judge(task, answer.plan), formatted=answer.formatted)


def verify_step(task: Task, state: State, text: str) -> Judged:
    """Whether the step in a text may be taken, whatever the text is.

    Returns:
        What became of it: `SUCCESS` for a step that may be taken, whose second state is where it
        leads, whether or not the task is solved there.
    """
    answer = _read(read_step, text, task, state)
    if isinstance(answer, Fault) or answer.refused:
        fault = answer if isinstance(answer, Fault) else refusal()
        formatted = not isinstance(answer, Fault) and answer.formatted
        return _failed(task, (), [state], fault, formatted=formatted)
    found = take_step(task, state, answer.plan[0])
    if isinstance(found, Fault):
        fault = replace(found, step=0)
        return _failed(task, answer.plan, [state], fault, formatted=answer.formatted)
    share = _goal_fraction(task, found)
    verdict = Verdict(Category.SUCCESS, 'the step may be taken', -1, 1, share)
    states = (state, found)
    return Judged(verdict, Finding.OK, answer.plan, states, None, answer.formatted)


def refusal() -> Fault:
    """The verdict on an answer that finds a task unsolvable."""
    return Fault(Finding.REFUSED, 'the answer says that there is no plan: give one')


def _read(
    read: Callable[[str, Mapping[str, int], MoveReader | None], PlanAnswer],
    text: str,
    task: Task,
    state: State,
) -> PlanAnswer | Fault:
    try:
        return read(text, task.robots, task.form(state))
    except PlanAnswerError as error:
        return error.fault


def _failed(
    task: Task,
    plan: Plan,
    states: list[State],
    fault: Fault,
    missing: tuple[str, ...] = (),
    formatted: bool = False,
) -> Judged:
    broken: tuple[BrokenConstraint, ...] = ()
    if fault.finding in CONSTRAINTS:
        binding = (
            *((f'robot {n}', robot_name(r)) for n, r in enumerate(fault.robots, 1)),
            *((f'object {n}', object_name(o)) for n, o in enumerate(fault.objects, 1)),
        )
        text = CONSTRAINTS[fault.finding]
        broken = (BrokenConstraint(text, binding, fault.step + 1, fault.step, fault.reason),)
    verdict = Verdict(
        fault.finding.category,
        fault.reason,
        fault.step,
        len(plan),
        _goal_fraction(task, states[-1]),
        broken,
        missing,
        fault.step + 1 if broken else len(states) - 1,
    )
    return Judged(verdict, fault.finding, plan, tuple(states), fault, formatted)


def _goal_fraction(task: Task, state: State) -> float:
    pairs = zip(state.objects, task.targets, strict=True)
    return sum(place == target for place, target in pairs) / len(task.targets)


def _missing(task: Task, state: State) -> Iterator[str]:
    for index, (place, target) in enumerate(zip(state.objects, task.targets, strict=True)):
        if place != target:
            yield f'{object_name(index)} is at {point_text(place)}, not at {point_text(target)}'
