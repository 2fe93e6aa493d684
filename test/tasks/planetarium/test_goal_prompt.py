# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A language model for requests is told the world, and no answer of it raises or changes that."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scripted_answers import ScriptedAnswers
from support.strategies import SUITE

from safegen_ros.benchmarks.planetarium.requests import (
    RequestOutcome,
    WrittenRequest,
    understood,
    written_requests,
)
from safegen_ros.cli.planetarium import requests_command
from safegen_ros.datasets.files import DatasetError
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Sampling
from safegen_ros.pddl.model import AtomFormula
from safegen_ros.pddl.reader import read_problem
from safegen_ros.pddl.writer import constraint_text
from safegen_ros.tasks.pddl3.domains import builtin_domain
from safegen_ros.tasks.planetarium.goal_prompt import (
    answered_problem,
    goal_prompt,
    observed_facts,
)
from safegen_ros.tasks.planetarium.nl_to_pddl import Question, Translation, translate
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
        ('(on b3 b4)', "names 'b1'"),
        ('(on b1 b4) (on b4 b1)', 'the other way round'),
        ('(on b1 b4) (holding b1)', 'no plan'),
        ('(on b1 b4)\n(never (on b1 b4))', 'never'),
        ('', 'no'),
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


@SUITE
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
    wrong = ScriptedAnswers(*['(on b3 b2) (clear b3)'] * 2)
    assert understood(asked[0], wrong, GoalTranslation(), 0, 2)[0] == RequestOutcome.WRONG
    unsure = ScriptedAnswers('(on b3 b2) (clear b3)', '(on b3 b2)')
    assert understood(asked[0], unsure, GoalTranslation(), 0, 2)[0] == RequestOutcome.ASKED_BACK
    mute = ScriptedAnswers(*[''] * 6)
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
        ('(always (on b5 b4)) (always (not (holding b1)))', RequestOutcome.REFUSED),
        ('(always (not (exists (?any) (holding ?any))))', RequestOutcome.REFUSED),
    ],
)
def test_the_rule_of_a_written_request_is_judged(rule: str, became: RequestOutcome) -> None:
    asked = list(written_requests(DATA / 'second.jsonl'))[15]
    answer = ScriptedAnswers(*[f'{" ".join(asked.goal)}\n{rule}'] * 6)
    assert understood(asked, answer, GoalTranslation(), 0, 2)[0] == became


