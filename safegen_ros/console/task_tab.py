# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where an operator states a task, and checks its reading before it is sent."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from safegen_ros.client import Options
from safegen_ros.console import choices
from safegen_ros.console.choices import (
    Chosen,
    Understood,
    request_examples,
    rule_examples,
    understand,
)
from safegen_ros.console.shown import draw, panel
from safegen_ros.console.widgets import RULES, TASK, Cards, Html, Parts, icon, put
from safegen_ros.errors import SafegenError
from safegen_ros.goals.request import TranslatedRequest
from safegen_ros.language.reading import Reading
from safegen_ros.pddl.model import And, Problem
from safegen_ros.record.present.cards import task_html
from safegen_ros.record.present.pictures import goal_html, state_html

if TYPE_CHECKING:
    import viser

NO_EXAMPLE = '-'
PROBLEM, PASTED, WORDS = 'list', 'PDDL or JSON text', 'plain words'
FIRST = 'tower_order'
_RUN, _OPEN_RULE = 'Plan, prove and execute', 'First add or clear the rule'
_OPEN_DOUBT = 'First accept the doubts'
_MEANT = 'The reading is right, despite the doubts'

_PLACE = re.compile(rf'^{re.escape(choices.PASTED)}:(\d+):(\d+): ')

TIME_BUDGET_S = 600.0
"""For planning, a person's word and the execution together [s]."""


