# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Goals that start from the last known world, and what an idle cell publishes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.blocks_small import THREE_TEXT as THREE
from support.goals import WAIT_S
from support.one_process import Stack, one_process_stack
from support.stopping import BY_SEARCH, Operator, stoppable_stack
from support.waiting import wait_until

from safegen_msgs.msg import WorldState
from safegen_msgs.srv import GetWorld
from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.client import Client, Options
from safegen_ros.errors import ErrorCode
from safegen_ros.nodes.cell_services import CURRENT, FACTS, SIMULATED
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.ros import qos
from safegen_ros.ros.calls import answer_of

TOWER = {'(arm-empty)', '(clear c)', '(on a b)', '(on c a)', '(on-table b)'}
BACK = THREE.replace('(and (on a b) (on c a))', '(and (on-table a) (on-table c))')
FROM_CURRENT = Options(strategy='search', from_current=True)


@pytest.fixture(scope='module')
def stack(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    folder = tmp_path_factory.mktemp('stack')
    with stoppable_stack(ros_domain, folder, real_time_factor=0.0) as running:
        yield running


@pytest.fixture
def symbolic(ros_domain: int, tmp_path: Path) -> Iterator[Stack]:
    with one_process_stack(tmp_path, namespace='/symbolic') as made:
        yield made


def world_of(client: Client) -> Any:
    caller: Any = client.node.create_client(GetWorld, 'get_world')
    try:
        return answer_of(caller, GetWorld.Request(), WAIT_S, 'the executor', ErrorCode.SERVER_LOST)
    finally:
        client.node.destroy_client(caller)


def details(told: list[str]) -> Any:
    """A function for the feedback of `run_task`, which keeps where initial states come from."""

    def take(feedback: Any) -> None:
        if feedback.execution.detail:
            told.append(feedback.execution.detail)

    return take


@pytest.mark.nightly
def test_a_goal_goes_on_where_the_last_one_left_the_blocks_of_the_twin(client: Client) -> None:
    told: list[str] = []
    result = client.run(THREE, options=BY_SEARCH, on_feedback=details(told))
    assert (result.error_code, result.error_msg) == (ErrorCode.NONE, '')
    there = {each.name: each.pose.position for each in result.final_state.objects}
    known = world_of(client)
    assert (known.error_code, known.source) == (ErrorCode.NONE, 'twin')
    assert set(known.world.facts) == TOWER

    # A plan for another world is refused, and moves nothing.
    plan = parse_plan('(pickup a)(stack a b)(pickup c)(stack c a)')
    result = client.execute(THREE, plan, from_current=True)
    assert result.error_code == ErrorCode.STATE_MISMATCH
    assert 'missing: (clear a)' in result.error_msg
    assert set(world_of(client).world.facts) == TOWER

    # From the tower three blocks are laid out in four steps; nothing is placed before.
    result = client.run(BACK, options=FROM_CURRENT, on_feedback=details(told))
    assert (result.error_code, result.error_msg) == (ErrorCode.NONE, '')
    assert [step.action for step in result.plan.steps] == ['unstack', 'putdown'] * 2
    base = {each.name: each.pose.position for each in result.final_state.objects}['b']
    assert (base.x, base.y) == pytest.approx((there['b'].x, there['b'].y), abs=0.003)
    assert told == [SIMULATED, CURRENT]

    # Without it the simulator places the blocks, as before.
    result = client.run(THREE, options=BY_SEARCH, on_feedback=details(told))
    assert (result.error_code, told[-1]) == (ErrorCode.NONE, SIMULATED)
    other = THREE.replace(' a b c)', ' a b c d)').replace('(clear c))', '(clear c) (on-table d))')
    result = client.run(other, options=FROM_CURRENT)
    assert result.error_code == ErrorCode.STATE_MISMATCH
    assert 'd only here or only there' in result.error_msg
    answer = Operator(client).call('blocks_set_up')
    assert (answer.success, 'placed by a simulator' in answer.message) == (False, True)


def test_facts_that_were_left_are_gone_on_with_and_told_while_idle(symbolic: Stack) -> None:
    client, told = symbolic.client, list[str]()
    known = world_of(client)
    assert known.error_code == ErrorCode.STATE_MISMATCH
    assert 'no last known world' in known.error_msg
    result = client.run(BACK, options=FROM_CURRENT)
    assert result.error_code == ErrorCode.STATE_MISMATCH
    assert client.run(THREE, options=BY_SEARCH, on_feedback=details(told)).error_code == 0
    result = client.run(BACK, options=FROM_CURRENT, on_feedback=details(told))
    assert (result.error_code, result.error_msg) == (ErrorCode.NONE, '')
    assert len(result.plan.steps) == 4
    assert told == [FACTS, CURRENT]
    worlds: list[WorldState] = []
    client.node.create_subscription(WorldState, 'world_state', worlds.append, qos.SAMPLES)
    wait_until(lambda: len(worlds) > 1, 'the facts of an idle cell')
    assert '(on-table a)' in worlds[-1].facts
    assert not worlds[-1].objects
    assert client.node.count_publishers('joint_states') == 0
