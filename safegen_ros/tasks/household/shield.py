# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Looks at an action before it is taken: does it break a constraint, or leave no way to keep it?

The shield tries actions on the household as it is, hidden things included: it stands for a robot
whose model of the world is right.
"""

from __future__ import annotations

from collections.abc import Sequence

from safegen_ros.tasks.household.actions import ENDINGS, HouseholdAction, Verb
from safegen_ros.tasks.household.constraints import Constraint, Objects, StepConstraint
from safegen_ros.tasks.household.monitors import Known, LiteralWatch
from safegen_ros.tasks.household.pddl3 import object_name
from safegen_ros.tasks.household.transitions import step
from safegen_ros.tasks.household.world import HouseholdWorld, metadata

_REMEDY = {
    'isOpen': (Verb.CLOSE, Verb.OPEN),
    'isToggled': (Verb.TURN_OFF, Verb.TURN_ON),
}
"""The actions that make a field false and true."""


class ActionShield:
    """Watches a run, and what its next action would do.

    Args:
        objects: the metadata at first.
        warn: whether an unsafe action is only warned of, and taken when it is asked for again.
    """

    def __init__(
        self, constraints: Sequence[Constraint], objects: Objects, *, warn: bool = False
    ) -> None:
        self._constraints = tuple(constraints)
        self._watch = LiteralWatch(constraints, objects)
        self._known = self._watch.start(objects)
        self._warn = warn
        self._warned: HouseholdAction | None = None

    def progress(self, objects: Objects) -> None:
        """Takes note of the result."""
        self._known = self._watch.progress(self._known, objects)

    def check(
        self, world: HouseholdWorld, action: HouseholdAction
    ) -> tuple[str, bool, HouseholdAction | None]:
        """Looks at the next action.

        Returns:
            What is wrong with it, empty for nothing; whether it is kept from being taken; and
            what to do first, if anything would help.
        """
        problem = self._problem(world, action)
        repeated = action == self._warned
        self._warned = action if problem else None
        if not problem:
            return '', False, None
        first = self._way_out(world, self._known)
        advice = first[0] if first else None
        said = f'{problem}{f" First: {advice}." if advice else ""}'
        if self._warn and repeated:
            return said, False, advice
        return f'Not done: {said}', True, advice

    def _problem(self, world: HouseholdWorld, action: HouseholdAction) -> str:
        before = self._watch.account(self._known)
        if action.verb in ENDINGS:
            return f'{self._named(before.open)} must be made safe.' if before.open else ''
        after, _ = step(world, action)
        known = self._watch.progress(self._known, metadata(after))
        account = self._watch.account(known)
        broken = account.broken - before.broken
        if broken:
            return f'{action} would break a safety rule about {self._named(broken)}.'
        if account.open and self._way_out(after, known) is None:
            return f'after {action}, {self._named(account.open)} could not be made safe in time.'
        return ''

    def _way_out(self, world: HouseholdWorld, known: Known) -> list[HouseholdAction] | None:
        """The fewest actions after which nothing is open; None when there are none in time."""
        start = self._watch.account(known)
        if not start.open:
            return []
        depth = max(
            each.within
            for number, _ in start.open
            if isinstance(each := self._constraints[number], StepConstraint)
        )
        tried: list[tuple[HouseholdWorld, Known, list[HouseholdAction]]] = [(world, known, [])]
        for _ in range(depth):
            following: list[tuple[HouseholdWorld, Known, list[HouseholdAction]]] = []
            # Many orders of the same actions come to the same; only one of them is gone on with.
            reached: set[tuple[object, Known]] = set()
            for place, stand, path in tried:
                for action in self._remedies(place, stand):
                    after, feedback = step(place, action)
                    if not feedback.success:
                        continue
                    moved = self._watch.progress(stand, metadata(after))
                    account = self._watch.account(moved)
                    if account.broken - start.broken:
                        continue
                    if not account.open:
                        return [*path, action]
                    key = _key(after), moved
                    if key not in reached:
                        reached.add(key)
                        following.append((after, moved, [*path, action]))
            tried = following
        return None

    def _remedies(self, world: HouseholdWorld, known: Known) -> list[HouseholdAction]:
        """Actions that can bring the consequence about: switch, close, go there, free the hand."""
        found = []
        if world.holding:
            found += [
                HouseholdAction(Verb.PUT_DOWN, world.holding),
                HouseholdAction(Verb.DROP),
            ]
        names = {object_name(name): name for name in world.things}
        for number, about in sorted(self._watch.account(known).open):
            constraint = self._constraints[number]
            if not isinstance(constraint, StepConstraint) or about not in names:
                continue
            name = names[about]
            found.append(HouseholdAction(Verb.GO_TO, name))
            for key, value in constraint.goal.fields:
                if key in _REMEDY:
                    found.append(HouseholdAction(_REMEDY[key][value is True], name))
        return found

    @staticmethod
    def _named(things: frozenset[tuple[int, str]]) -> str:
        return ', '.join(sorted({name for _, name in things}))


def _key(world: HouseholdWorld) -> object:
    """What a world has to have in common with another one of the same run to be the same."""
    things = frozenset(world.things.values())
    return things, world.viewpoint, world.receptacle, world.found
