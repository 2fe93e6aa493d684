# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is always in view: what happens next, the stop, and a plan that waits for a word."""

from __future__ import annotations

import time
from typing import Any

from safegen_ros.console.cards import STYLE, panel
from safegen_ros.console.markup import PARTS_CSS, element, escaped
from safegen_ros.console.shown import countdown_words, plan_html, situation, tried_html
from safegen_ros.console.state import Pending, Snapshot
from safegen_ros.console.widgets import Html, Parts, put
from safegen_ros.console.wording import next_words

_SHOWN_DIGITS = 8


def _robot_words(robot: str) -> str:
    """What executes, so that nobody takes the real arm for its twin."""
    known = {'twin': 'simulated twin', 'symbolic': 'symbolic cell: nothing moves', '': 'no robot'}
    return known.get(robot, f'REAL ARM: {robot}')


class OperatorPanel:
    """The panel at the top.

    A button that approves is made for one digest and goes with it: a click on what was shown a
    moment ago can never allow another plan.

    Args:
        parts: what it is made of.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._digest = ''
        self._answers: list[Any] = []
        gui = parts.gui
        gui.add_html(element('style', STYLE + PARTS_CSS))
        if parts.read_only:
            self._next = Html(gui)
            gui.add_html(panel(element('p', 'Read only: nothing can be asked for from here.')))
            self._tried, self._plan = Html(gui), Html(gui)
            return
        # The first of all, right before what comes next: there it stays however long that is told.
        stop = gui.add_button('STOP', color='red', icon='hand-stop', hint='Key Escape')
        stop.on_click(lambda _: self._stop())
        gui.add_command('Stop the arm', hotkey='escape').on_trigger(lambda _: self._stop())
        self._next = Html(gui)
        self._cancel = gui.add_button('Cancel the goal', color='gray', visible=False)
        self._cancel.on_click(lambda _: self._cancel_goal())
        self._reset = gui.add_button('Reset …', color='orange', visible=False)
        self._reset.on_click(lambda event: self._ask_reset(event.client))
        self._answer = gui.add_folder(None)
        self._reason = gui.add_text('Reason', '', visible=False, hint='Why you refuse the plan')
        self._plan, self._tried = Html(gui), Html(gui)

    def update(self, snapshot: Snapshot) -> None:
        """Shows what is known."""
        words = next_words(situation(snapshot))
        stopped = snapshot.stop.stopped
        style = 'sg-next sg-stopped' if stopped else 'sg-next'
        where = ' · '.join((*self._parts.place, _robot_words(snapshot.robot)))
        told = countdown_words(snapshot.pending, time.time())
        self._next.show(
            panel(
                element('p', escaped(where), class_='sg-done'),
                element('p', f'<b>Next:</b> {escaped(words)}', class_=style),
                element('p', element('b', told)) if told else '',
            )
        )
        self._tried.show(tried_html(snapshot.goal))
        self._plan.show(plan_html(snapshot))
        if self._parts.read_only:
            return
        goal = snapshot.goal
        put(self._cancel, visible=goal is not None and goal.running)
        put(self._reset, visible=stopped)
        pending = snapshot.pending
        key = f'{pending.digest} {pending.verdict.category}' if pending else ''
        if key != self._digest:
            self._digest = key
            self._offer(pending)

    def _offer(self, pending: Pending | None) -> None:
        for button in self._answers:
            button.remove()
        self._answers = []
        self._reason.visible = pending is not None and bool(pending.digest)
        if pending is None or not pending.digest:
            return
        digest, gui = pending.digest, self._parts.gui
        short = digest[:_SHOWN_DIGITS]
        with self._answer:
            if pending.may_be_approved:
                approve = gui.add_button(f'Approve {short}', color='green', icon='check')
                approve.on_click(lambda _: self._say(digest, True))
                self._answers.append(approve)
            refuse = gui.add_button(f'Refuse {short}', color='gray', icon='x')
        refuse.on_click(lambda _: self._say(digest, False))
        self._answers.append(refuse)

    def _say(self, digest: str, approve: bool) -> None:
        parts, reason = self._parts, '' if approve else self._reason.value
        self._reason.value = ''
        parts.doing(lambda: parts.link.say(digest, approve, parts.operator, reason))

    def _stop(self) -> None:
        self._parts.doing(self._parts.link.stop)

    def _cancel_goal(self) -> None:
        goal = self._parts.state.snapshot.goal
        if goal is not None and goal.running:
            self._parts.doing(lambda: self._parts.link.cancel(goal))

    def _ask_reset(self, client: Any) -> None:
        """Asks whoever clicked, and nobody else, whether the cell was looked at."""
        if client is None:
            return
        reason = self._parts.state.snapshot.stop.reason
        modal = client.gui.add_modal('Allow motion again?')
        with modal:
            client.gui.add_html(
                panel(
                    element('p', f'It was stopped: {escaped(reason)}'),
                    element('p', 'Look at the cell first: is everybody out of its reach?'),
                    element('p', 'Nothing moves by the reset itself; the next task may.'),
                )
            )
            yes = client.gui.add_button('The cell is clear: reset', color='orange')
            no = client.gui.add_button('Stay stopped', color='gray')

        def reset(_: Any) -> None:
            modal.close()
            self._parts.doing(self._parts.link.reset)

        yes.on_click(reset)
        no.on_click(lambda _: modal.close())
