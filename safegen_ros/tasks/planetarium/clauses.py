# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Descriptions in pieces, as a language model reads them.

Each clause is asked alone, with its objects numbered in the order of their mention, so that all
clauses of a kind are one question. Only facts are listed that can be of all these objects. The
answer is the fact that is meant, or `()` where the clause does not say one:

    Facts: (on object object)                           (on b1 b2)
    b: b1 b2
    Now:
    Request: b1 rests on b2

A half with such a clause is asked whole, with all objects, and with the initial state where it is
the goal. The model does not choose the objects: the text lists them. What may say something else
than one fact, or its opposite, is refused before it is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.pddl.deciding import changed_predicates
from safegen_ros.pddl.model import And, Atom, Domain, Problem
from safegen_ros.pddl.sexpr import read_sexpr
from safegen_ros.pddl.writer import atom_text
from safegen_ros.tasks.planetarium.descriptions import END, START

NOTHING = '()'
"""The answer to a clause that says none of the facts."""

_MOST_OF_A_KIND = 200
_FORM = f'Given: 2 blocks (b1 and b2).{START}b1 is on b2; ...{END}b2 is on b1.'
_KIND = r'(\d{1,9}) ([a-z-]+) \(([a-z]+)(\d{1,9})(?: (?:to|and) ([a-z]+)(\d{1,9}))?\)'
_GIVEN = re.compile(rf'\s*given: {_KIND}(?:(?:,| and|, and) {_KIND})*\.?\s*')
_NAME = re.compile(r'\b([a-z]+)\d+\b')
_STEM = re.compile(r'\d+$')
_RULE = re.compile(
    r'\b(?:never|ever|always|cannot|no time|without|unless|until|avoid|except|only|'
    r'forbidden|while|during)\b'
)
_DENIAL = re.compile(
    r"\b(?:not?|none|nor|neither)\b|n['\u2018-\u201b\u02bc`]t\b|"
    r'\b(?:is|are|was|were|do|does|did|has|have|had|ca|wo|could|would|should|must|need)nt\b'
)
"""Words that may turn a fact into its opposite, which no answer can say."""
_COMPOUND = re.compile(
    r'[,.]|\b(?:and|or|either|both|if|when|before|after|then|must|shall|should|keep)\b|'
    r'\b([a-z]+)\d+ *(?:to|through|[^\w ]+) *\1\d'
)
"""Words and marks of clauses that say more than one fact of their objects, or less."""


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


@dataclass(frozen=True, slots=True)
class AskedClause:
    """A clause with other names.

    Attributes:
        prompt: what the model is asked; empty where there is nothing to ask.
        names: the name in the description, by that in the prompt.
    """

    prompt: str
    names: Mapping[str, str]


