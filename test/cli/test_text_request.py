# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which texts of a command line are requests, and what goes with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.blocks_small import THREE_TEXT

from safegen_ros.cli.text_request import TextRequest, is_request
from safegen_ros.client import Options
from safegen_ros.errors import SafegenError


@pytest.mark.parametrize(
    ('text', 'request_'),
    [
        ('put b1 on b2, and never put anything on b3', True),
        ('put b1 on b2.', True),
        ('blocksworld-023', False),
        ('no/such/problem.pddl', False),
        ('my problems/tower order.pddl', False),
        ('a task.txt', False),
        ('stack', False),
        ('', False),
        (' ', False),
        ('x ' * 10_000, True),
        ('put a \0 on b', True),
    ],
)
def test_a_text_with_blanks_that_is_no_file_is_a_request(text: str, request_: bool) -> None:
    assert is_request(text) is request_


def test_a_file_with_blanks_in_its_name_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_request('my task')
    Path('my task').write_text(THREE_TEXT)
    assert not is_request('my task')
    spoken = TextRequest.read('my task', True, Path('blocksworld'), '', None)
    assert spoken == TextRequest('my task', 'blocksworld', '', '')


def test_domain_constraints_and_start_may_be_files(tmp_path: Path) -> None:
    files = {'domain': '(define (domain d))', 'rules': '(always (p))', 'start.pddl': THREE_TEXT}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    rules, start = str(tmp_path / 'rules'), tmp_path / 'start.pddl'
    spoken = TextRequest.read('put a on b', False, tmp_path / 'domain', rules, start)
    assert spoken == TextRequest('put a on b', *files.values())
    options = spoken.options(Options(seed=3))
    assert (options.constraints, options.start, options.seed) == ('(always (p))', THREE_TEXT, 3)
    spoken = TextRequest.read('put a on b', False, None, '(always (p))', None)
    assert spoken == TextRequest('put a on b', '', '(always (p))', '')


@pytest.mark.parametrize(('constraints', 'start'), [('(always (p))', None), ('', Path('s.pddl'))])
def test_what_goes_with_words_is_not_dropped_beside_a_file(
    constraints: str, start: Path | None
) -> None:
    with pytest.raises(SafegenError, match='--words'):
        TextRequest.read('examples/tower_order.pddl', False, None, constraints, start)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(SafegenError, match='the constraints cannot be read'):
        TextRequest.read('put a on b', False, None, 'no-such-file', None)
    with pytest.raises(SafegenError, match='the problem cannot be read'):
        TextRequest.read('put a on b', False, None, '', tmp_path / 'none.pddl')
