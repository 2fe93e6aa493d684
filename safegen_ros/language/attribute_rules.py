# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rules about attributes of objects, given in YAML, compiled to PDDL3 constraints on one problem.

Objects get weights, zones, capabilities; a rule says for which of them, by their attributes, a
constraint is meant (the first-order constraints of SafePilot, arXiv 2603.21523). What comes out are
constraints over the problem's own atoms, which the same monitors watch. `docs/constraints.md` has
the keys of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import product

from safegen_ros.errors import ErrorCode, PddlError
from safegen_ros.language.expressions import Expression, ExpressionError, Scalar, Value
from safegen_ros.language.lexicon import lexicon, vocabulary
from safegen_ros.language.noun_phrases import Noun, NounPhrases
from safegen_ros.language.placed import Placed, read_yaml
from safegen_ros.language.reading import (
    MAX_CONJUNCTS,
    Origin,
    Reading,
    different,
    read_formal,
    reading,
    single,
)
from safegen_ros.language.rules import read_rules
from safegen_ros.pddl.diagnostics import suggestion
from safegen_ros.pddl.model import ConstraintAnd, ConstraintTree, Problem
from safegen_ros.pddl.writer import constraint_tree_text, names_text

MAX_BINDINGS = 100_000
"""Most ways to give objects to the variables of one rule."""

_TOP = ('domain', 'attributes', 'rules')
_GROUPS = ('objects', 'names', 'types')
_RULE = ('name', 'for', 'where', 'rule', 'same')
_IDENTIFIER = re.compile(r'[a-z_][a-z0-9_]*\Z', re.ASCII)
_MOST_VARIABLES = 4


@dataclass(frozen=True, slots=True)
class AttributeRules:
    """What a file of rules about attributes comes to for a problem.

    Attributes:
        readings: one for each rule that applies to some objects.
        idle: the names of the rules that apply to none.
    """

    readings: tuple[Reading, ...]
    idle: tuple[str, ...]


def read_attribute_rules(text: str, problem: Problem, source: str = '<rules>') -> AttributeRules:
    """Reads rules about attributes.

    Raises:
        PddlError: invalid YAML, an unknown key, object or attribute, a value of a wrong type, an
            unreadable condition or rule, or too many constraints (`TASK_TOO_LARGE`), each with its
            place.
    """
    top = read_yaml(text, source)
    sections = top.mapping('a file of rules', _TOP)
    if 'domain' in sections:
        _check_domain(sections['domain'], problem)
    if 'rules' not in sections:
        raise top.error('there are no rules', "add 'rules:'", ErrorCode.EMPTY_TASK)
    things = NounPhrases(problem, lexicon(problem.domain))
    attributes = _Attributes(problem, things)
    if 'attributes' in sections:
        attributes.read(sections['attributes'])
    compiled: list[Reading] = []
    idle: list[str] = []
    seen: set[str] = set()
    for item in sections['rules'].items("'rules'"):
        rule = _rule(item, things)
        if rule.name in seen:
            raise item.error(f'a second rule {rule.name[:60]!a}', 'give it another name')
        seen.add(rule.name)
        found = _compiled(rule, attributes, things, problem)
        if found is None:
            idle.append(rule.name)
            continue
        compiled.append(found)
        count = sum(len(each.constraints) for each in compiled)
        if count > MAX_CONJUNCTS:
            raise item.error(*_too_many(count), ErrorCode.TASK_TOO_LARGE)
    return AttributeRules(tuple(compiled), tuple(idle))


def _too_many(count: int) -> tuple[str, str]:
    return (
        f'the rules come to {count:,} constraints, more than {MAX_CONJUNCTS:,}',
        "narrow them with 'where'",
    )


def _check_domain(named: Placed, problem: Problem) -> None:
    name = named.text("'domain'")
    if name not in (problem.domain.name, *vocabulary(problem.domain).names):
        raise named.error(
            f'the rules are for domain {name[:40]!a}, the problem is of {problem.domain.name!a}',
            'use rules for its domain',
            ErrorCode.UNKNOWN_DOMAIN,
        )


