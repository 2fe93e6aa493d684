# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Words become a problem only when it can be read, planned for and said back."""

from __future__ import annotations

import random
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import planetarium_small as small
from support.blocks_small import THREE_TEXT
from support.planetarium_small import BLOCKS
from support.scripted_answers import ScriptedAnswers
from support.strategies import examples

from safegen_ros.benchmarks.planetarium.requests import (
    RequestOutcome,
    doubted,
    understood,
)
from safegen_ros.cli.planetarium import requests_command
from safegen_ros.datasets.files import DatasetError
from safegen_ros.datasets.requests.written import written_requests
from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.language.reading import AmbiguousRule
from safegen_ros.llm.backend import Sampling
from safegen_ros.pddl.model import AtomFormula, Problem
from safegen_ros.pddl.reader import read_problem
from safegen_ros.pddl.sexpr import read_sexpr
from safegen_ros.pddl.writer import constraint_text, formula_text
from safegen_ros.search.budget import Unsolvable
from safegen_ros.tasks.pddl3.domains import builtin_domain, builtin_domain_text
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.planetarium.domains import (
    RULES,
    find_plan,
    planetarium_domain,
    planetarium_domain_text,
)
from safegen_ros.tasks.planetarium.nl_to_pddl import UNSURE, Question, Translation, translate
from safegen_ros.tasks.planetarium.request import (
    MAX_REQUEST,
    Request,
    joined,
    read_request,
    request_rules,
)
from safegen_ros.tasks.planetarium.styles import (
    GoalTranslation,
    answered_problem,
    goal_prompt,
    observed_facts,
)
from safegen_ros.verify.validator import verify

DOMAIN = planetarium_domain('blocksworld')
REQUEST = Request('Put a on b.', DOMAIN)
UPSIDE_DOWN = BLOCKS.replace('(on a b) (clear a)', '(on b a)')


def ask(request: Request, *answers: str, readings: int = 1, attempts: int = 3) -> object:
    return translate(
        request, ScriptedAnswers(*answers), Sampling(), readings=readings, attempts=attempts
    )


def test_a_request_becomes_a_problem_that_is_said_back_in_words() -> None:
    found = ask(REQUEST, f'Sure:\n```\n{BLOCKS}```', BLOCKS, readings=2)
    assert isinstance(found, Translation)
    assert found.attempts == 1
    back = FORMATS['english'].read(found.words, DOMAIN, 'words')
    assert (back.init, set(back.goal_conjuncts())) == (
        found.problem.init,
        set(found.problem.goal_conjuncts()),
    )
    assert verify(found.problem, find_plan(found.problem)).ok


@pytest.mark.parametrize(
    ('wrong', 'said'),
    [
        ('I would rather not.', 'no (define (problem'),
        (BLOCKS.rstrip()[:-1], "lacks a ')'"),
        (BLOCKS + UPSIDE_DOWN, '2 problems that differ'),
        (BLOCKS.replace('(on a b)', '(on a c)'), "'c'"),
        (BLOCKS.replace('(on-table a)', '(on b a)'), 'impossible'),
        (BLOCKS.replace('(clear a)))', '(on b a)))'), 'no plan'),
        (BLOCKS.replace('(on a b)', '(over a b)'), 'over'),
    ],
)
def test_what_is_wrong_is_told_to_the_model(wrong: str, said: str) -> None:
    model = ScriptedAnswers(wrong, BLOCKS)
    found = translate(REQUEST, model, Sampling(seed=7), readings=1)
    assert isinstance(found, Translation)
    assert found.attempts == 2
    (first, second) = model.asked
    assert [message['role'] for message in second[0]] == ['user', 'assistant', 'user']
    assert said in second[0][-1]['content']
    assert second[1].seed != first[1].seed


def test_a_model_that_never_gets_it_right_ends_with_the_last_reason() -> None:
    with pytest.raises(SafegenError, match=r'2 attempts: .*\(define') as caught:
        ask(REQUEST, 'no', 'never', attempts=2)
    assert caught.value.code is ErrorCode.TRANSLATION_FAILED


