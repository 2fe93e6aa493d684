# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Problems of the paper's sizes with mixed plans from a seed; a very long plan; memory of many."""

from __future__ import annotations

import gc
import statistics
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from random import Random

from safegen_ros.benchmarks.measurement import Measurement, Notify, resident_bytes, timed
from safegen_ros.errors import SafegenError
from safegen_ros.pddl.flatten import flatten
from safegen_ros.pddl.model import (
    Action,
    And,
    AtomFormula,
    Comparison,
    Constraint,
    DurativeAction,
    Moment,
    NumericEffect,
    Problem,
    conjuncts,
)
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import domain_text, problem_text
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.domains import builtin_domain_text, kits
from safegen_ros.tasks.pddl3.domains.kit import GeneratedProblem
from safegen_ros.tasks.pddl3.mistakes import Mistakes
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.verify.admissible import Shield
from safegen_ros.verify.validator import Validator

_DETOUR = 3  # steps at random, at most, before the rest of the plan is searched for
_SEARCH_S = 5.0
_BATTERY = 16
_DRAWS = 30  # per wanted plan, before a problem is taken to have no more


@dataclass(frozen=True, slots=True)
class Case:
    """A problem with plans to judge.

    Attributes:
        plans: texts of plans, all different; some valid, some not.
    """

    domain: str
    domain_text: str
    problem_text: str
    problem: Problem
    plans: tuple[str, ...]


def draw_cases(problems: int, plans: int, seed: int, notify: Notify) -> list[Case]:
    """Cases of all built-in domains.

    Args:
        plans: how many of each problem, at most.
        seed: the same arguments give the same cases, as long as no search meets its time limit.
    """
    found: list[Case] = []
    total = problems * len(kits())
    for kit in kits().values():
        for number in range(problems):
            generated = kit.problem(seed * 100_003 + number)
            rng = Random(f'{kit.name} {seed} {number}')  # noqa: S311
            texts = draw_plans(rng, generated, plans)
            domain = builtin_domain_text(kit.names[0])
            found.append(Case(kit.name, domain, generated.text, generated.problem, texts))
            notify('drawing plans', len(found), total)
    return found


def over_time(case: Case) -> Case:
    """The same with actions that take some seconds, and plans whose steps follow each other."""
    problem = case.problem
    schemas = problem.domain.actions.values()
    durative = {each.name: _lasting(each, 1 + n % 3) for n, each in enumerate(schemas)}
    flat = {name: flatten(action) for name, action in durative.items()}
    domain = replace(problem.domain, durative=durative, actions=flat)
    untimed = tuple(each for each in problem.constraints if not each.times)
    problem = replace(problem, domain=domain, constraints=untimed)
    plans = tuple(_with_times(plan, problem) for plan in case.plans if plan.startswith('('))
    return Case(case.domain, domain_text(domain), problem_text(problem), problem, plans)


def with_numbers(case: Case) -> Case:
    """The same with a battery that every action drains and no plan may empty."""
    problem, battery = case.problem, AtomFormula('battery', ())
    actions = {}
    for number, each in enumerate(problem.domain.actions.values()):
        need = Decimal(1 + number % 3)
        enough = And((*conjuncts(each.precondition), Comparison('>=', battery, need)))
        drain = NumericEffect((), And(()), 'decrease', battery, need)
        actions[each.name] = replace(each, precondition=enough, numeric=(*each.numeric, drain))
    functions = {**problem.domain.functions, 'battery': ()}
    domain = domain_text(replace(problem.domain, actions=actions, functions=functions))
    left = Constraint('always', (Comparison('>=', battery, Decimal(1)),))
    constraints, values = (*problem.constraints, left), {**problem.values, ('battery',): _BATTERY}
    text = problem_text(
        replace(problem, domain=read_domain(domain), constraints=constraints, values=values)
    )
    plans = tuple(plan for plan in case.plans if plan.startswith('('))
    return Case(case.domain, domain, text, read_problem(text, read_domain(domain)), plans)


