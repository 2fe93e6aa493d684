# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A new domain folder works as it stands, and is made whole or not at all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from safegen_ros.errors import SafegenError
from safegen_ros.language.english import to_english
from safegen_ros.tasks.pddl3.domains import inspection, kits
from safegen_ros.tasks.pddl3.domains.folders import domain_folders
from safegen_ros.tasks.pddl3.domains.inspection import new_domain
from safegen_ros.tasks.pddl3.task import load_task


def test_a_fresh_folder_is_found_and_used_like_any_other(courier: Path) -> None:
    assert {path.name for path in courier.iterdir()} >= {
        'domain.pddl', '__init__.py', 'problems.py', 'families.py', 'test_domain.py',
    }  # fmt: skip
    assert not any('_template' in path.read_text() for path in courier.glob('*.*'))
    assert domain_folders()['courier'] == courier
    kit = kits()['courier']
    assert {family.operators[0] for family in kit.families.values()} == {
        'sometime-before', 'always', 'within',
    }  # fmt: skip
    generated = kit.problem(1)
    assert load_task(generated.text).problem == generated.problem
    assert '- the hand is empty\n' in to_english(generated.problem)


def test_two_domains_with_the_same_predicates_keep_their_own_words(
    own_directory: Path, courier: Path
) -> None:
    other = new_domain('porter', own_directory)
    words = other / '__init__.py'
    words.write_text(words.read_text().replace('the hand is empty', 'the porter carries nothing'))
    kits.cache_clear()
    told = [to_english(kits()[name].problem(1).problem) for name in ('courier', 'porter')]
    assert '- the hand is empty\n' in told[0]
    assert '- the porter carries nothing\n' in told[1]


@pytest.mark.parametrize(
    'name', ['', 'Courier', '9lives', 'my-domain', '_own', 'a b', '../x', 'for']
)
def test_a_name_that_is_no_identifier_is_refused(own_directory: Path, name: str) -> None:
    with pytest.raises(SafegenError, match='is not a name for a domain folder') as caught:
        new_domain(name, own_directory)
    assert repr(name) in str(caught.value)
    assert list(own_directory.iterdir()) == []


@pytest.mark.parametrize('name', ['ferry', 'grippers', 'kit', 'inspection'])
def test_a_name_that_is_taken_is_refused(own_directory: Path, name: str) -> None:
    with pytest.raises(SafegenError, match=f'the name {name!r} is taken: choose another one'):
        new_domain(name, own_directory)
    assert list(own_directory.iterdir()) == []


def test_a_folder_that_exists_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / 'courier').mkdir()
    with pytest.raises(SafegenError, match=r'courier exists already: take another name or dir'):
        new_domain('courier', tmp_path)
    assert list((tmp_path / 'courier').iterdir()) == []


def test_a_directory_is_made_where_it_is_missing(tmp_path: Path) -> None:
    assert new_domain('courier', tmp_path / 'a' / 'b') == tmp_path / 'a' / 'b' / 'courier'


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / 'file').write_text('')
    with pytest.raises(SafegenError, match=r'file/x cannot be written: Not a directory: give anot'):
        new_domain('courier', tmp_path / 'file' / 'x')


def test_nothing_is_left_when_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    write = Path.write_text

    def full_disk(path: Path, text: str, encoding: str) -> int:
        written.append(path.name)
        if len(written) > 2:
            raise OSError(28, 'No space left on device')
        return write(path, text, encoding=encoding)

    monkeypatch.setattr(Path, 'write_text', full_disk)
    with pytest.raises(SafegenError, match=r'courier cannot be written: No space left on device'):
        new_domain('courier', tmp_path)
    assert len(written) == 3
    assert list(tmp_path.iterdir()) == []


def test_an_installed_package_asks_for_a_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / 'site-packages/safegen_ros/tasks/pddl3/domains'
    installed.mkdir(parents=True)
    monkeypatch.setattr(inspection, '_TEMPLATE', installed / '_template')
    with pytest.raises(SafegenError) as caught:
        new_domain('courier')
    assert re.search(
        'not a source checkout .* with --into, and list it in SAFEGEN_D', str(caught.value)
    )
    (tmp_path / 'site-packages' / 'setup.py').touch()
    with pytest.raises(SafegenError, match='cannot be written'):
        new_domain('courier')  # the template is missing there, but the directory is the right one
    assert list(installed.iterdir()) == []
