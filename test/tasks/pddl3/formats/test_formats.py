# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a format writes it reads back unchanged, and what is not text of it is refused."""

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

from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.language.english import to_english
from safegen_ros.pddl.model import (
    ALL_OF,
    ANY_OF,
    And,
    AtomFormula,
    Constraint,
    Domain,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Metric,
    Not,
    Or,
    Problem,
)
from safegen_ros.pddl.reader import read_domain
from safegen_ros.pddl.sexpr import MAX_TEXT
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.kit import DomainKit
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.formats.json_format import from_json
from safegen_ros.tasks.pddl3.formats.json_writer import to_json

EVERY = pytest.mark.parametrize('name', FORMATS)


def _equal(name: str, problem: Problem) -> bool:
    form = FORMATS[name]
    text = form.write(problem)
    again = form.read(text, problem.domain, 'x')
    assert form.domain_name(text, 'x') == problem.domain.name
    # Comparing problems does not look at the order of objects.
    return again == problem and sorted(again.objects) == sorted(problem.objects)


@EVERY
@strategies.examples(80)
@given(strategies.SEEDS)
def test_any_problem_is_read_back_unchanged(name: str, seed: int) -> None:
    problem = strategies.problem(random.Random(seed))
    assert _equal(name, problem), FORMATS[name].write(problem)


@EVERY
@pytest.mark.parametrize('kit', kits().values(), ids=list(kits()))
def test_every_family_is_read_back_unchanged(name: str, kit: DomainKit) -> None:
    for family in kit.families:
        for seed in range(3):
            problem = kit.problem(seed, family=family).problem
            assert _equal(name, problem), FORMATS[name].write(problem)


def _deep(depth: int, domain: Domain) -> Problem:
    body: Formula = AtomFormula('clear', ('?x0',))
    for level in range(depth):
        body = [
            Not(body),
            And((body, body)) if level < 8 else And((body,)),
            Or((body,)),
            Forall(((f'?y{level}', 'object'),), body),
        ][level % 4]
    body = Exists((('?x0', 'object'),), body)
    constraint = Constraint('always', (body,))
    return Problem('deep', domain, {'a': 'object'}, frozenset(), And(()), (constraint,))


@EVERY
def test_deep_formulas_are_read_back(name: str) -> None:
    assert _equal(name, _deep(90, strategies.BLOCKSWORLD))


WORDS = (
    'is are and or not the a if then for every some of type nothing at all any both there be true '
    'before after time times problem domain goal rules start end when whenever within step steps '
    'holds does hold same as define object objects init always sometime imply exists forall either '
    'pred args name formula variables x y b1 1 42 007 a-b a--b _ __x 9to5 X-1'
).lower().split()  # fmt: skip
"""Legal names that are words or marks of one format or another."""


HEADS = {'and', 'or', 'not', 'imply', 'exists', 'forall', 'when'}
"""Those of them that PDDL does not take as names of predicates."""


def _odd_kind(rng: random.Random, types: dict[str, str], joint: str) -> str:
    if len(types) > 1 and rng.random() < 0.2:
        return joint.join(sorted(rng.sample(list(types), rng.randint(2, min(3, len(types))))))
    return rng.choice(list(types) or ['object'])


def _odd(rng: random.Random) -> Problem:
    """A problem whose predicates, types, constants and objects are odd words, often the same."""
    pool = rng.sample(sorted(set(WORDS) - {'object', 'either'}), 20)
    kinds = rng.sample(pool, rng.randint(1, 4)) if rng.random() < 0.7 else []
    types = {kind: rng.choice([*kinds[:place], 'object']) for place, kind in enumerate(kinds)}
    names = rng.sample(pool, rng.randint(1, 8))
    constants = {name: _odd_kind(rng, types, ALL_OF) for name in names[: rng.randint(0, 2)]}
    objects = {
        **constants,
        **{n: _odd_kind(rng, types, ALL_OF) for n in names if n not in constants},
    }
    heads = rng.sample([word for word in pool if word not in HEADS], 5)
    predicates = {
        predicate: tuple(_odd_kind(rng, types, ANY_OF) for _ in range(arity))
        for predicate, arity in zip(heads, (0, 1, 2, 4, rng.randint(3, 7)), strict=True)
    }
    domain = Domain(rng.choice(pool), types, constants, predicates, {})
    init = frozenset(strategies.ground_atom(rng, domain, objects) for _ in range(4))
    goal = _with_odd_variables(rng, strategies.formula(rng, domain, objects, 3))
    constraints = [strategies.constraint(rng, domain, objects) for _ in range(rng.randint(0, 4))]
    odd = tuple(
        replace(c, arguments=tuple(_with_odd_variables(rng, f) for f in c.arguments))
        for c in dict.fromkeys(constraints)
    )
    return Problem(rng.choice(pool), domain, objects, init, goal, tuple(dict.fromkeys(odd)))


def _with_odd_variables(rng: random.Random, formula: Formula) -> Formula:
    """The formula with odd words for its variables x, y and z, the same ones everywhere."""
    words = iter(rng.sample(WORDS, 3))
    new = {f'?{old}': f'?{word}' for old, word in zip('xyz', words, strict=True)}

    def renamed(part: Formula) -> Formula:
        if isinstance(part, (Forall, Exists)):
            variables = tuple((new[name], kind) for name, kind in part.variables)
            return replace(part, variables=variables, body=renamed(part.body))
        if isinstance(part, (And, Or)):
            return replace(part, parts=tuple(map(renamed, part.parts)))
        if isinstance(part, Imply):
            return Imply(renamed(part.premise), renamed(part.conclusion))
        if isinstance(part, Not):
            return Not(renamed(part.body))
        if isinstance(part, Equals):
            return Equals(new.get(part.left, part.left), new.get(part.right, part.right))
        return replace(part, terms=tuple(new.get(term, term) for term in part.terms))

    return renamed(formula)


