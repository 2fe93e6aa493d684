# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Descriptions and problems in the words that a small translator reads and writes.

A description is put to it in pieces. A clause is asked alone, with its objects numbered in order of
their mention, so that all clauses of a kind are one question. The prompt lists the predicates of
the domain by the parts of their names. A half that cannot be told from its clauses is asked whole,
with the numbers of objects, under the numbers in their names. Before a goal stands what the initial
state was translated to.

    clause on / object object ; ... request x1 rests on x2                     on x1 x2
    objects 9 start all blocks form a single tower      on table n1 on n2 to n9 n1 to n8 clear n9

The model does not choose the objects: their names say them. Atoms of a predicate in turn, whose
objects stay or are the next or the one before, are written as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from safegen_ros.pddl.model import Atom, Domain
from safegen_ros.pddl.writer import atom_text
from safegen_ros.tasks.planetarium.descriptions import END, START

CLAUSE, REQUEST = 'clause', 'request'
OBJECTS, BEGIN, AIM = 'objects', 'start', 'end'
"""The words that begin the parts of a prompt."""
WHOLE = 'whole'
"""The answer to a clause that cannot be understood alone."""
TO = 'to'
"""Stands between the first and the last object of several."""

MOST_OF_A_KIND = 60
"""Most objects of a kind that there are words for."""

_NAME = re.compile(r'([a-z]+)(\d{1,9})')
_PIECE = re.compile(r'[a-z]+\d+|[a-z]+|\d+|[.;,?]')
_ENDS = re.compile(r'\s*;\s*')
_SHORT = (
    (r"\bcan't", 'cannot'), (r"\bwon't", 'will not'), (r"n't", ' not'), (r"\blet's", 'let us'),
    (r"'d", ' would'), (r"'ll", ' will'), (r"'re", ' are'), (r"'m", ' am'), (r"'ve", ' have'),
    (r"'s", ' is'),
)  # fmt: skip


