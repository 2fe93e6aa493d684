# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One problem of a dataset with its plans, as on a line of a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from safegen_ros.datasets.files import DatasetError, read_lines, read_row
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.reader import read_problem
from safegen_ros.pddl.writer import domain_text
from safegen_ros.tasks.pddl3.domains import builtin_domain, kits
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.prompts.styles import instruction


@dataclass(frozen=True, slots=True)
class Row:
    """A problem, in the order of the fields of its line.

    Attributes:
        id: its name, which is the problem's name in every format, too.
        operators: the PDDL3 operators of its constraints, each once, in order.
        paper_size: whether its size is one of table VIII of SafeGen-LLM.
        number: of the candidate that it was.
        renamed_from: the training row whose problem it is in other words; empty for all others.
        key: equal for two problems when renaming objects makes them equal.
        problem: the problem in PDDL3.
        json: likewise in JSON.
        english: likewise in English.
        plan: a shortest safe plan, one step on each line.
        unconstrained_plan: a shortest plan when safety does not count; it breaks a constraint.
        difficulty: the score of `difficulty.difficulty` [steps, roughly].
        bucket: easy, medium or hard among the training rows of the domain.
    """

    id: str
    split: str
    domain: str
    family: str
    operators: tuple[str, ...]
    size: tuple[tuple[str, int], ...]
    paper_size: bool
    number: int
    renamed_from: str
    key: str
    problem: str
    json: str
    english: str
    plan: str
    reference_length: int
    unconstrained_plan: str
    difficulty: float
    bucket: str

    def to_line(self) -> str:
        """The row as one line of JSON."""
        values = asdict(self)
        # A list, since the names differ by domain and tables want the same columns in every row.
        values['size'] = [{'parameter': name, 'value': value} for name, value in self.size]
        return json.dumps(values, ensure_ascii=False) + '\n'


def row_of(values: Any, place: str) -> Row:
    """A row from the values of its line.

    Raises:
        DatasetError: it is not a row.
    """
    try:
        pairs = [[part['parameter'], part['value']] for part in values['size']]
    except (TypeError, KeyError) as error:
        raise DatasetError(
            f'{place}: is not a row, its size is unreadable: build the dataset again'
        ) from error
    return read_row(Row, {**values, 'size': pairs}, place)


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file, one after the other.

    Raises:
        DatasetError: it cannot be read, or a line is not a row.
    """
    for values, place in read_lines(path):
        yield row_of(values, place)


Split = Literal['train', 'test', 'test_family', 'test_renamed']

SPLITS: tuple[Split, ...] = get_args(Split)
"""`test` holds problems that are new up to renaming, `test_family` those of constraint families
that no other split has, and `test_renamed` training problems in a new text."""

TEST_SHARE = 8
"""One class of problems in so many is a test class."""


def is_test_class(key: str) -> bool:
    """Whether problems with this canonical key must never be trained on.

    The rule looks at the key alone (`isomorphism.CanonicalProblem.key`), so it holds for every
    dataset, whatever its seed and size, and for problems that are made while a model trains.
    """
    return int(key, 16) % TEST_SHARE == 0


def row_problem(row: Row) -> Problem:
    """The problem of a row.

    Raises:
        PddlError: its text is not a problem of its domain.
    """
    return read_problem(row.problem, builtin_domain(kits()[row.domain].names[0]), row.id)


PAIRS = 'pairs'
"""Name of the folder that has a folder for every format."""


def pair_line(row: Row, form: str) -> str:
    """The row as a line of JSON with chat messages: what a model is asked, and what it answers.

    The messages are those by which a model that is served in the style `instruct` is asked.
    """
    told = {'pddl': row.problem, 'json': row.json, 'english': row.english}[form]
    values = {
        'id': row.id,
        'prompt': instruction(domain_text(builtin_domain(row.domain)), told, form),
        'completion': [{'role': 'assistant', 'content': row.plan}],
        'reference_length': row.reference_length,
        'domain': row.domain,
        'bucket': row.bucket,
    }
    return json.dumps(values, ensure_ascii=False) + '\n'


def pair_files(split: str) -> dict[str, str]:
    """The file of a split's pairs in every format, relative to the folder of the dataset."""
    return {form: f'{PAIRS}/{form}/{split}.jsonl' for form in FORMATS}
