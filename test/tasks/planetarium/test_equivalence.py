# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The checker against Definition 2 tried out on every small problem, and its bounds."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import permutations
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import planetarium_small as small
from support.strategies import disguised, examples

from safegen_ros.errors import SafegenError
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import Atom, Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.search.budget import Budget, SearchLimit
from safegen_ros.tasks.planetarium import generic
from safegen_ros.tasks.planetarium.domains import (
    RULES,
    planetarium_domain,
    planetarium_domain_text,
    rules_for,
)
from safegen_ros.tasks.planetarium.equivalence import Equivalence, compare
from safegen_ros.tasks.planetarium.explain import Explanation, explain
from safegen_ros.tasks.planetarium.generic import Specification, exactly_one, last_state, specify
from safegen_ros.tasks.planetarium.graphs import (
    Scenes,
    embeddings,
    isomorphism,
    isomorphisms,
    renamed,
    scene_graph,
)
from safegen_ros.tasks.planetarium.state_rules import GoalRules, StripsTask
from safegen_ros.verify.validator import verify

_BLOCKS = '(arm-empty) (on-table a) (on-table b) (on-table c) (clear a) (clear b) (clear c)'


def blocks(goal: str, init: str = _BLOCKS, rest: str = '', objects: str = 'a b c') -> Problem:
    return read_problem(
        f'(define (problem p) (:domain blocksworld) (:objects {objects}) (:init {init})'
        f' (:goal {goal}) {rest})',
        planetarium_domain('blocksworld'),
    )


@pytest.mark.parametrize('domain', small.DOMAINS)
@pytest.mark.parametrize('placeholder', [False, True], ids=['identity', 'placeholder'])
@examples(25)
@given(seed=st.integers(0, 2**32))
def test_the_verdict_is_that_of_definition_2(domain: str, placeholder: bool, seed: int) -> None:
    rng = random.Random(seed)
    one = small.small(rng, domain)
    other = small.varied(rng, one)
    found = compare(one, other, placeholder=placeholder)
    assert found.answer is not Equivalence.UNKNOWN
    assert found.equivalent == small.equivalent(one, other, placeholder)
    if found.objects is not None:
        assert renamed(one.init, found.objects) == other.init
    if found.equivalent and not placeholder:
        assert found.objects is not None
        states = small.goal_states(one)
        assert {renamed(s, found.objects) for s in states} == small.goal_states(other)


@pytest.mark.parametrize('domain', small.DOMAINS)
@examples(25)
@given(seed=st.integers(0, 2**32))
def test_names_and_order_do_not_matter(domain: str, seed: int) -> None:
    rng = random.Random(seed)
    one = small.larger(rng, domain)
    other = disguised(rng, one)
    for placeholder in (False, True):
        assert compare(one, other, placeholder=placeholder).equivalent
        assert compare(one, other, placeholder=placeholder, compat='planetarium').equivalent


def test_an_initial_state_that_differs_is_told_apart_from_a_goal_that_does() -> None:
    standing = '(arm-empty) (on-table a) (on b a) (clear b) (on-table c) (clear c)'
    init = compare(blocks('(on a b)'), blocks('(on a b)', standing))
    goal = compare(blocks('(on a b)'), blocks('(and (on a b) (on b c))'))
    assert (init.answer, init.objects) == (Equivalence.DIFFERENT, None)
    assert goal.answer is Equivalence.DIFFERENT
    assert goal.objects is not None


def test_numbers_of_objects_and_domains_are_compared_first() -> None:
    one = blocks('(on a b)')
    fewer = replace(one, objects={'a': 'object', 'b': 'object'})
    assert compare(one, fewer).reason == ('the numbers of objects differ: 3 and 2 of type object')
    gripper = small.gripper(random.Random(1), 1, 1, 1)
    assert compare(one, gripper).reason == 'the domains differ: blocksworld and gripper'


