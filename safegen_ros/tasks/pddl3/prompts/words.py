# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The words of tasks and plans as the small model reads and writes them: no marks, small letters.

Brackets, commas and quotes say nothing here that the order of the words does not: formulas are in
prefix notation with two parts each, and actions have a fixed number of arguments.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import MappingProxyType

from safegen_ros.errors import PlanFormatError
from safegen_ros.language import phrases
from safegen_ros.llm.special_tokens import ATTEMPT, BETWEEN_WORDS, SPECIAL_TOKENS, VERDICT
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.formulas import TRAJECTORY_OPERATORS, substitute
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import Atom, AtomFormula, Formula, Not, Problem, conjuncts
from safegen_ros.pddl.plan import Plan, Step, parse_plan
from safegen_ros.pddl.pruning import changed_predicates
from safegen_ros.pddl.writer import atom_text, formula_text
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
    found.update(words_of(' '.join(phrases.GRAMMAR)), VERDICT_WORD.values())
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


# A step such as `(unstack b1 b2)` is found by looking up facts and by going back from the goal,
# and a small model hardly learns to do that in its head. So it writes both down, as a comment
# before the step: a fact of the goal, the missing facts that it needs, and so on down to the fact
# that the step makes true; behind the colon the facts that the step needs.
#
#     ; (on b2 b3) (holding b2) (clear b2): (on b1 b2) (clear b1) (arm-empty)
#     (unstack b1 b2)
#     ; + (holding b1) (clear b2) - (on b1 b2) (clear b1) (arm-empty)
#
# These are the causal links of the plan, along the shortest way. A step that no other one needs,
# as some constraints ask for, has no such way. Facts that no action changes are left out. Below the
# step stand the facts that it makes true and false, so that whether a fact holds can be looked up
# at its last place. To PDDL it is a plan with comments.
def reasoned_text(plan: Plan, problem: Problem) -> str:
    """A plan with its reasons as comments.

    Args:
        plan: its steps must be known to the problem.
        problem: whose plan it is.

    Raises:
        SafegenError: a step is not one of the problem.
    """
    table = AtomTable(problem)
    grounder = Grounder(problem, table)
    state = table.encode(problem.init)
    facts = [{*table.atoms(state)}]
    for step in plan.steps:
        state = grounder.ground(step).apply(state)
        facts.append({*table.atoms(state)})
    changed = changed_predicates(problem)
    needs = [_needed(step, problem, changed) for step in plan.steps]
    reasons = _reasons(problem, facts, needs)
    lines = []
    changes = [_change(*each, problem) for each in zip(plan.steps, facts, facts[1:], strict=False)]
    for step, why, needed, change in zip(plan.steps, reasons, needs, changes, strict=True):
        aims = ' ' + ' '.join(map(atom_text, why)) + ':' if why else ''
        lines += [f';{aims} {" ".join(map(formula_text, needed))}'.rstrip(), str(step), change]
    return '\n'.join(lines)


def _change(step: Step, before: set[Atom], after: set[Atom], problem: Problem) -> str:
    """The comment with what a step makes true and false, in the order of its effects."""
    effects = problem.domain.actions[step.action].effects
    order = [atom.predicate for effect in effects for atom in (*effect.add, *effect.delete)]
    made, gone = (
        ''.join(f' {atom_text(a)}' for a in sorted(each, key=lambda a: (order.index(a[0]), a)))
        for each in (after - before, before - after)
    )
    return f'; +{made} -{gone}'.removesuffix(' -')


def _reasons(
    problem: Problem, facts: Sequence[set[Atom]], needs: Sequence[Sequence[Formula]]
) -> list[tuple[Atom, ...]]:
    """For each step a fact of the goal, the facts on the way to it, and what the step makes true.

    Args:
        problem: its goal counts as far as it is a conjunction of atoms.
        facts: what holds before the first step and after each.
        needs: what each step needs.
    """
    goal = [_atom(part) for part in conjuncts(problem.goal) if isinstance(part, AtomFormula)]
    found: list[tuple[Atom, ...]] = [()] * len(needs)
    users: dict[Atom, list[int]] = {}  # the steps behind that need a fact as it is, nearest last
    for number in reversed(range(len(needs))):
        made = facts[number + 1] - facts[number]
        for_good = [
            g for g in goal if g in made and all(g in later for later in facts[number + 1 :])
        ]
        ways: list[tuple[Atom, ...]] = [(each,) for each in for_good]
        ways += [
            (*found[user], each)
            for each in sorted(made)
            for user in users.get(each, ())[::-1]
            if found[user]
        ]
        found[number] = min(ways, key=len, default=())
        for each in made:
            users.pop(each, None)
        for part in needs[number]:
            if isinstance(part, AtomFormula):
                users.setdefault(_atom(part), []).append(number)
    return found


def _needed(step: Step, problem: Problem, changed: frozenset[str]) -> list[Formula]:
    """The literals of a step's precondition that depend on earlier steps."""
    schema = problem.domain.actions[step.action]
    names = [name for name, _ in schema.parameters]
    binding = dict(zip(names, step.arguments, strict=True))
    found = []
    for part in conjuncts(substitute(schema.precondition, binding)):
        atom = part.body if isinstance(part, Not) else part
        if isinstance(atom, AtomFormula) and atom.predicate in changed:
            found.append(part)
    return found


def _atom(formula: AtomFormula) -> Atom:
    return (formula.predicate, *formula.terms)
