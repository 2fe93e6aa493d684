# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The validators that ours is measured beside: VAL, and the one of unified-planning."""

from __future__ import annotations

import resource
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from safegen_ros.benchmarks.measurement import Notify
from safegen_ros.benchmarks.speed.corpus import Case
from safegen_ros.pddl.writer import domain_text, problem_text
from safegen_ros.verify.val import TIMEOUT_S, validate_binary

UP_MISSING = 'unified-planning is not installed here: pip install unified-planning, and run again'


def _processor_time() -> float:
    """Processor time of this process and of its children that have ended [s]."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def val_seconds(cases: Sequence[Case], flags: Sequence[str], notify: Notify) -> float:
    """Processor time that VAL takes for all plans, with one process for each.

    The files are written before the clock starts, by our own writer and without nested
    quantifiers, on which VAL crashes.

    Args:
        cases: what to judge.
        flags: options of `Validate`; the paper's are `-v`.
        notify: told of the progress.

    Returns:
        The time, starting the processes included [s].

    Raises:
        SafegenError: VAL is not installed.
    """
    program = validate_binary()
    environment = {'LD_LIBRARY_PATH': str(program.parent)}
    stage, spent, done = f'VAL {" ".join(flags)}', 0.0, 0
    total = sum(len(case.plans) for case in cases)
    with tempfile.TemporaryDirectory(prefix='safegen-bench-') as folder:
        for case in cases:
            Path(folder, 'domain').write_text(domain_text(case.problem.domain), encoding='ascii')
            Path(folder, 'problem').write_text(problem_text(case.problem), encoding='ascii')
            for number, plan in enumerate(case.plans):
                Path(folder, f'plan{number}').write_text(plan, encoding='ascii')
            for number in range(len(case.plans)):
                command = [str(program), *flags, 'domain', 'problem', f'plan{number}']
                begun = _processor_time()
                subprocess.run(
                    command, cwd=folder, env=environment, capture_output=True, check=False,
                    timeout=TIMEOUT_S,
                )  # fmt: skip
                spent += _processor_time() - begun
                done += 1
                notify(stage, done, total)
    return spent


def up_seconds(cases: Sequence[Case], notify: Notify) -> float | None:
    """Processor time that unified-planning's `SequentialPlanValidator` takes for all plans.

    It refuses trajectory constraints, so it gets the problems without them, which is less work.
    Its reading of each problem is not counted; a plan that it cannot read counts up to there.

    Returns:
        The time [s], or None when the package is not installed.
    """
    if find_spec('unified_planning') is None:
        return None
    engines: Any = import_module('unified_planning.engines')
    import_module('unified_planning.shortcuts').get_environment().credits_stream = None
    reader = import_module('unified_planning.io').PDDLReader()
    validator = engines.SequentialPlanValidator()
    spent, done = 0.0, 0
    total = sum(len(case.plans) for case in cases)
    for case in cases:
        plain = problem_text(replace(case.problem, constraints=()))
        problem = reader.parse_problem_string(domain_text(case.problem.domain), plain)
        for text in case.plans:
            begun = _processor_time()
            with suppress(Exception):  # it raises all kinds for a bad plan
                validator.validate(problem, reader.parse_plan_string(problem, text))
            spent += _processor_time() - begun
            done += 1
            notify('unified-planning', done, total)
    return spent