class _Attributes:
    """The attributes of a problem's objects."""

    def __init__(self, problem: Problem, things: NounPhrases) -> None:
        self._problem = problem
        self._things = things
        self._own: dict[str, dict[str, Value]] = {name: {} for name in problem.objects}
        self._kinds: dict[str, tuple[str, Placed]] = {}

    def read(self, section: Placed) -> None:
        """Takes over a section; entries for objects go before patterns, these before types.

        Raises:
            PddlError: see `read_attribute_rules`.
        """
        groups = section.mapping("'attributes'", _GROUPS)
        for group in _GROUPS:  # the most particular first: known values stay
            if group not in groups:
                continue
            said: dict[tuple[str, str], Value] = {}
            for key, values in groups[group].mapping(f'{group!r}').items():
                names = self._named(group, key, values)
                for attribute, placed in values.mapping(f'the attributes of {key[:40]!a}').items():
                    value = self._value(attribute, placed)
                    for name in names:
                        self._say(said, name, attribute, value, placed)
            for (name, attribute), value in said.items():
                self._own[name].setdefault(attribute, value)

    @staticmethod
    def _say(
        said: dict[tuple[str, str], Value], name: str, attribute: str, value: Value, placed: Placed
    ) -> None:
        if said.setdefault((name, attribute), value) != value:
            what = f'{attribute!a} of {name!a} has two values'
            raise placed.error(what, "say it once, or under 'objects' for this object")

    def _named(self, group: str, key: str, placed: Placed) -> tuple[str, ...]:
        objects = self._problem.objects
        if group == 'names':
            return tuple(name for name in objects if fnmatchcase(name, key.lower()))
        if group == 'objects':
            if key.lower() not in objects:
                close = suggestion(key, objects)
                cure = f"{close}objects are {names_text(objects)}; for several files use 'names'"
                raise placed.error(f'no object is called {key[:40]!a}', cure)
            return (key.lower(),)
        return self._things.members(_noun(key, self._things, placed))

    def _value(self, attribute: str, placed: Placed) -> Value:
        if not _IDENTIFIER.match(attribute):
            raise placed.error(
                f'{attribute[:40]!a} cannot name an attribute', 'use small letters, digits and _'
            )
        value = _plain(placed)
        kind = 'list' if isinstance(value, tuple) else type(value).__name__
        before, _ = self._kinds.setdefault(attribute, (kind, placed))
        if before != kind:
            raise placed.error(
                f'{attribute!a} is a {_TYPES[kind]} here and a {_TYPES[before]} elsewhere',
                'give it one type',
            )
        return value

    def of(self, name: str, attribute: str) -> Value:
        """The value of an object's attribute.

        Raises:
            ExpressionError: it has none.
        """
        if attribute in self._own[name]:
            return self._own[name][attribute]
        if attribute not in self._kinds:
            close = suggestion(attribute, self._kinds)
            known = names_text(sorted(self._kinds)) or 'none'
            raise ExpressionError(
                f'no object has the attribute {attribute[:40]!a}: {close}attributes are {known}'
            )
        raise ExpressionError(
            f"{name!a} has no {attribute!a}: give it one, or one to its type under 'types'"
        )


_TYPES = {'float': 'number', 'bool': 'truth value', 'str': 'text', 'list': 'list'}


def _plain(placed: Placed) -> Value:
    value = placed.value
    if isinstance(value, tuple):
        return tuple(_scalar(item) for item in value)
    return _scalar(placed)


def _scalar(placed: Placed) -> Scalar:
    value = placed.value
    if isinstance(value, (bool, float, str)):
        return value
    raise placed.error(
        'an attribute must be a number, a text, true, false or a list of such values', 'write one'
    )


