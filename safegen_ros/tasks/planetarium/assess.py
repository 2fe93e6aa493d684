# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether what a model wrote is parseable, solvable and correct (section 5 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from safegen_ros.pddl.model import Problem
from safegen_ros.search.budget import Budget, SearchLimit, Unsolvable
from safegen_ros.search.in_process import solve_in_process
from safegen_ros.search.solve import MEMORY_LIMIT_MB
from safegen_ros.tasks.planetarium.answers import ProblemDraft, conformed, read_draft
from safegen_ros.tasks.planetarium.domains import find_plan, rules_for
from safegen_ros.tasks.planetarium.equivalence import Compat, Equivalence, compare
from safegen_ros.tasks.planetarium.fragments import Grade, UnreadableAnswer
from safegen_ros.tasks.planetarium.state_rules import StripsTask, contradiction

PLAN_LIMIT_S = 5.0
"""Wall-clock limit of a search for a plan, which only odd initial states need [s]."""

COMPARE_LIMIT_S = 30.0
"""Wall-clock limit of a comparison; most take milliseconds, some with placeholders seconds [s]."""


@dataclass(frozen=True, slots=True)
class AnswerAssessment:
    """The findings about an answer.

    Attributes:
        finding: the first thing that is wrong with it, or that nothing is.
        problem: the problem that was read; None where none is of the domain.
    """

    finding: Grade
    reason: str
    problem: Problem | None = None

    @property
    def parseable(self) -> bool:
        """Whether a STRIPS problem could be read."""
        return self.finding.parseable

    @property
    def solvable(self) -> bool:
        """Whether that problem has a plan."""
        return self.finding.solvable

    @property
    def correct(self) -> bool:
        """Whether that problem is the one that was asked for."""
        return self.finding is Grade.CORRECT


@dataclass(frozen=True, slots=True)
class Assessed:
    """An answer unchanged, and with typing tolerated.

    Attributes:
        enforced: with the types that the domain has.
        tolerant: with the tolerance of `conformed`.
    """

    enforced: AnswerAssessment
    tolerant: AnswerAssessment


def assess(
    wanted: Problem,
    answer: str,
    *,
    placeholder: bool = False,
    compat: Compat = '',
    plan_limit_s: float = PLAN_LIMIT_S,
) -> Assessed:
    """Judges an answer.

    Args:
        wanted: the problem that was asked for; its goal is a conjunction of atoms.
        placeholder: whether the objects in the goal are placeholders (section 4.1).
        compat: as of `compare`: who says what is correct.
        plan_limit_s: wall-clock limit of a search for a plan [s].
    """
    try:
        draft = read_draft(answer)
    except UnreadableAnswer as error:
        refused = AnswerAssessment(error.finding, error.message)
        return Assessed(refused, refused)
    enforced = _judged(wanted, draft, placeholder, compat, plan_limit_s, tolerant=False)
    if enforced.finding not in (Grade.TYPED, Grade.WRONG_TYPES) and not any(draft.objects.values()):
        return Assessed(enforced, enforced)
    return Assessed(
        enforced, _judged(wanted, draft, placeholder, compat, plan_limit_s, tolerant=True)
    )


def _judged(
    wanted: Problem,
    draft: ProblemDraft,
    placeholder: bool,
    compat: Compat,
    plan_limit_s: float,
    *,
    tolerant: bool,
) -> AnswerAssessment:
    try:
        reading = conformed(draft, wanted.domain, tolerant=tolerant)
    except UnreadableAnswer as error:
        return AnswerAssessment(error.finding, error.message)
    problem = reading.problem
    refused = _unsolved(problem, plan_limit_s)
    if refused is not None:
        return refused
    if reading.retyped and not tolerant:
        return AnswerAssessment(
            Grade.TYPED,
            f'the objects have types, and domain {wanted.domain.name} has none: leave them out',
            problem,
        )
    found = compare(
        wanted, problem, placeholder=placeholder, compat=compat, time_limit_s=COMPARE_LIMIT_S
    )
    finding = {
        Equivalence.EQUIVALENT: Grade.CORRECT,
        Equivalence.DIFFERENT: Grade.DIFFERENT,
        Equivalence.UNKNOWN: Grade.UNDECIDED,
    }[found.answer]
    return AnswerAssessment(finding, found.reason, problem)


def _unsolved(problem: Problem, time_limit_s: float) -> AnswerAssessment | None:
    """Why a problem counts as not solvable; None if it has a plan."""
    wrong = contradiction(problem.domain.name, problem.init)
    if wrong:
        return AnswerAssessment(
            Grade.INVALID_START,
            f'the initial state is impossible, for {wrong}: correct it',
            problem,
        )
    task = StripsTask.of(problem)
    try:
        if task is not None and rules_for(problem.domain, task) is not None:
            find_plan(problem)
        else:
            plain = replace(problem, constraints=())
            solve_in_process(plain, Budget(time_limit_s, MEMORY_LIMIT_MB))
    except Unsolvable as error:
        return AnswerAssessment(Grade.UNSOLVABLE, error.message, problem)
    except SearchLimit as error:
        return AnswerAssessment(Grade.PLAN_UNDECIDED, error.message, problem)
    return None
