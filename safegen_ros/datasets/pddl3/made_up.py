# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Made-up domains, so that a model must read a domain instead of knowing four of them.

A domain is put together of one to three parts of `made_up.yaml`, with parts left out, conditions of
one part on facts of another, or of actions drawn at random. The parts under `held_out` are domains
for tests: no lesson is about them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from random import Random

import yaml

from safegen_ros.datasets.pddl3.any_rule import with_any_rule
from safegen_ros.datasets.pddl3.mixed import with_other_goal
from safegen_ros.pddl.model import Domain, Problem
from safegen_ros.pddl.reader import read_domain, read_problem

_ATOM = re.compile(r'(\[?)(-?)\(([^()]*)\)')
_PARAMETER = re.compile(r'(\?\w+) (\w+)')
_LEFT_OUT, _UNTYPED, _GLUED, _RANDOM = 0.4, 0.4, 0.5, 0.25
_FEW = {'agent': 2, 'machine': 2, 'lid': 3}
_MOST = 4  # objects of a kind
_FEW_PARAMETERS = 3
_SOME = 0.5

Literal = tuple[bool, tuple[str, ...]]
"""Whether it is true, and a predicate with variables."""


@dataclass(slots=True)
class _Action:
    parameters: dict[str, str]
    needs: list[tuple[str, ...]]
    effects: list[Literal]


@dataclass(slots=True)
class Draft:
    """A domain that is being made.

    Attributes:
        actions: by name.
        starts: how the facts of a predicate are drawn, see `made_up.yaml`.
        untyped: whether kinds are predicates that need no types.
    """

    actions: dict[str, _Action] = field(default_factory=dict)
    starts: dict[str, str] = field(default_factory=dict)
    untyped: bool = False

    def signatures(self) -> dict[str, tuple[str, ...]]:
        """The kinds of the arguments of each predicate."""
        found: dict[str, tuple[str, ...]] = {}
        for action in self.actions.values():
            for atom in (*action.needs, *(atom for _, atom in action.effects)):
                found.setdefault(atom[0], tuple(action.parameters[v] for v in atom[1:]))
        return found

    def changing(self) -> list[str]:
        """The predicates that actions change."""
        each = (atom[0] for a in self.actions.values() for _, atom in a.effects)
        return [*dict.fromkeys(each)]

    def kinds(self) -> list[str]:
        """The kinds of the objects."""
        each = (kind for a in self.actions.values() for kind in a.parameters.values())
        return [*dict.fromkeys(each)]


@cache
def parts() -> Mapping[str, Mapping[str, Mapping[str, object]]]:
    """The table of `made_up.yaml`."""
    text = Path(__file__).with_suffix('.yaml').read_text(encoding='utf-8')
    found: Mapping[str, Mapping[str, Mapping[str, object]]] = yaml.safe_load(text)
    return found


def made_up_domain(rng: Random) -> Draft:
    """A random domain of the parts that may be learned."""
    draft = Draft(untyped=rng.random() < _UNTYPED)
    if rng.random() < _RANDOM:
        _add_random(draft, rng)
    else:
        names = rng.sample(sorted(parts()['learned']), rng.choice((1, 1, 2, 2, 3)))
        for name in names:
            _add(draft, parts()['learned'][name], rng)
        if len(names) > 1 and rng.random() < _GLUED:
            _glue(draft, rng)
    if max(len(action.parameters) for action in draft.actions.values()) > _FEW_PARAMETERS:
        draft.untyped = False  # every object could be each of them
    return draft


def held_out_domain(name: str) -> Draft:
    """A domain for tests, whole and with types."""
    draft = Draft()
    _add(draft, parts()['held_out'][name], None)
    return draft


