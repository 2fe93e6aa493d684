# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a client is told of a rejected goal, from what it has heard of stops and resets."""

from __future__ import annotations

import threading
import time

import pytest

from safegen_msgs.msg import StopState
from safegen_ros.client import Client
from safegen_ros.nodes import qos, stopping
from safegen_ros.nodes.stopping import TOPIC, StopListener

JUST_NOW_S = 600.0
"""In place of the 5 s that a busy machine may take from the sending to the judging."""
OTHER = 'another goal is running; wait or cancel it'


@pytest.mark.parametrize(
    ('state', 'age_s', 'told'),
    [
        ((True, 'a hand in the cell', 1), 0.0, 'the stack is stopped: a hand in the cell: '),
        ((True, 'a hand in the cell', 1), 3600.0, 'the stack is stopped: a hand in the cell: '),
        ((False, '', 1), 0.0, f'the news of the reset came after it: send it again; or {OTHER}'),
        ((False, '', 1), JUST_NOW_S + 1.0, OTHER),
        ((False, '', 0), 0.0, OTHER),
    ],
)
def test_a_rejection_is_explained_by_the_last_news(
    ros_domain: int,
    monkeypatch: pytest.MonkeyPatch,
    state: tuple[bool, str, int],
    age_s: float,
    told: str,
) -> None:
    monkeypatch.setattr(stopping, 'JUST_NOW_S', JUST_NOW_S)
    stopped, reason, count = state
    message = StopState(stopped=stopped, reason=reason, count=count)
    since = time.time() - age_s
    message.stamp.sec, message.stamp.nanosec = int(since), int(since % 1 * 1e9)
    with Client() as executor, Client() as client:
        executor.node.create_publisher(StopState, TOPIC, qos.LATCHED).publish(message)
        listener = StopListener(client.node)
        assert listener.wait(60.0) is not None
        assert listener.why_rejected().startswith(told)


def test_the_news_of_a_reset_that_is_here_is_read_before_a_goal_is_refused(
    ros_domain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client() as executor, Client() as client:
        publisher = executor.node.create_publisher(StopState, TOPIC, qos.LATCHED)
        publisher.publish(StopState(stopped=True, reason='a hand in the cell', count=1))
        listener = StopListener(client.node)
        assert listener.wait(60.0) is not None
        assert listener.still().startswith('a hand in the cell')
        asked: list[str] = []
        monkeypatch.setattr(stopping, 'HERE_S', 60.0)
        goal = threading.Thread(target=lambda: asked.append(listener.still()))
        goal.start()
        publisher.publish(StopState(stopped=False, count=1))
        goal.join()
    assert asked == ['']


def test_the_first_news_may_take_longer_than_that_of_a_change(
    ros_domain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that is new finds the executor only when a goal of it was rejected."""
    waited: list[float] = []
    with Client() as client:
        listener = StopListener(client.node)

        def wait(timeout_s: float) -> None:
            waited.append(timeout_s)
            listener._take(StopState(stopped=True, reason='a hand in the cell', count=1))

        monkeypatch.setattr(stopping, 'FIRST_NEWS_S', 3.0)
        monkeypatch.setattr(listener, 'wait', wait)
        assert listener.why_rejected().startswith('the stack is stopped: a hand in the cell: ')
    assert waited == [3.0]
