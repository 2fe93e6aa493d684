# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The translators that ship understand requests that they never saw."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path

import pytest

from safegen_ros.errors import BackendError, SafegenError
from safegen_ros.llm.backend import Backend, Sampling
from safegen_ros.paths import data_path
from safegen_ros.pddl.writer import atom_text
from safegen_ros.tasks.planetarium.nl_to_pddl import Question, Translation, translate
from safegen_ros.tasks.planetarium.request import read_request
from safegen_ros.tasks.planetarium.styles import translation_style_of

pytestmark = pytest.mark.slow  # a model plans

MODELS = [data_path(f'models/safegen-{name}') for name in ('descriptions', 'requests')]
DESCRIPTIONS, REQUESTS = MODELS
WORLD = """(define (problem cell) (:domain blocksworld) (:objects b1 b2 b3)
    (:init (arm-empty) (on-table b1) (on b2 b1) (clear b2) (on-table b3) (clear b3))
    (:goal (and (clear b1))))"""
COURIERS = """(define (domain couriers) (:requirements :strips :typing)
    (:types truck parcel city)
    (:predicates (parked ?t - truck ?c - city) (waiting-in ?p - parcel ?c - city)
                 (inside ?p - parcel ?t - truck) (linked ?a ?b - city))
    (:action drive :parameters (?t - truck ?a ?b - city)
        :precondition (and (parked ?t ?a) (or (linked ?a ?b) (linked ?b ?a)))
        :effect (and (not (parked ?t ?a)) (parked ?t ?b)))
    (:action load :parameters (?p - parcel ?t - truck ?c - city)
        :precondition (and (parked ?t ?c) (waiting-in ?p ?c))
        :effect (and (not (waiting-in ?p ?c)) (inside ?p ?t)))
    (:action unload :parameters (?p - parcel ?t - truck ?c - city)
        :precondition (and (parked ?t ?c) (inside ?p ?t))
        :effect (and (not (inside ?p ?t)) (waiting-in ?p ?c))))"""
TOLD = (
    'Given: 3 blocks (b1 to b3). At the start: the hand is empty; b1 stands on the table; nothing '
    'rests on b1; b3 stands on the table; b2 rests on b3; nothing rests on b2. In the end: b3 '
    'stands on the table; b1 rests on b3; b2 rests on b1.'
)


def opened(model: Path) -> Iterator[Backend]:
    from safegen_ros.llm.open_backend import open_backend

    try:
        backend = open_backend(str(model))
    except BackendError as error:
        if 'run make base' not in error.message:
            raise
        pytest.skip(f'NOTHING WAS READ: {error.message}')
    with closing(backend):
        yield backend


@pytest.fixture(scope='module')
def reader() -> Iterator[Backend]:
    """The model that reads requests."""
    yield from opened(REQUESTS)


@pytest.fixture(scope='module')
def translator() -> Iterator[Backend]:
    """The model that reads descriptions."""
    yield from opened(DESCRIPTIONS)


def described(text: str, domain: str, backend: Backend) -> Translation | Question:
    style = translation_style_of(str(DESCRIPTIONS))
    return translate(read_request(text, domain), backend, Sampling(0), style=style)


def test_a_description_is_understood(translator: Backend) -> None:
    found = described(TOLD, 'blocksworld', translator)
    assert isinstance(found, Translation)
    asked = {(atom.predicate, *atom.terms) for atom in found.problem.goal_conjuncts()}  # type: ignore[union-attr]
    assert asked == {('on-table', 'b3'), ('on', 'b1', 'b3'), ('on', 'b2', 'b1')}
    assert not found.doubts


def test_a_description_of_a_domain_that_no_lesson_is_about_is_understood(
    translator: Backend,
) -> None:
    found = described(
        'Given: 2 trucks (t1 and t2), 2 parcels (p1 and p2) and 3 cities (c1 to c3). '
        'At the start: t1 is at c1; t2 is at c3; p1 waits in c2; p2 is inside t2; c1 is linked '
        'to c2; c2 is linked to c3. In the end: p1 waits in c1; p2 waits in c1.',
        COURIERS,
        translator,
    )
    assert isinstance(found, Translation)
    assert found.problem.objects['p1'] == 'parcel'
    assert found.problem.init == {
        ('parked', 't1', 'c1'), ('parked', 't2', 'c3'), ('waiting-in', 'p1', 'c2'),
        ('inside', 'p2', 't2'), ('linked', 'c1', 'c2'), ('linked', 'c2', 'c3'),
    }  # fmt: skip


@pytest.mark.parametrize('said', ['b1 juggles b3', 'b1 eats b3', 'b1 is green'])
def test_what_is_no_fact_of_the_domain_is_named(said: str, translator: Backend) -> None:
    with pytest.raises(SafegenError, match=f"no fact in '{said}'"):
        described(TOLD.replace('b1 rests on b3', said), 'blocksworld', translator)


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


@pytest.mark.parametrize('model', MODELS, ids=['descriptions', 'requests'])
def test_its_files_are_whole(model: Path) -> None:
    from safegen_ros.training.export import CHECKSUMS, PROSE  # which imports torch

    lines = (model / CHECKSUMS).read_text().splitlines()
    listed = {name: digest for digest, name in (line.split('  ') for line in lines)}
    files = {path.name for path in model.iterdir() if path.is_file()}
    assert set(listed) == files - {CHECKSUMS, *PROSE}
    for name, digest in listed.items():
        assert sha256((model / name).read_bytes()).hexdigest() == digest, name
    assert sum(path.stat().st_size for path in model.rglob('*') if path.is_file()) < 20_000_000
