# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Problems in English read like English, and other English is refused with what was expected."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import strategies

from safegen_ros.errors import PddlError
from safegen_ros.language import vocabulary
from safegen_ros.language.english import to_english
from safegen_ros.language.english_reader import from_english
from safegen_ros.language.lexicon import Phrasing, Vocabulary, Wording, lexicon
from safegen_ros.language.placed import Placed, read_json, read_yaml
from safegen_ros.pddl.model import And, AtomFormula, Constraint, Domain, Forall, Formula, Not, Or
from safegen_ros.pddl.reader import read_domain
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.task import load_task

EXAMPLE = Path(__file__).with_name('tower_order.txt').read_text(encoding='utf-8')


def test_a_problem_of_blocksworld() -> None:
    problem = from_english(EXAMPLE, strategies.BLOCKSWORLD)
    assert to_english(problem) == EXAMPLE
    assert problem.constraints[0].operator == 'sometime-before'


def test_line_breaks_blanks_and_capitals_do_not_matter() -> None:
    text = re.sub(r'\s+', '\n  ', EXAMPLE.replace('block b', 'Block b'))
    problem = from_english(text, strategies.BLOCKSWORLD)
    assert problem == from_english(EXAMPLE, strategies.BLOCKSWORLD)


def _edited(rng: random.Random, text: str) -> str:
    """A text after edits that a person or an editor makes."""
    lines = []
    bullet = rng.choice('-*\u2022\u2013')
    for line in text.splitlines():
        if line.startswith('- '):
            item = line[2:]
            if rng.random() < 0.5:
                item = item[0].upper() + item[1:]
            line = (
                f'{bullet} {item}' if line.endswith('.') else f'{bullet} {item}{rng.choice(" .")}'
            )
        if line.endswith(('.', ':')) and rng.random() < 0.5:
            line = line[:-1]
        if rng.random() < 0.3:
            words = line.split(' ')
            place = rng.randrange(1, len(words)) if len(words) > 2 else 0
            line = ' '.join(words[:place]) + '\n    ' + ' '.join(words[place:])
        lines += [line, *[' '] * rng.choice([0, 0, 1])]
    return '\n'.join(lines)