def _lasting(action: Action, seconds: int) -> DurativeAction:
    """An action that deletes when it starts, and adds when it ends."""
    conditions = tuple((Moment.AT_START, part) for part in conjuncts(action.precondition))
    deleted = [(Moment.AT_START, replace(each, add=())) for each in action.effects if each.delete]
    added = [(Moment.AT_END, replace(each, delete=())) for each in action.effects if each.add]
    duration = (('=', Decimal(seconds)),)
    return DurativeAction(action.name, action.parameters, duration, conditions, (*deleted, *added))


def _with_times(text: str, problem: Problem) -> str:
    plan, now, times = parse_plan(text), Decimal(0), []
    for step in plan.steps:
        action = problem.domain.durative.get(step.action)
        ((_, seconds),) = action.duration if action else (('=', Decimal(1)),)
        times.append((now, Decimal(str(seconds))))
        now += times[-1][1] + Decimal('0.001')
    return f'{Plan(plan.steps, tuple(times))}\n'


def draw_plans(rng: Random, generated: GeneratedProblem, count: int) -> tuple[str, ...]:
    """Different plans for one problem, a right one first and then one that breaks constraints.

    Every third of the others is meant to be right and every third ignores the constraints; all but
    the right ones have a mistake.
    """
    shield = Shield(generated.problem)
    mistakes = Mistakes(generated.problem)
    right = [generated.witness]
    texts = dict.fromkeys([f'{generated.witness}\n', f'{generated.direct}\n'])
    for draw in range(count * _DRAWS):
        if len(texts) >= count:
            break
        if draw % 3:
            base = generated.direct if draw % 3 == 1 else rng.choice(right)
            texts.setdefault(mistakes.make(rng, base))
        elif (plan := _detour(rng, shield)) is not None:
            right.append(plan)
            texts.setdefault(f'{plan}\n')
    return tuple(texts)[:count]


def _detour(rng: Random, shield: Shield) -> Plan | None:
    """A few steps at random that break nothing, and a way from there to the goal."""
    situation, taken = shield.start, []
    for _ in range(rng.randint(0, _DETOUR)):
        choices = shield.steps(situation)
        if not choices:
            return None
        step = rng.choice(list(choices))
        taken.append(step)
        situation = choices[step]
    rest = replace(shield.problem, init=shield.state(situation))
    try:
        return Plan((*taken, *solve(rest, time_limit_s=_SEARCH_S).plan.steps))
    except SafegenError:
        return None  # a dead end


MOST_QUERY_US = 50.0

LARGE_BLOCKS = 100
LARGE_STEPS = 10_000
MOST_LARGE_S = 1.0

MIXED_PLANS = 5_000
SETTLED_PLANS = 2_500
MOST_GROWTH_B = 256.0


def queries(cases: Sequence[Case], notify: Notify) -> Iterator[Measurement]:
    """Time of one `admissible` query, over every step in every situation of a right plan."""
    taken: list[float] = []
    count = 0
    for number, case in enumerate(cases):
        shield, steps = Shield(case.problem), Mistakes(case.problem).steps
        situation = shield.start
        for follow in parse_plan(case.plans[0]).steps:
            begun = time.process_time()
            for step in steps:
                shield.admissible(situation, step)
            taken.append((time.process_time() - begun) / len(steps) * 1e6)
            count += len(steps)
            situation = shield.after(situation, follow) or situation
        notify('admissible', number + 1, len(cases))
    yield Measurement(
        'one admissible query, mean', statistics.fmean(taken), 'us', MOST_QUERY_US,
        at_least=False, note=f'{count:,} queries, the grounding of new steps included',
    )  # fmt: skip
    yield Measurement('one admissible query, mean of the slowest situation', max(taken), 'us')