def test_a_question_of_the_model_is_passed_on() -> None:
    found = ask(REQUEST, '<think>hm</think>\nQUESTION: On which side?')
    assert found == Question('On which side?')


def test_two_ways_to_understand_a_request_make_a_question() -> None:
    other = BLOCKS.replace('(on a b) (clear a)', '(on-table a)')
    found = ask(REQUEST, BLOCKS, other, readings=2)
    assert isinstance(found, Question)
    assert 'Which one is meant?' in found.text
    # What one reading wants and the other starts with is a difference, too.
    assert found.text.count('The goal:') == 2
    assert 'nothing beside that' not in found.text
    assert isinstance(ask(REQUEST, BLOCKS, UPSIDE_DOWN, readings=2), Question)
    renamed = BLOCKS.replace('objects a b', 'objects x y').replace(' a', ' x').replace(' b)', ' y)')
    model = ScriptedAnswers(BLOCKS, renamed)  # the same problem, where names are the model's own
    assert isinstance(translate(REQUEST, model, Sampling()), Translation)
    assert model.asked[0][1].seed != model.asked[1][1].seed


GIVEN = '(always (not (holding b)))'


@pytest.mark.parametrize(
    'own', ['', '(:constraints (sometime (holding a)))', '(:constraints (and))']
)
def test_a_constraint_that_was_given_is_in_every_problem(own: str) -> None:
    answer = f'{BLOCKS.rstrip()[:-1]}{own})'
    found = ask(Request('Put a on b.', DOMAIN, GIVEN), answer)
    assert isinstance(found, Translation)
    wanted = read_problem(f'{BLOCKS.rstrip()[:-1]}(:constraints {GIVEN}))', DOMAIN).constraints
    assert set(wanted) <= set(found.problem.constraints)
    assert len(found.problem.constraints) == 1 + own.startswith('(:constraints (sometime')


def test_a_constraint_that_was_given_cannot_be_avoided() -> None:
    never_a = Request('Put a on b.', DOMAIN, '(always (not (holding a)))')
    with pytest.raises(SafegenError, match='1 attempts'):
        ask(never_a, BLOCKS, attempts=1)
    renamed = BLOCKS.replace(' a', ' x').replace('(on a', '(on x')
    with pytest.raises(SafegenError, match='declare every object that they name'):
        ask(never_a, renamed, attempts=1)


@pytest.mark.parametrize('given', ['(always', '(always (clear a))) (:goal (and)', '(and) (and)'])
def test_constraints_that_are_not_one_formula_are_refused_before_the_model_is_asked(
    given: str,
) -> None:
    model = ScriptedAnswers()
    with pytest.raises(SafegenError):
        translate(Request('Put a on b.', DOMAIN, given), model, Sampling())
    assert not model.asked


def test_the_observed_world_is_not_for_the_model_to_change() -> None:
    start = read_problem(BLOCKS, DOMAIN)
    request = Request('Put a on b.', DOMAIN, '', start)
    assert isinstance(ask(request, BLOCKS), Translation)
    for answer, said in (
        (BLOCKS.replace('(on-table b) (clear b)', '(on-table b)'), r'lacks \(clear b\)'),
        (BLOCKS.replace('a b)', 'a b c)', 1), r'adds \(c object\)'),
    ):
        with pytest.raises(SafegenError, match=said):
            ask(request, answer, attempts=1)


def test_every_domain_can_be_said_back() -> None:
    texts = {
        'blocksworld': BLOCKS,
        'gripper': """(define (problem g) (:domain gripper) (:objects r s x g)
            (:init (room r) (room s) (ball x) (gripper g) (at-robby r) (at x r) (free g))
            (:goal (at x s)))""",
        'floor-tile': """(define (problem t) (:domain floor-tile)
            (:objects rob - robot t1 t2 - tile red - color)
            (:init (robot-at rob t1) (robot-has rob red) (right t2 t1))
            (:goal (painted t2 red)))""",
    }
    for name in RULES:
        found = ask(Request('Do it.', planetarium_domain(name)), texts[name])
        assert isinstance(found, Translation)
        assert found.words


