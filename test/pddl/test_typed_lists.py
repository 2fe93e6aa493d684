# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`either`, several parents, several types of one object: as VAL has them, by experiment."""

from __future__ import annotations

import pytest

from safegen_ros.errors import PddlError
from safegen_ros.pddl.model import Domain, Problem
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import domain_text, problem_text

DOMAIN = read_domain(
    """(define (domain d) (:types a b - top small - a both - (either b a) top other)
      (:constants k - (either b other))
      (:predicates (pa ?x - a) (pb ?x - b) (pab ?x - (either b a)) (any ?x))
      (:action go :parameters (?x - (either a b a) ?y - (either other))
        :effect (and (pab ?x) (any ?y))))"""
)


def _problem(objects: str, goal: str = '()', domain: Domain = DOMAIN) -> Problem:
    return read_problem(
        f'(define (problem p) (:domain d) (:objects {objects}) (:init) (:goal {goal}))', domain
    )


def test_either_of_a_place_is_one_of_its_types_and_of_a_thing_all_of_them() -> None:
    assert DOMAIN.predicates['pab'] == ('a|b',)
    assert DOMAIN.actions['go'].parameters == (('?x', 'a|b'), ('?y', 'other'))
    assert DOMAIN.types['both'] == 'a&b'
    assert DOMAIN.constants == {'k': 'b&other'}
    assert read_domain(domain_text(DOMAIN)) == DOMAIN


@pytest.mark.parametrize(
    ('kind', 'wanted', 'fits'),
    [
        ('a', 'a|b', True), ('small', 'a|b', True), ('other', 'a|b', False),
        ('a|b', 'a', False), ('a|b', 'a|b', True), ('a|b', 'top', True), ('a|small', 'a', True),
        ('a|b', 'object', True), ('a|b', 'a|b|other', True), ('a|other', 'a|b', False),
        ('both', 'a', True), ('both', 'b', True), ('both', 'top', True), ('a', 'both', False),
        ('b&other', 'b', True), ('b&other', 'other', True), ('b&other', 'a', False),
        ('b&other', 'a|other', True), ('both|small', 'a', True), ('object', 'a', False),
    ],
)  # fmt: skip
def test_which_type_may_stand_for_which(kind: str, wanted: str, fits: bool) -> None:
    assert DOMAIN.is_subtype(kind, wanted) is fits


def test_what_a_variable_ranges_over() -> None:
    problem = _problem('x - a y - b z - small w - both v - (either a other) o - other')
    objects = problem.objects_by_type()
    assert objects['a'] == ('x', 'z', 'w', 'v')
    assert objects['b'] == ('k', 'y', 'w')
    assert objects['a|b'] == ('k', 'x', 'y', 'z', 'w', 'v')
    assert objects['other|small'] == ('k', 'z', 'v', 'o')
    assert objects['object'] == tuple(problem.objects)
    with pytest.raises(KeyError):
        objects['a|lorry']
    assert read_problem(problem_text(problem), DOMAIN) == problem


@pytest.mark.parametrize(
    ('goal', 'refused'),
    [
        ('(and (pa w) (pb w) (pab w))', ''),
        ('(and (pa v) (pab v))', ''),
        ('(pb v)', "'v' is of type a&other, but 'pb' takes b here"),
        ('(forall (?x - (either a b)) (pab ?x))', ''),
        ('(forall (?x - (either a b)) (pa ?x))', "'?x' is of type a|b, but 'pa' takes a here"),
        ('(exists (?x - (either small both)) (pa ?x))', ''),
        ('(exists (?x - (either a lorry)) (any ?x))', "type 'lorry' is not declared"),
        ('(exists (?x - (either)) (any ?x))', "'either' names no type"),
        ('(exists (?x - (either (either a))) (any ?x))', 'expected a type, found a list'),
    ],
)
def test_either_in_formulas(goal: str, refused: str) -> None:
    objects = 'w - both v - (either a other)'
    if refused:
        with pytest.raises(PddlError) as caught:
            _problem(objects, goal)
        assert refused in caught.value.what
    else:
        _problem(objects, goal)


@pytest.mark.parametrize(
    ('goal', 'cure'),
    [
        ('(exists (?x) (pab ?x))', 'declare ?x - (either a b)'),
        ('(exists (?x) (pa ?x))', 'declare ?x - a'),
        ('(exists (?x - other) (pa ?x))', 'change one'),
    ],
)
def test_a_variable_of_a_wider_type_is_told_the_type_to_declare(goal: str, cure: str) -> None:
    with pytest.raises(PddlError) as caught:
        _problem('w - a', goal)
    assert caught.value.cure == cure