@pytest.mark.parametrize(
    ('one', 'other', 'equivalent'),
    [
        ('(or (on a b) (on b c))', '(or (on c b) (on b a))', True),
        ('(or (on a b) (on b c))', '(on a b)', False),
        ('(and (on b c) (not (on a b)))', '(and (on b c) (clear b))', True),
        ('(and (on b c) (not (on a b)))', '(and (on a c) (not (on a b)))', False),
        ('(and (on b c) (not (on a b)) (not (holding a)))', '(and (on b c) (on-table a))', True),
        ('(forall (?x) (on-table ?x))', '(and (on-table a) (on-table b) (on-table c))', True),
        ('(exists (?x) (on ?x a))', '(exists (?x) (on ?x b))', True),
        ('(exists (?x) (on ?x a))', '(not (clear a))', False),
    ],
)
def test_goals_of_every_kind_are_decided(one: str, other: str, equivalent: bool) -> None:
    assert compare(blocks(one), blocks(other)).equivalent == equivalent
    assert small.equivalent(blocks(one), blocks(other)) == equivalent


def test_no_time_means_unknown() -> None:
    found = compare(blocks('(or (on a b) (on b c))'), blocks('(on a b)'), time_limit_s=0.0)
    assert found.answer is Equivalence.UNKNOWN
    assert 'time limit' in found.reason


def test_a_rule_is_the_same_in_other_words() -> None:
    ways = [
        '(always (forall (?x) (not (on ?x a))))',
        '(always (not (exists (?y) (on ?y a))))',
        '(and (always (not (on a a))) (always (not (or (on b a) (on c a)))))',
    ]
    made = [blocks('(on a b)', rest=f'(:constraints {way})') for way in ways]
    weaker = blocks('(on a b)', rest='(:constraints (always (not (on b a))))')
    for other in made:
        assert compare(made[0], other, named=True).equivalent
        assert not compare(weaker, other, named=True).equivalent


def test_trajectory_constraints_must_be_the_same_under_one_bijection() -> None:
    one = blocks('(on a b)', rest='(:constraints (always (not (on c a))))')
    same = blocks('(on b c)', rest='(:constraints (always (not (on a b))))')
    other = blocks('(on b c)', rest='(:constraints (always (not (on b a))))')
    found = compare(one, same)
    assert found.equivalent
    assert found.objects == {'a': 'b', 'b': 'c', 'c': 'a'}
    assert compare(one, other).answer is Equivalence.UNKNOWN
    assert compare(one, blocks('(on b c)')).answer is Equivalence.UNKNOWN


def test_a_constant_stands_for_itself_only() -> None:
    domain = read_domain(
        '(define (domain d) (:constants home) (:predicates (at ?x))'
        ' (:action go :parameters (?x) :precondition (at home) :effect (at ?x)))'
    )
    text = '(define (problem p) (:domain d) (:objects x) (:init (at {})) (:goal (at {})))'
    one, other = (read_problem(text.format(*names), domain) for names in ('xx', ('home', 'home')))
    assert compare(one, other).answer is Equivalence.DIFFERENT
    assert compare(one, one).equivalent


def test_named_objects_stand_for_nothing_but_themselves() -> None:
    one, other = blocks('(and (on a b) (on c a))'), blocks('(and (on b a) (on c b))')
    assert compare(one, other).equivalent
    assert compare(one, other, named=True).answer is Equivalence.DIFFERENT
    fuller = blocks('(and (on a b) (on c a) (clear c) (not (holding b)))')
    assert compare(one, fuller, named=True).equivalent
    safe, unsafe = (
        blocks('(on a b)', rest=f'(:constraints (always (not (on c {block}))))') for block in 'ab'
    )
    assert compare(safe, safe, named=True).equivalent
    assert not compare(safe, unsafe, named=True).equivalent


class Case(NamedTuple):
    """Two goals over one initial state; what Definition 2 says of them, and the published code.

    The last column is what the published code said when it was run on these very problems.
    """

    domain: str
    objects: str
    init: str
    one: str
    other: str
    equivalent: bool
    published: bool
    placeholder: bool = False


_ONE_ROOM = '(room r) (ball b) (gripper g) (at-robby r) (at b r) (free g)'
_TWO_ROOMS = '(room r) (room s) (ball b) (at-robby r) (at b r)'
_HAND = f'{_TWO_ROOMS} (gripper g) (free g)'
_STRIP = '(right t2 t1) (right t3 t2)'
_FLOOR = 'r - robot t1 t2 t3 - tile a c - color'
_TWO_ROBOTS = 'r q - robot t1 t2 t3 - tile a c - color'

