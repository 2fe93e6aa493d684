# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Safety rules of any household, proposed for tasks that state none (the implicit setting)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from safegen_ros.language.placed import read_yaml
from safegen_ros.pddl.text_files import read_text
from safegen_ros.tasks.household.constraints import Constraint, read_constraint
from safegen_ros.tasks.household.kinds import FOLDER, kinds


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of `knowledge.yaml`."""

    words: str
    hazard: str
    constraint: Constraint


@cache
def household_rules() -> tuple[Rule, ...]:
    """All rules; they know no task.

    Raises:
        PddlError: the file of the package was damaged.
    """
    path = FOLDER / 'knowledge.yaml'
    found = []
    for each in read_yaml(read_text(path, 'rules'), path.name).items('rules'):
        given = each.mapping('a rule', ('rule', 'hazard', 'condition'))
        found.append(
            Rule(
                given['rule'].text('rule').strip(),
                given['hazard'].text('hazard'),
                read_constraint(given['condition']),
            )
        )
    return tuple(found)


def propose(words: str) -> tuple[Rule, ...]:
    """The rules that a task calls for, by its words alone.

    A rule about a thing itself is always proposed. One about what is in or on something is where
    the words name both, and is about what they name.
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
