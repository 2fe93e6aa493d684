# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tasks: the request, its sub-goals, and the constraints.

Besides ours there are the files that SAPO's authors published (`khm159/SPOC`,
`dataset/spoc_dataset/*.json`), with their known faults. Their scenes are floor plans of AI2-THOR,
so that a run needs its simulator; without it they load, and are checked. Where a task states no
constraint, rules of any household are proposed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from safegen_ros.language.placed import Placed, read_yaml
from safegen_ros.pddl.text_files import read_text
from safegen_ros.tasks.household.constraints import (
    FLAGS,
    TEXTS,
    Constraint,
    ObjectCondition,
    StateConstraint,
    StepConstraint,
    SubGoal,
    known_texts,
)
from safegen_ros.tasks.household.kinds import FOLDER, check_class, kinds, members

HAZARDS = ('fire', 'fluid', 'injury', 'damage', 'pollution')
"""The hazards of SAPO section 2.1 in its order."""

_KEYS = (
    'scene_name', 'instruction', 'requirements', 'treat_step_constraint_as_goal',
    'requirement_condition', 'goal_condition_state', 'init_actions',
)  # fmt: skip
_OURS = ('id', 'hazard')


@dataclass(frozen=True, slots=True)
class HouseholdTask:
    """One task.

    Attributes:
        hazard: one of `HAZARDS`.
        scene: the name of its scene.
        instruction: the words of the task: the safety task and then the unrelated one.
        requirements: the constraint in words, which the implicit setting leaves out.
        constraint_as_goal: whether that the trigger held, and what must follow did, is one more
            sub-goal.
        setup: calls of AI2-THOR that prepare the scene, each with `action` and `args`; only
            published files have any.
    """

    id: str
    hazard: str
    scene: str
    instruction: str
    requirements: str
    goals: tuple[SubGoal, ...]
    constraints: tuple[Constraint, ...]
    constraint_as_goal: bool
    setup: tuple[Mapping[str, Any], ...] = ()

    def words(self, explicit: bool) -> str:
        """The words for the robot."""
        return f'{self.instruction} {self.requirements}' if explicit else self.instruction


@cache
def clean_tasks() -> Mapping[str, HouseholdTask]:
    """Our 25 tasks by their names.

    Raises:
        PddlError: the file of the package was damaged.
    """
    path = FOLDER / 'tasks' / 'clean.yaml'
    read = read_yaml(read_text(path, 'tasks'), path.name)
    found = [read_task(each) for each in read.items('tasks')]
    return {task.id: task for task in found}


def read_task(value: Placed, name: str = '', hazard: str = '') -> HouseholdTask:
    """Reads a task; see `docs/household.md` for the format.

    Args:
        value: a task of ours, or a published one.
        name: of a published one, which does not say it itself.
        hazard: likewise.

    Raises:
        PddlError: it is not a task.
    """
    given = value.mapping('a task', _KEYS if name else (*_OURS, *_KEYS))

    def need(key: str) -> Placed:
        if key not in given:
            raise value.error(f'{key} is missing', 'add it')
        return given[key]

    if not name:
        name, hazard = need('id').text('id'), need('hazard').text('hazard')
        if hazard not in HAZARDS:
            raise need('hazard').error(f'{hazard!a} is no hazard', f'one of {" ".join(HAZARDS)}')
    as_goal = need('treat_step_constraint_as_goal')
    if not isinstance(as_goal.value, bool):
        raise as_goal.error('treat_step_constraint_as_goal must be true or false', 'correct it')
    goals = need('goal_condition_state').items('goal_condition_state')
    actions = given['init_actions'].items('init_actions') if 'init_actions' in given else ()
    return HouseholdTask(
        name,
        hazard,
        need('scene_name').text('scene_name'),
        ' '.join(need('instruction').text('instruction').split()),
        ' '.join(need('requirements').text('requirements').split()),
        tuple(read_goal(each) for each in goals),
        (read_constraint(need('requirement_condition')),),
        as_goal.value,
        tuple(_call(each) for each in actions),
    )


def _call(value: Placed) -> dict[str, Any]:
    """A call of the simulator, of which only the name is ours to check."""
    given = value.mapping('an action of init_actions', ('action', 'args'))
    if 'action' not in given:
        raise value.error('action is missing', 'name the call of the simulator')
    arguments = _plain(given['args']) if 'args' in given else {}
    return {'action': given['action'].text('action'), 'args': arguments}


