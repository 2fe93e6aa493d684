# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plain words mean one constraint, or are refused with a reason; nothing in between."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support import strategies

from safegen_ros.errors import ErrorCode, PddlError, PddlErrors
from safegen_ros.language.english import constraint_sentence
from safegen_ros.language.reading import AmbiguousRule, Origin
from safegen_ros.language.rules import read_canonical, read_rules
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.reader import read_domain, read_problem

MEANINGS: dict[str, dict[str, str]] = yaml.safe_load(
    Path(__file__).with_name('meanings.yaml').read_text(encoding='utf-8')
)

AMBIGUOUS = {
    'b1 must be on the table': 3,
    'put b1 on the table': 2,
    'do not put b1 and b2 on b3': 2,
    'every block must never be on b3': 2,
    'a block must always be on b3': 2,
    'pick up b1 only once': 2,
    'if b1 is on b2, put b3 on the table': 2,
    'always put b3 on the table when b1 is on b2': 2,
    'stack b1 on b2 before b3': 2,
    'b1 must always be on the table before b2 is': 2,
    'all blocks must be on the table before b1 is clear': 2,
}

REFUSED = {
    'never put b9 on b3': "1:11: no object is called 'b9'",
    'never put b1 on bb3': "1:17: no object is called 'bb3': did you mean 'b3'?",
    'frobnicate b1': "1:1: the rule is not understood from 'frobnicate' on",
    'never put b1 on b2 and smile': "1:24: the rule is not understood from 'smile' on",
    'never': "ends behind 'never'",
    'b1 may be on b2': 'what may be is allowed already',
    'never put nothing on b3': 'two negations',
    'after b1 is on b2, never move b1': 'PDDL3 cannot say',
    'after b1 is on b2, b3 must be clear': 'it is unclear whether',
    'never put b1 on b2 while b3 is clear': 'a constraint compares states',
    'b1 must be on b2 twice': 'cannot be demanded',
    'once b1 is on b2, pick it up': "it is unclear what 'it' is",
    'ignore all rules': "not understood from 'ignore' on",
    'remove the rule about b1': "not understood from 'remove' on",
    'the block must always be clear': 'which block is meant?',
    'At all times, block b1 is on block b2 and': 'a fact must stand',
    'At all times, block b1 is on block b9.': "1:36: no object is called 'b9'",
    '(always (on b1 b9))': "1:16: object 'b9' is not declared",
    '(always (on b1 b2)) (:goal (and))': 'is not a trajectory constraint',
    '(always (on b1 b2))) (and (sometime (on b2 b1))': 'a parenthesis too many',
    '(always (on b1 b2))) (': 'a parenthesis too many',
    'b1 must never be on b2 within 3 steps': 'with a negation',
    'put b1 on b2 within 3 steps within 5 steps': 'more than one time',
    'never put b1 on b2 before b3 is clear unless b4 is clear': 'more than one time',
    'never put b1 on b2 before ' + ' and '.join(['b1'] * 35): 'in too many ways',
    'never put b1 on b2 before ' + ' and '.join(['b1'] * 90): 'a rule of 185 words',
    'b1 must be clear from step 5 until before step 2': 'so nothing is asked',
    'do not pick up b1 before step 0': 'so nothing is asked',
    'always put b1 on b2': "'always' with what is done",
    '': 'there is no rule',
    ' \n # nothing \n': 'there is no rule',
    'never put b1 on b2 \x00': 'found',
}


@pytest.mark.parametrize(
    ('name', 'text', 'formula'),
    [(name, *pair) for name, pairs in MEANINGS.items() for pair in pairs.items()],
)
def test_what_sentences_mean(
    problems: Mapping[str, Problem], name: str, text: str, formula: str
) -> None:
    (reading,) = read_rules(text, problems[name])
    assert reading.formula == formula
    again = read_canonical('\n'.join(reading.sentences), problems[name])
    assert tuple(c for each in again for c in each.constraints) == reading.constraints


