# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Formulas, constraints and whole problems back to PDDL text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from itertools import islice

from safegen_ros.pddl.model import (
    ALL_OF,
    ANY_OF,
    DURATION,
    Action,
    And,
    Arithmetic,
    Atom,
    AtomFormula,
    Comparison,
    Constraint,
    ConstraintAnd,
    ConstraintForall,
    ConstraintTree,
    Domain,
    DurativeAction,
    Effect,
    Equals,
    Expression,
    Forall,
    Formula,
    Imply,
    Metric,
    Moment,
    Not,
    Number,
    NumericEffect,
    Or,
    Problem,
    SoftRule,
    TimedLiteral,
    Variables,
    conjuncts,
)


def names_text(names: Collection[str], limit: int = 20) -> str:
    """Names for a message, cut off after the first few."""
    few = [name[:40] for name in islice(names, limit)]
    more = len(names) - len(few)
    return ' '.join(few) + (f' and {more} more' if more else '')


def atom_text(atom: Atom) -> str:
    """A ground atom, `(on b1 b2)`."""
    return f'({" ".join(atom)})'


def timed_text(literal: TimedLiteral) -> str:
    """A timed literal, `(at 9 (not (open shop)))`."""
    text = atom_text(literal.atom)
    return f'(at {literal.time:f} {text if literal.value else f"(not {text})"})'


def formula_text(formula: Formula, typed: bool = False) -> str:
    """A formula in PDDL.

    Args:
        formula: what to write.
        typed: whether to write the type `object` too, as a domain with types needs it for VAL.
    """
    if isinstance(formula, AtomFormula):
        return atom_text((formula.predicate, *formula.terms))
    if isinstance(formula, Equals):
        return f'(= {formula.left} {formula.right})'
    if isinstance(formula, Comparison):
        left, right = expression_text(formula.left), expression_text(formula.right)
        return f'({formula.operator} {left} {right})'
    if isinstance(formula, Not):
        return f'(not {formula_text(formula.body, typed)})'
    if isinstance(formula, (And, Or)):
        head = 'and' if isinstance(formula, And) else 'or'
        parts = [formula_text(part, typed) for part in formula.parts]
        return f'({" ".join([head, *parts])})'
    if isinstance(formula, Imply):
        sides = (formula.premise, formula.conclusion)
        return f'(imply {" ".join(formula_text(side, typed) for side in sides)})'
    head = 'forall' if isinstance(formula, Forall) else 'exists'
    body = formula_text(formula.body, typed)
    return f'({head} ({variables_text(formula.variables, typed)}) {body})'


def constraint_text(constraint: Constraint, typed: bool = False) -> str:
    """A trajectory constraint in PDDL3; `typed` as in `formula_text`."""
    times = [f'{each:f}' for each in constraint.exact] or map(str, constraint.times)
    arguments = (formula_text(argument, typed) for argument in constraint.arguments)
    return f'({" ".join((constraint.operator, *times, *arguments))})'


def constraint_tree_text(tree: ConstraintTree, typed: bool = False) -> str:
    """Trajectory constraints with their `and` and `forall`; `typed` as in `formula_text`."""
    if isinstance(tree, ConstraintAnd):
        return f'({" ".join(("and", *(constraint_tree_text(t, typed) for t in tree.parts)))})'
    if isinstance(tree, ConstraintForall):
        variables = variables_text(tree.variables, typed)
        return f'(forall ({variables}) {constraint_tree_text(tree.body, typed)})'
    return constraint_text(tree, typed)


def expression_text(expression: Expression) -> str:
    """A numeric expression as PDDL."""
    if isinstance(expression, Arithmetic):
        return f'({" ".join((expression.operator, *map(expression_text, expression.parts)))})'
    if expression == DURATION:
        return DURATION.predicate
    return f'{expression:f}' if isinstance(expression, Decimal) else formula_text(expression)


