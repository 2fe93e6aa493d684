# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A stack with a site file and without keys: no goal drops a rule, whichever way it comes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.blocks_small import THREE_TEXT as THREE
from support.goals import WAIT_S
from support.leading import StateCaller
from support.model_server import MODEL, ModelServer
from support.single_nodes import SingleNodes
from support.stopping import BY_SEARCH, THREE_PLAN

from safegen_msgs.action import ExecutePlan
from safegen_msgs.msg import Approval, Task
from safegen_msgs.srv import MonitorStep
from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode
from safegen_ros.nodes.admission import BoundTasks
from safegen_ros.nodes.approval import plan_digest
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.robot.cell.grounding import initial_layout
from safegen_ros.robot.scene import load_scene
from safegen_ros.ros import conversions
from safegen_ros.ros.calls import wait_for
from safegen_ros.ros.commands import CommandClient
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.tasks.site import load_site, read_site

SITE = """
domains: {{blocksworld: {{objects: [c], constraints: ["(always (forall (?x) (not (on ?x c))))"]}}}}
approval: always
keep_out:
  - {{name: shelf, min: {low}, max: {high}}}
"""
OPEN = THREE.replace('(:constraints (always (not (on c b))))', '')
ON_C = OPEN.replace('(and (on a b) (on c a))', '(on-table a)')
AROUND = parse_plan('(pickup a)(stack a c)(unstack a c)(putdown a)')


