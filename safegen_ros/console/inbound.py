# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Messages that a browser may send: a camera, a new value of a widget, a command.

viser sets every attribute that a message names, on the widget that all viewers share. One message
could take a button away from everybody. Each message is read here first, by a strict schema;
all others are dropped before viser sees them.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from safegen_ros.pddl.sexpr import MAX_TEXT

if TYPE_CHECKING:
    import viser

MAX_MESSAGE = 4 * MAX_TEXT + 4096
"""Longest message [bytes], a text of `MAX_TEXT` characters; a longer one closes its connection."""

Handler = Callable[[Any], Awaitable[None]]
Vector = tuple[float, float, float]


class _Message(msgspec.Struct, forbid_unknown_fields=True, tag_field='type'):
    pass


class Camera(_Message, tag='ViewerCameraMessage'):
    """Where one viewer looks from."""

    wxyz: tuple[float, float, float, float]
    position: Vector
    fov: float
    near: float
    far: float
    image_height: float
    image_width: float
    look_at: Vector
    up_direction: Vector


class Value(msgspec.Struct, forbid_unknown_fields=True):
    """What a widget is set to."""

    value: bool | int | float | str


class Update(_Message, tag='GuiUpdateMessage'):
    """A click, or a new value."""

    uuid: str
    updates: Value


class Hotkey(_Message, tag='CommandTriggerMessage'):
    """A hotkey."""

    uuid: str


_DECODER = msgspec.msgpack.Decoder(Camera | Update | Hotkey)


class Inbound:
    """Decides which messages of viewers reach viser.

    Attributes:
        guis: returns each `viser.GuiApi` whose widgets may be set.
    """

    def __init__(self) -> None:
        self.guis: Callable[[], list[viser.GuiApi]] = list

    def takes(self, raw: bytes | str) -> bool:
        """Whether a message is one of the known kinds, with exactly its fields."""
        try:
            message = _DECODER.decode(raw if isinstance(raw, bytes) else b'')
        except (msgspec.DecodeError, RecursionError):
            return False
        if isinstance(message, Camera):
            return _finite(message)
        if isinstance(message, Hotkey):
            return True
        for gui in self.guis():
            handle = gui._gui_input_handle_from_uuid.get(message.uuid)
            if handle is not None:
                return fits(handle, message.updates.value)
        return False

    def guarded(self, handler: Handler) -> Handler:
        """The handler of a websocket, which sees no other messages."""

        async def handle(connection: Any) -> None:
            await handler(_Filtered(connection, self))

        return handle


class _Filtered:
    """A connection whose `recv` returns accepted messages only."""

    def __init__(self, connection: Any, inbound: Inbound) -> None:
        self._connection, self._inbound = connection, inbound

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def recv(self) -> Any:
        while not self._inbound.takes(raw := await self._connection.recv()):
            pass
        return raw


def fits(handle: Any, value: bool | float | str) -> bool:
    """Whether a widget that is shown and enabled may take a value."""
    if not handle.visible or handle.disabled:
        return False
    if isinstance(handle.value, bool):
        return isinstance(value, bool) and (value or not handle._impl.is_button)
    if isinstance(handle.value, str):
        options = getattr(handle, 'options', None)
        return isinstance(value, str) and len(value) <= MAX_TEXT and value in (options or (value,))
    if not isinstance(handle.value, int | float) or isinstance(value, bool | str):
        return False
    if not math.isfinite(value) or (isinstance(handle.value, int) and value != int(value)):
        return False
    low = -math.inf if handle.min is None else handle.min
    high = math.inf if handle.max is None else handle.max
    return bool(low <= value <= high)


def _finite(camera: Camera) -> bool:
    vectors = (camera.wxyz, camera.position, camera.look_at, camera.up_direction)
    scalars = (camera.fov, camera.near, camera.far, camera.image_height, camera.image_width)
    return all(map(math.isfinite, (*scalars, *(x for vector in vectors for x in vector))))
