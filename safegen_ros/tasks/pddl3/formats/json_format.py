# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Problems as JSON (SafeGen-LLM appendix G), by the schema in `problem.schema.json`.

Writing and reading keep everything: what is read back is equal to what was written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from safegen_ros.errors import PddlError
from safegen_ros.language.placed import Place, Placed, PlacedWords, read_json
from safegen_ros.pddl.deciding import refuse_numbers
from safegen_ros.pddl.diagnostics import suggestion
from safegen_ros.pddl.formulas import TRAJECTORY_OPERATORS
from safegen_ros.pddl.model import (
    ALL_OF,
    ANY_OF,
    And,
    AtomFormula,
    Comparison,
    Constraint,
    Domain,
    Equals,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Problem,
)
from safegen_ros.pddl.sexpr import is_name

TIME_KEYS: dict[str, tuple[str, ...]] = {
    'within': ('steps',),
    'always-within': ('steps',),
    'hold-during': ('from', 'until'),
    'hold-after': ('from',),
}
"""What the times of an operator are called, in the order of PDDL."""

_OPERATORS = {
    operator.replace('-', '_').replace(' ', '_'): operator for operator in TRAJECTORY_OPERATORS
}

_CONNECTIVES = ('not', 'and', 'or', 'imply', 'forall', 'exists', 'equal')

_SECTIONS = ('problem', 'domain', 'objects', 'init', 'goal', 'constraints')

KEYS = (
    *_SECTIONS, *_CONNECTIVES, *_OPERATORS,
    *dict.fromkeys(key for keys in TIME_KEYS.values() for key in keys),
    'pred', 'args', 'either', 'name', 'type', 'variables', 'formula', 'formulas',
)  # fmt: skip
"""Every key that a problem may have."""


def to_json(problem: Problem) -> str:
    """A problem as JSON text, one fact to a line."""
    refuse_numbers(problem, 'JSON', 'write the problem as PDDL')
    constants = problem.domain.constants
    sections: dict[str, Any] = {
        'problem': problem.name,
        'domain': problem.domain.name,
        'objects': {
            name: _type_value(kind, ALL_OF)
            for name, kind in problem.objects.items()
            if name not in constants
        },
        'init': [_atom_value(*atom) for atom in sorted(problem.init)],
        'goal': _formula_value(problem.goal),
        'constraints': [_constraint_value(constraint) for constraint in problem.constraints],
    }
    return '{\n' + ',\n'.join(f'  {_section(*item)}' for item in sections.items()) + '\n}\n'


def _section(name: str, value: Any) -> str:
    if isinstance(value, list) and value:
        lines = ',\n'.join(f'    {json.dumps(item)}' for item in value)
        text = f'[\n{lines}\n  ]'
    elif name == 'goal' and value.get('and'):
        text = f'{{{_section("and", value["and"])}}}'
    else:
        text = json.dumps(value)
    return f'{json.dumps(name)}: {text}'


def _atom_value(predicate: str, *terms: str) -> dict[str, Any]:
    return {'pred': predicate, 'args': list(terms)}


def _type_value(kind: str, joint: str) -> Any:
    parts = kind.split(joint)
    return kind if len(parts) == 1 else {'either': parts}


def _formula_value(formula: Formula) -> dict[str, Any]:
    if isinstance(formula, AtomFormula):
        return _atom_value(formula.predicate, *formula.terms)
    if isinstance(formula, Equals):
        return {'equal': [formula.left, formula.right]}
    if isinstance(formula, Not):
        return {'not': _formula_value(formula.body)}
    if isinstance(formula, (And, Or)):
        head = 'and' if isinstance(formula, And) else 'or'
        return {head: [_formula_value(part) for part in formula.parts]}
    if isinstance(formula, Imply):
        sides = (formula.premise, formula.conclusion)
        return {'imply': [_formula_value(side) for side in sides]}
    if isinstance(formula, Comparison):
        raise TypeError('refused by to_json')
    variables = [
        {'name': name, 'type': _type_value(kind, ANY_OF)} for name, kind in formula.variables
    ]
    body = {'variables': variables, 'formula': _formula_value(formula.body)}
    return {'forall' if isinstance(formula, Forall) else 'exists': body}


def _constraint_value(constraint: Constraint) -> dict[str, Any]:
    operator = constraint.operator
    formulas = [_formula_value(argument) for argument in constraint.arguments]
    value: Any = formulas[0] if len(formulas) == 1 else formulas
    if constraint.times:
        times = dict(zip(TIME_KEYS[operator], constraint.times, strict=True))
        value = {**times, 'formula' if len(formulas) == 1 else 'formulas': value}
    return {operator.replace('-', '_').replace(' ', '_'): value}


