# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Sets up the `openai` client so that it goes where it is sent, with what it is given."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from safegen_ros.errors import BackendError
from safegen_ros.llm.model_names import KEY_ENV
from safegen_ros.llm.openai_answer import Ask
from safegen_ros.llm.openai_errors import Namer

LOOPBACK = ('localhost', '127.0.0.1', '::1')

ASK: ContextVar[Ask] = ContextVar('ask')
"""The request that is being sent; it is told its response."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to put up with a server.

    Attributes:
        connect_s: longest wait for a connection [s].
        silence_s: longest wait for the first byte, and from one to the next [s].
        tries: how often a request is sent while the server is down, busy or failing.
        pause_s: before the second time; it doubles from then on [s].
        parallel: requests that are open at once, those of all callers together.
    """

    connect_s: float = 5.0
    silence_s: float = 60.0
    tries: int = 5
    pause_s: float = 0.25
    parallel: int = 16


def check_url(url: str) -> str:
    """The host of an address; raises BackendError when it is none that may be asked."""
    try:
        parts = urlsplit(url)
        host, user, _ = parts.hostname, parts.username, parts.port
    except ValueError as error:
        raise BackendError(f'the address of the model server is wrong: {error}') from error
    if user is not None:
        raise BackendError(
            'the address of the model server holds a name or a password: put the key into an '
            f'environment variable ({KEY_ENV})'
        )
    if parts.scheme not in ('http', 'https') or not host:
        raise BackendError(
            f'{url}: no address of a model server: expected http://HOST:PORT/v1 or https://...'
        )
    return host


def client_library() -> Any:
    """The `openai` module; raises BackendError where it is not installed."""
    try:
        import openai
    except ImportError as error:
        raise BackendError(
            f'a model server needs the openai package ({error}): install safegen_ros[llm]'
        ) from error
    return openai


def headers(library: Any, secret: str) -> dict[str, Any]:
    """What every request has, and what it must not have.

    The client library would take what is missing from the settings of another service.
    """
    left_out = ['OpenAI-Organization', 'OpenAI-Project'] + ['Authorization'] * (not secret)
    return {'Accept-Encoding': 'identity', **dict.fromkeys(left_out, library.omit)}


def new_client(library: Any, url: str, secret: str, patience: Patience, namer: Namer) -> Any:
    """An asynchronous client for one server, which never asks twice by itself."""

    async def watch(response: Any) -> None:
        # Before the body comes, so that its length can be looked at.
        ASK.get().response = response
        packed = response.headers.get('content-encoding', 'identity')
        if packed != 'identity':
            raise namer.error(
                f'the answer is packed ({namer.clean(packed)}), which was not asked for',
                'switch compression off',
            )

    return library.AsyncOpenAI(
        base_url=url,
        api_key=secret or 'none',
        max_retries=0,
        timeout=library.Timeout(patience.silence_s, connect=patience.connect_s),
        http_client=library.DefaultAsyncHttpxClient(
            follow_redirects=False,
            trust_env=check_url(url) not in LOOPBACK,
            event_hooks={'response': [watch]},
        ),
    )
