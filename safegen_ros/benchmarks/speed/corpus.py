# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Problems of the paper's sizes with a mixed lot of plans each, from a seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random

from safegen_ros.benchmarks.measurement import Notify
from safegen_ros.errors import SafegenError
from safegen_ros.pddl.flatten import flatten
from safegen_ros.pddl.model import Action, DurativeAction, Moment, Problem, conjuncts
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.pddl.writer import domain_text, problem_text
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.domains import builtin_domain_text, kits
from safegen_ros.tasks.pddl3.domains.kit import GeneratedProblem
from safegen_ros.tasks.pddl3.mistakes import Mistakes
from safegen_ros.verify.admissible import Shield

_DETOUR = 3  # steps at random, at most, before the rest of the plan is searched for
_SEARCH_S = 5.0
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
