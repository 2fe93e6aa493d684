# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rules about attributes become constraints that the validator judges."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from support import strategies

from safegen_ros.errors import ErrorCode, PddlError
from safegen_ros.language.additions import with_rules
from safegen_ros.language.attribute_rules import read_attribute_rules
from safegen_ros.language.expressions import Expression, ExpressionError, Value
from safegen_ros.language.reading import Origin
from safegen_ros.pddl.model import Problem
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.task import load_files, load_task
from safegen_ros.verdict import Category
from safegen_ros.verify.validator import verify

EXAMPLES = Path(__file__).parents[2] / 'examples'

FILE = Path(__file__).with_name('rules.yaml').read_text(encoding='utf-8')


def example(problem: str, rules: str) -> tuple[Problem, Problem]:
    """A shipped problem, without its rules and with them."""
    bare = load_files(EXAMPLES / problem).problem
    text = (EXAMPLES / rules).read_text(encoding='ascii')
    return bare, with_rules(bare, read_attribute_rules(text, bare, rules).readings)


def test_the_example_of_blocksworld() -> None:
    bare, ruled = example('tower_order.pddl', 'block_weights.yaml')
    moves = (
        '(unstack b5 b3)\n(putdown b5)\n(unstack b3 b4)\n(putdown b3)\n(unstack b2 b1)\n'
        '(putdown b2)\n(pickup b1)\n{}(stack b1 b4)\n(unstack b1 b4)\n(putdown b1)\n'
        '(pickup b4)\n(stack b4 b3)\n(pickup b1)\n(stack b1 b4)'
    )
    kept = moves.format('')
    breaks = moves.format('(stack b1 b5)\n(unstack b1 b5)\n')
    assert verify(ruled, kept).category is Category.SUCCESS
    assert verify(bare, breaks).category is Category.SUCCESS
    verdict = verify(ruled, breaks)
    assert verdict.category is Category.SAFETY_VIOLATION
    assert verdict.broken[0].text == '(always (not (on b1 b5)))'
    assert verdict.broken[0].binding == (('?top', 'b1'), ('?below', 'b5'))
    assert verdict.broken[0].place == 'block_weights.yaml:13:5'


def test_the_example_of_grippers() -> None:
    bare, ruled = example('cold_rooms.pddl', 'cold_rooms.yaml')
    breaks = (
        '(pick robot1 ball1 room1 lgripper1)\n(move robot1 room1 room2)\n'
        '(drop robot1 ball1 room2 lgripper1)'
    )
    assert verify(bare, breaks).category is Category.SUCCESS
    verdict = verify(ruled, breaks)
    assert verdict.category is Category.SAFETY_VIOLATION
    assert verdict.broken[0].binding == (('?robot', 'robot1'), ('?thing', 'ball1'))
    kept = breaks.replace('robot1', 'robot2').replace('lgripper1', 'lgripper2')
    assert verify(ruled, kept).category is Category.SUCCESS
    assert verify(ruled, solve(ruled).plan).category is Category.SUCCESS


def test_what_applies_to_nothing_is_told() -> None:
    bare = load_files(EXAMPLES / 'cold_rooms.pddl').problem
    found = read_attribute_rules((EXAMPLES / 'cold_rooms.yaml').read_text(encoding='ascii'), bare)
    assert found.idle == ('no two wide objects in one room at the end',)


def test_the_most_particular_value_counts(problems: Mapping[str, Problem]) -> None:
    (reading,) = read_attribute_rules(FILE, problems['blocksworld'], 'f.yaml').readings
    assert reading.sentences == ('At all times, block b1 is not on block b2.',)
    assert (reading.origin, reading.place) == (Origin.ATTRIBUTES, 'f.yaml:11:3')
    assert reading.text == 'heavy'


def compiled(problem: Problem, **keys: str) -> list[str]:
    """The sentences of a rule over the attributes of `FILE`."""
    rule = ''.join(f'  {key.strip("_")}: {value}\n' for key, value in keys.items())
    text = f'{FILE.split("rules:")[0]}rules:\n- name: r\n{rule}'
    return [s for each in read_attribute_rules(text, problem).readings for s in each.sentences]