def test_a_type_listed_twice_has_both_parents() -> None:
    # The Storage domain of the fifth planning competition is written so.
    domain = read_domain(
        """(define (domain d) (:types hoist surface place area - object depot - place
          storearea - area area crate - surface) (:predicates (on ?x - surface)))"""
    )
    assert domain.types['area'] == 'surface'  # `object` is above all of them anyhow
    assert domain.is_subtype('storearea', 'surface')
    twice = read_domain('(define (domain d) (:types top - object a b - top c - a c - b c - top))')
    assert twice.types['c'] == 'a&b&top'
    assert read_domain(domain_text(twice)) == twice


def test_an_object_listed_twice_has_both_types() -> None:
    # The full Miconic domain of the second planning competition has such passengers.
    problem = _problem('x y - a x - b')
    assert problem.objects == {'k': 'b&other', 'x': 'a&b', 'y': 'a'}
    assert problem.objects_by_type()['b'] == ('k', 'x')
    with pytest.raises(PddlError, match="object 'x' is declared twice"):
        _problem('x y - a x - a')


def test_a_type_before_itself_is_above_the_others() -> None:
    # As VAL and Fast Downward read it; models write it often.
    domain = read_domain('(define (domain d) (:types block tool gripper - tool))')
    assert domain.types == {'block': 'tool', 'tool': 'object', 'gripper': 'tool'}
    assert read_domain('(define (domain d) (:types a - a))').types == {'a': 'object'}


def test_a_predicate_may_be_declared_for_several_types() -> None:
    domain = read_domain(
        '(define (domain d) (:types a b) (:predicates (at ?x - a ?y - b) (at ?x - b ?y - b)'
        ' (any ?x) (any ?x - a) (q ?x - (either b a)) (q ?x - a)))'
    )
    assert domain.predicates == {'at': ('a|b', 'b'), 'any': ('object',), 'q': ('a|b',)}
    apart = '(define (domain d) (:types a object) (:predicates (p ?x - a) (p ?x - object)))'
    assert read_domain(apart).predicates == {'p': ('a|object',)}


def test_a_group_of_objects_may_be_empty() -> None:
    assert _problem('x y - a - b').objects == {'k': 'b&other', 'x': 'a', 'y': 'a'}


@pytest.mark.parametrize('names', ['x - a X - b', 'x X - a', 'X - a x - b'])
def test_names_that_differ_in_capitals_are_refused(names: str) -> None:
    with pytest.raises(PddlError, match='are one name, as PDDL has no capitals'):
        _problem(names)
    with pytest.raises(PddlError, match='are one name, as PDDL has no capitals'):
        read_domain(f'(define (domain d) (:types a b {names.replace("-", "z -", 1)}))')


def test_what_stands_for_a_type_is_told() -> None:
    with pytest.raises(PddlError, match=r"'robot' is not a variable.*write \?r - robot"):
        read_domain('(define (domain d) (:types robot) (:predicates (p ?r robot)))')


@pytest.mark.parametrize(
    'types', ['a - b b - a', 'a - (either b c) b - a c', 'a - b b - c c - (either a d)']
)
def test_circles_are_refused(types: str) -> None:
    with pytest.raises(PddlError, match='is above itself'):
        read_domain(f'(define (domain d) (:types {types}))')


@pytest.mark.parametrize(('height', 'read'), [(99, True), (101, False)])
def test_towers_of_types_are_limited(height: int, read: bool) -> None:
    text = ' '.join(f't{i} - t{i + 1}' for i in range(height))
    if read:
        assert len(read_domain(f'(define (domain d) (:types {text}))').types) == height + 1
    else:
        with pytest.raises(PddlError, match='below more than'):
            read_domain(f'(define (domain d) (:types {text}))')


def test_object_as_a_type_beside_the_others_is_not_above_them() -> None:
    domain = read_domain(
        '(define (domain d) (:types room object) (:predicates (p ?x - (either room object))))'
    )
    problem = _problem('r - room o - object b - (either room object)', domain=domain)
    assert problem.objects['b'] == 'object&room'
    objects = problem.objects_by_type()
    assert (objects['room'], objects['object']) == (('r', 'b'), ('o', 'b'))
    assert objects['object|room'] == ('r', 'o', 'b')
