# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who may open the console: every request is looked at before the page or a message is sent.

viser knows no authentication, so its server is given a door of ours, which sees each request for
the page and for the websocket before viser does. There is no second port behind it.

On loopback, every user of this computer may use the console, but no page of another site in the
same browser. A request has to name this server as its host and as its origin. Elsewhere it needs
the token too, once in the address, then in a cookie.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import hmac
import io
import ipaddress
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from safegen_ros.console.inbound import MAX_MESSAGE, Inbound
from safegen_ros.console.viser_workarounds import (
    page_scripts,
    served_through,
    show_at_once,
    wake_in_its_thread,
)
from safegen_ros.errors import SafegenError
from safegen_ros.pddl.text_files import read_text

if TYPE_CHECKING:
    import viser

LOOPBACK = '127.0.0.1'
"""Where the console is served unless another address is asked for."""

MIN_TOKEN = 16
"""Shortest token [characters]."""

_COOKIE = 'safegen_console'
_NAMES = resources.files(__package__).joinpath('templates/names.js').read_text('utf-8')
_LOOPBACK_NAMES = ('localhost', '127.0.0.1', '::1')
_HEADERS = (
    ('Cache-Control', 'no-store'),
    ('Referrer-Policy', 'no-referrer'),
    ('X-Content-Type-Options', 'nosniff'),
    ('X-Frame-Options', 'DENY'),
)
"""No site can lay this page under another one and have its buttons clicked."""

