# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Our validator against VAL, which differs in ways that have names, over the whole language."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from safegen_ros.pddl.ground import GroundAction
from safegen_ros.pddl.model import (
    Action,
    And,
    AtomFormula,
    Constraint,
    Formula,
    Preference,
    Problem,
    SoftRule,
    with_subformulas,
)
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.writer import domain_text, problem_text
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify import val, val_question
from safegen_ros.verify.cost import rank
from safegen_ros.verify.second_opinion import agree
from safegen_ros.verify.temporal import TemporalProof
from safegen_ros.verify.timed_actions import TimedActions, Touched
from safegen_ros.verify.val_faults import unanswerable
from support import strategies, temporal

DRAWN: dict[str, Callable[[random.Random], Problem]] = {
    'steps': strategies.any_problem,
    'numbers': lambda rng: strategies.toggles(rng, numbers=True),
    'time': temporal.problem,
    'time and numbers': lambda rng: temporal.problem(rng, numbers=True),
    'wishes': strategies.wishing,
    'wishes over time': temporal.wishing,
}
"""Random problems, by the part of the language that they go through."""


def draw_plan(rng: random.Random, problem: Problem) -> Plan:
    """A random plan, over time where the problem has durative actions."""
    return (temporal if problem.domain.durative else strategies).plan(rng, problem)


def difference(problem: Problem, plan: Plan, ours: Verdict) -> str:
    """What VAL and we disagree about; empty where both say the same or the difference is known."""
    said = (_over_time if problem.domain.durative else _over_steps)(problem, plan, ours)
    if not said and problem.preferences and ours.ok and not unanswerable(problem, plan):
        said = _counted_otherwise(problem, plan, ours)
    task = f'{val.domain_text(problem.domain)}{val.problem_text(problem)}{plan}'
    return said and f'ours: {ours.category.name} {ours.reason}; VAL: {said}\n{task}'


def _over_steps(problem: Problem, plan: Plan, ours: Verdict) -> str:
    opinion = val.ask(problem, plan)
    numbers = bool(problem.domain.functions)
    if opinion.fault and numbers:
        return ''
    # the class that the paper would have put down, without running VAL
    literal = val_literal_class(opinion.output) is ours.paper_category()
    if agree(ours, opinion.verdict) and (numbers or literal):
        return ''
    return f'{opinion.verdict.category.name} {opinion.verdict.reason} {opinion.output}'


def _as_val(problem: Problem) -> TemporalProof:
    """As VAL, which lets be changed at the same moment what an effect that does not happen asks
    for, and a number that one of both reads and changes.
    """
    proof = TemporalProof(problem)
    actions = proof.actions

    whole = actions.schema

    def schema(action: GroundAction) -> Action:
        found = whole(action)
        return replace(
            found,
            effects=tuple(each for each in found.effects if each.condition == And(())),
            numeric=tuple(each for each in found.numeric if each.condition == And(())),
        )

    touch = actions._touch

    def touched(action: GroundAction) -> Touched:
        actions.schema = whole  # type: ignore[method-assign]
        read = touch(action).read
        actions.schema = schema  # type: ignore[method-assign]
        found = touch(action)
        own = read & (found.added | found.assigned)
        return Touched(found.read - own, found.added - own, found.assigned - own)

    actions.schema = schema  # type: ignore[method-assign]
    actions._touch = touched  # type: ignore[method-assign]
    return proof


def _over_time(problem: Problem, plan: Plan, ours: Verdict) -> str:
    if unanswerable(problem, plan) or 'before the same step has ended' in ours.reason:
        return ''
    opinion = val.ask(problem, plan)
    theirs = opinion.verdict.category
    if ours.category is theirs:
        return ''
    if theirs is Category.UNKNOWN:  # VAL stopped, and did not say why, or refuses a text
        refused = ('fail type-checking', 'Attempt to access undefined')
        if (
            problem.domain.derived
            and 'lasts until' in ours.reason
            and ('signal' in opinion.verdict.reason)
        ):
            return ''  # a derived atom is missing over all
        stopped = opinion.output.rstrip().endswith('Failed plans:\n plan')
        stopped = stopped and (not ours.ok or _changes_its_condition(problem, plan))
        return (
            ''
            if stopped or any(map(opinion.output.__contains__, refused))
            else f'UNKNOWN {opinion.output}'
        )
    if 'interfere' in ours.reason:
        ours = _as_val(problem).verify(plan)
        if ours.category is theirs:
            return ''
    # VAL sees a deadline that has passed only after the next happening
    late = ours.category is Category.SAFETY_VIOLATION and 'within' in ours.broken[0].text
    if late and theirs in (Category.GOAL_NOT_SATISFIED, Category.PRECONDITION_VIOLATION):
        return ''
    return f'{theirs.name} {opinion.output}'


