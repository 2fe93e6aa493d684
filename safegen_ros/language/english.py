# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Writes problems as English text (SafeGen-LLM appendix G); `english_reader` reads them back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import permutations

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.language import phrases
from safegen_ros.language.phrases import Phrases, plain
from safegen_ros.pddl.deciding import refuse_numbers
from safegen_ros.pddl.model import (
    ALL_OF,
    ANY_OF,
    And,
    Atom,
    AtomFormula,
    Comparison,
    Constraint,
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
            _filled(phrases.TITLE, problem.name, problem.domain.name),
            *objects,
            '',
            *_list(phrases.START, init),
            plain(phrases.CLOSED),
            '',
        ]
        if isinstance(problem.goal, And):
            blocks += _list(phrases.GOALS, [self._unit(part) for part in problem.goal.parts])
        else:
            blocks.append(_filled(phrases.GOAL, self.formula(problem.goal)))
        if problem.constraints:
            blocks += ['', *_list(phrases.RULES, map(self.constraint, problem.constraints))]
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
            return [plain(phrases.NO_OBJECTS)]
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
        return [plain(phrases.DISTINCT).format(plural=plural)]

    def _fact(self, predicate: str, terms: tuple[str, ...], true: bool) -> str:
        template = self._phrases.facts[predicate, true].template
        return template.format(*map(self._name, terms))

    def constraint(self, constraint: Constraint) -> str:
        """A constraint as a sentence."""
        arguments = map(self.formula, constraint.arguments)
        times = map(str, constraint.times)
        template = phrases.SENTENCES[constraint.operator]
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
            words = phrases.EVERY if isinstance(formula, Forall) else phrases.SOME
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
        return ' and '.join(found) or phrases.EMPTY

    def _part(self, formula: Formula) -> str:
        """One of several formulas joined by `and` or `or`; a negation's end is shown."""
        told = self._unit(formula)
        return f'({told})' if told.startswith(phrases.UNTRUE) else told

    def _unit(self, formula: Formula) -> str:
        """A formula where one part of a sentence may stand."""
        if isinstance(formula, AtomFormula):
            return self._fact(formula.predicate, formula.terms, True)
        if isinstance(formula, Comparison):
            left, right = expression_text(formula.left), expression_text(formula.right)
            return f'{left} is {_COMPARED[formula.operator]} {right}'
        if isinstance(formula, Equals):
            return f'{self._name(formula.left)} {phrases.SAME} {self._name(formula.right)}'
        if isinstance(formula, Not):
            body = formula.body
            if isinstance(body, AtomFormula):
                return self._fact(body.predicate, body.terms, False)
            if isinstance(body, Equals):
                return f'{self._name(body.left)} {phrases.DIFFERENT} {self._name(body.right)}'
            if isinstance(body, And) and len(body.parts) == 2:
                return f'{phrases.NOT_BOTH} {" and ".join(map(self._part, body.parts))}'
            return f'{phrases.UNTRUE} {self._unit(body)}'
        if isinstance(formula, (And, Or)) and len(formula.parts) < 2:
            words = phrases.ALL_PARTS if isinstance(formula, And) else phrases.ANY_PART
            return f'{words} ({"".join(map(self.formula, formula.parts))})'
        return f'({self.formula(formula)})'


def _filled(template: str, *values: str) -> str:
    """A template with its slots filled in order."""
    waiting = iter(values)
    return plain(_SLOT.sub(lambda _: next(waiting), template))


def _list(title: str, items: Iterable[str]) -> list[str]:
    """A heading and its items, `nothing` when there are none."""
    return [plain(title), *[f'- {item}' for item in items or [phrases.EMPTY]]]