@dataclass(frozen=True)
class Description:
    """A text that lists what there is, what is true at the start, and what in the end.

    Attributes:
        objects: the names by what they begin with.
        kinds: the word for them in the text, likewise, as the domain has it where it has one.
        start: the clauses about the initial state.
        goal: likewise.
    """

    domain: Domain
    objects: Mapping[str, Sequence[str]]
    kinds: Mapping[str, str]
    start: Sequence[str]
    goal: Sequence[str]

    @classmethod
    def of(cls, domain: Domain, text: str) -> Description:
        """Cuts a text at its marks.

        Raises:
            SafegenError: it is no such description, or says what no list of facts can
                (`TRANSLATION_FAILED`).
        """
        head, *rest = re.split(f'({START}|{END})'.lower(), ' '.join(text.lower().split()))
        if [START.lower(), END.lower()] != rest[::2] or not _GIVEN.fullmatch(head):
            raise refusal(
                'needs to be told what there is: give the observed world (--start), or a '
                f'description such as {_FORM!r}'
            )
        objects: dict[str, Sequence[str]] = {}
        kinds: dict[str, str] = {}
        for count, kind, stem, first, same, last in re.findall(_KIND, head):
            numbers = range(int(first), int(last or first) + 1)
            if same not in ('', stem) or len(numbers) != int(count) or stem in objects:
                raise refusal(f'does not understand which {kind} there are: write as in {_FORM!r}')
            if len(numbers) > _MOST_OF_A_KIND:
                raise refusal(f'reads {_MOST_OF_A_KIND} {kind} at most')
            names = [f'{stem}{number}' for number in numbers]
            known = {*domain.types, *domain.predicates}
            singular = (re.sub(end, '', kind) for end in ('s$', 'es$'))
            words = (kind, *singular, re.sub('ies$', 'y', kind), stem)
            objects[stem], kinds[stem] = names, next((w for w in words if w in known), kind)
            if domain.types and kinds[stem] not in domain.types:
                types = ', '.join(domain.types)
                raise refusal(f'finds no type for {kind}: those of the domain are {types}')
        found = cls(domain, objects, kinds, *(_clauses(half) for half in rest[1::2]))
        for clauses in (found.start, found.goal):
            if not clauses:
                raise refusal(f'needs to be told the start and the end, as in {_FORM!r}')
            for clause in clauses:
                found._check(clause)
        return found

    def _check(self, clause: str) -> None:
        """Refuses a clause that an answer may not say."""
        rule, denial = _RULE.search(clause), _DENIAL.search(clause)
        if rule is not None:
            raise refusal(
                f'understands no rules, such as the words with {rule[0]!r}: give them as PDDL '
                '(--constraints)'
            )
        if denial is not None:
            raise refusal(f'reads no denials, as in {clause!r}: list what is true')
        known = {name for names in self.objects.values() for name in names}
        odd = [
            word
            for word in re.split(r'\.?[\s(),:?!]+', clause)
            if re.search(r'[^\W\d]', word) and re.search(r'\d', word) and word not in known
        ]
        if odd:
            raise refusal(f'is not told what {odd[0]!r} is: list it under Given')
        if _NAME.search(clause) and _COMPOUND.search(clause):
            raise refusal(f'reads one fact of each object at a time, and not {clause!r}')

    @cached_property
    def facts(self) -> Mapping[str, Sequence[str]]:
        """The predicates of clauses; names say the others, as `(ball ball2)`."""
        return {n: k for n, k in self.domain.predicates.items() if n not in self._said}

    @cached_property
    def _said(self) -> Mapping[str, Sequence[str]]:
        """The objects of the predicates that names say: of one argument, and never changed."""
        changing = changed_predicates(Problem('', self.domain, {}, frozenset(), And(()), ()))
        return {
            kind: self.objects[stem]
            for stem, kind in self.kinds.items()
            if len(self.domain.predicates.get(kind, ())) == 1 and kind not in changing
        }

    def clause(self, text: str) -> AskedClause:
        """A clause alone."""
        new: dict[str, str] = {}
        objects: dict[str, list[str]] = {}

        def renamed(found: re.Match[str]) -> str:
            if found[0] not in new:
                own = objects.setdefault(found[1], [])
                own.append(f'{found[1]}{len(own) + 1}')
                new[found[0]] = own[-1]
            return new[found[0]]

        told = _NAME.sub(renamed, text)
        names = {name: old for old, name in new.items()}
        stems = [_STEM.sub('', name) for name in names]
        facts = {name: takes for name, takes in self.facts.items() if self._takes(takes, stems)}
        return AskedClause(goal_prompt(facts, objects, (), told) if facts else '', names)

    def _takes(self, takes: Sequence[str], stems: Sequence[str]) -> bool:
        """Whether a fact may be about such objects: each has a place, and each place an object."""
        if not self.domain.types or len(takes) != len(stems):
            return len(takes) == len(stems)
        fits = self.domain.is_subtype
        kinds = [self.kinds[stem] for stem in stems]
        return all(any(fits(kind, place) for place in takes) for kind in kinds) and all(
            any(fits(kind, place) for kind in kinds) for place in takes
        )

    def whole(self, clauses: Sequence[str], before: Iterable[Atom] = ()) -> AskedClause:
        """A half as a whole, behind the initial state where it is the goal."""
        told = goal_prompt(self.facts, self.objects, before, '; '.join(clauses))
        return AskedClause(told, {name: name for own in self.objects.values() for name in own})

    def fact(self, text: str, answer: str, asked: AskedClause) -> Atom | None:
        """The fact that a clause says, of all its objects; None where it says none alone.

        Raises:
            SafegenError: it names objects, and the answer is no such fact (`TRANSLATION_FAILED`).
        """
        found = self.read(answer, asked) or []
        numbered = not asked.names and re.search(r'\d', text)  # as in 'block 1 is held'
        if len(found) == 1 and not numbered and {*found[0][1:]} == {*asked.names.values()}:
            return found[0]
        if asked.names or found:
            raise refusal(f'reads no fact in {text!r}: say it in other words')
        return None

    def read(self, answer: str, asked: AskedClause) -> list[Atom] | None:
        """The facts in an answer; None where it is not a list of some."""
        try:
            _, listed = read_sexpr(f'({answer})', '<answer>')
        except PddlError:
            return None
        found: dict[Atom, None] = {}
        for item in listed.items:
            if isinstance(item, str) or item.head not in self.facts:
                return None
            own = [asked.names.get(n, '') if isinstance(n, str) else '' for n in item.items[1:]]
            if len(own) != len(self.facts[item.head]) or not all(own):
                return None
            found[(item.head, *own)] = None
        return [*found] or None

    def problem(self, init: Iterable[Atom], goal: Iterable[Atom]) -> str:
        """The PDDL of a problem, in which names say what objects are where they can."""
        named = [(kind, name) for kind, names in self._said.items() for name in names]
        objects = ' '.join(
            f'{name} - {self.kinds[stem]}' if self.domain.types else name
            for stem, names in self.objects.items()
            for name in names
        )
        told = (' '.join(map(atom_text, atoms)) for atoms in ([*named, *init], goal))
        return (
            '(define (problem request) (:domain {})\n  (:objects {})\n  (:init {})\n'
            '  (:goal (and {})))\n'
        ).format(self.domain.name, objects, *told)


def refusal(why: str) -> SafegenError:
    """Says why the model cannot read a text."""
    return SafegenError(f'the model that translates {why}', ErrorCode.TRANSLATION_FAILED)


def _clauses(half: str) -> list[str]:
    return [each for each in re.split(r'\s*;\s*', half.strip(' .')) if each]
