# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A small model of words plans for several arms beside a planner whose own model it is not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.one_process import Stack, one_process_stack

from safegen_ros.client import Options
from safegen_ros.errors import BackendError, ErrorCode
from safegen_ros.node_parameters import PLANNER
from safegen_ros.nodes.translation import LazyModels
from safegen_ros.paths import data_path
from safegen_ros.ros import conversions
from safegen_ros.tasks.table import open_models, read_action_task
from safegen_ros.verdict import Category

BY_MODEL = Options(strategy='model', max_attempts=5)


def text_of(name: str) -> str:
    return data_path(f'examples/boxnet/{name}.json').read_text(encoding='utf-8')


@pytest.fixture(scope='module')
def stack(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    shipped = 'models/safegen-boxnet-mini'
    with one_process_stack(tmp_path_factory.mktemp('nodes'), arms_model=shipped) as made:
        yield made


@pytest.mark.nightly
def test_its_plan_is_proved_and_carried_out(stack: Stack) -> None:
    text = text_of('hand_over')
    result = stack.client.run(text, options=BY_MODEL, format='boxnet')
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
    assert result.plan.source == 'shield'  # which lets the model choose admissible moves only
    assert {attempt.source for attempt in result.attempts} == {'shield'}
    assert not stack.server.requests
    assert Category(result.attempts[-1].verdict.category) is Category.SUCCESS
    ended = conversions.state_from_facts(result.final_state.facts)
    task = read_action_task(text, format='boxnet')
    assert all(holds for _, holds in task.conditions(ended))


@pytest.mark.nightly
def test_what_it_does_not_know_it_is_not_asked(stack: Stack) -> None:
    """Smaller arms of real shape, and a map with finer points; the search still answers."""
    result = stack.client.plan(text_of('mycobot_hand_over'), options=BY_MODEL, format='boxnet')
    assert ErrorCode(result.error_code) is ErrorCode.TASK_TOO_LARGE, result.error_msg
    result = stack.client.plan(text_of('ur5e_hand_over'), options=BY_MODEL, format='boxnet')
    assert (result.error_code, result.plan.source) == (ErrorCode.NONE, 'shield')
    finer = text_of('hand_over').replace('2.75', '2.7512')
    result = stack.client.plan(finer, options=BY_MODEL, format='boxnet')
    assert ErrorCode(result.error_code) is ErrorCode.TASK_TOO_LARGE, result.error_msg
    options = Options(strategy='model, search')
    result = stack.client.plan(finer, options=options, format='boxnet')
    assert (result.error_code, result.plan.source) == (ErrorCode.NONE, 'search')


def test_a_model_of_another_world_is_refused() -> None:
    values = {parameter.name: parameter.default for parameter in PLANNER}
    named = {**values, 'arms_model': 'models/safegen-descriptions'}
    with pytest.raises(BackendError, match='one that was trained for BoxNet2D'):
        open_models(named, LazyModels(named))