CELL = builtin_domain('blocksworld')
_WORLD = """(define (problem cell) (:domain blocksworld)
  (:objects b1 b2 b3 b4)
  (:init (arm-empty) (on-table b1) (on-table b2) (on-table b3) (on-table b4)
         (clear b1) (clear b2) (clear b3) (clear b4))
  (:goal {})
  (:constraints (and {})))"""


def _doubts(text: str, goal: str, constraints: str = '', start: bool = True) -> str:
    world = read_problem(_WORLD.format('(clear b1)', ''), CELL) if start else None
    model = ScriptedAnswers(*[_WORLD.format(goal, constraints)] * 2)
    found = translate(Request(text, CELL, '', world), model, Sampling(), attempts=2, readings=1)
    assert isinstance(found, Translation)
    assert len(model.asked) == (2 if found.doubts else 1)
    return '; '.join(found.doubts)


ON = '(on b1 b2)'


@pytest.mark.parametrize(
    ('text', 'goal', 'constraints', 'said'),
    [
        ('Put b1 on b2 and b3 on b4.', ON, '', "'b3'"),
        ('Put b1 on b2, then put B3 on the table', ON, '', "'b3'"),
        ('Put b1 on b2. Leave all the blocks clear.', ON, '', 'all blocks'),
        ('Put b1 on b2 in two steps.', ON, '', 'two'),
        ('Put b1 on b2 without ever touching b2.', ON, '', 'without'),
        ('Put b3 on b4 before b1 goes on b2.', '(and (on b1 b2) (on b3 b4))', '', 'before'),
        ('Put b1 on b2 after b3 lands on b4.', '(and (on b1 b2) (on b3 b4))', '', 'after'),
        # A constraint, but about something else, or one for two.
        ('Put b1 on b2 until b2 got warm.', ON, '(always (not (holding b3)))', 'until'),
        ('Put b1 on b2. Never grab b2, please. Never grab b3, please.', '(and (on b1 b2))',
         '(always (not (and (holding b3) (holding b2))))', 'b3'),
        ('Never grab b2, and nothing may ever be on it. Put b1 on b2.', ON,
         '(always (not (holding b2)))', 'ever'),
        ('Put b1 on b2, and only afterwards b3 on b4.', '(and (on b1 b2) (on b3 b4))', '',
         'only afterwards'),
        ('Put b1 on b2 within 9 steps.', ON, '(within 4 (on b1 b2))', "'9'"),
        ('Put three of them on b2, b1 first.', ON, '', 'three'),
        ('Stack both blocks upon b4.', '(and (on b3 b4) (on b2 b3) (on b1 b2))', '', 'both blocks'),
    ],
)  # fmt: skip
def test_an_answer_that_leaves_out_a_part_is_in_doubt(
    text: str, goal: str, constraints: str, said: str
) -> None:
    assert said.lower() in _doubts(text, goal, constraints)


@pytest.mark.parametrize(
    ('text', 'goal', 'constraints'),
    [
        ('Put b1 on b2.', ON, ''),
        ('put block b1 on block b2 please', ON, ''),
        ('Put b1 on b2. Never lift it up there, b2.', ON, '(always (not (holding b2)))'),
        ('Put b1 on b2. b3 must not end up on the table.', '(and (on b1 b2) (not (on-table b3)))',
         ''),
        ('Put b1 on b2 within 9 steps.', ON, '(within 9 (on b1 b2))'),
        ('Put b1 on b2. After that, put b3 on b4.', '(and (on b1 b2) (on b3 b4))', ''),
        ('Put b1 on b2, and leave b3 down, never up.', ON, '(always (not (holding b3)))'),
        ('Stack all the blocks: b1 on b2.', '(and (on b1 b2) (on b2 b3) (on b3 b4))', ''),
        ('Lay every block down.', '(forall (?b) (on-table ?b))', ''),
        ('Put b3 on b4 before b1 goes on b2.', '(and (on b1 b2) (on b3 b4))',
         '(sometime-before (on b1 b2) (on b3 b4))'),
    ],
)  # fmt: skip
def test_an_answer_that_has_every_part_is_taken(text: str, goal: str, constraints: str) -> None:
    assert not _doubts(text, goal, constraints)


