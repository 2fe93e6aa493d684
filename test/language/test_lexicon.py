# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A domain folder may hold a lexicon, and a wrong one is refused at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from safegen_ros.errors import PddlError
from safegen_ros.language import vocabulary
from safegen_ros.language.lexicon import Phrasing, Vocabulary, Wording, lexicon
from safegen_ros.pddl.model import Domain
from safegen_ros.pddl.reader import read_domain

DOMAIN = '(define (domain d) (:predicates (stored ?x ?y)) (:action a :effect ()))'


@pytest.fixture
def domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Domain:
    found = Vocabulary(Wording({}, {}), ('d',), tmp_path / 'lexicon.yaml')
    monkeypatch.setattr('safegen_ros.language.lexicon._sources', [lambda domain: found])
    return read_domain(DOMAIN)


def test_a_slash_parts_words_of_which_any_is_said(domain: Domain, tmp_path: Path) -> None:
    text = "ways:\n  stored: ['{0} =be/lie in {1}', {goal: 1, say: ['put/place {0}']}]\n"
    (tmp_path / 'lexicon.yaml').write_text(text)
    assert lexicon(domain).ways == (
        Phrasing('stored', '{0} =be in {1}'),
        Phrasing('stored', '{0} =lie in {1}'),
        Phrasing('stored', 'put {0}', goal=1),
        Phrasing('stored', 'place {0}', goal=1),
    )


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('ways: {stord: [x]}', r":1:8: 'stord' is not a predicate of the domain"),
        ('wayz: {}', "'wayz' is not a key of a lexicon: did you mean 'ways'"),
        ('ways: {stored: [{say: [x], agent: first}]}', 'agent must be a whole number'),
        ('ways: {stored: x}', 'stored must be a list'),
    ],
)
def test_a_wrong_lexicon_is_refused(
    domain: Domain, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / 'lexicon.yaml').write_text(text)
    with pytest.raises(PddlError, match=message):
        lexicon(domain)


def test_a_domain_folder_of_an_earlier_release_finds_its_words() -> None:
    assert vocabulary.Wording is Wording
