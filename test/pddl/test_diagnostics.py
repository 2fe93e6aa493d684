# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Several errors of one text, their form for programs, and the excerpts for a terminal."""

from __future__ import annotations

import contextlib
import gc
import json
import time

import pytest
from support import strategies

from safegen_ros.errors import ErrorCode, PddlError, PddlErrors, PlanFormatError
from safegen_ros.pddl.diagnostics import MAX_ERRORS, excerpt, suggestion, with_excerpts
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.sexpr import Reader

BAD = """(define (problem bad) (:domain blocksworld)
\t(:objects b1 b2)
\t(:init (on b1 b2) (clear q) (on-tabel b2))
\t(:goal (and (onn b1 b2) (on b1 b9)))
\t(:constraints (and (allways (clear b1)) (always (clear b1)) (within x (clear b2)))))
"""


def _errors(text: str) -> tuple[PddlError, ...]:
    with pytest.raises(PddlError) as caught:
        read_problem(text, strategies.BLOCKSWORLD, 'bad.pddl')
    return caught.value.errors


def test_every_error_is_told_in_the_order_of_the_text() -> None:
    found = _errors(BAD)
    assert [(e.line, e.column, e.what.split("'")[1]) for e in found] == [
        (3, 27, 'q'), (3, 30, 'on-tabel'), (4, 14, 'onn'), (4, 33, 'b9'),
        (5, 21, 'allways'), (5, 70, 'x'),
    ]  # fmt: skip
    with pytest.raises(PddlErrors) as caught:
        read_problem(BAD, strategies.BLOCKSWORLD, 'bad.pddl')
    error = caught.value
    assert error.message == str(error) == '\n'.join(e.message for e in found)
    assert (error.what, error.line, error.code) == (found[0].what, 3, ErrorCode.BAD_PDDL)


def test_one_error_is_an_error_like_any_other() -> None:
    (found,) = _errors('(define (problem p) (:domain blocksworld) (:init) (:goal (clear b)))')
    assert type(found) is PddlError
    assert found.errors == (found,)
    assert 'errors' not in found.to_dict()


def test_an_error_has_a_form_for_programs() -> None:
    with pytest.raises(PddlErrors) as caught:
        read_problem(BAD, strategies.BLOCKSWORLD, 'bad.pddl')
    values = json.loads(json.dumps(caught.value.to_dict()))
    first = {
        'code': 'BAD_PDDL', 'source': 'bad.pddl', 'line': 3, 'column': 27,
        'what': "object 'q' is not declared", 'cure': 'declared objects are b1 b2',
    }  # fmt: skip
    assert {key: values[key] for key in first} == first
    assert values['errors'][0] == first
    assert len(values['errors']) == 6
    with pytest.raises(PlanFormatError) as plan:
        parse_plan('(pickup b1)\nDone.')
    assert plan.value.to_dict() == {
        'code': 'PLAN_REFUSED', 'source': '<plan>', 'line': 2, 'column': 1, 'steps': 1,
        'what': plan.value.what, 'cure': 'write only steps, each in parentheses',
    }  # fmt: skip


def test_errors_of_declarations_come_alone() -> None:
    # What is declared wrongly would otherwise be reported again wherever it is used.
    text = """(define (domain d) (:requirements :typos :odd) (:predicates (p ?x) (not ?x) (q y))
      (:action a :effect (q)))"""
    with pytest.raises(PddlErrors) as caught:
        read_domain(text)
    assert [e.column for e in caught.value.errors] == [35, 42, 68, 80]


def test_every_part_of_a_domain_is_looked_at() -> None:
    text = """(define (domain d) (:predicates (p ?x))
      (:action a :parameters (?x) :precondition (and (p ?y) (z)) :effect (and (z ?x) (p ?x ?x)))
      (:action b :effect (when (w (p)) (p b)))
      (:process c)
      (:constraints (always (v))))"""
    with pytest.raises(PddlError) as caught:
        read_domain(text)
    assert [e.what for e in caught.value.errors] == [':process is not supported']
    with pytest.raises(PddlErrors) as caught:
        read_domain(text.replace('(:process c)', ''))
    assert [e.what.split("'")[1] for e in caught.value.errors] == ['?y', 'z', 'p', 'w', 'v']


def test_the_same_error_is_told_once() -> None:
    atoms = '(clear z) ' * 1000
    (found,) = _errors(f'(define (problem p) (:domain blocksworld) (:init {atoms}) (:goal ()))')
    assert found.what == "object 'z' is not declared"


def test_not_more_than_a_person_reads() -> None:
    atoms = ' '.join(f'(clear z{i})' for i in range(1000))
    found = _errors(f'(define (problem p) (:domain blocksworld) (:init {atoms}) (:goal ()))')
    assert len(found) == MAX_ERRORS


@pytest.mark.parametrize('item', ['(clear z)', 'z', '(:init)', '()'])
def test_very_many_errors_take_no_longer_than_reading(item: str) -> None:
    text = f'(define (problem p) (:domain blocksworld) (:init {item * 1} {(item + " ") * 60_000}))'
    started = time.process_time()
    _errors(text)
    assert time.process_time() - started < 3.0


