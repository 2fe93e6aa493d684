# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""PDDL3 problems, plans and verdicts for scripts and notebooks; needs neither ROS nor torch.

A second proof of the same problem is cheap: the problem keeps its grounding.

Examples:
    >>> from safegen_ros.api import Problem, verify
    >>> problem = Problem.load('examples/tower_order.pddl')
    >>> problem
    <Problem tower-order of domain blocksworld: 5 objects, 1 constraint>
    >>> verdict = verify(problem, '(unstack b5 b3) (putdown b5)')
    >>> verdict.category.name, verdict.goal_fraction
    ('GOAL_NOT_SATISFIED', 0.0)
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import ParamSpec

from safegen_ros import verdict
from safegen_ros.errors import PddlError, PlanFormatError, SafegenError
from safegen_ros.pddl import model, plan
from safegen_ros.pddl.plan import Step
from safegen_ros.pddl.text_files import read_text
from safegen_ros.search.budget import SearchLimit, Solution, Unsolvable
from safegen_ros.search.solve import solve as search
from safegen_ros.tasks.pddl3.task import load_files, load_task
from safegen_ros.verdict import BrokenConstraint, Category
from safegen_ros.verify.admissible import Shield
from safegen_ros.verify.validator import Validator

__all__ = [
    'BrokenConstraint',
    'Category',
    'PddlError',
    'Plan',
    'PlanFormatError',
    'PlanState',
    'Problem',
    'SafegenError',
    'SearchLimit',
    'Shield',
    'Solution',
    'Step',
    'Unsolvable',
    'Verdict',
    'parse_plan',
    'solve',
    'verify',
]

PathLike = str | os.PathLike[str]
_Plan = plan.Plan
_Options = ParamSpec('_Options')

# What draws itself in notebooks imports the templates when it is drawn, so that scripts start fast.


