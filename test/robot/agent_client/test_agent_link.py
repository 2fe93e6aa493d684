# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""When this end of a link takes the agent for dead: a channel by a script, and its clock."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from support import waiting

from safegen_ros.robot.agent.messages import VERSION, encode
from safegen_ros.robot.agent_client import agent_link
from safegen_ros.robot.agent_client.agent_link import AgentLink
from safegen_ros.robot.agent_client.channel import LOOK_S, Channel, LocalAgent
from safegen_ros.sync import Deadline

HELLO = encode({'event': 'hello', 'version': VERSION, 'limits': {}})
BEAT = encode({'event': 'beat'})


class ScriptedChannel:
    """An agent that says what a script has, and then nothing.

    A look takes its time of the script, or `LOOK_S`; one that does not wait finds what is due.
    """

    def __init__(self, script: list[tuple[float, bytes | None]]) -> None:
        self.now = 0.0
        self._script = itertools.chain(script, itertools.repeat((LOOK_S, None)))

    def receive(self, wait: bool) -> bytes | None:
        seconds, data = next(self._script)
        self.now += seconds if wait or data is not None else 0.0
        return data

    def send(self, data: bytes) -> None:
        pass

    def errors(self) -> str:
        return ''

    def cut(self) -> None:
        pass


class ScriptedAgent(LocalAgent):
    def open(self) -> Channel:
        return channel_of[self.name]


channel_of: dict[str, ScriptedChannel] = {}


@pytest.mark.parametrize(('link_timeout_s', 'limit_s'), [(0.35, 1.0), (2.0, 4.0)])
def test_silence_ends_the_link_and_what_lies_there_is_read_first(
    monkeypatch: pytest.MonkeyPatch, link_timeout_s: float, limit_s: float
) -> None:
    """This process was held up for 9 s, and finds heartbeats: the agent has gone on."""
    channel = ScriptedChannel([(0.0, HELLO), *[(9.0, None), (0.0, BEAT)] * 3])
    channel_of['arm'] = channel
    monkeypatch.setattr(
        agent_link, 'Deadline', lambda seconds: Deadline(seconds, lambda: channel.now)
    )
    address = replace(ScriptedAgent('arm'), link_timeout_s=link_timeout_s)
    link = AgentLink(address, lambda sample: None)
    waiting.wait_until(lambda: bool(link.lost), 'the end of the link')
    assert link.lost == f'nothing was heard for {limit_s:g} s'
    assert limit_s <= channel.now - 3 * 9.0 < limit_s + 2 * LOOK_S + 1e-6
