# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Generated problems can be solved, are not solved already, and their constraints matter."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from support.breadth_first import solve
from support.strategies import one_in

from safegen_ros.errors import SafegenError
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.check import SolvedProblem, solved, solved_problem
from safegen_ros.tasks.pddl3.domains.inspection import problem_faults
from safegen_ros.tasks.pddl3.domains.kit import UNCONSTRAINED, DomainKit, Family, SizeError
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.verdict import Category
from safegen_ros.verify.val import val_verify
from safegen_ros.verify.validator import Validator

FOUR = ('blocksworld', 'ferry', 'grippers', 'spanner')  # there may be others on this machine
EVERY = [(name, family) for name in FOUR for family in kits()[name].families]
KITS = pytest.mark.parametrize('kit', [kits()[name] for name in FOUR], ids=FOUR)
DIGESTS = {
    'blocksworld': 'e7478e43a503a4da',
    'ferry': 'ee2e305ed42955ec',
    'grippers': '9775123c59807a4c',
    'spanner': '3c18543eddf1f22c',
}
LARGE = {
    'blocksworld': {'blocks': 30},
    'ferry': {'locations': 12, 'cars': 30},
    'grippers': {'robots': 4, 'rooms': 10, 'objects': 40},
    'spanner': {'spanners': 40, 'nuts': 20, 'locations': 15},
}


@pytest.mark.slow
@pytest.mark.parametrize(('name', 'family'), one_in(4, EVERY))
def test_every_paper_size_holds_what_it_promises(name: str, family: str) -> None:
    kit = kits()[name]
    sizes = kit.sizes(family) or kit.sizes(family, wide=True)
    assert sizes
    for size in sizes:
        for seed in range(4):
            generated = kit.problem(seed, size, family)
            assert load_task(generated.text).problem == generated.problem
            assert (generated.size, generated.family, generated.domain) == (size, family, name)
            assert not [*problem_faults(kit, generated)], generated.text


@KITS
def test_a_seed_gives_the_problem_that_it_always_gave(kit: DomainKit) -> None:
    digest = sha256()
    for family in (UNCONSTRAINED, *kit.families):
        for seed in range(5):
            made = kit.problem(seed, family=family)
            digest.update(f'{made.text}{made.witness}{made.direct}'.encode())
    assert digest.hexdigest()[:16] == DIGESTS[kit.name]


def _solved(name: str, family: str) -> SolvedProblem:
    """A small problem of a family whose constraints change the shortest plan."""
    kit = kits()[name]
    size = (kit.sizes(family) or kit.sizes(family, wide=True))[0]
    return solved_problem(kit, 7, solve, size, family)


@pytest.mark.parametrize(('name', 'family'), one_in(4, EVERY))
def test_both_validators_accept_the_plan_and_refuse_the_careless_one(
    name: str, family: str
) -> None:
    found = _solved(name, family)
    problem = found.generated.problem
    assert len(found.unconstrained) <= len(found.plan) <= len(found.generated.witness)
    for plan, expected in (
        (found.plan, Category.SUCCESS),
        (found.generated.witness, Category.SUCCESS),
        (found.unconstrained, Category.SAFETY_VIOLATION),
    ):
        assert Validator(problem).verify(plan).category is expected
        assert val_verify(problem, plan).category is expected


@pytest.mark.parametrize(('name', 'family'), one_in(4, EVERY))
def test_large_problems_hold_what_they_promise(name: str, family: str) -> None:
    kit = kits()[name]
    generated = kit.problem(5, LARGE[name], family)
    assert len(generated.problem.objects) >= 30
    assert not [*problem_faults(kit, generated)]


@KITS
def test_problems_without_constraints(kit: DomainKit) -> None:
    for seed in range(10):
        generated = kit.problem(seed, family=UNCONSTRAINED)
        assert not generated.problem.constraints
        assert kit.is_paper_size(generated.size)
        found = solved(generated, solve)
        assert found is not None
        assert 0 < len(found.plan) <= len(generated.direct)


def test_the_name_of_a_problem_does_not_tell_its_family() -> None:
    kit = kits()['ferry']
    size = {'cars': 3, 'locations': 4}
    names = {kit.problem(7, size, family).problem.name for family in (*kit.families, 'none')}
    assert names == {'ferry-4-locations-3-cars-7'}
    assert kit.problem(7, size, attempt=2).problem.name == 'ferry-4-locations-3-cars-7-2'


@KITS
def test_the_order_of_a_text_tells_nothing(kit: DomainKit) -> None:
    """The order in which a family builds an instance could tell which objects it is about."""
    for seed in range(20):
        text = kit.problem(seed, kit.sizes(wide=True)[-1]).text.split('(:constraints')[0]
        objects, *sections = re.split(r'\(:(?:init|goal)', text)
        names = re.search(r':objects (.*)\)', objects)
        assert names is not None
        lists = [group.split() for group in re.split(r' - \w+', names[1])]
        lists += [re.findall(r'^    .*$', section, re.MULTILINE) for section in sections]
        assert len(sections) == 2
        assert all(len(lines) > 1 for lines in lists[-2:])
        assert all(lines == sorted(lines) for lines in lists)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(('name', 'family'), one_in(4, EVERY))
