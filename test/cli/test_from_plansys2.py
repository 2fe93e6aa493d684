# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/from_plansys2.md do what the page says, and its plan is executed."""

from __future__ import annotations

import re
from pathlib import Path

from support.command_line import ROOT, CommandLine
from support.executed import execute_plan

from safegen_ros.api import Problem
from safegen_ros.errors import ErrorCode
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.robot.cell.symbolic import SymbolicCell

FILES = ('examples/patrol/domain.pddl', 'examples/patrol/problem.pddl')
PAGE = (ROOT / 'docs' / 'from_plansys2.md').read_text(encoding='utf-8')
TEXT = '\n'.join(re.findall(r'^    ([\d.]+: .*)$', PAGE, re.MULTILINE))


def test_the_plan_of_the_page_is_what_solve_prints(safegen: CommandLine) -> None:
    code, out, _ = safegen('solve', '--domain', *FILES)
    assert code == 0
    assert parse_plan(out, timed=True) == parse_plan(TEXT, timed=True)


def test_the_plan_of_the_page_is_proved(safegen: CommandLine, tmp_path: Path) -> None:
    plan = tmp_path / 'plan.txt'
    plan.write_text(TEXT, encoding='utf-8')
    code, out, _ = safegen('verify', *FILES, plan)
    assert (code, 'all 5 steps can be done in 70.004 s' in out) == (0, True)
    plan.write_text(TEXT.replace('30.001', '29.000'), encoding='utf-8')
    code, out, _ = safegen('verify', *FILES, plan)
    assert (code, 'needs (free r2d2)' in out) == (1, True)


def test_the_plan_of_the_page_is_executed() -> None:
    problem = Problem.load(ROOT / FILES[1], ROOT / FILES[0])
    plan = Plan(parse_plan(TEXT, timed=True).steps)
    cell = SymbolicCell(problem)
    outcome = execute_plan(problem, plan, cell, time_budget_s=60.0)
    assert (outcome.error_code, outcome.steps_done) == (ErrorCode.NONE, 5), outcome.message
    assert cell.time == 70.0
    assert ('=', '(battery r2d2)', '60') in cell.observe()
