# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The smallest world: some lamps, which one robot lights one after the other.

Its text names the lamps that are to be lit, the plan too: `hall` lights the lamp in the hall.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.pddl.model import State
from safegen_ros.pddl.plan import Step
from safegen_ros.planning.loop import MODEL, History, Level, Steps
from safegen_ros.robot.cell.execution import ConcurrentStep
from safegen_ros.sync import PlanningDeadline
from safegen_ros.tasks.cells import CellSetup, PacedCell, refused
from safegen_ros.tasks.context import PlanningContext, answers
from safegen_ros.tasks.task import OtherWorld
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.monitors import Status

LAMPS = ('attic', 'hall', 'porch')


@dataclass(frozen=True)
class LampTask(OtherWorld):
    """Lamps that are to be lit, and those that are lit already."""

    problem_text: str
    wanted: tuple[str, ...]
    lit: tuple[str, ...] = ()

    name = 'evening'
    world = format = 'lamps'
    objects = LAMPS

    @property
    def init(self) -> State:
        return frozenset(('lit', lamp) for lamp in self.lit)

    def levels(self, context: PlanningContext) -> Sequence[Level]:
        def asked(history: History, deadline: PlanningDeadline) -> Generator[str, None, None]:
            ask = context.asking(deadline.over)
            question = f'Light {" ".join(self.wanted)}.'
            yield from answers(ask, question, history, lambda verdict: verdict.reason)

        return (Level(MODEL, context.max_attempts, asked),)

    def verify(self, answer: str, *, step_by_step: bool = False) -> Verdict:
        lit, words = set(self.lit), answer.split()
        for number, lamp in enumerate(words):
            if lamp not in LAMPS:
                return Verdict(Category.FORMAT_ERROR, f'{lamp!a} is not a lamp', number)
            if lamp in lit:
                reason = f'{lamp} is lit already'
                return Verdict(Category.PRECONDITION_VIOLATION, reason, number, len(words))
            lit.add(lamp)
        if not step_by_step and (dark := sorted(set(self.wanted) - lit)):
            reason = f'dark: {" ".join(dark)}'
            return Verdict(Category.GOAL_NOT_SATISFIED, reason, -1, len(words))
        return Verdict(Category.SUCCESS, 'all is lit', -1, len(words))

    def steps_of(self, answer: str, *, step_by_step: bool = False) -> Steps:
        return tuple((Step('light', (lamp,)),) for lamp in answer.split())

    def answer_of(self, steps: Steps, *, step_by_step: bool = False) -> str:
        return ' '.join(map(lamp_of, steps))

    def monitor(self, steps: Steps, *, step_by_step: bool = False) -> LampMonitor:
        return LampMonitor(self, steps)

    def rest(self, remaining: object) -> tuple[str, str]:
        return '', str(remaining)

    def conditions(self, state: State) -> tuple[tuple[str, bool], ...]:
        return tuple((f'(lit {lamp})', ('lit', lamp) in state) for lamp in self.wanted)

    def summary(self) -> tuple[tuple[str, str], ...]:
        return (('goal', ' '.join(self.wanted)),)

    def cell(self, setup: CellSetup) -> LampCell:
        self.require_symbolic(setup)
        return LampCell(setup)


@dataclass
class LampMonitor:
    """Compares what shines with what was lit."""

    task: LampTask
    steps: Steps
    looks: int = 0
    seen: State = field(default_factory=frozenset)

    def look(self, observed: State) -> None:
        taken = {('lit', lamp_of(step)) for step in self.steps[: self.looks]}
        self.looks, self.seen = self.looks + 1, observed
        if observed != self.task.init | taken:
            raise RobotError('other lamps shine', ErrorCode.STATE_MISMATCH)

    def finish(self) -> None:
        if not all(holds for _, holds in self.task.conditions(self.seen)):
            raise RobotError('a lamp is dark', ErrorCode.GOAL_MISMATCH)

    def standings(self) -> tuple[tuple[str, Status], ...]:
        return ()

    def remaining(self) -> str:
        return ' '.join(lamp for lamp in self.task.wanted if ('lit', lamp) not in self.seen)


class LampCell(PacedCell):
    """Lamps that light at once."""

    def __init__(self, setup: CellSetup) -> None:
        super().__init__(setup)
        self._lit: set[tuple[str, ...]] = set()

    def prepare(self, objects: Sequence[str], init: State) -> None:
        self._lit = set(init)
        self._show()

    def _effect(self, step: ConcurrentStep) -> Callable[[], None]:
        lamp = lamp_of(step)
        return lambda: self._lit.add(('lit', lamp))

    def observe(self) -> State:
        return frozenset(self._lit)


def lamp_of(step: ConcurrentStep) -> str:
    [(name, arguments)] = step
    if name != 'light' or len(arguments) != 1:
        raise refused(f'{name[:40]} is not an action of a lamp')
    return arguments[0]


def read_goal(text: str, source: str) -> LampTask:
    return LampTask(text, tuple(text.split()))
