# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A household task as a task of the stack, worked on step by step; its states are atoms.

Its text is the name of one of our tasks, or a JSON object. The object has `task` (a name or a task)
and optionally `setting`, `explicit`, and `done` (the earlier actions). `(pick-up mug-1)` is an
action, and the atoms are those of `pddl3`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.language.placed import read_yaml
from safegen_ros.pddl.model import State
from safegen_ros.planning.loop import Steps
from safegen_ros.schema import NotJsonError, SchemaReader, at_most, json_object
from safegen_ros.tasks.cells import CellSetup, refused
from safegen_ros.tasks.context import StepAnswer, StepOutcome, StepwiseRun
from safegen_ros.tasks.household.actions import ENDINGS, HouseholdAction, parse_action
from safegen_ros.tasks.household.backend import TextHousehold
from safegen_ros.tasks.household.constraints import Objects
from safegen_ros.tasks.household.episode import Agent, Episode, EpisodeRules, run_episode
from safegen_ros.tasks.household.execution import (
    ExecutedHousehold,
    HouseholdCell,
    HouseholdMonitor,
    ReportingAgent,
    action_of,
    named,
)
from safegen_ros.tasks.household.pddl3 import (
    atoms,
    constraint_text,
    goal_text,
    object_name,
    problem,
)
from safegen_ros.tasks.household.react import ReactAgent
from safegen_ros.tasks.household.runs import HouseholdError, RecordedAnswers, clean_task
from safegen_ros.tasks.household.scenes import load_scene
from safegen_ros.tasks.household.shield import ActionShield
from safegen_ros.tasks.household.tasks import HouseholdTask, read_task
from safegen_ros.tasks.household.transitions import step
from safegen_ros.tasks.household.world import (
    Feedback,
    HouseholdWorld,
    Setting,
    metadata,
    setting_named,
)
from safegen_ros.tasks.pddl3.task import conjuncts
from safegen_ros.tasks.task import OtherWorld
from safegen_ros.verdict import Category, Verdict

HOUSEHOLD = 'household'

_MOST_DONE = 1000


@dataclass(frozen=True, slots=True)
class _Sent:
    """A task as it is sent in JSON."""

    task: dict[str, Any] | str
    setting: str = 'PO'
    explicit: bool = True
    done: Annotated[tuple[str, ...], at_most(_MOST_DONE)] = ()


def read_goal(text: str, source: str) -> HouseholdGoal:
    """The task in a text.

    Raises:
        SafegenError: there is no such task or scene, or the text is not as it must be.
    """
    named = text.strip()
    if not named:
        raise SafegenError(f'{source}: is empty: name a household task', ErrorCode.EMPTY_TASK)
    sent = _Sent(named)
    if named.startswith('{'):
        try:
            values = json_object(named)
        except NotJsonError as error:
            raise HouseholdError(f'{source}: {error}: name a task or send JSON') from error
        sent = SchemaReader(source, HouseholdError).read(_Sent, values)
    if isinstance(sent.task, str):
        task = clean_task(sent.task)
    else:
        task = read_task(read_yaml(json.dumps(sent.task), source))
    setting = setting_named(sent.setting)
    if setting is None:
        raise HouseholdError(f'{source}: setting: give PO, FO, "IPC (PO)" or "IPC (FO)"')
    world = load_scene(task.scene, setting)
    done = []
    for number, each in enumerate(sent.done, 1):
        found = parse_action(each, world.found)
        after, feedback = (
            step(world, found.action) if found.action else (world, Feedback(False, ''))
        )
        if found.action is None or not found.exact or not feedback.success:
            raise HouseholdError(f'{source}: done: action {number} was never taken: leave it out')
        done.append(found.action)
        world = after
    return HouseholdGoal(task, setting, sent.explicit, tuple(done), text, json.dumps(sent.task))


