# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A plan that is proved and collides moves nothing, whoever sends it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.model_server import MODEL, ModelServer
from support.motion import Motion
from support.waiting import patient_file

from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs
from safegen_ros.client import Client, Options
from safegen_ros.errors import ErrorCode
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.verdict import Category

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parents[2]
CONSTRAINED = (ROOT / 'examples' / 'reach_behind.pddl').read_text(encoding='utf-8')
FREE = CONSTRAINED.replace('(:constraints (sometime-before (on b4 b3) (on b5 b4)))', '')
TOWER_FIRST = parse_plan(
    '(pickup b2) (stack b2 b1) (pickup b3) (stack b3 b2) (pickup b4) (stack b4 b3) '
    '(pickup b5) (stack b5 b4)'
)
BY_SEARCH = Options(strategy='search', time_budget_s=100.0)


@pytest.fixture(scope='module')
def client(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a stack whose cell is that of figure 6, and which rehearses everything."""
    folder = tmp_path_factory.mktemp('rehearsal')
    with ModelServer() as server:
        always = {'scene_file': str(ROOT / 'config/figure6_scene.yaml'), 'rehearse': 'always'}
        model = {'model': f'{server.url}#{MODEL}'}
        parameters = patient_file(folder, planner=model, executor=always)
        specs = node_specs('sim', {'params_file': parameters})
        environment = {'ROS_DOMAIN_ID': str(ros_domain), 'SAFEGEN_RUNS_DIR': str(folder)}
        with Supervisor(specs, log_dir=folder, environment=environment) as stack:
            stack.wait_ready()
            with Client() as connected:
                yield connected


def test_a_plan_that_collides_is_refused_by_the_executor(client: Client) -> None:
    motion = Motion(client)
    motion.begin()
    phases: list[str] = []
    result = client.execute(
        FREE, TOWER_FIRST, on_feedback=lambda told: phases.append(told.progress.phase)
    )
    assert result.error_code == ErrorCode.REHEARSAL_FAILED
    assert 'step 7 (pickup b5): collision at' in result.error_msg
    assert 'link4 hits b4' in result.error_msg
    assert result.verdict.category == Category.SAFETY_VIOLATION
    assert result.verdict.failing_step == 6
    assert result.steps_done == 0
    assert phases == ['verifying', 'rehearsing']
    assert motion.samples() == []


def test_it_goes_back_to_who_plans_as_the_verdict_on_an_attempt(client: Client) -> None:
    phases: list[tuple[str, str]] = []

    def hear(told: Any) -> None:
        phases.append((told.stage, told.planning.phase))

    refused = client.run(FREE, options=BY_SEARCH, on_feedback=hear)
    assert refused.error_code == ErrorCode.ATTEMPTS_EXHAUSTED
    (attempt,) = refused.attempts
    assert attempt.verdict.category == Category.SAFETY_VIOLATION
    assert 'rehearsal on the twin, step' in attempt.verdict.reason
    assert ('planning', 'rehearsing') in phases
    assert all(stage == 'planning' for stage, _ in phases)

    # The same goal with the constraint that keeps the arm from the tower.
    done = client.run(CONSTRAINED, options=BY_SEARCH)
    assert done.error_code == ErrorCode.NONE, done.error_msg
    assert len(done.plan.steps) == done.steps_done == 12
