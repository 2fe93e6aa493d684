# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Stop and reset: their services and topic, and what stops the arm during an execution."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial

from rclpy.duration import Duration
from std_srvs.srv import Trigger

from safegen_msgs.msg import StopState
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.nodes.release_store import ReleaseStore
from safegen_ros.nodes.stop_latch import ANOTHER_EXECUTOR, NEVER_RELEASED, Stop, StopLatch
from safegen_ros.nodes.stop_socket import StopSocket
from safegen_ros.robot.cell.execution import ExecutionOutcome
from safegen_ros.ros import diagnostics, qos
from safegen_ros.ros.conversions import time_to_msg
from safegen_ros.ros.diagnostics import Health
from safegen_ros.ros.liveness import Ticker
from safegen_ros.ros.watchdog import CURE, ENDED_BY_STOP, NEWS_TIMEOUT_S, STOP_TOPIC
from safegen_ros.sync import Closing, boottime
from safegen_ros.verify.run_monitor import may_replan

ENDED_S = 8.0
"""How long a goal that is stopped may take to end [s]; the caller waits a little longer."""

LOOK_S = 0.1
"""How often the executor looks whether somebody else has stored a stop [s]."""

_REMEMBERED = 16
"""States on its topic that the executor knows again."""

HELD_UP_S = 2.0
"""After a hold-up of this time [s] a reset is refused for the same time: it may be an old one."""


