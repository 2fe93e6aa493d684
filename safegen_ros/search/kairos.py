# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Solves problems with numbers, time or soft rules with Kairos, the planner of PlanSys2.

Kairos reads our text of the problem, trajectory constraints included, and runs as a separate
process. It is not part of the proof: its plans are parsed and verified as those of a model are.

Source: https://github.com/PlanSys2/kairos, version 1.0, from the Python package kairos-planner.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.deciding import state_functions
from safegen_ros.pddl.flatten import remembered_predicates
from safegen_ros.pddl.formulas import NUMERIC_EFFECTS
from safegen_ros.pddl.model import And, Problem
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.pddl.writer import domain_text, problem_text
from safegen_ros.search.budget import KAIROS, Budget, SearchLimit, Solution, Unsolvable
from safegen_ros.search.costs import only_adds
from safegen_ros.search.programs import memory_files, run_program
from safegen_ros.search.translation import without_words
from safegen_ros.verify.timed_actions import TimedActions
from safegen_ros.verify.validator import verify

_PACKAGE = 'kairos-planner'
_PROGRAM = 'kairos'
_OBJECT = 'object'
_TAIL = 400  # characters of its output that an error shows
_SHARE = 0.9  # of the time, for the search itself; the rest is for its start and its end

# `kairos --help`
_SOLVED, _UNSOLVABLE, _TIMEOUT, _MEMORY, _NO_PLAN = 0, 10, 11, 12, 14

_DECIMAL = re.compile(r'[0-9]+\.[0-9]+')
_ENDED = re.compile(r'^kairos: solved \(([^()]*)\)', re.MULTILINE)
_BAD_ALLOC = 'std::bad_alloc'  # the memory limit, met outside of its search
_PROVED = 'proven optimal'
_EXPANDED = re.compile(r' ([0-9]+) expanded,')


def kairos_available() -> bool:
    """Whether the Python package kairos-planner is installed."""
    return _program() is not None


def _program() -> Path | None:
    """The program that the package installs among the scripts of its environment."""
    try:
        files = distribution(_PACKAGE).files or ()
    except PackageNotFoundError:
        return None
    found = [Path(file.locate()).resolve() for file in files if file.name == _PROGRAM]
    return next((path for path in found if path.is_file()), None)


