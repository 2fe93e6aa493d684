# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A household in which the stack acts: its cell, its monitor, and the model that chooses."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.pddl.model import State
from safegen_ros.pddl.plan import Step
from safegen_ros.pddl.writer import atom_text
from safegen_ros.planning.loop import Steps
from safegen_ros.robot.cell.execution import ConcurrentStep
from safegen_ros.tasks.cells import CellSetup, PacedCell, refused
from safegen_ros.tasks.context import StepAnswer, StepExecutor
from safegen_ros.tasks.household.actions import ENDINGS, HouseholdAction, Verb
from safegen_ros.tasks.household.backend import Observation, TextHousehold, observe
from safegen_ros.tasks.household.episode import Agent, Briefing, EpisodeStep
from safegen_ros.tasks.household.monitors import LiteralWatch
from safegen_ros.tasks.household.pddl3 import atoms, constraint_text, object_name
from safegen_ros.tasks.household.tasks import HouseholdTask
from safegen_ros.tasks.household.transitions import step
from safegen_ros.tasks.household.world import Feedback, HouseholdWorld, metadata
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.monitors import Status

MODEL = 'model'
"""Who chooses the actions."""

_VERBS = {verb.value.replace(' ', '-'): verb for verb in Verb if verb not in ENDINGS}


def named(action: HouseholdAction) -> Step:
    """An action in the form of a plan."""
    target = (object_name(action.target),) if action.target else ()
    return Step(action.verb.value.replace(' ', '-'), target)


def action_of(world: HouseholdWorld, together: ConcurrentStep) -> HouseholdAction:
    """The action of a step; raises `SafegenError` for an action of another household."""
    if len(together) != 1:
        raise refused(f'a step has {len(together)} actions, and the household has one robot')
    [(name, arguments)] = together
    ids = {object_name(each): each for each in world.things}
    if name not in _VERBS or len(arguments) > 1 or any(each not in ids for each in arguments):
        raise refused(f'{str(together[0])[:80]} is not an action with an object of this household')
    return HouseholdAction(_VERBS[name], *(ids[each] for each in arguments))


class HouseholdMonitor:
    """Compares each observed state with that of the world, and watches the constraints.

    Args:
        worlds: the household at first, and after each action that was taken before.
        steps: one, or none.
    """

    def __init__(
        self,
        task: HouseholdTask,
        worlds: Sequence[HouseholdWorld],
        done: tuple[HouseholdAction, ...],
        steps: Steps,
    ) -> None:
        self.looks = 0
        self._task, self._steps = task, steps
        self._world, self._done = worlds[-1], done
        self._watch = LiteralWatch(task.constraints, metadata(worlds[0]))
        self._known = self._watch.start(metadata(worlds[0]))
        for before in worlds[1:]:
            self._known = self._watch.progress(self._known, metadata(before))
        self._differs = False

    def look(self, observed: State) -> None:
        """Takes in the state at first, and that after the step.

        Raises:
            RobotError: a constraint is broken (`MONITOR_VIOLATION`), or the household is not as the
                world has it (`STATE_MISMATCH`).
        """
        if self.looks:
            action = action_of(self._world, self._steps[self.looks - 1])
            self._world, _ = step(self._world, action)
            self._done = (*self._done, action)
            self._known = self._watch.progress(self._known, metadata(self._world))
        self.looks += 1
        wanted = atoms(metadata(self._world))
        self._differs = observed != wanted
        if self._watch.account(self._known).broken:
            raise RobotError(
                f'after {self._done[-1] if self._done else "nothing"} a constraint is broken: '
                f'{self._task.requirements}',
                ErrorCode.MONITOR_VIOLATION,
            )
        if self._differs:
            missing = ' '.join(map(atom_text, sorted(wanted - observed)))
            extra = ' '.join(map(atom_text, sorted(observed - wanted)))
            raise RobotError(
                f'the household is not as it should be: missing {missing or "nothing"}, '
                f'unexpected {extra or "nothing"}: look at it before the next goal',
                ErrorCode.STATE_MISMATCH,
            )

    def finish(self) -> None:
        """Asks for nothing: the task goes on."""

    def standings(self) -> tuple[tuple[str, Status], ...]:
        """The constraints, and where they stand."""
        account = self._watch.account(self._known)
        broken, open_ones = ({n for n, _ in each} for each in (account.broken, account.open))
        return tuple(
            (
                constraint_text(each),
                Status.VIOLATED
                if number in broken
                else Status.PENDING
                if number in open_ones
                else Status.SATISFIED,
            )
            for number, each in enumerate(self._task.constraints)
        )

    def remaining(self) -> tuple[HouseholdAction, ...] | None:
        """The actions that were taken; None where the household is not what they lead to."""
        return None if self._differs else self._done