class StopServer(Closing):
    """Lets everybody stop the arm, and an operator allow goals again.

    Interfaces:
        service `stop` (std_srvs/Trigger): latches; answers when the arm is at rest.
        socket beside the store (`StopSocket`): the same, for `safegen stop` of this user.
        service `reset` (std_srvs/Trigger): ends a stop; moves nothing.
        topic `stopped` (safegen_msgs/msg/StopState, latched). A stop that another node publishes
            there is obeyed.

    Args:
        node: whose goals are ended by a stop.
        halt: ends all motion; see `StopLatch`.
        rearm: makes the arm fit to move again, for a reset; raises `SafegenError` where it is not.
    """

    def __init__(
        self, node: SafegenNode, halt: Callable[[], None], rearm: Callable[[], None]
    ) -> None:
        self._node = node
        self._rearm = rearm
        self._resetting = threading.Lock()
        self._store = ReleaseStore(node.context.get_domain_id(), node.get_namespace())
        self._latch = StopLatch(self._store, halt)
        self._told = self.state
        self._published: deque[StopState] = deque(maxlen=_REMEMBERED)
        self._publisher = node.create_publisher(StopState, STOP_TOPIC, qos.LATCHED)
        self._publishing = threading.Lock()
        self._service = node.create_service(
            Trigger, 'stop', self._serve_stop, callback_group=node.group
        )
        node.commands.trigger(
            'reset',
            'a reset',
            lambda by: self.reset(f'reset by {by}' if by else 'the service reset was called'),
        )
        self._socket: StopSocket | None = None
        self._listen()
        self._looked, self._woke = boottime(), -math.inf
        if self.state.reason != NEVER_RELEASED:  # else it depends on the cell
            self._publish()
        node.create_subscription(
            StopState, STOP_TOPIC, self._obey, qos.LATCHED, callback_group=node.group
        )
        self._looks = Ticker(node, LOOK_S, self.look)

    @property
    def state(self) -> Stop:
        """How it stands now."""
        return self._latch.state

    def claim(self) -> None:
        """Makes sure that no other executor of this user has this domain and namespace.

        Raises:
            SafegenError: one has.
        """
        if not self._store.own():
            self._latch.open()
            self._publish()
            raise SafegenError(f'{self.state.reason}: end one of the two')
        self._listen()
        if self.state.reason.startswith(ANOTHER_EXECUTOR):
            self._latch.open()
            self._publish()

    def commission(self, arm: bool) -> None:
        """Says whether the real arm moves; a simulated cell is released at its very first start.

        Raises:
            SafegenError: that release could not be stored.
        """
        before = self.state
        try:
            first = self._latch.commission(arm)
        except OSError as error:
            raise SafegenError(f'the first release cannot be stored: {error}') from error
        log = self._node.get_logger()
        if first:
            log.info('the first start of a simulated cell here: released without a reset')
        if self.state != before:
            self._publish()
        if self.state.stopped:
            log.error(f'stopped since before the start: {self.state.reason}; {CURE}')

    @property
    def moving(self) -> bool:
        """Whether a motion is stored that has not ended."""
        return self._latch.moving

    def health(self) -> Health:
        """An operator has to clear a stop."""
        stop = self.state
        return Health(
            'stop',
            diagnostics.ERROR if stop.stopped else diagnostics.OK,
            f'stopped: {stop.reason}; {CURE}' if stop.stopped else 'not stopped',
            {'stops': stop.count},
        )

    def look(self) -> None:
        """Stops where somebody else has stored a stop, or the stored release is gone."""
        now = boottime()
        if now - self._looked > HELD_UP_S:
            self._woke = now
        self._looked = now
        if self.state.stopped:
            return
        try:
            self._latch.look()
        except OSError as error:
            self._node.get_logger().error(f'the stop cannot be stored: {error}')
        self._tell()

    def begin_motion(self, what: str) -> None:
        """Stores that a plan is executed, before anything moves.

        Raises:
            SafegenError: it is stopped, or cannot be stored, which is a stop.
        """
        stopped = self.state.stopped
        try:
            self._latch.begin_motion(what)
        except OSError as error:
            self.stop(f'the state of the executor cannot be stored: {error}')
            raise SafegenError(
                f'nothing moves that a restart would not know of: {error}',
                ErrorCode.EXECUTION_STOPPED,
            ) from error
        finally:
            if not stopped:
                self._tell()

    def end_motion(self) -> None:
        """Stores that no plan is executed; where that fails, it is a stop."""
        try:
            self._latch.end_motion()
        except OSError as error:
            self.stop(f'the state of the executor cannot be stored: {error}')

    def stop(self, reason: str) -> str:
        """Ends all motion and all goals, until a reset.

        Returns:
            The result, for the caller.
        """
        return self._stop(reason)[0]

    def _stop(self, reason: str) -> tuple[str, bool]:
        """What happened, and whether the stop is stored."""
        before, failed = self.state, ''
        try:
            self._latch.stop(reason)
        except OSError as error:
            failed = f'; but the stop could not be stored: {error}'
            self._node.get_logger().error(f'the stop could not be stored: {error}')
        if not before.stopped:
            failed += self._tell()
        said = f'was stopped already: {before.reason}' if before.stopped else 'stopped'
        return said + failed, not failed

    def _tell(self) -> str:
        """Publishes a new stop and writes it down, once; what to add to the answer if it cannot."""
        with self._publishing:
            stop, told = self.state, self._told
            self._told = stop
        if stop == told or not stop.stopped:
            return ''
        self._publish()
        failed = self._write_down(stop.reason)
        self._node.get_logger().error(f'stopped: {stop.reason}; {CURE}')
        return failed

    def _obey(self, message: StopState) -> None:
        if not message.stopped or self.state.stopped:
            return
        with self._publishing:
            own = message in self._published
        if not own:
            self.stop(f'another executor in this namespace is stopped: {message.reason}')

    def _serve_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = self._stopped('the service stop was called')
        return response

    def _stopped(self, reason: str) -> tuple[bool, str]:
        """Whether it is stopped, stored and at rest, and what happened."""
        message, stored = self._stop(reason)
        ended = self._node.goals.wait_idle(ENDED_S)
        if not ended:
            message += '; but its goal has not ended: look at the cell'
        return stored and ended, message

    def _listen(self) -> None:
        """Opens the socket, where no other executor has the store."""
        if self._socket is None and self._store.own():
            try:
                stopped = partial(self._stopped, 'safegen stop was called')
                self._socket = StopSocket(self._store.socket, stopped)
            except OSError as error:
                self._node.get_logger().warning(f'only the service stops: no socket: {error}')

    def reset(self, reason: str) -> str:
        """Allows goals again, and moves nothing; returns what happened.

        Raises:
            SafegenError: it stays stopped, and why.
        """
        calls = self._latch.calls
        with self._resetting:
            try:
                was_stopped = self._reset(calls, reason)
            except (OSError, SafegenError) as error:
                raise SafegenError(f'it stays stopped: {error}') from error
        return 'Reset. New goals are accepted.' if was_stopped else 'it was not stopped'

    def _reset(self, calls: int, reason: str) -> bool:
        if not self.state.stopped:
            return False
        if boottime() - self._woke < HELD_UP_S or boottime() - self._looked > HELD_UP_S:
            raise SafegenError(
                'the executor was held up, and this reset may have waited for it: look at the '
                'cell, then reset it again'
            )
        if not self._node.goals.wait_idle(ENDED_S):
            raise SafegenError('the goal that was stopped has not ended yet: reset it later')
        self._rearm()
        self._node.journal.stop(False, reason, time.time())
        was_stopped = self._latch.reset(calls)
        self._publish()
        # The caller sends a goal next, to a node that has to know of it by then. Not every
        # middleware reports it.
        with contextlib.suppress(RuntimeError):
            self._publisher.wait_for_all_acked(Duration(seconds=NEWS_TIMEOUT_S))
        self._node.get_logger().warning('the stop was reset: new goals are accepted')
        return was_stopped

    def _write_down(self, reason: str) -> str:
        """What to add to the answer where a stop cannot be written into the journal."""
        try:
            self._node.journal.stop(True, reason, self.state.time)
        except SafegenError as error:
            self._node.get_logger().error(error.message)
            return f'; but it is in no journal: {error.message}'
        return ''

    def _publish(self) -> None:
        with self._publishing:  # so that the last state is the last message
            message = _message(self.state)
            self._published.append(message)
            self._publisher.publish(message)

    def close(self) -> None:
        """Looks no more, and leaves the store to the next executor; harmless when repeated."""
        self._looks.close()
        if self._socket is not None:
            self._socket.close()
        self._store.close()


def _message(state: Stop) -> StopState:
    return StopState(
        stamp=time_to_msg(int(state.time * 1e9)),
        stopped=state.stopped,
        reason=state.reason,
        count=state.count,
    )


NO_FAULT = frozenset({ErrorCode.NONE, ErrorCode.EXECUTION_TIMEOUT})
"""The plan was executed; or the sender's time budget is over, and the arm holds."""

REFUSED = frozenset({
    ErrorCode.UNSUPPORTED_SCENE, ErrorCode.OUT_OF_REACH, ErrorCode.STATE_MISMATCH,
})  # fmt: skip
"""Before the first observation: the task does not fit the cell, and is not begun."""


def fault_of(outcome: ExecutionOutcome, *, replan: bool, cancelled: bool) -> str:
    """Why an execution that began to move stops the stack; empty where it does not.

    Args:
        replan: whether its sender plans again where the world differs.
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
    """Executes plans: every fault in an execution is a stop, stored before its goal ends."""

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
        return f'{cause}, while a plan was executed' if cause else ''
