# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Between a PDDL problem with any object names and the canonical words of the small model.

Renaming or reordering a problem does not change its canonical text. What the words cannot say is
refused by name: leaving a goal or a constraint out would make an unsafe plan look right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from safegen_ros.errors import ErrorCode, PlanFormatError, SafegenError
from safegen_ros.llm.sketch import (
    FALSE,
    OPERATORS,
    PREDICATES,
    TRUE,
    Constraint,
    Formula,
    Sketch,
    conjunction,
    disjunction,
    negation,
    split_constraint,
)
from safegen_ros.llm.vocabulary import (
    ACTIONS,
    ATTEMPT,
    BLOCK_WORDS,
    MAX_BLOCKS,
    VERDICT,
    VERDICT_WORD,
    TaskText,
    task_text,
)
from safegen_ros.pddl import model
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.pddl.writer import formula_text
from safegen_ros.verdict import Verdict


@dataclass(frozen=True)
class CanonicalTask:
    """A problem in canonical words.

    Attributes:
        text: the words and the order of the blocks.
        names: the problem's names in canonical order; `names[0]` is called `b1`.
    """

    text: TaskText
    names: tuple[str, ...]

    @property
    def prompt(self) -> str:
        """The words up to the end of the constraints."""
        return ' '.join(self.text.words)

    def attempt(self, plan_text: str, verdict: Verdict) -> str:
        """The section that tells the model about a failed attempt.

        The attempt ends with its failing step. An attempt that is no plan is shown as it came, as
        far as it is made of words that the model knows.
        """
        plan = self._plan_words(plan_text)
        words = attempt_words(plan, VERDICT_WORD[verdict.category], verdict.failing_step)
        return ' '.join(words)

    def _plan_words(self, plan_text: str) -> list[str]:
        slots = dict(zip(self.names, BLOCK_WORDS, strict=False))
        try:
            steps = parse_plan(plan_text).steps
        except PlanFormatError:
            known = {*ACTIONS, *BLOCK_WORDS}
            return [word for word in plan_text.split() if word in known]
        words: list[str] = []
        for step in steps:
            # An object that the problem lacks has no slot; the step is shown without it.
            arguments = [slots[name] for name in step.arguments if name in slots]
            words += [step.action, *arguments] if step.action in ACTIONS else arguments
        return words


def attempt_words(plan: Sequence[str], verdict: str, failing_step: int) -> list[str]:
    """The words of a failed attempt and its verdict.

    Args:
        plan: canonical words of the attempt.
        verdict: one of the words of `VERDICT_WORD`.
        failing_step: from 0, or -1 when no single step fails; what comes after it is left out, so
            that the last step is the one to change.
    """
    starts = [i for i, word in enumerate(plan) if word in ACTIONS]
    if 0 <= failing_step < len(starts) - 1:
        plan = plan[: starts[failing_step + 1]]
    return [ATTEMPT, *plan, VERDICT, verdict]


def canonical_task(problem: model.Problem) -> CanonicalTask:
    """A problem in canonical words.

    Raises:
        SafegenError: more blocks than there are names (`TASK_TOO_LARGE`), or something that the
            words cannot say (`UNSUPPORTED_FEATURE`).
    """
    sketch, names = sketch_of(problem)
    text = task_text(sketch)
    return CanonicalTask(text, tuple(names[block] for block in text.order))


def render_plan(words: str, names: Sequence[str]) -> str:
    """The plan of a model in PDDL, one step per line, with the names of the problem.

    Args:
        words: what the model wrote, e.g. `unstack b5 b4 stack b5 b3`.
        names: the problem's names in canonical order.

    Returns:
        The steps; when anything in the text is not a step over these names, the text as it came,
        which the strict grammar of plans then refuses.
    """
    slots = dict(zip(BLOCK_WORDS, names, strict=False))
    tokens, place, lines = words.split(), 0, []
    while place < len(tokens):
        arity = ACTIONS.get(tokens[place])
        arguments = tokens[place + 1 : place + 1 + (arity or 0)]
        if arity is None or len(arguments) < arity or not slots.keys() >= set(arguments):
            return words
        lines.append(f'({" ".join([tokens[place], *(slots[word] for word in arguments)])})')
        place += 1 + arity
    return '\n'.join(lines)


def sketch_of(problem: model.Problem) -> tuple[Sketch, tuple[str, ...]]:
    """The problem over block numbers, and the name of each number; raises as `canonical_task`."""
    _check_domain(problem.domain)
    names = tuple(problem.objects)
    if not names:
        raise _unsupported(problem, 'has no blocks')
    if len(names) > MAX_BLOCKS:
        raise SafegenError(
            f'problem {problem.name} has {len(names)} blocks, this model has names for '
            f'{MAX_BLOCKS}: use fewer blocks or another model',
            ErrorCode.TASK_TOO_LARGE,
        )
    numbers = {name: number for number, name in enumerate(names)}
    towers, held = _towers(problem, numbers)
    translate = _Translator(problem, numbers)
    goal = conjunction(translate(part, {}) for part in problem.goal_conjuncts())
    conjuncts = goal[1:] if goal[0] == 'and' else () if goal == TRUE else (goal,)
    constraints: dict[Constraint, None] = {}
    for constraint in problem.constraints:
        if constraint.operator not in OPERATORS:
            raise _unsupported(problem, f'has a constraint {constraint.operator!r}')
        ground = tuple(translate(argument, {}) for argument in constraint.arguments)
        for part in split_constraint((constraint.operator, *ground)):
            constraints[part] = None
    return Sketch(towers, held, tuple(conjuncts), tuple(constraints)), names


