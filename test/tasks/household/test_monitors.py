# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The monitors against the text of the constraints, the core's validator, and the published way."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import examples

from safegen_ros.errors import ErrorCode, PddlError, RobotError
from safegen_ros.language.placed import read_yaml
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.tasks.household.actions import HouseholdAction, Verb
from safegen_ros.tasks.household.constraints import (
    Constraint,
    ObjectCondition,
    Objects,
    ObjectSnapshot,
    StepConstraint,
    SubGoal,
)
from safegen_ros.tasks.household.kinds import kinds
from safegen_ros.tasks.household.monitors import ConstraintWatch, LiteralWatch, SpocWatch
from safegen_ros.tasks.household.pddl3 import object_name, trace_texts
from safegen_ros.tasks.household.scenes import load_scene, scene_names
from safegen_ros.tasks.household.tasks import clean_tasks, household_rules, read_constraint
from safegen_ros.tasks.household.transitions import step
from safegen_ros.tasks.household.world import Setting, metadata
from safegen_ros.verdict import Category
from safegen_ros.verify.validator import verify

_FREE = Setting(partial=False, physical=False)
_VERBS = (
    Verb.OPEN, Verb.CLOSE, Verb.TURN_ON, Verb.TURN_OFF, Verb.PICK_UP, Verb.PUT_DOWN, Verb.SLICE,
    Verb.BREAK, Verb.POUR_INTO, Verb.EMPTY,
)  # fmt: skip
_CONSTRAINTS = [
    *(each for task in clean_tasks().values() for each in task.constraints),
    *(rule.constraint for rule in household_rules()),
]


def _walk(scene: str, seed: int, steps: int) -> list[Objects]:
    """The metadata along a walk that goes somewhere and then does something to what is there."""
    chance = random.Random(seed)
    world = load_scene(scene, _FREE)
    trace = [metadata(world)]
    while len(trace) <= steps:
        action = HouseholdAction(Verb.FIND_OBJECT, chance.choice(sorted(world.things)))
        if chance.random() < 0.7:
            near = [each['objectId'] for each in trace[-1] if each['visible']]
            action = HouseholdAction(chance.choice(_VERBS), chance.choice(near))
        world, feedback = step(world, action)
        if feedback.success or chance.random() < 0.2:
            trace.append(metadata(world))
    return trace


def _by_the_text(constraint: Constraint, trace: Sequence[Objects]) -> dict[str, int]:
    """The objects that break a constraint, with the first moment, by what its text says."""
    found: dict[str, int] = {}

    snapshots = [ObjectSnapshot(objects) for objects in trace]

    def holds(condition: ObjectCondition, name: str, moment: int) -> bool:
        snapshot = snapshots[moment]
        things = [o for o in snapshot.of(constraint.classes) if o['objectId'] == name]
        return any(condition.holds(thing, snapshot) for thing in things)

    about = {each['objectId'] for snapshot in snapshots for each in snapshot.of(constraint.classes)}
    for name in about:
        for moment in range(len(trace)):
            if not holds(constraint.trigger, name, moment):
                continue
            if not isinstance(constraint, StepConstraint):
                if holds(constraint.avoid, name, moment):
                    found.setdefault(object_name(name), moment)
                continue
            last = moment + constraint.within
            followed = range(moment, min(last, len(trace) - 1) + 1)
            if last < len(trace) and not any(holds(constraint.goal, name, m) for m in followed):
                found[object_name(name)] = min(last, found.get(object_name(name), last))
    return found


def _first_broken(watch: ConstraintWatch, trace: Sequence[Objects]) -> dict[str, int]:
    found: dict[str, int] = {}
    known = watch.start(trace[0])
    for moment in range(len(trace)):
        if moment:
            known = watch.progress(known, trace[moment])
        for _, name in watch.account(known).broken:
            found.setdefault(name, moment)
    return found


