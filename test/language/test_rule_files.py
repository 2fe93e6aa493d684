# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rules from command lines and files are put together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.language.attribute_rules import read_attribute_rules
from safegen_ros.language.reading import Origin
from safegen_ros.language.rule_files import gather_rules
from safegen_ros.pddl.model import Problem
from safegen_ros.tasks.pddl3.task import load_files

YAML = """attributes: {types: {block: {heavy: false}}}
rules:
- {name: none, for: {x: block}, where: x.heavy, rule: 'never pick up {x}'}
- {name: light, for: {x: block}, where: not x.heavy, rule: 'never put {x} on b4'}
"""


def test_words_and_files(problems: Mapping[str, Problem], tmp_path: Path) -> None:
    words, yaml = tmp_path / 'house.txt', tmp_path / 'house.YAML'
    words.write_text('never hold b1\n')
    yaml.write_text(YAML)
    found = gather_rules(
        problems['blocksworld'], ['never hold b2', '(always (clear b4))'], [words, yaml]
    )
    assert [each.origin for each in found.readings] == [
        Origin.WORDS, Origin.FORMAL, Origin.WORDS, Origin.ATTRIBUTES,
    ]  # fmt: skip
    assert found.idle == ('none',)
    assert f'{words}:1:1: never hold b1' in found.shown()
    assert "'none': applies to no object" in found.shown()
    assert found.readings[1].place == '<rules 2>:1:1'


def test_the_examples_of_the_documentation(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    text = (root / 'docs' / 'constraints.md').read_text(encoding='utf-8')
    (python,) = re.findall(r'```python\n(.*?)```', text, re.DOTALL)
    (yaml,) = re.findall(r'```yaml\n(.*?)```', text, re.DOTALL)
    names: dict[str, Any] = {}
    exec(python, names)  # as a reader would
    assert len(names['task'].problem.constraints) == 4
    problem = load_files(root / 'examples' / 'cold_rooms.pddl').problem
    (reading,) = read_attribute_rules(yaml, problem).readings
    assert 'robot1 carries ball1' in reading.sentence


def test_without_rules(problems: Mapping[str, Problem], tmp_path: Path) -> None:
    with pytest.raises(SafegenError) as caught:
        gather_rules(problems['blocksworld'])
    assert caught.value.code is ErrorCode.EMPTY_TASK
    with pytest.raises(SafegenError, match='the rules cannot be read'):
        gather_rules(problems['blocksworld'], [], [tmp_path / 'missing.txt'])