def _plain(value: Placed) -> Any:
    """A value without its place."""
    if isinstance(value.value, Mapping):
        return {key: _plain(each) for key, each in value.value.items()}
    if isinstance(value.value, tuple):
        return [_plain(each) for each in value.value]
    return value.value


_HAZARDS = {
    'Fire': 'fire',
    'Water': 'fluid',
    'Injury': 'injury',
    'Drop': 'damage',
    'Pollution': 'pollution',
}
"""What the file names begin with, and the hazard."""

_ONE_GOAL = 'there is no task beside the safety task'
_NOT_ASKED = 'the safety task is no sub-goal: a run that leaves it out loses nothing of its GSR'
_NAMED = 'it is about {}, whatever its name says'

DEFECTS = {
    'Drop_CloseWhileTransport_CellPhone_Box_00000': (_ONE_GOAL,),
    'Drop_CloseWhileTransport_Laptop_Box_00001': (_ONE_GOAL,),
    'Drop_CloseWhileTransport_Statue_Box_00001': (
        'the instruction wants the laptop on the coffee table, the sub-goal on the sofa',
    ),
    'Injury_CloseAfterPut_Knife_Cabinet_00000': (
        'the instruction speaks of a kettle, constraint and sub-goal of a knife',
        'the potato slice must be in the fridge, which nobody is told',
    ),
    'Injury_CloseAfterPut_Mug_Cabinet_00001': (_NAMED.format('a wine bottle'),),
    'Pollution_CleanBeforePut_Plate_BreadSliced_00000': (_ONE_GOAL,),
    'Pollution_CleanBeforePut_Pot_TomatoSliced_00000': (_NOT_ASKED,),
    'Pollution_CleanBeforePut_Pot_TomatoSliced_00001': (_NOT_ASKED,),
    'Pollution_CloseAfterPut_BreadSliced_Fridge_00000': (_NAMED.format('a slice of apple'),),
    'Pollution_CloseAfterPut_Tomato_Fridge_00000': (_NAMED.format('a slice of bread'),),
}
"""What a reader of the 25 files finds, by the name of the file."""

_NO_STEP = (
    'the published evaluator counts no run as a success whose constraint is no step constraint, '
    'so that its CSR is always 0'
)


def read_published(path: Path) -> HouseholdTask:
    """Reads a published task file.

    Raises:
        SafegenError: the file cannot be read, or is not a task.
    """
    # JSON is YAML, and the reader of YAML knows the place of every value.
    value = read_yaml(read_text(path, 'task').replace('\t', ' '), str(path))
    hazard = _HAZARDS.get(path.stem.split('_')[0])
    if hazard is None:
        raise value.error(
            f'{path.stem[:60]!a} does not begin with a hazard',
            f'published names begin with {" ".join(_HAZARDS)}',
        )
    return read_task(value, path.stem, hazard)


def defects(task: HouseholdTask) -> tuple[str, ...]:
    """The known faults of a published task; empty for a sound one."""
    state = any(isinstance(each, StateConstraint) for each in task.constraints)
    return (*DEFECTS.get(task.id, ()), *([_NO_STEP] if state else []))


@dataclass(frozen=True, slots=True)
class SafetyRule:
    """A rule of `knowledge.yaml`."""

    words: str
    hazard: str
    constraint: Constraint


@cache
def household_rules() -> tuple[SafetyRule, ...]:
    """All rules; they know no task.

    Raises:
        PddlError: the file of the package was damaged.
    """
    path = FOLDER / 'knowledge.yaml'
    found = []
    for each in read_yaml(read_text(path, 'rules'), path.name).items('rules'):
        given = each.mapping('a rule', ('rule', 'hazard', 'condition'))
        found.append(
            SafetyRule(
                given['rule'].text('rule').strip(),
                given['hazard'].text('hazard'),
                read_constraint(given['condition']),
            )
        )
    return tuple(found)


def propose(words: str) -> tuple[SafetyRule, ...]:
    """The rules that a task calls for, by its words alone.

    A rule about a thing itself is always proposed. One about the contents of a thing is where the
    words name both, and is about those two.
    """
    named = _named(words)
    found = []
    for rule in household_rules():
        trigger = rule.constraint.trigger
        child = tuple(name for name in trigger.child if name in named)
        if trigger.child and not (child and named.intersection(rule.constraint.classes)):
            continue
        constraint = replace(rule.constraint, trigger=replace(trigger, child=child))
        found.append(replace(rule, constraint=constraint))
    return tuple(found)


