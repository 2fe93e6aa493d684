# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tasks are read with the domain they name, or refused with the reason."""

from __future__ import annotations

import pytest

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.worlds.pddl3.domains import (
    builtin_domain,
    builtin_domain_text,
    domain_files,
    require_same_actions,
)
from safegen_ros.worlds.pddl3.task import Pddl3Task, load_task


def test_every_builtin_domain_reads_and_has_its_names() -> None:
    assert 'blocksworld' in domain_files()
    for name in domain_files():
        assert builtin_domain(name).actions


def test_an_alias_names_the_same_domain(tower_order: Pddl3Task) -> None:
    text = tower_order.problem_text.replace('(:domain blocksworld)', '(:domain blocksworld-4ops)')
    task = load_task(text)
    assert task.problem.domain.name == 'blocksworld-4ops'
    require_same_actions(task.problem.domain, 'blocksworld')


def test_an_unknown_domain_is_refused_with_the_known_ones(tower_order: Pddl3Task) -> None:
    text = tower_order.problem_text.replace('(:domain blocksworld)', '(:domain logistics)')
    with pytest.raises(
        SafegenError, match=r"^<problem>:\d+:12: .*'logistics'.*blocksworld"
    ) as caught:
        load_task(text)
    assert caught.value.code is ErrorCode.UNKNOWN_DOMAIN


def test_a_task_may_bring_its_own_domain(tower_order: Pddl3Task) -> None:
    text = builtin_domain_text('blocksworld').replace('(domain blocksworld)', '(domain mine)')
    task = load_task(
        tower_order.problem_text.replace('(:domain blocksworld)', '(:domain mine)'), text
    )
    assert task.problem.domain.name == 'mine'
    require_same_actions(task.problem.domain, 'blocksworld')


def test_another_meaning_of_an_action_does_not_reach_the_robot(
    tower_order: Pddl3Task,
) -> None:
    """Dropping `clear` from stack proves plans that would crush a block."""
    loose = builtin_domain_text('blocksworld').replace(
        '(and (clear ?underob) (holding ?ob))', '(holding ?ob)'
    )
    task = load_task(tower_order.problem_text, loose)
    with pytest.raises(SafegenError, match="'stack'") as caught:
        require_same_actions(task.problem.domain, 'blocksworld')
    assert caught.value.code is ErrorCode.UNSUPPORTED_SCENE
