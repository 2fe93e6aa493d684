# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who is let in: the rule by itself, and in front of a real server of viser."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import http.client
import logging
import socket
import string
import subprocess
import sys
import threading
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import viser
from hypothesis import given
from hypothesis import strategies as st
from viser.infra._async_message_buffer import AsyncMessageBuffer
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from safegen_ros.console import viser_workarounds
from safegen_ros.console.access import Gate, is_loopback, read_token, serve
from safegen_ros.console.viser_workarounds import Wakened
from safegen_ros.errors import SafegenError

TOKEN = 'a-token-of-24-characters'
PROTOCOL = f'viser-v{viser.__version__}'


@pytest.mark.parametrize('host', ['0.0.0.0', '::', '192.168.1.7', 'arm.lab', ''])
def test_nothing_but_loopback_is_served_without_a_token(host: str) -> None:
    with pytest.raises(SafegenError, match='--token-file'):
        Gate(host)
    assert Gate(host, TOKEN).token == TOKEN


@pytest.mark.parametrize('host', ['127.0.0.1', 'localhost', '::1', '127.0.0.5'])
def test_loopback_needs_no_token(host: str) -> None:
    assert is_loopback(host)
    assert Gate(host).refusal('/', {'host': '127.0.0.1:8765'}) is None


def test_a_token_is_not_too_short_and_is_never_shown() -> None:
    with pytest.raises(SafegenError, match='at least 16'):
        Gate('0.0.0.0', 'secret')
    assert TOKEN not in repr(Gate('0.0.0.0', TOKEN))


@pytest.mark.parametrize(
    'headers',
    [
        {'host': 'evil.example'},  # a name that was made to lead here
        {},
        {'host': '127.0.0.1:8765', 'origin': 'http://evil.example'},
        {'host': '127.0.0.1:8765', 'origin': 'http://127.0.0.1:9999'},
        {'host': '127.0.0.1:8765', 'origin': 'null'},
    ],
)
def test_a_page_of_another_site_is_not_let_in(headers: dict[str, str]) -> None:
    found = Gate('127.0.0.1').refusal('/', headers)
    assert found is not None
    assert found.status is HTTPStatus.FORBIDDEN


@given(
    path=st.text(string.printable, max_size=60),
    cookie=st.text(string.printable, max_size=60),
    host=st.sampled_from(['arm.lab:8765', '10.0.0.2:8765']),
)
def test_nobody_guesses_the_way_in(path: str, cookie: str, host: str) -> None:
    found = Gate('0.0.0.0', TOKEN).refusal(f'/?token={path}', {'host': host, 'cookie': cookie})
    assert found is not None
    assert not dict(found.headers).get('Set-Cookie')


def test_a_token_comes_from_a_file_that_others_cannot_read(tmp_path: Path) -> None:
    file = tmp_path / 'token'
    file.write_text(f' {TOKEN}\n')
    file.chmod(0o644)
    with pytest.raises(SafegenError, match='chmod 600'):
        read_token(file)
    file.chmod(0o600)
    assert read_token(file) == TOKEN
    file.write_text('\n')
    with pytest.raises(SafegenError, match='no token'):
        read_token(file)
    with pytest.raises(SafegenError, match='cannot be read'):
        read_token(tmp_path / 'nowhere')


@pytest.fixture(scope='module')
def port() -> Iterator[int]:
    """Of a server with a token, reached by a name that is not a loopback."""
    server = serve(Gate('0.0.0.0', TOKEN), 0)
    yield server.get_port()
    server.stop()


def get(port: int, path: str, **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=30)
    connection.request('GET', path, headers=headers)
    return connection.getresponse()


def test_without_the_token_there_is_no_page_and_no_message(port: int) -> None:
    for path in ('/', '/index.html', '/?token=', f'/?token={TOKEN[:-1]}', '/../token'):
        answer = get(port, path)
        assert answer.status == HTTPStatus.UNAUTHORIZED, path
        assert b'html' not in answer.read()
    with pytest.raises(InvalidStatus) as refused:
        connect(f'ws://127.0.0.1:{port}/', subprotocols=[PROTOCOL])
    assert refused.value.response.status_code == HTTPStatus.UNAUTHORIZED


