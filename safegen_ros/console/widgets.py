# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the parts of the page share: the widgets of viser, and what they may ask for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from safegen_ros.console.link import StackLink
from safegen_ros.console.sending import Sender
from safegen_ros.console.state import ConsoleState
from safegen_ros.console.viser_workarounds import show_to
from safegen_ros.errors import SafegenError

if TYPE_CHECKING:
    import viser

TASK, RULES, PLAN, APPROVE, RUN, DONE = STEPS = (
    'Task', 'Rules', 'Plan', 'Approve', 'Run', 'Done',
)  # fmt: skip
STACK, HISTORY = BESIDE = ('Stack', 'History')
"""Names of the cards: the steps of a task, and what belongs to no step."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What the parts of the page are made of.

    Attributes:
        gui: `viser.ViserServer.gui`.
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


class Cards:
    """Opens the card of each step for all viewers when the step begins; a click opens one for one.

    Args:
        gui: where the buttons are drawn now; the cards come where they are asked for.

    Attributes:
        opened: name of the card that is open for all who have not clicked since.
        running: whether a goal goes on, so that its task is shown and not the form of the next.
    """

    def __init__(self, gui: viser.GuiApi) -> None:
        self._gui = gui
        self._folders: list[tuple[tuple[str, ...], bool | None, viser.GuiFolderHandle]] = []
        self._clicked: dict[int, tuple[viser.ClientHandle, str]] = {}
        self._lock = threading.Lock()
        self._step = self.opened = TASK
        self.running = False
        self._add('Steps of the task', STEPS)

    def add_beside(self) -> None:
        """Draws the buttons of the cards that belong to no step."""
        self._add('Look at', BESIDE)

    def _add(self, label: str, names: tuple[str, ...]) -> None:
        group = self._gui.add_button_group(label, names)
        group.on_click(lambda event: self.open(group.value, event.client))

    def card(self, *names: str, running: bool | None = None) -> viser.GuiFolderHandle:
        """A part of some cards, as a context for its widgets.

        Args:
            names: of the cards.
            running: shown only while a goal goes on, or only while none does; None for always.
        """
        folder = self._gui.add_folder(None, visible=self._shows(self.opened, names, running))
        self._folders.append((names, running, folder))
        return folder

    def _shows(self, opened: str, names: tuple[str, ...], running: bool | None) -> bool:
        return opened in names and running in (None, self.running)

    def open(self, name: str, viewer: viser.ClientHandle | None = None) -> None:
        """Opens a card, and closes the one that was open, for one viewer or for all."""
        with self._lock:
            if viewer is not None:
                self._clicked[viewer.client_id] = viewer, name
                self._show_to(viewer, name)
                return
            self.opened = name
            self._clicked = {key: (each, name) for key, (each, _) in self._clicked.items()}
            self._show()
            self._clicked = {}

    def forget(self, viewer: viser.ClientHandle) -> None:
        """Sends nothing more to a viewer who has gone."""
        with self._lock:
            self._clicked.pop(viewer.client_id, None)

    def _show(self) -> None:
        for names, running, folder in self._folders:
            put(folder, visible=self._shows(self.opened, names, running))
        for viewer, name in self._clicked.values():
            self._show_to(viewer, name)

    def _show_to(self, viewer: viser.ClientHandle, opened: str) -> None:
        for names, running, folder in self._folders:
            show_to(viewer, folder, self._shows(opened, names, running))

    def follow(self, step: str, running: bool) -> None:
        """Opens the card of the step that has begun; one that goes on changes nothing."""
        before, self._step = self._step, step
        if running != self.running:
            with self._lock:
                self.running = running
                self._show()
        if step != before:
            self.open(step)
