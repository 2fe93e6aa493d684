# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whatever the text, only errors of this package come out."""

from __future__ import annotations

import importlib.util
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import strategies

from safegen_ros.errors import PddlError, PlanFormatError
from safegen_ros.lint import lint
from safegen_ros.pddl.diagnostics import MAX_ERRORS
from safegen_ros.pddl.extract import extract_plan
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.pddl.reader import problem_domain_name, read_domain, read_problem
from safegen_ros.pddl.text_files import pddl_kind
from safegen_ros.pddl.writer import domain_text, problem_text
from safegen_ros.verdict import Category
from safegen_ros.verify.validator import verify

TEXT = """
( ) - ?x ?y and or not imply forall exists when = always sometime at-most-once preference
sometime-before define domain problem :domain :objects :init :goal :constraints :types :predicates
:constants :action :parameters :precondition :effect :requirements :strips object b1 b2 on clear
either 7 0.5 ; \0 \u2713 at end within sometime-after hold-during increase total-cost :functions
:metric minimize <think> ``` 1. 0: [1] step plan: SequentialPlan: {"plan": [" "]} # // On
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
    found = error.errors if isinstance(error, PddlError) else (error,)
    assert len(found) <= MAX_ERRORS
    for each in found:
        assert each.cure, each.message
        assert len(each.message) < 2_000
        assert each.message.isprintable()


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


@strategies.examples(300)
@given(st.one_of(SOUP, FRAMED, st.text(max_size=200)))
def test_soups(text: str) -> None:
    fuzz_problem = strategies.toggles(random.Random(0))
    for read in (
        read_domain,
        problem_domain_name,
        parse_plan,
        lambda soup: extract_plan(soup, fuzz_problem),
        lambda soup: read_problem(soup, strategies.BLOCKSWORLD),
        lambda soup: lint((soup, 'soup')),
        lambda soup: lint((strategies.BLOCKSWORLD_FILE.read_text(), 'd'), (soup, 'soup')),
    ):
        try:
            read(text)
        except (PddlError, PlanFormatError) as error:
            _check(error)


def _laid_out(rng: random.Random, text: str) -> str:
    """The same text with other blanks, comments and capitals."""
    gaps = [' ', '\t', '\n', '\r\n', ' ; (and\n', '\n;;)\n']
    tokens = re.findall(r'[()]|[^\s()]+', text)
    drawn = (token.upper() if rng.random() < 0.1 else token for token in tokens)
    return ''.join(token + rng.choice(gaps) for token in drawn)


@strategies.examples(60)
@given(strategies.SEEDS)
def test_layout_and_capitals_say_nothing(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.toggles(rng)
    texts = domain_text(problem.domain), problem_text(problem)
    assert list(map(pddl_kind, texts)) == ['domain', 'problem']
    drawn = [f';(define (task\n{_laid_out(rng, text)}' for text in texts]
    assert list(map(pddl_kind, drawn)) == ['domain', 'problem']
    found = read_problem(drawn[1], read_domain(drawn[0]))
    assert found == read_problem(texts[1], read_domain(texts[0]))
    plan = strategies.plan(rng, problem)
    assert parse_plan(str(plan.spelt(found.spelling))) == plan
    for name, spelling in found.spelling.items():
        assert spelling.lower() == name != spelling


@pytest.mark.slow
@strategies.examples(400)
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


@pytest.fixture(scope='module')
def fuzz() -> Iterator[ModuleType]:
    """The script that does this for minutes."""
    path = Path(__file__).parents[2] / 'scripts' / 'fuzz.py'
    spec = importlib.util.spec_from_file_location('fuzz_script', path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.slow
def test_the_script_finds_nothing(
    fuzz: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fuzz.main(['--minutes', '0.05', '--seed', '3', '--out', str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert '0 findings' in said
    assert re.search(r'(refused|read) +[1-9]', said)  # more of them on a machine with time
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize('fault', [ValueError('\x07'), MemoryError()])
def test_the_script_keeps_what_it_finds(
    fuzz: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def fail(text: str, problem: Problem) -> None:
        raise fault

    monkeypatch.setattr(fuzz, 'extract_plan', fail)
    assert fuzz.main(['--minutes', '0.02', '--out', str(tmp_path)]) == 1
    (saved,) = tmp_path.iterdir()
    assert saved.name.startswith(f'plan-{type(fault).__name__}-test_fuzz-')
    assert saved.read_text(encoding='utf-8', errors='surrogatepass')