def _add(draft: Draft, part: Mapping[str, object], rng: Random | None) -> None:
    """Adds a part; without chance, all of it."""
    left_out: dict[str, bool] = {}

    def kept(bracket: str, predicate: str) -> bool:
        if not bracket or rng is None:
            return True
        return not left_out.setdefault(predicate, rng.random() < _LEFT_OUT)

    for head, body in part.items():
        if isinstance(body, Mapping):
            draft.starts |= body
            continue
        needs, _, effects = str(body).partition('=>')
        action = _Action(dict(_PARAMETER.findall(head)), [], [])
        for text, literals in ((needs, None), (effects, action.effects)):
            for bracket, minus, inner in _ATOM.findall(text):
                atom = tuple(inner.split())
                if not kept(bracket, atom[0]):
                    continue
                if literals is None:
                    action.needs.append(atom)
                else:
                    literals.append((not minus, atom))
        if any(true for true, _ in action.effects):
            draft.actions[head.split()[0]] = action


def _add_random(draft: Draft, rng: Random) -> None:
    """Actions that need some random facts, and change some."""
    kinds = [f'kind{n}' for n in range(rng.randint(1, 3))]
    facts = [
        (f'fact{n}', *(rng.choice(kinds) for _ in range(rng.choice((0, 1, 1, 1, 2, 2)))))
        for n in range(rng.randint(4, 7))
    ]
    rigid = facts[: rng.choice((0, 1, 1))]
    for number in range(rng.randint(2, 5)):
        action = _Action({}, [], [])

        def drawn(fact: Sequence[str], action: _Action = action) -> tuple[str, ...]:
            variables = []
            for kind in fact[1:]:
                own = [v for v, k in action.parameters.items() if k == kind and v not in variables]
                if not own or (rng.random() < 0.3 and len(action.parameters) < 3):
                    own = [f'?v{len(action.parameters)}']
                    action.parameters[own[0]] = kind
                variables.append(rng.choice(own))
            return fact[0], *variables

        action.needs = [drawn(fact) for fact in rng.sample(facts, rng.randint(1, 3))]
        free = [fact for fact in facts if fact not in rigid]
        used = {atom[0] for atom in action.needs}
        made = rng.sample([f for f in free if f[0] not in used] or free, 1)
        action.effects = [(True, drawn(fact)) for fact in made]
        rigid_names = {fact[0] for fact in rigid}
        action.effects += [
            (False, atom)
            for atom in action.needs
            if atom[0] not in rigid_names and rng.random() < 0.7
        ]
        draft.actions[f'act{number}'] = action
    draft.starts |= {fact[0]: rng.choice(('some', 'some', 'none', 'one')) for fact in facts}


def _glue(draft: Draft, rng: Random) -> None:
    """Has an action need a fact that others change."""
    signatures = draft.signatures()
    name = rng.choice(list(draft.actions))
    action = draft.actions[name]
    own = {atom[0] for atom in action.needs} | {atom[0] for _, atom in action.effects}
    others = [p for p in draft.changing() if p not in own and len(signatures[p]) < 3]
    if not others:
        return
    predicate = rng.choice(others)
    variables: list[str] = []
    for kind in signatures[predicate]:
        there = [v for v, k in action.parameters.items() if k == kind and v not in variables]
        if not there:
            there = [f'?g{len(action.parameters)}']
            action.parameters[there[0]] = kind
        variables.append(rng.choice(there))
    action.needs.append((predicate, *variables))


def domain_of(draft: Draft, name: str) -> Domain:
    """The domain as it is read.

    Raises:
        SafegenError: its text cannot be read.
    """
    actions = ''.join(_action_text(draft, n, a) for n, a in draft.actions.items())
    signatures = {**draft.signatures()}
    if draft.untyped:
        signatures |= {f'a-{kind}': ('object',) for kind in draft.kinds()}
    predicates = ' '.join(
        f'({p} {" ".join(_typed(draft, f"?x{n}", kind) for n, kind in enumerate(kinds))})'
        for p, kinds in signatures.items()
    )
    types = '' if draft.untyped else f'(:types {" ".join(draft.kinds())})'
    return read_domain(f'(define (domain {name}) {types} (:predicates {predicates}) {actions})')


def _typed(draft: Draft, variable: str, kind: str) -> str:
    return variable if draft.untyped else f'{variable} - {kind}'