class TaskTab:
    """The form of a goal.

    Args:
        bottom: the place of the button that sends it.
    """

    def __init__(self, parts: Parts, cards: Cards, bottom: viser.GuiFolderHandle) -> None:
        self._parts, self._cards = parts, cards
        self._chosen: Chosen | None = None
        self._spoken: TranslatedRequest | None = None
        self._world: Problem | None = None
        self._readings: tuple[Reading, ...] = ()
        self._removed: tuple[Reading, ...] = ()
        self._taken_from: tuple[str, ...] = ()
        gui = parts.gui
        with cards.card(TASK, running=False):
            self._add_task(gui)
        with cards.card(RULES, running=False):
            self._add_rules(gui)
        with cards.card(TASK, RULES, running=False):
            self._add_options(gui)
        with bottom, cards.card(TASK, RULES, running=False):
            self._run = gui.add_button(_RUN, icon=icon('player-play'))
            told = 'What does that mean?'
            self._ask = gui.add_button(told, icon=icon('message-question'), visible=False)
        self._connect()
        self._pick()

    def _add_task(self, gui: viser.GuiApi) -> None:
        self._kind = gui.add_dropdown('Task from', (PROBLEM, PASTED, WORDS))
        names = tuple(choices.problems())
        first = FIRST if FIRST in names else names[0]
        self._name = gui.add_dropdown('Problem', names, initial_value=first)
        self._text = gui.add_text('Text', '', multiline=True, visible=False)
        self._domain = gui.add_text('Domain', '', multiline=True, visible=False)
        self._words = gui.add_text('In words', '', multiline=True, visible=False)
        self._say = gui.add_button_group('For example', (NO_EXAMPLE,), visible=False)
        self._read = gui.add_button('Read it', visible=False, color='gray')
        self._doubted = Html(gui)
        self._meant = gui.add_checkbox(_MEANT, False, visible=False)
        self._seen = Html(gui)
        self._more = gui.add_button('More rules …', color='gray')

    def _add_rules(self, gui: viser.GuiApi) -> None:
        hint = 'such as: never put anything on b3; the key Enter adds it'
        self._rule = gui.add_text('Add a rule', '', hint=hint, multiline=True)
        self._trouble = Html(gui)
        self._such = gui.add_button_group('Such as', (NO_EXAMPLE,), visible=False)
        self._add = gui.add_button('Add the rule', color='gray')
        self._rules = Html(gui)
        self._drop = gui.add_button('Take back the last rule', color='gray', visible=False)

    def _add_options(self, gui: viser.GuiApi) -> None:
        with gui.add_folder('How it is planned', expand_by_default=False):
            self._strategy = gui.add_text('Planners', '', hint='such as: model, beam, search')
            self._attempts = gui.add_number('Attempts', 0, min=0, max=255, step=1)
            self._replans = gui.add_number('Replans', 0, min=0, max=255, step=1)
            self._seed = gui.add_number('Seed', 0, min=0, max=2**31 - 1, step=1)
        self._approval = gui.add_checkbox('Ask me before it moves', True)
        self._plan = gui.add_button('Plan and prove only', color='gray')

    def _connect(self) -> None:
        for choice in (self._kind, self._name):
            choice.on_update(lambda _: self._parts.link.goals.leave())
        self._kind.on_update(lambda _: self._switch())
        self._name.on_update(lambda _: self._pick())
        for field in (self._text, self._domain, self._words):
            field.on_update(lambda _: self._edited())
        self._read.on_click(lambda _: self._paste())
        self._ask.on_click(lambda _: self._parts.doing(self._understand))
        self._rule.on_update(lambda _: self._write_rule())
        self._more.on_click(lambda event: self._cards.open(RULES, event.client))
        self._add.on_click(lambda _: self._add_rule())
        self._such.on_click(lambda _: put(self._rule, value=self._such.value))
        self._say.on_click(lambda _: put(self._words, value=self._say.value))
        self._drop.on_click(lambda _: self._drop_rule())
        self._run.on_click(lambda _: self._parts.doing(self._send))
        self._plan.on_click(lambda _: self._parts.doing(self._send_plan))

    def update(self, busy: bool, up: bool, stopped: bool = False) -> None:
        """Allows what can be done now.

        Args:
            busy: whether a goal of this console goes on.
            up: whether the stack takes goals.
            stopped: whether it refuses each goal until a reset.
        """
        takes = up and not busy and not stopped
        ready = self._chosen is not None and takes and not self._open_rule and self._accepted
        label = _OPEN_RULE if self._open_rule else _RUN if self._accepted else _OPEN_DOUBT
        unread = self._kind.value == WORDS and self._chosen is None
        put(self._run, disabled=not ready, visible=not (stopped or unread), label=label)
        put(self._plan, disabled=not ready)
        words = str(self._words.value).strip()
        put(self._ask, disabled=not (takes and words), visible=unread and not stopped)
        put(self._say, visible=unread and NO_EXAMPLE not in self._say.options)

    @property
    def problem(self) -> Problem | None:
        """That of the task that is seen, or the world of words; None where there is none."""
        return self._chosen.task.problem if self._chosen is not None else self._world

    @property
    def _accepted(self) -> bool:
        """Whether a person has said yes to the doubts that are shown, if there are any."""
        return bool(self._meant.value) or not self._doubts

    @property
    def _open_rule(self) -> str:
        """A rule that is typed and not added; nothing is sent without it."""
        return str(self._rule.value).strip()

    def _switch(self) -> None:
        kind = self._kind.value
        put(self._name, visible=kind != PASTED)
        put(self._text, visible=kind == PASTED)
        put(self._domain, visible=kind == PASTED)
        put(self._read, visible=kind == PASTED)
        put(self._words, visible=kind == WORDS)
        put(self._say, visible=False)
        self._begin_anew()

    @property
    def _written(self) -> tuple[str, ...]:
        """What stands in the fields that a task is made from."""
        if self._kind.value == PROBLEM:
            return ()
        texts = (self._words,) if self._kind.value == WORDS else (self._text, self._domain)
        return tuple(each.value for each in texts)

    def _edited(self) -> None:
        """A task of other words than those that are seen must not be sent."""
        if self._chosen is not None and self._written != self._taken_from:
            self._begin_anew()

    def _begin_anew(self) -> None:
        if self._kind.value == PASTED:
            self._refuse('Paste a problem, and have it read.', bad=False)
        else:
            self._pick()

    def _pick(self) -> None:
        """Takes a problem that is here; for words it is the world that they are about."""
        try:
            chosen = choices.read_problem(self._name.value)
        except SafegenError as error:
            self._refuse(error.message)
            return
        if self._kind.value == WORDS:
            self._refuse('', bad=False)
            told = 'Describe the task. The goal of the problem is left out; its rules stay.'
            self._world = replace(chosen.task.problem, goal=And(()))
            world = state_html(self._world, self._world.init, 'The world')
            self._seen.show(panel(told, world))
            self._offer(self._say, request_examples(chosen.task.problem))
        else:
            self._take(chosen)

    def _paste(self) -> None:
        try:
            self._take(choices.read_pasted(self._text.value, self._domain.value))
        except SafegenError as error:
            self._refuse(error.message)

    def _take(self, chosen: Chosen, spoken: TranslatedRequest | None = None) -> None:
        """Shows a task as it would be sent."""
        self._chosen, self._spoken = chosen, spoken
        self._show_doubts()
        self._remove_rules()
        self._taken_from = self._written
        self._show()

    def _refuse(self, message: str, bad: bool = True) -> None:
        """Nothing can be sent; the lines of the text that are wrong are shown as they are."""
        self._chosen, self._spoken, self._world = None, None, None
        self._show_doubts()
        self._remove_rules()
        head, _, excerpt = message.partition('\n')
        head = _PLACE.sub(r'Line \1, column \2 of your text: ', head)
        self._seen.show(draw('mistake', head, excerpt, bad) if message else '')
        self._show_rules()

    def _show(self) -> None:
        if self._chosen is None:
            return
        problem = self._asked(self._chosen).task.problem
        start = state_html(problem, problem.init, 'start')
        wanted = goal_html(problem, 'wanted')
        parts = [task_html(problem), draw('pair', (start, wanted))]
        if self._spoken is not None:
            parts.insert(0, draw('strong', 'Your words were understood as this task:'))
            parts.append(draw('reading', 'All of it in words', self._spoken.understood.reading))
        self._seen.show(panel(*parts))
        self._show_rules()

    def _show_doubts(self) -> None:
        """Those about a new reading, not yet accepted, above it."""
        doubts = [draw('note', f'In doubt: {e}.', 'sg-bad') for e in self._doubts.splitlines()]
        self._doubted.show(panel(*doubts) if doubts else '')
        put(self._meant, value=False, visible=bool(doubts))

    @property
    def _doubts(self) -> str:
        """Those about what the words were understood as, line by line."""
        return self._spoken.understood.question if self._spoken is not None else ''

    def _asked(self, chosen: Chosen) -> Chosen:
        """The task with the rules that were added."""
        if not self._readings:
            return chosen
        return replace(chosen, task=chosen.task.with_rules(self._readings))

    def _write_rule(self) -> None:
        """Follows the field of the rule; a line that ends is a rule to add."""
        if self._rule.value.endswith('\n'):
            self._add_rule()
        else:
            told = 'This rule is not added yet: add it or clear it, then the task can be sent.'
            self._trouble.show(panel(told) if self._open_rule else '')

    def _add_rule(self) -> None:
        chosen, text = self._chosen, self._open_rule
        put(self._rule, value=text)
        if chosen is None:
            self._parts.tell('choose a task first: a rule is about its objects', True)
            return
        found = understand(text, self._asked(chosen).task.problem) if text else Understood()
        if found.readings:
            self._readings += found.readings
            self._removed = ()
            put(self._rule, value='')
            self._show()
        troubles = [draw('trouble', each) for each in found.troubles]
        told = 'Correct this rule, take an example, or clear it. Then the task can be sent.'
        self._trouble.show(panel(*troubles, told) if troubles else '')

    def _drop_rule(self) -> None:
        self._readings = self._readings[:-1]
        self._show()

    def _remove_rules(self) -> None:
        """Removes the added rules, as they were read for another task, and says so."""
        removed, self._readings = self._readings, ()
        if removed:
            self._removed = removed
            self._parts.tell(f'{_counted(removed)} removed: the task is another one', True)

    def _acknowledge(self) -> None:
        """A task that is sent was seen without the removed rules."""
        self._removed = ()
        self._show_rules()

    def _show_rules(self) -> None:
        """The rules that were added, and those that went with the task before."""
        parts = []
        if self._readings:
            parts += ['Added by you:', _readings_html(self._readings)]
        if self._removed:
            told = f'{_counted(self._removed)} removed with the task before; add again what holds:'
            parts += [draw('note', told, 'sg-bad'), _readings_html(self._removed)]
        self._rules.show(panel(*parts) if parts else '')
        put(self._drop, visible=bool(self._readings))
        such = rule_examples(self._chosen.task.problem) if self._chosen is not None else ()
        self._offer(self._such, such)

    @staticmethod
    def _offer(group: viser.GuiButtonGroupHandle, texts: tuple[str, ...]) -> None:
        put(group, options=texts or (NO_EXAMPLE,), visible=bool(texts))

    def _options(self) -> Options:
        return Options(
            time_budget_s=TIME_BUDGET_S,
            max_attempts=int(self._attempts.value),
            seed=int(self._seed.value),
            strategy=self._strategy.value.strip(),
            max_replans=int(self._replans.value),
            approval=bool(self._approval.value),
        )

    def _send(self) -> str:
        chosen = self._taken()
        self._parts.sender.run(self._asked(chosen), self._options(), self._spoken)
        self._acknowledge()
        return 'the task is sent'

    def _send_plan(self) -> str:
        chosen = self._taken()
        options = replace(self._options(), max_replans=0, approval=False)
        self._parts.sender.plan(self._asked(chosen), options)
        self._acknowledge()
        return 'the task is sent; nothing will move for it'

    def _taken(self) -> Chosen:
        if self._chosen is None:
            raise SafegenError('there is no task to send: choose one, or have your text read')
        if self._open_rule:
            raise SafegenError(
                f'the rule {self._open_rule!r} is not added: add it or clear it first'
            )
        if not self._accepted:
            raise SafegenError(f'the reading is in doubt: tick {_MEANT!r}, or say it otherwise')
        return self._chosen

    def _understand(self) -> str:
        self._pick()
        world, words = choices.read_problem(self._name.value), self._words.value

        def take(chosen: Chosen, spoken: TranslatedRequest) -> None:
            if self._written == (words,):
                self._take(chosen, spoken)

        self._parts.sender.understand(words, world, Options(TIME_BUDGET_S), take)
        return 'sent to be read; nothing is planned yet'


def _counted(readings: tuple[Reading, ...]) -> str:
    return '1 rule was' if len(readings) == 1 else f'{len(readings)} rules were'


def _readings_html(readings: tuple[Reading, ...]) -> str:
    return draw('rules', [(' '.join(each.sentences), each.formula) for each in readings], 0)
