# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Writes problems as English text (SafeGen-LLM appendix G); `english_reader` reads them back.

A domain with its own words has them used (see `vocabulary`). For any other domain facts use the
names of their predicates, which reads worse and says the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.language.lexicon import Wording, vocabulary
from safegen_ros.pddl.deciding import refuse_numbers
from safegen_ros.pddl.model import (
    ALL_OF,
    ANY_OF,
    And,
    Atom,
    AtomFormula,
    Comparison,
    Constraint,
    Domain,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Problem,
    Variables,
)
from safegen_ros.pddl.writer import declared_constants, expression_text

SENTENCES: dict[str, str] = {
    'always': 'At all times , {0} .',
    'sometime': 'At some time , {0} .',
    'at-most-once': 'There is at most one period during which {0} .',
    'sometime-before': 'Before the first time that {0} , there is a time when {1} .',
    'sometime-after': 'Whenever {0} , then or at a later time {1} .',
    'at end': 'At the end , {0} .',
    'within': 'Within {time} steps , {0} .',
    'always-within': 'Whenever {0} , then or within {time} steps {1} .',
    'hold-during': 'From step {time} until before step {time} , {0} .',
    'hold-after': 'From step {time} on , {0} .',
}
"""The words of each constraint; blanks set marks apart here, and are left out in a text."""

TITLE = 'Problem {name} of the domain {name} .'
START = 'At the start :'
CLOSED = 'Nothing else is true at the start .'
GOALS = 'The goal :'
GOAL = 'The goal is that {0} .'
RULES = 'The rules :'
NO_OBJECTS = 'There are no objects .'
DISTINCT = 'All {plural} are different places .'
UNTRUE = 'it is not true that'
NOT_BOTH = f'{UNTRUE} both'
ALL_PARTS, ANY_PART = 'all of', 'any of'
EVERY, SOME = 'for every', 'for some'
SAME, DIFFERENT = 'is the same as', 'is not the same as'
EMPTY = 'nothing'

GRAMMAR = (
    'There are of type and or if then for every some step', TITLE, START, CLOSED, GOALS, GOAL,
    RULES, NO_OBJECTS, DISTINCT, NOT_BOTH, ALL_PARTS, ANY_PART, EVERY, SOME, SAME, DIFFERENT, EMPTY,
    *SENTENCES.values(),
)  # fmt: skip
"""What sentences are made of, beside the words of a domain."""

_SLOT = re.compile(r'\{\w*\}')


def plain(template: str) -> str:
    """A template in a text, marks close to the words before them."""
    return template.replace(' ,', ',').replace(' .', '.').replace(' :', ':')


@dataclass(frozen=True, slots=True)
class Fact:
    """The words of a fact.

    Attributes:
        true: whether it states that the fact is true.
        words: the same in a row; a number stands for an argument.
    """

    predicate: str
    true: bool
    template: str
    words: tuple[str | int, ...]

    @classmethod
    def of(cls, predicate: str, true: bool, template: str) -> Fact:
        """A fact from its template."""
        words = tuple(
            int(word[1:-1]) if _SLOT.fullmatch(word) else word
            for word in template.lower().replace(',', ' ,').split()
        )
        return cls(predicate, true, template, words)


