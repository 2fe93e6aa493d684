# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Writes problems as JSON; `json_format` reads them back."""

from __future__ import annotations

import json
from typing import Any

from safegen_ros.pddl.facts import exact, is_value, told_value
from safegen_ros.pddl.model import (
    ALL_OF,
    ANY_OF,
    And,
    Arithmetic,
    Atom,
    AtomFormula,
    Comparison,
    Constraint,
    Equals,
    Expression,
    Forall,
    Formula,
    Imply,
    Not,
    Number,
    Or,
    Problem,
    TimedLiteral,
)
from safegen_ros.pddl.writer import declared_constants, value_text

TIME_KEYS: dict[str, tuple[str, ...]] = {
    'within': ('steps',),
    'always-within': ('steps',),
    'hold-during': ('from', 'until'),
    'hold-after': ('from',),
}
"""What the times of an operator are called, in the order of PDDL, where they count steps."""


def time_keys(operator: str, timed: bool) -> tuple[str, ...]:
    """The same for a domain whose actions take time (`timed`) or not."""
    return tuple('seconds' if timed and key == 'steps' else key for key in TIME_KEYS[operator])


def to_json(problem: Problem) -> str:
    """A problem as JSON text, one fact to a line."""
    constants = declared_constants(problem.domain)
    sections: dict[str, Any] = {
        'problem': problem.name,
        'domain': problem.domain.name,
        'objects': {
            name: _type_value(kind, ALL_OF)
            for name, kind in problem.objects.items()
            if name not in constants
        },
        'init': [_fact_value(fact) for fact in sorted(problem.init)]
        + [_told_value(*told) for told in sorted(problem.values.items())]
        + [_timed_value(each) for each in problem.timed],
        'goal': _formula_value(problem.goal),
        'constraints': [_constraint_value(constraint) for constraint in problem.constraints],
    }
    if problem.preferences:
        sections['preferences'] = [
            {'name': each.name, 'constraints': [_constraint_value(c) for c in each.constraints]}
            for each in problem.preferences
        ]
    if problem.metric is not None:
        expression = _expression_value(problem.metric.expression)
        sections['metric'] = {problem.metric.direction: expression}
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


def _fact_value(fact: Atom) -> dict[str, Any]:
    return _told_value(*told_value(fact)) if is_value(fact) else _atom_value(*fact)


def _told_value(function: Atom, value: Number) -> dict[str, Any]:
    return {'function': function[0], 'args': list(function[1:]), 'value': _number_value(value)}


def _timed_value(literal: TimedLiteral) -> dict[str, Any]:
    atom = _atom_value(*literal.atom)
    at = _number_value(exact(literal.time))
    return {'at': at, 'formula': atom if literal.value else {'not': atom}}


def _number_value(value: Number) -> int | str:
    """A whole number as one; any other as text, for a number of JSON may be rounded."""
    return value.numerator if value.denominator == 1 else value_text(value)


def _expression_value(expression: Expression) -> Any:
    if isinstance(expression, AtomFormula):
        return {'function': expression.predicate, 'args': list(expression.terms)}
    if isinstance(expression, Arithmetic):
        return {expression.operator: [_expression_value(part) for part in expression.parts]}
    return _number_value(exact(expression))


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
        return {formula.operator: [_expression_value(e) for e in (formula.left, formula.right)]}
    variables = [
        {'name': name, 'type': _type_value(kind, ANY_OF)} for name, kind in formula.variables
    ]
    body = {'variables': variables, 'formula': _formula_value(formula.body)}
    return {'forall' if isinstance(formula, Forall) else 'exists': body}


def _constraint_value(constraint: Constraint) -> dict[str, Any]:
    operator = constraint.operator
    formulas = [_formula_value(argument) for argument in constraint.arguments]
    value: Any = formulas[0] if len(formulas) == 1 else formulas
    if constraint.times or constraint.exact:
        seconds = map(_number_value, map(exact, constraint.exact))
        keys = time_keys(operator, timed=not constraint.times)
        times = dict(zip(keys, constraint.times or seconds, strict=True))
        value = {**times, 'formula' if len(formulas) == 1 else 'formulas': value}
    return {operator.replace('-', '_').replace(' ', '_'): value}