CASES = {
    'gripper: a ball can be in the only room and nowhere else': Case(
        'gripper', 'r b g', _ONE_ROOM, '(free g)', '(free g) (at b r)', True, False
    ),
    'gripper: the robot can be in the only room and nowhere else': Case(
        'gripper', 'r b g', _ONE_ROOM, '(at b r)', '(at b r) (at-robby r)', True, False
    ),
    'gripper: what a gripper is, said in the goal, hides that it must be free': Case(
        'gripper', 'r s b g', _HAND, '(at b s)', '(at b s) (gripper g)', True, False
    ),
    'gripper: without a gripper no ball moves': Case(
        'gripper', 'r s b', _TWO_ROOMS, '(at-robby s)', '(at-robby s) (at b r)', True, False
    ),
    'floor-tile: a color fixed for a robot that need not paint with it': Case(
        'floor-tile', _TWO_ROBOTS,
        '(right t2 t1) (robot-at r t1) (robot-at q t3) (robot-has r c) (robot-has q a)'
        '(available-color a)',
        '(painted t2 c)', '(painted t2 c) (robot-has r a)', False, True,
    ),
    'floor-tile: paint that is there already counts as paint to come': Case(
        'floor-tile', _FLOOR,
        f'{_STRIP} (robot-at r t1) (robot-has r c) (available-color a) (painted t3 a)',
        '(robot-at r t2)', '(robot-at r t2) (robot-has r a)', False, True,
    ),
    'floor-tile: the only robot that can still paint with a color': Case(
        'floor-tile', _TWO_ROBOTS,
        f'{_STRIP} (robot-at r t1) (robot-at q t3) (robot-has r c) (robot-has q c)'
        '(available-color a)',
        '(painted t2 a) (robot-has q c)', '(painted t2 a) (robot-has q c) (robot-has r a)',
        True, False,
    ),
    'floor-tile: a robot without a color makes the published code fail': Case(
        'floor-tile', _FLOOR, f'{_STRIP} (robot-at r t1) (available-color a)',
        '(robot-at r t2)', '(robot-at r t2) (available-color a)', True, False,
    ),
    'floor-tile: a permutation of tiles that is not a symmetry of the floor': Case(
        'floor-tile', _FLOOR, f'{_STRIP} (robot-at r t1) (robot-has r c)',
        '(painted t1 c)', '(painted t2 c)', True, False, placeholder=True,
    ),
    'blocksworld: a block that the initial state does not mention is out of reach': Case(
        'blocksworld', 'a b c',
        '(arm-empty) (on-table a) (on-table b) (clear a) (clear b)',
        '(on a b)', '(on a b) (on-table b) (clear a) (arm-empty)', True, False,
    ),
    'blocksworld: a block that the arm may hold is taken to stand on the table': Case(
        'blocksworld', 'a b', '(arm-empty) (on-table a) (on-table b) (clear a) (clear b)',
        '(clear a)', '(on-table b)', False, True,
    ),
    'blocksworld: without arm-empty nothing can move': Case(
        'blocksworld', 'a b', '(on-table a) (on-table b) (clear a) (clear b)',
        '(clear a)', '(clear a) (on-table b)', True, False,
    ),
    'blocksworld: two goals that no state satisfies have the same goal states': Case(
        'blocksworld', 'a b', '(arm-empty) (on-table a) (on-table b) (clear a) (clear b)',
        '(on a b) (on b a)', '(on a a)', True, False,
    ),
    'blocksworld: a goal with a disjunction cannot be read': Case(
        'blocksworld', 'a b', '(arm-empty) (on-table a) (on-table b) (clear a) (clear b)',
        '(or (on a b) (on a b))', '(on a b)', True, False,
    ),
}  # fmt: skip


def problems(case: Case) -> tuple[Problem, Problem]:
    domain = planetarium_domain(case.domain)
    text = '(define (problem p) (:domain {}) (:objects {}) (:init {}) (:goal (and {})))'
    one, other = (
        read_problem(text.format(case.domain, case.objects, case.init, goal), domain)
        for goal in (case.one, case.other)
    )
    return one, other