@pytest.mark.parametrize(
    ('world', 'text', 'answer', 'left_out'),
    [
        ('ferry', 'Take the cars at l1 over to l2.', '(at c1 l2) (at c2 l2)', ''),
        ('ferry', 'Take the cars at l1 over to l2.', '(at-ferry l2)', 'l1'),
        ('ferry', 'Take every car that is at l1 to l2.', '(at c1 l2) (at c2 l2)', ''),
        ('ferry', 'Take every car to l2.', '(at c1 l2) (at c2 l2)', 'c3'),
        ('ferry', 'c1 goes from l1 to l3', '(at c1 l3)', ''),
        ('ferry', 'c1 goes to l3 and the ferry to l1', '(at c1 l3)', 'l1'),
        ('blocks', 'Put whatever is on b4 on b2.', '(on b5 b2)', ''),
        ('blocks', 'Put b5 on b4.', '(clear b5)', 'b4'),
        ('blocks', 'Put b5 on b2, I do not care how.', '(on b5 b2)', ''),
        ('blocks', 'Put b5 on b2 since b4 is mine.', '(on b5 b2)', 'b4'),
        ('blocks', 'Put b5 on b2 since it is not heavy.', '(on b5 b2)', ''),
        ('blocks', 'Put b5 on b2, since b1 must not be held.', '(on b5 b2)', 'b1'),
        ('blocks', 'Quick one before lunch: b5 on b2. Not my idea.', '(on b5 b2)', ''),
        ('blocks', 'In ten minutes I want b5 on b2.', '(on b5 b2)', ''),
        ('blocks', 'b5 on b2 within ten minutes', '(on b5 b2)', 'ten minutes'),
        ('blocks', 'b5 on b2, never in a hurry', '(on b5 b2)', 'never in a hurry'),
        ('blocks', 'b5 on b2 and not via the cubes', '(on b5 b2)', 'cubes'),
        ('spanner', 'Bob, tighten nut1!', '(tightened nut1)', ''),
        ('spanner', 'Bob should be at the gate.', '(tightened nut1)', 'gate'),
        ('grippers', 'Robots! ball1 to room2!', '(at ball1 room2)', ''),
        ('grippers', 'Let both robots go to room2.', '(at ball1 room2)', 'robots'),
        ('grippers', 'robot1, take ball1 to room2', '(at ball1 room2)', 'robot1'),
        ('grippers', 'Hello robots. ball1 to room2!', '(at ball1 room2)', ''),
        ('grippers', 'ball1 to room2, while the rest goes to room3', '(at ball1 room2)', 'room3'),
        ('ferry', "c1 to l2 if it isn't too much bother", '(at c1 l2)', ''),
        ('ferry', "c1 to l2 if it isn't too far for c2", '(at c1 l2)', 'c2'),
        ('ferry', 'c1 to l2. Location of other cars not relevant.', '(at c1 l2)', ''),
        ('ferry', 'c1 to l2. c2 not to be loaded.', '(at c1 l2)', 'c2'),
        ('ferry', "c1 to l2, never mind c2. Why don't you sail now?", '(at c1 l2)', ''),
        ('ferry', "c1 to l2, never mind c2 at l3. Why don't you sail?", '(at c1 l2)', 'c2'),
        ('ferry', 'c1 to l2, cars dont go to l3', '(at c1 l2)', 'l3'),
        ('ferry', 'All cars but c2 to l3.', '(at c1 l3) (at c3 l3)', ''),
        ('ferry', 'All cars but c2 to l3.', '(at c1 l3)', 'c2'),
        ('ferry', 'The boss does not like waiting, c1 to l2.', '(at c1 l2)', ''),
        ('ferry', 'I do not like c2 over there, c1 to l2.', '(at c1 l2)', 'c2'),
        (
            'ferry',
            'c1 to l2, don\N{RIGHT SINGLE QUOTATION MARK}t sail',
            '(at c1 l2)',
            'sail',
        ),
        ('blocks', 'b3 on b5, with b3 without anything on it.', '(on b3 b5) (clear b3)', ''),
        ('blocks', 'b3 on b5, without anything landing on b4.', '(on b3 b5)', 'b4'),
        ('spanner', "That gate's been rattling: tighten nut1.", '(tightened nut1)', ''),
        ('blocks', 'b3 on b5, and nobody lifts b1', '(on b3 b5)', 'b1'),
        ('blocks', 'b3 on b5, at no point b5 on b2', '(on b3 b5)', 'b2'),
        ('spanner', 'nut1 and nut2 tight, nut1 only once nut2 is', f'{NUTS}', 'only once'),
        ('spanner', "Bob's at that gate: tighten nut1.", '(tightened nut1)', 'gate'),
        ('ferry', 'c1 to l2. No wait, l3, not l2.', '(at c1 l3)', ''),
        ('ferry', 'c2, sorry, c1 to l3 instead of l2', '(at c1 l3)', ''),
        ('ferry', 'Never dent c2. No, c1 to l3, not c2.', '(at c1 l3)', 'never dent'),
        ('ferry', 'c1 to l3, no, and c2 not to l2', '(at c1 l3)', 'c2'),
    ],
)
def test_a_part_may_be_left_out_where_it_asks_for_nothing(
    world: str, text: str, answer: str, left_out: str
) -> None:
    request = read_request(text, start=(DATA / f'{world}.pddl').read_text(encoding='utf-8'))
    model = ScriptedAnswers(*[answer] * 6)
    if left_out:
        with pytest.raises(SafegenError, match=left_out):
            translate(request, model, Sampling(), style=GoalTranslation())
    else:
        assert isinstance(
            translate(request, model, Sampling(), style=GoalTranslation()), Translation
        )


