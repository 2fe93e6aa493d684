# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which ends of an execution are a protective stop: all but those that are named here."""

from __future__ import annotations

from collections.abc import Callable

from safegen_ros.errors import ErrorCode
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.nodes.monitoring import may_replan
from safegen_ros.nodes.stop_server import StopServer
from safegen_ros.robot.cell.execution import ExecutionOutcome

NO_FAULT = frozenset({ErrorCode.NONE, ErrorCode.EXECUTION_TIMEOUT})
"""The plan was carried out; or the sender's time budget is over, and the arm holds."""

REFUSED = frozenset({
    ErrorCode.UNSUPPORTED_SCENE, ErrorCode.OUT_OF_REACH, ErrorCode.STATE_MISMATCH,
})  # fmt: skip
"""Before the first observation: the task does not fit the cell, and is not begun."""

ENDED_BY_STOP = frozenset({ErrorCode.EXECUTION_CANCELED, ErrorCode.VALIDATOR_UNAVAILABLE})
"""How an execution ends that a stop has ended."""


def fault_of(outcome: ExecutionOutcome, *, replan: bool, cancelled: bool) -> str:
    """Why an execution that began to move stops the stack; empty where it does not.

    Args:
        outcome: how it ended.
        replan: whether its sender plans again where the world differs.
        cancelled: whether its sender has cancelled it.
    """
    code = outcome.error_code
    if code in NO_FAULT or (code is ErrorCode.EXECUTION_CANCELED and cancelled):
        return ''
    if code in REFUSED and outcome.observed is None:
        return ''
    if may_replan(code, replan) and outcome.remaining is not None:
        return ''
    return f'{code.name}: {outcome.message}'


class ProtectiveStop:
    """Carries executions out: every fault in one of them is a stop, stored before its goal ends.

    Args:
        node: the executor.
        stop: of the executor.
    """

    def __init__(self, node: SafegenNode, stop: StopServer) -> None:
        self._node = node
        self._stop = stop

    def carry_out(
        self, run: Callable[[], ExecutionOutcome], *, replan: bool, cancelled: Callable[[], bool]
    ) -> ExecutionOutcome:
        """The outcome of an execution; raises as that does.

        Args:
            run: executes; `StopServer.begin_motion` in it begins the motion that is settled here.
            replan: see `fault_of`.
            cancelled: see `fault_of`.
        """
        try:
            outcome = run()
        except BaseException as error:
            self._settle(f'the execution failed: {error}')
            raise
        fault = fault_of(outcome, replan=replan, cancelled=cancelled())
        if outcome.error_code is ErrorCode.EXECUTION_CANCELED:
            fault = self._interruption() or fault
        if self._stop.state.stopped and outcome.error_code in ENDED_BY_STOP:
            fault = ''  # one fault is one stop: a reset may be waiting for the end of this goal
        self._settle(fault)
        return outcome

    def stop(self, reason: str) -> str:
        """As `StopServer.stop`, with the cause of a reason that the end of the stack explains.

        A sender that ends together with the stack does not wait any more, too.
        """
        return self._stop.stop(self._interruption() or reason)

    def _settle(self, fault: str) -> None:
        if self._stop.moving and fault:
            self._stop.stop(fault)
        else:
            self._stop.end_motion()

    def _interruption(self) -> str:
        cause = self._node.interruption.cause()
        return f'{cause}, while a plan was carried out' if cause else ''
