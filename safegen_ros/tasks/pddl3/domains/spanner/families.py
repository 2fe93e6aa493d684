# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Safety constraints for Spanner: order of nuts, access to the shed, choice of tools."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from safegen_ros.tasks.pddl3.domains.kit import Families, Instance, SizeRule, at_least
from safegen_ros.tasks.pddl3.domains.spanner.problems import WORKER, SpannerWalk, walk

_SHED_ONCE = '(forall (?m - man) (at-most-once (at ?m shed)))'


FAMILIES = Families()
"""The constraint families of this domain."""

_NUTS = at_least('nuts', 2)
_TWO_SPANNERS = at_least('spanners', 2)
_SPARE = SizeRule('more spanners than nuts', lambda size: size['spanners'] > size['nuts'])


def _order(rng: Random, scene: SpannerWalk) -> list[str]:
    return rng.sample(scene.nuts, len(scene.nuts))


def _in_order(rng: Random, scene: SpannerWalk) -> list[tuple[str, str]]:
    """Some spanners that lie in this order on the way, as pairs; those of one place in any."""
    rank = {place: number for number, place in enumerate(scene.places)}
    mixed = rng.sample(list(scene.spanners), len(scene.spanners))
    return list(pairwise(sorted(mixed, key=lambda spanner: rank[scene.spanners[spanner]])))


@FAMILIES.add('always', 'at-most-once', paper=True, rules=(_NUTS,))
def _tightening_order(rng: Random, instance: Instance) -> Instance:
    """Nuts are tightened in a certain order, and the shed is visited at most once."""
    scene = walk(instance)
    nuts = _order(rng, scene)
    found = [
        f'(always (imply (tightened {second}) (tightened {first})))'
        for first, second in pairwise(nuts)
    ]
    return instance.constrained([*found, _SHED_ONCE], scene.steps(scene.choose(rng), nuts))


@FAMILIES.add('sometime-before', paper=True, rules=(_NUTS,))
def _foundation_first(rng: Random, instance: Instance) -> Instance:
    """The foundation nut is tightened before the others."""
    scene = walk(instance)
    foundation, *upper = nuts = _order(rng, scene)
    found = [f'(sometime-before (tightened {nut}) (tightened {foundation}))' for nut in upper]
    return instance.constrained(found, scene.steps(scene.choose(rng), nuts))


@FAMILIES.add('always', rules=(_SPARE,))
def _defective_spanner(rng: Random, instance: Instance) -> Instance:
    """A certain spanner is never carried."""
    scene = walk(instance)
    spanner = rng.choice(list(scene.spanners))
    taken = scene.choose(rng, never=spanner)
    text = f'(always (not (carrying {WORKER} {spanner})))'
    return instance.constrained([text], scene.steps(taken, scene.nuts))


@FAMILIES.add('always', rules=(_TWO_SPANNERS,))
def _used_first(rng: Random, instance: Instance) -> Instance:
    """No nut is tightened before a certain spanner is used up."""
    scene = walk(instance)
    spanner = rng.choice(list(scene.spanners))
    taken = scene.choose(rng, spanner)
    taken.sort(key=lambda other: other != spanner)
    text = f'(always (imply (exists (?n - nut) (tightened ?n)) (not (useable {spanner}))))'
    return instance.constrained([text], scene.steps(taken, scene.nuts))


@FAMILIES.add('sometime-before', rules=(_TWO_SPANNERS,))
def _collection_order(rng: Random, instance: Instance) -> Instance:
    """One spanner is collected only after another one."""
    scene = walk(instance)
    first, second = rng.choice(_in_order(rng, scene))
    taken = scene.choose(rng, first)
    taken.sort(key=lambda other: other != first)
    text = f'(sometime-before (carrying {WORKER} {second}) (carrying {WORKER} {first}))'
    return instance.constrained([text], scene.steps(taken, scene.nuts))


@FAMILIES.add('sometime', rules=(_SPARE,))
def _also_collected(rng: Random, instance: Instance) -> Instance:
    """A certain spanner is collected."""
    scene = walk(instance)
    spanner = rng.choice(list(scene.spanners))
    steps = scene.steps(scene.choose(rng, spanner), scene.nuts)
    return instance.constrained([f'(sometime (carrying {WORKER} {spanner}))'], steps)


@FAMILIES.add('sometime-after', rules=(_SPARE,))
def _one_with_the_other(rng: Random, instance: Instance) -> Instance:
    """A robot that carries one spanner carries another one then or later."""
    scene = walk(instance)
    one, other = rng.sample(list(scene.spanners), 2)
    taken = scene.choose(rng, one, other, more=max(0, 2 - len(scene.nuts)))
    text = f'(sometime-after (carrying {WORKER} {one}) (carrying {WORKER} {other}))'
    return instance.constrained([text], scene.steps(taken, scene.nuts))


@FAMILIES.add('at end', rules=(_SPARE,))
def _spare_at_end(rng: Random, instance: Instance) -> Instance:
    """The worker ends with a useable spanner."""
    scene = walk(instance)
    steps = scene.steps(scene.choose(rng, more=1), scene.nuts)
    spare = f'(exists (?s - spanner) (and (carrying {WORKER} ?s) (useable ?s)))'
    return instance.constrained([f'(at end {spare})'], steps)


@FAMILIES.add('within', rules=(_NUTS,))
def _urgent_nut(rng: Random, instance: Instance) -> Instance:
    """A certain nut is tightened within a number of steps."""
    scene = walk(instance)
    nuts = _order(rng, scene)
    place = rng.randrange(len(nuts) - 1)
    text = f'(within {scene.arrival + place + 1} (tightened {nuts[place]}))'
    return instance.constrained([text], scene.steps(scene.choose(rng), nuts))


@FAMILIES.add('always-within', rules=(_TWO_SPANNERS,))
def _taken_at_once(rng: Random, instance: Instance) -> Instance:
    """A certain spanner is taken one step after its location is reached."""
    scene = walk(instance)
    spanner = rng.choice(list(scene.spanners))
    taken = scene.choose(rng, spanner)
    taken.sort(key=lambda other: other != spanner)
    there = f'(at {WORKER} {scene.spanners[spanner]})'
    text = f'(always-within 1 {there} (carrying {WORKER} {spanner}))'
    return instance.constrained([text], scene.steps(taken, scene.nuts))


@FAMILIES.add('hold-during', rules=(_NUTS,))
def _loose_at_first(rng: Random, instance: Instance) -> Instance:
    """A certain nut stays loose during a time."""
    scene = walk(instance)
    nuts = _order(rng, scene)
    place = rng.randrange(1, len(nuts))
    end = scene.arrival + place + 1
    text = f'(hold-during {rng.randrange(end - place)} {end} (not (tightened {nuts[place]})))'
    return instance.constrained([text], scene.steps(scene.choose(rng), nuts))


@FAMILIES.add('hold-after', rules=(_NUTS,))
def _tight_later(rng: Random, instance: Instance) -> Instance:
    """A certain nut is tight from a certain step on."""
    scene = walk(instance)
    nuts = _order(rng, scene)
    place = rng.randrange(len(nuts) - 1)
    text = f'(hold-after {scene.arrival + place + 1} (tightened {nuts[place]}))'
    return instance.constrained([text], scene.steps(scene.choose(rng), nuts))