@pytest.mark.parametrize('text', AMBIGUOUS)
def test_what_means_several_things_is_refused_with_all_of_them(
    problems: Mapping[str, Problem], text: str
) -> None:
    with pytest.raises(AmbiguousRule) as caught:
        read_rules(text, problems['blocksworld'])
    meanings = caught.value.meanings
    assert len(set(meanings)) == AMBIGUOUS[text]
    for meaning in meanings:  # one of them can be written instead
        assert meaning in caught.value.message
        assert read_rules(meaning, problems['blocksworld'])


@pytest.mark.parametrize('text', REFUSED)
def test_what_is_not_understood_is_refused_at_its_place(
    problems: Mapping[str, Problem], text: str
) -> None:
    with pytest.raises(PddlError) as caught:
        read_rules(text, problems['blocksworld'])
    assert REFUSED[text] in caught.value.message


def test_several_sentences_and_where_they_stand(problems: Mapping[str, Problem]) -> None:
    text = (
        '# house rules\n- Never put b1 on b2; keep b4 on the table.\n'
        '- b1 must be on the table\n  before b2 is\n3. visit nothing'
    )
    with pytest.raises(PddlError) as caught:
        read_rules(text, problems['blocksworld'], 'house.txt')
    assert caught.value.message.startswith('house.txt:5:4: ')
    found = read_rules(text.rsplit('\n', 1)[0], problems['blocksworld'], 'house.txt')
    assert [each.place for each in found] == ['house.txt:2:3', 'house.txt:2:23', 'house.txt:3:3']
    assert found[2].text == 'b1 must be on the table before b2 is'
    assert {each.origin for each in found} == {Origin.WORDS}


def test_every_sentence_that_is_wrong_is_told(problems: Mapping[str, Problem]) -> None:
    with pytest.raises(PddlErrors) as caught:
        read_rules('foo b1\nnever put b1 on b2\nbar b2', problems['blocksworld'])
    assert [error.line for error in caught.value.errors] == [1, 3]
    assert 'foo b1' in caught.value.errors[0].excerpt


def test_a_reading_is_shown_back(problems: Mapping[str, Problem]) -> None:
    (reading,) = read_rules('never put b1 on b2', problems['blocksworld'])
    assert reading.sentence == 'At all times, block b1 is not on block b2.'
    for part in (reading.text, reading.sentence, reading.formula):
        assert part in reading.shown()
    assert reading.to_dict()['constraints'] == [reading.formula]


def test_left_out_robots_of_several_make_a_limit_ambiguous(
    problems: Mapping[str, Problem],
) -> None:
    problem = problems['grippers']
    two = read_problem(
        """(define (problem p) (:domain gripper-strips) (:objects r1 r2 - robot a - room)
        (:init (at-robby r1 a) (at-robby r2 a)) (:goal (and)))""",
        problem.domain,
    )
    with pytest.raises(AmbiguousRule):
        read_rules("don't visit a more than once", two)
    assert read_rules('never visit a', two)[0].constraints
    with pytest.raises(PddlError, match='which robot is meant'):
        read_rules('the robot must never be in a', two)


def test_names_that_are_words_of_the_grammar() -> None:
    problem = read_problem(
        """(define (problem p) (:domain blocksworld) (:objects a b table)
        (:init (on-table a)) (:goal (on a b)))""",
        strategies.BLOCKSWORLD,
    )
    assert read_rules('never put a on b', problem)[0].formula == '(always (not (on a b)))'
    assert read_rules('never put b on "table"', problem)[0].formula == '(always (not (on b table)))'
    with pytest.raises(AmbiguousRule):  # the block a, or any block
        read_rules('never put a block on b', problem)


OWN = """(define (domain lab) (:requirements :typing) (:types dish shelf)
  (:predicates (stored-on ?d - dish ?s - shelf) (sterile ?d - dish) (door-open))
  (:action open :parameters () :precondition (and) :effect (door-open)))"""


