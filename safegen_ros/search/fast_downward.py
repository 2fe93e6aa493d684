# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Solves large problems with Fast Downward (Helmert 2006), which knows no trajectory constraints.

Its translator grounds the operators, our own `regression` compiles goal and constraints into them,
and its search component looks for a plan. Both programs come with the Python package
up-fast-downward and run as separate processes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.deciding import refuse_numbers
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan, Step, parse_plan
from safegen_ros.pddl.writer import domain_text, problem_text
from safegen_ros.search.budget import (
    FAST_DOWNWARD,
    Budget,
    SearchLimit,
    Solution,
    Unsolvable,
)
from safegen_ros.search.costs import StepCosts
from safegen_ros.search.programs import ProgramResult, memory_files, run_program
from safegen_ros.search.regression import compile_constraints
from safegen_ros.search.sas import SasTask, read_sas, relevant_part, write_sas
from safegen_ros.search.translation import operators_only, without_words
from safegen_ros.verify.validator import verify

_PACKAGE = 'up_fast_downward'
_FOLDER = 'downward/builds/release/bin'
_TAIL = 400  # characters of a program's output that an error shows

_TRANSLATE = (
    'fast_downward.translate', '--keep-unimportant-variables',
    '--invariant-generation-max-time', '2',
)  # fmt: skip
"""Goal and constraints are compiled in later, so every variable may turn out to be important."""

_LAMA = (
    'let(hlm,landmark_sum(lm_reasonable_orders_hps(lm_rhw()),pref=false),'
    'let(hff,ff(),lazy_greedy([hff,hlm],preferred=[hff,hlm])))'
)
"""The first iteration of LAMA (Richter and Westphal 2010)."""

_TYPES = (
    'let(hff,ff(),lazy(alt([single(hff),single(hff,pref_only=true),type_based([hff,g()])],'
    'boost=1000),preferred=[hff],reopen_closed=false))'
)
"""With exploration by types (Xie et al. 2014), against plateaus that landmarks do not see."""

_RESERVED_TYPES, _RESERVED = {'number'}, {'increase'}  # by the translator

_BLIND = 'astar(blind())'

# https://www.fast-downward.org/latest/documentation/exit-codes/
_SOLVED = (0, 1, 2, 3)
_EXHAUSTED = (11, 12)
_OUT_OF_MEMORY = (20, 22, 24)


def fast_downward_available() -> bool:
    """Whether the Python package up-fast-downward is installed."""
    return _folder() is not None


def _folder() -> Path | None:
    """Where its programs are: `downward`, and the translator as a Python module."""
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / _FOLDER
    return folder if (folder / 'downward').is_file() else None


def solve_with_fast_downward(
    problem: Problem, budget: Budget, *, optimal: bool = False
) -> Solution:
    """Finds a plan that reaches the goal and satisfies every constraint.

    Args:
        budget: what may be used; each program may take as much memory as it allows, and the
            caller is asked some fifty times a second.
        optimal: whether the plan has to be the best by the metric, by the number of its steps where
            the problem has none.

    Returns:
        A plan that `verify` accepts.

    Raises:
        Unsolvable: there is none.
        SearchLimit: time or memory ran out.
        Canceled: the caller wants to stop.
        NoStepCosts: an optimal plan is wanted, by a metric that is not a sum over the steps.
        SafegenError: Fast Downward is not installed or failed.
    """
    refuse_numbers(problem, 'Fast Downward', 'use --route kairos')
    folder = _folder()
    if folder is None:
        raise SafegenError(
            'Fast Downward is not installed: install the Python package up-fast-downward',
            ErrorCode.BACKEND_FAILED,
        )
    budget.tick()
    ranked = optimal and problem.metric is not None
    task = compile_constraints(problem, _translate(problem, folder, budget, ranked), budget.tick)
    costs = _costs(problem, task) if ranked else None  # an idle step may better the metric
    plan = _search(problem.name, relevant_part(task), optimal, costs, folder, budget)
    verdict = verify(problem, plan, budget.tick)
    if not verdict.ok:
        raise SafegenError(f'Fast Downward made a plan that does not verify: {verdict.reason}')
    return Solution(plan, FAST_DOWNWARD, optimal, budget.seconds, 0)