def from_json(text: str, domain: Domain, source: str = '<problem>') -> Problem:
    """Reads a problem of a domain.

    Raises:
        PddlError: the text is not JSON, has an unknown or a missing field, or says what PDDL could
            not say either (see `read_problem`).
    """
    return _ProblemReader(source).read(read_json(text, source), domain)


def json_domain_name(text: str, source: str = '<problem>') -> str:
    """The domain that a JSON problem asks for; the rest of it is not looked at.

    Raises:
        PddlError: the text is not JSON, or names no domain.
    """
    reader = _ProblemReader(source)
    top = reader.members(read_json(text, source), 'a problem', ('domain',), others=True)
    return reader.name(top['domain'], 'a domain')


class _ProblemReader:
    """Checks the shape of a JSON problem and writes it down as words of PDDL."""

    def __init__(self, source: str) -> None:
        self._words = PlacedWords(source)

    def read(self, top: Placed, domain: Domain) -> Problem:
        fields = self.members(top, 'a problem', _SECTIONS[:-1], ('constraints',))
        add = self._words.add
        add(top.place, '(', 'define')
        for keyword, field in (('problem', 'problem'), (':domain', 'domain')):
            value = fields[field]
            add(value.place, '(', keyword, self.name(value, f'a {field}'), ')')
        self._objects(fields['objects'])
        self._list(':init', fields['init'], 'the list of facts', self._atom)
        add(fields['goal'].place, '(', ':goal')
        self._formula(fields['goal'])
        add(fields['goal'].place, ')')
        constraints = fields.get('constraints')
        if constraints is not None:
            add(constraints.place, '(', ':constraints')
            self._list('and', constraints, 'the list of constraints', self._constraint)
            add(constraints.place, ')')
        add(top.place, ')')
        return self._words.problem(domain)

    def _objects(self, value: Placed) -> None:
        self._words.add(value.place, '(', ':objects')
        for name, kind in self._object(value, 'the objects').items():
            self._words.add(kind.key, self._checked(name, kind.key, 'an object'), '-')
            self._type(kind)
        self._words.add(value.place, ')')

    def _type(self, value: Placed) -> None:
        if not isinstance(value.value, Mapping):
            self._words.add(value.place, self.name(value, 'a type'))
            return
        parts = self.members(value, 'a type', ('either',))['either']
        self._words.add(value.place, '(', 'either')
        for part in self._items(parts, 'the types'):
            self._words.add(part.place, self.name(part, 'a type'))
        self._words.add(value.place, ')')

    def _list(self, head: str, value: Placed, what: str, write: Callable[[Placed], None]) -> None:
        self._words.add(value.place, '(', head)
        for item in self._items(value, what):
            write(item)
        self._words.add(value.place, ')')

    def _atom(self, value: Placed) -> None:
        fields = self.members(value, 'an atom', ('pred', 'args'))
        place = fields['pred'].place
        self._words.add(place, '(', self.name(fields['pred'], 'a predicate'))
        for term in self._items(fields['args'], 'the arguments'):
            self._term(term)
        self._words.add(place, ')')

    def _term(self, value: Placed) -> None:
        self._words.add(value.place, self.name(value, 'an object or a variable', variable=True))

    def _formula(self, value: Placed) -> None:
        fields = self._object(value, 'a formula')
        if 'pred' in fields or 'args' in fields:
            self._atom(value)
            return
        head, inner = self._only(value, fields, 'a formula', _CONNECTIVES)
        place = value.place
        if head in ('and', 'or'):
            self._list(head, inner, f'the list of formulas of {head!r}', self._formula)
        elif head == 'not':
            self._words.add(place, '(', head)
            self._formula(inner)
            self._words.add(place, ')')
        elif head in ('imply', 'equal'):
            self._words.add(place, '(', '=' if head == 'equal' else head)
            for item in self._items(inner, f'what {head!r} is about', 2):
                (self._term if head == 'equal' else self._formula)(item)
            self._words.add(place, ')')
        else:
            self._quantified(head, place, inner)

    def _quantified(self, head: str, place: Place, value: Placed) -> None:
        fields = self.members(value, f'{head!r}', ('variables', 'formula'))
        self._words.add(place, '(', head, '(')
        for item in self._items(fields['variables'], 'the variables'):
            parts = self.members(item, 'a variable', ('name', 'type'))
            name = self.name(parts['name'], 'a variable', variable=True)
            self._words.add(parts['name'].place, name, '-')
            self._type(parts['type'])
        self._words.add(place, ')')
        self._formula(fields['formula'])
        self._words.add(place, ')')

    def _constraint(self, value: Placed) -> None:
        fields = self._object(value, 'a constraint')
        key, inner = self._only(value, fields, 'a constraint', tuple(_OPERATORS))
        operator = _OPERATORS[key]
        count = TRAJECTORY_OPERATORS[operator][1]
        self._words.add(value.place, '(', *operator.split())
        if operator in TIME_KEYS:
            what = 'formula' if count == 1 else 'formulas'
            parts = self.members(inner, f'{key!r}', (*TIME_KEYS[operator], what))
            for time in TIME_KEYS[operator]:
                self._words.add(parts[time].place, str(self._steps(parts[time])))
            inner = parts[what]
        arguments = [inner] if count == 1 else self._items(inner, f'what {key!r} is about', count)
        for argument in arguments:
            self._formula(argument)
        self._words.add(value.place, ')')

    def _steps(self, value: Placed) -> int:
        steps = value.value
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < 0:
            found = _kind(value) if isinstance(steps, (tuple, Mapping)) else ascii(steps)[:40]
            raise self._error(value, f'{found} is not a number of steps', 'write 0, 1, 2 ...')
        return steps

    def name(self, value: Placed, what: str, *, variable: bool = False) -> str:
        """A string that must be a name, or, where that is allowed, a variable."""
        text = value.value
        if not isinstance(text, str):
            raise self._error(value, f'{_kind(value)} where {what} must stand', 'write a string')
        return self._checked(text, value.place, what, variable=variable)

    def _checked(self, text: str, place: Place, what: str, *, variable: bool = False) -> str:
        name = text.lower()
        if not is_name(name[1:] if variable and name.startswith('?') else name):
            cure = 'a name holds letters, digits, - and _, and starts with no -'
            raise self._words.error(place, f'{text[:40]!a} is not a name for {what}', cure)
        return name

    def members(
        self,
        value: Placed,
        what: str,
        required: tuple[str, ...],
        optional: tuple[str, ...] = (),
        *,
        others: bool = False,
    ) -> Mapping[str, Placed]:
        """The fields of an object, with none missing and, unless told, none beside them."""
        fields = self._object(value, what)
        known = (*required, *optional)
        if not others:
            self._check_known(fields, what, known)
        for name in required:
            if name not in fields:
                cure = f'add it; {what} has {" ".join(known)}'
                raise self._error(value, f'{what} without {name!r}', cure)
        return fields

    def _only(
        self,
        value: Placed,
        fields: Mapping[str, Placed],
        what: str,
        known: tuple[str, ...],
    ) -> tuple[str, Placed]:
        """The one field of an object, whose name says what it is."""
        self._check_known(fields, what, known)
        if len(fields) != 1:
            found = ' and '.join(map(repr, fields)) or 'nothing'
            raise self._error(value, f'{what} with {found}', f'give it one of {" ".join(known)}')
        ((name, inner),) = fields.items()
        return name, inner

    def _object(self, value: Placed, what: str) -> Mapping[str, Placed]:
        if isinstance(value.value, Mapping):
            return value.value
        raise self._error(value, f'{_kind(value)} where {what} must stand', 'write {...}')

    def _items(self, value: Placed, what: str, count: int | None = None) -> Sequence[Placed]:
        if not isinstance(value.value, tuple):
            raise self._error(value, f'{_kind(value)} where {what} must stand', 'write [...]')
        if count is not None and len(value.value) != count:
            cure = f'write exactly {count} of them'
            raise self._error(value, f'{len(value.value)} values for {what}', cure)
        return value.value

    def _check_known(self, fields: Mapping[str, Placed], what: str, known: Sequence[str]) -> None:
        for name, value in fields.items():
            if name not in known:
                cure = f'{suggestion(name, known)}{what} has {" ".join(known)}'
                raise self._words.error(value.key, f'{name[:40]!a} is not a field of {what}', cure)

    def _error(self, value: Placed, what: str, cure: str) -> PddlError:
        return self._words.error(value.place, what, cure)


def _kind(value: Placed) -> str:
    """What a value is, for messages."""
    names = {dict: 'an object', tuple: 'a list', str: 'a string', bool: 'true or false'}
    return names.get(type(value.value), 'null' if value.value is None else 'a number')