@pytest.mark.parametrize('case', CASES.values(), ids=CASES)
def test_a_difference(case: Case) -> None:
    one, other = problems(case)
    assert small.equivalent(one, other, case.placeholder) == case.equivalent
    assert compare(one, other, placeholder=case.placeholder).equivalent == case.equivalent
    published = compare(one, other, placeholder=case.placeholder, compat='planetarium')
    assert published.equivalent == case.published


@pytest.mark.parametrize('domain', small.DOMAINS)
def test_the_published_code_sees_no_difference_in_names(domain: str) -> None:
    for seed in range(20):
        rng = random.Random(seed)
        one = small.small(rng, domain)
        assert compare(one, disguised(rng, one), compat='planetarium').equivalent


def test_an_unknown_compat_is_refused() -> None:
    one, other = problems(next(iter(CASES.values())))
    with pytest.raises(SafegenError, match="use '' or 'planetarium'"):
        compare(one, other, compat='planetary')  # type: ignore[arg-type]


def corrected(problem: Problem, found: Explanation) -> Problem:
    """The problem after everything that was said has been done."""
    task = StripsTask.of(problem)
    assert task is not None
    scenes = {'init': set(task.init), 'goal': set(task.goal)}
    for difference in found.differences:
        scene = scenes[difference.scene]
        scene.discard(difference.has or ())
        scene |= {difference.lacks} if difference.lacks else set()
    return replace(problem, init=frozenset(scenes['init']), goal=small.goal_of(scenes['goal']))


@pytest.mark.parametrize('domain', small.DOMAINS)
@pytest.mark.parametrize('placeholder', [False, True], ids=['identity', 'placeholder'])
@examples(15)
@given(seed=st.integers(0, 2**32))
def test_doing_what_is_said_makes_problems_equivalent(
    domain: str, placeholder: bool, seed: int
) -> None:
    rng = random.Random(seed)
    wanted = small.small(rng, domain)
    problem = small.varied(rng, wanted)
    if rng.random() < 0.5:
        lost = rng.choice(sorted(problem.init))
        problem = replace(problem, init=problem.init - {lost})
    if not small.goal_states(wanted):
        return  # what no state satisfies has no meaning to be explained
    found = explain(wanted, problem, placeholder=placeholder)
    better = corrected(problem, found)
    assert compare(wanted, better, placeholder=placeholder).equivalent
    if small.goal_states(problem):
        equal = compare(wanted, problem, placeholder=placeholder).equivalent
        assert equal == (str(found) == '')


@pytest.mark.parametrize(
    ('wanted', 'goal', 'said'),
    [
        ('(and (on a b) (on b c))', '(and (on a c) (on b c))',
         'the goal has (on a c) where (on a b) belongs: change it'),
        ('(and (on a b) (not (on b c)))', '(on a b)', 'the goal lacks (not (on b c)): add it'),
    ],
)  # fmt: skip
def test_what_differs_is_said_in_pddl(wanted: str, goal: str, said: str) -> None:
    assert str(explain(blocks(wanted), blocks(goal))) == said


def test_other_names_are_aligned() -> None:
    standing = '(arm-empty) (on-table a) (on b a) (on c b) (clear c)'
    renamed = '(arm-empty) (on-table y) (on z y) (on x z) (clear x)'
    found = explain(blocks('(on a c)', standing), blocks('(on y z)', renamed, objects='x y z'))
    assert found.objects == {'a': 'y', 'b': 'z', 'c': 'x'}
    assert str(found) == 'the goal has (on y z) where (on y x) belongs: change it'


def test_objects_that_are_missing_are_counted_and_marked() -> None:
    init = '(arm-empty) (on-table a) (on-table b) (clear a) (clear b)'
    found = explain(blocks('(and (on a b) (on b c))'), blocks('(on a b)', init, objects='a b'))
    lines = str(found).splitlines()
    assert lines[0] == (
        'there are 2 objects of type object where 3 belong: declare the missing ones'
    )
    assert 'the initial state lacks (on-table <c>): add it' in lines
    assert 'the goal lacks (on b <c>): add it' in lines


def test_goals_that_cannot_be_explained_are_refused() -> None:
    with pytest.raises(SafegenError, match='conjunctions of literals'):
        explain(blocks('(or (on a b) (on b c))'), blocks('(on a b)'))
    with pytest.raises(SafegenError, match='write both for one domain'):
        explain(blocks('(on a b)'), small.gripper(random.Random(1), 1, 1, 1))


