# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A language model for requests is told the world, and no answer of it raises or changes that."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scripted_answers import ScriptedAnswers

from safegen_ros.benchmarks.planetarium.requests import (
    RequestOutcome,
    doubted,
    understood,
    written_requests,
)
from safegen_ros.cli.planetarium import requests_command
from safegen_ros.datasets.files import DatasetError
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Sampling
from safegen_ros.pddl.model import AtomFormula
from safegen_ros.pddl.reader import read_problem
from safegen_ros.pddl.writer import constraint_text, formula_text
from safegen_ros.tasks.pddl3.domains import builtin_domain
from safegen_ros.tasks.planetarium.goal_prompt import (
    answered_problem,
    goal_prompt,
    observed_facts,
)
from safegen_ros.tasks.planetarium.nl_to_pddl import UNSURE, Question, Translation, translate
from safegen_ros.tasks.planetarium.request import read_request
from safegen_ros.tasks.planetarium.styles import GoalTranslation

DATA = Path(__file__).parents[3] / 'data/requests'
BLOCKS = (DATA / 'blocks.pddl').read_text(encoding='utf-8')
START = read_problem(BLOCKS, builtin_domain('blocksworld'))
NUTS = '(tightened nut1) (tightened nut2)'
BALLS = '(at ball1 room2) (at ball2 room2) (at ball3 room2)'
FERRY = read_problem((DATA / 'ferry.pddl').read_text(encoding='utf-8'), builtin_domain('ferry'))


def read(text: str, *answers: str, start: str = BLOCKS) -> Translation | Question:
    """What becomes of a request when the model gives the answers."""
    backend = ScriptedAnswers(*answers)
    return translate(
        read_request(text, start=start), backend, Sampling(), style=GoalTranslation(),
        readings=len(answers), attempts=1,
    )  # fmt: skip


def test_the_prompt_has_what_can_change_and_what_things_are() -> None:
    assert goal_prompt(*observed_facts(FERRY), 'take  c1\nto l2') == (
        'Facts: (at-ferry object) (at object object) (empty-ferry) (on object)\n'
        'car: c1 c2 c3\n'
        'location: l1 l2 l3\n'
        'Now: (at c1 l1) (at c2 l1) (at c3 l3) (at-ferry l2) (empty-ferry)\n'
        'Request: take c1 to l2'
    )


@pytest.mark.parametrize(
    ('sure', 'taken', 'doubts'),
    [
        ((0.6,), '(on b1 b4)', ()),  # nothing is asked twice
        ((0.2, 0.9), '(on b4 b1)', ()),
        ((0.4, 0.1, 0.3), '(on b1 b4)', (UNSURE,)),
        ((0.1, 0.4, 0.3), '(on b4 b1)', (UNSURE,)),
        ((0.5 - 1e-9, 0.0, 0.0), '(on b1 b4)', (UNSURE,)),
    ],
)
def test_a_model_that_is_not_sure_is_asked_again_and_its_likeliest_reading_is_in_doubt(
    sure: tuple[float, ...], taken: str, doubts: tuple[str, ...]
) -> None:
    answers = ('(on b1 b4)', '(on b4 b1)', '(on b1 b4)')
    backend = ScriptedAnswers(*answers, sure=sure)
    request = read_request('b1 and b4 shall be one on the other', start=BLOCKS)
    found = translate(request, backend, Sampling(), style=GoalTranslation(), readings=2)
    assert isinstance(found, Translation)
    assert [formula_text(each) for each in found.problem.goal_conjuncts()] == [taken]
    assert (found.doubts, len(backend.asked)) == (doubts, len(sure))


def test_an_answer_is_a_goal_with_rules_in_the_observed_world() -> None:
    never = '(always (not (exists (?x) (on ?x b3))))'
    found = read('b1 goes on b4 without anything landing on b3', f'(on b1 b4)\n{never}')
    assert isinstance(found, Translation)
    assert found.problem.init == START.init
    assert found.problem.goal_conjuncts() == (AtomFormula('on', ('b1', 'b4')),)
    assert [constraint_text(each, typed=False) for each in found.problem.constraints] == [never]


def test_two_answers_that_differ_are_a_question() -> None:
    found = read('stack b1 and b3', '(on b1 b3)', '(on b3 b1)')
    assert isinstance(found, Question)