def test_a_part_of_a_description_is_missed_too() -> None:
    assert "'b7'" in _doubts('There are b1 to b4 and b7; put b1 on b2.', ON, start=False)
    assert 'never' in _doubts('Put b1 on b2, never lift b2.', ON, start=False)


def test_a_doubt_is_told_to_the_model_and_an_answer_without_one_is_preferred() -> None:
    start = read_problem(_WORLD.format(ON, ''), CELL)
    request = Request('Put b1 on b2, and b3 on b4', CELL, '', start)
    less, more = _WORLD.format(ON, ''), _WORLD.format('(and (on b1 b2) (on b3 b4))', '')
    model = ScriptedAnswers(less, more)
    found = translate(request, model, Sampling(), attempts=2, readings=1)
    assert isinstance(found, Translation)
    assert (found.attempts, found.doubts) == (2, ())
    assert "'b3'" in model.asked[1][0][-1]['content']
    rule = '(always (not (holding b3)))'
    request = Request('Put b1 on b2. b3 should not go up.', CELL, rule, start)
    model = ScriptedAnswers(less, _WORLD.format(ON, rule))  # the rule holds in any case
    found = translate(request, model, Sampling(), attempts=1, readings=2)
    assert isinstance(found, Translation)
    assert not found.doubts


NEVER_ON_C = '(always (not (exists (?x) (on ?x c))))'


@pytest.mark.parametrize(
    ('text', 'found'),
    [
        ('Put a on b.', ''),
        ('Never put anything on c.', NEVER_ON_C),
        ('Put a on b. No block may ever be on c.', NEVER_ON_C),
        ('Keep c on the table.', '(always (on-table c))'),
        ('Only a may be held.', '(always (forall (?x) (imply (holding ?x) (= ?x a))))'),
        ('Put a on b, and never put anything on c.', NEVER_ON_C),
        ('Put a on b but never put anything on c; then rest', NEVER_ON_C),
        ('Put a on b, NEVER put anything on c', NEVER_ON_C),
        (
            'a must always be clear\nDo not hold b',
            '(and (always (clear a)) (always (not (holding b))))',
        ),
        ('Put a on b, but c must never be held.', '(always (not (holding c)))'),
        ('put c on b, b on a and a must never be on c', '(always (not (on a c)))'),
        ('Put a on b and never hold d.', ''),  # which is not there: the model may know
        ('Never sing.', ''),
        ('Until a is on b, do not hold c.', '(sometime-before (holding c) (on a b))'),
        ('If a is on b, never hold c.', '(always (not (and (holding c) (on a b))))'),
        ('Put a on b, and once it is there, never hold c.', ''),
        ('Put a on b when you can, never hold c.', '(always (not (holding c)))'),
    ],
)
def test_rules_in_our_words_are_read_by_their_grammar(text: str, found: str) -> None:
    assert request_rules(read_request(text, start=THREE_TEXT)).constraints == found
    assert (
        request_rules(read_request(text, 'blocksworld')).constraints == ''
    )  # no objects are known


@pytest.mark.parametrize(
    ('text', 'rest'),
    [
        ('Put a on b.', 'Put a on b.'),
        ('Put a on b, and never put anything on c.', 'Put a on b.'),
        ('Put a on b, but c must never be held.', 'Put a on b.'),
        ('Never hold c. Put a on b; then b on c.', 'Put a on b; then b on c.'),
        ('Put a on b and never hold d.', 'Put a on b. never hold d.'),
        ('Never hold c', ''),
    ],
)
def test_what_is_left_has_no_rule_that_was_read(text: str, rest: str) -> None:
    assert request_rules(read_request(text, start=THREE_TEXT)).rest == rest


