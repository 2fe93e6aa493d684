# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A stack whose arm is stopped, and its operator.

The model is at a server that writes no plan: a node that loads one takes seconds to start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from std_srvs.srv import Trigger

from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs
from safegen_ros.client import Client, Options
from safegen_ros.errors import ErrorCode
from safegen_ros.paths import share_dir
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.ros.calls import wait_for
from safegen_ros.ros.watchdog import StopListener
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.task import load_task
from support.blocks_small import THREE_TEXT as THREE
from support.goals import WAIT_S
from support.leading import StateCaller
from support.model_server import MODEL, ModelServer
from support.waiting import patient_file, wait_until

LONG = (share_dir() / 'examples' / 'tower_order.pddl').read_text(encoding='utf-8')
LONG_PLAN = solve(load_task(LONG).problem).plan
"""For a goal that has to last until it is ended: ten steps of the twin."""
THREE_PLAN = parse_plan('(pickup a)(stack a b)(pickup c)(stack c a)')
PICK = THREE.replace('(and (on a b) (on c a))', '(holding a)')
ENDLESS = Options(max_attempts=255, search_fallback=False, strategy='model')
BY_SEARCH = Options(strategy='search')
STOPPED = (ErrorCode.PLANNING_STOPPED, ErrorCode.EXECUTION_STOPPED)


@contextmanager
def stoppable_stack(
    domain: int,
    folder: Path,
    *names: str,
    real_time_factor: float = 4.0,
    silence_s: float = 60.0,
    executor: str = '',
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Supervisor]:
    """The nodes of those names, all by default, with a runtime folder of their own.

    `silence_s` is how long a silence the executor bears [s]; a short one is for what tests that.
    `executor` is a module of the tests that runs in place of that node, with more `variables`.
    """
    with ModelServer() as server:
        values = {
            'params_file': patient_file(folder, executor={'heartbeat_timeout': silence_s}),
            'real_time_factor': real_time_factor,
            'model': f'{server.url}#{MODEL}',
        }
        specs = [s for s in node_specs('sim', values) if s.name in names or not names]
        if executor:
            specs = [replace(s, module=executor) if s.name == 'executor' else s for s in specs]
            variables = {**variables, 'PYTHONPATH': str(Path(__file__).parents[1])}
        environment = {
            'ROS_DOMAIN_ID': str(domain),
            'SAFEGEN_RUNTIME_DIR': str(folder),
            'SAFEGEN_STATE_DIR': str(folder),
            **variables,
        }
        with Supervisor(specs, log_dir=folder, environment=environment) as running:
            running.wait_ready()
            yield running


class Operator:
    """Calls the services of the stop, and listens to its topic.

    Args:
        client: of the stack.
        planner: whether it has a planner that is alive, and so hears of each reset.
    """

    def __init__(self, client: Client, planner: bool = True) -> None:
        self._client = client
        self.listener = StopListener(client.node)
        self._services = {
            name: client.node.create_client(Trigger, name)
            for name in ('stop', 'reset', 'release', 'blocks_set_up')
        }
        StateCaller(client, 'executor')
        self._planner = StateCaller(client, 'planner') if planner else None

    def call(self, name: str) -> Trigger.Response:
        service = self._services[name]
        assert service.wait_for_service(timeout_sec=WAIT_S)
        future = service.call_async(Trigger.Request())
        return wait_for(future, WAIT_S, name, ErrorCode.SERVER_LOST)

    def calm(self) -> None:
        """Ends whatever is under way, and allows goals again."""
        self.call('stop')
        self.reset()

    def reset(self) -> None:
        answer = self.call('reset')
        assert answer.success, answer.message
        wait_until(lambda: not self.listener.reason, 'the reset on the topic')
        if self._planner is not None:
            # A planner that was held up ends the goals that it has when it hears of the stop; the
            # next one is sent when it has read what came before this question.
            assert self._planner.state

    def wait_stopped(self, reason: str) -> None:
        wait_until(lambda: bool(self.listener.reason), 'the stop on the topic')
        assert reason in self.listener.reason

    def assert_nothing_is_taken(self) -> None:
        wait_until(self._run_is_rejected, 'the planner to hear of the stop')
        for send in (
            lambda: self._client.run(THREE, options=BY_SEARCH),
            lambda: self._client.execute(THREE, Plan()),
        ):
            result = send()
            assert ErrorCode(result.error_code) in STOPPED, result.error_msg
            assert result.error_msg.startswith('the stack is stopped (')
            assert "'safegen reset'" in result.error_msg

    def _run_is_rejected(self) -> bool:
        """Whether the planner knows of the stop; until then the executor refuses in its place."""
        result = self._client.run(THREE, options=BY_SEARCH)
        assert ErrorCode(result.error_code) in STOPPED, result.error_msg
        assert result.steps_done == 0
        return not result.attempts


def execution(phase: str, step: int = 0) -> Callable[[Any], bool]:
    return lambda f: (f.execution.phase, f.execution.step) == (phase, step)