@pytest.mark.parametrize(
    ('answer', 'reason'),
    [
        ('put b1 on b4', 'no \\(define'),
        ('(on b1 b4', 'no \\(define'),
        ('(on b1 b9)', 'b9'),
        ('(under b1 b4)', 'under'),
        ('(on b1)', 'on'),
        ('(on b1 b4) (on b4 b1)', 'no plan'),
        ('(on b1 b4) (holding b1)', 'no plan'),
        ('(on b1 b4)\n(never (on b1 b4))', 'never'),
    ],
)
def test_what_is_no_goal_of_this_world_is_refused(answer: str, reason: str) -> None:
    with pytest.raises(SafegenError, match=reason) as raised:
        read('put b1 on b4', answer)
    assert raised.value.code == ErrorCode.TRANSLATION_FAILED


def test_a_request_without_an_observed_world_is_refused() -> None:
    request = read_request('put b1 on b4', 'blocksworld')
    with pytest.raises(SafegenError, match='--start'):
        translate(request, ScriptedAnswers('(on b1 b4)'), Sampling(), style=GoalTranslation())


@given(st.text(max_size=200) | st.text('()? bonalwysdet123-\n', max_size=120))
def test_any_answer_is_a_problem_or_refused(answer: str) -> None:
    with suppress(SafegenError):
        problem = read_problem(answered_problem(START, answer), START.domain)
        assert (problem.init, problem.objects) == (START.init, START.objects)


def test_written_requests_are_judged(tmp_path: Path) -> None:
    asked = list(written_requests(DATA / 'second.jsonl'))
    assert len(asked) == 20
    right = ScriptedAnswers(*[' '.join(sorted(asked[0].goal))] * 2)
    became, meaning = understood(asked[0], right, GoalTranslation(), 0, 2)
    assert (became, meaning) == (RequestOutcome.RIGHT, '(on b3 b2)')
    for wrong, found in (('(clear b3)', RequestOutcome.WRONG),
                         ('(clear b1)', RequestOutcome.WRONG_DOUBTED)):  # fmt: skip
        model = ScriptedAnswers(*[f'(on b3 b2) {wrong}'] * 6)
        assert understood(asked[0], model, GoalTranslation(), 0, 2)[0] == found
    unsure = ScriptedAnswers('(on b3 b2) (clear b3)', '(on b3 b2)')
    assert understood(asked[0], unsure, GoalTranslation(), 0, 2)[0] == RequestOutcome.ASKED_BACK
    mute = ScriptedAnswers(*['no'] * 6)
    assert understood(asked[0], mute, GoalTranslation(), 0, 2)[0] == RequestOutcome.REFUSED
    bad = tmp_path / 'bad.jsonl'
    for line, said in (
        ('{"request": "x"}', 'is not a request'),
        ('{"request": "x", "goal": [], "rule": "never"}', 'in words alone'),
    ):
        bad.write_text(f'{line}\n', encoding='utf-8')
        with pytest.raises(DatasetError, match=said):
            list(written_requests(bad))


@pytest.mark.parametrize(
    ('rule', 'became'),
    [
        ('(always (on b5 b4))', RequestOutcome.RIGHT),
        ('(always (not (on b4 b5)))', RequestOutcome.WRONG),
        ('(always (on b5 b4)) (always (not (holding b4)))', RequestOutcome.WRONG),
        ('(always (on b5 b4)) (always (not (holding b1)))', RequestOutcome.WRONG_DOUBTED),
        ('(always (not (exists (?any) (holding ?any))))', RequestOutcome.REFUSED),
    ],
)
def test_the_rule_of_a_written_request_is_judged(rule: str, became: RequestOutcome) -> None:
    asked = list(written_requests(DATA / 'second.jsonl'))[15]
    answer = ScriptedAnswers(*[f'{" ".join(asked.goal)}\n{rule}'] * 6)
    assert understood(asked, answer, GoalTranslation(), 0, 2)[0] == became


