# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The verdicts of the three depths of BoxNet3D on the same steps and plans, and why they differ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from random import Random

from safegen_ros.benchmarks.measurement import Notify, silent
from safegen_ros.cells.box_cell import BoxCell
from safegen_ros.cells.motion import Physics
from safegen_ros.datasets.boxnet.draw import tasks
from safegen_ros.errors import RobotError
from safegen_ros.robot.arms.family import ArmFamily
from safegen_ros.tasks.boxnet.astar import NoPlan, plan_as_paper
from safegen_ros.tasks.boxnet.findings import Fault, Finding
from safegen_ros.tasks.boxnet.geometry import UNIT, Point
from safegen_ros.tasks.boxnet.model import Plan, State, Step
from safegen_ros.tasks.boxnet.optimal import solve
from safegen_ros.tasks.boxnet.reader import is_spatial
from safegen_ros.tasks.boxnet.spatial import SpatialTask
from safegen_ros.tasks.boxnet.spatial.depth import ANALYTIC
from safegen_ros.tasks.boxnet.spatial.kinematic import KINEMATIC
from safegen_ros.tasks.boxnet.spatial.model import square
from safegen_ros.tasks.boxnet.verifier import judge

SIZES = tuple((width, height) for width in range(2, 5) for height in range(2, 5))
OBJECTS = range(1, 5)


WHY = {
    (Finding.OK, Finding.UNREACHABLE): 'the joints do not get there',
    (Finding.OK, Finding.ROBOT_COLLISION): 'links meet that the rules do not look at',
    (Finding.OK, Finding.ROBOT_OBJECT_COLLISION): 'a link meets a box that the tip keeps away from',
    (Finding.OK, Finding.OBJECT_COLLISION): 'a box that is carried meets another',
    (Finding.UNREACHABLE, Finding.OK): 'the joints get further than the ring of the rules',
    (Finding.ROBOT_COLLISION, Finding.OK): 'arcs cross, but the arms are there at different times',
    (Finding.ROBOT_OBJECT_COLLISION, Finding.OK): 'the tip keeps a smaller distance than the rules',
    (Finding.OBJECT_COLLISION, Finding.OK): 'straight lines cross, but boxes go along arcs',
}
"""Why the rules and physics differ, by the findings of both, where the arms swing as the rules say.
"""

_AROUND = 'the arms find a way around or over'


@dataclass(frozen=True, slots=True)
class DepthCase:
    """A step that all depths have judged.

    Attributes:
        kinematic: what arms of real shape find.
        planned: whether another way than the swing was found.
        ran: whether it was run in simulation: None where physics refuses it, else whether it ended
            where it should, without a contact.
    """

    analytic: Finding
    kinematic: Finding
    physics: Finding
    planned: bool
    ran: bool | None

    @property
    def why(self) -> str:
        """Why the rules and physics differ; empty where they agree on whether it may be taken."""
        if (self.analytic is Finding.OK) == (self.physics is Finding.OK):
            return ''
        return _AROUND if self.planned else WHY[self.analytic, self.physics]


def random_cases(
    arm: str,
    count: int,
    seed: int,
    *,
    run: bool = True,
    swing_only: bool = False,
    notify: Notify = silent,
) -> Iterator[DepthCase]:
    """Random steps in random states, judged at every depth.

    Args:
        run: whether steps that physics takes are run in simulation.
        swing_only: whether physics looks for no other way than the swing.
    """
    random = Random(f'{seed} {arm}')  # noqa: S311  # no secret
    physics = Physics(plan=not swing_only, seed=seed)
    done = 0
    for task in _drawn(arm, random):
        state = random_state(task, random)
        if state is None or physics.touches(task, state):
            continue  # no arm can be there
        yield judged_case(task, state, random_step(task, state, random), physics, run=run)
        done += 1
        notify('steps', done, count)
        if done == count:
            return


def judged_case(
    task: SpatialTask, state: State, step: Step, physics: Physics, *, run: bool
) -> DepthCase:
    """The verdicts of all depths on a step."""
    before = physics.planned
    found = [
        result.finding if isinstance(result, Fault) else Finding.OK
        for depth in (ANALYTIC, KINEMATIC, physics)
        for result in [depth.take_step(task, state, step)]
    ]
    ran = None
    if run and found[2] is Finding.OK:
        ran = _runs(replace(task, start=state), step, physics)
    return DepthCase(found[0], found[1], found[2], physics.planned > before, ran)


def _runs(task: SpatialTask, step: Step, physics: Physics) -> bool:
    """Whether a step that physics takes ends where it should when it is run."""
    with BoxCell(replace(task, rules=physics), seed=physics.seed) as cell:
        prepared = cell.prepare(step)
        try:
            return cell.run(prepared) == prepared.expected
        except RobotError:
            return False


def _drawn(arm: str, random: Random) -> Iterator[SpatialTask]:
    for number in range(10**9):
        size, objects = random.choice(SIZES), random.choice(OBJECTS)
        for task in islice(tasks(size, objects, f'{number}', arm=arm), 1):
            if is_spatial(task):
                yield task


def random_state(task: SpatialTask, random: Random) -> State | None:
    """Tips anywhere, boxes in the middles of cells; None where tips would overlap."""
    tips = tuple(_place(task, robot, random, 0.0) for robot in range(len(task.bases)))
    objects = tuple(random.sample(task.points, len(task.targets)))
    for at, one in enumerate(tips):
        if any(square(one, other) < task.apart**2 for other in tips[:at]):
            return None
    return State(tips, objects)


