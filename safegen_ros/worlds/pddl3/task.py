# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A PDDL3 planning task: what a goal message holds, read and checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from safegen_ros.errors import ErrorCode
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.reader import problem_domain_name, read_domain, read_problem
from safegen_ros.pddl.sexpr import Reader
from safegen_ros.verdict import Verdict
from safegen_ros.verify.validator import Validator
from safegen_ros.worlds.pddl3.domains import builtin_domain, builtin_domain_text, domain_files


@dataclass(frozen=True)
class Pddl3Task:
    """A problem with its domain, as text and as model.

    Attributes:
        problem: what was read.
        domain_text: PDDL of the domain, also when it is a built-in one.
        problem_text: PDDL of the problem, as it was sent.
    """

    problem: Problem
    domain_text: str
    problem_text: str

    @property
    def name(self) -> str:
        """The problem's name."""
        return self.problem.name

    @cached_property
    def validator(self) -> Validator:
        """The validator of this task; it keeps what it has grounded."""
        return Validator(self.problem)

    def verify(self, answer: str | Plan) -> Verdict:
        """The verdict on a plan or on the text of one."""
        return self.validator.verify(answer)


def load_task(
    problem_text: str,
    domain_text: str = '',
    *,
    problem_source: str = '<problem>',
    domain_source: str = '<domain>',
    any_name: bool = False,
) -> Pddl3Task:
    """Reads a task.

    Args:
        problem_text: PDDL of the problem, with its `:constraints`.
        domain_text: PDDL of its domain; empty for the built-in one that the problem names.
        problem_source: file name of the problem, or a label, for messages.
        domain_source: likewise for the domain.
        any_name: whether the problem may name another domain than the one that is given.

    Raises:
        SafegenError: `PddlError` with the place in the text, or a domain that is not built in.
    """
    if not domain_text.strip():
        named = problem_domain_name(problem_text, problem_source)
        if named.text not in domain_files():
            raise Reader(problem_source).error(
                named,
                f'domain {named.text!r} is not built in',
                f'give its PDDL text with the task, or use one of {" ".join(domain_files())}',
                ErrorCode.UNKNOWN_DOMAIN,
            )
        domain_text = builtin_domain_text(named.text)
        domain = replace(builtin_domain(named.text), name=named.text)
    else:
        domain = read_domain(domain_text, domain_source)
    problem = read_problem(problem_text, domain, problem_source, any_name=any_name)
    return Pddl3Task(problem, domain_text, problem_text)