@pytest.mark.slow
@examples(60)
@given(
    st.sampled_from(scene_names()),
    st.integers(0, 2**32),
    st.sampled_from(_CONSTRAINTS),
    st.integers(1, 4),
)
def test_monitors_agree_with_the_text(
    scene: str, seed: int, constraint: Constraint, within: int
) -> None:
    if isinstance(constraint, StepConstraint):
        constraint = replace(constraint, within=within)
    trace = _walk(scene, seed, 30)
    watch = LiteralWatch([constraint], trace[0])
    assert _first_broken(watch, trace) == _by_the_text(constraint, trace)


@pytest.mark.slow
def test_the_walks_break_constraints_of_every_kind() -> None:
    """Otherwise the property above would say little."""
    broken = set()
    for seed, scene in enumerate([*scene_names()] * 4):
        trace = _walk(scene, seed, 30)
        broken |= {n for n, each in enumerate(_CONSTRAINTS) if _by_the_text(each, trace)}
    kinds = {type(_CONSTRAINTS[number]) for number in broken}
    assert len(kinds) == 2
    assert len(broken) > len(_CONSTRAINTS) // 2


@examples(25)
@given(st.sampled_from(scene_names()), st.integers(0, 2**32), st.sampled_from(_CONSTRAINTS))
def test_the_core_verifier_judges_the_same_trace(
    scene: str, seed: int, constraint: Constraint
) -> None:
    trace = _walk(scene, seed, 12)
    goals = [SubGoal('Knife', ObjectCondition(fields=(('isBroken', False),)))]
    domain_text, problem_text, plan = trace_texts(trace, [constraint], goals)
    verdict = verify(read_problem(problem_text, read_domain(domain_text)), plan)
    watch = LiteralWatch([constraint], trace[0])
    known = watch.start(trace[0])
    for objects in trace[1:]:
        known = watch.progress(known, objects)
    account = watch.account(known)
    broken = _first_broken(watch, trace)
    met = goals[0].met(ObjectSnapshot(trace[-1]))
    if broken or account.open:
        assert verdict.category in (
            (Category.SAFETY_VIOLATION,) if met else (
                Category.SAFETY_VIOLATION, Category.GOAL_NOT_SATISFIED)
        )  # fmt: skip
        assert {dict(each.binding)['?x'] for each in verdict.broken} == {
            name for _, name in account.broken | account.open
        }
    else:
        expected = Category.SUCCESS if met else Category.GOAL_NOT_SATISFIED
        assert verdict.category is expected
    if broken and verdict.failing_step >= 0:
        # The core says that a deadline is missed in the first state behind it.
        step_of = min(broken.values()) - 1
        late = isinstance(constraint, StepConstraint)
        assert verdict.failing_step in (max(step_of, 0), step_of + late)


def _candle(*lit: bool) -> list[Objects]:
    return [
        [
            {
                'objectId': 'Candle (1)', 'objectType': 'Candle', 'parentReceptacles': None,
                'isToggled': on, 'isBroken': False, 'isCooked': False, 'isDirty': False,
                'isFilledWithLiquid': False, 'isOpen': False, 'isPickedUp': False,
                'cookedBy': '', 'fillLiquid': '', 'temperature': 'RoomTemp',
            }
        ]
        for on in lit
    ]  # fmt: skip


@pytest.mark.parametrize(
    ('lit', 'literal', 'spoc'),
    [
        ('0100', {}, {}),  # put out with the next action
        ('0110', {'candle-1': 2}, {}),  # one action later: the published way lets it pass
        ('0111', {'candle-1': 2}, {'candle-1': 3}),
        ('0101', {}, {}),
        ('010110', {'candle-1': 4}, {'candle-1': 4}),
        ('0101010', {}, {'candle-1': 5}),  # each is put out at once, but their counts add up
    ],
)
def test_the_published_count_is_another(
    lit: str, literal: dict[str, int], spoc: dict[str, int]
) -> None:
    on, off = (ObjectCondition(fields=(('isToggled', value),)) for value in (True, False))
    constraint = StepConstraint('Candle', on, off, 1)
    trace = _candle(*(each == '1' for each in lit))
    assert _first_broken(LiteralWatch([constraint], trace[0]), trace) == literal
    assert _first_broken(SpocWatch([constraint]), trace) == spoc


