# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""When this end of a link takes the agent for dead: a channel by a script, and its clock."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
import waiting

from safegen_ros import watched_time
from safegen_ros.robot.agent.messages import VERSION, encode
from safegen_ros.robot.agent_client import agent_link
from safegen_ros.robot.agent_client.agent_link import SEND_TIMEOUT_S, AgentLink
from safegen_ros.robot.agent_client.ssh_link import SshAddress

HELLO = encode({'event': 'hello', 'version': VERSION, 'folder': '/tmp', 'limits': []})
BEAT = encode({'event': 'beat'})


@pytest.mark.parametrize(('link_timeout_s', 'limit_s'), [(0.35, 1.0), (2.0, 4.0)])
def test_only_silence_that_was_looked_on_at_ends_the_link(
    monkeypatch: pytest.MonkeyPatch, link_timeout_s: float, limit_s: float
) -> None:
    """A look that is held up for 9 s times out, though a sign of life lies there since long."""
    now = [0.0]
    monkeypatch.setattr(watched_time, 'time', SimpleNamespace(monotonic=lambda: now[0]))
    held_up = [(9.0, None), (0.0, BEAT)] * 3
    script: Iterable[tuple[float, bytes | None]] = itertools.chain(
        [(0.0, HELLO)], held_up, itertools.repeat((SEND_TIMEOUT_S, None))
    )
    looks = iter(script)

    def recv(size: int) -> bytes:
        seconds, data = next(looks)
        now[0] += seconds
        if data is None:
            raise TimeoutError
        return data

    client = MagicMock()
    channel = client.get_transport().open_session()
    channel.recv = recv
    channel.recv_stderr_ready.return_value = False
    monkeypatch.setattr(agent_link, 'connect', lambda address: client)
    address = SshAddress(
        'arm', 'somebody', Path('key'), Path('known_hosts'), link_timeout_s=link_timeout_s
    )
    link = AgentLink(address, lambda sample: None)
    waiting.wait_until(lambda: bool(link.lost), 'the end of the link')
    assert link.lost == f'nothing was heard for {limit_s:g} s'
    assert limit_s < now[0] - 3 * 9.0 < limit_s + 2 * SEND_TIMEOUT_S + 1e-6
