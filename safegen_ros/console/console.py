# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The console: a server on loopback, a client of the stack, and the loops that draw the page."""

from __future__ import annotations

import contextlib
import getpass
import io
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from safegen_ros.client import Client
from safegen_ros.console.access import LOOPBACK, Gate, serve
from safegen_ros.console.history_tab import HistoryTab
from safegen_ros.console.link import StackLink
from safegen_ros.console.operator_panel import OperatorPanel
from safegen_ros.console.rehearsed import RehearsedMotion
from safegen_ros.console.sending import Sender
from safegen_ros.console.shown import attempt_line, goal_html, panel, stack_html
from safegen_ros.console.stage import GHOST_HZ, Stage
from safegen_ros.console.state import ConsoleState, GoalView
from safegen_ros.console.task_tab import TaskTab
from safegen_ros.console.widgets import DONE, HISTORY, PLAN, RULES, STACK, TASK, Html, Parts
from safegen_ros.paths import runs_dir
from safegen_ros.record.present.runs import problem_of_attempt
from safegen_ros.robot.scene import load_scene
from safegen_ros.ros.stack_state import current_domain
from safegen_ros.sync import Closing

if TYPE_CHECKING:
    import viser

PORT = 8765
"""Where the console is served unless another port is asked for."""

SCENE_HZ, PAGE_HZ, ASK_HZ = 60.0, 8.0, 1.0
"""How often the arm, the text of the page and the states of the nodes are looked at, at most [1/s];
the arm is looked at when a sample has come."""

_TOGETHER_S = 0.004  # the poses of the blocks come right behind the joints

_ATTEMPTS_SHOWN = 12  # the newest first; all are in the record

_PANEL_WIDTHS, _PANEL_SHARE = (440, 620), 0.42
"""Least and largest width of the panel [pixels], and its share of the view between them."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the console is served.

    Attributes:
        host: address; others than loopback need a token.
        port: 0 for any that is free.
        token: what has to be known to open the page; empty on loopback only.
        read_only: whether nothing can be asked for from the page.
        scene_file: description of the table; empty for the default.
        dark: whether the page is dark.
        stamped: whether the page carries the time of the sample that it shows, to be measured.
    """

    host: str = LOOPBACK
    port: int = PORT
    token: str = ''
    read_only: bool = False
    namespace: str = '/'
    scene_file: str = ''
    dark: bool = False
    stamped: bool = False