def test_a_rule_with_two_meanings_is_not_guessed() -> None:
    with pytest.raises(AmbiguousRule) as caught:
        request_rules(read_request('Do not put a and c on b.', start=THREE_TEXT))
    assert len(caught.value.meanings) == 2


def test_the_constraints_of_the_start_hold_too() -> None:
    request = read_request('Go.', constraints='(sometime (on a b))', start=THREE_TEXT)
    assert request.constraints == '(and (sometime (on a b)) (always (not (on c b))))'
    assert request.start is not None
    assert joined('', ' ') == ''


def test_a_domain_is_a_name_or_a_text() -> None:
    own = builtin_domain_text('blocksworld').replace('(domain blocksworld)', '(domain mine)')
    for domain, name, text in (
        ('blocksworld', 'blocksworld', ''),
        (' Blocksworld-4ops ', 'blocksworld-4ops', ''),
        ('gripper', 'gripper', planetarium_domain_text('gripper')),
        (own, 'mine', own),
    ):
        request = read_request('Go.', domain)
        assert (request.domain.name, request.domain_text) == (name, text)
    assert read_request('Go.', start=THREE_TEXT).domain == builtin_domain('blocksworld')
    assert read_request('Go.', 'gripper').domain == planetarium_domain('gripper')


@pytest.mark.parametrize(
    ('given_', 'code'),
    [
        ({'text': ' \n'}, ErrorCode.EMPTY_TASK),
        ({'text': 'x' * (MAX_REQUEST + 1)}, ErrorCode.TASK_TOO_LARGE),
        ({'text': 'Go.'}, ErrorCode.UNKNOWN_DOMAIN),
        ({'text': 'Go.', 'domain': 'chess'}, ErrorCode.UNKNOWN_DOMAIN),
        ({'text': 'Go.', 'domain': '(define'}, ErrorCode.BAD_PDDL),
        ({'text': 'Go.', 'domain': 'ferry', 'start': THREE_TEXT}, ErrorCode.UNKNOWN_DOMAIN),
    ],
)
def test_what_cannot_be_read_is_named(given_: dict[str, str], code: ErrorCode) -> None:
    with pytest.raises(SafegenError) as caught:
        read_request(**given_)
    assert caught.value.code is code


def test_an_error_in_the_start_shows_its_line() -> None:
    with pytest.raises(PddlError, match=r'<start>:\d+:\d+') as caught:
        read_request('Go.', start=THREE_TEXT.replace('(on c a)', '(on c q)'))
    assert '(on c q)' in (caught.value.errors[0].excerpt or '')


WORDS = st.sampled_from(
    ['never', 'always', 'put', 'a', 'b', 'on', 'and', 'but', ',', '.', 'at most', 'one', 'block',
     'clear', 'not', 'do not', 'anything', ';', '(', '\n', '"']
)  # fmt: skip


@given(st.lists(WORDS | st.text(max_size=5), max_size=15).map(' '.join))
def test_any_text_is_a_request_or_refused(text: str) -> None:
    try:
        found = request_rules(read_request(text, start=THREE_TEXT)).constraints
    except SafegenError:
        return
    if found:
        _, section = read_sexpr(f'(:constraints {found})', 'found')
        assert len(section.items) == 2


def blocks(goal: str, rest: str = '') -> Problem:
    return read_problem(
        '(define (problem p) (:domain blocksworld) (:objects a b c)'
        ' (:init (arm-empty) (on-table a) (on b a) (on c b) (clear c))'
        f' (:goal {goal}) {rest})',
        planetarium_domain('blocksworld'),
    )


@pytest.mark.parametrize('domain', small.DOMAINS)
@examples(20)
@given(seed=st.integers(0, 2**32))
def test_plans_are_proved_and_found_without_search(domain: str, seed: int) -> None:
    problem = small.larger(random.Random(seed), domain)
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr('safegen_ros.tasks.planetarium.domains.solve')
        try:
            plan = find_plan(problem)
        except Unsolvable:
            assert domain == 'floor-tile'  # a tile out of reach, or a color nobody has
            return
    assert verify(problem, plan).ok


