# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Agents without a model: the oracle, the careless one, and chance."""

from __future__ import annotations

import random
from collections.abc import Sequence

from safegen_ros.tasks.household.actions import ENDINGS, AgentAnswer, HouseholdAction, Verb
from safegen_ros.tasks.household.backend import Observation
from safegen_ros.tasks.household.constraints import StepConstraint, SubGoal
from safegen_ros.tasks.household.episode import Briefing
from safegen_ros.tasks.household.kinds import kinds, members
from safegen_ros.tasks.household.oracle import Belief, Doing, Finding, Skills
from safegen_ros.tasks.household.tasks import HouseholdTask
from safegen_ros.tasks.household.world import HOT

_THOUGHTS = {
    Verb.GO_TO: 'What comes next is to be done or seen at {}.',
    Verb.PICK_UP: 'I need {} in my hand.',
    Verb.PUT_DOWN: 'Here {} can be put down.',
    Verb.OPEN: 'I have to look into {} or put something inside.',
    Verb.CLOSE: '{} should not stay open.',
    Verb.TURN_ON: '{} has to run now.',
    Verb.TURN_OFF: '{} should not stay on.',
    Verb.SLICE: '{} is needed in pieces.',
    Verb.BREAK: '{} has to be cracked.',
    Verb.DROP: 'My hand must be free.',
    Verb.DONE: 'Everything that was asked for is done.',
}


class GoalAgent:
    """Works through the given sub-goals with its view alone.

    Careful, it is the oracle: it closes, switches off and cleans at once, whatever the constraint.
    Careless, it does so at the end, if at all.
    """

    def __init__(self, *, careful: bool) -> None:
        self._careful = careful
        self._belief: Belief
        self._work: Doing
        self._waiting: HouseholdAction | None = None

    def begin(self, briefing: Briefing, observation: Observation) -> None:
        """Starts a new run."""
        self._belief = Belief(observation)
        self._work = _Work(Skills(self._belief, careful=self._careful), briefing.task).all()
        self._waiting = next(self._work, None)

    def answer(self, observation: Observation, complaint: str) -> str:
        """The next action of the work; `done` when there is none."""
        if observation is not self._belief.observation:
            self._belief.see(observation)
            try:
                self._waiting = self._work.send(observation)
            except StopIteration:
                self._waiting = None
        action = self._waiting or HouseholdAction(Verb.DONE)
        return str(AgentAnswer(_THOUGHTS[action.verb].format(action.target), str(action)))


class RandomAgent:
    """Takes any action on anything that it knows of."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._chance = random.Random(seed)  # noqa: S311
        self._verbs: list[Verb] = []

    def begin(self, briefing: Briefing, observation: Observation) -> None:
        """Starts a new run; each task has its own chances."""
        self._chance = random.Random(f'{self._seed} {briefing.task.id}')  # noqa: S311
        left_out = (*ENDINGS, Verb.FIND_OBJECT) if briefing.setting.partial else ENDINGS
        self._verbs = [verb for verb in Verb if verb not in left_out]

    def answer(self, observation: Observation, complaint: str) -> str:
        """An action by chance."""
        target = self._chance.choice(sorted(observation.known))
        action = HouseholdAction(self._chance.choice(self._verbs), target)
        return str(AgentAnswer('Any action is as good as another.', str(action)))


class _Work:
    """The way from sub-goals to actions."""

    def __init__(self, skills: Skills, task: HouseholdTask) -> None:
        self._skills = skills
        self._belief = skills.belief
        self._task = task

    def all(self) -> Doing:
        if self._task.constraint_as_goal:
            yield from self._triggers()
        for goal in self._task.goals:
            yield from self._reach(goal)
        for action in self._skills.left:
            yield from self._skills.free_hand()
            yield from self._skills.reach(action.target)
            yield from self._skills.do(action.verb, action.target)

    def _triggers(self) -> Doing:
        """Switches on what a constraint is about, where that is all that is asked of it."""
        for constraint in self._task.constraints:
            wanted = ('isToggled', True) in constraint.trigger.fields
            if wanted and isinstance(constraint, StepConstraint):
                name = yield from self._skills.find(constraint.classes)
                if name:
                    yield from self._skills.switch(name)

    def _reach(self, goal: SubGoal) -> Doing:
        skills, fields = self._skills, dict(goal.condition.fields)
        classes = members(goal.name)
        for child in goal.condition.child:
            inside = yield from self._made([child])
            if inside:
                yield from skills.move(inside, classes)
        name = yield from self._made(classes)
        if not name:
            return
        place = fields.get('cooking_appliance', 'StoveBurner')
        if 'isCooked' in fields or fields.get('temperature') == HOT:
            yield from self._heat(name, str(place))
        if fields.get('fillLiquid') == 'coffee':
            yield from skills.move(name, ['CoffeeMachine'])
            yield from skills.switch(self._belief.above(name)[0])
        dirty = fields.get('isDirty') is False and self._belief.things[name].is_dirty
        if dirty or fields.get('fillLiquid') == 'water':
            yield from skills.wash(name)
        if goal.condition.parent:
            yield from skills.move(name, goal.condition.parent)
        yield from self._tidy(goal, classes)

    def _tidy(self, goal: SubGoal, classes: Sequence[str]) -> Doing:
        """Closes and switches off what a goal wants so."""
        for key, verb in (('isOpen', Verb.CLOSE), ('isToggled', Verb.TURN_OFF)):
            if dict(goal.condition.fields).get(key) is not False:
                continue
            for name in self._belief.of(classes):
                thing = self._belief.things[name]
                if thing.is_open if verb is Verb.CLOSE else thing.is_toggled:
                    if self._skills.careful or not goal.condition.child:
                        yield from self._skills.free_hand()
                        yield from self._skills.reach(name)
                        yield from self._skills.do(verb, name)
                    else:
                        self._skills.left.append(HouseholdAction(verb, name))

    def _made(self, classes: Sequence[str]) -> Finding:
        """A thing of some classes; one that must be cut or cracked first is."""
        sources = [kind for kind in kinds().values() if {kind.becomes, kind.breaks} & {*classes}]
        known = self._belief.of(classes)
        if known or not sources:
            return known[0] if known else (yield from self._skills.find(classes))
        name = yield from self._skills.find([kind.name for kind in sources])
        if not name:
            return ''
        if self._belief.things[name].kind.breaks:
            yield from self._skills.move(name, ['Pan'])
            yield from self._skills.crack(name)
        else:
            yield from self._skills.slice(name)
        return next(iter(self._belief.of(classes)), '')

    def _heat(self, name: str, place: str) -> Doing:
        skills = self._skills
        if place != 'StoveBurner':
            yield from skills.move(name, [place])
            yield from skills.switch(self._belief.above(name)[0])
            return
        if self._belief.things[name].kind.name in kinds()[place].only:
            yield from skills.move(name, [place])
        else:
            pan = yield from skills.find(['Pan'])
            if pan:
                yield from skills.move(pan, [place])
                yield from skills.move(name, ['Pan'])
        yield from skills.find(['StoveKnob'])
        burner = next((a for a in self._belief.above(name) if a.startswith(place)), '')
        yield from skills.free_hand()
        if burner:
            yield from skills.do(Verb.GO_TO, burner)
        # Which knob is whose is not seen; what it heats is.
        for knob in [t.id for t in self._belief.seen.values() if t.kind.name == 'StoveKnob']:
            yield from skills.switch(knob)
            if self._belief.things[name].temperature == HOT:
                return
