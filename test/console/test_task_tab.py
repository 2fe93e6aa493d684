# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The form of a task on a real server of viser: no rule of an operator is left out silently."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from safegen_ros.console import widgets
from safegen_ros.console.access import Gate, serve
from safegen_ros.console.choices import read_problem
from safegen_ros.console.operator_panel import OperatorPanel
from safegen_ros.console.state import ConsoleState, Goals, PartView, Pending, Snapshot, StopView
from safegen_ros.console.task_tab import PASTED, WORDS, TaskTab
from safegen_ros.console.widgets import APPROVE, HISTORY, PLAN, RULES, STEPS, TASK, Cards, Parts
from safegen_ros.goals.request import IN_WORDS, TranslatedRequest
from safegen_ros.record.present.pictures import wanted_towers
from safegen_ros.record.run import TaskRecord, UnderstoodRecord
from safegen_ros.verdict import Category, Verdict

RULE, OTHER, VAGUE = 'b5 must never be on b1', 'never put b2 on b5', 'be careful with b5'
SEND, PROVE, ASK = 'Plan, prove and execute', 'Plan and prove only', 'What does that mean?'
MEANT = 'The reading is right, despite the doubts'


class Sent:
    """Takes the place of the sender: keeps what would be sent."""

    def __init__(self) -> None:
        self.tasks: list[Any] = []

    def run(self, chosen: Any, options: Any, spoken: Any = None) -> None:
        self.tasks.append(chosen.task.problem)

    def plan(self, chosen: Any, options: Any) -> None:
        self.tasks.append(chosen.task.problem)


class Form:
    """The tab, its widgets by their labels, and what was told."""

    def __init__(self) -> None:
        self.server = serve(Gate('127.0.0.1'), 0)
        self.sent, self.told = Sent(), []
        gui: Any = self.server.gui
        parts = Parts(
            gui,
            ConsoleState(),
            SimpleNamespace(goals=Goals(ConsoleState())),
            self.sent,
            lambda line, bad: self.told.append(line),
            'me',
            False,
        )  # type: ignore[arg-type]
        self.cards = Cards(gui)
        self.tab = TaskTab(parts, self.cards, gui.add_folder(None))
        self._widgets = {each.label: each for each in gui._gui_input_handle_from_uuid.values()}

    def __getitem__(self, label: str) -> Any:
        return self._widgets[label]

    def click(self, label: str) -> None:
        """Runs the callbacks of a button, whether it is disabled or not."""
        for callback in self[label]._impl.update_cb:
            callback(None)

    def ready(self, label: str = SEND) -> bool:
        self.tab.update(busy=False, up=True)
        return not self[label].disabled

    @property
    def rules(self) -> str:
        return str(self.tab._rules._handle.content) if self.tab._rules._handle.visible else ''

    @property
    def trouble(self) -> str:
        shown = self.tab._trouble._handle
        return str(shown.content) if shown.visible else ''


@pytest.fixture
def form() -> Iterator[Form]:
    made = Form()
    yield made
    made.server.stop()


@pytest.mark.parametrize('button', [SEND, PROVE])
@pytest.mark.parametrize('text', [RULE, VAGUE, '(always (not (on b5 b1)))', ' x '])
def test_a_rule_that_is_typed_and_not_added_keeps_the_task_from_being_sent(
    form: Form, button: str, text: str
) -> None:
    assert form.ready(button)
    form['Add a rule'].value = text
    assert not form.ready(button)
    assert form[SEND].label == 'First add or clear the rule'
    assert 'not added yet' in form.trouble
    form.click(button)  # a page that is a moment behind
    assert not form.sent.tasks
    assert 'is not added' in form.told[-1]
    form['Add a rule'].value = ''
    assert form.ready(button)
    assert not form.trouble
    form.click(button)
    (sent,) = form.sent.tasks
    assert len(sent.constraints) == 1  # that of the problem itself


def test_nothing_is_sent_to_a_stopped_stack(form: Form) -> None:
    assert form.ready()
    form.tab.update(busy=False, up=True, stopped=True)
    assert (form[SEND].disabled, form[PROVE].disabled) == (True, True)
    assert not form[SEND].visible
    assert form.ready()
    assert form[SEND].visible


def test_the_key_enter_adds_a_rule(form: Form) -> None:
    form['Add a rule'].value = f'{RULE}\n'
    assert form['Add a rule'].value == ''
    assert '(always (not (on b5 b1)))' in form.rules
    assert form.ready()
    form.click(SEND)
    (sent,) = form.sent.tasks
    assert len(sent.constraints) == 2


def test_an_example_is_written_into_the_field_and_added_by_a_person(form: Form) -> None:
    example = form['Such as'].options[0]
    form['Such as'].value = example
    form.click('Such as')
    assert form['Add a rule'].value == example
    assert not form.ready()
    form.click('Add the rule')
    assert form.ready()
    form['Task from'].value = PASTED  # no task, no examples of it
    assert not form['Such as'].visible


