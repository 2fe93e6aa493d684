# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads the problem in a model's answer, as tolerant as the paper's evaluation.

Prose, code fences, thoughts, a domain beside the problem, comments, missing requirements, upper
case and repeated atoms do not matter. Whatever else is wrong has a name (`Grade`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from safegen_ros.errors import PddlError
from safegen_ros.pddl.deciding import changed_predicates
from safegen_ros.pddl.diagnostics import suggestion
from safegen_ros.pddl.model import And, Atom, AtomFormula, Domain, Problem
from safegen_ros.pddl.sexpr import Group, Reader, is_name, read_sexpr
from safegen_ros.pddl.writer import atom_text, names_text
from safegen_ros.tasks.planetarium.fragments import (
    Grade,
    UnreadableAnswer,
    problem_fragment,
)

MAX_OBJECTS = 500
"""Most objects of a problem that is compared; those of the paper have 105 at most."""

MAX_ATOMS = 5_000
"""Most propositions of a problem that is compared."""

_SOURCE = '<answer>'
_SECTIONS = (':domain', ':requirements', ':objects', ':init', ':goal')
_BEYOND_STRIPS = ('or', 'not', 'imply', 'forall', 'exists', '=', 'when', 'preference', 'either')


@dataclass(frozen=True, slots=True)
class ProblemDraft:
    """A STRIPS problem before it is compared with a domain.

    Attributes:
        objects: name to declared type; empty where none is declared.
        goal: what must hold at last, each atom once.
    """

    name: str
    domain: str
    objects: Mapping[str, str]
    init: frozenset[Atom]
    goal: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """A problem that was read out of an answer.

    Attributes:
        retyped: whether it declares types in a domain that has none, or leaves out types that its
            domain has: what typing tolerance forgives.
    """

    problem: Problem
    retyped: bool


def read_draft(answer: str) -> ProblemDraft:
    """The one STRIPS problem in an answer, whatever its domain.

    Raises:
        AnswerError: there is none, or several; its finding is not `parseable`.
    """
    try:
        reader, top = read_sexpr(problem_fragment(answer), _SOURCE)
        return _Drafting(reader, top).draft()
    except PddlError as error:
        raise UnreadableAnswer(Grade.NOT_PDDL, error.message) from error


def conformed(draft: ProblemDraft, domain: Domain, *, tolerant: bool = False) -> ReadAnswer:
    """A draft as a problem of a domain.

    With tolerance, types in a domain without types are left out, and those that name a static
    predicate about one object, as `room` does in Gripper, count as that atom; in a domain with
    types, those that are missing or unknown follow from the atoms.

    Raises:
        AnswerError: it does not fit the domain.
    """
    if draft.domain != domain.name:
        raise UnreadableAnswer(
            Grade.WRONG_DOMAIN,
            f'the problem is for domain {draft.domain[:40]!a}: write (:domain {domain.name})',
        )
    for atom in (*draft.init, *draft.goal):
        kinds = domain.predicates.get(atom[0])
        if kinds is None or len(kinds) != len(atom) - 1:
            raise UnreadableAnswer(
                Grade.UNKNOWN_PREDICATE,
                f'{_shown(atom)} is not an atom of domain {domain.name}: '
                f'{suggestion(atom[0], domain.predicates)}it has {_signatures(domain)}',
            )
    declared = any(draft.objects.values())
    init = draft.init
    if not domain.types:
        objects = dict.fromkeys(draft.objects, 'object')
        retyped = declared
        if tolerant:
            init |= _kind_atoms(draft, domain)
    else:
        objects = dict(draft.objects)
        wrong = [name for name, kind in objects.items() if kind not in domain.types]
        retyped = bool(wrong)
        if wrong and tolerant:
            objects |= _inferred(draft, domain, wrong)
            wrong = [name for name in wrong if objects[name] not in domain.types]
        if wrong:
            raise UnreadableAnswer(
                Grade.WRONG_TYPES,
                f'{names_text(wrong)} lack a type of domain {domain.name}: declare each with one '
                f'of {" ".join(domain.types)}',
            )
    objects = {**domain.constants, **objects}
    goal = And(tuple(AtomFormula(atom[0], atom[1:]) for atom in draft.goal))
    problem = Problem(draft.name, domain, objects, init, goal, ())
    _check_types(problem, draft)
    return ReadAnswer(problem, retyped)


def _kind_atoms(draft: ProblemDraft, domain: Domain) -> set[Atom]:
    """What declared types say in a domain that says it by atoms."""
    empty = Problem('', domain, {}, frozenset(), And(()), ())
    static = domain.predicates.keys() - changed_predicates(empty)
    return {
        (kind, name)
        for name, kind in draft.objects.items()
        if kind in static and len(domain.predicates[kind]) == 1
    }


def _inferred(draft: ProblemDraft, domain: Domain, names: list[str]) -> dict[str, str]:
    """The types of objects that follow from the atoms that they stand in."""
    found: dict[str, set[str]] = {name: set() for name in names}
    for atom in (*draft.init, *draft.goal):
        for name, kind in zip(atom[1:], domain.predicates[atom[0]], strict=True):
            if name in found:
                found[name].add(kind)
    return {name: kinds.pop() for name, kinds in found.items() if len(kinds) == 1}


def _check_types(problem: Problem, draft: ProblemDraft) -> None:
    domain = problem.domain
    for atom in (*sorted(draft.init), *draft.goal):
        for name, kind in zip(atom[1:], domain.predicates[atom[0]], strict=True):
            if not domain.is_subtype(problem.objects[name], kind):
                raise UnreadableAnswer(
                    Grade.WRONG_TYPES,
                    f'{name[:40]} in {_shown(atom)} has type {problem.objects[name][:40]}: it takes'
                    f' {_text(domain, atom[0])}',
                )


def _shown(atom: Atom) -> str:
    return ascii(atom_text(atom)[:80]).strip('\'"')


def _text(domain: Domain, predicate: str) -> str:
    return f'({" ".join((predicate, *domain.predicates[predicate]))})'


def _signatures(domain: Domain) -> str:
    return ' '.join(_text(domain, name) for name in domain.predicates)


class _Drafting:
    """Reads one definition, with the domain unknown."""

    def __init__(self, reader: Reader, top: Group) -> None:
        self._reader = reader
        self._top = top
        self._objects: dict[str, str] = {}

    def draft(self) -> ProblemDraft:
        reader, top = self._reader, self._top
        title = reader.group(top, 1, '(problem NAME)')
        if title.head != 'problem' or len(title.items) != 2:
            raise reader.error(title, 'expected (problem NAME)', 'give the problem one name')
        sections = self._sections()
        for wanted in (':domain', ':init', ':goal'):
            if wanted not in sections:
                raise reader.error(top, f'the problem has no {wanted}', f'add ({wanted} ...)')
        named = sections[':domain']
        if len(named.items) != 2:
            raise reader.error(named, ':domain takes one name', 'write (:domain NAME)')
        if ':objects' in sections:
            self._read_objects(sections[':objects'])
        init = frozenset(self._initial(sections[':init']))
        goal = sections[':goal']
        if len(goal.items) != 2:
            raise reader.error(goal, ':goal takes one formula', 'join its parts by (and ...)')
        wanted_atoms = tuple(dict.fromkeys(self._conjuncts(goal, 1)))
        if len(init) + len(wanted_atoms) > MAX_ATOMS or len(self._objects) > MAX_OBJECTS:
            raise UnreadableAnswer(
                Grade.TOO_LARGE,
                f'the problem has {len(self._objects):,} objects and '
                f'{len(init) + len(wanted_atoms):,} propositions: use at most {MAX_OBJECTS} and '
                f'{MAX_ATOMS:,}',
            )
        return ProblemDraft(
            reader.name(title, 1, 'the problem'), reader.word(named, 1, 'the domain'),
            self._objects, init, wanted_atoms,
        )  # fmt: skip

    def _sections(self) -> dict[str, Group]:
        reader, top = self._reader, self._top
        found: dict[str, Group] = {}
        for index in range(2, len(top.items)):
            section = reader.group(top, index, 'a section such as (:init ...)')
            if section.head in (':constraints', ':metric'):
                raise self._beyond(section)
            if section.head not in _SECTIONS:
                raise reader.error(
                    section, f'{section.head[:40]!r} is not a section of a problem',
                    f'{suggestion(section.head, _SECTIONS)}sections are {" ".join(_SECTIONS)}',
                )  # fmt: skip
            if section.head in found:
                raise reader.error(section, f'a second {section.head}', 'merge them')
            found[section.head] = section
        return found

    def _read_objects(self, section: Group) -> None:
        reader, waiting = self._reader, list[str]()
        index = 1
        while index < len(section.items):
            item = section.items[index]
            if item == '-' and waiting and index + 1 < len(section.items):
                kind = section.items[index + 1]
                if isinstance(kind, Group):
                    raise self._beyond(kind)
                self._objects.update(
                    dict.fromkeys(waiting, reader.name(section, index + 1, 'a type'))
                )
                waiting = []
                index += 2
                continue
            name = reader.name(section, index, 'an object')
            if name in self._objects or name in waiting:
                raise reader.error_in(
                    section, index, f'object {name[:40]!r} is declared twice', 'remove one'
                )
            waiting.append(name)
            index += 1
        self._objects.update(dict.fromkeys(waiting, ''))

    def _initial(self, section: Group) -> Iterator[Atom]:
        for index in range(1, len(section.items)):
            group = self._reader.group(section, index, 'an atom such as (clear b1)')
            if group.head in _BEYOND_STRIPS:
                raise self._beyond(group)
            yield self._atom(group)

    def _conjuncts(self, parent: Group, index: int) -> Iterator[Atom]:
        group = self._reader.group(parent, index, 'an atom such as (clear b1)')
        if group.head == 'and':
            for place in range(1, len(group.items)):
                yield from self._conjuncts(group, place)
        elif group.head in _BEYOND_STRIPS:
            raise self._beyond(group)
        else:
            yield self._atom(group)

    def _atom(self, group: Group) -> Atom:
        reader = self._reader
        if not group.items:
            raise reader.error(group, 'an empty list', 'write an atom such as (clear b1)')
        reader.name(group, 0, 'a predicate')
        words = [reader.word(group, index, 'an object') for index in range(len(group.items))]
        for index, name in enumerate(words[1:], 1):
            if name not in self._objects:
                if not is_name(name):
                    reader.name(group, index, 'an object')
                place = reader.error_in(group, index, f'object {name[:40]!r} is not declared',
                                        'add it to :objects')  # fmt: skip
                raise UnreadableAnswer(Grade.UNDECLARED_OBJECT, place.message)
        return tuple(words)

    def _beyond(self, group: Group) -> UnreadableAnswer:
        what = self._reader.error(
            group, f'({group.head} ...) is not STRIPS', 'use atoms, in the goal joined by (and ...)'
        )
        return UnreadableAnswer(Grade.NOT_STRIPS, what.message)
