# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""JSON problems follow the published schema; what does not is named with its place."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator
from support import strategies, temporal

from safegen_ros.errors import PddlError, SafegenError
from safegen_ros.language.english import to_english
from safegen_ros.pddl.model import Metric, Problem
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.formats.json_format import from_json
from safegen_ros.tasks.pddl3.formats.json_writer import to_json

SCHEMA = json.loads(
    files('safegen_ros.tasks.pddl3.formats').joinpath('problem.schema.json').read_text('ascii')
)
VALIDATOR = Draft202012Validator(SCHEMA)


def fits(value: Any) -> bool:
    """Whether a value follows the schema."""
    return VALIDATOR.is_valid(value)


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert not fits({})


@strategies.examples(80)
@given(strategies.SEEDS)
def test_what_is_written_follows_the_schema(seed: int) -> None:
    problem = _problem(random.Random(seed))
    text = to_json(problem)
    assert fits(json.loads(text))
    assert from_json(text, problem.domain) == problem


def _problem(rng: random.Random) -> Problem:
    """A random problem, with numbers, durations or preferences now and then."""
    kind = rng.randrange(4)
    if kind == 0:
        return strategies.problem(rng)
    if kind == 1:
        return temporal.problem(rng, numbers=rng.random() < 0.5)
    if kind == 2:
        return strategies.wishing(rng)
    problem = strategies.toggles(rng, numbers=True)
    metric = Metric('minimize', strategies.expression(rng, problem.domain, problem.objects))
    return replace(problem, metric=rng.choice([None, metric]))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container with every key that it has."""
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield value, key
            yield from _places(inner)


@strategies.examples(120)
@given(strategies.SEEDS)
def test_what_the_schema_refuses_the_reader_refuses(seed: int) -> None:
    rng = random.Random(seed)
    problem = _problem(rng)
    spoilt = copy.deepcopy(json.loads(to_json(problem)))
    container, key = rng.choice(list(_places(spoilt)))
    kind = rng.randrange(3)
    if kind == 0:
        del container[key]
    elif kind == 1:
        container[key] = rng.choice([None, True, 7, -1, 2.5, 'a b', '', [], {}, {'and': 1}, [[]]])
    elif isinstance(container, dict):
        container['extra'] = container[key]
    if not fits(spoilt):
        with pytest.raises(PddlError):
            from_json(json.dumps(spoilt), problem.domain)


def test_the_form_of_the_paper() -> None:
    kit = kits()['blocksworld']
    generated = kit.problem(2, {'blocks': 4}, 'table-order')
    found = json.loads(to_json(generated.problem))
    assert list(found) == ['problem', 'domain', 'objects', 'init', 'goal', 'constraints']
    assert {'pred': 'arm-empty', 'args': []} in found['init']
    ((name, (later, first)),) = found['constraints'][0].items()
    assert name == 'sometime_before'
    assert later['pred'] == first['pred'] == 'on-table'


def _text(**changes: Any) -> str:
    problem = {
        'problem': 'p',
        'domain': 'blocksworld',
        'objects': {'a': 'object', 'b': 'object'},
        'init': [{'pred': 'arm-empty', 'args': []}],
        'goal': {'pred': 'on', 'args': ['a', 'b']},
        'constraints': [],
        **changes,
    }
    return json.dumps({key: value for key, value in problem.items() if value is not None}, indent=1)


def test_english_has_no_words_for_numbers() -> None:
    rng = random.Random(0)
    problem = strategies.toggles(rng, numbers=True)
    with pytest.raises(SafegenError, match='English does not know numbers'):
        to_english(problem)
    plain = replace(strategies.toggles(rng), metric=Metric('minimize', Decimal(1)))
    with pytest.raises(SafegenError, match='no words for the metric'):
        to_english(plain)


def test_upper_case_and_other_orders_are_taken() -> None:
    text = _text(goal={'args': ['A', 'b'], 'pred': 'ON'}, constraints=None)
    assert from_json(text, strategies.BLOCKSWORLD) == from_json(_text(), strategies.BLOCKSWORLD)


ATOM = {'pred': 'clear', 'args': ['a']}


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (_text(goal=None), r"^p\.json:1:1: a problem without 'goal': add it; a problem has"),
        (_text(gaol=ATOM), r"^p\.json:\d+:2: 'gaol' is not a field of a problem: did you"),
        (_text(objects=['a']), 'a list where the objects must stand: write {...}'),
        (_text(objects={'a': 7}), 'a number where a type must stand: write a string'),
        (_text(objects={'a b': 'object'}), "'a b' is not a name for an object"),
        (_text(objects={'a': {'either': []}}), "'either' names no type"),
        (_text(init={}), r'an object where the list of facts must stand: write \[...\]'),
        (_text(init=[{'pred': 'clear'}]), "an atom without 'args': add it"),
        (_text(init=[{'pred': 'clear', 'args': ['c']}]), "object 'c' is not declared"),
        (_text(init=[{'pred': 'clear', 'args': []}]), "'clear' takes 1 argument"),
        (_text(goal={'pred': 'cleer', 'args': ['a']}), "'cleer' is not declared.*did you"),
        (_text(goal={'pred': 'clear', 'args': ['?x']}), r'variable .\?x. is not bound'),
        (_text(goal={}), 'a formula with nothing: give it one of not and or imply forall exists'),
        (_text(goal={'not': ATOM, 'or': []}), "a formula with 'not' and 'or'"),
        (_text(goal={'>=': [2.5, 1]}), '2.5 may have been rounded: write it as a text'),
        (_text(goal={'>=': ['much', 1]}), "'much' is not a number: write 5 or"),
        (_text(goal={'>=': [True, 1]}), 'true or false where a number must stand'),
        (_text(goal={'=': [1]}), "'=' takes 2 arguments, found 1"),
        (_text(goal={'=': [{'function': 'height', 'args': []}, 1]}), "function 'height' is not"),
        (_text(metric={'least': 1}), "'least' is not a field of a metric"),
        (_text(goal={'xor': [ATOM, ATOM]}), "'xor' is not a field of a formula"),
        (_text(goal={'imply': [ATOM]}), "1 values for what 'imply' is about: write exactly 2"),
        (_text(goal={'not': None}), 'null where a formula must stand'),
        (_text(goal={'forall': {'variables': [], 'body': ATOM}}), "'body' is not a field"),
        (_text(goal={'forall': {'variables': [{'name': 'x', 'type': 'object'}], 'formula': ATOM}}),
         "'x' is not a variable: a variable starts with"),
        (_text(goal={'and': ATOM}), r"an object where the list of formulas of 'and' must stand"),
        (_text(objects={'A': 'object', 'a': 'object'}), "object 'a' is declared twice"),
        (_text(constraints={'always': ATOM}), 'an object where the list of constraints must'),
        (_text(constraints=[{'within': {'steps': True, 'formula': ATOM}}]), 'True is not a numb'),
        (_text(constraints=[{'within': {'steps': 10**30, 'formula': ATOM}}]), 'is not a number of'),
        (_text(constraints=[{'within': {'step': 3, 'formula': ATOM}}]), "did you mean 'steps'"),
        (_text(constraints=[{'within': {'steps': float('nan'), 'formula': ATOM}}]),
         "found 'NaN,', which is not JSON"),
        (_text(constraints=[{'within': {'steps': float('inf'), 'formula': ATOM}}]),
         "found 'Infinity,', which is not JSON"),
        (_text(constraints=[ATOM]), "'pred' is not a field of a constraint"),
        (_text(constraints=[{'at-most-once': ATOM}]), "did you mean 'at_most_once'"),
        (_text(constraints=[{'sometime_before': [ATOM]}]), "1 values for what 'some"),
        (_text(constraints=[{'within': ATOM}]), "'pred' is not a field of 'within'"),
        (_text(constraints=[{'within': {'steps': -1, 'formula': ATOM}}]), '-1 is not a number'),
        (_text(constraints=[{'within': {'steps': 1.5, 'formula': ATOM}}]), '1.5 is not a number'),
        (_text(constraints=[{'hold_during': {'from': 1, 'formula': ATOM}}]), "without 'until'"),
        ('{"a": 1, "a": 2}', r"^p\.json:1:10: '\"a\"' stands here twice: remove one"),
        ('[1, 2', r"^p\.json:1:6: found the end of the text where ',' or '\]' must stand"),
        ('{"a" 1}', "no ':' after the name"),
        ('{a: 1}', "found 'a: 1}', which is not JSON: write JSON, with names and strings in"),
        ('[1,]', r"'\]' behind a ',': remove the ','"),
        ('[] []', r"found '\[' after the end: remove it"),
        ('["\\x"]', r'Invalid \\\\?escape'),
        ('[' * 300, 'nested deeper than 210 values: flatten it'),
        ('1' * 400, 'a number of 400 digits'),
        ('{"a":' * 300, 'nested deeper than 210 values: flatten it'),
        ('"' + 'a' * 10**5, "found '.a*', which is not JSON"),
        ('1e999', 'a number where a problem must stand'),
        ('3', 'a number where a problem must stand'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_place(text: str, message: str) -> None:
    with pytest.raises(PddlError) as caught:
        from_json(text, strategies.BLOCKSWORLD, 'p.json')
    assert re.search(message, str(caught.value)), str(caught.value)
