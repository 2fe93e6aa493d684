# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Sends an operator's goals as any other client does, and keeps their records."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from safegen_msgs.action import PlanTask
from safegen_ros.client import Client, Goal, Options
from safegen_ros.console import state
from safegen_ros.console.choices import Chosen
from safegen_ros.console.link import StackLink
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.goals.recorder import RunRecorder, RunStage, planned
from safegen_ros.goals.request import IN_WORDS, TranslatedRequest, check_goal_options
from safegen_ros.paths import new_run_dir, runs_dir
from safegen_ros.record.signatures import shown_request
from safegen_ros.ros.actions import ActionResult
from safegen_ros.sync import Closing
from safegen_ros.tasks.pddl3.formats import WORDS

LEAVE_S = 20.0
"""How long a goal of this console may take to end when the console does [s]."""


class Sender(Closing):
    """Sends one goal at a time, each followed in a separate thread.

    Args:
        link: by which goals are shown as ours, and cancelled.
        tell: told what an operator should know: a line, and whether it is bad.
    """

    def __init__(
        self,
        client: Client,
        link: StackLink,
        tell: Callable[[str, bool], None],
    ) -> None:
        self._client, self._link = client, link
        self._tell = tell
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._sent: tuple[str, str] | None = None  # action and goal

    @property
    def busy(self) -> bool:
        """Whether a goal of this console has not ended."""
        return self._thread is not None and self._thread.is_alive()

    def run(
        self, chosen: Chosen, options: Options, spoken: TranslatedRequest | None = None
    ) -> None:
        """Has a task planned, proved and executed; returns at once.

        Raises:
            SafegenError: an option is wrong, or a goal of this console has not ended.
        """
        check_goal_options(options)
        self._begin(lambda: self._run(chosen, options, spoken))

    def plan(self, chosen: Chosen, options: Options) -> None:
        """Has a task planned and proved, and nothing moved; as `run`."""
        check_goal_options(options)
        self._begin(lambda: self._plan(chosen, options))

    def understand(
        self,
        words: str,
        world: Chosen,
        options: Options,
        done: Callable[[Chosen, TranslatedRequest], None],
    ) -> None:
        """Has a request in words translated, and nothing planned; as `run`.

        Args:
            world: its objects and its initial state are those of the request.
            done: gets the problem, just as it would be sent, and the facts to record about it.
        """
        self._begin(lambda: self._understand(words, world, options, done))

    def _begin(self, work: Callable[[], None]) -> None:
        with self._lock:
            if self.busy:
                raise SafegenError('a goal of this console has not ended: wait, or cancel it')
            self._thread = threading.Thread(
                target=self._guarded, args=(work,), name='console goal', daemon=True
            )
            self._thread.start()

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except SafegenError as error:
            self._tell(f'{error.code.name}: {error.message}', True)
        finally:
            self._sent = None

    def _announce(self, action: str, id: str) -> None:
        self._sent = (action, id)
        self._link.goals.sent(id)

    def _plan(self, chosen: Chosen, options: Options) -> None:
        task = chosen.task
        goal = self._client.start_plan(
            task.problem_text, chosen.domain_text, options, format=task.format
        )
        self._announce(state.PLAN, goal.id)
        _shown(goal.result(), self._tell)

    def _understand(
        self,
        words: str,
        world: Chosen,
        options: Options,
        done: Callable[[Chosen, TranslatedRequest], None],
    ) -> None:
        from safegen_ros.tasks.planetarium.request import read_request

        start = world.task.problem_pddl
        read_request(words, world.domain_text, '', start)  # here its errors have their places
        asked = replace(options, start=start, translate_only=True)

        def send() -> Goal[PlanTask.Result]:
            goal = self._client.start_plan(words, world.domain_text, asked, format=WORDS)
            self._announce(state.PLAN, goal.id)
            return goal

        result, events = planned(self._client, send, lambda event, record: None)
        if result.error_code != ErrorCode.NONE:
            self._tell(f'{ErrorCode(result.error_code).name}: {result.error_msg}', True)
            return
        task, spoken = TranslatedRequest.of(words, world.domain_text, asked, result, events)
        done(Chosen(task, world.domain_text, IN_WORDS), spoken)

    def _run(self, chosen: Chosen, options: Options, spoken: TranslatedRequest | None) -> None:
        task, began = chosen.task, time.monotonic()
        if spoken is not None:
            shown = shown_request(spoken.task.problem, spoken.understood.question)
            options = replace(options, request=shown)
        folder = new_run_dir(runs_dir())
        with RunRecorder(folder, task, chosen.source, chosen.domain_text, spoken) as session:
            try:
                with session.connected(self._client):
                    session.stage = RunStage.SENDING
                    goal = self._client.start_run(
                        task.problem_text,
                        chosen.domain_text,
                        options,
                        format=task.format,
                    )
                    session.accepted(goal.id)
                    self._announce(state.RUN, goal.id)
                    result = goal.result()
                    session.finish(result)
                if result.error_code == ErrorCode.NONE:
                    session.look(task, result.final_state)
            except SafegenError as error:
                session.end(error.code, error.message)
                raise
            finally:
                session.stop_listening()
                session.keep(time.monotonic() - began)
        _shown(result, self._tell)

    def close(self) -> None:
        """Cancels the goal of this console, if one goes on, and waits for its end."""
        thread, sent = self._thread, self._sent
        if thread is None or not thread.is_alive():
            return
        if sent is not None:
            try:
                self._link.cancel(*sent)
            except SafegenError as error:
                self._tell(f'the goal could not be cancelled: {error.message}', True)
        thread.join(LEAVE_S)


def _shown(result: ActionResult, tell: Callable[[str, bool], None]) -> None:
    """Reports how a goal ended."""
    code = ErrorCode(result.error_code)
    if code is ErrorCode.NONE:
        tell('the goal succeeded', False)
    elif code is ErrorCode.APPROVAL_REFUSED:
        pass  # the person who refused knows it
    elif code in (ErrorCode.EXECUTION_STOPPED, ErrorCode.PLANNING_STOPPED):
        tell(f'{code.name}: the goal was stopped; look at the cell, then press Reset', True)
    else:
        tell(f'{code.name}: {result.error_msg}', True)
