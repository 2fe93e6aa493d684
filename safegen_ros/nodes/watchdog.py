# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Signs of life while the arm moves: a sender of goals gives them, the executor asks for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from safegen_msgs.srv import ValidatePlan
from safegen_ros.closing import Closing
from safegen_ros.errors import ErrorCode
from safegen_ros.nodes import diagnostics, qos
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.nodes.diagnostics import Health
from safegen_ros.nodes.heartbeat import Instance
from safegen_ros.nodes.silence import Silence
from safegen_ros.nodes.ticker import Ticker

HEARTBEAT_S = 0.25
"""How often a sender gives a sign of life, and how often the executor looks for them [s]."""

ASK_S = 0.5
"""How often a service is asked [s]."""

LONGEST_LOOK_S = 2 * HEARTBEAT_S
"""How much a look adds to a silence at most [s]: a look that comes late was not idle."""

UNWATCHED = 3
"""So many times its longest silence an execution may go unwatched, by a process that is held up."""

LATELY_S = 1.0
"""For how long a sender counts as heard after a sign of life [s]."""

_KEPT_GOALS = 2048
"""How many senders are remembered of those of whose goals nothing is known here."""


class SignsOfLife:
    """For how long the senders of goals were not heard; see `Silence`.

    Args:
        node: of the listener; its executor must be spinning elsewhere.
    """

    def __init__(self, node: SafegenNode) -> None:
        self._node = node
        self._changed = threading.Lock()
        self._heard: dict[bytes, Silence] = {}
        self._watched: dict[bytes, int] = {}
        node.heartbeats.listen(self._take)

    def _take(self, sender: Instance) -> None:
        for goal in sender.sent:
            self._hear(goal)

    def _hear(self, goal: bytes) -> None:
        with self._changed:
            # Taken out, so that the dictionary is in the order of the last signs.
            silence = self._heard.pop(goal, None) or Silence(LONGEST_LOOK_S)
            silence.hear()
            self._heard[goal] = silence
            while len(self._heard) > _KEPT_GOALS + len(self._watched):
                self._heard.pop(next(old for old in self._heard if old not in self._watched))

    @contextmanager
    def watched(self, goal_id: bytes) -> Iterator[None]:
        """Does not forget the sender of a goal meanwhile, however many others give signs.

        And looks at its silence, however long the thread of the goal is busy with something else.
        """
        with self._changed:
            self._watched[goal_id] = self._watched.get(goal_id, 0) + 1
        try:
            with Ticker(self._node, HEARTBEAT_S, lambda: self._look(goal_id)):
                yield
        finally:
            with self._changed:
                self._watched[goal_id] -= 1
                if not self._watched[goal_id]:
                    del self._watched[goal_id]

    def silent_s(self, goal_id: bytes) -> float:
        """For how long the sender of a goal is silent [s]; 0 where it has never given a sign.

        Of one that is not `watched` it must be asked for more often than every `LONGEST_LOOK_S`.
        """
        with self._changed:
            silence = self._heard.get(goal_id)
            return 0.0 if silence is None else silence.seconds()

    def _look(self, goal_id: bytes) -> None:
        self.silent_s(goal_id)


class Watchdog:
    """Tells when the sender of a goal, or the validator, falls silent during its execution.

    A sender that has never given a sign of life, such as the `ros2` command, is not expected to;
    and no validator is, where none was there when the execution began.

    Args:
        node: the executor node.
        stop: told the reason, in a thread of its own.

    Attributes:
        timeout_s: longest silence [s].
    """

    def __init__(self, node: SafegenNode, stop: Callable[[str], object]) -> None:
        self.timeout_s = 4.0
        self._stop = stop
        self._signs = SignsOfLife(node)
        self._silence_s: float | None = None
        self._validator: Any = node.create_client(
            ValidatePlan, 'validate_plan', qos_profile=qos.REQUESTS, callback_group=node.group
        )

    def health(self) -> Health:
        """How long those are silent that must not be, while a plan is executed."""
        silence = self._silence_s
        if silence is None:
            return Health('heartbeat', diagnostics.OK, 'nobody is waited for')
        late = silence > self.timeout_s / 2
        return Health(
            'heartbeat',
            diagnostics.WARN if late else diagnostics.OK,
            f'last sign of life {silence:.1f} s ago, of at most {self.timeout_s:g} s',
            {'silence [s]': f'{silence:.1f}', 'timeout [s]': self.timeout_s},
        )

    @contextmanager
    def watching(self, goal_id: bytes) -> Iterator[None]:
        """Watches while the goal is executed."""
        ended = threading.Event()
        watch = threading.Thread(target=self._watch, args=(goal_id, ended), name='watchdog')
        watch.start()
        try:
            with self._signs.watched(goal_id):
                yield
        finally:
            ended.set()
            watch.join()
            self._silence_s = None

    def _watch(self, goal_id: bytes, ended: threading.Event) -> None:
        refused = ErrorCode.VALIDATOR_UNAVAILABLE
        asked = Asked(self._validator, ValidatePlan.Request, refused)
        looked = time.monotonic()
        while not ended.wait(HEARTBEAT_S):
            before, looked = looked, time.monotonic()
            if looked - before > UNWATCHED * self.timeout_s:
                self._stop(
                    f'nobody has watched the execution for {looked - before:.0f} s, in which the '
                    'executor was held up'
                )
                break
            sender = self._signs.silent_s(goal_id)
            validator = asked.silent_s()
            self._silence_s = max(sender, validator)
            if sender > self.timeout_s:
                self._stop(
                    f'the sender of the goal was not heard for {self.timeout_s:g} s while it was '
                    'executed'
                )
                break
            if validator > self.timeout_s:
                self._stop(
                    f'the validator did not answer for {self.timeout_s:g} s while a plan was '
                    'executed'
                )
                break
        asked.close()


class Asked(Closing):
    """Asks a service about nothing, over and over: only a live one refuses that.

    Args:
        client: of the service, whose answers have an `error_code`. Where the service is not there
            at the beginning, none of its answers is expected.
        request: makes a request about nothing.
        inactive: the code of a server that is there and does no work.
    """

    def __init__(self, client: Any, request: Callable[[], Any], inactive: ErrorCode) -> None:
        self._client = client
        self._request = request
        self._inactive = inactive
        self._expected = client.service_is_ready()
        self._silence = Silence(LONGEST_LOOK_S)
        self._sent = time.monotonic()
        self._pending: list[Any] = []

    def silent_s(self) -> float:
        """For how long no answer has come [s]; asks again when it is time.

        An answer that comes late is a sign of life as any other.
        """
        if not self._expected:
            return 0.0
        answered = [place for place, each in enumerate(self._pending) if each.done()]
        if answered:
            if any(self._pending[i].result().error_code != self._inactive for i in answered):
                self._silence.hear()
            # What was asked before and has no answer yet will have none, or tell nothing new.
            self._drop(answered[-1] + 1)
        now = time.monotonic()
        if now - self._sent >= ASK_S:
            self._pending.append(self._client.call_async(self._request()))
            self._sent = now
        return self._silence.seconds()

    def close(self) -> None:
        """Gives up the answers that are awaited."""
        self._drop(len(self._pending))

    def _drop(self, count: int) -> None:
        for each in self._pending[:count]:
            if not each.done():
                self._client.remove_pending_request(each)
        del self._pending[:count]
