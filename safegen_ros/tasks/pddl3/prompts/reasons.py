# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans whose steps say what they are for, as a small model learns to write them.

A step such as `(unstack b1 b2)` is found by looking up facts and by going back from the goal, and
a small model hardly learns to do that in its head. So it writes both down, as a comment before the
step: a fact of the goal, the missing facts that it needs, and so on down to the fact that the step
makes true; behind the colon the facts that the step needs.

    ; (on b2 b3) (holding b2) (clear b2): (on b1 b2) (clear b1) (arm-empty)
    (unstack b1 b2)

These are the causal links of the plan, along the shortest way. A step that no other one needs, as
some constraints ask for, has no such way. Facts that no action changes are left out. To PDDL it is
a plan with comments.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    for step, why, needed in zip(plan.steps, reasons, needs, strict=True):
        aims = ' ' + ' '.join(map(atom_text, why)) + ':' if why else ''
        lines += [f';{aims} {" ".join(map(formula_text, needed))}'.rstrip(), str(step)]
    return '\n'.join(lines)


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