class OperatorConsole(Closing):
    """Serves the page from its construction until it is closed.

    Attributes:
        state: what the page is drawn from.

    Raises:
        SafegenError: the address may not be served, or is taken.
    """

    def __init__(self, settings: Settings) -> None:
        place = (f'ROS domain {current_domain()}', f'namespace {settings.namespace}')
        gate = Gate(settings.host, settings.token, title=f'safegen, {place[0]}')
        cell = load_scene(settings.scene_file or None)
        self.state = ConsoleState()
        self._drawn = self.state.snapshot
        self._settings = settings
        self._ended = threading.Event()
        self._server = serve(gate, settings.port)
        self._client = Client(settings.namespace)
        link = StackLink(self._client, self.state)
        self._link = link
        self._sender = Sender(self._client, link, self.tell)
        self._stage = Stage(self._server, cell)
        parts = Parts(
            self._server.gui,
            self.state,
            link,
            self._sender,
            self.tell,
            f'{getpass.getuser()} at the console',
            settings.read_only,
            place if settings.namespace != '/' else place[:1],
        )
        self._build(parts)
        self._threads = [
            threading.Thread(target=self._loop, args=(hz, work), daemon=True)
            for hz, work in (
                (SCENE_HZ, self._draw_scene),
                (PAGE_HZ, self._draw_page),
                (ASK_HZ, link.refresh),
            )
        ]
        for thread in self._threads:
            thread.start()

    def _build(self, parts: Parts) -> None:
        gui = parts.gui
        self._theme(gui, self._settings.dark)
        self._switched: set[int] = set()
        self._stamp = Html(gui) if self._settings.stamped else None
        self._top = OperatorPanel(parts)
        cards = self._top.cards
        self._task: TaskTab | None = None
        if not parts.read_only:
            self._task = TaskTab(parts, cards, self._top.bottom)
        with cards.card(TASK, RULES, running=None if parts.read_only else True):
            sent = Html(gui)
        with cards.card(DONE):
            self._goal = sent, Html(gui)
        with cards.card(PLAN):
            self._attempts = _Attempts(parts)
        with cards.card(STACK):
            self._stack = Html(gui)
            if not parts.read_only:
                self._release = gui.add_button('Open the tool: what it holds falls', color='gray')
                self._release.on_click(lambda _: parts.doing(parts.link.release))
            page = gui.add_button('Dark or light page', color='gray')
            page.on_click(lambda event: self._switch(event.client))
        with cards.card(HISTORY):
            self._history = HistoryTab(parts, self._stage, runs_dir())
        self._server.on_client_disconnect(cards.forget)
        main = gui.main_panel
        main.dock_right()
        main.set_width(_PANEL_WIDTHS[0])

        @self._server.on_client_connect
        def _(client: viser.ClientHandle) -> None:
            least, most = _PANEL_WIDTHS
            width = _PANEL_SHARE * client.camera.image_width
            client.gui.main_panel.set_width(max(least, min(width, most)))

    def _switch(self, viewer: viser.ClientHandle | None) -> None:
        """Makes the page dark or light for one viewer."""
        if viewer is not None:
            self._switched ^= {viewer.client_id}
            self._theme(viewer.gui, self._settings.dark is not (viewer.client_id in self._switched))

    def _theme(self, gui: viser.GuiApi, dark: bool) -> None:
        gui.configure_theme(
            # The width that a panel has where none is set, as on a phone that was turned.
            control_width='large', dark_mode=dark, show_logo=False, show_share_button=False,
        )  # fmt: skip

    @property
    def url(self) -> str:
        """Where the page is; without the token."""
        host = self._settings.host
        shown = f'[{host}]' if ':' in host else host
        return f'http://{shown}:{self._server.get_port()}/'

    def reset(self) -> str:
        """Allows motion again, as the button of the page does; raises as `StackLink.reset`."""
        return self._link.reset()

    @property
    def busy(self) -> bool:
        """Whether a goal of this console, or the record of one, is not finished."""
        return self._sender.busy

    @property
    def rehearsed(self) -> RehearsedMotion | None:
        """The motion of the plan that is shown; None while it is not rehearsed."""
        return self._stage.motion

    def wait(self) -> None:
        """Returns when the console is closed, or with Ctrl-C."""
        while not self._ended.wait(0.2):
            pass

    def tell(self, line: str, bad: bool) -> None:
        """Shows a line to everybody who has the page open."""
        seconds = 20.0 if bad else 6.0
        for client in self._server.get_clients().values():
            client.add_notification(
                line[:600], '', color='red' if bad else 'green', auto_close_seconds=seconds
            )

    def _draw_scene(self) -> None:
        if self.state.wait(self._drawn, 1.0 / GHOST_HZ) is not self._drawn:
            self._ended.wait(_TOGETHER_S)
        snapshot = self._drawn = self.state.snapshot
        with self._server.atomic():
            chosen = self._task.problem if self._task is not None else None
            self._stage.update(snapshot, time.monotonic(), chosen)
            if self._stamp is not None:
                self._stamp.show(f'<i data-sent="{snapshot.look.sent:.6f}"></i>')
        self._server.flush()

    def _draw_page(self) -> None:
        snapshot = self.state.snapshot
        goal, busy = snapshot.goal, self._sender.busy
        self._top.update(snapshot)
        for place in self._goal:
            place.show(goal_html(goal))
        self._attempts.update(goal)
        self._stack.show(stack_html(snapshot))
        if self._task is not None:
            self._task.update(busy, snapshot.up, snapshot.stop.stopped)
        self._history.update(time.monotonic(), goal and (goal.id, goal.running, busy))

    def _loop(self, hz: float, work: Callable[[], None]) -> None:
        """Does something again and again; what one moment brings must not end all later ones."""
        told: set[str] = set()
        while not self._ended.wait(1.0 / hz):
            try:
                work()
            except Exception as error:
                if self._ended.is_set():
                    return
                line = f'{type(error).__name__}: {error}'
                if line not in told:
                    told.add(line)
                    self._client.node.get_logger().error(f'the page is not drawn whole: {line}')
                    self.tell(f'the page is not drawn whole: {line}', True)

    def close(self) -> None:
        """Ends the page, and cancels the goal of this console if one goes on."""
        if self._ended.is_set():
            return
        self._sender.close()
        self._ended.set()
        for thread in self._threads:
            thread.join(timeout=2.0)
        self._stage.close()
        with contextlib.redirect_stdout(io.StringIO()):
            self._server.stop()
        self._client.close()


class _Attempts:
    """The attempts of the goal up to now, the newest first.

    Args:
        parts: its parts; its card is open.
    """

    def __init__(self, parts: Parts) -> None:
        # Always the same places, so that hours of goals leave nothing behind in the page.
        self._places = [Html(parts.gui) for _ in range(_ATTEMPTS_SHOWN)]
        self._drawn: dict[tuple[str, int, bool, bool], str] = {}

    def update(self, goal: GoalView | None) -> None:
        """Shows the known state."""
        shown = self._attempts(goal) or (panel('No attempt was made yet.'),)
        for place, content in zip(self._places, (*shown, *('',) * _ATTEMPTS_SHOWN), strict=False):
            place.show(content)

    def _attempts(self, goal: GoalView | None) -> tuple[str, ...]:
        if goal is None:
            self._drawn = {}
            return ()
        drawn = {}
        refused = [each.number for each in goal.record.attempts if not each.verdict.ok]
        for attempt in goal.record.attempts[::-1][:_ATTEMPTS_SHOWN]:
            problem = problem_of_attempt(goal.record, attempt.replan)
            newest = attempt.number in refused[-1:]
            key = (goal.id, attempt.number, problem is not None, newest)
            drawn[key] = self._drawn.get(key) or attempt_line(attempt, problem, newest)
        self._drawn = drawn
        return tuple(drawn.values())