@EVERY
@strategies.examples(120)
@given(strategies.SEEDS)
def test_odd_names_are_read_back(name: str, seed: int) -> None:
    problem = _odd(random.Random(seed))
    assert _equal(name, problem), FORMATS[name].write(problem)


def test_odd_problems_have_everything_in_them() -> None:
    """Otherwise the test above would show little."""
    problems = [_odd(random.Random(seed)) for seed in range(300)]
    assert {c.operator for p in problems for c in p.constraints} == set(strategies.OPERATORS)
    texts = ' '.join(FORMATS['pddl'].write(p) for p in problems)
    for word in ('(and', '(or', '(not', '(imply', '(forall', '(exists', '(either', '(= '):
        assert word in texts
    assert any({*p.objects} & {*p.domain.predicates} & {*p.domain.types} for p in problems)
    assert any(len(atom) > 6 for p in problems for atom in p.init)
    assert any(p.domain.constants for p in problems)
    assert any(not p.domain.types for p in problems)


def _mutated(rng: random.Random, text: str) -> str:
    pieces = re.findall(r'\w+|\s+|.', text)
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(pieces))
        kind = rng.randrange(5)
        if kind == 0:
            pieces[place] = ''
        elif kind == 1:
            pieces.insert(place, rng.choice(pieces))
        elif kind == 2:
            pieces[place] = rng.choice(['', '"', '(', ')', '{', ']', '?', '\\', '-', '\u2028', '9'])
        elif kind == 3:
            other = rng.randrange(len(pieces))
            pieces[place], pieces[other] = pieces[other], pieces[place]
        else:
            pieces = pieces[: place + 1]
    return ''.join(pieces)


@EVERY
@strategies.examples(120)
@given(strategies.SEEDS)
def test_a_spoilt_text_is_refused_at_a_place_in_it_or_says_something_else(
    name: str, seed: int
) -> None:
    rng = random.Random(seed)
    problem = strategies.problem(rng)
    text = _mutated(rng, FORMATS[name].write(problem))
    try:
        again = FORMATS[name].read(text, problem.domain, 'spoilt')
    except PddlError as error:
        lines = text.split('\n')
        for each in error.errors:
            assert each.source == 'spoilt'
            assert 1 <= each.line <= len(lines)
            assert 1 <= each.column <= len(lines[each.line - 1]) + 1
            assert '<words>' not in each.message
    else:
        assert _equal(name, again)


@EVERY
def test_an_error_in_a_name_stands_where_the_name_does(name: str) -> None:
    problem = kits()['grippers'].problem(1, family='delivery-order').problem
    text = FORMATS[name].write(problem)
    before, after = text.rsplit('ball', 1)
    with pytest.raises(PddlError, match='declared') as caught:
        FORMATS[name].read(f'{before}boll{after}', problem.domain, 'p')
    spoilt = f'{before}boll{after}'.split('\n')[caught.value.line - 1]
    assert spoilt[caught.value.column - 1 :].lstrip('"').startswith('boll')


@EVERY
def test_constraints_know_where_they_were_written(name: str) -> None:
    problem = kits()['spanner'].problem(1, family='tightening-order').problem
    text = FORMATS[name].write(problem)
    again = FORMATS[name].read(text, problem.domain, 'p.txt')
    lines = [int(constraint.place.split(':')[1]) for constraint in again.constraints]
    assert all(constraint.place.startswith('p.txt:') for constraint in again.constraints)
    assert lines == sorted(set(lines))
    assert all(re.search('ight|shed', text.split('\n')[line - 1]) for line in lines)


@EVERY
def test_another_domain_is_refused(name: str) -> None:
    problem = kits()['spanner'].problem(1).problem
    text = FORMATS[name].write(problem)
    with pytest.raises(PddlError, match="for domain 'spanner', not 'blocksworld'") as caught:
        FORMATS[name].read(text, strategies.BLOCKSWORLD, 'p')
    assert caught.value.code is ErrorCode.UNKNOWN_DOMAIN


@EVERY
@pytest.mark.parametrize('text', ['', ' \n', 'x' * (MAX_TEXT + 1), '\x00', '(((', '{"a"', '\ud800'])
def test_what_is_no_text_of_a_format_is_refused(name: str, text: str) -> None:
    with pytest.raises(PddlError):
        FORMATS[name].read(text, strategies.BLOCKSWORLD, 'p')
    with pytest.raises(PddlError):
        FORMATS[name].domain_name(text, 'p')


@pytest.mark.parametrize(
    ('more', 'said'),
    [
        (':durative-action a :parameters () :duration (= ?duration 1)', 'take time'),
        (':action a :parameters () :precondition (> (n) 1)', 'does not know numbers'),
        (':constraints (preference w (sometime (p)))', 'no words for the preferences'),
    ],
)
def test_what_english_cannot_say_is_refused_by_name(more: str, said: str) -> None:
    domain = read_domain(f'(define (domain d) (:predicates (p)) (:functions (n)) ({more}))')
    goal = '(preference w (p))' if 'preference' in more else '(p)'
    text = f'(define (problem x) (:domain d) (:init (= (n) 2)) (:goal {goal}))'
    problem = FORMATS['pddl'].read(text, domain, 'x')
    with pytest.raises(SafegenError, match=said):
        FORMATS['english'].write(problem)
    assert _equal('json', problem)


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