@pytest.mark.parametrize(
    ('world', 'text', 'answer', 'made_up'),
    [
        ('spanner', 'Tighten nut2 so it looks fine.', '(tightened nut2) (tightened nut1)', 'nut1'),
        (
            'spanner',
            'nut2 tight',
            '(tightened nut2)\n(always (not (at spanner2 gate)))',
            'no such rule',
        ),
        ('blocks', 'Have the arm holding b3.', '(holding b3) (on-table b2)', 'b2'),
        ('blocks', 'Hold the block that is on b4.', '(holding b5)', ''),
        ('blocks', 'Put the block that is on b4 on b3.', '(on b5 b3) (clear b2)', 'b2'),
        ('ferry', 'Take the cars that are at l1 to l2.', '(at c1 l2) (at c2 l2)', ''),
        ('ferry', 'Take the cars that are at l1 to l2.', '(at c1 l2) (at c2 l2) (at c3 l2)', 'c3'),
        ('ferry', 'I want the cars at l2.', '(at c1 l2) (at c2 l2) (at c3 l2)', ''),
        ('grippers', 'ball1 to room2', '(at ball1 room2) (at-robby robot1 room2)', 'robot1'),
        ('grippers', 'Every ball to room2.', f'{BALLS} (at-robby robot1 room2)', 'robot1'),
        ('grippers', 'All three balls to room2.', BALLS, ''),
        ('grippers', 'Both robots to room2.', '(at-robby robot1 room2)', 'another number'),
        ('ferry', 'The cars at l1 both to l2.', '(at c1 l2) (at c2 l2) (at c3 l2)', 'number'),
        ('ferry', 'The cars at l1 both to l2.', '(at c1 l2) (at c2 l2)', ''),
        ('ferry', 'c1 and c3 should trade places.', '(at c1 l3) (at c3 l2)', "put 'c3' in"),
        ('ferry', 'Swap c1 and c3.', '(at c1 l3) (at c3 l1)', ''),
        ('blocks', 'Swap b2 and b5.', '(on b2 b4) (on b5 b1)', ''),
        ('blocks', 'b2 belongs on b4.', '(on b4 b2)', 'the other way round'),
        ('blocks', 'b4 is to be directly under b2.', '(on b2 b4)', ''),
        ('blocks', 'b4 is to be directly under b2.', '(on b4 b2)', 'the other way round'),
        ('blocks', 'b3 on b1, b2 on b5', '(on b2 b5) (on b3 b2) (clear b1)', "says 'b1'"),
        ('blocks', 'b3 on b1, no, sorry, b1 on b3.', '(on b1 b3)', ''),
        (
            'ferry',
            'c1 to l2, ferry and c3 to l1',
            '(at c1 l2) (at c3 l2) (at-ferry l1)',
            "says 'l1'",
        ),
        ('ferry', 'c1 that is at l1 goes to l3', '(at c1 l3)', ''),
        ('spanner', 'Give spanner1 to bob.', '(carrying bob spanner1)', ''),
        ('blocks', 'Swap b2 and b5.', '(on b5 b1) (on b2 b3)', "put 'b2' in"),
        ('blocks', 'b1 and b2 should swap places.', '(on b1 b2)', ''),
    ],
)
def test_an_answer_adds_nothing_to_its_request(
    world: str, text: str, answer: str, made_up: str
) -> None:
    start = (DATA / f'{world}.pddl').read_text(encoding='utf-8')
    if made_up:
        with pytest.raises(SafegenError, match=made_up):
            read(text, answer, start=start)
    else:
        assert isinstance(read(text, answer, start=start), Translation)


def accepted(asked: WrittenRequest) -> bool:
    """Whether the planner accepts what a request means, in one of the ways to write its rule."""
    goal = ' '.join(sorted(asked.goal))
    for rule in asked.rules or ('',):
        rules = rule[len('(and ') : -1] if rule.startswith('(and ') else rule
        model = ScriptedAnswers(*[f'{goal}\n{rules}'] * 3)
        if understood(asked, model, GoalTranslation(), 0, 1)[0] == RequestOutcome.RIGHT:
            return True
    return False


_BLIND = ('auditor', 'dispatcher', 'student')  # not read for the program


def test_what_is_meant_is_accepted() -> None:
    files = [file for file in sorted(DATA.glob('*.jsonl')) if file.stem not in _BLIND]
    every = [asked for file in files for asked in written_requests(file)]
    assert len([asked.text for asked in every if not accepted(asked)]) <= 2


def test_a_file_without_requests_is_an_error(tmp_path: Path) -> None:
    (tmp_path / 'none.jsonl').write_text('', encoding='utf-8')
    with pytest.raises(SafegenError, match='hold no requests'):
        requests_command([tmp_path / 'none.jsonl'])