@pytest.mark.parametrize(
    ('name', 'kind'), [('Candle (2)', 'Candle'), ('Knife (1)', 'Knife'), ('Candle (1)', 'Knife'),
                       ('candle (1)', 'Candle'), ('Robot (1)', 'Robot')]
)  # fmt: skip
def test_an_object_that_was_not_there_is_refused_by_name(name: str, kind: str) -> None:
    """A candle that nobody declared would burn unseen."""
    on, off = (ObjectCondition(fields=(('isToggled', value),)) for value in (True, False))
    [first] = _candle(False)
    [[lit]] = _candle(True)
    other = {**lit, 'objectId': name, 'objectType': kind}
    watch = LiteralWatch([StepConstraint('Candle', on, off, 1)], first)
    known = watch.start(first)
    with pytest.raises(RobotError, match=re.escape(repr(name))) as caught:
        watch.progress(known, [*first, other])
    assert caught.value.code is ErrorCode.STATE_MISMATCH
    with pytest.raises(RobotError, match=re.escape(repr(name))):
        watch.start([*first, other])


def test_a_constraint_watches_every_piece_of_what_is_sliced_or_broken() -> None:
    for kind in kinds().values():
        for made, number in ((kind.becomes, kind.pieces), (kind.breaks, 1 if kind.breaks else 0)):
            if not made:
                continue
            whole = {**_candle(False)[0][0], 'objectId': f'{kind.name} (1)',
                     'objectType': kind.name}  # fmt: skip
            pieces = [{**whole, 'objectId': f'{made} ({n})', 'objectType': made, 'isDirty': True}
                      for n in range(1, number + 1)]  # fmt: skip
            dirty = ObjectCondition(fields=(('isDirty', True),))
            watch = LiteralWatch([StepConstraint(made, dirty, ObjectCondition(), 1)], [whole])
            known = watch.progress(watch.start([whole]), pieces)
            assert watch.account(known).triggered == {0}
            odd = {**whole, 'objectId': f'{made} ({number + 1})', 'objectType': made}
            with pytest.raises(RobotError, match='safety constraint'):
                watch.progress(known, [*pieces, odd])
            assert not kinds()[made].becomes
            assert not kinds()[made].breaks


def test_what_is_left_open_at_the_end_is_told() -> None:
    on, off = (ObjectCondition(fields=(('isToggled', value),)) for value in (True, False))
    constraint = StepConstraint('Candle', on, off, 2)
    trace = _candle(False, True)
    for watch in (LiteralWatch([constraint], trace[0]), SpocWatch([constraint])):
        known = watch.progress(watch.start(trace[0]), trace[1])
        account = watch.account(known)
        assert (account.open, account.triggered) == ({(0, 'candle-1')}, {0})


@pytest.mark.parametrize(
    ('text', 'what'),
    [
        ('condition_type: step', 'condition_object is missing'),
        ('condition_object: Dragon', 'not a class'),
        ('{condition_type: never, condition_object: Mug, trigger_state: {}}', 'must be'),
        (
            '{condition_type: step, condition_object: Mug, trigger_state: {isHappy: true}}',
            'not a key',
        ),
        ('{condition_type: step, condition_object: Mug, trigger_state: {isOpen: 1}}', 'true or'),
        ('{condition_object: Mug, trigger_state: {fillLiquid: tea}}', 'no fillLiquid'),
        (
            '{condition_type: step, condition_object: Mug, trigger_state: {}, condition_value: 0}',
            'from 1 to 60',
        ),
        (
            '{condition_type: step, condition_object: Mug, trigger_state: {}, condition_value: .5}',
            'whole number',
        ),
    ],
)
def test_a_damaged_constraint_is_refused(text: str, what: str) -> None:
    with pytest.raises(PddlError, match=what):
        read_constraint(read_yaml(text, 'task.yaml'))
