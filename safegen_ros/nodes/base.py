# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The base of the three nodes: goals, commands, site file, journal and diagnostics."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from rclpy.action import CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.parameter import Parameter as ROSParameter
from rclpy.service import Service
from rclpy.type_support import Msg, Srv, SrvRequestT, SrvResponseT

from safegen_msgs import msg
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.keys.authority import Role
from safegen_ros.node_parameters import SITE_FILE, Parameter
from safegen_ros.nodes.admission import BoundTasks, CommandServer, parameters_of
from safegen_ros.nodes.goal_journal import GoalJournal
from safegen_ros.paths import data_path
from safegen_ros.record.events import Event
from safegen_ros.ros import diagnostics, qos
from safegen_ros.ros.actions import ActionResult
from safegen_ros.ros.calls import check_texts
from safegen_ros.ros.diagnostics import Diagnostics, Health
from safegen_ros.ros.lifecycle import ManagedNode
from safegen_ros.ros.liveness import HeartbeatPublisher
from safegen_ros.ros.rclpy_compat import GoalServer, await_canceling
from safegen_ros.ros.stack_state import Interruption
from safegen_ros.sync import GoalQueue
from safegen_ros.tasks.site import Site, load_site, require_unchanged

CLOSE_TIMEOUT_S = 3.0
"""How long each part of a node's end may take [s]."""

Goal = TypeVar('Goal', bound=Msg)
Result = TypeVar('Result', bound=ActionResult)
Response = TypeVar('Response', bound=ActionResult)

_CANCELED = (ErrorCode.PLANNING_CANCELED, ErrorCode.EXECUTION_CANCELED)