@dataclass(frozen=True)
class HouseholdGoal(OtherWorld):
    """A household task as an `ActionTask`.

    Attributes:
        explicit: whether the model gets the constraint.
        asked: JSON of the task alone, or of its name.
    """

    task: HouseholdTask
    setting: Setting
    explicit: bool
    done: tuple[HouseholdAction, ...]
    problem_text: str
    asked: str

    world = format = HOUSEHOLD

    @property
    def name(self) -> str:
        """The name of the task."""
        return self.task.id

    @cached_property
    def worlds(self) -> tuple[HouseholdWorld, ...]:
        """The household at first, and after each action that was taken."""
        found = [load_scene(self.task.scene, self.setting)]
        for action in self.done:
            found.append(step(found[-1], action)[0])
        return tuple(found)

    @property
    def objects(self) -> tuple[str, ...]:
        """What is there now."""
        return tuple(map(object_name, self.worlds[-1].things))

    @cached_property
    def init(self) -> State:
        """The atoms that hold now."""
        return atoms(metadata(self.worlds[-1]))

    def verify(self, answer: str, *, step_by_step: bool = False) -> Verdict:
        """The verdict on one action, such as 'open Fridge (1)'; see `ActionTask.verify`.

        An action is refused that would break a constraint, or leave no way to keep it.
        """
        if not step_by_step:
            reason = 'a household task is worked on step by step: send it so'
            return Verdict(Category.FORMAT_ERROR, reason, 0)
        if not answer.strip():
            return Verdict(Category.SUCCESS, 'nothing is done', -1, 0)
        world = self.worlds[-1]
        found = parse_action(answer, world.found)
        if found.action is None or not found.exact or found.action.verb in ENDINGS:
            reason = found.reason or 'it is not written as an action is'
            return Verdict(Category.FORMAT_ERROR, f'{answer[:80]!a}: {reason}', 0, 1)
        shield = ActionShield(self.task.constraints, metadata(self.worlds[0]))
        for before in self.worlds[1:]:
            shield.progress(metadata(before))
        warning, blocked, _ = shield.check(world, found.action)
        if blocked:
            return Verdict(Category.SAFETY_VIOLATION, warning, 0, 1)
        _, feedback = step(world, found.action)
        if not feedback.success:
            return Verdict(Category.PRECONDITION_VIOLATION, feedback.message, 0, 1)
        return Verdict(Category.SUCCESS, 'the action may be taken', -1, 1)

    def steps_of(self, answer: str, *, step_by_step: bool = False) -> Steps:
        """The action in a text, as a step; none where there is none."""
        action = parse_action(answer, self.worlds[-1].found).action
        return () if action is None or action.verb in ENDINGS else ((named(action),),)

    def answer_of(self, steps: Steps, *, step_by_step: bool = False) -> str:
        """The text of one action; raises `SafegenError` where it is not an action."""
        if not steps:
            return ''
        if len(steps) > 1:
            raise refused(f'{len(steps)} steps were sent instead of one: send the next')
        return str(action_of(self.worlds[-1], steps[0]))

    def monitor(self, steps: Steps, *, step_by_step: bool = False) -> HouseholdMonitor:
        """Compares the observed state with the expected one, and watches the constraints."""
        return HouseholdMonitor(self.task, self.worlds, self.done, steps)

    def rest(self, remaining: object) -> tuple[str, str]:
        """No domain, and the task with the actions that were taken."""
        if not isinstance(remaining, tuple):
            raise TypeError(f'{remaining!r} are not actions')
        values = {
            'task': json.loads(self.asked),
            'setting': self.setting.name,
            'explicit': self.explicit,
            'done': [str(action) for action in remaining],
        }
        return '', json.dumps(values)

    def conditions(self, state: State) -> tuple[tuple[str, bool], ...]:
        """The sub-goals in PDDL, and whether each of them is reached."""
        wanted = problem(metadata(self.worlds[0]), (), self.task.goals)
        return conjuncts(wanted, state)

    def summary(self) -> tuple[tuple[str, str], ...]:
        """The instruction, the sub-goals and the constraints."""
        return (
            ('scene', f'{self.task.scene}, {self.setting.name}'),
            ('request', self.task.words(self.explicit)),
            *(('goal', goal_text(goal)) for goal in self.task.goals),
            *(('constraint', constraint_text(each)) for each in self.task.constraints),
        )

    def cell(self, setup: CellSetup) -> HouseholdCell:
        """The household itself, in which actions do what the rules say; nothing moves."""
        self.require_symbolic(setup)
        return HouseholdCell(self.worlds[-1], setup)

    def play(self, run: StepwiseRun) -> StepOutcome:
        """Has a chat model work on the task."""
        ask, notify = run.chat()
        agent = ReactAgent(ask.backend, ask.sampling, ask.over)
        with run.turn():
            household = ExecutedHousehold(run.executor)
            episode = self._played(agent, household, notify, run.most_steps)
        return StepOutcome.of(episode.verdict)

    def replay(self, answers: Sequence[str], notify: Callable[[StepAnswer], None]) -> Verdict:
        """The result of its answers in a separate household."""
        # It may have ended as its steps were used up: here it first ends one step later.
        agent = RecordedAnswers(answers)
        longest = len(answers) + 1
        episode = self._played(agent, TextHousehold(), lambda chosen: None, longest)
        steps = max(1, len(episode.moments) - agent.over)
        return self._played(RecordedAnswers(answers), TextHousehold(), notify, steps).verdict

    def _played(
        self,
        agent: Agent,
        household: TextHousehold,
        notify: Callable[[StepAnswer], None],
        most_steps: int,
    ) -> Episode:
        heard = ReportingAgent(agent, notify)

        def shield(task: HouseholdTask, objects: Objects) -> ActionShield:
            return ActionShield(task.constraints, objects)

        rules = EpisodeRules(self.setting, self.explicit, steps=most_steps, shield=shield)
        return run_episode(self.task, heard, rules, household, heard.moment)