@pytest.mark.parametrize(
    ('word', 'said'),
    [
        ('allways', "did you mean 'always'? "),
        ('sometime-befor', "did you mean 'sometime-before'? "),
        ('never', ''),
        ('', ''),
    ],
)
def test_a_suggestion_is_a_near_miss(word: str, said: str) -> None:
    assert suggestion(word, ['always', 'sometime', 'sometime-before']) == said


def _excerpt(text: str, source: str = 'bad.pddl') -> list[str]:
    with pytest.raises(PddlError) as caught:
        read_problem(text, strategies.BLOCKSWORLD, source)
    first = caught.value.errors[0]
    assert first.excerpt == excerpt(text, first)
    return excerpt(text, first).split('\n')


TEXT = '(define (problem p) (:domain blocksworld) (:objects b1)\n(:init)\n{}\n)'


@pytest.mark.parametrize(
    ('line', 'shown'),
    [
        ('(:goal (clear b2))', '(:goal (clear b2))'),
        ('\t(:goal\t(clear b2))', ' (:goal (clear b2))'),
        ('(:goal (clear b2)) ; \u2713 \u4e16\u754c', '(:goal (clear b2)) ; ~ ~~'),
        ('(:goal (clear b2\u202e))', '(:goal (clear b2~))'),
        ('(:goal (clear b2\x1b[31m))', '(:goal (clear b2~[31m))'),
    ],
)
def test_the_caret_stands_under_the_place(line: str, shown: str) -> None:
    above, below = _excerpt(TEXT.format(line))
    assert above == f'    3 | {shown}'
    assert below.endswith('^')
    assert above[len(below) - 1 :].startswith('b2')


@pytest.mark.parametrize('ending', ['\n', '\r\n'])
def test_line_ends_are_not_shown(ending: str) -> None:
    text = TEXT.format('(:goal (clear b2))').replace('\n', ending)
    assert _excerpt(text) == ['    3 | (:goal (clear b2))', '                      ^']


def test_a_long_line_is_cut_at_both_ends() -> None:
    padding = '(clear b1) ' * 10_000
    above, below = _excerpt(TEXT.format(f'(:goal (and {padding} (clear b2) {padding}))'))
    assert len(above) < 110
    assert above.startswith('    3 | ...')
    assert above.endswith('...')
    assert above[len(below) - 1 :].startswith('b2')


def test_a_place_at_the_end_of_the_text() -> None:
    above, below = _excerpt('\n (define (problem p)\n')
    assert (above, below) == ('    2 |  (define (problem p)', '         ^')


def test_a_text_that_is_too_long_or_empty_has_no_excerpt_of_itself() -> None:
    with pytest.raises(PddlError, match='limit') as caught:
        read_domain('x' * 10_000_000)
    assert caught.value.excerpt == ''
    with pytest.raises(PddlError, match='empty') as caught:
        read_domain('')
    assert with_excerpts(caught.value).message == caught.value.message


def test_a_message_with_excerpts_for_a_terminal() -> None:
    with pytest.raises(PddlError) as hostile:
        read_problem(BAD.replace('q)', '\x07q)'), strategies.BLOCKSWORLD, 'bad.pddl')
    assert '\x07' not in with_excerpts(hostile.value).message
    with pytest.raises(PddlErrors) as caught:
        read_problem(BAD, strategies.BLOCKSWORLD, 'bad.pddl')
    lines = with_excerpts(caught.value).message.split('\n')
    assert len(lines) == 3 * 6
    assert lines[:3] == [
        "bad.pddl:3:27: object 'q' is not declared: declared objects are b1 b2",
        '    3 |  (:init (on b1 b2) (clear q) (on-tabel b2))',
        '                                  ^',
    ]


SINGLE = '(define (problem p) (:domain blocksworld) (:init) (:goal (clear b)))'


@pytest.mark.parametrize('text', [BAD, SINGLE, SINGLE.replace('init', 'innit'), '((', '\u2713'])
def test_an_error_that_is_done_with_leaves_nothing_behind(text: str) -> None:
    # The memory of a large text must not wait for the collector of circles.
    gc.collect()
    gc.disable()
    gc.freeze()  # what was there before is many objects, and not asked about
    try:
        with contextlib.suppress(PddlError):
            read_problem(text, strategies.BLOCKSWORLD)
        assert not [each for each in gc.get_objects() if isinstance(each, Reader)]
    finally:
        gc.unfreeze()
        gc.enable()


@pytest.mark.parametrize(
    ('text', 'cure'),
    [
        ('# a problem\n(define)', 'a comment begins with ;'),
        ('```pddl\n(define)', 'leave out the fence around the text'),
        ('(define (domain d) // types\n)', 'a comment begins with ;'),
        (
            '(define (domain d) (:types box) (:predicates (p)) (:action a :effect (box b)))',
            'it is a type, which is not a predicate: declare (box ?x), too',
        ),
    ],
)
def test_a_cure_names_what_was_meant(text: str, cure: str) -> None:
    with pytest.raises(PddlError) as caught:
        read_domain(text)
    assert caught.value.errors[0].cure.startswith(cure)
