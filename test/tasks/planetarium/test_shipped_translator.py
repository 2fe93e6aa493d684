# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The translators that ship understand requests that they never saw."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path

import pytest

from safegen_ros.errors import BackendError, ErrorCode, SafegenError
from safegen_ros.llm.backend import Backend, Sampling
from safegen_ros.paths import data_path
from safegen_ros.pddl.writer import atom_text
from safegen_ros.tasks.planetarium.nl_to_pddl import Translation, translate
from safegen_ros.tasks.planetarium.request import read_request
from safegen_ros.tasks.planetarium.styles import translation_style_of

pytestmark = pytest.mark.slow  # a model plans

WORDS, REQUESTS = (data_path(f'models/safegen-{name}') for name in ('words', 'requests'))
WORLD = """(define (problem cell) (:domain blocksworld) (:objects b1 b2 b3)
    (:init (arm-empty) (on-table b1) (on b2 b1) (clear b2) (on-table b3) (clear b3))
    (:goal (and (clear b1))))"""
TOLD = (
    'Given: 3 blocks (b1 to b3). At the start: the hand is empty; b1 stands on the table; nothing '
    'rests on b1; b3 stands on the table; b2 rests on b3; nothing rests on b2. In the end: b3 '
    'stands on the table; b1 rests on b3; b2 rests on b1.'
)


@pytest.fixture(scope='module')
def reader() -> Iterator[Backend]:
    """The language model that reads requests."""
    from safegen_ros.llm.open_backend import open_backend

    try:
        opened = open_backend(str(REQUESTS))
    except BackendError as error:
        if 'run make base' not in error.message:
            raise
        pytest.skip(f'NO REQUEST WAS READ: {error.message}')
    with closing(opened):
        yield opened


@pytest.fixture(scope='module')
def backend() -> Iterator[Backend]:
    """The translator of descriptions."""
    from safegen_ros.llm.open_backend import open_backend

    with closing(open_backend(str(WORDS))) as opened:
        yield opened


@pytest.mark.nightly
def test_a_description_is_understood(backend: Backend) -> None:
    found = translate(
        read_request(TOLD, 'blocksworld'),
        backend,
        Sampling(0, max_new_tokens=200),
        style=translation_style_of(str(WORDS)),
    )
    assert isinstance(found, Translation)
    asked = {(atom.predicate, *atom.terms) for atom in found.problem.goal_conjuncts()}  # type: ignore[union-attr]
    assert asked == {('on-table', 'b3'), ('on', 'b1', 'b3'), ('on', 'b2', 'b1')}


def test_a_word_that_it_does_not_know_is_named(backend: Backend) -> None:
    request = read_request(TOLD.replace('rests', 'juggles'), 'blocksworld')
    with pytest.raises(SafegenError, match="does not know 'juggles'") as caught:
        translate(request, backend, Sampling(0), style=translation_style_of(str(WORDS)))
    assert caught.value.code is ErrorCode.TRANSLATION_FAILED


@pytest.mark.parametrize(
    ('world', 'text', 'goal'),
    [
        ('blocks', 'Could you please place b5 on top of b3?', '(on b5 b3)'),
        pytest.param(
            'blocks',
            'Everything on the table, please.',
            ' '.join(f'(on-table b{n})' for n in range(1, 6)),
            marks=pytest.mark.nightly,
        ),
        ('ferry', 'Ship c1 to l2 and leave the boat there, at l3.', '(at c1 l2) (at-ferry l3)'),
        ('grippers', 'ball2 belongs in room3', '(at ball2 room3)'),
        ('spanner', 'Fasten both nuts.', '(tightened nut1) (tightened nut2)'),
    ],
)
def test_requests_of_every_domain_are_read(
    world: str, text: str, goal: str, reader: Backend
) -> None:
    request = read_request(text, start=data_path(f'data/requests/{world}.pddl').read_text())
    found = translate(request, reader, Sampling(0), style=translation_style_of(str(REQUESTS)))
    assert isinstance(found, Translation)
    asked = [atom_text((a.predicate, *a.terms)) for a in found.problem.goal_conjuncts()]  # type: ignore[union-attr]
    assert ' '.join(sorted(asked)) == goal


def test_a_rule_that_only_a_model_understands_holds(reader: Backend) -> None:
    request = read_request('Put b3 on b2, but keep your hands off b1.', start=WORLD)
    found = translate(request, reader, Sampling(0), style=translation_style_of(str(REQUESTS)))
    assert isinstance(found, Translation)
    assert 'At all times, the arm does not hold block b1.' in found.words


@pytest.mark.nightly
@pytest.mark.parametrize('rule', ['do not let b1 fall', 'always be gentle with b1'])
def test_a_rule_without_a_meaning_here_is_never_left_out(rule: str, reader: Backend) -> None:
    request = read_request(f'Put b3 on b2, but {rule}.', start=WORLD)
    style = translation_style_of(str(REQUESTS))
    with suppress(SafegenError):
        found = translate(request, reader, Sampling(0), style=style)
        if isinstance(found, Translation):
            assert any('b1' in str(each) for each in found.problem.constraints)


@pytest.mark.parametrize('model', [WORDS, REQUESTS], ids=['words', 'requests'])
def test_its_files_are_whole(model: Path) -> None:
    from safegen_ros.training.export import CHECKSUMS, PROSE  # which imports torch

    lines = (model / CHECKSUMS).read_text().splitlines()
    listed = {name: digest for digest, name in (line.split('  ') for line in lines)}
    files = {path.name for path in model.iterdir() if path.is_file()}
    assert set(listed) == files - {CHECKSUMS, *PROSE}
    for name, digest in listed.items():
        assert sha256((model / name).read_bytes()).hexdigest() == digest, name
    assert sum(path.stat().st_size for path in model.rglob('*') if path.is_file()) < 20_000_000