def _check_domain(domain: model.Domain) -> None:
    actions = {name: len(action.parameters) for name, action in domain.actions.items()}
    if actions != ACTIONS:
        raise SafegenError(
            f'domain {domain.name} has the actions {" ".join(sorted(actions))}; this model plans '
            f'with {" ".join(sorted(ACTIONS))} only: use a model that was trained for the domain',
            ErrorCode.UNSUPPORTED_FEATURE,
        )


def _unsupported(problem: model.Problem, what: str) -> SafegenError:
    return SafegenError(
        f'problem {problem.name} {what}; this model cannot be told about that: change the '
        'problem or use another model',
        ErrorCode.UNSUPPORTED_FEATURE,
    )


def _towers(
    problem: model.Problem, numbers: Mapping[str, int]
) -> tuple[tuple[tuple[int, ...], ...], int | None]:
    """The towers of the initial state, checked to be exactly the state they describe."""
    above: dict[str, str] = {}
    held: list[str] = []
    bases: list[str] = []
    for predicate, *objects in sorted(problem.init):
        if predicate == 'on':
            above[objects[1]] = objects[0]
        elif predicate == 'on-table':
            bases.append(objects[0])
        elif predicate == 'holding':
            held.append(objects[0])
    towers = []
    facts: set[tuple[str, ...]] = {('holding', name) for name in held} or {('arm-empty',)}
    for base in bases:
        tower, seen = [base], {base}
        facts.add(('on-table', base))
        while (top := above.get(tower[-1])) is not None and top not in seen:
            facts.add(('on', top, tower[-1]))
            tower.append(top)
            seen.add(top)
        facts.add(('clear', tower[-1]))
        towers.append(tuple(numbers[name] for name in tower))
    placed = sorted([block for tower in towers for block in tower] + [numbers[h] for h in held])
    if facts != problem.init or len(held) > 1 or placed != list(range(len(numbers))):
        wrong = sorted(facts ^ problem.init) or [('holding', name) for name in held]
        shown = ' '.join(f'({" ".join(atom)})' for atom in wrong[:4])
        raise _unsupported(
            problem, f'starts in a state that is no set of towers (look at {shown or "the blocks"})'
        )
    return tuple(towers), numbers[held[0]] if held else None


class _Translator:
    """Formulas of the model to formulas of `sketch`, quantifiers written out."""

    def __init__(self, problem: model.Problem, numbers: Mapping[str, int]) -> None:
        self.problem = problem
        self.numbers = numbers
        self.objects = problem.objects_by_type()

    def __call__(self, formula: model.Formula, bound: Mapping[str, str]) -> Formula:
        if isinstance(formula, model.AtomFormula):
            return self._atom(formula, bound)
        if isinstance(formula, model.Equals):
            same = bound.get(formula.left, formula.left) == bound.get(formula.right, formula.right)
            return TRUE if same else FALSE
        if isinstance(formula, model.Not):
            return negation(self(formula.body, bound))
        if isinstance(formula, model.And):
            return conjunction(self(part, bound) for part in formula.parts)
        if isinstance(formula, model.Or):
            return disjunction(self(part, bound) for part in formula.parts)
        if isinstance(formula, model.Imply):
            premise = negation(self(formula.premise, bound))
            return disjunction((premise, self(formula.conclusion, bound)))
        return self._quantified(formula, bound)

    def _quantified(
        self, formula: model.Forall | model.Exists, bound: Mapping[str, str]
    ) -> Formula:
        names = [name for name, _ in formula.variables]
        ranges = [self.objects[kind] for _, kind in formula.variables]
        parts = (
            self(formula.body, {**bound, **dict(zip(names, values, strict=True))})
            for values in product(*ranges)
        )
        universal = isinstance(formula, model.Forall)
        return conjunction(parts) if universal else disjunction(parts)

    def _atom(self, formula: model.AtomFormula, bound: Mapping[str, str]) -> Formula:
        name = formula.predicate
        if PREDICATES.get(name) != len(formula.terms):
            raise _unsupported(self.problem, f'uses {formula_text(formula)}')
        blocks = tuple(self.numbers[bound.get(term, term)] for term in formula.terms)
        if name == 'on' and blocks[0] == blocks[1]:
            return FALSE
        return (name, *blocks)