def _changes_its_condition(problem: Problem, plan: Plan) -> bool:
    """Whether an action changes its own condition beside another happening, where VAL stops."""
    actions = TimedActions(problem)
    for _, together in actions.moments(actions.timed(plan)):
        for each in together if len(together) > 1 else ():
            effects = ((each.add, each.delete), *(more for _, *more in each.conditional))
            if any(actions.reads(each) & (more | less) for more, less in effects):
                return True
    return False


def _counted_otherwise(problem: Problem, plan: Plan, ours: Verdict) -> str:
    theirs = _counted_by_val(problem, plan)
    if theirs is None and problem.domain.durative:  # a plan that it refuses, see above
        return ''
    counts = Counter({each.name: each.count for each in ours.wishes})
    ranking = rank(problem, plan)
    same = ranking is not None and (counts, ranking.value) == theirs
    return '' if same else f'{theirs}; ours: {counts} {ranking}'


def _question(problem: Problem, plan: Plan) -> tuple[Problem, Plan]:
    """What VAL is asked, preferences and metric included."""
    asked, steps = val_question.question(problem, plan)
    objects = problem.objects_by_type()
    derived = problem.domain.derived_predicates()

    def written(formula: Formula) -> Formula:
        return apart(val_question._formula(formula))

    def apart(formula: Formula) -> Formula:
        """As in constraints, of copies of derived predicates."""
        if isinstance(formula, AtomFormula):
            name = formula.predicate
            return replace(formula, predicate=f'c{name[1:]}' if name[2:] in derived else name)
        return with_subformulas(formula, apart)

    def counted(own: Constraint) -> list[Constraint]:
        return [own] if problem.domain.durative else val_question._without_clock(own, len(plan))

    preferences = tuple(
        Preference(
            each.name,
            tuple(
                replace(c, arguments=tuple(map(written, c.arguments)))
                for own in each.constraints
                for c in counted(own)
            ),
        )
        for each in problem.preferences
    )
    actions = {
        f'a-{name}': replace(
            asked.domain.actions[f'a-{name}'],
            wishes=tuple(
                SoftRule(
                    rule.name,
                    val_question._variables(rule.variables),
                    Constraint('at end', tuple(map(val_question._formula, rule.formulas()))),
                )
                for rule in action.wishes
                if all(objects[kind] for _, kind in rule.variables)  # VAL crashes over none
            ),
        )
        for name, action in problem.domain.actions.items()
    }
    domain = replace(asked.domain, actions=actions)
    return replace(asked, domain=domain, preferences=preferences, metric=problem.metric), steps


def _counted_by_val(problem: Problem, plan: Plan) -> tuple[Counter[str], Decimal] | None:
    """How often VAL finds each preference broken, and its value of the metric."""
    asked, steps = _question(problem, plan)
    files = {
        val.DOMAIN: domain_text(asked.domain), val.PROBLEM: problem_text(asked),
        val.PLAN: f'{steps}\n',
    }  # fmt: skip
    clock = val._FINE_CLOCK if problem.domain.durative else ()
    output, trouble = val._run(val.validate_binary(), files, clock)
    assert not trouble, (trouble, files)
    value = re.search(r'^Final value: (\S+)', output, re.MULTILINE)
    if value is None:
        return None
    counts = re.findall(r'^\t(w\d): (\d+)$', output, re.MULTILINE)
    return Counter({name: int(count) for name, count in counts}), Decimal(value[1])


def val_literal_class(output: str) -> Category:
    """The class that the patterns of SafeGen-LLM appendix E find in VAL's output.

    They are tried in the order of the paper, the first unchanged and the others in any case.
    """
    if 'Plan valid' in output:
        return Category.SUCCESS
    text = output.lower()
    bad = ('bad operator in plan', 'no matching action defined', 'type problem with proposition')
    if any(pattern in text for pattern in bad):
        return Category.FORMAT_ERROR
    if 'goal not satisfied' in text:
        return Category.GOAL_NOT_SATISFIED
    if 'plan failed to execute' not in text:
        return Category.UNKNOWN
    if 'unsatisfied precondition' in text:
        return Category.PRECONDITION_VIOLATION
    return Category.SAFETY_VIOLATION
