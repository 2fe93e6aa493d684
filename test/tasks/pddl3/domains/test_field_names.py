# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Domains and constraints are written as the field and the paper write them."""

from __future__ import annotations

import hashlib
import re

import pytest

from safegen_ros.pddl.model import Domain
from safegen_ros.tasks.pddl3.domains import builtin_domain, kits
from safegen_ros.tasks.pddl3.task import load_task

FOUR = [kits()[name] for name in ('blocksworld', 'ferry', 'grippers', 'spanner')]

PREDICATES = {
    'blocksworld': {'clear': 1, 'on-table': 1, 'arm-empty': 0, 'holding': 1, 'on': 2},
    'ferry': {
        'not-eq': 2, 'car': 1, 'location': 1, 'at-ferry': 1, 'at': 2, 'empty-ferry': 0, 'on': 1,
    },
    'gripper-strips': {'at-robby': 2, 'at': 2, 'free': 2, 'carry': 3},
    'spanner': {'at': 2, 'carrying': 2, 'useable': 1, 'link': 2, 'tightened': 1, 'loose': 1},
}  # fmt: skip

ACTIONS = {
    'blocksworld': {'pickup': 1, 'putdown': 1, 'stack': 2, 'unstack': 2},
    'ferry': {'sail': 2, 'board': 2, 'debark': 2},
    'gripper-strips': {'move': 3, 'pick': 4, 'drop': 4},
    'spanner': {'walk': 3, 'pickup_spanner': 3, 'tighten_nut': 4},
}


def test_predicates_and_actions_are_those_of_the_field() -> None:
    ours: dict[str, Domain] = {kit.names[0]: builtin_domain(kit.names[0]) for kit in FOUR}
    assert {
        name: {p: len(kinds) for p, kinds in domain.predicates.items()}
        for name, domain in ours.items()
    } == PREDICATES
    assert {
        name: {a.name: len(a.parameters) for a in domain.actions.values()}
        for name, domain in ours.items()
    } == ACTIONS
    assert {name: bool(domain.types) for name, domain in ours.items()} == {
        'blocksworld': False, 'ferry': False, 'gripper-strips': True, 'spanner': True,
    }  # fmt: skip


def test_a_problem_may_call_the_domain_by_each_of_its_names() -> None:
    for kit in FOUR:
        generated = kit.problem(1)
        for name in kit.names:
            text = generated.text.replace(f'(:domain {kit.names[0]})', f'(:domain {name})')
            problem = load_task(text).problem
            assert problem.domain.name == name
            assert problem.constraints == generated.problem.constraints


def test_a_room_is_no_object_in_grippers() -> None:
    problem = kits()['grippers'].problem(1, {'robots': 2, 'rooms': 3, 'objects': 4}, 'none').problem
    assert problem.objects_by_type()['object'] == ('ball1', 'ball2', 'ball3', 'ball4')
    assert ('free', 'robot2', 'lgripper2') in problem.init
    assert ('free', 'robot1', 'lgripper2') not in problem.init


def test_a_spanner_once_passed_is_lost() -> None:
    problem = kits()['spanner'].problem(1, family='none').problem
    links = {atom[1:] for atom in problem.init if atom[0] == 'link'}
    assert ('shed', 'location1') in links
    assert not links & {(end, start) for start, end in links}


FORMS = {
    ('blocksworld', 'table-order'): r'\(sometime-before \(on-table b\d\) \(on-table b\d\)\)',
    ('blocksworld', 'support-first'): r'\(sometime-before \(on b\d (b\d)\) \(on-table \1\)\)',
    ('ferry', 'stop-before-delivery'): r'\(sometime-before \(at c\d l\d\) \(at-ferry l\d\)\)',
    ('ferry', 'delivery-before-return'): r'\(sometime-before \(at-ferry l\d\) \(at c\d l\d\)\)',
    ('grippers', 'restricted-gripper'):
        r'\(always \(forall \(\?o - object\) \(not \(carry robot1 \?o [rl]gripper1\)\)\)\)',
    ('grippers', 'narrow-room'):
        r'\(always \(forall \(\?r \?s - robot\) \(imply \(and \(at-robby \?r (room\d)\) '
        r'\(at-robby \?s \1\)\) \(= \?r \?s\)\)\)\)',
    ('spanner', 'tightening-order'):
        r'\(always \(imply \(tightened nut\d\) \(tightened nut\d\)\)\)',
    ('spanner', 'foundation-first'):
        r'\(sometime-before \(tightened nut\d\) \(tightened nut\d\)\)',
}  # fmt: skip


@pytest.mark.parametrize(('name', 'family'), FORMS)
def test_constraints_of_the_paper_have_its_form(name: str, family: str) -> None:
    for seed in range(5):
        text = kits()[name].problem(seed, family=family).text
        lines = [line.strip() for line in text.split('(:constraints (and\n')[1].splitlines()[:-2]]
        once = '(forall (?m - man) (at-most-once (at ?m shed)))'
        assert (once in lines) == (family == 'tightening-order')
        assert all(line == once or re.fullmatch(FORMS[name, family], line) for line in lines), text


def test_problems_are_the_same_on_every_machine() -> None:
    texts = [kit.problem(11, family=family).text for kit in FOUR for family in kit.families]
    digest = hashlib.sha256(''.join(texts).encode()).hexdigest()
    assert digest[:16] == '775d7dd9f3b7dbcd', (
        'the generators have changed: every shipped split must be rebuilt'
    )
