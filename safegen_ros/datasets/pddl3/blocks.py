# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Blocks of candidates, each in a file that is whole or not there.

A block is made without looking at any other, on any machine, in any order, and is always the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

from safegen_ros.datasets.builder import WORK
from safegen_ros.datasets.failures import DatasetError
from safegen_ros.datasets.files import tree_digest, write_atomically
from safegen_ros.datasets.pddl3.candidates import REFUSALS, Refusal, candidate
from safegen_ros.datasets.pddl3.recipe import Recipe
from safegen_ros.datasets.pddl3.rows import Row, row_of
from safegen_ros.tasks.pddl3.domains.folders import domain_folders

_FILES = 'domain_files'  # field of a header with the digest of the domain


def compute_block(recipe: Recipe, domain: str, index: int) -> bytes:
    """What the file of a block holds: a header, then one line for each of its candidates.

    Raises:
        DatasetError: a candidate is not what it must be.
    """
    lines = []
    for number in range(index * recipe.block_size, (index + 1) * recipe.block_size):
        made = candidate(recipe, domain, number)
        lines.append(made.to_line() if isinstance(made, Row) else f'{json.dumps(made)}\n')
    body = ''.join(lines).encode()
    return _header(recipe, domain, index, body) + body


def _header(recipe: Recipe, domain: str, index: int, body: bytes) -> bytes:
    values = {
        'recipe': recipe.candidates_digest(domain),  # with VERSION in it
        'domain': domain,
        'block': index,
        'sha256': sha256(body).hexdigest(),
        _FILES: domain_digest(domain),
    }
    return (json.dumps(values) + '\n').encode()


@cache
def domain_digest(domain: str) -> str:
    """SHA-256 of the folder of a domain as it was when this process first asked."""
    return tree_digest(domain_folders()[domain])


def _other_files(header: bytes, expected: bytes) -> bool:
    """Whether two headers differ in nothing but the files of the domain."""
    try:
        found = json.loads(header)
    except ValueError:
        return False
    wanted = json.loads(expected)
    return isinstance(found, dict) and {**found, _FILES: wanted[_FILES]} == wanted


class BlockStore:
    """The blocks of a dataset that are there already.

    Args:
        folder: the folder of the dataset.
        recipe: its recipe.
    """

    def __init__(self, folder: Path, recipe: Recipe) -> None:
        self.folder = folder / WORK
        self._recipe = recipe

    def path(self, domain: str, index: int) -> Path:
        """The file of a block, whether it is there or not."""
        return self.folder / domain / f'{index:08d}.jsonl'

    def has(self, domain: str, index: int) -> bool:
        """Whether a block is there."""
        return self.path(domain, index).exists()

    def write(self, domain: str, index: int, block: bytes) -> None:
        """Keeps a block, so that after a power cut it is whole or not there.

        Raises:
            DatasetError: it cannot be written.
        """
        write_atomically(self.path(domain, index), block)

    def read(self, domain: str, index: int) -> Iterator[Row | Refusal]:
        """What became of the candidates of a block, in order.

        Raises:
            DatasetError: it is not there, or not what was written.
        """
        path = self.path(domain, index)
        try:
            header, _, body = path.read_bytes().partition(b'\n')
        except OSError as error:
            raise DatasetError(
                f'{path}: cannot be read: {error.strerror}: run the build again'
            ) from error
        expected = _header(self._recipe, domain, index, body)
        if header + b'\n' != expected:
            if _other_files(header, expected):
                raise DatasetError(
                    f'{path}: the domain {domain} was changed since these blocks were made: '
                    f'remove {self.folder} and run the build again'
                )
            raise DatasetError(
                f'{path}: is damaged or belongs to another recipe: delete it and run the build '
                'again, which makes it anew'
            )
        for number, line in enumerate(body.decode().splitlines(), 2):
            made = json.loads(line)
            yield made if made in REFUSALS else row_of(made, f'{path}:{number}')
