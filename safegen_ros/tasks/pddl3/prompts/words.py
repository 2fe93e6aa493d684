# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The words of tasks and plans as the small model reads and writes them: no marks, small letters.

Brackets, commas and quotes say nothing here that the order of the words does not: formulas are in
prefix notation with two parts each, and actions have a fixed number of arguments.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType

from safegen_ros.errors import PlanFormatError
from safegen_ros.language import english
from safegen_ros.llm.special_tokens import ATTEMPT, BETWEEN_WORDS, SPECIAL_TOKENS, VERDICT
from safegen_ros.pddl.formulas import TRAJECTORY_OPERATORS
from safegen_ros.pddl.plan import Plan, Step, parse_plan
from safegen_ros.tasks.pddl3.domains import builtin_domain, kits
from safegen_ros.tasks.pddl3.domains.kit import DomainKit
from safegen_ros.tasks.pddl3.formats import FORMATS, json_format
from safegen_ros.tasks.pddl3.prompts.slots import TITLE, SlottedProblem
from safegen_ros.verdict import Category

VERDICT_WORD = {
    Category.FORMAT_ERROR: 'format',
    Category.SAFETY_VIOLATION: 'safety',
    Category.PRECONDITION_VIOLATION: 'precondition',
    Category.GOAL_NOT_SATISFIED: 'goal',
}

MOST_OF_A_KIND = 12
"""Most objects of a kind that the small model has names for."""

MOST_STEPS = 64
"""Largest number in a constraint that it has a word for."""

_MARKS = re.compile(BETWEEN_WORDS)


def words_of(text: str) -> list[str]:
    """The words of a text."""
    return _MARKS.sub(' ', text.lower()).split()


def task_words(slotted: SlottedProblem, form: str) -> list[str]:
    """The words of a task in one of the formats, a key of `FORMATS`.

    What the names of objects say already is left out where the format would list it atom by atom.
    """
    problem = slotted.problem
    if form != 'english':  # which states it in a sentence or two
        problem = replace(problem, init=problem.init - slotted.told)
    return words_of(FORMATS[form].write(problem))


def plan_words(plan: Plan) -> list[str]:
    """A plan as words: `unstack block2 block1 putdown block2`."""
    return [word for step in plan.steps for word in (step.action, *step.arguments)]


def attempt_words(
    text: str,
    category: Category,
    failing_step: int,
    known: Collection[str],
    names: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """The words for a failed attempt.

    Args:
        text: the attempt; one that is not a plan is described by its verdict alone.
        failing_step: index of the step that fails, or -1 when no single one does. Later steps are
            left out, so that the last step is the one to change.
        known: the words of the model; others are left out.
        names: from the names in the text to canonical ones, where they differ.
    """
    try:
        steps = parse_plan(text).steps
    except PlanFormatError:
        steps = ()
    shown = steps if failing_step < 0 else steps[: failing_step + 1]
    words = [names.get(word, word) for word in plan_words(Plan(shown))]
    return [ATTEMPT, *(w for w in words if w in known), VERDICT, VERDICT_WORD[category]]


def read_steps(words: Iterable[str], arities: Mapping[str, int]) -> Plan | None:
    """The plan that words say, or None when they say none."""
    left = list(words)
    steps, place = [], 0
    while place < len(left):
        arity = arities.get(left[place])
        if arity is None or place + arity >= len(left):
            return None
        steps.append(Step(left[place], tuple(left[place + 1 : place + 1 + arity])))
        place += 1 + arity
    return Plan(tuple(steps))


@cache
def vocabulary() -> tuple[str, ...]:
    """Every word of the four domains in the three formats, marks first; the place is the id.

    It follows from the domains' folders and the formats' words alone, so that a model that is
    trained after a domain was added knows its words.
    """
    found: set[str] = set(words_of(f'define problem domain objects init goal constraints {TITLE}'))
    found.update(words_of(' '.join((*json_format.KEYS, *TRAJECTORY_OPERATORS))))
    found.update(words_of(' '.join(english.GRAMMAR)), VERDICT_WORD.values())
    found.update(str(number) for number in range(MOST_STEPS + 1))
    for kit in kits().values():
        found.update(_domain_words(kit))
    return (*SPECIAL_TOKENS, *sorted(found))


def _domain_words(kit: DomainKit) -> Iterable[str]:
    domain = builtin_domain(kit.names[0])
    wording = kit.wording
    yield from (*domain.types, *domain.predicates, *domain.actions, 'object')
    yield from words_of(' '.join(kit.names))
    pairs = (*wording.nouns.values(), *wording.kinds.values(), *wording.facts.values())
    yield from words_of(' '.join(text for pair in pairs for text in pair))
    for kind in (*(noun for noun, _ in wording.nouns.values()), *wording.kinds):
        yield from (f'{kind}{number + 1}' for number in range(MOST_OF_A_KIND))
