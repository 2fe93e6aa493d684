# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rules from files and command lines: plain words, PDDL3 and YAML together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.language.attribute_rules import read_attribute_rules
from safegen_ros.language.reading import Reading
from safegen_ros.language.rules import read_rules
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.text_files import read_text

YAML_SUFFIXES = ('.yaml', '.yml')


@dataclass(frozen=True, slots=True)
class GatheredRules:
    """What a person's rules come to for a problem.

    Attributes:
        readings: what was understood, in the order of the texts.
        idle: names of rules about attributes that apply to no object.
    """

    readings: tuple[Reading, ...]
    idle: tuple[str, ...] = ()

    def shown(self) -> str:
        """What a person is asked to confirm, for a terminal."""
        told = [reading.shown() for reading in self.readings]
        return '\n'.join([*told, *(f'{name!a}: applies to no object here' for name in self.idle)])


Read = Callable[[str, Problem, str], Sequence[Reading]]
"""What makes readings of a text for a problem; the last argument is a label for messages."""


def gather_rules(
    problem: Problem,
    texts: Sequence[str] = (),
    files: Sequence[Path] = (),
    read: Read = read_rules,
) -> GatheredRules:
    """Reads rules from everywhere.

    Args:
        texts: rules in plain words or PDDL3.
        files: likewise; those that end with `.yaml` or `.yml` hold rules about attributes.
        read: who reads the texts; files are always read by `read_rules`.

    Raises:
        SafegenError: a file cannot be read, or a text is refused (see `read_rules` and
            `read_attribute_rules`); there is no rule at all (`EMPTY_TASK`).
    """
    found: list[Reading] = []
    idle: list[str] = []
    for number, text in enumerate(texts, start=1):
        source = '<rules>' if len(texts) == 1 else f'<rules {number}>'
        found += read(text, problem, source)
    for path in files:
        text = read_text(path, 'rules')
        if path.suffix.lower() in YAML_SUFFIXES:
            rules = read_attribute_rules(text, problem, str(path))
            found += rules.readings
            idle += rules.idle
        else:
            found += read_rules(text, problem, str(path))
    if not found and not idle:
        raise SafegenError('there is no rule: give a sentence or a file', ErrorCode.EMPTY_TASK)
    return GatheredRules(tuple(found), tuple(idle))
