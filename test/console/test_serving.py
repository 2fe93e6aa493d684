# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Messages that other threads write while viewers wait for them."""

from __future__ import annotations

import asyncio
import threading

from support.waiting import WAIT_S
from viser.infra._async_message_buffer import AsyncMessageBuffer

from safegen_ros.console.access import Gate
from safegen_ros.console.serving import Wakened, serve


def test_the_server_waits_for_messages_of_any_thread() -> None:
    server = serve(Gate('127.0.0.1'), 0)
    try:
        again = serve(Gate('127.0.0.1'), 0)
        again.stop()
        buffer = server._websock_server._broadcast_buffer
        assert isinstance(buffer, AsyncMessageBuffer)
        assert isinstance(buffer.message_event, Wakened)
    finally:
        server.stop()


def test_those_who_wait_are_woken_in_their_loop_alone() -> None:
    """However they come and go while another thread sets the event."""
    rounds = 300
    failed: list[BaseException] = []

    async def all_of_it() -> None:
        event, loop = Wakened(), asyncio.get_running_loop()
        over = threading.Event()

        def write() -> None:
            try:
                while not over.is_set():
                    event.set()
                    loop.call_soon_threadsafe(event.set)
                    over.wait(1e-4)
            except BaseException as error:
                failed.append(error)

        async def view() -> None:
            for _ in range(rounds):
                await event.wait()
                event.clear()

        writer = threading.Thread(target=write)
        writer.start()
        try:
            await asyncio.wait_for(asyncio.gather(*(view() for _ in range(20))), WAIT_S)
        finally:
            over.set()
            writer.join()

    asyncio.run(all_of_it())
    assert not failed


def test_nobody_is_woken_from_outside() -> None:
    async def wait() -> tuple[bool, bool]:
        event = Wakened()
        waiting = asyncio.create_task(event.wait())
        await asyncio.sleep(0)
        setter = threading.Thread(target=event.set)
        setter.start()
        setter.join()
        await asyncio.sleep(0)
        before = waiting.done()
        event.set()
        await waiting
        return before, event.is_set()

    assert asyncio.run(wait()) == (False, True)