class HouseholdCell(PacedCell):
    """A household that is no more than its rules."""

    def __init__(self, world: HouseholdWorld, setup: CellSetup) -> None:
        super().__init__(setup)
        self._world = world
        self._feedback = Feedback(True, '')
        self._first = True

    def prepare(self, objects: Sequence[str], init: State) -> None:
        """Does nothing: the household is as its scene says.

        Raises:
            RobotError: the task begins elsewhere (`UNSUPPORTED_SCENE`).
            Canceled: the cell was stopped.
        """
        self._check_ready()
        if init != self.observe():
            raise RobotError(
                'the household is not where the task begins', ErrorCode.UNSUPPORTED_SCENE
            )
        self._show()

    def _effect(self, together: ConcurrentStep) -> Callable[[], None]:
        """One action is taken."""
        after, feedback = step(self._world, action_of(self._world, together))
        if not feedback.success:
            raise RobotError(feedback.message, ErrorCode.STATE_MISMATCH)

        def become() -> None:
            self._world, self._feedback, self._first = after, feedback, False

        return become

    def observe(self) -> State:
        """The atoms that hold, hidden ones included: monitors watch them, no model gets them."""
        return atoms(metadata(self._world))

    def words(self) -> str:
        """What the robot sees."""
        return observe(self._world, self._feedback).text(first=self._first)


class ExecutedHousehold(TextHousehold):
    """Our world, in which every action that does something is taken elsewhere first."""

    def __init__(self, executor: StepExecutor) -> None:
        super().__init__()
        self._executor = executor

    def reset(self, *arguments: Any, **keywords: Any) -> Observation:
        """Sets both up; raises `RobotError` where they differ."""
        observation = super().reset(*arguments, **keywords)
        self._compare(self._executor.begin())
        return observation

    def step(self, action: HouseholdAction) -> Observation:
        """Takes an action there and here; one that our world refuses is not tried there."""
        after, feedback = step(self.world, action)
        if feedback.success:
            observed = self._executor.take((named(action),), MODEL)
            self.world = after
            self._compare(observed)
        return observe(self.world, feedback)

    def _compare(self, observed: State) -> None:
        if observed != atoms(self.metadata()):
            raise RobotError(
                'the household is not as its model says: look at it before the next goal',
                ErrorCode.STATE_MISMATCH,
            )


class ReportingAgent:
    """An agent whose answers are reported, each with its verdict."""

    def __init__(self, agent: Agent, notify: Callable[[StepAnswer], None]) -> None:
        self._agent, self._notify = agent, notify
        self._text, self._asked, self._taken = '', time.monotonic(), 0

    def begin(self, briefing: Briefing, observation: Observation) -> None:
        """Hands it on."""
        self._agent.begin(briefing, observation)

    def answer(self, observation: Observation, complaint: str) -> str:
        """The answer of the agent; its prompt is the feedback on the one before."""
        if complaint:
            self._tell((), Verdict(Category.FORMAT_ERROR, complaint, 0))
        self._asked = time.monotonic()
        self._text = self._agent.answer(observation, complaint)
        return self._text

    def moment(self, moment: EpisodeStep) -> None:
        """Takes the result of the last answer."""
        action, said = moment.action, moment.observation.feedback.message
        ends = action is None or action.verb in ENDINGS
        steps: Steps = () if action is None or ends else ((named(action),),)
        category = Category.SAFETY_VIOLATION if moment.blocked else moment.category
        verdict = Verdict(category, moment.warning or said, -1, len(steps), broken=moment.broken)
        self._tell(steps, verdict)
        self._taken += category is Category.SUCCESS and not ends

    def _tell(self, steps: Steps, verdict: Verdict) -> None:
        seconds = time.monotonic() - self._asked
        self._notify(StepAnswer(self._text, steps, verdict, self._taken, seconds))