@pytest.mark.parametrize(
    ('world', 'text', 'answer', 'doubt'),
    [
        ('ferry', 'Take the cars at l1 over to l2.', '(at c1 l2) (at c2 l2)', ''),
        ('ferry', 'Take the cars at l1 over to l2.', '(at-ferry l2)', 'l1'),
        ('ferry', 'Take every car that is at l1 to l2.', '(at c1 l2) (at c2 l2)', ''),
        ('ferry', 'Take every car to l2.', '(at c1 l2) (at c2 l2)', 'every car'),
        ('ferry', 'Take the two cars at l1 to l2.', '(at c1 l2)', 'two cars'),
        ('ferry', 'c1 goes from l1 to l3', '(at c1 l3)', ''),
        ('ferry', 'c1 that is at l1 goes to l3', '(at c1 l3)', ''),
        ('ferry', 'c1 goes to l3 and the ferry to l2', '(at c1 l3)', 'l2'),
        ('ferry', 'c1 to l2, c3 to l1', '(at c1 l2) (at c3 l2)', "'c3' at 'l1'"),
        ('ferry', 'c1 to l2. c2 not to be loaded.', '(at c1 l2)', 'c2'),
        ('ferry', 'c1 to l2, cars dont go to l3', '(at c1 l2)', 'cars don.t go'),
        ('ferry', 'c1 to l2, don\N{RIGHT SINGLE QUOTATION MARK}t sail', '(at c1 l2)', 'sail'),
        ('ferry', 'c1 and c3 should trade places.', '(at c1 l3) (at c3 l2)', "'c3' at 'l1'"),
        ('ferry', 'Swap c1 and c3.', '(at c1 l3) (at c3 l1)', ''),
        ('blocks', 'Put whatever is on b4 on b2.', '(on b5 b2)', ''),
        ('blocks', 'Put b5 on b2, I do not care how.', '(on b5 b2)', 'not care'),
        ('blocks', 'Put b5 on b2, since b1 must not be held.', '(on b5 b2)', 'b1'),
        ('blocks', 'b5 on b2 within ten minutes', '(on b5 b2)', "'ten'"),
        ('blocks', 'b3 on b5, and nobody lifts b1', '(on b3 b5)', 'nobody lifts b1'),
        ('blocks', 'b3 on b5, at no point b5 on b2', '(on b3 b5)', 'at no point'),
        ('blocks', 'Have the arm holding b3.', '(holding b3) (on-table b2)', 'b2'),
        ('blocks', 'Hold the block that is on b4.', '(holding b5)', ''),
        ('blocks', 'b2 belongs on b4.', '(on b4 b2)', "'b2' at 'b4'"),
        ('blocks', 'b4 is to be directly under b2.', '(on b2 b4)', ''),
        ('blocks', 'b4 is to be directly under b2.', '(on b4 b2)', "'b2' at 'b4'"),
        ('blocks', 'A stack, top down b1, b3 and b5.', '(on b1 b5) (on b5 b3)', "'b1' at 'b3'"),
        ('blocks', 'b1 at the bottom, then b3.', '(on b1 b3)', "'b3' at 'b1'"),
        ('spanner', 'Bob, tighten nut1!', '(tightened nut1)', ''),
        ('spanner', 'nut1 and nut2 tight, nut1 only once nut2 is', NUTS, 'only once'),
        ('spanner', 'Tighten nut2 so it looks fine.', f'{NUTS}', 'nut1'),
        ('spanner', 'nut2 tight', '(tightened nut2)\n(always (not (at spanner2 gate)))', 'no word'),
        ('grippers', 'Let both robots go to room2.', '(at ball1 room2)', 'both robots'),
        ('grippers', 'robot1, take ball1 to room2', '(at ball1 room2)', 'robot1'),
        ('grippers', 'ball1 to room2', '(at ball1 room2) (at-robby robot1 room2)', 'robot1'),
        ('grippers', 'All three balls to room2.', BALLS, ''),
    ],
)
def test_what_an_answer_leaves_out_or_adds_is_a_doubt(
    world: str, text: str, answer: str, doubt: str
) -> None:
    found = read(text, answer, start=(DATA / f'{world}.pddl').read_text(encoding='utf-8'))
    assert isinstance(found, Translation)
    assert bool(found.doubts) == bool(doubt)
    assert re.search(doubt, '; '.join(found.doubts))


@pytest.mark.nightly
def test_few_right_readings_are_in_doubt_and_most_without_their_rule() -> None:
    blind = (
        'auditor',
        'dispatcher',
        'student',
        'nurse',
        'startup',
        'teacher',
    )  # not read for the program
    files = [file for file in sorted(DATA.glob('*.jsonl')) if file.stem not in blind]
    every = [asked for file in files for asked in written_requests(file)]
    right = [doubted(asked) for asked in every]
    assert 0 < right.count(True) < 0.15 * len(every)
    missed = [doubted(asked, ruled=False) for asked in every]
    assert missed.count(False) <= 1 < missed.count(True)


def test_a_file_without_requests_is_an_error(tmp_path: Path) -> None:
    (tmp_path / 'none.jsonl').write_text('', encoding='utf-8')
    with pytest.raises(SafegenError, match='hold no requests'):
        requests_command([tmp_path / 'none.jsonl'])