class Plan(plan.Plan):
    """A plan; a notebook shows a table of its steps, with times where it has them."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from safegen_ros.record.present.cards import plan_html

        return plan_html(self)


@dataclass(frozen=True)
class PlanState:
    """A state of a plan, as `Problem.states` makes it; a notebook draws it.

    Attributes:
        problem: the problem.
        atoms: the facts that hold.
        before: the states before; towers stand at the same places in all of them.
    """

    problem: Problem = field(repr=False)
    atoms: model.State
    before: tuple[model.State, ...] = field(repr=False)

    def _repr_html_(self) -> str:
        from safegen_ros.record.present.cards import film_picture_html

        return film_picture_html(self.problem, (*self.before, self.atoms))


@dataclass(frozen=True)
class Verdict(verdict.Verdict):
    """A verdict with its plan; a notebook draws where each rule stands in each state.

    Attributes:
        problem: what the plan is for.
        text: the plan as it was written.
    """

    problem: model.Problem | None = field(default=None, repr=False, compare=False)
    text: str = field(default='', repr=False, compare=False)

    def _repr_html_(self) -> str | None:
        from safegen_ros.record.present.cards import verdict_html

        if self.problem is None:  # not made by `verify`: its text will do
            return None
        try:
            steps = parse_plan(self.text, timed=True).steps
        except PlanFormatError:
            steps = ()
        return verdict_html(self, self.problem, self.text, steps)


class Problem(model.Problem):
    """A PDDL3 problem with its domain; everything that takes a `pddl.model.Problem` takes it."""

    @classmethod
    def load(
        cls,
        path: PathLike,
        domain: PathLike | None = None,
        *,
        format: str = '',
        any_name: bool = False,
    ) -> Problem:
        """Reads a problem file, in PDDL, JSON or English.

        Args:
            path: the file of the problem, with its constraints.
            domain: the PDDL file of its domain; None for the built-in one that the problem names.
            format: `pddl`, `json` or `english`; empty to derive it from the file name: `.json`,
                `.txt` for English, and PDDL for any other.
            any_name: whether the problem may name another domain than the one in that file.

        Raises:
            SafegenError: a file cannot be read, or holds nothing that is supported; the message
                has the file, the line, the column and the cure.
        """
        own = None if domain is None else Path(domain)
        task = load_files(Path(path), own, format=format, any_name=any_name)
        return cls._of(task.problem)

    @classmethod
    def from_text(cls, text: str, domain: str = '', *, format: str = 'pddl') -> Problem:
        """Reads a problem from its text.

        Args:
            text: the problem, with its constraints.
            domain: PDDL of its domain; empty for the built-in one that the problem names.
            format: what the problem is written in, `pddl`, `json` or `english`.

        Raises:
            SafegenError: as `load`.
        """
        return cls._of(load_task(text, domain, format=format).problem)

    @classmethod
    def _of(cls, problem: model.Problem) -> Problem:
        return cls(**{field.name: getattr(problem, field.name) for field in fields(problem)})

    @cached_property
    def validator(self) -> Validator:
        """The validator of this problem."""
        return Validator(self)

    def states(self, plan: _Plan) -> tuple[PlanState, ...]:
        """The start and the state after each step of a plan, as far as the steps apply."""
        from safegen_ros.record.present.constraint_status import trajectory

        found = trajectory(self, plan.steps)
        return tuple(PlanState(self, atoms, found[:at]) for at, atoms in enumerate(found))

    def _repr_html_(self) -> str:
        from safegen_ros.record.present.cards import problem_html

        return problem_html(self)

    def __repr__(self) -> str:
        count = len(self.constraints)
        return (
            f'<Problem {self.name} of domain {self.domain.name}: {len(self.objects)} objects, '
            f'{count} constraint{"" if count == 1 else "s"}>'
        )


def parse_plan(text: str, *, timed: bool = False) -> Plan:
    """Reads a plan, as `safegen_ros.pddl.plan.parse_plan` does."""
    return _drawn(plan.parse_plan(text, timed=timed))


def _solving(found: Callable[_Options, Solution]) -> Callable[_Options, Solution]:
    @wraps(found)
    def solve(*arguments: _Options.args, **options: _Options.kwargs) -> Solution:
        solution = found(*arguments, **options)
        return replace(solution, plan=_drawn(solution.plan))

    return solve


solve = _solving(search)


def _drawn(found: _Plan) -> Plan:
    return Plan(found.steps, found.times)


def verify(problem: model.Problem, plan: _Plan | Solution | str | os.PathLike[str]) -> Verdict:
    """The verdict on a plan.

    Args:
        problem: the problem, with its constraints.
        plan: a plan, what `solve` returned, the text of a plan, or the path of a file with one (a
            `pathlib.Path`).

    Returns:
        The verdict; a text that is not a plan is a `FORMAT_ERROR`, not an exception.

    Raises:
        SafegenError: the file cannot be read.
        TypeError: an argument has another type, or a step of the plan is not a `Step` of strings.
    """
    if not isinstance(problem, model.Problem):
        raise TypeError(f'the problem is {_kind(problem)}: give what Problem.load returns')
    if isinstance(plan, Solution):
        plan = plan.plan
    if isinstance(plan, os.PathLike):
        plan = read_text(Path(plan), 'plan')
    if isinstance(plan, _Plan):
        _check_steps(plan)
    elif not isinstance(plan, str):
        raise TypeError(
            f'the plan is {_kind(plan)}: give a Plan, a Solution, the text of a plan, or the '
            'pathlib.Path of its file; parse_plan makes a Plan of text'
        )
    validator = problem.validator if isinstance(problem, Problem) else Validator(problem)
    found = validator.verify(plan)
    values = {each.name: getattr(found, each.name) for each in fields(found)}
    return Verdict(**values, problem=problem, text=str(plan))


def _check_steps(plan: _Plan) -> None:
    """Refuses a plan that was put together of something else than steps.

    Raises:
        TypeError: a step is not a `Step` whose action is a string and whose arguments are a tuple
            of strings.
    """
    for number, step in enumerate(plan.steps, 1):
        if not isinstance(step, Step) or not isinstance(step.arguments, tuple):
            raise _no_step(number, step)
        for name in (step.action, *step.arguments):
            if not isinstance(name, str):
                raise _no_step(number, step)


def _no_step(number: int, step: object) -> TypeError:
    return TypeError(
        f"step {number} of the plan is {step!r:.100}: write Step('stack', ('b1', 'b2')), a name "
        'and a tuple of names'
    )


def _kind(value: object) -> str:
    """What a value is, for messages."""
    return 'None' if value is None else f'of type {type(value).__name__}'