def value_text(value: Number) -> str:
    """A number as a decimal; as `1/3` where none is exact."""
    denominator = value.denominator
    twos = (denominator & -denominator).bit_length() - 1
    rest, fives = denominator >> twos, 0
    while rest % 5 == 0:
        rest //= 5
        fives += 1
    if rest != 1:
        return f'{value.numerator}/{denominator}'
    digits = max(twos, fives)
    if not digits:
        return str(value.numerator)
    scaled = str(abs(value.numerator) * 10**digits // denominator).rjust(digits + 1, '0')
    return f'{"-" if value < 0 else ""}{scaled[:-digits]}.{scaled[-digits:]}'


def domain_text(domain: Domain, constraints: bool = False) -> str:
    """A domain in PDDL that reads back as an equal domain.

    Args:
        domain: what to write.
        constraints: whether to write the constraints too. `problem_text` writes them with the
            problem's, so a domain that goes with such a text needs none.
    """
    typed = bool(domain.types)
    sections = [f'(define (domain {domain.name})']
    if typed:
        pairs = [f' {name} - {_type_text(kind)}' for name, kind in domain.types.items() if kind]
        alone = [f' {name}' for name, parent in domain.types.items() if not parent]
        sections.append(f'  (:types{"".join(pairs + alone)})')
    if domain.constants:
        constants = ''.join(f' {c} - {_type_text(kind)}' for c, kind in domain.constants.items())
        sections.append(f'  (:constants{constants})')
    predicates = [_predicate_text(*item, typed) for item in domain.predicates.items()]
    sections += ['  (:predicates', *_indented(predicates), '  )']
    if domain.functions:
        functions = [_predicate_text(*item, typed) for item in domain.functions.items()]
        sections += ['  (:functions', *_indented(functions), '  )']
    for rule in domain.derived:
        head = ' '.join(filter(None, (rule.predicate, variables_text(rule.variables, typed))))
        sections.append(f'  (:derived ({head}) {formula_text(rule.body, typed)})')
    for action in domain.actions.values():
        durative = domain.durative.get(action.name)
        if durative is not None:
            sections += _durative_lines(durative, typed)
            continue
        effects = [_effect_text(effect, typed) for effect in action.effects]
        effects += [_effect_text(effect, typed) for effect in action.numeric]
        sections += [
            f'  (:action {action.name}',
            f'    :parameters ({variables_text(action.parameters, typed)})',
            f'    :precondition {_precondition_text(action, typed)}',
            f'    :effect (and {" ".join(effects)}))',
        ]
    trees = [] if domain.constraint_tree is None else [domain.constraint_tree]
    if constraints and (trees or domain.wishes):
        parts = [constraint_tree_text(tree, typed) for tree in trees]
        parts += [
            _soft_text(rule, constraint_tree_text(rule.body, typed), typed)
            for rule in domain.wishes
        ]
        text = parts[0] if len(parts) == 1 else f'(and {" ".join(parts)})'
        sections.append(f'  (:constraints {text})')
    return '\n'.join([*sections, ')', ''])


def declared_constants(domain: Domain) -> set[str]:
    """The constants that a problem of a domain need not declare."""
    undeclared = {each.name for each in domain.remarks if each.rule == 'undeclared-object'}
    return set(domain.constants) - undeclared


def problem_text(problem: Problem) -> str:
    """A problem in PDDL3 that reads back as an equal problem.

    Constraints and preferences of the domain stay in the domain: they are written again here,
    which changes nothing, since one that domain and problem ask for is asked for once.
    """
    constants, typed = declared_constants(problem.domain), bool(problem.domain.types)
    objects = ' '.join(
        f'{name} - {_type_text(kind)}' if typed else name
        for name, kind in problem.objects.items()
        if name not in constants
    )
    lines = [
        f'(define (problem {problem.name})',
        f'  (:domain {problem.domain.name})',
        f'  (:objects {objects})',
        '  (:init',
        *_indented(atom_text(atom) for atom in sorted(problem.init)),
        *_indented(
            f'(= {atom_text(function)} {value_text(value)})'
            for function, value in sorted(problem.values.items())
        ),
        *_indented(map(timed_text, problem.timed)),
        '  )',
        f'  (:goal {formula_text(problem.goal, typed)})',
    ]
    if problem.constraints or problem.preferences:
        soft = (
            (each.name, constraint_tree_text(ConstraintAnd(each.constraints), typed))
            for each in problem.preferences
        )
        lines += [
            '  (:constraints (and',
            *_indented(constraint_text(c, typed) for c in problem.constraints),
            *_indented(f'(preference {" ".join(filter(None, each))})' for each in soft),
            '  ))',
        ]
    if problem.metric is not None:
        lines.append(f'  (:metric {metric_text(problem.metric)})')
    return '\n'.join([*lines, ')', ''])


def _precondition_text(action: Action, typed: bool) -> str:
    if not action.wishes:
        return formula_text(action.precondition, typed)
    asked = action.precondition
    texts = [formula_text(f, typed) for f in (asked.parts if isinstance(asked, And) else (asked,))]
    for rule in action.wishes:
        body = ' '.join(formula_text(f, typed) for f in rule.formulas())
        texts.append(_soft_text(rule, body, typed))
    return f'(and {" ".join(texts)})'


def _soft_text(rule: SoftRule, body: str, typed: bool = False) -> str:
    text = f'(preference {" ".join(filter(None, (rule.name, body)))})'
    if rule.variables:
        text = f'(forall ({variables_text(rule.variables, typed)}) {text})'
    return text


def metric_text(metric: Metric) -> str:
    """A metric without its keyword, `minimize (total-cost)`."""
    return f'{metric.direction} {expression_text(metric.expression)}'


def _predicate_text(name: str, kinds: tuple[str, ...], typed: bool) -> str:
    variables = tuple((f'?x{index}', kind) for index, kind in enumerate(kinds))
    return f'({" ".join(filter(None, (name, variables_text(variables, typed))))})'


def _effect_text(
    effect: Effect | NumericEffect,
    typed: bool,
    moment: Moment | None = None,
    earlier: Mapping[str, str] | None = None,
) -> str:
    """An effect in PDDL; in a durative action the moment stands inside, as VAL wants it.

    Args:
        earlier: the conditions at start and over all that atoms in its condition stand for, by
            their predicates, as PDDL.
    """
    if isinstance(effect, NumericEffect):
        target = formula_text(effect.target)
        text = f'({effect.operator} {target} {expression_text(effect.value)})'
        if moment is None and effect.variables:  # VAL reads no change alone in a forall
            text = f'(and {text})'
    else:
        literals = [formula_text(atom) for atom in effect.add]
        literals += [f'(not {formula_text(atom)})' for atom in effect.delete]
        text = literals[0] if len(literals) == 1 else f'(and {" ".join(literals)})'
    if moment is not None:
        text = f'({moment.value} {text})'
    if any(True for _ in conjuncts(effect.condition)):
        condition = formula_text(effect.condition, typed)
        if moment is not None:
            condition = _asked_text(effect.condition, moment, earlier or {}, typed)
        text = f'(when {condition} {text})'
    if effect.variables:
        text = f'(forall ({variables_text(effect.variables, typed)}) {text})'
    return text


def _asked_text(condition: Formula, moment: Moment, earlier: Mapping[str, str], typed: bool) -> str:
    """The condition of an effect with its moments."""
    parts = [(each, _earlier(each, earlier)) for each in conjuncts(condition)]
    texts = [text for _, text in parts if text is not None]
    if not texts:
        return f'({moment.value} {formula_text(condition, typed)})'
    own = [each for each, text in parts if text is None]
    texts += [f'({moment.value} {formula_text(part, typed)})' for part in own]
    return texts[0] if len(texts) == 1 else f'(and {" ".join(texts)})'


def _earlier(formula: Formula, earlier: Mapping[str, str]) -> str | None:
    """The condition at start or over all that an atom stands for; None for any other formula."""
    return earlier.get(formula.predicate) if isinstance(formula, AtomFormula) else None


def _durative_lines(action: DurativeAction, typed: bool) -> list[str]:
    bounds = [f'({op} ?duration {expression_text(value)})' for op, value in action.duration]
    conditions = [f'({m.value} {formula_text(f, typed)})' for m, f in action.conditions]
    earlier = {
        each.add[0].predicate: f'({moment.value} {formula_text(each.condition, typed)})'
        for moment, each in action.remembered
    }
    effects = [_effect_text(effect, typed, moment, earlier) for moment, effect in action.effects]
    return [
        f'  (:durative-action {action.name}',
        f'    :parameters ({variables_text(action.parameters, typed)})',
        f'    :duration {bounds[0] if len(bounds) == 1 else " ".join(["(and", *bounds]) + ")"}',
        f'    :condition (and {" ".join(conditions)})',
        f'    :effect (and {" ".join(effects)}))',
    ]


def _indented(lines: Iterable[str]) -> list[str]:
    return [f'    {line}' for line in lines]


def variables_text(variables: Variables, typed: bool = False) -> str:
    """The variables of a quantifier or an action; types that say nothing are left out."""
    if not typed and all(kind == 'object' for _, kind in variables):
        return ' '.join(name for name, _ in variables)
    return ' '.join(f'{name} - {_type_text(kind)}' for name, kind in variables)


def _type_text(kind: str) -> str:
    """A type; what the model joins with `|` or `&` is `(either ...)` in PDDL."""
    parts = kind.replace(ALL_OF, ANY_OF).split(ANY_OF)
    return kind if len(parts) == 1 else f'(either {" ".join(parts)})'