_POLICY = (
    "default-src 'none'; connect-src 'self' blob: data:; img-src 'self' blob: data:; "
    "style-src 'unsafe-inline'; font-src data:; worker-src blob:; media-src blob: data:; "
    "script-src {scripts} blob: 'wasm-unsafe-eval'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""The page loads nothing from elsewhere, and no script but its own: text that were to reach it as
markup, against all care, could still not act."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer to a request that is refused.

    Attributes:
        headers: pairs of name and value.
    """

    status: HTTPStatus
    text: str
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Gate:
    """The rule by which requests are let in.

    Attributes:
        token: what has to be known; empty on loopback only.
        title: of the page, in the tab of the browser.
    """

    host: str
    token: str = field(default='', repr=False)
    title: str = 'safegen console'
    _session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    def __post_init__(self) -> None:
        """Refuses an address that others reach without a token."""
        if not is_loopback(self.host) and not self.token:
            raise SafegenError(
                f'the console at {self.host} is open to every user of this address: '
                'name a file with a token (--token-file), or leave the host at 127.0.0.1'
            )
        if self.token and len(self.token) < MIN_TOKEN:
            raise SafegenError(
                f'the token has {len(self.token)} characters: take at least {MIN_TOKEN}, such as '
                'those of: python3 -c "import secrets; print(secrets.token_urlsafe(32))"'
            )

    def refusal(self, path: str, headers: dict[str, str]) -> Refusal | None:
        """Why a request is not let in; None when it is.

        Args:
            path: with its query.
            headers: by name in lower case.
        """
        host = headers.get('host', '')
        if not self._is_ours(host):
            return Refusal(HTTPStatus.FORBIDDEN, 'this server goes by another name')
        origin = headers.get('origin')
        if origin is not None and urlsplit(origin).netloc != host:
            return Refusal(HTTPStatus.FORBIDDEN, 'a page of another site asks')
        if not self.token:
            return None
        if _same(_cookie(headers.get('cookie', '')), self._session):
            return None
        given = parse_qs(urlsplit(path).query).get('token', [''])[0]
        if not _same(given, self.token):
            return Refusal(HTTPStatus.UNAUTHORIZED, 'open the address with its token')
        # The token leaves the address bar, and with it the history of the browser.
        cookie = f'{_COOKIE}={self._session}; Path=/; HttpOnly; SameSite=Strict'
        return Refusal(HTTPStatus.SEE_OTHER, '', (('Location', '/'), ('Set-Cookie', cookie)))

    def _is_ours(self, host: str) -> bool:
        name = urlsplit(f'//{host}').hostname or ''
        if is_loopback(self.host):
            return name in _LOOPBACK_NAMES
        # Which names lead here is not known; a strange one cannot know the token or the cookie.
        return bool(name)


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this computer alone."""
    if host == 'localhost':
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_token(path: Path) -> str:
    """The token in a file, without the blanks around it.

    Raises:
        SafegenError: it cannot be read, or others may read it.
    """
    text = read_text(path, 'token').strip()
    if path.stat().st_mode & 0o077:
        raise SafegenError(f'{path}: others may read the token: chmod 600 {path}')
    if not text:
        raise SafegenError(f'{path}: holds no token: write one')
    return text


def serve(gate: Gate, port: int) -> viser.ViserServer:
    """A server of viser behind the gate, which has begun.

    Args:
        gate: who is let in, and at which address it is served.
        port: 0 for any that is free.

    Raises:
        SafegenError: the port is taken, or this viser cannot be guarded.
    """
    import viser

    logging.getLogger('websockets.server').addFilter(_is_ours_to_fix)
    show_at_once()
    wake_in_its_thread()
    inbound = Inbound()
    taken = []

    def guard(handler: Any, process_request: Callable[..., Any]) -> dict[str, Any]:
        taken.append(True)
        return {
            'handler': inbound.guarded(handler),
            'process_request': _door(gate, process_request),
            'max_size': MAX_MESSAGE,
        }

    with contextlib.redirect_stdout(io.StringIO()), served_through(guard):
        server = viser.ViserServer(
            host=gate.host, port=port, label='safegen console', verbose=False
        )
    if not taken:
        server.stop()
        raise SafegenError('this version of viser cannot be guarded: install viser 1.1')
    if port and server.get_port() != port:
        server.stop()
        raise SafegenError(
            f'port {port} of {gate.host} is taken: end what is there, or name another one with '
            '--port'
        )
    inbound.guis = lambda: [server.gui, *(each.gui for each in server.get_clients().values())]
    return server


def _is_ours_to_fix(record: logging.LogRecord) -> bool:
    """Whether a line of the web server is about more than a request of no browser.

    A HEAD request, or one with TLS, would print a traceback.
    """
    from websockets.exceptions import InvalidHandshake

    return not (record.exc_info and isinstance(record.exc_info[1], InvalidHandshake))


def _door(gate: Gate, inner: Callable[..., Any]) -> Callable[..., Any]:
    """Answers a request with a refusal, or as viser does."""
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    policy = _policy()

    def process(connection: Any, request: Any) -> Any:
        found = gate.refusal(request.path, {k.lower(): v for k, v in request.headers.raw_items()})
        if found is None:
            response = inner(connection, request)
            if response is not None:
                _complete(response, gate.title)
        else:
            body = found.text.encode()
            told = (('Content-Length', str(len(body))), ('Connection', 'close'), *found.headers)
            response = Response(found.status.value, found.status.phrase, Headers(told), body)
        if response is not None:
            for name, value in (*_HEADERS, ('Content-Security-Policy', policy)):
                response.headers[name] = value
        return response

    return process


def _complete(response: Any, title: str) -> None:
    """Gives the page of viser another title, and names to unnamed elements."""
    packed = response.headers.get('Content-Encoding') == 'gzip'
    body = gzip.decompress(response.body) if packed else response.body
    head = f'<title>{escape(title)}</title><script>{_NAMES}</script>'
    titled = body.replace(b'<title>Viser</title>', head.encode(), 1)
    if titled is not body and titled != body:
        response.body = gzip.compress(titled, 1) if packed else titled
        if 'Content-Length' in response.headers:
            del response.headers['Content-Length']
            response.headers['Content-Length'] = str(len(response.body))


def _policy() -> str:
    """The policy for the page of this viser, and for the script that names what has no name."""
    known = page_scripts()
    digest = base64.b64encode(hashlib.sha256(_NAMES.encode()).digest()).decode()
    # Beside a hash, 'unsafe-inline' would say nothing.
    return _POLICY.format(scripts=f"{known} 'sha256-{digest}'" if 'sha256' in known else known)


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(_COOKIE)
    except CookieError:
        return ''
    return found.value if found is not None else ''
