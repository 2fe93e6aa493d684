# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Safety constraints for Spanner: order of nuts, access to the shed, choice of tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

from safegen_ros.pddl.plan import Step
from safegen_ros.tasks.pddl3.domains.kit import Family, Instance, Rule, at_least, by_name
from safegen_ros.tasks.pddl3.domains.spanner.problems import WORKER, Walk, walk

_SHED_ONCE = '(forall (?m - man) (at-most-once (at ?m shed)))'


def _order(rng: Random, scene: Walk) -> list[str]:
    return rng.sample(scene.nuts, len(scene.nuts))


def _in_order(rng: Random, scene: Walk) -> list[tuple[str, str]]:
    """Some spanners that lie in this order on the way, as pairs; those of one place in any."""
    rank = {place: number for number, place in enumerate(scene.places)}
    mixed = rng.sample(list(scene.spanners), len(scene.spanners))
    return list(pairwise(sorted(mixed, key=lambda spanner: rank[scene.spanners[spanner]])))


def _tightening_order(rng: Random, instance: Instance) -> Instance:
    scene = walk(instance)
    nuts = _order(rng, scene)
    found = [
        f'(always (imply (tightened {second}) (tightened {first})))'
        for first, second in pairwise(nuts)
    ]
    return _made(instance, [*found, _SHED_ONCE], scene.steps(scene.choose(rng), nuts))


def _foundation_first(rng: Random, instance: Instance) -> Instance:
    scene = walk(instance)
    foundation, *upper = nuts = _order(rng, scene)
    found = [f'(sometime-before (tightened {nut}) (tightened {foundation}))' for nut in upper]
    return _made(instance, found, scene.steps(scene.choose(rng), nuts))


def _defective_spanner(rng: Random, instance: Instance) -> Instance:
    scene = walk(instance)
    spanner = rng.choice(list(scene.spanners))
    taken = scene.choose(rng, never=spanner)
    text = f'(always (not (carrying {WORKER} {spanner})))'
    return _made(instance, [text], scene.steps(taken, scene.nuts))


def _used_first(rng: Random, instance: Instance) -> Instance:
    scene = walk(instance)
    spanner = rng.choice(list(scene.spanners))
    taken = scene.choose(rng, spanner)
    taken.sort(key=lambda other: other != spanner)
    text = f'(always (imply (exists (?n - nut) (tightened ?n)) (not (useable {spanner}))))'
    return _made(instance, [text], scene.steps(taken, scene.nuts))


def _collection_order(rng: Random, instance: Instance) -> Instance:
    scene = walk(instance)
    first, second = rng.choice(_in_order(rng, scene))
    taken = scene.choose(rng, first)
    taken.sort(key=lambda other: other != first)
    text = f'(sometime-before (carrying {WORKER} {second}) (carrying {WORKER} {first}))'
    return _made(instance, [text], scene.steps(taken, scene.nuts))


def _also_collected(rng: Random, instance: Instance) -> Instance:
    scene = walk(instance)
    spanner = rng.choice(list(scene.spanners))
    steps = scene.steps(scene.choose(rng, spanner), scene.nuts)
    return _made(instance, [f'(sometime (carrying {WORKER} {spanner}))'], steps)


def _one_with_the_other(rng: Random, instance: Instance) -> Instance:
    scene = walk(instance)
    one, other = rng.sample(list(scene.spanners), 2)
    taken = scene.choose(rng, one, other, more=max(0, 2 - len(scene.nuts)))
    text = f'(sometime-after (carrying {WORKER} {one}) (carrying {WORKER} {other}))'
    return _made(instance, [text], scene.steps(taken, scene.nuts))


def _spare_at_end(rng: Random, instance: Instance) -> Instance:
    scene = walk(instance)
    steps = scene.steps(scene.choose(rng, more=1), scene.nuts)
    spare = f'(exists (?s - spanner) (and (carrying {WORKER} ?s) (useable ?s)))'
    return _made(instance, [f'(at end {spare})'], steps)


