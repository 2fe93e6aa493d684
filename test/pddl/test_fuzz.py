# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whatever the text, only errors of this package come out."""

from __future__ import annotations

import random
import re

import strategies
from hypothesis import given, settings
from hypothesis import strategies as st

from safegen_ros.errors import PddlError, PlanFormatError
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.pddl.reader import problem_domain_name, read_domain, read_problem
from safegen_ros.pddl.writer import domain_text, problem_text
from safegen_ros.verdict import Category
from safegen_ros.verify.validator import verify

TEXT = """
( ) - ?x ?y and or not imply forall exists when = always sometime at-most-once preference
sometime-before define domain problem :domain :objects :init :goal :constraints :types :predicates
:constants :action :parameters :precondition :effect :requirements :strips object b1 b2 on clear
either 7 0.5 ; \0 \u2713 at within increase
"""
WORDS = [*TEXT.split(), '\n', '()', '(on b1 b2)', '(clear b1)', '(domain d)', '(problem q)']
SOUP = st.lists(st.sampled_from(WORDS), max_size=60).map(' '.join)
FRAMED = st.builds('(define ({} d) {})'.format, st.sampled_from(['domain', 'problem']), SOUP)


def _mutate(rng: random.Random, text: str) -> str:
    tokens = re.findall(r'[()]|[^\s()]+|\s+', text)
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(tokens))
        match rng.randrange(4):
            case 0:
                del tokens[place]
            case 1:
                tokens.insert(place, rng.choice(WORDS) + ' ')
            case 2:
                tokens[place] = rng.choice(tokens)
            case 3:
                other = rng.randrange(len(tokens))
                tokens[place], tokens[other] = tokens[other], tokens[place]
        if not tokens:
            return ''
    return ''.join(tokens)


def _check(error: PddlError | PlanFormatError) -> None:
    assert error.line >= 1
    assert error.column >= 1
    assert len(error.message) < 2_000
    if isinstance(error, PddlError):
        assert error.cure, error.message


def _read(domain_source: str, problem_source: str, plan_source: str) -> str:
    """How far the texts get; anything but our own errors passes through and fails the test."""
    try:
        domain = read_domain(domain_source)
        problem = read_problem(problem_source, domain)
    except PddlError as error:
        _check(error)
        return 'refused'
    verdict = verify(problem, plan_source)
    assert verdict.category is not Category.UNKNOWN
    assert verdict.reason
    return verdict.category.name


@settings(strategies.SUITE, max_examples=300)
@given(st.one_of(SOUP, FRAMED, st.text(max_size=200)))
def test_soups(text: str) -> None:
    for read in (
        read_domain,
        problem_domain_name,
        parse_plan,
        lambda soup: read_problem(soup, strategies.BLOCKSWORLD),
    ):
        try:
            read(text)
        except (PddlError, PlanFormatError) as error:
            _check(error)


@settings(strategies.SUITE, max_examples=400)
@given(strategies.SEEDS)
def test_mutations_of_valid_texts(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.toggles(rng)
    plan = strategies.plan(rng, problem)
    texts = [domain_text(problem.domain), problem_text(problem), f'{plan}\n']
    assert _read(*texts) != 'refused'
    for place in rng.sample(range(3), 2):
        texts[place] = _mutate(rng, texts[place])
    _read(*texts)
