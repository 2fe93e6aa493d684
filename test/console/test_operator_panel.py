# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What an operator has to confirm before the console asks a node for it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from safegen_ros.console.operator_panel import OperatorPanel
from safegen_ros.console.state import ConsoleState, PartView, Pending, Snapshot, StopView
from safegen_ros.console.widgets import APPROVE, HISTORY
from safegen_ros.verdict import Category, Verdict


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