def test_a_request_that_is_offered_is_written_into_its_field(form: Form) -> None:
    assert not form['For example'].visible
    form['Task from'].value = WORDS
    example = form['For example'].options[-1]
    assert example == 'build a tower with b3 at the bottom, then b4, then b1'
    world = form.tab.problem  # its blocks stand on the table of the scene, and nothing beside it
    assert world is not None
    assert ({*world.objects}, wanted_towers(world)) == ({'b1', 'b2', 'b3', 'b4', 'b5'}, ())
    form['For example'].value = example
    form.click('For example')
    assert form['In words'].value == example
    form['Task from'].value = PASTED
    assert not form['For example'].visible
    assert form.tab.problem is None


@pytest.mark.parametrize('end', ['\n', ''])
def test_a_rule_that_is_not_understood_stays_in_its_field_with_the_reason(
    form: Form, end: str
) -> None:
    form['Add a rule'].value = f'{VAGUE}{end}'
    form.click('Add the rule')
    assert form['Add a rule'].value == VAGUE
    assert 'Correct this rule' in form.trouble
    assert 'careful' in form.trouble
    assert not form.ready()
    assert not form.ready(PROVE)


@pytest.mark.parametrize('change', ['problem', 'kind', 'words'])
def test_rules_that_go_with_their_task_are_named(form: Form, change: str) -> None:
    form['Add a rule'].value = f'{RULE}\n{OTHER}\n'
    assert '(always (not (on b5 b1)))' in form.rules
    if change == 'problem':
        form['Problem'].value = next(
            o for o in form['Problem'].options if o != form['Problem'].value
        )
    else:
        form['Task from'].value = PASTED if change == 'kind' else WORDS
    assert '2 rules were removed' in form.told[-1]
    assert '2 rules were removed' in form.rules
    assert '(always (not (on b5 b1)))' in form.rules
    assert 'Added by you' not in form.rules
    if change == 'problem':
        form.click(SEND)
        assert 'removed' not in form.rules


@pytest.fixture
def cards() -> Iterator[Cards]:
    server = serve(Gate('127.0.0.1'), 0)
    yield Cards(server.gui)
    server.stop()


def test_the_card_of_each_step_opens_and_a_click_opens_another_one(cards: Cards) -> None:
    folders = {name: cards.card(name) for name in (*STEPS, HISTORY)}

    def opened() -> list[str]:
        return [name for name, folder in folders.items() if folder.visible]

    assert opened() == [TASK]
    cards.follow(PLAN, running=True)
    assert opened() == [PLAN]
    cards.open(RULES)
    cards.follow(PLAN, running=True)
    assert opened() == [RULES]
    cards.open(HISTORY)
    cards.follow(APPROVE, running=True)  # what waits for a person goes before
    assert opened() == [APPROVE]


def test_the_task_that_goes_on_takes_the_place_of_the_form(cards: Cards) -> None:
    form, sent = cards.card(TASK, running=False), cards.card(TASK, running=True)
    cards.follow(TASK, running=True)
    assert (form.visible, sent.visible) == (False, True)
    cards.follow(TASK, running=False)
    assert (form.visible, sent.visible) == (True, False)


