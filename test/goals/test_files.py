# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The files that a user names, by path or by id, in each format; and which cell a task gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from safegen_ros import paths
from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.goals import files
from safegen_ros.goals.files import find_problem, read_action_task, read_task
from safegen_ros.tasks.pddl3.cells import choose_cell
from safegen_ros.tasks.pddl3.domains import builtin_domain_text, kits
from safegen_ros.tasks.pddl3.formats import FORMATS, format_of
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_task


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with three test problems, and an empty working directory."""
    folder = tmp_path / 'share' / files.TEST_PROBLEMS
    folder.mkdir(parents=True)
    for name in ('blocksworld-000', 'blocksworld-001', 'ferry-000'):
        (folder / f'{name}.pddl').touch()
    monkeypatch.setattr(paths, 'share_dir', lambda: tmp_path / 'share')
    (tmp_path / 'work').mkdir()
    monkeypatch.chdir(tmp_path / 'work')
    return folder


def test_an_id_is_a_test_problem_and_a_file_goes_first(shipped: Path) -> None:
    assert find_problem(Path('ferry-000')) == shipped / 'ferry-000.pddl'
    Path('ferry-000').touch()
    assert find_problem(Path('ferry-000')) == Path('ferry-000')


def test_a_shipped_file_is_found_from_anywhere(shipped: Path) -> None:
    name = Path(files.TEST_PROBLEMS) / 'ferry-000.pddl'
    assert find_problem(name) == shipped / 'ferry-000.pddl'


@pytest.mark.parametrize('name', ['ferry-999', 'ferry', 'ferry-000 '])
def test_an_unknown_id_is_refused_with_some_known_ones(shipped: Path, name: str) -> None:
    with pytest.raises(SafegenError, match=r'one of 3 ids such as blocksworld-000 ferry-000$'):
        find_problem(Path(name))


def test_what_looks_like_a_file_is_left_to_the_reader(shipped: Path) -> None:
    for name in ('ferry-999.json', 'somewhere/ferry-000', '/ferry-000'):
        assert find_problem(Path(name)) == Path(name)
        with pytest.raises(SafegenError, match='cannot be read'):
            read_task(Path(name))


@pytest.mark.parametrize(
    ('name', 'format'),
    [
        ('a.pddl', 'pddl'), ('a.json', 'json'), ('a.txt', 'english'), ('a.JSON', 'json'),
        ('a', 'pddl'), ('fd/63', 'pddl'), ('a.json.bak', 'pddl'),
    ],
)  # fmt: skip
def test_the_name_of_a_file_tells_its_format(name: str, format: str) -> None:
    assert format_of(Path(name)) == format


@pytest.mark.parametrize('format', list(FORMATS))
def test_a_file_is_read_in_its_format(tmp_path: Path, tower_order: Pddl3Task, format: str) -> None:
    text = tower_order.written_as(format).problem_text
    for name, said in ((f'p{FORMATS[format].suffix}', ''), ('p', format), ('q.pddl', format)):
        (tmp_path / name).write_text(text)
        task = read_task(tmp_path / name, format=said)
        assert (task.format, task.problem.goal) == (format, tower_order.problem.goal)


@pytest.mark.parametrize('format', list(FORMATS))
def test_an_error_shows_the_line_with_a_caret(
    tmp_path: Path, tower_order: Pddl3Task, format: str
) -> None:
    path = tmp_path / f'p{FORMATS[format].suffix}'
    path.write_text(tower_order.written_as(format).problem_text.replace('b4', 'b7', 1))
    with pytest.raises(PddlError) as caught:
        read_task(path)
    first, shown, caret, *_ = caught.value.message.split('\n')
    assert first.startswith(f'{path}:{caught.value.line}:{caught.value.column}: ')
    assert shown.split(' | ', 1)[1] in path.read_text()
    assert caret.strip() == '^'


@pytest.mark.parametrize('format', list(FORMATS))
def test_a_file_with_the_name_of_another_format_is_called_so(
    tmp_path: Path, tower_order: Pddl3Task, format: str
) -> None:
    text = tower_order.written_as(format).problem_text
    for other in FORMATS.keys() - {format}:
        path = tmp_path / f'p{FORMATS[other].suffix}'
        path.write_text(text[text.index('(define') :] if format == 'pddl' else text)
        with pytest.raises(SafegenError, match=f'give --read-as {format}, or'):
            read_task(path)


@pytest.mark.parametrize('where', ['format', 'sent_as'])
def test_an_unknown_format_is_refused_with_those_of_all_worlds(where: str) -> None:
    task = Path('examples/tower_order.pddl')
    with pytest.raises(SafegenError, match='pddl json english boxnet household') as caught:
        read_action_task(task, **{where: 'xml'})
    assert caught.value.code is ErrorCode.UNKNOWN_FORMAT


PATH = Path('task.pddl')


def _blocks(count: int) -> Pddl3Task:
    return load_task(kits()['blocksworld'].problem(1, {'blocks': count}).text)


def test_blocks_that_fit_on_the_table_get_the_arm(tower_order: Pddl3Task) -> None:
    assert choose_cell(PATH, tower_order.problem).cell == 'twin'
    assert choose_cell(PATH, _blocks(6).problem).cell == 'twin'
    assert choose_cell(PATH, tower_order.problem, 'symbolic').cell == 'symbolic'


@pytest.mark.parametrize('name', sorted(set(kits()) - {'blocksworld'}))
def test_another_domain_gets_symbols_and_the_reason(name: str) -> None:
    task = load_task(kits()[name].problem(1).text)
    choice = choose_cell(PATH, task.problem)
    assert choice.cell == 'symbolic'
    assert 'nothing moves' in choice.text
    assert f'domain {task.problem.domain.name} has other actions' in choice.text


def test_more_blocks_than_the_table_takes_get_symbols_and_the_reason() -> None:
    choice = choose_cell(PATH, _blocks(7).problem)
    assert choice.cell == 'symbolic'
    assert 'the table takes 6 blocks, and the task has 7' in choice.text
    with pytest.raises(SafegenError, match='7 blocks') as caught:
        choose_cell(PATH, _blocks(7).problem, 'twin')
    assert caught.value.code is ErrorCode.UNSUPPORTED_SCENE


def test_actions_of_the_same_names_that_do_something_else_do_not_get_the_arm(
    tower_order: Pddl3Task,
) -> None:
    loose = builtin_domain_text('blocksworld').replace(
        '(and (clear ?underob) (holding ?ob))', '(holding ?ob)'
    )
    task = load_task(tower_order.problem_text, loose)
    assert choose_cell(PATH, task.problem).cell == 'symbolic'
    with pytest.raises(SafegenError, match=r"'stack'.*--cell symbolic"):
        choose_cell(PATH, task.problem, 'twin')


def test_a_state_that_contradicts_itself_is_refused_with_the_way_out() -> None:
    text = _blocks(3).problem_text.replace('(arm-empty)', '')
    with pytest.raises(SafegenError, match=r'^task\.pddl: .*--cell symbolic') as caught:
        choose_cell(PATH, load_task(text).problem)
    assert caught.value.code is ErrorCode.UNSUPPORTED_SCENE


def test_a_cell_that_there_is_not_is_refused(tower_order: Pddl3Task) -> None:
    with pytest.raises(SafegenError, match='auto twin symbolic'):
        choose_cell(PATH, tower_order.problem, 'table')
