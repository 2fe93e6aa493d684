# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans whose steps say what they are for, as a small model learns to write them.

A step such as `(unstack b1 b2)` is found by looking up facts, and a small model hardly learns to do
that in its head. So it writes them down, as a comment before the step: the fact of the goal that it
works for, and the facts that the step needs.

    ; (on b2 b3): (on b1 b2) (clear b1) (arm-empty)
    (unstack b1 b2)

That fact is the first one that holds for good from a later step on. Facts that no action changes
are left out. To PDDL it is a plan with comments.
"""

from __future__ import annotations

from collections.abc import Iterable

from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.formulas import substitute
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import Atom, AtomFormula, Formula, Not, Problem, conjuncts
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.pruning import changed_predicates
from safegen_ros.pddl.writer import atom_text, formula_text


def reasoned_text(plan: Plan, problem: Problem) -> str:
    """A plan with its reasons as comments.

    Args:
        plan: its steps must apply one after the other.
        problem: whose plan it is.
    """
    table = AtomTable(problem)
    grounder = Grounder(problem, table)
    state = table.encode(problem.init)
    states = [state]
    for step in plan.steps:
        state = grounder.ground(step).apply(state)
        states.append(state)
    facts = [{*table.atoms(state)} for state in states]
    goal = [(p.predicate, *p.terms) for p in conjuncts(problem.goal) if isinstance(p, AtomFormula)]
    since = {fact: _for_good(fact, facts) for fact in goal}
    changed = changed_predicates(problem)
    lines = []
    for number, step in enumerate(plan.steps):
        later = [fact for fact in goal if number < since[fact] < len(facts)]
        aim = f' {atom_text(min(later, key=since.__getitem__))}:' if later else ''
        needs = ' '.join(_needed(step, problem, changed))
        lines += [f';{aim} {needs}'.rstrip(), str(step)]
    return '\n'.join(lines)


def _for_good(fact: Atom, facts: list[set[Atom]]) -> int:
    """The number of the first state from which a fact holds to the end."""
    number = len(facts)
    while number and fact in facts[number - 1]:
        number -= 1
    return number


def _needed(step: Step, problem: Problem, changed: frozenset[str]) -> Iterable[str]:
    """The literals of a step's precondition that depend on what was done before."""
    schema = problem.domain.actions[step.action]
    names = [name for name, _ in schema.parameters]
    binding = dict(zip(names, step.arguments, strict=True))
    for part in conjuncts(substitute(schema.precondition, binding)):
        atom: Formula = part.body if isinstance(part, Not) else part
        if isinstance(atom, AtomFormula) and atom.predicate in changed:
            yield formula_text(part)