def test_a_click_opens_the_card_of_one_viewer_until_the_next_step(
    cards: Cards, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = {name: cards.card(name) for name in (*STEPS, HISTORY)}
    names = {id(folder): name for name, folder in folders.items()}
    seen = {1: TASK, 2: TASK}

    def show_to(viewer: Any, folder: Any, visible: bool) -> None:
        if visible:
            seen[viewer.client_id] = names[id(folder)]

    monkeypatch.setattr(widgets, 'show_to', show_to)
    first, second = (cast('Any', SimpleNamespace(client_id=number)) for number in (1, 2))
    cards.open(HISTORY, first)
    cards.open(RULES, second)
    assert (seen, cards.opened) == ({1: HISTORY, 2: RULES}, TASK)
    cards.forget(second)
    cards.follow(TASK, running=True)  # the same step: the open card stays
    assert (seen, cards.opened) == ({1: HISTORY, 2: RULES}, TASK)
    cards.follow(PLAN, running=True)
    assert (seen, cards.opened) == ({1: PLAN, 2: RULES}, PLAN)


def test_a_reading_in_doubt_is_sent_only_when_a_person_has_ticked_it(form: Form) -> None:
    form['Task from'].value = WORDS
    assert not form.ready(ASK)
    form['In words'].value = 'put b1 on b2'
    assert form.ready(ASK)
    assert [form[each].visible for each in (ASK, SEND)] == [True, False]
    chosen = read_problem(form['Problem'].value)
    doubts = 'the request says <never>, and the reading has no rule'
    record = UnderstoodRecord('p', problem='(define)', reading='The goal:', question=doubts)
    spoken = TranslatedRequest(TaskRecord('', IN_WORDS, '', '', 'put b1 on b2', 'words'), (record,))
    form.tab._take(chosen, spoken)
    assert 'In doubt: the request says &lt;never&gt;' in str(form.tab._doubted._handle.content)
    assert (form.ready(), form.ready(PROVE)) == (False, False)
    assert form[SEND].label == 'First accept the doubts'
    form.click(SEND)  # a page that is a moment behind
    assert not form.sent.tasks
    assert 'in doubt' in form.told[-1]
    form[MEANT].value = True
    assert form.ready()
    form.click(SEND)
    assert len(form.sent.tasks) == 1
    form.tab._take(chosen, spoken)  # read again
    assert not form.ready()
    form.tab._take(chosen, replace(spoken, events=(replace(record, question=''),)))
    assert (form.ready(), form[MEANT].visible) == (True, False)


class _Gui:
    """Stands for the page: keeps each button by its label, and lets a test click it."""

    def __init__(self) -> None:
        self.buttons: dict[str, Any] = {}
        self.texts: list[str] = []

    def add_button(self, label: str, **more: Any) -> Any:
        clicks: list[Callable[[Any], None]] = []
        button = SimpleNamespace(visible=more.get('visible', True), clicks=clicks)
        button.on_click = clicks.append
        self.buttons[label] = button
        return button

    def click(self, label: str, client: Any = None) -> None:
        for click in self.buttons[label].clicks:
            click(SimpleNamespace(client=client))

    def add_html(self, text: str, **more: Any) -> Any:
        assert type(text) is str  # viser sends no other
        self.texts.append(text)
        return SimpleNamespace(content=text, visible=True)

    def add_text(self, *_: Any, **more: Any) -> Any:
        return SimpleNamespace(value='', visible=True)

    def add_button_group(self, *_: Any, **more: Any) -> Any:
        return SimpleNamespace(on_click=lambda act: None)

    def add_command(self, *_: Any, **more: Any) -> Any:
        return SimpleNamespace(on_trigger=lambda act: None)

    def add_folder(self, title: str | None, **more: Any) -> Any:
        folder = nullcontext()
        folder.visible = more.get('visible', True)  # type: ignore[attr-defined]
        return folder


class _Modal:
    def __init__(self) -> None:
        self.closed = False

    def __enter__(self) -> _Modal:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left open."""

    def close(self) -> None:
        self.closed = True


class _ClientGui(_Gui):
    def __init__(self) -> None:
        super().__init__()
        self.modal = _Modal()

    def add_modal(self, title: str) -> Any:
        self.texts.append(title)
        return self.modal


@pytest.mark.parametrize(
    ('button', 'yes', 'no', 'asked'),
    [
        ('Reset …', 'The cell is clear: reset', 'Stay stopped', 'reset'),
        ('The blocks were set up …', 'Every block is in its place', 'Not yet', 'set_up'),
    ],
)
def test_a_statement_is_made_only_by_who_confirms_it(
    button: str, yes: str, no: str, asked: str
) -> None:
    gui, said = _Gui(), list[str]()
    link = SimpleNamespace(
        reset=lambda: said.append('reset') or '', set_up=lambda: said.append('set_up') or ''
    )
    parts: Any = SimpleNamespace(
        gui=gui, state=ConsoleState(), link=link, read_only=False, doing=lambda act: act(), place=()
    )
    panel = OperatorPanel(parts)
    gui.click(button)  # of nobody that could be asked
    for answer, expected in ((no, []), (yes, [asked])):
        client = SimpleNamespace(gui=_ClientGui())
        gui.click(button, client)
        assert said == []
        assert next(iter(client.gui.buttons)) == no  # which has the focus
        client.gui.click(answer)
        assert client.gui.modal.closed
        assert said == expected
    real = {'executor: state': PartView('executor: state', 0, 'active', 'mycobot')}
    for parts_of, stop, shown in (
        ({}, StopView(True, True, 'a hand'), {'Reset …'}),
        (real, StopView(True), {'The blocks were set up …'}),
    ):
        panel.update(Snapshot(parts=parts_of, stop=stop))
        names = ('Reset …', 'The blocks were set up …')
        assert {name for name in names if gui.buttons[name].visible} == shown


def test_the_plan_is_in_view_when_its_answers_are_offered() -> None:
    gui = _Gui()
    parts: Any = SimpleNamespace(gui=gui, state=ConsoleState(), read_only=False, place=())
    panel = OperatorPanel(parts)
    panel.cards.open(HISTORY)
    verdict = Verdict(Category.SUCCESS)
    panel.update(Snapshot(pending=Pending('0' * 32, 'f' * 64, ('(pickup a)',), verdict, 0.0)))
    assert 'Approve this plan' in gui.buttons
    assert panel.cards.opened == APPROVE