def large_task(rng: Random) -> tuple[str, str]:
    """A Blocksworld problem with quantified constraints, and a long plan for it.

    Returns:
        The texts of the problem and of a valid plan, in which every block is stacked on another
        one and put back on the table, over and over.
    """
    names = [f'b{number + 1}' for number in range(LARGE_BLOCKS)]
    facts = ' '.join(f'(on-table {name}) (clear {name})' for name in names)
    problem = (
        f'(define (problem large) (:domain blocksworld) (:objects {" ".join(names)})\n'
        f'(:init (arm-empty) {facts})\n'
        '(:goal (forall (?b) (and (on-table ?b) (clear ?b))))\n'
        '(:constraints (and\n'
        '  (forall (?b) (always (not (on ?b ?b))))\n'
        '  (forall (?b) (sometime-after (holding ?b) (on-table ?b)))\n'
        '  (sometime (exists (?b) (on ?b b1))))))\n'
    )
    steps = []
    for number in range(LARGE_STEPS // 4):
        one, other = rng.sample(names, 2) if number else (names[1], names[0])
        steps += [
            f'(pickup {one})', f'(stack {one} {other})', f'(unstack {one} {other})',
            f'(putdown {one})',
        ]  # fmt: skip
    return problem, '\n'.join(steps)


def large_plan(seed: int) -> Iterator[Measurement]:
    """Time to judge one very long plan, from text."""
    problem, plan = large_task(Random(seed))  # noqa: S311
    task, read_s = timed(lambda: load_task(problem))
    verdict, judged_s = timed(lambda: task.verify(plan))
    if not verdict.ok:
        raise SafegenError(f'the long plan of the benchmark does not verify: {verdict.reason}')
    name = f'{LARGE_STEPS:,} steps on {LARGE_BLOCKS} objects'
    constraints = len(task.problem.constraints)
    yield Measurement(
        f'{name}, from plan text', judged_s, 's', MOST_LARGE_S, at_least=False,
        note=f'fresh validator, {constraints} ground constraints',
    )  # fmt: skip
    yield Measurement(f'{name}, reading the problem', read_s, 's')


def memory(cases: Sequence[Case], notify: Notify) -> Iterator[Measurement]:
    """The memory that thousands of different plans add, once the caches are mostly full."""
    plans = _mixed_plans(cases)
    before = resident_bytes()
    tracemalloc.start()
    settled = 0
    for number, (validator, plan) in enumerate(islice(plans, MIXED_PLANS), 1):
        validator.verify(plan)
        if number == SETTLED_PLANS:
            settled = _traced()
        if number % 500 == 0:
            notify('memory', number, MIXED_PLANS)
    growth = (_traced() - settled) / (MIXED_PLANS - SETTLED_PLANS)
    tracemalloc.stop()
    after = resident_bytes()
    yield Measurement(
        f'memory that each of the plans {SETTLED_PLANS + 1:,} to {MIXED_PLANS:,} adds', growth, 'B',
        MOST_GROWTH_B, at_least=False, note=f'{len(cases)} kept validators, by tracemalloc',
    )  # fmt: skip
    if before is not None and after is not None:
        yield Measurement(
            f'resident memory that all {MIXED_PLANS:,} plans add', (after - before) / 1024, 'KiB',
            note='with what the validators ground and keep, and with the tracing',
        )  # fmt: skip


def _mixed_plans(cases: Sequence[Case]) -> Iterator[tuple[Validator, str]]:
    """Plans without end, a quarter as they are and the others with new mistakes."""
    rng = Random(0)  # noqa: S311
    known = []
    for case in cases:
        validator, mistakes = Validator(case.problem), Mistakes(case.problem)
        validator.verify(str(Plan(tuple(mistakes.steps))))  # every action is grounded and kept
        known.append((validator, mistakes, case.plans, parse_plan(case.plans[0])))
    while True:
        validator, mistakes, texts, right = rng.choice(known)
        yield validator, rng.choice(texts) if rng.random() < 0.25 else mistakes.make(rng, right)


def _traced() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]