def test_no_object_is_constrained_more_often_than_its_like(name: str, family: str) -> None:
    """Otherwise a constraint could be guessed from names; a chi-squared test at six deviations."""
    kit = kits()[name]
    size = (kit.sizes(family) or kit.sizes(family, wide=True))[-1]
    drawn = [kit.problem(seed, size, family) for seed in range(50)]
    alike: dict[str, list[str]] = {}
    for thing in drawn[0].problem.objects:
        alike.setdefault(re.sub(r'\d+$', '', thing), []).append(thing)
    counts = {thing: Counter[int]() for things in alike.values() for thing in things}
    for generated in drawn:
        for constraint in generated.text.split('(:constraints')[1].splitlines()[1:]:
            seen: Counter[str] = Counter()
            for thing in filter(counts.__contains__, re.findall(r'[\w-]+', constraint)):
                kind = re.sub(r'\d+$', '', thing)
                counts[thing][seen[kind]] += 1
                seen[kind] += 1
    for things in alike.values():
        for place in {place for thing in things for place in counts[thing]}:
            found = [counts[thing][place] for thing in things]
            mean, free = sum(found) / len(found), len(found) - 1
            squares = sum((count - mean) ** 2 for count in found) / mean
            assert squares <= free + 6 * (2 * free) ** 0.5, (place, things, found)


def test_sizes_and_families_are_drawn_when_not_given() -> None:
    for kit in (kits()[name] for name in FOUR):
        drawn = [kit.problem(seed) for seed in range(60)]
        assert {p.family for p in drawn} > {f.name for f in kit.families.values() if f.paper}
        wide = [p for p in drawn if not kit.is_paper_size(p.size)]
        assert all(not kit.sizes(p.family) for p in wide)
        fitting = kit.problem(1, {p.name: p.least for p in kit.parameters})
        assert fitting.size == {p.name: p.least for p in kit.parameters}


def test_every_operator_of_pddl3_appears() -> None:
    for name in FOUR:
        operators = {o for family in kits()[name].families.values() for o in family.operators}
        assert operators == {
            'always', 'sometime', 'at-most-once', 'sometime-before', 'sometime-after', 'at end',
            'within', 'always-within', 'hold-during', 'hold-after',
        }  # fmt: skip


@pytest.mark.parametrize(
    ('name', 'size', 'family', 'message'),
    [
        ('blocksworld', {'blocks': 1}, 'none', 'blocksworld: 1 blocks: take 2 to 500'),
        ('blocksworld', {'blocks': 501}, 'none', '501 blocks: take 2 to 500'),
        ('blocksworld', {'blocks': 3}, 'table-order',
         "family 'table-order' needs at least 4 blocks, found 3 blocks: change the size"),
        ('blocksworld', {'blocks': 2}, 'drying', "family 'drying' needs at least 3 blocks"),
        ('blocksworld', {}, 'none', "size 'blocks' is missing: its sizes are blocks"),
        ('blocksworld', {'blocks': 4, 'cars': 1}, 'none', "'cars' is not a size: its sizes are bl"),
        ('blocksworld', {'blocks': True}, 'none', 'blocks is True: give a whole number'),
        ('ferry', {'locations': 3, 'cars': 2}, 'drying', "ferry has no constraint family 'drying'"),
        ('ferry', {'locations': 2, 'cars': 2}, 'shown-on-board', 'needs at least 3 locations'),
        ('grippers', {'robots': 1, 'rooms': 3, 'objects': 3}, 'narrow-room',
         'needs at least 2 robots, found 1 robots, 3 rooms, 3 objects'),
        ('spanner', {'spanners': 1, 'nuts': 2, 'locations': 3}, 'none',
         'a problem needs a spanner for every nut, found 1 spanners, 2 nuts, 3 locations'),
        ('spanner', {'spanners': 2, 'nuts': 2, 'locations': 3}, 'spare-at-end',
         'needs more spanners than nuts'),
    ],
)  # fmt: skip
def test_an_impossible_size_is_refused_by_name(
    name: str, size: dict[str, int], family: str, message: str
) -> None:
    with pytest.raises(SizeError) as caught:
        kits()[name].problem(0, size, family)
    assert message in str(caught.value)


def test_a_family_that_never_fits_is_refused() -> None:
    kit = kits()['blocksworld']
    none = Family('impossible', ('always',), '', lambda rng, instance: None)
    with pytest.raises(SizeError, match=r"3 blocks has room .* 'impossible': take a larger size"):
        replace(kit, families={'impossible': none}).problem(0, {'blocks': 3}, 'impossible')


def test_constraints_that_matter_to_no_shortest_plan_are_refused() -> None:
    kit = kits()['blocksworld']
    idle = Family(
        'idle', ('always',), '', lambda rng, i: replace(i, constraints=('(always (arm-empty))',))
    )
    blocked = replace(kit, families={'idle': idle})
    generated = blocked.problem(0, {'blocks': 3}, 'idle')
    assert solved(generated, solve) is None  # there is no plan at all
    with pytest.raises(SizeError, match=r"in none of 3 problems of family 'idle'"):
        solved_problem(blocked, 0, solve, {'blocks': 3}, 'idle', attempts=3)


def test_a_planner_that_gives_up_is_heard() -> None:
    def give_up(problem: object) -> Any:
        raise SafegenError('too long')

    with pytest.raises(SafegenError, match='too long'):
        solved_problem(kits()['ferry'], 0, give_up)