def test_a_problem_that_the_rules_do_not_cover_is_searched() -> None:
    goal = blocks('(or (on a c) (on a b))')
    assert verify(goal, find_plan(goal)).ok
    constrained = blocks('(on a b)', '(:constraints (sometime (on b c)))')
    plan = find_plan(constrained)
    assert verify(constrained, plan).ok
    assert not verify(constrained, find_plan(replace(constrained, constraints=()))).ok


def test_a_goal_without_a_state_has_no_plan() -> None:
    with pytest.raises(Unsolvable, match='change the goal'):
        find_plan(blocks('(and (on a b) (on b a))'))


DATA = Path(__file__).parents[3] / 'data/requests'
SCENE = (DATA / 'blocks.pddl').read_text(encoding='utf-8')
START = read_problem(SCENE, builtin_domain('blocksworld'))
NUTS = '(tightened nut1) (tightened nut2)'
BALLS = '(at ball1 room2) (at ball2 room2) (at ball3 room2)'
FERRY = read_problem((DATA / 'ferry.pddl').read_text(encoding='utf-8'), builtin_domain('ferry'))


def read(text: str, *answers: str, start: str = SCENE) -> Translation | Question:
    """What becomes of a request when the model gives the answers."""
    backend = ScriptedAnswers(*answers)
    return translate(
        read_request(text, start=start), backend, Sampling(), style=GoalTranslation(),
        readings=len(answers), attempts=1,
    )  # fmt: skip


@pytest.mark.parametrize(('likely', 'doubts'), [(0.8, ()), (0.5, (UNSURE,))])
def test_a_description_is_as_likely_as_all_its_answers(
    likely: float, doubts: tuple[str, ...]
) -> None:
    text = 'At the start: {0} is on the table; {0} is clear; the hand is empty. In the end: {1}.'
    request = Request('Given: 1 block (b1). ' + text.format('b1', 'b1 is held'), DOMAIN)
    backend = ScriptedAnswers(
        '(on-table b1)', '(clear b1)', '(arm-empty)', '(holding b1)', sure=[1, 0.9, 1, likely]
    )
    found = translate(request, backend, Sampling(), style=GoalTranslation(), attempts=1)
    assert isinstance(found, Translation)
    assert found.probability == pytest.approx(0.9 * likely)
    assert found.doubts == doubts
    assert found.problem.init == {('on-table', 'b1'), ('clear', 'b1'), ('arm-empty',)}


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
    request = read_request('b1 and b4 shall be one on the other', start=SCENE)
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


def test_an_answer_may_deny_a_fact() -> None:
    found = read('b2 goes off b1, but not onto b3 for good', '(not (on b2 b1)) (not (on b2 b3))')
    assert isinstance(found, Translation)
    assert [formula_text(each) for each in found.problem.goal_conjuncts()] == [
        '(not (on b2 b1))', '(not (on b2 b3))',
    ]  # fmt: skip
    assert 'not' in found.words


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
        ('spanner', 'nut1 and nut2 tight, nut1 prior to nut2', NUTS, 'prior to'),
        ('spanner', 'nut1 and nut2 tight, in that order', NUTS, 'that order'),
        ('blocks', 'b3 on b5, pick b1 up one time at most', '(on b3 b5)', 'one time'),
        ('blocks', 'b3 on b5, from start to finish hands off b1', '(on b3 b5)', 'hands off'),
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
    assert 0 < right.count(True) < 0.2 * len(every)
    missed = [doubted(asked, ruled=False) for asked in every]
    assert missed.count(False) <= 1 < missed.count(True)


def test_a_file_without_requests_is_an_error(tmp_path: Path) -> None:
    (tmp_path / 'none.jsonl').write_text('', encoding='utf-8')
    with pytest.raises(SafegenError, match='hold no requests'):
        requests_command([tmp_path / 'none.jsonl'])
