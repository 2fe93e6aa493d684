# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What came from outside crosses no border raw: terminal, error messages, answers of models."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.markup import escape
from rich.table import Table

from safegen_ros.errors import PddlError, PlanFormatError, SafegenError
from safegen_ros.llm.backend import Completion
from safegen_ros.tasks.pddl3.task import Pddl3Task
from safegen_ros.terminal import Console
from safegen_ros.untrusted import guard, hidden, numbered, visible
from safegen_ros.verdict import Category

EVIL = [
    '\x1b]52;c;cm0gLXJmIH4=\x1b\\',
    '\x1b[2A\r\x1b[2K',
    '\x9b31m',
    'a\u202eb',
    '\x00',
    '\ud800',
    '\x7f',
    '\u2028',
]
ANY = st.text(st.characters(), max_size=40)  # with surrogates
STEERING = re.compile(
    '[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]'
)
SGR = re.compile(r'\x1b\[[0-9;]*m')


@given(ANY)
def test_what_is_visible_steers_nothing(text: str) -> None:
    shown = visible(text)
    assert not STEERING.search(shown)
    assert not hidden(shown)
    assert visible(shown) == shown
    shown.encode('utf-8')
    if text.isprintable():
        assert shown == text


def test_numbers_are_read_back() -> None:
    assert visible('\x1b[1m') == '⟨U+001B⟩[1m'
    assert visible('\U000e0041') == '⟨U+E0041⟩'
    assert numbered(visible('\x00 b')) == 'U+0000'
    assert numbered('⟨x⟩') == numbered('a⟨U+0000⟩') == ''


@pytest.mark.parametrize('text', EVIL)
def test_no_error_message_steers(text: str) -> None:
    for error in (
        SafegenError(f'found {text}'),
        PlanFormatError(text, line=1, column=1, cure=text),
        PddlError(text, source=text, line=1, column=1),
    ):
        assert not STEERING.search(error.message)
        assert not STEERING.search(str(error))
        assert not any(STEERING.search(str(value)) for value in error.to_dict().values())


@given(ANY)
def test_a_console_writes_no_escape_of_a_text(text: str) -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, color_system='truecolor', width=60)
    console.print(f'[bold red]{escape(text)}[/]', highlight=False, soft_wrap=True)
    table = Table(title=escape(text))
    table.add_column()
    table.add_row(escape(text))
    console.print(table)
    console.print(text, markup=False)
    with console.status(escape(text)):
        pass
    written = file.getvalue()
    assert '\x1b[' in written  # its own styles
    own = re.sub(r'\x1b\[(?:[0-9;]*m|\?25[lh]|[0-9]*[AK])|\r', '', written)
    assert not STEERING.search(own)


def test_print_writes_no_escape_of_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    out, error = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, 'stdout', out)
    monkeypatch.setattr(sys, 'stderr', error)
    guard()
    guard()
    for text in EVIL:
        print(text)
        print(text, file=sys.stderr)
    sys.stdout.writelines(EVIL)
    Console(force_terminal=True).print('[bold]styled[/]')
    sys.stdout.flush()
    assert not STEERING.search(SGR.sub('', out.getvalue()))
    assert not STEERING.search(error.getvalue())
    assert '\x1b[1mstyled' in out.getvalue()


def test_a_live_display_moves_the_cursor_and_text_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its escapes were printed as numbers, since rich puts its own stream around ours."""
    out = io.StringIO()
    monkeypatch.setattr(sys, 'stdout', out)
    guard()
    with Console(force_terminal=True).status('planning'):
        for text in EVIL:
            print(text)
    own = re.sub(r'\x1b\[(?:[0-9;]*m|\?25[lh]|[0-9]*[AK])|\r', '', out.getvalue())
    assert not STEERING.search(own)
    assert '\x1b[2K' in out.getvalue()
    assert '\u27e8U+001B\u27e9[2K' not in out.getvalue()


def test_every_console_is_that_one() -> None:
    root = Path(__file__).parents[1] / 'safegen_ros'
    wild = re.compile(r'rich\.console import[^\n]*\bConsole\b|rich\.console\.Console|rich\.print\b')
    found = [p.name for p in root.rglob('*.py') if wild.search(p.read_text(encoding='utf-8'))]
    assert found == ['terminal.py']


@pytest.mark.parametrize('text', EVIL)
def test_a_model_cannot_hide_anything_in_an_answer(text: str, tower_order: Pddl3Task) -> None:
    for answer in (f'(pickup b1){text}(stack b1 b2)', f'(pick{text}up b1)', f'{text}(pickup b1)'):
        said = Completion(answer, 1, 1, 0.0, 'stop').text
        assert not STEERING.search(said)
        assert tower_order.verify(said).category is Category.FORMAT_ERROR
    said = Completion('(pickup b1)\0\n', 1, 1, 0.0, 'stop').text
    assert 'the character U+0000' in tower_order.verify(said).reason
    said = Completion('(pickup\u202e b1)', 1, 1, 0.0, 'stop').text
    assert 'the character U+202E in a step' in tower_order.verify(said).reason


@given(ANY)
def test_any_answer_can_be_sent_and_written(text: str) -> None:
    said = Completion(text, 1, 1, 0.0, 'stop').text
    assert not hidden(said)
    said.encode('utf-8')


def test_line_ends_of_an_answer_are_no_reason_to_refuse_it() -> None:
    assert Completion('(a)\r\n(b)\r\n', 1, 1, 0.0, 'stop').text == '(a)\n(b)\n'