@dataclass(frozen=True)
class Phrases:
    """The words for one domain.

    Attributes:
        arities: number of arguments of every predicate.
    """

    wording: Wording
    arities: Mapping[str, int]

    @classmethod
    def of(cls, domain: Domain) -> Phrases:
        """The words for a domain: its own ones, or plain ones."""
        arities = {name: len(kinds) for name, kinds in domain.predicates.items()}
        return cls(vocabulary(domain).wording, arities)

    @cached_property
    def facts(self) -> dict[tuple[str, bool], Fact]:
        """The words of each predicate, when it is true and when it is not."""
        found = {}
        for name, arity in self.arities.items():
            slots = ', '.join(f'{{{number}}}' for number in range(arity))
            told = f' for {slots}' if arity else ''
            shown = self.name(name)
            own = (f'{shown} holds{told}', f'{shown} does not hold{told}')
            for true, template in zip(
                (True, False), self.wording.facts.get(name, own), strict=True
            ):
                found[name, true] = Fact.of(name, true, template)
        return found

    @cached_property
    def reserved(self) -> frozenset[str]:
        """Words that stand in sentences; a name that is one of them is put in quotes."""
        wording = self.wording
        nouns = [
            noun for pair in (*wording.nouns.values(), *wording.kinds.values()) for noun in pair
        ]
        templates = [template for pair in wording.facts.values() for template in pair]
        generic = 'holds does hold not for'
        words = ' '.join((*GRAMMAR, *nouns, *templates, generic)).lower()
        return frozenset(re.findall(r'[a-z]+', _SLOT.sub(' ', words)))

    def name(self, name: str) -> str:
        """A name in a text; a variable `?x` is a capital `X` where that is clear."""
        if name.startswith('?'):
            bare = name[1:]
            clear = bare.upper() != bare and (len(bare) == 1 or bare not in self.reserved)
            return bare.upper() if clear else name
        return f'"{name}"' if name in self.reserved else name

    def noun(self, kind: str) -> str:
        """The singular for a type."""
        return self.wording.nouns[kind][0] if kind in self.wording.nouns else self.name(kind)

    @cached_property
    def types(self) -> dict[str, str]:
        """From the nouns of the domain's own words, singular and plural, to types."""
        return {noun: kind for kind, pair in self.wording.nouns.items() for noun in pair}

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Likewise to predicates that say what an object is."""
        return {noun: kind for kind, pair in self.wording.kinds.items() for noun in pair}


_SLOT = re.compile(r'\{(\w*)\}')


def to_english(problem: Problem) -> str:
    """A problem as English text, which `from_english` reads back as an equal problem.

    Raises:
        SafegenError: it has a metric or preferences, or its plans depend on numbers.
    """
    refuse_numbers(problem, 'English', 'write the problem as PDDL or JSON')
    if problem.preferences or problem.metric is not None:
        what = 'preferences' if problem.preferences else 'metric'
        raise SafegenError(
            f'English has no words for the {what} of problem '
            f'{problem.name}: write the problem as PDDL or JSON',
            ErrorCode.UNSUPPORTED_FEATURE,
        )
    return _Writer(problem).text()


def constraint_sentence(constraint: Constraint, problem: Problem) -> str:
    """A constraint on a problem as the sentence that stands in that problem's English text."""
    return _Writer(problem).constraint(constraint)


def formula_words(formula: Formula, problem: Problem) -> str:
    """A formula over a problem, as in a sentence of that problem's English text."""
    return _Writer(problem).formula(formula)


_COMPARED = {
    '<': 'less than', '<=': 'at most', '=': 'equal to', '>=': 'at least', '>': 'more than',
}  # fmt: skip