@strategies.examples(80)
@given(strategies.SEEDS)
def test_small_edits_do_not_matter(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.problem(rng) if seed % 2 else strategies.generated(rng)
    text = _edited(rng, to_english(problem))
    assert from_english(text, problem.domain) == problem, text


def test_a_list_of_names_may_end_with_and() -> None:
    for names in ('b4 and b5.', 'b4, and b5.'):
        text = EXAMPLE.replace('b4, b5.', names)
        assert text != EXAMPLE
        assert from_english(text, strategies.BLOCKSWORLD) == from_english(
            EXAMPLE, strategies.BLOCKSWORLD
        )


RULES = {
    ('blocksworld', 'apart-on-the-table'):
        r'At all times, it is not true that both block b\d is on the table and block b\d is on the '
        r'table\.',
    ('ferry', 'moored-at-end'): r'At the end, the ferry is at l\d\.',
    ('ferry', 'shown-on-board'):
        r'At some time, the ferry is at l\d and car c\d is on the ferry\.',
    ('ferry', 'quarantine'):
        r'Whenever the ferry is at l\d, then or within \d steps the ferry is at l\d\.',
    ('grippers', 'restricted-gripper'):
        r'At all times, for every object O, robot1 does not carry O with [lr]gripper1\.',
    ('grippers', 'narrow-room'):
        r'At all times, for every robot R and robot S, if R is in room\d and S is in room\d, '
        r'then R is the same as S\.',
    ('grippers', 'worn-gripper'):
        r'There is at most one period during which for some object O, robot1 carries O with '
        r'[lr]gripper1\.',
    ('spanner', 'taken-at-once'):
        r'Whenever bob is at location\d, then or within 1 step bob carries spanner\d\.',
    ('spanner', 'loose-at-first'): r'From step \d until before step \d+, nut\d is not tight\.',
    ('spanner', 'tight-later'): r'From step \d+ on, nut\d is tight\.',
    ('spanner', 'urgent-nut'): r'Within \d+ steps, nut\d is tight\.',
    ('blocksworld', 'wiped-after'):
        r'Whenever the arm holds block b\d, then or at a later time the arm holds block b\d\.',
}  # fmt: skip


@pytest.mark.parametrize(('name', 'family'), RULES)
def test_rules_read_like_english(name: str, family: str) -> None:
    text = to_english(kits()[name].problem(3, family=family).problem)
    for rule in text.split('The rules:\n')[1].splitlines():
        assert re.fullmatch(f'- {RULES[name, family]}', rule), rule


def test_what_every_problem_of_ferry_says_is_told_in_a_sentence() -> None:
    problem = kits()['ferry'].problem(1, {'locations': 3, 'cars': 1}, 'none').problem
    text = to_english(problem)
    assert 'There is 1 car: c0.\nThere are 3 locations: l0, l1, l2.\n' in text
    assert 'All locations are different places.' in text
    assert 'another place' not in text
    missing = frozenset(atom for atom in problem.init if atom != ('not-eq', 'l0', 'l1'))
    lopsided = load_task(
        kits()['ferry']
        .problem(1, {'locations': 3, 'cars': 1}, 'none')
        .text.replace('(not-eq l0 l1)', '')
    ).problem
    assert lopsided.init == missing
    assert '- l1 is another place than l0\n' in to_english(lopsided)
    assert from_english(to_english(lopsided), lopsided.domain) == lopsided


def test_a_domain_without_words_of_its_own_is_told_by_its_predicates() -> None:
    domain = read_domain(
        '(define (domain d) (:types t) (:predicates (near ?x ?y - t) (done)) '
        '(:action a :effect (done)))'
    )
    text = """Problem p of the domain d.
There are 2 of type t: x, y.

At the start:
- near holds for x, y
Nothing else is true at the start.

The goal is that done does not hold or near holds for y, x.

The rules:
- At all times, for every t A and t B, if near holds for A, B, then A is not the same as B.
"""
    problem = from_english(text, domain)
    assert to_english(problem) == text
    assert problem.init == {('near', 'x', 'y')}


def test_words_of_a_domain_are_used_for_no_other_of_that_name() -> None:
    problem = load_task(
        '(define (problem p) (:domain blocksworld) (:objects x) (:init (on x)) (:goal (on x)))',
        '(define (domain blocksworld) (:predicates (on ?x)) '
        '(:action a :parameters (?x) :effect (on ?x)))',
    ).problem
    text = to_english(problem)
    assert 'There is 1 of type object: x.' in text
    assert '- "on" holds for x' in text
    assert from_english(text, problem.domain) == problem


def _with_rule(rule: str) -> str:
    return EXAMPLE.split('The rules:')[0] + f'The rules:\n- At all times, {rule}.\n'


TABLE = 'block b1 is on the table', 'block b2 is on the table', 'block b3 is on the table'


@pytest.mark.parametrize(
    ('rule', 'column'),
    [
        ('it is not true that {0} and {1}', 62),
        ('it is not true that {0} or {1}', 62),
        ('{2} and it is not true that {0} or {1}', 91),
        ('it is not true that block b1 is not on the table or {1}', 66),
        ('it is not true that it is not true that {0} and {1}', 82),
        ('it is not true that b1 is the same as b2 or {1}', 58),
        ('it is not true that both {0} and {1} or {2}', 96),
        ('it is not true that both {0} and {1} and {2}', 96),
        ('it is not true that both it is not true that {0} and {1}', 87),
        ('it is not true that it is not true that ({0} or {1}) and {2}', 112),
    ],
)
def test_a_negation_without_a_clear_end_is_refused(rule: str, column: int) -> None:
    with pytest.raises(PddlError) as caught:
        from_english(_with_rule(rule.format(*TABLE)), strategies.BLOCKSWORLD, 'p')
    assert re.search(
        rf"^p:19:{column}: unclear whether 'it is not true that.*' reaches beyond '(and|or)': put "
        "what is not true in parentheses, or write 'it is not true that both ",
        str(caught.value),
    ), str(caught.value)


A, B, C = (AtomFormula('on-table', (name,)) for name in ('b1', 'b2', 'b3'))


@pytest.mark.parametrize(
    ('rule', 'formula'),
    [
        ('it is not true that both {0} and {1}', Not(And((A, B)))),
        ('it is not true that ({0} or {1})', Not(Or((A, B)))),
        ('(it is not true that ({0} or {1})) and {2}', And((Not(Or((A, B))), C))),
        ('{2} or (it is not true that both {0} and {1})', Or((C, Not(And((A, B)))))),
        ('(it is not true that both {0} and {1}) and {2} or {0}',
         Or((And((Not(And((A, B))), C)), A))),
        ('it is not true that both (it is not true that ({0} or {1})) and {2}',
         Not(And((Not(Or((A, B))), C)))),
    ],
)  # fmt: skip
def test_a_negation_with_a_clear_end_is_written_and_read(rule: str, formula: Formula) -> None:
    text = _with_rule(rule.format(*TABLE))
    problem = from_english(text, strategies.BLOCKSWORLD)
    assert problem.constraints == (Constraint('always', (formula,)),)
    assert to_english(problem) == text


def _nested(rng: random.Random, depth: int) -> Formula:
    """A formula of many negations, `and` and `or`, with a block named as a variable may be."""
    kind = rng.randrange(5) if depth else 0
    if kind == 0:
        return AtomFormula('clear', (rng.choice(('?b1', 'b1', 'b2')),))
    if kind < 3:
        return Not(_nested(rng, depth - 1))
    parts = tuple(_nested(rng, depth - 1) for _ in range(rng.choice((1, 2, 2, 3))))
    return And(parts) if kind == 3 else Or(parts)


@pytest.mark.slow
@strategies.examples(150)
@given(strategies.SEEDS)
def test_nested_negations_are_read_back_unchanged(seed: int) -> None:
    formula = Forall((('?b1', 'object'),), _nested(random.Random(seed), 5))
    example = from_english(EXAMPLE, strategies.BLOCKSWORLD)
    problem = replace(example, constraints=(Constraint('always', (formula,)),))
    text = to_english(problem)
    assert from_english(text, problem.domain) == problem, text


def test_parentheses_close_a_negation() -> None:
    rule = 'it is not true that ({} or {}) and {}'.format(*TABLE)
    problem = from_english(_with_rule(rule), strategies.BLOCKSWORLD)
    assert problem.constraints[0].arguments == (And((Not(Or((A, B))), C)),)


@pytest.mark.parametrize(
    'rule',
    ['for every block B1, block b1 is clear', 'for every block ?b1, block B1 is clear'],
)
def test_a_variable_that_may_be_an_object_is_refused(rule: str) -> None:
    with pytest.raises(
        PddlError, match=r"B1 may be a variable or the object b1: write '\?b1' for the variable"
    ):
        from_english(_with_rule(rule), strategies.BLOCKSWORLD)


def test_a_variable_with_the_name_of_an_object_is_written_with_its_mark() -> None:
    text = _with_rule('for every block ?b1, block ?b1 is clear or block b1 is clear')
    problem = from_english(text, strategies.BLOCKSWORLD)
    body = Or((AtomFormula('clear', ('?b1',)), AtomFormula('clear', ('b1',))))
    (formula,) = problem.constraints[0].arguments
    assert isinstance(formula, Forall)
    assert ([name for name, _ in formula.variables], formula.body) == (['?b1'], body)
    assert to_english(problem) == text


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        ('Problem tower', 'This is tower',
         r"^p:1:1: found 'This' where 'Problem' must stand: begin with 'Problem NAME of the dom"),
        ('b5.\n', 'b5, b6.\n', '5 announced, 6 named: make the number that of the names'),
        ('5 blocks', '5 bricks', "found 'bricks' where a kind of object must stand: use one of"),
        ('5 blocks', 'five blocks', 'where a number must stand: say how many there are'),
        ('At the start:', 'Initially:', "found 'Initially' where 'At' must stand: write 'At"),
        ('the arm is empty', 'the arm is full', r"^p:5:14: found 'full' where a fact .*'the arm"),
        ('block b2 is clear', 'b2 is clear', "found 'b2' where a fact must stand: write 'block"),
        ('Nothing else', 'Nothing more', "found 'more' where 'else' must stand"),
        ('goal:\n- block b1 is on block b4', 'goal: none', "where a list, whose items begin"),
        ('on block b4\n\nThe r', 'on block b9\n\nThe r', r"^p:16:24: object 'b9' is not declared"),
        ('Before the', 'Before a', "found 'a' where 'the' must stand: a rule is 'Before the first"),
        ('Before the', 'Never the', "found 'Never' where 'After'|'At' or 'Before' or 'From'"),
        ('there is a time', 'there was a time', "found 'was' where 'is' must stand"),
        ('b3 is on the table.', 'b3 is on the table Hurry', r"found 'Hurry' where '\.' must"),
        ('- the arm is empty', '1. the arm is empty', "found '1' where a list, whose items"),
        ('- block b2 is clear', 'block b2 is clear', "found 'block' where 'Nothing' must stand"),
        ('b1, b2', 'b1, , b2', "found ',' where an object must stand: write a name"),
        ('b1, b2', 'b1, the, b2', "found 'the' where an object must stand: write a name, in doub"),
        ('b3 is on the table.', 'b3 is on the table. Be quick!', "found '!': use plain words only"),
        ('b3 is on the table.', 'b3 is on the table. Hurry.', "found 'Hurry' where the end must"),
        ('The rules:', 'By the way:', "found 'By' where 'The' must stand: write 'The rules:'"),
        ('block b2 is on the table, there', 'for every X, block X is clear, there', 'where a var'),
        ('block b2 is on the table, there', 'for every block x, block x is clear, there',
         "found 'x' where a variable must stand: write it with capitals"),
        ('block b2 is on the table, there', f'{"(" * 320} block b2 is clear, there',
         'too deeply nested clauses: flatten them'),
        ('block b2 is on the table, there', f'{"it is not true that " * 320} block b2 is clear, th',
         'too deeply nested clauses: flatten them'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_place(old: str, new: str, message: str) -> None:
    assert old in EXAMPLE
    with pytest.raises(PddlError) as caught:
        from_english(EXAMPLE.replace(old, new, 1), strategies.BLOCKSWORLD, 'p')
    assert re.search(message, str(caught.value)), str(caught.value)


DOMAIN = '(define (domain d) (:predicates (stored ?x ?y)) (:action a :effect ()))'


@pytest.fixture
def domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Domain:
    found = Vocabulary(Wording({}, {}), ('d',), tmp_path / 'lexicon.yaml')
    monkeypatch.setattr('safegen_ros.language.lexicon._sources', [lambda domain: found])
    return read_domain(DOMAIN)


def test_a_slash_parts_words_of_which_any_is_said(domain: Domain, tmp_path: Path) -> None:
    text = "ways:\n  stored: ['{0} =be/lie in {1}', {goal: 1, say: ['put/place {0}']}]\n"
    (tmp_path / 'lexicon.yaml').write_text(text)
    assert lexicon(domain).ways == (
        Phrasing('stored', '{0} =be in {1}'),
        Phrasing('stored', '{0} =lie in {1}'),
        Phrasing('stored', 'put {0}', goal=1),
        Phrasing('stored', 'place {0}', goal=1),
    )


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('ways: {stord: [x]}', r":1:8: 'stord' is not a predicate of the domain"),
        ('wayz: {}', "'wayz' is not a key of a lexicon: did you mean 'ways'"),
        ('ways: {stored: [{say: [x], agent: first}]}', 'agent must be a whole number'),
        ('ways: {stored: x}', 'stored must be a list'),
    ],
)
def test_a_wrong_lexicon_is_refused(
    domain: Domain, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / 'lexicon.yaml').write_text(text)
    with pytest.raises(PddlError, match=message):
        lexicon(domain)


