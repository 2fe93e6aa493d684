# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What users and other programs rely on is as it was: help of the verbs, and the messages.

`python test/test_golden.py` writes test/golden again, where a change is meant.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

from safegen_ros import errors
from safegen_ros.cli.main import app

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / 'test' / 'golden'
PLAIN = {
    'COLUMNS': '80',
    'TERMINAL_WIDTH': '80',
    'TERM': 'dumb',
    'NO_COLOR': '1',
    'FORCE_COLOR': '',
}


def verbs(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every verb and group of verbs."""
    yield words
    if isinstance(command, TyperGroup):
        with command.make_context('safegen', ['--help'], resilient_parsing=True) as context:
            for name in command.list_commands(context):
                yield from verbs(command.get_command(context, name), (*words, name))


def help_text() -> str:
    """`--help` of all verbs at 80 columns."""
    parts = []
    for words in verbs(typer.main.get_command(app)):
        told = CliRunner().invoke(
            app, [*words, '--help'], prog_name='safegen', env=PLAIN, catch_exceptions=False
        )
        lines = (line.rstrip() for line in told.stdout.splitlines())
        parts.append('\n'.join([f'$ {" ".join(("safegen", *words))} --help', *lines]).rstrip())
    return '\n\n'.join(parts) + '\n'


def message_digests() -> str:
    """Digest of each message, service and action, comments and spaces apart."""
    lines = []
    folder = ROOT / 'safegen_msgs'
    for path in sorted(p for kind in ('msg', 'srv', 'action') for p in folder.glob(f'{kind}/*')):
        fields = (line.partition('#')[0].split() for line in path.read_text().splitlines())
        text = '\n'.join(' '.join(words) for words in fields if words)
        lines.append(f'{sha256(text.encode()).hexdigest()[:16]}  {path.relative_to(folder)}\n')
    return ''.join(lines)


def exception_tree(kind: type, depth: int = 1) -> Iterator[str]:
    """A class and those of safegen_ros.errors below it, as lines."""
    yield f'{"  " * (depth + 1)}{kind.__name__}\n'
    for each in sorted(kind.__subclasses__(), key=lambda each: each.__name__):
        if each.__module__ == errors.__name__:
            yield from exception_tree(each, depth + 1)


WRITTEN = {'help.txt': help_text, 'messages.txt': message_digests}


def test_the_help_of_all_verbs_is_as_it_was() -> None:
    assert help_text() == (GOLDEN / 'help.txt').read_text()


def test_messages_are_as_they_were() -> None:
    assert message_digests() == (GOLDEN / 'messages.txt').read_text()


def test_the_tree_of_exceptions_is_drawn_where_they_are() -> None:
    assert f'\n{"".join(exception_tree(errors.SafegenError))}\n' in (errors.__doc__ or '')


if __name__ == '__main__':
    os.environ |= PLAIN
    for name, write in WRITTEN.items():
        (GOLDEN / name).write_text(write())
