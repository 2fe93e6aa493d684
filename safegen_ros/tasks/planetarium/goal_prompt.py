# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a language model that was fine-tuned on requests reads and writes.

The prompt lists the facts that can change, the objects by kind and the current state. The answer
has the goal facts on its first line, denied ones as `(not (on b1 b2))`, and a rule in PDDL3 on each
further one:

    Facts: (on object object) (on-table object) ...        (on b1 b4)
    object: b1 b2 b3 b4                                    (always (not (on b2 b3)))
    Now: (on b2 b1) ...
    Request: b1 goes on b4, but never put b2 on b3
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from safegen_ros.errors import PddlError
from safegen_ros.pddl.model import And, Atom, AtomFormula, Formula, Not, Problem
from safegen_ros.pddl.pruning import changed_predicates
from safegen_ros.pddl.sexpr import Node, read_sexpr
from safegen_ros.pddl.writer import atom_text, problem_text


def goal_prompt(
    facts: Mapping[str, Sequence[str]],
    objects: Mapping[str, Sequence[str]],
    now: Iterable[Atom],
    request: str,
) -> str:
    """The prompt.

    Args:
        facts: the kinds of the arguments of every predicate that can change.
        objects: the names of every kind.
        now: what is true.
    """
    return '\n'.join([
        f'Facts: {" ".join(atom_text((name, *kinds)) for name, kinds in facts.items())}',
        *(f'{kind}: {" ".join(names)}' for kind, names in objects.items()),
        f'Now: {" ".join(map(atom_text, sorted(now)))}',
        f'Request: {" ".join(request.split())}',
    ])  # fmt: skip


def observed_facts(
    start: Problem,
) -> tuple[Mapping[str, Sequence[str]], Mapping[str, Sequence[str]], frozenset[Atom]]:
    """The facts, objects and state of an observed world, as `goal_prompt` takes them.

    What an object is may be its type, or the one predicate of one argument that is true of it and
    never changes.
    """
    changing = changed_predicates(start)
    facts = {n: kinds for n, kinds in start.domain.predicates.items() if n in changing}
    said = {a[1]: a[0] for a in sorted(start.init) if len(a) == 2 and a[0] not in changing}
    objects: dict[str, list[str]] = {}
    for name, kind in start.objects.items():
        objects.setdefault(said.get(name, kind), []).append(name)
    return facts, objects, frozenset(a for a in start.init if a[0] in changing)


def answered_problem(start: Problem, answer: str) -> str:
    """The problem that an answer means, in PDDL that is not checked yet.

    An answer without such a list is returned unchanged.

    Args:
        start: the observed world, whose objects and initial state the problem has.
    """
    try:
        _, listed = read_sexpr(f'({answer})', '<answer>')
    except PddlError:
        return answer
    goal, rules = list[Formula](), list[str]()
    for item in listed.items:
        if isinstance(item, str):
            return answer
        denied = item.head == 'not' and len(item.items) == 2
        fact = item.items[1] if denied else item
        if not isinstance(fact, str) and fact.head in start.domain.predicates:
            predicate, *terms = _text(fact)[1:-1].split()
            atom = AtomFormula(predicate, tuple(terms))
            goal.append(Not(atom) if denied else atom)
        else:
            rules.append(_text(item))
    wanted = replace(start, goal=And(tuple(dict.fromkeys(goal))), constraints=())
    written = problem_text(wanted).rstrip()
    return f'{written[:-1]}(:constraints (and {" ".join(rules)})))' if rules else written


def _text(node: Node) -> str:
    return node if isinstance(node, str) else f'({" ".join(map(_text, node.items))})'