class SafegenNode(ManagedNode):
    """A node that takes goals while its queue has room, and ends them when it is deactivated.

    Attributes:
        UNAVAILABLE: the error code of a goal or request while the node is not active.
        interruption: what ends this process, or deactivates the node.
        goals: queue of one running goal and no waiting one, unless a node sets another one.
        journal: of all goals; written before anything is published.
        bound: reads tasks with the rules of the site.
    """

    UNAVAILABLE: ClassVar[ErrorCode] = ErrorCode.GOAL_REJECTED

    def __init__(self, name: str, parameters: tuple[Parameter, ...]) -> None:
        super().__init__(name, parameters)
        self.interruption = Interruption(self)
        self.goals = GoalQueue(running=1, waiting=0)
        self.journal = GoalJournal(self, lambda: self.site)
        self.diagnostics = Diagnostics(self, self.hardware)
        self.diagnostics.add(self._state_health, self.site_health)
        self.site, self._site_file = Site(), Path()
        self.bound = BoundTasks(self.site)
        self.commands = CommandServer(self, lambda: self.site)
        self.commands.add('set_parameters', Role.ENGINEER, self._set_signed)
        for name in ('configure', 'activate'):
            self.commands.add(name, Role.ENGINEER, partial(self._lead, name))
        self._servers_of_goals: list[GoalServer] = []
        self._offered: dict[str, Service[Any, Any]] = {}
        self.heartbeat = HeartbeatPublisher(
            self, lambda: self.state, self._served, self.heartbeats.look
        )

    def serve(
        self,
        kind: Any,
        name: str,
        execute: Callable[[ServerGoalHandle[Goal, Result, Any]], Result],
        cancel: Callable[[ServerGoalHandle[Goal, Result, Any]], CancelResponse] | None = None,
    ) -> GoalServer:
        """Offers an action; a goal that must not run is accepted and ends at once with the reason.

        Args:
            execute: does a goal's work, and returns its result.
            cancel: asked before a goal is cancelled; every one may be by default.
        """

        def accepted(goal_handle: ServerGoalHandle[Goal, Result, Any]) -> None:
            try:
                self.admit(goal_handle.request)
            except SafegenError as error:
                code, message = error.code, error.message
                goal_handle.execute(lambda _: self._end(goal_handle, kind.Result(), code, message))
            else:
                goal_handle.execute()

        server = GoalServer(
            self,
            kind,
            name,
            execute,
            callback_group=self.group,
            handle_accepted_callback=accepted,
            cancel_callback=cancel or self.accept_cancel,
        )
        self._servers_of_goals.append(server)
        return server

    def offer(
        self,
        kind: type[Srv],
        name: str,
        serve: Callable[[SrvRequestT, SrvResponseT], SrvResponseT],
    ) -> None:
        """Offers a service, once; it stays there from now on, and refuses while inactive."""
        if name not in self._offered:
            group = self.group
            self._offered[name] = self.create_service(
                kind, name, serve, qos_profile=qos.REQUESTS, callback_group=group
            )

    def _served(self) -> list[bytes]:
        return [goal for server in self._servers_of_goals for goal in server.open_goals()]

    def unsigned(self, what: str) -> str:
        """Why an unsigned call is refused; empty where it is not."""
        return self.commands.unsigned(what)

    def load_site(self) -> None:
        """Reads the site file; call it when the node is configured."""
        self.site = Site()
        if file := self.values[SITE_FILE.name]:
            self._site_file = data_path(file)
            self.site = load_site(self._site_file)
            self.get_logger().info(f'site file {file}, digest {self.site.digest}')
        self.bound = BoundTasks(self.site, self.get_logger().info)
        if self.site.senders is not None and not self.commands.required:
            raise SafegenError(
                f'{file}: senders: without operators_file the sender of a goal is unknown: '
                'set operators_file, or take senders out'
            )

    def check_site(self) -> None:
        """Raises `SafegenError` (`SITE_REFUSED`) where the site file has changed since."""
        if self.site.digest:
            require_unchanged(self.site, self._site_file)

    def site_health(self) -> Health:
        """The site file that binds every goal."""
        digest, keys = self.site.digest, self.commands.required
        try:
            self.check_site()
        except SafegenError as error:
            return Health('site', diagnostics.ERROR, error.message, {'digest': digest})
        text = f'site file of digest {digest}' if digest else 'no site file'
        keyed = 'goals and commands must be signed' if keys else 'no signature is required'
        return Health('site', diagnostics.OK, f'{text}; {keyed}', {'digest': digest})

    def _set_signed(self, by: str, argument: str) -> str:
        values = parameters_of(argument)
        doubles = {each.name for each in self._declared if type(each.default) is float}
        changes = [
            ROSParameter(name, value=float(value) if name in doubles else value)
            for name, value in values.items()
        ]
        with self.trusted():
            done = self.set_parameters_atomically(changes)
        if not done.successful:
            raise SafegenError(f'the parameters were not set: {done.reason}')
        self.get_logger().warning(f'{by or "somebody"} has set {argument}')
        return f'set {" ".join(values)}'

    def _lead(self, name: str, by: str, argument: str) -> str:
        before, wanted = {
            'configure': ('unconfigured', 'inactive'),
            'activate': ('inactive', 'active'),
        }[name]
        if self.state != before:
            raise SafegenError(f'the {self.get_name()} is {self.state}, not {before}')
        with self.trusted():
            getattr(self, f'trigger_{name}')()
        if self.state != wanted:
            raise SafegenError(self.failure or f'it is {self.state}')
        return f'the {self.get_name()} is {wanted}'

    def hardware(self) -> str:
        """Model or cell of the node, for its diagnostics."""
        return ''

    def _state_health(self) -> Health:
        if self.failure:
            return Health('state', diagnostics.ERROR, f'{self.state}: {self.failure}')
        active = not self.inactive.is_set()
        level = diagnostics.OK if active else diagnostics.WARN
        return Health('state', level, self.state if active else f'{self.state}: takes no work')

    def goals_health(self) -> Health:
        """Number of goals, and whether the queue has room."""
        here, room = self.goals.here, self.goals.room
        full = here >= room > 1
        return Health(
            'goals',
            diagnostics.WARN if full else diagnostics.OK,
            f'{here} of at most {room} run or wait' + (': more are refused' if full else ''),
            {'goals': here, 'room': room},
        )

    def admit(self, goal: object) -> None:
        """Keeps room for a new goal, which ends at once where this raises `SafegenError`."""
        self.require_active()
        self.room_for(goal)

    def require_active(self) -> None:
        """Raises `SafegenError` (`UNAVAILABLE`) while the node is not active."""
        if self.inactive.is_set():
            name = self.get_name()
            raise SafegenError(
                f"the {name} is {self.state}: activate it ('ros2 lifecycle set {name} activate')",
                self.UNAVAILABLE,
            )

    def room_for(self, goal: object) -> None:
        """Keeps room for a goal; raises `SafegenError` where there is none."""
        self.goals.enter()

    def serve_goal(
        self,
        goal: ServedGoal[Goal, Result],
        begin: Callable[[], None],
        work: Callable[[], None],
    ) -> Result:
        """Does the work of an accepted goal, and brings the goal to its one end.

        Args:
            goal: the goal; the errors of its result are filled in.
            begin: writes the goal into the journal first; an error there ends the goal.
            work: fills in the rest of the result, or raises the error. It takes its turn itself.
        """
        with ExitStack() as here:
            here.callback(self.goals.leave)

            def served() -> None:
                begin()
                check_texts(goal.request)
                self.check_site()
                work()

            code, message = self._done(served, goal.explain)
            if code in _CANCELED and not goal.handle.is_cancel_requested:
                if self.inactive.is_set():
                    message = f'{message}: {self.interruption.cause()}'
                else:
                    await_canceling(goal.handle)
            code, message = self._written(goal, code, message)
            return self._end(goal.handle, goal.result, code, message)

    def _written(
        self, goal: ServedGoal[Goal, Result], code: ErrorCode, message: str
    ) -> tuple[ErrorCode, str]:
        """Writes the end of a goal; a goal without its end in the journal has failed."""
        try:
            self.journal.end(goal.handle, goal.result, goal.plan, code, message)
            return code, message
        except SafegenError as error:
            failed, why = error.code, error.message
        except Exception as error:
            failed, why = self.unexpected(error)
        if code is failed:
            self.journal.owe(goal.handle, code, message)
            return code, message
        ended = f'{code.name}: {message}' if message else code.name
        message = f'{why}; not written down: the goal ended with {ended}'
        self.journal.owe(goal.handle, failed, message)
        return failed, message

    def answered(self, request: Msg, response: Response, work: Callable[[], None]) -> Response:
        """The response of a service, which `work` fills in or refuses by a `SafegenError`.

        It is refused while the node is not active. Every error must get into it: an empty response
        has the error code 0, and reads as success.
        """

        def answer() -> None:
            self.require_active()
            check_texts(request)
            work()

        code, response.error_msg = self._done(answer)
        response.error_code = int(code)
        return response

    def _done(
        self,
        work: Callable[[], None],
        explain: Callable[[SafegenError], SafegenError] = lambda error: error,
    ) -> tuple[ErrorCode, str]:
        """How some work ended."""
        try:
            work()
        except SafegenError as error:
            explained = explain(error)
            return explained.code, explained.message
        except Exception as error:
            return self.unexpected(error)
        return ErrorCode.NONE, ''

    def accept_cancel(self, goal_handle: object) -> CancelResponse:
        """Every goal can be cancelled in every phase."""
        return CancelResponse.ACCEPT

    def _end(
        self,
        goal_handle: ServerGoalHandle[Goal, Result, Any],
        result: Result,
        code: ErrorCode,
        message: str,
    ) -> Result:
        """Brings a goal to its one terminal state, and fills in its errors."""
        result.error_code, result.error_msg = int(code), message
        if code is ErrorCode.NONE:
            goal_handle.succeed()
        elif goal_handle.is_cancel_requested:
            goal_handle.canceled()
        else:
            self.get_logger().error(f'{code.name}: {message}')
            goal_handle.abort()
        return result

    def halt(self) -> None:
        """Stops all motion at once; everything else ends by `inactive`."""

    def end(self) -> None:
        """Does the last transition, and ends heartbeat and diagnostics."""
        super().end()
        for server in self._servers_of_goals:
            server.join(CLOSE_TIMEOUT_S)
        self.heartbeat.close()
        self.diagnostics.close()

    def deactivate(self) -> None:
        """Ends the goals, each with an answer to its client."""
        self.halt()
        if not self.goals.wait_idle(CLOSE_TIMEOUT_S):
            raise SafegenError(f'a goal has not ended within {CLOSE_TIMEOUT_S:g} s')


class ServedGoal(Generic[Goal, Result]):
    """A goal that a node works on.

    Args:
        result: of its action; filled in on the way.

    Attributes:
        id: of the goal, of its message.
        key: the same as bytes.
    """

    def __init__(
        self, node: SafegenNode, handle: ServerGoalHandle[Goal, Result, Any], result: Result
    ) -> None:
        self.handle, self.id, self.request, self.result = (
            handle, handle.goal_id, handle.request, result,
        )  # fmt: skip
        self.key = bytes(self.id.uuid)
        self._node = node

    @property
    def plan(self) -> msg.Plan:
        """The plan that the goal is about, for the journal."""
        raise NotImplementedError

    def explain(self, error: SafegenError) -> SafegenError:
        """The error that the client gets for the one that ended the goal."""
        return error

    def note(self, *events: Event) -> None:
        """Writes down what happens, before it is published."""
        self._node.journal.note(self.handle, *events)

    def publish(self, feedback: Msg) -> None:
        """Reports to the client how far the goal is."""
        handle: Any = self.handle  # rclpy declares the message around the feedback instead
        handle.publish_feedback(feedback)