def _costs(problem: Problem, task: SasTask) -> dict[str, int]:
    """What each operator adds to the metric."""
    steps = {each.name: _step(each.name) for each in task.operators}
    costs = StepCosts(problem).whole(steps.values())
    return {name: costs[step] for name, step in steps.items()}


def _step(name: str) -> Step:
    action, *arguments = name.split()
    return Step(action, tuple(arguments))


def _translate(problem: Problem, folder: Path, budget: Budget, no_ops: bool = False) -> SasTask:
    """The problem's operators, ground, over finite-domain variables."""
    bare = operators_only(problem)
    command = [sys.executable, '-S', '-m', *_TRANSLATE]
    if no_ops or any(each.operator == 'hold-during' for each in problem.constraints):
        command.append('--keep-no-ops')  # a plan may have to wait for the right moment
    texts, back = without_words(
        [domain_text(bare.domain), problem_text(bare)],
        [*_RESERVED_TYPES & bare.domain.types.keys(), *_RESERVED & bare.domain.predicates.keys()],
    )
    with memory_files(*texts, '') as files:
        domain, rest, sas = files
        command += ['--sas-file', sas.path, domain.path, rest.path]
        ended = run_program(command, budget, files, python_path=folder)
        if ended.code != 0:
            raise _failure('the translator', ended, budget)
        task = read_sas(back(sas.text()))
    own = [each for each in task.operators if each.name.split()[0] in problem.domain.actions]
    return replace(task, operators=tuple(own))


def _search(
    name: str,
    task: SasTask,
    optimal: bool,
    costs: Mapping[str, int] | None,
    folder: Path,
    budget: Budget,
) -> Plan:
    """A plan of a task."""
    program = str(folder / 'downward')
    with memory_files(write_sas(task, costs), '') as (sas, found):
        command = [program, '--internal-plan-file', found.path, '--search']
        for share, configuration in _attempts(task, optimal):
            part = budget.part(share * budget.left_s)
            try:
                ended = run_program([*command, configuration], part, [found], stdin=sas)
            except SearchLimit:
                continue  # with another configuration, or to the end of the time
            if ended.code in _SOLVED:
                return parse_plan(found.text())
            if ended.code in _EXHAUSTED and (configuration == _BLIND or not task.rules):
                raise Unsolvable(
                    name,
                    'Fast Downward has searched every state that can be reached without breaking '
                    'a constraint',
                )
            if ended.code not in (*_EXHAUSTED, *_OUT_OF_MEMORY):
                raise _failure('the search component', ended, budget)
    budget.tick()
    raise budget.memory_is_over()


def _failure(what: str, ended: ProgramResult, budget: Budget) -> SafegenError:
    if ended.code in _OUT_OF_MEMORY:
        return budget.memory_is_over()
    tail = ' '.join((ended.output + ended.errors)[-_TAIL:].split())
    return SafegenError(
        f'{what} of Fast Downward ended with code {ended.code}: {tail}', ErrorCode.BACKEND_FAILED
    )


def _attempts(task: SasTask, optimal: bool) -> list[tuple[float, str]]:
    """Searches to try in turn, each with its share of the time that is left to it.

    LAMA comes first and gets half of it: a large task takes it a while, and a search that was ended
    has to begin again. Axioms make heuristics inadmissible, and unsafe about dead ends; then blind
    search alone proves anything.
    """
    if optimal:
        conditional = any(effect.condition for op in task.operators for effect in op.effects)
        return [
            (1.0, _BLIND if task.rules else 'astar(hmax())' if conditional else 'astar(lmcut())')
        ]
    if task.rules:
        return [(0.5, _LAMA), (0.6, _TYPES), (1.0, _BLIND)]
    return [(0.5, _LAMA), (1.0, _TYPES)]