def _named(words: str) -> set[str]:
    """The classes that are named; `a slice of bread` and `slice the bread` name slices."""
    text = words.lower()
    slices = {kind.becomes for kind in kinds().values() if kind.becomes}
    found = set(_spoken(text, set(kinds()) - slices))
    for name in list(found):
        becomes = kinds()[name].becomes
        said = f'slices? (?:of )?(?:an? |the )?{name.lower()}'
        if becomes and re.search(said, text):
            found.add(becomes)
            if not re.search(rf'\b{name.lower()}\b', re.sub(said, '', text)):
                found.discard(name)
    return found


def _spoken(text: str, names: Iterable[str]) -> Iterable[str]:
    for name in names:
        spoken = re.sub(r'(?<=[a-z])(?=[A-Z])', ' ', name).lower()
        if re.search(rf'\b{spoken}s?\b', text):
            yield name


MOST_ACTIONS = 60
"""Largest number of actions within which something must follow."""

_COMMON = ('condition_type', 'condition_object', 'trigger_state', 'goal_condition')


def read_constraint(value: Placed) -> Constraint:
    """Reads a constraint as the published tasks write it.

    `condition_type` is `step`, with `condition_value` (N) and `goal_condition`; or `condition`,
    with `avoid_state`. Both have `condition_object` and `trigger_state`.

    Raises:
        PddlError: the value is not a constraint.
    """
    given = value.mapping('a constraint', (*_COMMON, 'condition_value', 'avoid_state'))

    def need(key: str) -> Placed:
        if key not in given:
            raise value.error(f'{key} is missing', 'add it')
        return given[key]

    name = check_class(need('condition_object'), groups=True)
    trigger = read_condition(need('trigger_state'), 'trigger_state')
    kind = need('condition_type')
    if kind.value == 'step':
        number = need('condition_value')
        within = number.value
        if isinstance(within, bool) or not isinstance(within, float) or within % 1:
            raise number.error('condition_value must be a whole number', 'correct it')
        if not 1 <= within <= MOST_ACTIONS:
            raise number.error(f'condition_value is not from 1 to {MOST_ACTIONS}', 'correct it')
        goal = read_condition(need('goal_condition'), 'goal_condition')
        return StepConstraint(name, trigger, goal, int(within))
    if kind.value == 'condition':
        return StateConstraint(name, trigger, read_condition(need('avoid_state'), 'avoid_state'))
    raise kind.error("condition_type must be 'step' or 'condition'", 'correct it')


_RELATIONS = ('child', 'parent', 'not_on')


def read_goal(value: Placed) -> SubGoal:
    """Reads a sub-goal: `object_name` and the keys of a condition.

    Raises:
        PddlError: the value is not a sub-goal.
    """
    given = dict(value.mapping('a sub-goal', ('object_name', *_CONDITIONS)))
    if 'object_name' not in given:
        raise value.error('object_name is missing', 'add it')
    name = check_class(given.pop('object_name'), groups=True)
    return SubGoal(name, _condition(given))


def read_condition(value: Placed, what: str) -> ObjectCondition:
    """Reads a condition.

    Raises:
        PddlError: the value is not a condition.
    """
    return _condition(value.mapping(what, _CONDITIONS))


_CONDITIONS = (*FLAGS, *TEXTS, *_RELATIONS)


def _condition(given: Mapping[str, Placed]) -> ObjectCondition:
    fields: list[tuple[str, bool | str]] = []
    related: dict[str, tuple[str, ...]] = {}
    for key, value in given.items():
        if key in FLAGS:
            if not isinstance(value.value, bool):
                raise value.error(f'{key} must be true or false', 'correct it')
            fields.append((key, value.value))
        elif key in TEXTS:
            text = value.text(key)
            known = known_texts()[key]
            if text not in known:
                raise value.error(f'{text[:40]!a} is no {key}', f'one of {" ".join(known)}')
            fields.append((key, text))
        else:
            names = [check_class(each, groups=True) for each in value.items(key)]
            related[key] = tuple(dict.fromkeys(each for name in names for each in members(name)))
    return ObjectCondition(tuple(fields), **related)