def solve_with_kairos(problem: Problem, budget: Budget, *, optimal: bool = False) -> Solution:
    """Finds a plan that reaches the goal and satisfies every constraint.

    Args:
        budget: what may be used; the caller is asked some fifty times a second.
        optimal: whether to go on from plan to better plan, until one is proved to be the best by
            the problem's metric (by the number of its steps where it has none) or the time is over.

    Returns:
        A plan that `verify` accepts, and whether it is proved to be optimal.

    Raises:
        Unsolvable: there is none.
        SearchLimit: time or memory ran out, or Kairos gave up.
        Canceled: the caller wants to stop.
        SafegenError: Kairos is not installed or failed, or its plan does not verify.
    """
    program = _program()
    if program is None:
        raise SafegenError(
            f'Kairos is not installed: pip install {_PACKAGE}', ErrorCode.BACKEND_FAILED
        )
    budget.tick()
    domain = problem.domain
    names = (
        *problem.objects,
        *domain.types,
        *domain.predicates,
        *domain.functions,
        *domain.actions,
    )
    if number := next(filter(str.isdigit, names), ''):
        raise SafegenError(
            f'Kairos takes the name {number!r} for a number: rename it, such as n{number}',
            ErrorCode.UNSUPPORTED_FEATURE,
        )
    # Kairos takes `object` for the type above all others, and `(assign ...)` for an effect.
    reserved = {_OBJECT} & problem.domain.types.keys()
    texts, back = without_words(
        [domain_text(domain), problem_text(_asked(problem))],
        [*reserved, *(name for name in NUMERIC_EFFECTS if name in problem.domain.predicates)],
    )
    with memory_files(*texts) as files:
        command = [
            str(program), *(file.path for file in files), '--format', 'json', '-v',
            '--anytime' if optimal else '--no-anytime', '--threads', '1',
            '--timeout', f'{_SHARE * budget.left_s:.3f}',
            '--memory', f'{budget.memory_limit_mb:.0f}',
        ]  # fmt: skip
        ended = run_program(command, budget, files)
    rounded = bool(state_functions(problem)) and any(map(_is_rounded, texts))
    if ended.code == _UNSOLVABLE and rounded:
        raise SearchLimit(
            f'Kairos found no plan of problem {problem.name}, and it rounds numbers: '
            'that proves nothing; take --route in-process, or whole numbers'
        )
    if ended.code == _UNSOLVABLE and remembered_predicates(problem.domain):
        raise SearchLimit(
            f'Kairos found no plan of problem {problem.name}, and it is not known how it takes an '
            'effect at end under an earlier condition: that proves nothing'
        )
    if ended.code == _UNSOLVABLE:
        raise Unsolvable(
            problem.name,
            'Kairos has searched every state that can be reached without breaking a constraint',
        )
    if ended.code == _TIMEOUT:
        raise budget.time_is_over()
    if ended.code == _MEMORY or _BAD_ALLOC in ended.errors:
        raise budget.memory_is_over()
    if ended.code == _NO_PLAN:
        raise SearchLimit(
            f'Kairos found no plan of problem {problem.name} and no proof that there is none: '
            'change the goal or the constraints'
        )
    reason = _ENDED.search(ended.errors)
    if ended.code != _SOLVED or reason is None:
        tail = ' '.join(ended.errors[-_TAIL:].split())
        raise SafegenError(f'Kairos ended with code {ended.code}: {tail}', ErrorCode.BACKEND_FAILED)
    plan = parse_plan(back(_plan_text(ended.output)), timed=bool(problem.domain.durative))
    verdict = verify(problem, plan, budget.tick)
    apart = bool(plan.times) and not verdict.ok
    if apart:
        # It lets steps touch where one needs, as VAL reads it, an atom that the other changes.
        plan = TimedActions(problem).timed(Plan(plan.steps))
    if not verdict.ok and not (apart and verify(problem, plan, budget.tick).ok):
        raise SafegenError(f'Kairos made a plan that does not verify: {verdict.reason}')
    expanded = sum(map(int, _EXPANDED.findall(ended.errors.splitlines()[-1])))
    proved = reason[1] == _PROVED and not (rounded or apart)
    proved = proved and only_adds(problem)  # it drops actions that change nothing but numbers
    return Solution(plan, KAIROS, proved, budget.seconds, expanded)


def _is_rounded(text: str) -> bool:
    """Whether floats may round what a text says: ten times 0.1 is not 1 in them, but 0.5 is 0.5."""
    if '(/ ' in text or '(scale-down ' in text:
        return True
    return any((Fraction(found) * 1024).denominator > 1 for found in _DECIMAL.findall(text))


def _asked(problem: Problem) -> Problem:
    """The problem, whose goal also holds what `hold-after` asks of the end.

    Kairos takes a plan that ends before the time of a `hold-after` or `hold-during` for right. No
    goal can state the second: a plan that breaks it is refused by the proof.
    """
    ends = [c.arguments[0] for c in problem.constraints if c.operator == 'hold-after']
    return replace(problem, goal=And((problem.goal, *ends))) if ends else problem


def _plan_text(output: str) -> str:
    """The last plan of those that were printed, one better than the other, as steps."""
    last: dict[str, Any] = json.loads(output.splitlines()[-1])
    if not last['temporal']:
        return '\n'.join(step['action'] for step in last['steps'])
    # Its times are floats; as it prints them otherwise, they have three digits.
    return '\n'.join(f'{s["time"]:.3f}: {s["action"]} [{s["duration"]:.3f}]' for s in last['steps'])