_ARITIES = {'flag': 0, 'red': 1, 'on': 2, 'between': 3}
_NAMES = ('a', 'b', 'c', 'd')


def scenes(rng: random.Random, count: int) -> dict[str, frozenset[Atom]]:
    return {
        scene: frozenset(
            (p, *rng.choices(_NAMES, k=_ARITIES[p]))
            for p in rng.choices(list(_ARITIES), k=rng.randint(0, count))
        )
        for scene in ('init', 'goal')
    }


def kinds(rng: random.Random) -> dict[str, str]:
    return {name: rng.choice(['thing', 'thing', 'other']) for name in _NAMES}


@examples(60)
@given(seed=st.integers(0, 2**32), same=st.booleans())
def test_all_bijections_are_found(seed: int, same: bool) -> None:
    rng = random.Random(seed)
    objects, one = kinds(rng), scenes(rng, 3)
    mixed = dict(zip(_NAMES, rng.sample(_NAMES, len(_NAMES)), strict=True))
    others = {mixed[name]: kind for name, kind in objects.items()}
    other: Scenes = {scene: renamed(atoms, mixed) for scene, atoms in one.items()}
    if not same:
        other = {**other, 'goal': scenes(rng, 2)['goal']}
    wanted = [
        names
        for order in permutations(_NAMES)
        for names in [dict(zip(_NAMES, order, strict=True))]
        if all(others[names[name]] == kind for name, kind in objects.items())
        and all(renamed(atoms, names) == other[scene] for scene, atoms in one.items())
    ]
    found = list(isomorphisms(scene_graph(objects, one), scene_graph(others, other)))
    key = [sorted(names.items()) for names in wanted]
    assert sorted(sorted(names.items()) for names in found) == sorted(key)


@examples(40)
@given(seed=st.integers(0, 2**32))
def test_all_embeddings_are_found(seed: int) -> None:
    rng = random.Random(seed)
    large = {'goal': scenes(rng, 6)['goal']}
    small = {'goal': frozenset(a for a in scenes(rng, 3)['goal'] if a[0] != 'flag')}
    used = sorted({name for atom in small['goal'] for name in atom[1:]})
    wanted = [
        names
        for order in permutations(_NAMES, len(used))
        for names in [dict(zip(used, order, strict=True))]
        if renamed(small['goal'], names) <= large['goal']
    ]
    graphs = (scene_graph(dict.fromkeys(n, ''), s) for n, s in ((used, small), (_NAMES, large)))
    found = {tuple(sorted(names.items())) for names in embeddings(*graphs)}
    assert found == {tuple(sorted(names.items())) for names in wanted}


def test_regular_graphs_that_colors_cannot_tell_apart_are_told_apart() -> None:
    names = 'abcdef'
    ring = {('on', x, y) for x, y in zip(names, names[1:] + names[0], strict=True)}
    rings = {('on', *pair) for pair in ('ab', 'bc', 'ca', 'de', 'ef', 'fd')}
    objects = dict.fromkeys(names, '')
    one, other = (scene_graph(objects, {'init': atoms}) for atoms in (ring, rings))
    assert isomorphism(one, other) is None
    assert isomorphism(one, scene_graph(objects, {'init': ring})) is not None


def test_looking_ends_when_the_time_is_over() -> None:
    objects = dict.fromkeys(map(str, range(30)), '')
    one, other = (scene_graph(objects, {'init': {('flag',)}}) for _ in range(2))
    with pytest.raises(SearchLimit):
        list(isomorphisms(one, other, Budget(0.05, 100.0).tick))


_LIGHTS = read_domain(
    """(define (domain lights) (:requirements :typing :negative-preconditions)
    (:types lamp switch)
    (:predicates (lit ?l - lamp) (wired ?a ?b - lamp ?s - switch) (broken ?l - lamp))
    (:action toggle :parameters (?s - switch ?a ?b - lamp)
      :precondition (and (wired ?a ?b ?s) (lit ?a) (not (broken ?b)))
      :effect (and (lit ?b) (not (lit ?a))))
    (:action smash :parameters (?l - lamp) :precondition (not (broken ?l))
      :effect (and (broken ?l) (not (lit ?l)))))"""
)