def test_a_domain_folder_of_an_earlier_release_finds_its_words() -> None:
    assert vocabulary.Wording is Wording


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from(['yes', 'no', '1e3', '~', '0x10', '1:30', '2020-01-01', '\x7f\x85'])
)  # fmt: skip
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


def plain(value: Placed) -> Any:
    if isinstance(value.value, dict):
        return {name: plain(inner) for name, inner in value.value.items()}
    if isinstance(value.value, tuple):
        return [plain(inner) for inner in value.value]
    return value.value


def same(one: Any, other: Any) -> bool:
    return json.dumps(one) == json.dumps(other)  # tells 1, 1.0 and True apart


@given(VALUES, st.sampled_from([None, 1, '\t']), st.booleans())
def test_json_means_what_json_loads_reads(value: Any, indent: Any, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert same(plain(read_json(text, 'x')), json.loads(text))


@given(st.text(alphabet='[]{},:"\\ \n\t01.eE+-anultrfsi\u00e9', max_size=12))
def test_json_is_refused_where_json_loads_refuses(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(PddlError):
            read_json(text, 'x')
        return
    if not ('NaN' in text or 'Infinity' in text or _twice(text)):
        assert same(plain(read_json(text, 'x')), expected)


def _twice(text: str) -> bool:
    found: list[bool] = []

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found.append(len(dict(pairs)) < len(pairs))
        return dict(pairs)

    json.loads(text, object_pairs_hook=members)
    return any(found)


def test_a_value_of_json_knows_its_place_and_that_of_its_name() -> None:
    top = read_json('{\n  "a": [1,\n 2]}', 'x.json')
    assert isinstance(top.value, dict)
    inner = top.value['a']
    assert (inner.place, inner.key) == ((2, 8), (2, 3))
    assert [each.place for each in inner.items('a')] == [(2, 9), (3, 2)]


@pytest.mark.parametrize(
    ('text', 'place', 'message'),
    [
        ('a: 1\na: 2', (2, 1), "'a' stands here twice"),
        ('a: &x 1\nb: *x', (2, 4), 'an alias'),
        ('1: 2', (1, 1), 'a key that is not a text'),
        ('yes: 2', (1, 1), 'a key that is not a text'),
        ('a: 2020-13-45', (1, 4), 'a value that cannot be read'),
        ('a: .inf', (1, 4), 'a number that is too large'),
        ('a: !!python/name:os.system', (1, 4), 'could not determine'),
        ('a: [1', (1, 6), 'expected'),
        ('', (1, 1), 'the file is empty'),
        ('[' * 20, (1, 13), 'too deeply nested'),
    ],
)
def test_yaml_without_its_traps(text: str, place: tuple[int, int], message: str) -> None:
    with pytest.raises(PddlError, match=message) as caught:
        read_yaml(text, 'x.yaml')
    assert (caught.value.line, caught.value.column) == place


@pytest.mark.parametrize('text', ['a: "b\\e[2J"', '"a\\u202e": b', 'a: ["b\\0"]', 'a: "\\ud800"'])
def test_yaml_hides_no_character_behind_an_escape(text: str) -> None:
    with pytest.raises(PddlError, match=r'x\.yaml:1:\d+: the character U\+'):
        read_yaml(text, 'x.yaml')
