# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An operator's word to let go of what the tool holds."""

from __future__ import annotations

from collections.abc import Callable

from std_srvs.srv import Trigger

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.keys.operators import Role
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.robot.cell.blocks import BlocksworldCell

SERVICE = 'release'


class ReleaseServer:
    """Has the tool let go where the arm stands, when nothing else is done with it.

    Interfaces:
        service `release` (std_srvs/Trigger): opens the gripper, or stops and vents the pump; moves
            no joint. It is in the journal before it is done, and how it went before it is
            answered. Refused while a goal runs, the stack is stopped or the node is not active.

    Args:
        node: the executor, whose goals wait for it as for a goal.
        cell: the cell of the arm; None where there is none.
        done: called when the tool has been switched: the world is another one then.
    """

    def __init__(
        self,
        node: SafegenNode,
        cell: Callable[[], BlocksworldCell | None],
        done: Callable[[], None],
    ) -> None:
        self._node = node
        self._cell = cell
        self._done = done
        self._service = node.create_service(
            Trigger, SERVICE, self._serve, callback_group=node.group
        )
        node.commands.add(SERVICE, Role.OPERATOR, lambda by, _: self._release())

    def _serve(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            if why := self._node.unsigned('a release'):
                raise SafegenError(why)
            response.message = self._release()
            response.success = True
        except SafegenError as error:
            response.message = error.message
        return response

    def _release(self) -> str:
        node = self._node
        cell = self._cell()
        if cell is None:
            raise SafegenError('a symbolic cell has no tool: there is nothing to let go of')
        try:
            node.admit(None)
        except SafegenError as error:
            if error.code is not ErrorCode.QUEUE_FULL:
                raise
            busy = 'a goal is running, and may need what it holds: wait or cancel it'
            raise SafegenError(busy, error.code) from error
        try:
            self._done()
            said = self._written(cell)
        finally:
            node.goals.leave()
        node.get_logger().warning(f'the service {SERVICE} was called: {said}')
        return said

    def _written(self, cell: BlocksworldCell) -> str:
        """Has the tool let go, which is in the journal before, and what came of it after."""
        journal = self._node.journal
        journal.release('asked')
        try:
            said = cell.release()
        except SafegenError as error:
            journal.release('failed', error.message)
            raise
        try:
            journal.release('done', said)
        except SafegenError as error:
            raise SafegenError(f'{said}; but it is in no journal: {error.message}') from error
        return said