def lights(goal: str, names: str = 'l1 l2 l3 s') -> Problem:
    one, two, three, switch = names.split()
    return read_problem(
        f'(define (problem p) (:domain lights) (:objects {one} {two} {three} - lamp'
        f' {switch} - switch) (:init (lit {one}) (wired {one} {two} {switch})'
        f' (wired {two} {three} {switch})) (:goal (and {goal})))',
        _LIGHTS,
    )


def budget(seconds: float = 30.0) -> Budget:
    return Budget(seconds, 500.0)


def of_all_states(problem: Problem) -> Specification:
    states = small.goal_states(problem)
    if not states:
        return Specification(frozenset(), frozenset(), False)
    common = frozenset.intersection(*states)
    return Specification(common, common)


@pytest.mark.parametrize('domain', small.DOMAINS)
@pytest.mark.parametrize('most', [generic.MOST_STATES, 1], ids=['states', 'search'])
@examples(12)
@given(seed=st.integers(0, 2**32))
def test_every_domain_is_specified_without_rules(domain: str, most: int, seed: int) -> None:
    problem = small.small(random.Random(seed), domain)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generic, 'MOST_STATES', most)
        assert specify(problem, (), budget()) == of_all_states(problem)


@pytest.mark.parametrize('domain', small.DOMAINS)
@examples(12)
@given(seed=st.integers(0, 2**32), seconds=st.sampled_from([0.0, 0.01, 0.1, 5.0]))
def test_an_answer_without_rules_is_right_or_unknown(
    domain: str, seed: int, seconds: float
) -> None:
    rng = random.Random(seed)
    one = small.small(rng, domain)
    one = replace(one, domain=replace(one.domain, name='of-ones-own'))
    other = small.varied(rng, one)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generic, 'MOST_STATES', rng.choice([1, generic.MOST_STATES]))
        for placeholder in (False, True):
            found = compare(one, other, placeholder=placeholder, time_limit_s=seconds)
            if found.answer is not Equivalence.UNKNOWN:
                assert found.equivalent == small.equivalent(one, other, placeholder)


@pytest.mark.parametrize('domain', small.DOMAINS)
@examples(12)
@given(seed=st.integers(0, 2**32))
def test_exactly_one_atom_of_a_group_is_true_in_every_state(domain: str, seed: int) -> None:
    problem = small.small(random.Random(seed), domain)
    table = AtomTable(problem)
    actions = Grounder(problem, table).all_actions()
    atoms = sorted(set().union(*small.reachable(problem)))
    fluent = [atom for atom in atoms if atom[0] in table.fluents]
    for mask in exactly_one(table, fluent, actions, budget()):
        group = set(table.atoms(mask))
        assert all(len(group & state) == 1 for state in small.reachable(problem))


def test_groups_show_what_a_goal_implies_where_states_are_too_many() -> None:
    problem = small.blocksworld(random.Random(1), 12)
    below = {atom for atom in problem.init if atom[0] in ('on', 'on-table', 'holding')}
    found = specify(replace(problem, goal=small.goal_of(below)), (), budget())
    assert found == Specification(problem.init, problem.init)


def test_a_domain_of_ones_own_needs_no_rules() -> None:
    one = lights('(lit l3)')
    # There is one light, and it can be in one place only.
    assert compare(one, lights('(lit x) (not (lit y))', 'z y x w')).equivalent
    assert compare(one, lights('(lit y)', 'z y x w')).answer is Equivalence.DIFFERENT
    assert compare(one, lights('(lit x) (broken y)', 'z y x w')).answer is Equivalence.DIFFERENT
    assert compare(one, lights('(lit x) (not (broken x))', 'z y x w')).equivalent


@pytest.mark.parametrize('most', [generic.MOST_STATES, 1], ids=['states', 'search'])
def test_negative_literals_are_common_to_goal_states_too(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generic, 'MOST_STATES', most)
    wanted = [('not broken', f'l{n}') for n in (1, 2, 3)]
    found = specify(lights('(lit l3)'), wanted, budget())
    assert found.exact
    assert {each for each in found.known if each[0] == 'not broken'} == {('not broken', 'l3')}


def test_a_goal_that_cannot_be_reached_has_no_specification() -> None:
    found = specify(lights('(lit l1) (lit l2)'), (), budget())
    assert found == Specification(frozenset(), frozenset(), False)
    assert compare(lights('(lit l1) (lit l2)'), lights('(lit l3)')).answer is Equivalence.DIFFERENT