def _noun(word: str, things: NounPhrases, placed: Placed) -> Noun:
    found = things.nouns.get(word.lower())
    if found is None:
        known = names_text(sorted(things.nouns))
        cure = f'{suggestion(word, things.nouns)}use one of {known}'
        raise placed.error(f'{word[:40]!a} is not a kind of object', cure)
    return found


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule that was read; with `same`, two variables may stand for one object."""

    name: str
    variables: Mapping[str, Noun]
    where: Placed | None
    body: Placed
    same: bool
    placed: Placed


def _rule(item: Placed, things: NounPhrases) -> _Rule:
    keys = item.mapping('a rule', _RULE)
    for needed in ('name', 'rule'):
        if needed not in keys:
            raise item.error(f'a rule without {needed!r}', f"add '{needed}: ...'")
    variables: dict[str, Noun] = {}
    listed = keys['for'].mapping("'for'") if 'for' in keys else {}
    for variable, kind in listed.items():
        if not _IDENTIFIER.match(variable) or variable in ('and', 'or', 'not', 'in'):
            raise kind.error(f'{variable[:40]!a} cannot name a variable', 'use small letters')
        variables[variable] = _noun(kind.text('the kind of a variable'), things, kind)
    if len(variables) > _MOST_VARIABLES:
        raise keys['for'].error(f'{len(variables)} variables', f'use at most {_MOST_VARIABLES}')
    same = keys['same'].value if 'same' in keys else False
    if not isinstance(same, bool):
        raise keys['same'].error("'same' must be true or false", 'write one of them')
    keys['rule'].text("'rule'")
    name = ' '.join(keys['name'].text("'name'").split())
    return _Rule(name, variables, keys.get('where'), keys['rule'], same, item)


def _bindings(
    rule: _Rule, attributes: _Attributes, things: NounPhrases
) -> Iterator[tuple[tuple[str, str], ...]]:
    """The objects for the variables for which a rule is meant."""
    ranges = {name: things.members(noun) for name, noun in rule.variables.items()}
    count = 1
    for members in ranges.values():
        count *= len(members)
    if count > MAX_BINDINGS:
        what = f'{count:,} ways to choose the objects of this rule, more than {MAX_BINDINGS:,}'
        raise rule.placed.error(what, 'use fewer variables', ErrorCode.TASK_TOO_LARGE)
    where = None
    try:
        if rule.where is not None:
            where = Expression(rule.where.text("'where'"), tuple(ranges))
        for chosen in product(*ranges.values()):
            if not rule.same and len(set(chosen)) < len(chosen):
                continue
            binding = dict(zip(ranges, chosen, strict=True))
            if where is None or where.holds(binding, attributes.of):
                yield tuple(binding.items())
    except ExpressionError as error:
        at = rule.where or rule.placed
        what, _, cure = error.message.rpartition(': ')
        raise at.error(what or cure, cure if what else 'change the condition') from error


def _compiled(
    rule: _Rule, attributes: _Attributes, things: NounPhrases, problem: Problem
) -> Reading | None:
    """What a rule comes to; None where it applies to no objects."""
    found: list[Reading] = []
    for binding in _bindings(rule, attributes, things):
        if len(found) >= MAX_CONJUNCTS:
            raise rule.placed.error(*_too_many(len(found) + 1), ErrorCode.TASK_TOO_LARGE)
        found.append(_instance(rule, binding, problem))
    if not found:
        return None
    kept = different([each.tree for each in found], problem)
    told = [each for each in found if any(each.tree is tree for tree in kept)]
    at = f'{rule.placed.source}:{rule.placed.line}:{rule.placed.column}'
    ground = {c: replace(c, place=at) for each in told for c in each.constraints}
    words = {c: s for each in told for c, s in zip(each.constraints, each.sentences, strict=True)}
    tree: ConstraintTree = single(ConstraintAnd(tuple(each.tree for each in told)))
    formula = constraint_tree_text(tree, typed=bool(problem.domain.types))
    return Reading(
        rule.name, tree, formula, tuple(ground.values()), tuple(words.values()),
        Origin.ATTRIBUTES, at,
    )  # fmt: skip


def _instance(rule: _Rule, binding: tuple[tuple[str, str], ...], problem: Problem) -> Reading:
    """A rule for certain objects."""
    body = rule.body.text("'rule'")
    formal = body.lstrip().startswith('(')
    for variable, name in binding:
        if formal:
            body = re.sub(rf'\?{variable}(?![\w\-])', name, body)
        else:
            body = body.replace(f'{{{variable}}}', f'"{name}"')
    source = rule.body.source
    try:
        if formal:
            tree = single(read_formal(body, problem, source))
        else:
            tree = single(ConstraintAnd(tuple(r.tree for r in read_rules(body, problem, source))))
        place = rule.placed.line, rule.placed.column
        shown = tuple((f'?{variable}', name) for variable, name in binding)
        return reading(tree, problem, rule.name, Origin.ATTRIBUTES, source, place, shown)
    except PddlError as error:
        objects = ', '.join(f'{variable} = {name}' for variable, name in binding)
        what = f'for {objects}: {error.what}' if objects else error.what
        raise rule.body.error(what, error.cure, error.code) from error
