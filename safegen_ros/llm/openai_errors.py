# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What can go wrong with a model server: the cause and the cure, and whether to ask again."""

from __future__ import annotations

import math
import random
from typing import Any

from safegen_ros.errors import BackendError

RETRIED = frozenset({429, 500, 502, 503, 504})
"""A server that answers these may be well again in a moment."""

LONGEST_PAUSE_S = 8.0
SHOWN = 300
"""So many characters of what a server says are repeated."""

_CURES = {
    400: 'change what its message names',
    401: 'set {key} to a key that it accepts',
    403: 'set {key} to a key that may use this model',
    404: 'name a model that it serves, and end the address in /v1 where it asks for that',
    422: 'change what its message names',
    429: 'send fewer goals at once, or raise its limits',
}


class RequestRefused(BackendError):
    """The server understood the request and does not accept it (400 or 422).

    Attributes:
        said: what it said, in lower case.
    """

    def __init__(self, message: str, said: str) -> None:
        super().__init__(message)
        self.said = said.lower()


class ServerFailed(BackendError):
    """The server told of an error of its own in the middle of an answer."""


class ErrorFormatter:
    """Puts the errors of one server into words."""

    def __init__(self, url: str, model: str, key_env: str, secret: str) -> None:
        self.url = url
        self._model = model
        self._key_env = key_env
        self._secret = secret

    def error(self, what: str, cure: str) -> BackendError:
        """An error at this server."""
        return BackendError(f'{self.url}: {what}: {cure}')

    def named(self, error: Any, tries: int) -> BackendError:
        """The error of the client library in our words."""
        cause = error.__cause__
        if isinstance(cause, BackendError):
            return cause
        status = getattr(error, 'status_code', None)
        often = f', asked {tries} times' if tries > 1 else ''
        if isinstance(status, int):
            return self._status(status, error, often)
        if 'Timeout' in type(error).__name__:
            what = f'the server is silent ({_words(cause)})'
            return self.error(what, 'look whether it is overloaded, or give it more time')
        what = f'the server cannot be reached ({self.clean(_words(cause or error))}{often})'
        return self.error(what, 'start it, or fix its address')

    def _status(self, status: int, error: Any, often: str) -> BackendError:
        said = self.clean(_message(error))
        what = f'the server answered {status} to a request for {self._model!r}{often}: {said}'
        if 300 <= status < 400:
            target = self.clean(str(error.response.headers.get('location', 'elsewhere')))
            return self.error(f'{what}: redirected to {target}', 'give the address that it means')
        cure = _CURES.get(status, 'look into its log')
        message = f'{self.url}: {what}: {cure.format(key=self._key_env)}'
        return RequestRefused(message, said) if status in (400, 422) else BackendError(message)

    def clean(self, text: str) -> str:
        """What a server said, on one line, short, and without the key."""
        if self._secret:
            text = text.replace(self._secret, '***')
        line = ' '.join(''.join(c if c.isprintable() else ' ' for c in text).split())
        return line if len(line) <= SHOWN else f'{line[:SHOWN]}...'


def pause(error: Any, tries: int, base_s: float) -> float | None:
    """How long to wait before the server is asked again.

    Args:
        error: an `openai.OpenAIError`, raised before the answer began.
        tries: how often it was asked.
        base_s: the pause after the first time, which doubles from then on [s].

    Returns:
        The pause [s], with jitter so that many clients do not come back together, or what the
        server asks for; None when it makes no sense to ask again.
    """
    if isinstance(error.__cause__, BackendError) or 'Timeout' in type(error).__name__:
        return None
    status = getattr(error, 'status_code', None)
    if isinstance(status, int) and status not in RETRIED:
        return None
    grown: float = min(base_s * 2 ** (tries - 1), LONGEST_PAUSE_S) * random.uniform(0.5, 1.0)  # noqa: S311
    return max(grown, _asked_for(error))


def _asked_for(error: Any) -> float:
    """The `Retry-After` of an answer [s]; 0 without one, or with a date instead of seconds."""
    response = getattr(error, 'response', None)
    try:
        seconds = float(response.headers['retry-after']) if response is not None else 0.0
    except (KeyError, ValueError):
        return 0.0
    return seconds if math.isfinite(seconds) else 0.0


def _message(error: Any) -> str:
    """What the server says in the body of an error, in the several forms that there are."""
    body = error.body
    if isinstance(body, dict):
        found = body.get('message') or body.get('detail') or body.get('error')
        return found if isinstance(found, str) else str(found or body)
    return str(body) if body else 'no reason given'


def _words(error: BaseException | None) -> str:
    if error is None:
        return 'the connection failed'
    return str(error) or type(error).__name__