def test_what_rules_can_say(problems: Mapping[str, Problem]) -> None:
    problem = problems['blocksworld']
    pairs = compiled(
        problem,
        for_='{x: block, y: block}',
        where='x.fragile and y.fragile',
        rule='(always (not (and (on-table ?x) (on-table ?y))))',
    )
    assert len(pairs) == 1  # b3 and b4, not b4 and b3 as well
    assert compiled(problem, rule='keep b4 on the table') == [
        'At all times, block b4 is on the table.'
    ]
    cold = compiled(
        problem,
        for_='{x: block}',
        where="\"'cold' in x.zones and 'wet' not in x.zones and x.maker == 'acme'\"",
        rule="'{x} must be clear before b2 is'",
    )
    assert len(cold) == 1
    assert 'block b1 is clear' in cold[0]
    same = compiled(
        problem,
        for_='{x: block, y: block}',
        where='x == y and x.weight * 2 - 1 >= 5',
        same='true',
        rule='never put {x} on {y}',
    )
    assert same == ['At all times, block b1 is not on block b1.']
    cars = read_attribute_rules(
        'attributes: {types: {car: {heavy: true}}}\n'
        'rules: [{name: n, for: {c: car}, where: c.heavy, rule: "never put {c} on the ferry"}]',
        problems['ferry'],
    )
    assert len(cars.readings[0].constraints) == 2


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        ('rules:', 'rule:', "10:1: 'rule' is not a key of a file of rules: did you mean 'rules'?"),
        ('  where:', '  were:', "13:3: 'were' is not a key of a rule: did you mean 'where'?"),
        ('  names:', '  name:', "'name' is not a key of 'attributes'"),
        ('b2: {', 'b22: {', "5:5: no object is called 'b22': did you mean 'b2'?"),
        ('x: block', 'x: blok', "12:9: 'blok' is not a kind of object: did you mean 'block'?"),
        ('block: {', 'car: {', "'car' is not a kind of object"),
        ('weight: 3', 'weight: heavy', "'weight' is a number here and a text elsewhere"),
        ('weight: 3', 'weight: {a: 1}', '4:10: an attribute must be a number'),
        ('weight: 3', 'weight: 1.0e+99', '4:18: a number that is too large'),
        ('weight: 3', 'weight: .nan', 'a number that is too large'),
        ('weight: 3', 'weight: 010', "4:18: '010', which YAML reads as 8"),
        ('weight: 3', 'weight: 1:30', 'which YAML reads as 90'),
        ('weight: 3', 'weight: 2020-13-45', 'a value that cannot be read'),
        ('weight: 3', 'weight: 2020-01-02', 'a date that is not supported'),
        ('weight: 3', 'weight: &w 3', None),
        ('weight: 3', 'weight: *w', '4:18: an alias'),
        ('weight: 3', 'weight: !!python/name:os.system x', 'could not determine a constructor'),
        ('weight: 3', 'weight: 3, weight: 4', "'weight' stands here twice"),
        ('weight: 3', 'on: 3', 'a key that is not a text'),
        ('x.weight > 2', 'x.wieght > 2', "no object has the attribute 'wieght'"),
        ('weight: 1, ', '', "'b2' has no 'weight'"),
        ('x.weight > 2', 'z.weight > 2', "'z' is not a variable"),
        ('x.weight > 2', 'x.weight > "2"', "'>' wants numbers, found a text"),
        ('x.weight > 2', 'x.weight', "'and' wants true or false, found a number"),
        ('x.weight > 2', 'x.weight / (x.weight - 1) > 2', 'division by zero'),
        ('x.weight > 2', '__import__("os")', 'character 1: this is not a condition'),
        ('y.carries < 5', 'y.carries <', 'it ends too early'),
        ('x.weight > 2', '1 < x.weight < 2', "join comparisons with 'and'"),
        ('put {x} on', 'lift {x} onto', 'for x = b1, y = b2: '),
        ('put {x} on {y}', 'put {x} on {z}', 'found'),
        ('never put {x} on {y}', '(always (on ?x ?z))', "variable '?z' is not bound"),
        ('never put {x} on {y}', '(always (on ?x ?y)) (goal)', "'goal' is not a trajectory"),
        ('never put {x} on {y}', '(and)', 'this asks for nothing'),
        ('  rule: never put {x} on {y}', '', "a rule without 'rule'"),
        ('- name: heavy', '- name: [heavy]', "'name' must be a text"),
        ('attributes:', 'domain: ferry\nattributes:', 'the rules are for domain'),
        ('attributes:', 'domain: blocksworld-4ops\nattributes:', None),
        ('{x: block, y: block}', '{and: block}', "'and' cannot name a variable"),
        ('b[34]', 'b[34x', None),
    ],
)
def test_what_is_wrong_is_refused_at_its_place(
    problems: Mapping[str, Problem], old: str, new: str, message: str | None
) -> None:
    assert old in FILE
    text = FILE.replace(old, new, 1)
    if message is None:
        assert read_attribute_rules(text, problems['blocksworld']).readings
        return
    with pytest.raises(PddlError) as caught:
        read_attribute_rules(text, problems['blocksworld'])
    assert message in caught.value.message
    assert caught.value.message.startswith('<rules>:')


