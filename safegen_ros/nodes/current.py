# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The planner's side of `from_current`: a task that begins in the last known world."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from safegen_msgs import msg
from safegen_msgs.srv import GetWorld
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.ros import conversions, qos
from safegen_ros.ros.calls import answer_of

ANSWER_S = 10.0
"""How long the executor may take to tell the world [s]; a camera has to be waited for."""


class CurrentWorld:
    """Asks the executor for the last known world.

    Args:
        node: the planner.
    """

    def __init__(self, node: SafegenNode) -> None:
        self._client: Any = node.create_client(
            GetWorld, 'get_world', qos_profile=qos.REQUESTS, callback_group=node.group
        )

    def task(self, task: msg.Task, cancelled: Callable[[], bool]) -> msg.Task:
        """The same task with the last known world as its initial state.

        Raises:
            SafegenError: it is no PDDL task (`UNSUPPORTED_FEATURE`), its objects are not those of
                the world, or nobody knows the world (`STATE_MISMATCH`).
        """
        if task.format == msg.Task.WORDS:
            raise SafegenError(
                'from_current is for a task in PDDL: send the problem that the words were '
                'understood as',
                ErrorCode.UNSUPPORTED_FEATURE,
            )
        read = conversions.task_from_msg(task)
        problem = read.problem
        if problem is None:
            raise SafegenError(
                f'from_current is for a task in PDDL, not in format {task.format}: leave it out',
                ErrorCode.UNSUPPORTED_FEATURE,
            )
        state = conversions.state_from_facts(self._facts(tuple(problem.objects), cancelled))
        there = {name for atom in state for name in atom[1:]}
        differ = sorted(there ^ set(problem.objects))
        if differ:
            raise SafegenError(
                f'the objects of the task are not those of the last known world: '
                f'{" ".join(differ)} only here or only there: name just the objects that there are',
                ErrorCode.STATE_MISMATCH,
            )
        return conversions.remaining_to_msg(replace(problem, init=state), read)

    def _facts(self, objects: Sequence[str], cancelled: Callable[[], bool]) -> list[str]:
        unavailable = ErrorCode.EXECUTOR_UNAVAILABLE
        if not self._client.wait_for_service(timeout_sec=ANSWER_S):
            raise SafegenError('the executor node is not there: start it', unavailable)
        answer = answer_of(
            self._client,
            GetWorld.Request(objects=list(objects)),
            ANSWER_S,
            'the executor',
            unavailable,
            cancelled,
        )
        if answer.error_code != int(ErrorCode.NONE):
            code = conversions.code_from_msg(answer.error_code)
            raise SafegenError(answer.error_msg, code)
        return list(answer.world.facts)
