# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Goals beyond the first: planned together, waiting, rejected; and a model server that is lost."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.model_server import MODEL, ModelServer
from support.waiting import wait_until

from safegen_msgs.action import PlanTask
from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs
from safegen_ros.client import Client, Options
from safegen_ros.errors import ErrorCode
from safegen_ros.tasks.pddl3.task import Pddl3Task

WAIT_S = 60.0
BUDGET_S = 40.0
PARAMETERS = """
/**/planner:
  ros__parameters:
    model: {url}#{model}
    goals_at_once: 2
    goals_waiting: 2
    server_tries: 2
    server_silence: {budget}
    heartbeat_timeout: 60.0
/**/executor:
  ros__parameters:
    heartbeat_timeout: 60.0
"""
ASKED_ONCE = Options(
    max_attempts=1, search_fallback=False, strategy='model', time_budget_s=BUDGET_S
)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model server that takes every request and does not answer it."""
    with ModelServer() as running:
        running.fault = 'silent'
        yield running


@pytest.fixture
def client(server: ModelServer, ros_domain: int, tmp_path: Path) -> Iterator[Client]:
    """A client of a stack that plans two goals at once, with the model of that server."""
    parameters = tmp_path / 'parameters.yaml'
    parameters.write_text(PARAMETERS.format(url=server.url, model=MODEL, budget=BUDGET_S))
    specs = node_specs('sim', {'params_file': parameters, 'cell': 'symbolic'})
    with (
        Supervisor(
            specs, log_dir=tmp_path, environment={'ROS_DOMAIN_ID': str(ros_domain)}
        ) as stack,
        Client() as connected,
    ):
        stack.wait_ready()
        yield connected


def test_a_lost_model_server_ends_every_goal_of_the_line(
    server: ModelServer, client: Client, tower_order: Pddl3Task
) -> None:
    told: dict[int, list[tuple[str, str]]] = defaultdict(list)
    news = threading.Condition()

    def plan(number: int) -> PlanTask.Result:
        def hear(feedback: Any) -> None:
            with news:
                told[number].append((feedback.progress.phase, feedback.progress.detail))
                news.notify_all()

        text = tower_order.problem_text
        return client.plan(text, options=ASKED_ONCE, on_feedback=hear)

    def heard(phase: str, detail: str = '') -> None:
        """Waits until some goal is told of that."""
        with news:
            assert news.wait_for(
                lambda: any((phase, detail) in own for own in told.values()), WAIT_S
            ), (phase, detail, dict(told))

    with ThreadPoolExecutor(4) as threads:
        goals = [threads.submit(plan, number) for number in (0, 1)]
        wait_until(
            lambda: server.waiting == 2 or any(goal.done() for goal in goals),
            'the model to be asked for two goals',
        )
        assert server.waiting == 2, [goal.result() for goal in goals if goal.done()]
        for place in (1, 2):
            goals.append(threads.submit(plan, 1 + place))
            heard('waiting', f'{place} in the line of goals')
        assert ErrorCode(plan(9).error_code) is ErrorCode.QUEUE_FULL
        assert server.waiting == 2
        server.stop()
        results = [goal.result(WAIT_S) for goal in goals]
    for result in results:
        assert ErrorCode(result.error_code) is ErrorCode.BACKEND_FAILED, result.error_msg
        assert server.url in result.error_msg
        assert not result.plan.steps
    assert sum(any(phase == 'waiting' for phase, _ in own) for own in told.values()) == 2