@dataclass(frozen=True)
class TranslatorWords:
    """What the words of a description stand for.

    Attributes:
        objects: the names of every kind.
    """

    domain: Domain
    objects: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, domain: Domain, text: str) -> TranslatorWords:
        """The lexicon of a description.

        Names are letters with a number; there are all objects up to the greatest number.
        """
        counts: dict[str, int] = {}
        for kind, number in _NAME.findall(text.lower()):
            counts[kind] = max(counts.get(kind, 0), min(int(number), MOST_OF_A_KIND))
        return cls(
            domain,
            {kind: [f'{kind}{n}' for n in range(1, count + 1)] for kind, count in counts.items()},
        )

    def clause(self, text: str) -> tuple[list[str], list[str]]:
        """The words that ask for a clause alone, and the objects in the order of their mention."""
        mentioned: dict[str, str] = {}
        told = []
        for piece in _pieces(text):
            if piece in self.kinds:
                number = mentioned.setdefault(piece, f'x{len(mentioned) + 1}')
                told += [self.kinds[piece], number] if self.several else [number]
            else:
                told.append(piece)
        return [CLAUSE, *self._predicates, REQUEST, *told], list(mentioned)

    def half(self, text: str, before: Sequence[Atom] = ()) -> list[str]:
        """The words that ask for a half of a description as a whole.

        Where the goal is asked for, `before` is the initial state.
        """
        told = [OBJECTS]
        for kind, names in self.objects.items():
            told += [*([kind] if self.several else []), str(len(names))]
        if before:
            told += [BEGIN, *self.half_answer(before), AIM]
        return [*told, *([] if before else [BEGIN]), *self._numbered(text)]

    def clause_answer(self, atoms: Iterable[Atom], mentioned: Sequence[str]) -> list[str]:
        """The right answer to a clause."""
        names = {name: f'x{n}' for n, name in enumerate(mentioned, start=1)}
        told = ((*self.parts[name], *(names[each] for each in own)) for name, *own in atoms)
        return [*chain(*told)] or [WHOLE]

    def half_answer(self, atoms: Iterable[Atom]) -> list[str]:
        """The right answer to a half."""
        return [
            word
            for run in _runs(atom for atom in atoms if not self._named_by(atom))
            for word in (*self.parts[run[0][0]], *chain(*map(self._range, run[0][1:], run[-1][1:])))
        ]

    def read_clause(
        self, words: Sequence[str], mentioned: Sequence[str], shield: bool = True
    ) -> list[Atom] | None:
        """The atoms that an answer to a clause says; None for none, or where an object is left out.

        Args:
            words: the answer.
            mentioned: the objects of the clause, in the order of their mention.
            shield: whether the answer to a clause is held to the predicates of the domain, see
                `held`.
        """
        if shield:
            words = self.held(words, mentioned)
        found = self._read(words, {f'x{n}': name for n, name in enumerate(mentioned, start=1)})
        told = {name for atom in found or () for name in atom[1:]}
        return found if told >= {*mentioned} else None

    def held(self, words: Sequence[str], mentioned: Sequence[str]) -> Sequence[str]:
        """An answer of one atom, whose predicate the domain lacks, with the one that is meant.

        That is the only one whose name has the words as parts, and which takes the objects.
        """
        said = [word for word in words if not re.fullmatch(r'x\d+', word)]
        numbers = words[len(said) :]
        kinds = [self.kinds[mentioned[int(n[1:]) - 1]] for n in numbers
                 if n[1:].isdecimal() and 0 < int(n[1:]) <= len(mentioned)]  # fmt: skip
        if tuple(said) in self.parts.values() or len(kinds) != len(numbers) or not said:
            return words
        fitting = [
            parts
            for name, parts in self.parts.items()
            if set(said) <= set(parts) and self._takes(name, kinds)
        ]
        return [*fitting[0], *numbers] if len(fitting) == 1 else words

    def _takes(self, predicate: str, kinds: Sequence[str]) -> bool:
        """Whether a predicate takes objects of the kinds that their names say."""
        wanted = self.domain.predicates[predicate]
        typed = all(kind in self.domain.types for kind in kinds)
        return tuple(kinds) == wanted if typed else len(kinds) == len(wanted)

    def read_half(self, words: Sequence[str]) -> list[Atom] | None:
        """The atoms that an answer to a half says; None where it says none."""
        if not self.several:
            return self._read(words, {number: name for name, number in self._numbers.items()})
        # A name has two words here; they are joined before they are read, with the kind of the
        # first object of a range put before the last one.
        joined: list[str] = []
        kind = ''
        for word in words:
            if re.fullmatch(r'n\d+', word) and joined and joined[-1] in self.objects:
                kind = joined[-1]
                joined[-1] = f'{kind} {word}'
            else:
                joined.append(f'{kind} {word}' if joined and joined[-1] == TO else word)
        return self._read(joined, {number: name for name, number in self._numbers.items()})

    def problem(self, init: Iterable[Atom], goal: Iterable[Atom]) -> str:
        """The PDDL of a problem, in which names say what objects are where they can."""
        named = (a for k, names in self.objects.items() for a in ((k, n) for n in names))
        every = [*filter(self._named_by, named), *init]
        typed = bool(self.domain.types)
        objects = ' '.join(
            f'{own} - {kind}' if typed else own
            for kind, names in self.objects.items()
            for own in names
        )
        told = (' '.join(map(atom_text, atoms)) for atoms in (every, goal))
        return (
            '(define (problem request) (:domain {})\n  (:objects {})\n  (:init {})\n'
            '  (:goal (and {})))\n'
        ).format(self.domain.name, objects, *told)

    @property
    def several(self) -> bool:
        """Whether objects are listed with their kinds."""
        return len(self.objects) > 1

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        """The kind of every object."""
        return {name: kind for kind, names in self.objects.items() for name in names}

    @cached_property
    def parts(self) -> Mapping[str, tuple[str, ...]]:
        """The words of each predicate."""
        return {name: tuple(re.split(r'[-_]+', name)) for name in self.domain.predicates}

    @cached_property
    def _predicates(self) -> list[str]:
        return [
            word
            for name, parameters in self.domain.predicates.items()
            for word in (*self.parts[name], '/', *parameters, ';')
        ]

    @cached_property
    def _numbers(self) -> Mapping[str, str]:
        """The words of every object in a half."""
        return {
            name: f'{kind} n{n}' if self.several else f'n{n}'
            for kind, names in self.objects.items()
            for n, name in enumerate(names, start=1)
        }

    def _named_by(self, atom: Atom) -> bool:
        """Whether an atom says the same about an object as its name, as `(ball ball2)` does."""
        name = _NAME.fullmatch(atom[1]) if len(atom) == 2 else None
        return name is not None and name[1] == atom[0] in self.domain.predicates

    def _numbered(self, text: str) -> Iterator[str]:
        for piece in _pieces(text):
            yield from self._numbers.get(piece, piece).split()

    def _range(self, first: str, last: str) -> list[str]:
        """The words for the objects from one to another of its kind."""
        ends = self._numbers[last].split()[-1:] if first != last else []
        return [*self._numbers[first].split(), *([TO, *ends] if ends else [])]

    def _read(self, words: Sequence[str], names: Mapping[str, str]) -> list[Atom] | None:
        """The atoms in an answer: the words of a predicate, then as many names as it takes."""
        predicates = {parts: name for name, parts in self.parts.items()}
        longest = sorted(predicates, key=len, reverse=True)
        found: list[Atom] = []
        place = 0
        while place < len(words):
            said = next((p for p in longest if tuple(words[place : place + len(p)]) == p), None)
            if said is None:
                return None
            place += len(said)
            name = predicates[said]
            own: list[Sequence[str]] = []
            for _ in self.domain.predicates[name]:
                several = words[place + 1 : place + 2] == [TO]
                ends = words[place : place + 3 : 2] if several else words[place : place + 1]
                place += 3 if several else 1
                objects = self._between([names.get(w, '') for w in ends])
                if not objects:
                    return None
                own.append(objects)
            length = max(map(len, own), default=1)
            if not all(len(objects) in (1, length) for objects in own):
                return None
            columns = ([*objects] * (length // len(objects)) for objects in own)
            found += [(name, *row) for row in zip(*columns, strict=True)] if own else [(name,)]
        return found or None

    def _between(self, ends: Sequence[str]) -> Sequence[str]:
        """The objects from one to another of its kind, or one alone; none where that is nothing."""
        if len(ends) < 2 or not all(end in self.kinds for end in ends):
            return ends if len(ends) == 1 and ends[0] else ()
        kind = self.kinds[ends[0]]
        if kind != self.kinds[ends[1]]:
            return ()
        names = self.objects[kind]
        first, last = map(names.index, ends)
        return names[first : last + 1] if first <= last else names[last : first + 1][::-1]


def _runs(atoms: Iterable[Atom]) -> list[list[Atom]]:
    """Atoms in turn, those together of whose objects the same ones move on by one number.

    One object in turn goes before several: three balls in a room are not two and one that is on a
    diagonal with another room's.
    """
    found = [[atom] for atom in atoms]
    for several in (False, True):
        joined: list[list[Atom]] = []
        for run in found:
            last = joined[-1] if joined else []
            steps = _steps(last[-1], run[0]) if last and len(run) == 1 else []
            same = len(last) < 2 or _steps(last[0], last[1]) == steps
            if any(steps) and same and (steps.count(0) < len(steps) - 1) == several:
                last += run
            else:
                joined.append(run)
        found = joined
    return found


def _steps(one: Atom, other: Atom) -> list[int]:
    """How far each object of an atom is from that of another; empty if one leaps or changes."""
    if one[0] != other[0]:
        return []
    steps = []
    for first, second in zip(one[1:], other[1:], strict=True):
        a, b = _NAME.fullmatch(first), _NAME.fullmatch(second)
        if a is None or b is None or a[1] != b[1] or abs(int(b[2]) - int(a[2])) > 1:
            return []
        steps.append(int(b[2]) - int(a[2]))
    return steps


def _pieces(text: str) -> list[str]:
    """The words, names and marks of a text."""
    return _PIECE.findall(spelt_out(text))


def spelt_out(text: str) -> str:
    """A text in small letters without contractions: 'do not' for "don't"."""
    text = text.lower().replace('\u2019', "'")
    for short, long in _SHORT:
        text = re.sub(rf'{short}\b', long, text)
    return text


def unread(text: str) -> list[str]:
    """The marks of a text that `_pieces` leaves out."""
    return re.findall(r'[^a-z0-9\s.,;:?]', spelt_out(text))


def halves(text: str) -> tuple[str, str] | None:
    """The initial state and the goal of a description; None for a text of another form."""
    _, begins, rest = text.partition(START)
    start, ends, goal = rest.partition(END)
    return (start.rstrip(' .'), goal.rstrip(' .')) if begins and ends else None


def clauses(half: str) -> list[str]:
    """The clauses of a half."""
    return [clause for clause in _ENDS.split(half) if clause]
