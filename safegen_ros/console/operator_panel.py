# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is always in view: what happens next, the stop, and a plan that waits for a word."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from safegen_ros.console.shown import (
    PlanChart,
    countdown_words,
    draw,
    panel,
    plan_html,
    situation,
    state_words,
    step_of,
    stop_words,
    tried_html,
    way,
)
from safegen_ros.console.state import Pending, Snapshot
from safegen_ros.console.widgets import (
    APPROVE,
    BESIDE,
    DONE,
    PLAN,
    RUN,
    STEPS,
    TASK,
    Cards,
    Html,
    Parts,
    icon,
    put,
)
from safegen_ros.record.present.wording import next_words

if TYPE_CHECKING:
    import viser

_NOT_REAL = {'twin': 'TWIN', 'symbolic': 'SYMBOLIC: nothing moves', '': 'no robot'}
"""The cell that executes, so that no operator takes the real arm for its twin."""

_LAST = 1e6  # behind every part of the page that is added later


class OperatorPanel:
    """The panel at the top.

    A button that approves is made for one digest and goes with it: a click on an outdated plan can
    never allow another one.

    Attributes:
        cards: the cards below it.
        bottom: the place of the next button, which stays in view.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._digest = ''
        self._answers: list[viser.GuiButtonHandle] = []
        self._over_time = PlanChart()
        gui = parts.gui
        Html(gui, draw('style'))
        if not parts.read_only:
            # The first of all, right before the head and the steps: all three stay at the top.
            stop = gui.add_button('STOP', color='red', icon=icon('hand-stop'), hint='Key Escape')
            stop.on_click(lambda _: self._stop())
            gui.add_command('Stop the arm', hotkey='escape').on_trigger(lambda _: self._stop())
        self._head = Html(gui)
        self.cards = Cards(gui)
        self._next = Html(gui)
        if parts.read_only:
            Html(gui, panel('View only: this page sends no commands.'))
        self.cards.add_beside()
        with self.cards.card(APPROVE, RUN, DONE):
            self._plan, self._chart, self._tried = Html(gui), Html(gui), Html(gui)
        for number, name in enumerate(STEPS, start=1):
            with self.cards.card(name):
                Html(gui, draw('opened', number))
        self.bottom = gui.add_folder(None, order=_LAST)
        if not parts.read_only:
            self._add_buttons(gui)

    def _add_buttons(self, gui: viser.GuiApi) -> None:
        with self.cards.card(APPROVE):
            self._reason = gui.add_text('Reason', '', visible=False, hint='Why you refuse the plan')
        self._set_up = gui.add_button('The blocks were set up …', color='gray', visible=False)
        self._set_up.on_click(lambda event: self._ask_set_up(event.client))
        with self.bottom:
            self._reset = gui.add_button(
                'Reset …', color='orange', icon=icon('lock-open'), visible=False
            )
            self._reset.on_click(lambda event: self._ask_reset(event.client))
            self._cancel = gui.add_button(
                'Cancel the goal', color='gray', icon=icon('ban'), visible=False
            )
            self._cancel.on_click(lambda _: self._cancel_goal())
            with self.cards.card(PLAN, APPROVE, RUN, DONE, *BESIDE, running=False):
                self._new = gui.add_button('Next task', icon=icon('arrow-right'))
            self._new.on_click(lambda event: self._next_task(event.client))

    def update(self, snapshot: Snapshot) -> None:
        """Shows the known state."""
        at, stopped = situation(snapshot), snapshot.stop.stopped
        robot = _NOT_REAL.get(snapshot.robot, f'REAL ARM: {snapshot.robot}')
        real, place = snapshot.robot not in _NOT_REAL, ' · '.join(self._parts.place)
        goal, steps = snapshot.goal, way(snapshot, at)
        running = goal is not None and goal.running
        self.cards.follow(step_of(steps), running)
        pending = snapshot.pending
        key = f'{pending.digest} {pending.verdict.category}' if pending else ''
        if key != self._digest and not self._parts.read_only:
            self._digest = key
            self._offer(pending)
            if pending is not None:  # before its words are read: a click on them goes after it
                self.cards.open(APPROVE)
        state = state_words(at, snapshot.robot)
        self._head.show(draw('head', robot, real, *state, place, steps))
        countdown = countdown_words(snapshot.pending, time.time())
        self._next.show(draw('next', next_words(at), stopped, countdown))
        self._tried.show(tried_html(goal))
        self._plan.show(plan_html(snapshot) or panel('No plan is proved yet.'))
        self._chart.show(self._over_time.update(snapshot, time.monotonic()))
        if self._parts.read_only:
            return
        put(self._cancel, visible=running and not snapshot.waits)
        put(self._reset, visible=stopped)
        put(self._new, visible=not stopped)
        put(self._set_up, visible=snapshot.robot not in _NOT_REAL)

    def _offer(self, pending: Pending | None) -> None:
        for button in self._answers:
            button.remove()
        self._answers = []
        self._reason.visible = pending is not None and bool(pending.digest)
        if pending is None or not pending.digest:
            return
        digest, gui = pending.digest, self._parts.gui
        with self.bottom:
            if pending.may_be_approved:
                approve = gui.add_button('Approve this plan', color='green', icon=icon('check'))
                approve.on_click(lambda _: self._say(digest, True))
                self._answers.append(approve)
            refuse = gui.add_button('Refuse it', color='gray', icon=icon('x'))
        refuse.on_click(lambda _: self._say(digest, False))
        self._answers.append(refuse)

    def _say(self, digest: str, approve: bool) -> None:
        parts, reason = self._parts, '' if approve else self._reason.value
        put(self._reason, value='')
        parts.doing(lambda: parts.link.say(digest, approve, parts.operator, reason))

    def _stop(self) -> None:
        # The head shows it in red; a green line would not fit.
        self._parts.doing(lambda: self._parts.link.stop() and None)

    def _next_task(self, client: viser.ClientHandle | None) -> None:
        self._parts.link.goals.leave()
        self.cards.open(TASK, client)

    def _cancel_goal(self) -> None:
        goal = self._parts.state.snapshot.goal
        if goal is not None and goal.running:
            self._parts.doing(lambda: self._parts.link.cancel(goal.action, goal.id))

    def _ask_reset(self, client: viser.ClientHandle | None) -> None:
        """Asks whether the cell was looked at."""
        reason = stop_words(self._parts.state.snapshot.stop)
        self._confirm(
            client,
            'Allow motion again?',
            (
                f'It was stopped: {reason}',
                'Look at the cell first: is everybody out of its reach?',
                'Nothing moves by the reset itself; the next task may.',
            ),
            'The cell is clear: reset',
            'Stay stopped',
            self._parts.link.reset,
        )

    def _ask_set_up(self, client: viser.ClientHandle | None) -> None:
        """Asks whether the blocks really stand as the next task begins."""
        self._confirm(
            client,
            'Were the blocks set up?',
            (
                'Compare the table with the initial state of the next task, block by block.',
                'The arm does not see the blocks: it moves to where that task says they stand.',
                'The statement counts for the next goal only.',
            ),
            'Every block is in its place',
            'Not yet',
            self._parts.link.set_up,
        )

    def _confirm(
        self,
        client: viser.ClientHandle | None,
        title: str,
        lines: tuple[str, ...],
        yes: str,
        no: str,
        act: Callable[[], str],
    ) -> None:
        """Asks the operator who clicked, and no other, before something is done."""
        if client is None:
            return
        modal = client.gui.add_modal(title)
        with modal:
            Html(client.gui, panel(*lines))
            # The first button has the focus: the key Enter must never allow motion.
            leave = client.gui.add_button(no, color='gray')
            agree = client.gui.add_button(yes, color='orange')

        def agreed(_: object) -> None:
            modal.close()
            self._parts.doing(act)

        agree.on_click(agreed)
        leave.on_click(lambda _: modal.close())
