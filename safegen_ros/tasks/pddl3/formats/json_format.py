# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Problems as JSON (SafeGen-LLM appendix G), by the schema in `problem.schema.json`.

Writing and reading keep everything: the problem that is read equals the written one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from safegen_ros.errors import PddlError
from safegen_ros.language.placed import Place, Placed, PlacedWords, read_json
from safegen_ros.pddl.diagnostics import suggestion
from safegen_ros.pddl.formulas import TRAJECTORY_OPERATORS
from safegen_ros.pddl.model import Domain, Problem
from safegen_ros.pddl.sexpr import is_name
from safegen_ros.tasks.pddl3.formats.json_writer import TIME_KEYS, time_keys

_OPERATORS = {
    operator.replace('-', '_').replace(' ', '_'): operator for operator in TRAJECTORY_OPERATORS
}

_CONNECTIVES = ('not', 'and', 'or', 'imply', 'forall', 'exists', 'equal')

_COMPARED = ('<', '<=', '=', '>=', '>')
_ARITHMETIC = ('+', '-', '*', '/')
_NUMBER = re.compile(r'[-+]?\d{1,60}(\.\d{1,60}|/\d{1,60})?')
_SECONDS = re.compile(r'\d{1,60}(\.\d{1,60})?')

_SECTIONS = ('problem', 'domain', 'objects', 'init', 'goal', 'constraints')

KEYS = (
    *_SECTIONS, *_CONNECTIVES, *_OPERATORS,
    *dict.fromkeys(key for keys in TIME_KEYS.values() for key in keys),
    'pred', 'args', 'either', 'name', 'type', 'variables', 'formula', 'formulas',
)  # fmt: skip
"""Every key that a problem may have."""


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
        self._timed = False
        self._spelling: dict[str, str] = {}

    def read(self, top: Placed, domain: Domain) -> Problem:
        self._timed = bool(domain.durative)
        more = ('constraints', 'preferences', 'metric')
        fields = self.members(top, 'a problem', _SECTIONS[:-1], more)
        add = self._words.add
        add(top.place, '(', 'define')
        for keyword, field in (('problem', 'problem'), (':domain', 'domain')):
            value = fields[field]
            add(value.place, '(', keyword, self.name(value, f'a {field}'), ')')
        self._objects(fields['objects'])
        self._list(':init', fields['init'], 'the list of facts', self._fact)
        add(fields['goal'].place, '(', ':goal')
        self._formula(fields['goal'])
        add(fields['goal'].place, ')')
        constraints, wishes = fields.get('constraints'), fields.get('preferences')
        if constraints is not None or wishes is not None:
            add(top.place, '(', ':constraints', '(', 'and')
            for item in self._items(constraints, 'the list of constraints') if constraints else ():
                self._constraint(item)
            for item in self._items(wishes, 'the list of preferences') if wishes else ():
                self._preference(item)
            add(top.place, ')', ')')
        if 'metric' in fields:
            metric = fields['metric']
            direction, inner = self._only(
                metric, self._object(metric, 'a metric'), 'a metric', ('minimize', 'maximize')
            )
            add(metric.place, '(', ':metric', direction)
            self._expression(inner)
            add(metric.place, ')')
        add(top.place, ')')
        problem = self._words.problem(domain)
        own = {name: self._spelling[name] for name in self._spelling.keys() & problem.objects}
        return replace(problem, spelling={**own, **domain.spelling})

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

    def _fact(self, value: Placed) -> None:
        known = self._object(value, 'a fact')
        if 'at' in known:
            fields = self.members(value, 'a timed fact', ('at', 'formula'))
            self._words.add(value.place, '(', 'at')
            self._number(fields['at'], _SECONDS)
            self._formula(fields['formula'])
            self._words.add(value.place, ')')
            return
        if 'value' not in known:
            self._atom(value)
            return
        fields = self.members(value, 'a value', ('function', 'args', 'value'))
        self._words.add(value.place, '(', '=')
        self._function(fields)
        self._number(fields['value'])
        self._words.add(value.place, ')')

    def _function(self, fields: Mapping[str, Placed]) -> None:
        place = fields['function'].place
        self._words.add(place, '(', self.name(fields['function'], 'a function'))
        for term in self._items(fields['args'], 'the arguments'):
            self._term(term)
        self._words.add(place, ')')

    def _number(self, value: Placed, form: re.Pattern[str] = _NUMBER) -> None:
        number = value.value
        if isinstance(number, float):
            cure = 'write it as a text, such as "2.5", which is exact'
            raise self._error(value, f'{number} may have been rounded', cure)
        if isinstance(number, bool) or not isinstance(number, (int, str)):
            raise self._error(
                value, f'{_kind(value)} where a number must stand', 'write 5 or "2.5"'
            )
        text = str(number)
        if not form.fullmatch(text):
            raise self._error(value, f'{text[:40]!a} is not a number', 'write 5 or "2.5"')
        self._words.add(value.place, text)

    def _expression(self, value: Placed) -> None:
        if not isinstance(value.value, Mapping):
            self._number(value)
            return
        fields = self._object(value, 'an expression')
        if 'function' in fields:
            self._function(self.members(value, 'a function', ('function', 'args')))
            return
        head, inner = self._only(value, fields, 'an expression', _ARITHMETIC)
        self._list(head, inner, f'what {head!r} is about', self._expression)

    def _term(self, value: Placed) -> None:
        self._words.add(value.place, self.name(value, 'an object or a variable', variable=True))

    def _formula(self, value: Placed) -> None:
        fields = self._object(value, 'a formula')
        if 'pred' in fields or 'args' in fields:
            self._atom(value)
            return
        head, inner = self._only(value, fields, 'a formula', (*_CONNECTIVES, *_COMPARED))
        place = value.place
        if head in _COMPARED:
            self._list(head, inner, f'what {head!r} is about', self._expression)
            return
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

    def _preference(self, value: Placed) -> None:
        fields = self.members(value, 'a preference', ('constraints',), ('name',))
        self._words.add(value.place, '(', 'preference')
        if 'name' in fields and fields['name'].value != '':
            self._words.add(fields['name'].place, self.name(fields['name'], 'a preference'))
        self._list('and', fields['constraints'], 'the list of constraints', self._constraint)
        self._words.add(value.place, ')')

    def _constraint(self, value: Placed) -> None:
        fields = self._object(value, 'a constraint')
        key, inner = self._only(value, fields, 'a constraint', tuple(_OPERATORS))
        operator = _OPERATORS[key]
        count = TRAJECTORY_OPERATORS[operator][1]
        self._words.add(value.place, '(', *operator.split())
        if operator in TIME_KEYS:
            what = 'formula' if count == 1 else 'formulas'
            keys = time_keys(operator, self._timed)
            parts = self.members(inner, f'{key!r}', (*keys, what))
            for time in keys:
                if self._timed:
                    self._number(parts[time], _SECONDS)
                else:
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
        if name != text:
            self._spelling.setdefault(name, text)
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
        """The one field of an object, whose name gives its kind."""
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