class _Writer:
    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._phrases = Phrases.of(problem.domain)
        self._told: set[Atom] = set()  # atoms that the sentences about objects state

    def text(self) -> str:
        """The whole text."""
        problem = self._problem
        objects = self._objects()
        init = [self._fact(atom[0], atom[1:], True) for atom in sorted(problem.init - self._told)]
        blocks = [
            _filled(TITLE, problem.name, problem.domain.name),
            *objects,
            '',
            *_list(START, init),
            plain(CLOSED),
            '',
        ]
        if isinstance(problem.goal, And):
            blocks += _list(GOALS, [self._unit(part) for part in problem.goal.parts])
        else:
            blocks.append(_filled(GOAL, self.formula(problem.goal)))
        if problem.constraints:
            blocks += ['', *_list(RULES, map(self.constraint, problem.constraints))]
        return '\n'.join([*blocks, ''])

    def _name(self, name: str) -> str:
        # In capitals it would be taken for the object.
        if name.startswith('?') and name[1:] in self._problem.objects:
            return name
        return self._phrases.name(name)

    def _objects(self) -> list[str]:
        constants = declared_constants(self._problem.domain)
        own = {n: kind for n, kind in self._problem.objects.items() if n not in constants}
        if not own:
            return [plain(NO_OBJECTS)]
        kinds = self._kinds(own)
        groups: dict[tuple[str, str], list[str]] = {}
        for name, kind in own.items():
            wording = self._phrases.wording
            pair = wording.kinds[kinds[name]] if kinds else wording.nouns.get(kind)
            groups.setdefault(pair or self._of_type(kind), []).append(self._name(name))
        found = []
        for pair, names in groups.items():
            verb, noun = ('is', pair[0]) if len(names) == 1 else ('are', pair[1])
            found.append(f'There {verb} {len(names)} {noun}: {", ".join(names)}.')
        return [*found, *self._distinct(kinds)]

    def _of_type(self, kind: str) -> tuple[str, str]:
        noun = f'of type {" and ".join(map(self._name, kind.split(ALL_OF)))}'
        return noun, noun

    def _kinds(self, own: Iterable[str]) -> dict[str, str]:
        """The one kind of every object, where each has one; sentences then state those atoms."""
        found: dict[str, str] = {}
        atoms = [a for a in self._problem.init if a[0] in self._phrases.wording.kinds]
        for predicate, name in atoms:
            found[name] = predicate
        if len(atoms) != len(found) or found.keys() != set(own):
            return {}
        self._told.update(atoms)
        return found

    def _distinct(self, kinds: dict[str, str]) -> list[str]:
        """The sentence that all objects of a kind differ, where the initial state says so."""
        if self._phrases.wording.distinct is None:
            return []
        predicate, kind = self._phrases.wording.distinct
        members = [name for name, own in kinds.items() if own == kind]
        pairs = {(predicate, *pair) for pair in permutations(members, 2)}
        if not pairs or pairs != {a for a in self._problem.init if a[0] == predicate}:
            return []
        self._told.update(pairs)
        plural = self._phrases.wording.kinds[kind][1]
        return [plain(DISTINCT).format(plural=plural)]

    def _fact(self, predicate: str, terms: tuple[str, ...], true: bool) -> str:
        template = self._phrases.facts[predicate, true].template
        return template.format(*map(self._name, terms))

    def constraint(self, constraint: Constraint) -> str:
        """A constraint as a sentence."""
        arguments = map(self.formula, constraint.arguments)
        times = map(str, constraint.times)
        template = SENTENCES[constraint.operator]
        if constraint.times == (1,):
            template = template.replace('{time} steps', '{time} step')
        elif not constraint.times and constraint.exact:
            times = map('{:f}'.format, constraint.exact)
            template = template.replace('{time} steps', '{time} seconds')
            template = template.replace('step {time}', 'second {time}')
        values = {'time': times}
        filled = _SLOT.sub(lambda slot: next(values.get(slot[1], arguments)), template)
        return plain(filled)

    def formula(self, formula: Formula) -> str:
        """A formula where a whole sentence may stand."""
        if isinstance(formula, Imply):
            premise, conclusion = self.formula(formula.premise), self.formula(formula.conclusion)
            return f'if {premise}, then {conclusion}'
        if isinstance(formula, (Forall, Exists)):
            words = EVERY if isinstance(formula, Forall) else SOME
            variables, body = self._variables(formula.variables), self.formula(formula.body)
            return f'{words} {variables}, {body}'
        if isinstance(formula, (And, Or)) and len(formula.parts) > 1:
            if isinstance(formula, And):
                return ' and '.join(map(self._part, formula.parts))
            return ' or '.join(
                self.formula(part) if isinstance(part, And) else self._part(part)
                for part in formula.parts
            )
        return self._unit(formula)

    def _variables(self, variables: Variables) -> str:
        found = []
        for name, kind in variables:
            nouns = ' or '.join(map(self._phrases.noun, kind.split(ANY_OF)))
            found.append(f'{nouns} {self._name(name)}')
        return ' and '.join(found) or EMPTY

    def _part(self, formula: Formula) -> str:
        """One of several formulas joined by `and` or `or`; a negation's end is shown."""
        told = self._unit(formula)
        return f'({told})' if told.startswith(UNTRUE) else told

    def _unit(self, formula: Formula) -> str:
        """A formula where one part of a sentence may stand."""
        if isinstance(formula, AtomFormula):
            return self._fact(formula.predicate, formula.terms, True)
        if isinstance(formula, Comparison):
            left, right = expression_text(formula.left), expression_text(formula.right)
            return f'{left} is {_COMPARED[formula.operator]} {right}'
        if isinstance(formula, Equals):
            return f'{self._name(formula.left)} {SAME} {self._name(formula.right)}'
        if isinstance(formula, Not):
            body = formula.body
            if isinstance(body, AtomFormula):
                return self._fact(body.predicate, body.terms, False)
            if isinstance(body, Equals):
                return f'{self._name(body.left)} {DIFFERENT} {self._name(body.right)}'
            if isinstance(body, And) and len(body.parts) == 2:
                return f'{NOT_BOTH} {" and ".join(map(self._part, body.parts))}'
            return f'{UNTRUE} {self._unit(body)}'
        if isinstance(formula, (And, Or)) and len(formula.parts) < 2:
            words = ALL_PARTS if isinstance(formula, And) else ANY_PART
            return f'{words} ({"".join(map(self.formula, formula.parts))})'
        return f'({self.formula(formula)})'


def _filled(template: str, *values: str) -> str:
    """A template with its slots filled in order."""
    waiting = iter(values)
    return plain(_SLOT.sub(lambda _: next(waiting), template))


def _list(title: str, items: Iterable[str]) -> list[str]:
    """A heading and its items, `nothing` when there are none."""
    return [plain(title), *[f'- {item}' for item in items or [EMPTY]]]