@pytest.fixture(scope='module')
def site_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The box is above block b, where the second block of a tower would be."""
    scene = load_scene()
    task = load_task(THREE).problem
    x, y, _ = initial_layout(scene, tuple(task.objects), task.init).poses['b'].position
    centre = (x, y, scene.level_height(1) + 0.02)
    path = tmp_path_factory.mktemp('site') / 'site.yaml'
    low, high = ([value + side for value in centre] for side in (-0.01, 0.01))
    path.write_text(SITE.format(low=low, high=high))
    return path


@pytest.fixture(scope='module')
def client(
    ros_domain: int, site_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    with ModelServer() as server:
        values = {'model': f'{server.url}#{MODEL}', 'site_file': site_file}
        folder = tmp_path_factory.mktemp('stack')
        with SingleNodes(ros_domain, folder, values) as nodes, Client() as client:
            nodes.mend(client)
            yield client


def execute(client: Client, site: Path, problem: str, plan: Plan, **fields: Any) -> Any:
    """Sends a plan to the executor, with an approval that anybody could write."""
    task, message = Task(problem=problem), conversions.plan_to_msg(plan)
    digest = plan_digest(task, message, '', load_site(site).digest)
    goal = ExecutePlan.Goal(task=task, plan=message, approval=Approval(digest=digest, by='me'))
    for name, value in fields.items():
        setattr(goal, name, value)
    goal.time_budget.sec = int(WAIT_S)
    return client._send('execute_plan', ExecutePlan, goal, lambda f: None).result()


@pytest.mark.parametrize('step_by_step', [False, True])
def test_a_plan_against_a_rule_is_refused_by_its_place(
    client: Client, site_file: Path, step_by_step: bool
) -> None:
    plan = parse_plan('(stack a c)') if step_by_step else AROUND
    problem = ON_C
    if step_by_step:
        held = '(holding a) (on-table b) (on-table c) (clear b) (clear c)'
        start = ON_C.index('(:init'), ON_C.index('(:goal')
        problem = f'{ON_C[: start[0]]}(:init {held}) {ON_C[start[1] :]}'
    result = execute(client, site_file, problem, plan, step_by_step=step_by_step)
    assert result.steps_done == 0
    code = ErrorCode(result.error_code)
    assert code in (ErrorCode.PLAN_REFUSED, ErrorCode.UNSUPPORTED_FEATURE), result.error_msg
    if not step_by_step:  # a single step cannot be rehearsed, and is refused for that first
        assert result.verdict.broken[0].place.endswith('site.yaml:2:53')


def test_the_monitor_watches_no_plan_against_a_rule(client: Client) -> None:
    watch: Any = client.node.create_client(MonitorStep, 'monitor_step')
    assert watch.wait_for_service(WAIT_S)
    StateCaller(client, 'validator')
    plan = conversions.plan_to_msg(AROUND)
    request = MonitorStep.Request(begin=True, task=Task(problem=ON_C), plan=plan)
    answer = wait_for(watch.call_async(request), WAIT_S, 'it', ErrorCode.SERVER_LOST)
    assert not answer.status.ok
    assert ErrorCode(answer.status.error_code) is ErrorCode.PLAN_REFUSED


def test_the_validator_judges_with_the_rules(client: Client) -> None:
    answer = client.validate(ON_C, str(AROUND))
    assert answer.verdict.broken[0].place.endswith('site.yaml:2:53')
    assert answer.site == CommandClient(client.node, 'executor').ask(WAIT_S).site


def test_nothing_moves_into_a_keep_out_box(client: Client, site_file: Path) -> None:
    result = execute(client, site_file, THREE, THREE_PLAN)
    # By the rules alone it may be executed; the rehearsal finds the box.
    assert ErrorCode(result.error_code) is ErrorCode.PLAN_REFUSED or result.steps_done == 0
    assert ErrorCode(result.error_code) is ErrorCode.REHEARSAL_FAILED, result.error_msg
    assert 'hits keep-out box shelf' in result.error_msg
    assert result.steps_done == 0


def test_no_goal_is_taken_once_the_site_file_has_changed(client: Client, site_file: Path) -> None:
    text = site_file.read_text()
    commands, digest = CommandClient(client.node, 'executor'), load_site(site_file).digest
    assert commands.wait(WAIT_S)
    try:
        site_file.write_text(text.replace('approval: always', ''))
        for result in (
            client.execute(ON_C, parse_plan('(pickup a)')),
            client.run(ON_C, options=BY_SEARCH),
        ):
            assert ErrorCode(result.error_code) is ErrorCode.SITE_REFUSED, result.error_msg
            assert 'has changed since it was loaded' in result.error_msg
        site_file.unlink()
        result = client.run(ON_C, options=BY_SEARCH)
        assert ErrorCode(result.error_code) is ErrorCode.SITE_REFUSED, result.error_msg
        assert commands.ask(WAIT_S).site == digest
    finally:
        site_file.write_text(text)
    result = client.execute(ON_C, parse_plan('(pickup a)'))
    assert ErrorCode(result.error_code) is ErrorCode.APPROVAL_REFUSED, result.error_msg


def test_a_rule_that_does_not_apply_is_logged_once_for_each_task() -> None:
    rules = '{blocksworld: {objects: [b7], constraints: ["(always (not (holding b7)))"]}}'
    notes: list[str] = []
    bound = BoundTasks(read_site(f'domains: {rules}', 'site.yaml'), notes.append)
    for _ in range(2):
        bound.task(Task(problem=THREE))
    (note,) = notes
    (unbound,) = bound.unbound(Task(problem=THREE))
    assert note.endswith(unbound)
    assert note.endswith(': does not apply: the task has no b7')
    assert 'site.yaml:1:' in note


@pytest.mark.nightly
def test_a_site_file_that_needs_another_keeps_a_node_from_its_start(
    ros_domain: int, tmp_path: Path
) -> None:
    site = tmp_path / 'site.yaml'
    site.write_text('senders: [alice]')
    done = subprocess.run(
        [
            *(sys.executable, '-m', 'safegen_ros.nodes.executor', '--ros-args'),
            *('-r', '__ns:=/bad', '-p', f'site_file:={site}'),
        ],
        check=False, capture_output=True, text=True, timeout=WAIT_S,
    )  # fmt: skip
    assert done.returncode == 1
    assert 'without operators_file the sender of a goal is unknown' in done.stderr