def _urgent_nut(rng: Random, instance: Instance) -> Instance:
    scene = walk(instance)
    nuts = _order(rng, scene)
    place = rng.randrange(len(nuts) - 1)
    text = f'(within {scene.arrival + place + 1} (tightened {nuts[place]}))'
    return _made(instance, [text], scene.steps(scene.choose(rng), nuts))


def _taken_at_once(rng: Random, instance: Instance) -> Instance:
    scene = walk(instance)
    spanner = rng.choice(list(scene.spanners))
    taken = scene.choose(rng, spanner)
    taken.sort(key=lambda other: other != spanner)
    there = f'(at {WORKER} {scene.spanners[spanner]})'
    text = f'(always-within 1 {there} (carrying {WORKER} {spanner}))'
    return _made(instance, [text], scene.steps(taken, scene.nuts))


def _loose_at_first(rng: Random, instance: Instance) -> Instance:
    scene = walk(instance)
    nuts = _order(rng, scene)
    place = rng.randrange(1, len(nuts))
    end = scene.arrival + place + 1
    text = f'(hold-during {rng.randrange(end - place)} {end} (not (tightened {nuts[place]})))'
    return _made(instance, [text], scene.steps(scene.choose(rng), nuts))


def _tight_later(rng: Random, instance: Instance) -> Instance:
    scene = walk(instance)
    nuts = _order(rng, scene)
    place = rng.randrange(len(nuts) - 1)
    text = f'(hold-after {scene.arrival + place + 1} (tightened {nuts[place]}))'
    return _made(instance, [text], scene.steps(scene.choose(rng), nuts))


def _made(instance: Instance, constraints: Sequence[str], witness: tuple[Step, ...]) -> Instance:
    return replace(instance, constraints=tuple(constraints), witness=witness)


_NUTS = at_least('nuts', 2)
_TWO_SPANNERS = at_least('spanners', 2)
_SPARE = Rule('more spanners than nuts', lambda size: size['spanners'] > size['nuts'])

FAMILIES = by_name(
    Family(
        'tightening-order',
        ('always', 'at-most-once'),
        'nuts are tightened in a certain order, and the shed is visited at most once',
        _tightening_order,
        paper=True,
        rules=(_NUTS,),
    ),
    Family(
        'foundation-first',
        ('sometime-before',),
        'the foundation nut is tightened before the others',
        _foundation_first,
        paper=True,
        rules=(_NUTS,),
    ),
    Family(
        'defective-spanner',
        ('always',),
        'a certain spanner is never carried',
        _defective_spanner,
        rules=(_SPARE,),
    ),
    Family(
        'used-first',
        ('always',),
        'no nut is tightened before a certain spanner is used up',
        _used_first,
        rules=(_TWO_SPANNERS,),
    ),
    Family(
        'collection-order',
        ('sometime-before',),
        'one spanner is collected only after another one',
        _collection_order,
        rules=(_TWO_SPANNERS,),
    ),
    Family(
        'also-collected',
        ('sometime',),
        'a certain spanner is collected',
        _also_collected,
        rules=(_SPARE,),
    ),
    Family(
        'one-with-the-other',
        ('sometime-after',),
        'whoever carries one spanner carries another one then or later',
        _one_with_the_other,
        rules=(_SPARE,),
    ),
    Family(
        'spare-at-end',
        ('at end',),
        'the worker ends with a useable spanner',
        _spare_at_end,
        rules=(_SPARE,),
    ),
    Family(
        'urgent-nut',
        ('within',),
        'a certain nut is tightened within a number of steps',
        _urgent_nut,
        rules=(_NUTS,),
    ),
    Family(
        'taken-at-once',
        ('always-within',),
        'a certain spanner is taken one step after its location is reached',
        _taken_at_once,
        rules=(_TWO_SPANNERS,),
    ),
    Family(
        'loose-at-first',
        ('hold-during',),
        'a certain nut stays loose during a time',
        _loose_at_first,
        rules=(_NUTS,),
    ),
    Family(
        'tight-later',
        ('hold-after',),
        'a certain nut is tight from a certain step on',
        _tight_later,
        rules=(_NUTS,),
    ),
)
"""The constraint families of this domain."""
