# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the parts of the page share: the widgets of viser, and what they may ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from safegen_ros.console.link import StackLink
from safegen_ros.console.sending import Sender
from safegen_ros.console.state import ConsoleState
from safegen_ros.errors import SafegenError

if TYPE_CHECKING:
    import viser


@dataclass(frozen=True, slots=True)
class Parts:
    """What the parts of the page are made of.

    Attributes:
        gui: `viser.ViserServer.gui`.
        state: the known state.
        link: what may be asked of the stack.
        sender: sends goals.
        tell: shows a line to everybody, as bad or not.
        operator: who approves, for the record.
        read_only: whether nothing may be asked.
        place: where the stack is, such as its ROS domain and its namespace.
    """

    gui: viser.GuiApi
    state: ConsoleState
    link: StackLink
    sender: Sender
    tell: Callable[[str, bool], None]
    operator: str
    read_only: bool
    place: tuple[str, ...] = ()

    def doing(self, work: Callable[[], str | None]) -> None:
        """Does the work of a button, and reports the result."""
        try:
            told = work()
        except SafegenError as error:
            self.tell(error.message, True)
            return
        if told:
            self.tell(told, False)


class Html:
    """A piece of safe markup that is sent again only where it has changed."""

    def __init__(self, gui: viser.GuiApi, content: str = '') -> None:
        self._content = content
        # viser sends plain texts only.
        self._handle = gui.add_html(str(content), visible=bool(content))

    def show(self, content: str) -> None:
        """Shows this in its place; nothing where it is empty."""
        if content == self._content:
            return
        self._content = content
        if content:
            self._handle.content = str(content)
        self._handle.visible = bool(content)


def icon(name: str) -> viser.IconName:
    """The icon of a button by its name at tabler.io."""
    return cast('viser.IconName', name)


def put(handle: Any, **values: Any) -> None:
    """Sets what has changed of a widget, so that nothing is sent without need."""
    for name, value in values.items():
        if getattr(handle, name) != value:
            setattr(handle, name, value)