def _action_text(draft: Draft, name: str, action: _Action) -> str:
    parameters = ' '.join(_typed(draft, v, kind) for v, kind in action.parameters.items())
    needs = [f'({" ".join(atom)})' for atom in action.needs]
    if draft.untyped:
        needs = [f'(a-{kind} {v})' for v, kind in action.parameters.items()] + needs
    effects = [
        f'({" ".join(atom)})' if true else f'(not ({" ".join(atom)}))'
        for true, atom in action.effects
    ]
    return (
        f'(:action {name} :parameters ({parameters}) :precondition (and {" ".join(needs)}) '
        f':effect (and {" ".join(effects)}))'
    )


def made_up_setting(draft: Draft, domain: Domain, rng: Random) -> Problem:
    """Random objects of a domain and what is true at first; its goal is empty.

    Raises:
        SafegenError: its text cannot be read.
    """
    objects = {
        kind: [f'{kind}{n + 1}' for n in range(rng.randint(1 if kind in _FEW else 2, _most(kind)))]
        for kind in draft.kinds()
    }
    init = [f'({" ".join(atom)})' for atom in _facts(draft, objects, rng)]
    if draft.untyped:
        init += [f'(a-{kind} {name})' for kind, names in objects.items() for name in names]
    listed = ' '.join(
        ' '.join(names) + ('' if draft.untyped else f' - {kind}') for kind, names in objects.items()
    )
    return read_problem(
        f'(define (problem task) (:domain {domain.name}) (:objects {listed}) '
        f'(:init {" ".join(init)}) (:goal (and)))',
        domain,
    )


def with_goal_and_rules(setting: Problem, rng: Random, rules: int) -> Problem | None:
    """A setting with a random goal; None where nothing can be done or no rule makes a difference.

    Args:
        rules: how many constraints it has.

    Raises:
        SafegenError: chance has made no problem.
    """
    found: Problem | None = with_other_goal(setting, rng)
    if found is setting:
        return None
    for _ in range(rules):
        found = with_any_rule(found, (), rng) if found is not None else None
    return found


def _most(kind: str) -> int:
    return _FEW.get(kind, _MOST)


def _facts(
    draft: Draft, objects: Mapping[str, Sequence[str]], rng: Random
) -> Iterator[tuple[str, ...]]:
    """The facts that hold at first."""
    drawn: dict[str, list[tuple[str, ...]]] = {}
    signatures = draft.signatures()
    # Those that go by others come last.
    for name in sorted(signatures, key=lambda p: draft.starts.get(p, '').startswith('not ')):
        domains = [objects[kind] for kind in signatures[name]]
        drawn[name] = [*_drawn(draft.starts.get(name, 'none'), domains, drawn, rng)]
        yield from ((name, *arguments) for arguments in drawn[name])


def _drawn(
    how: str,
    domains: Sequence[Sequence[str]],
    others: Mapping[str, Sequence[tuple[str, ...]]],
    rng: Random,
) -> Iterator[tuple[str, ...]]:
    every = [*product(*domains)]
    if how == 'all' or (how == 'one' and len(domains) < 2):
        yield from every
    elif how == 'some':
        share = _SOME if len(domains) < 3 else _SOME / 2
        yield from (each for each in every if rng.random() < share)
    elif how == 'first':
        yield from every[:1]
    elif how == 'one':
        yield from ((each, *map(rng.choice, domains[1:])) for each in domains[0])
    elif how == 'own':
        yield from zip(*(rng.sample(each, len(each)) for each in domains), strict=False)
    elif how == 'order':
        yield from (each for each in every if domains[0].index(each[0]) > domains[1].index(each[1]))
    elif how == 'graph':
        names = rng.sample(domains[0], len(domains[0]))
        edges = {(names[rng.randrange(n)], names[n]) for n in range(1, len(names))}
        edges |= {(a, b) for a, b in product(names, names) if a != b and rng.random() < 0.15}
        yield from sorted(edges | {(b, a) for a, b in edges})
    elif how.startswith('not '):
        taken = {name for each in others[how.removeprefix('not ')] for name in each}
        yield from (each for each in every if not taken & {*each})