def test_sizes_are_bounded(problems: Mapping[str, Problem]) -> None:
    names = ' '.join(f'n{number}' for number in range(60))
    big = load_task(
        f'(define (problem p) (:domain blocksworld) (:objects {names}) (:init) (:goal (and)))'
    ).problem
    rule = 'rules: [{name: n, for: {x: block, y: block%s}, rule: "(always (not (on ?x ?y)))"}]'
    for more in ('', ', z: block'):
        with pytest.raises(PddlError) as caught:
            read_attribute_rules(rule % more, big)
        assert caught.value.code is ErrorCode.TASK_TOO_LARGE
    for text in ('[' * 500, 'a: ' * 5, 'x' * 300_000, '{' * 30, ''):
        with pytest.raises(PddlError):
            read_attribute_rules(text, problems['blocksworld'])


@strategies.examples(150)
@given(strategies.SEEDS)
def test_edited_files_never_crash(problems: Mapping[str, Problem], seed: int) -> None:
    rng = random.Random(seed)
    text = FILE
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len(text))
        piece = rng.choice(['', *'{}[]:,&*!|>-\'"\n\t 0aé\x00?.', '<<: ', '1e999', '!!', 'null'])
        text = text[:place] + piece + text[place + rng.randint(0, 3) :]
    try:
        found = read_attribute_rules(text, problems['blocksworld'])
    except PddlError:
        return
    assert all(each.constraints for each in found.readings)


VALUES: dict[tuple[str, str], Value] = {
    ('b1', 'w'): 3.0,
    ('b2', 'w'): 0.5,
    ('b1', 'ok'): True,
    ('b2', 'ok'): False,
    ('b1', 'z'): ('cold', 2.0),
    ('b2', 'z'): (),
    ('b1', 'm'): 'acme',
    ('b2', 'm'): 'other',
}


def holds(text: str) -> bool:
    expression = Expression(text, ('x', 'y'))
    return expression.holds({'x': 'b1', 'y': 'b2'}, lambda name, own: VALUES[name, own])


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('x.w > 2', True),
        ('x.w + y.w * 2 == 4', True),
        ('(x.w + y.w) * 2 == 7', True),
        ('x.w - 1 - 1 == 1', True),
        ('x.w / 2 / 3 == y.w', True),
        ('-x.w < -y.w', True),
        ('not x.ok or y.ok', False),
        ('not (x.ok and y.ok)', True),
        ('not x.ok == true', False),
        ("'cold' in x.z and 'cold' not in y.z", True),
        ('2 in x.z', True),
        ('x.m == \'acme\' and y.m != "acme"', True),
        ('x != y', True),
        ("x == 'b1'", True),
        ('y.ok or x.ok and false', False),
        ('x.ok or y.w / 0 > 1', True),  # what is decided is not looked at further
    ],
)
def test_values(text: str, value: bool) -> None:
    assert holds(text) is value


@pytest.mark.parametrize(
    'text',
    [
        '', 'x.w', 'x', 'x.', 'x.w >', '> 2', 'x.w > 2 3', '(x.ok', 'x.ok)', 'z.w > 2', 'x.w = 2',
        'x.w > y.m', 'x.ok > 1', 'x.ok == 1', "'a' in 'abc'", 'x.z in x.z', 'not x.w',
        'x.m and x.ok',
        'x.w / 0 > 1', '1 < x.w < 2', 'x.w ** 2 > 1', 'x[0]',
        'lambda: 1', 'f()',
        '9' * 400, '(' * 240 + 'x.ok' + ')' * 240, 'not ' * 40 + 'x.ok', '1.2.3 > 1', "'open",
        'x.ok;x.ok', 'x.ok # and y.ok', "'a' 'b' == x.m", 'x.ok if y.ok else y.ok', '1e3 > x.w',
        'x.ok and ' * 100 + 'x.ok',
        '*'.join(['999999999999999'] * 9) + ' > 1',
    ],
)  # fmt: skip
def test_what_has_no_value(text: str) -> None:
    with pytest.raises(ExpressionError):
        holds(text)


PIECES = (
    'x.w', 'y.ok', 'x.z', 'x', 'y', 'and', 'or', 'not', 'in', '(', ')', '+', '-', '*', '/', '==',
    '<', '>=', '2', '0.5', 'true', '"a"', '.', 'x.', '$', '\u00e9',
)  # fmt: skip


@strategies.examples(150)
@given(strategies.SEEDS)
def test_junk_never_crashes(seed: int) -> None:
    rng = random.Random(seed)
    text = ' '.join(rng.choices(PIECES, k=rng.randint(1, 12)))
    with suppress(ExpressionError):
        assert holds(text) in (True, False)