def test_a_request_of_no_browser_prints_no_traceback(port: int, caplog: Any) -> None:
    with socket.create_connection(('127.0.0.1', port), timeout=30) as connection:
        connection.sendall(b'HEAD / HTTP/1.1\r\n\r\n')
        connection.makefile().read()
    assert not caplog.records
    error = ValueError('a fault of ours')
    logging.getLogger('websockets.server').error('connection handler failed', exc_info=error)
    assert len(caplog.records) == 1


def test_the_token_is_taken_once_and_a_cookie_after_that(port: int) -> None:
    first = get(port, f'/?token={TOKEN}')
    assert (first.status, first.getheader('Location')) == (HTTPStatus.SEE_OTHER, '/')
    cookie = str(first.getheader('Set-Cookie'))
    assert 'HttpOnly' in cookie
    assert 'SameSite=Strict' in cookie
    assert TOKEN not in cookie
    known = cookie.partition(';')[0]
    page = get(port, '/', Cookie=known)
    assert page.status == HTTPStatus.OK
    assert "frame-ancestors 'none'" in str(page.getheader('Content-Security-Policy'))
    assert page.getheader('X-Frame-Options') == 'DENY'
    url = f'ws://127.0.0.1:{port}/'
    with connect(url, subprotocols=[PROTOCOL], additional_headers={'Cookie': known}) as open_one:
        assert open_one.recv(timeout=30)
    with pytest.raises(InvalidStatus) as refused:
        connect(
            url, subprotocols=[PROTOCOL], origin='http://evil.example',
            additional_headers={'Cookie': known},
        )  # fmt: skip
    assert refused.value.response.status_code == HTTPStatus.FORBIDDEN


def test_a_port_that_is_taken_is_not_exchanged_for_another_one(port: int) -> None:
    with pytest.raises(SafegenError, match=f'port {port}'):
        serve(Gate('0.0.0.0', TOKEN), port)


def test_a_viser_that_does_not_ask_the_gate_is_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[bool] = []
    other = SimpleNamespace(stop=lambda: stopped.append(True))
    monkeypatch.setattr(viser, 'ViserServer', lambda **settings: other)
    with pytest.raises(SafegenError, match='cannot be guarded'):
        serve(Gate('127.0.0.1'), 0)
    assert stopped


def test_the_scripts_of_the_installed_viser_are_known() -> None:
    assert viser.__version__ in viser_workarounds._SCRIPTS


def test_the_tab_of_the_browser_names_the_stack() -> None:
    server = serve(Gate('127.0.0.1', title='safegen, ROS domain <66>'), 0)
    try:
        plain = get(server.get_port(), '/', **{'Accept-Encoding': 'identity'}).read()
        page = get(server.get_port(), '/', **{'Accept-Encoding': 'gzip'})
        body = page.read()
    finally:
        server.stop()
    assert page.getheader('Content-Length') == str(len(body))
    text = gzip.decompress(body)
    assert text == plain
    assert b'<title>safegen, ROS domain &lt;66&gt;</title>' in text
    assert b'<title>Viser' not in text
    script = text.split(b'</title><script>')[1].split(b'</script>')[0]  # names what has no name
    digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
    assert f"'sha256-{digest}'" in str(page.getheader('Content-Security-Policy'))


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


THREADS = """
import ctypes, sys, threading
from safegen_ros.console.viser_workarounds import keep_compact

if sys.argv[1] == 'compact':
    assert keep_compact()
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fdopen.restype = ctypes.c_void_p
together = threading.Barrier(4)

def take():
    together.wait()
    libc.malloc(5000)
    together.wait()

threads = [threading.Thread(target=take) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
out = ctypes.c_void_p(libc.fdopen(1, b'w'))
libc.malloc_info(0, out)
libc.fflush(out)
"""


@pytest.mark.parametrize(('how', 'heaps'), [('compact', {1}), ('as it is', {2, 3, 4, 5})])
def test_all_threads_share_one_heap(how: str, heaps: set[int]) -> None:
    told = subprocess.run(
        [sys.executable, '-c', THREADS, how], capture_output=True, text=True, check=True
    )
    assert told.stdout.count('<heap nr=') in heaps