def test_without_time_nothing_is_claimed() -> None:
    problem = lights('(lit l3)')
    found = specify(problem, (), budget(0.0))
    assert (found.known, found.solvable, found.exact) == ({('lit', 'l3')}, None, False)


def rules_of(problem: Problem) -> GoalRules | None:
    task = StripsTask.of(problem)
    assert task is not None
    return rules_for(problem.domain, task)


@pytest.mark.parametrize('domain', small.DOMAINS)
@examples(25)
@given(seed=st.integers(0, 2**32))
def test_goal_states_are_those_that_can_be_reached(domain: str, seed: int) -> None:
    rng = random.Random(seed)
    problem = small.small(rng, domain)
    rules = rules_of(problem)
    assert rules is not None
    states = small.goal_states(problem)
    common = frozenset.intersection(*states) if states else None
    assert rules.specified() == common
    found = rules.goal_state()
    assert found in states if states else found is None


@pytest.mark.parametrize('domain', small.DOMAINS)
@examples(25)
@given(seed=st.integers(0, 2**32))
def test_a_plan_leads_to_every_state_that_can_be_reached(domain: str, seed: int) -> None:
    rng = random.Random(seed)
    problem = small.small(rng, domain)
    rules = rules_of(problem)
    assert rules is not None
    state = rng.choice(sorted(small.reachable(problem), key=sorted))
    steps = rules.steps_to(state)
    assert verify(replace(problem, goal=small.goal_of(state)), Plan(steps)).ok
    assert last_state(problem, steps) == state


@pytest.mark.parametrize(
    ('domain', 'atom'),
    [
        ('blocksworld', ('on', 'b0', 'b0')),
        ('blocksworld', ('holding', 'b0')),
        ('gripper', ('carry', 'ball0', 'room0')),
        ('gripper', ('at-robby', 'ball0')),
        ('gripper', ('room', 'ball0')),
        ('gripper', ('free', 'ball0')),
        ('floor-tile', ('robot-at', 'robot0', 'tile9')),
        ('floor-tile', ('robot-has', 'robot0', 'color9')),
    ],
)
def test_rules_do_not_apply_to_an_initial_state_that_is_not_meant(
    domain: str, atom: tuple[str, ...]
) -> None:
    rng = random.Random(4)
    problem = {
        'blocksworld': small.blocksworld(rng, 2),
        'gripper': small.gripper(rng, 2, 1, 1),
        'floor-tile': small.floortile(rng, 1, 2, 2),
    }[domain]
    objects = {
        **problem.objects,
        **({'tile9': 'tile', 'color9': 'color'} if '9' in atom[-1] else {}),
    }
    assert rules_of(problem) is not None
    assert rules_of(replace(problem, objects=objects, init=problem.init | {atom})) is None


def test_a_block_on_two_blocks_or_a_cycle_is_not_meant() -> None:
    problem = small.blocksworld(random.Random(1), 3)
    for init in (
        {('on', 'b0', 'b1'), ('on', 'b1', 'b0'), ('arm-empty',)},
        {('on', 'b0', 'b2'), ('on', 'b1', 'b2'), ('on-table', 'b2'), ('clear', 'b0'),
         ('clear', 'b1'), ('arm-empty',)},
    ):  # fmt: skip
        assert rules_of(replace(problem, init=frozenset(init))) is None


def test_rules_do_not_apply_to_another_domain_of_the_same_name() -> None:
    problem = small.blocksworld(random.Random(1), 2)
    actions = {k: a for k, a in problem.domain.actions.items() if k != 'putdown'}
    assert rules_of(replace(problem, domain=replace(problem.domain, actions=actions))) is None


def test_the_domains_are_those_of_the_paper() -> None:
    sizes = {name: planetarium_domain(name) for name in RULES}
    assert {n: (len(d.predicates), len(d.actions)) for n, d in sizes.items()} == {
        'blocksworld': (5, 4),
        'gripper': (7, 3),
        'floor-tile': (6, 9),
    }
    with pytest.raises(SafegenError, match='use one of blocksworld gripper floor-tile'):
        planetarium_domain_text('rover')