@pytest.mark.parametrize(
    ('text', 'formula'),
    [
        ('d1 must never be stored on s1', '(always (not (stored-on d1 s1)))'),
        ('d1 must be sterile before door open holds', '(sometime-before (door-open) (sterile d1))'),
        ('every dish must be sterile at the end', '(at end (forall (?x - dish) (sterile ?x)))'),
        ('sterile must always hold for d1', '(always (sterile d1))'),
        ('At all times, sterile holds for d1.', '(always (sterile d1))'),
    ],
)
def test_a_domain_without_words_of_its_own(text: str, formula: str) -> None:
    domain = read_domain(OWN)
    problem = read_problem(
        '(define (problem p) (:domain lab) (:objects d1 - dish s1 - shelf) (:init) (:goal (and)))',
        domain,
    )
    assert read_rules(text, problem)[0].formula == formula


def test_a_rule_of_too_many_objects_is_refused(problems: Mapping[str, Problem]) -> None:
    names = ' '.join(f'n{number}' for number in range(500))
    problem = read_problem(
        f'(define (problem p) (:domain blocksworld) (:objects {names}) (:init) (:goal (and)))',
        problems['blocksworld'].domain,
    )
    with pytest.raises(PddlError) as caught:
        read_rules('at most three blocks may be on the table', problem)
    assert caught.value.code is ErrorCode.TASK_TOO_LARGE
    with pytest.raises(PddlError) as caught:
        read_rules('(forall (?x ?y) (at-most-once (on ?x ?y)))', problem)
    assert caught.value.code is ErrorCode.TASK_TOO_LARGE
    with pytest.raises(PddlError) as caught:
        read_rules('never put b1 on b2. ' * 2000, problem)
    assert caught.value.code is ErrorCode.TASK_TOO_LARGE


@strategies.examples(60)
@given(strategies.SEEDS)
def test_every_sentence_of_the_english_format_reads_back(seed: int) -> None:
    problem = strategies.generated(random.Random(seed))
    for constraint in problem.constraints:
        sentence = constraint_sentence(constraint, problem)
        (reading,) = read_rules(sentence, problem)
        assert reading.constraints == (constraint,)
        assert reading.sentences == (sentence,)


@strategies.examples(60)
@given(strategies.SEEDS)
def test_no_word_of_a_sentence_is_left_out(problems: Mapping[str, Problem], seed: int) -> None:
    rng = random.Random(seed)
    name = rng.choice(list(MEANINGS))
    text = rng.choice([text for text in MEANINGS[name] if text[0] != '('])
    words = text.split()
    words.insert(rng.randint(0, len(words)), rng.choice(['zzyzx', '"b 1"', 'b99', 'unsafely']))
    with pytest.raises(PddlError):
        read_rules(' '.join(words), problems[name])


@strategies.examples(80)
@given(strategies.SEEDS)
def test_sentences_in_disorder_never_crash(problems: Mapping[str, Problem], seed: int) -> None:
    rng = random.Random(seed)
    name = rng.choice(list(MEANINGS))
    pool = [word for text in MEANINGS[name] for word in text.split()]
    words = rng.choices(pool, k=rng.randint(1, 14))
    with suppress(PddlError):
        found = read_rules(' '.join(words), problems[name])
        # What is understood is shown back, and means the same again.
        again = read_canonical('\n'.join(s for r in found for s in r.sentences), problems[name])
        constraints = [c for r in again for c in r.constraints]
        assert constraints == [c for r in found for c in r.constraints]


@strategies.examples(60)
@given(st.text(max_size=60))
def test_junk_is_never_a_rule(problems: Mapping[str, Problem], text: str) -> None:
    with pytest.raises(PddlError):
        read_rules(text, problems['spanner'])


def test_a_predicate_is_known_by_its_own_name() -> None:
    domain = read_domain(
        '(define (domain store) (:requirements :typing) (:types robot place)\n'
        ' (:predicates (robot-at ?r - robot ?p - place))\n'
        ' (:action go :parameters (?r - robot ?p - place)\n'
        '  :precondition (and) :effect (robot-at ?r ?p)))'
    )
    problem = read_problem(
        '(define (problem s) (:domain store) (:objects r1 - robot aisle2 - place)\n'
        ' (:init) (:goal (robot-at r1 aisle2)))',
        domain,
    )
    for words in ('robot-at', 'robot at'):
        (found,) = read_rules(f'r1 must never be {words} aisle2', problem)
        assert found.formula == '(always (not (robot-at r1 aisle2)))'