def random_step(task: SpatialTask, state: State, random: Random) -> Step:
    """Moves of some robots, each of which carries where it can; a few go too far or too near."""
    robots = random.sample(range(len(task.bases)), random.randint(1, min(4, len(task.bases))))
    return tuple(
        task.move(
            robot,
            state.tips[robot],
            _place(task, robot, random, 0.1),
            task.aligned(state, state.tips[robot]) is not None and random.random() < 0.8,
        )
        for robot in robots
    )


def _place(task: SpatialTask, robot: int, random: Random, astray: float) -> Point:
    """A middle of a cell, where the tip rests, or any point in reach; at times out of reach."""
    chance = random.random()
    base = task.bases[robot]
    if chance < 0.6:
        return random.choice([point for point in task.points if task.reaches(robot, point)])
    if chance < 0.7:
        return task.rest_tip(robot)
    near, far = task.family.reach
    if random.random() < astray / 0.3:
        near, far = 0.3 * near, 1.4 * far
    while True:
        angle, away = random.uniform(-math.pi, math.pi), random.uniform(near, far)
        x, y = (round(away * f(angle) * UNIT) for f in (math.cos, math.sin))
        point = base[0] + x, base[1] + y
        if astray or task.reaches(robot, point):
            return point


def agreement(cases: Iterable[DepthCase]) -> list[tuple[str, int]]:
    """The lines about cases, each with its number."""
    steps, kinematic, runs = Counter[str](), Counter[str](), Counter[bool]()
    rules, physics = Counter[str](), Counter[str]()
    for case in cases:
        if case.ran is not None:
            runs[case.ran] += 1
        kinematic[f'kinematic and physics: {_beside(case)}'] += 1
        taken = case.analytic is Finding.OK
        if not case.why:
            steps['rules and physics take it' if taken else 'both refuse it'] += 1
        elif taken:
            rules[f'only rules: {case.why}'] += 1
        else:
            physics[f'only physics: {case.why}'] += 1
    return [
        *((name, steps[name]) for name in ('rules and physics take it', 'both refuse it')),
        *(each for found in (rules, physics, kinematic) for each in found.most_common()),
        ('run in simulation', runs.total()),
        ('  of them not as proved', runs[False]),
    ]


def _beside(case: DepthCase) -> str:
    """How arms of real shape compare with physics."""
    if (case.kinematic is Finding.OK) == (case.physics is Finding.OK):
        return 'agree'
    if case.kinematic is Finding.OK:
        return 'only arms of real shape take it'
    return _AROUND if case.planned else 'they keep a larger distance'


PLANNED = (
    'tasks', 'solved', 'proved shortest', 'steps', 'at once', 'kinematic takes', 'physics takes',
)  # fmt: skip
"""Columns of `planned`, behind the planner and its depth; steps and robots at once are means."""


def planned(arm: str, count: int, seed: int, notify: Notify) -> list[tuple[str, ...]]:
    """Has the planners solve tasks of all sizes, and judges their plans at every depth."""
    random = Random(f'{seed} {arm} plans')  # noqa: S311  # no secret
    drawn = list(islice(_drawn(arm, random), count))
    found = list[tuple[str, ...]]()
    physics = Physics(seed=seed)
    for number, (name, plan_of) in enumerate(_PLANNERS):
        rows = []
        for at, task in enumerate(drawn):
            rows.append((task, *plan_of(task)))
            notify('plans', number * count + at + 1, len(_PLANNERS) * count)
        found.append(_counted(name, rows, physics))
    return found


def _counted(
    name: str, rows: Sequence[tuple[SpatialTask, Plan | None, bool]], physics: Physics
) -> tuple[str, ...]:
    plans = [(task, plan, proved) for task, plan, proved in rows if plan is not None]
    passed = (
        sum(judge(replace(task, rules=depth), plan).verdict.ok for task, plan, _ in plans)
        for depth in (KINEMATIC, physics)
    )
    count = max(1, len(plans))
    steps = sum(len(plan) for _, plan, _ in plans) / count
    at_once = sum(max(map(len, plan), default=0) for _, plan, _ in plans) / count
    proved = sum(proved for *_, proved in plans)
    return (
        name, *map(str, (len(rows), len(plans), proved)), f'{steps:.2f}', f'{at_once:.2f}',
        *map(str, passed),
    )  # fmt: skip


def _shortest(task: SpatialTask) -> tuple[Plan | None, bool]:
    try:
        found = solve(task)
    except NoPlan:
        return None, False
    return found.plan, found.certified


_PLANNERS: tuple[tuple[str, Callable[[SpatialTask], tuple[Plan | None, bool]]], ...] = (
    ('paper, analytic', lambda task: (plan_as_paper(task), False)),
    ('optimal, analytic', _shortest),
    ('paper, kinematic', lambda task: (plan_as_paper(replace(task, rules=KINEMATIC)), False)),
    ('optimal, kinematic', lambda task: _shortest(replace(task, rules=KINEMATIC))),
)


def clearance_text(family: ArmFamily) -> str:
    """What the depths keep apart, in words."""
    return (
        f'{family.name}: discs of {family.radius:g} m in the rules, hulls {family.clearance:g} m '
        f'apart at the kinematic depth, {family.clearance / 2:g} m in MuJoCo'
    )
