# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is refused in a domain and a problem first, then what looks wrong in them."""

from __future__ import annotations

from collections.abc import Iterator

from safegen_ros.errors import PddlError
from safegen_ros.lint.domain import domain_findings, tree_formulas
from safegen_ros.lint.findings import ERROR, LintFinding, SourceMap
from safegen_ros.lint.problem import problem_findings
from safegen_ros.pddl.reader import read_domain, read_problem

Text = tuple[str, str]
"""A text and its source, the name of a file."""


def lint(domain: Text, problem: Text | None = None, *, any_name: bool = False) -> list[LintFinding]:
    """What is wrong with a domain and a problem, in the order of each text.

    Args:
        problem: PDDL of a problem; it is not looked at when the domain is refused.
        any_name: whether the problem may name another domain.
    """
    try:
        read = read_domain(*domain)
        places = SourceMap(*domain)
        if problem is None:
            return sorted(domain_findings(read, places, ()), key=_order)
        task = read_problem(problem[0], read, problem[1], any_name=any_name)
    except PddlError as error:
        return list(_refusals(error))
    asked = [task.goal, *tree_formulas(read.constraint_tree)]
    wished = [constraint for each in task.preferences for constraint in each.constraints]
    asked += [argument for each in (*task.constraints, *wished) for argument in each.arguments]
    found = domain_findings(read, places, asked)
    more = problem_findings(task, SourceMap(*problem), places)
    every = sorted(dict.fromkeys((*found, *more)), key=_order)
    return sorted(every, key=lambda finding: finding.source != domain[1])


def _order(finding: LintFinding) -> tuple[int, int]:
    return finding.line, finding.column


def _refusals(error: PddlError) -> Iterator[LintFinding]:
    for each in error.errors:
        rule = each.code.name.lower().replace('_', '-')
        yield LintFinding(ERROR, rule, each.source, each.line, each.column, each.what, each.cure)
