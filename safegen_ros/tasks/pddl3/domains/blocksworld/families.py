# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Safety constraints for Blocksworld: stacking order, the table, handling of single blocks."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

from safegen_ros.tasks.pddl3.domains.blocksworld.problems import (
    TowerBuilder,
    TowerState,
    direct_steps,
    standing,
)
from safegen_ros.tasks.pddl3.domains.kit import Families, Instance, at_least

FAMILIES = Families()
"""The constraint families of this domain."""

_THREE = at_least('blocks', 3)
_FOUR = at_least('blocks', 4)


@FAMILIES.add('sometime-before', paper=True, rules=(_FOUR,))
def _table_order(rng: Random, instance: Instance) -> Instance | None:
    """A block comes to the table only after another one has been there.

    A block above another one in a tower must not come to the table before it.

    The upper block belongs on the table, so every direct plan breaks this. Upper blocks wait on a
    tower that no lower block is in; with three blocks there is no such tower.
    """
    arm = TowerBuilder.at(instance)
    towers = arm.now.towers()
    aside = rng.choice(towers)
    pairs = [
        (lower, upper)
        for tower in towers
        if tower is not aside
        for lower in tower[1:]
        for upper in arm.now.over(lower)
        if arm.goal.below[upper] is None
    ]
    first_of: dict[str, str] = {}
    for lower, upper in rng.sample(pairs, len(pairs)):
        if not {lower, upper} & {*first_of, *first_of.values()}:
            first_of[upper] = lower
    if not first_of:
        return None
    kept = dict(list(first_of.items())[: 1 + len(instance.objects) // 8])
    found = [f'(sometime-before (on-table {u}) (on-table {lower}))' for u, lower in kept.items()]
    for tower in towers:
        for block in reversed(tower[1:] if tower is not aside else ()):
            arm.move(block, (aside[0], *arm.now.over(aside[0]))[-1] if block in kept else None)
    return instance.constrained(found, arm.finish()) if found else None


@FAMILIES.add('sometime-before', paper=True, rules=(_THREE,))
def _support_first(rng: Random, instance: Instance) -> Instance | None:
    """A block is stacked on its support only after the support has been on the table.

    A supporting block is laid on the table before another one is stacked on it.

    Half of the time the supporting block stands where it belongs at first, which makes every
    direct plan wrong.
    """
    goal = TowerState.of(instance.goal)
    count = 1 + len(instance.objects) // 10
    now = TowerState.of(instance.init)
    if rng.random() < 0.5:
        tall = [tower for tower in goal.towers() if len(tower) > 2]
        chosen = rng.sample(tall, min(count, len(tall)))
        supports = [tower[1] for tower in chosen]
        moved = {block for tower in chosen for block in tower[:2]}
        kept = [tuple(b for b in tower if b not in moved) for tower in now.towers()]
        towers = [*(tower[:2] for tower in chosen), *filter(None, kept)]
        instance = replace(instance, init=standing(towers))
    else:
        held_up = [
            block
            for block, upper in goal.above.items()
            if goal.below[block] and now.below[block] and now.above.get(block) != upper
        ]
        supports = rng.sample(held_up, min(count, len(held_up)))
    found = [f'(sometime-before (on {goal.above[s]} {s}) (on-table {s}))' for s in supports]
    return instance.constrained(found, TowerBuilder.at(instance).finish()) if found else None


@FAMILIES.add('sometime-before', rules=(_FOUR,))
def _building_order(rng: Random, instance: Instance) -> Instance | None:
    """A block is stacked in one tower only after one is stacked in another tower.

    Blocks are stacked in an order that goes to and fro between the towers of the goal.
    """
    arm = TowerBuilder.at(instance)
    left = [list(pairwise(tower)) for tower in arm.goal.towers()]
    order: list[tuple[str, str]] = []
    while any(left):
        pairs = rng.choice([pairs for pairs in left if pairs])
        order.append(pairs.pop(0))
    tower_of = {block: tower[0] for tower in arm.goal.towers() for block in tower}
    links = [
        (first, second)
        for first, second in pairwise(order)
        if tower_of[first[0]] != tower_of[second[0]]
        and all(arm.now.above.get(lower) != upper for lower, upper in (first, second))
    ]
    found = [
        f'(sometime-before (on {second[1]} {second[0]}) (on {first[1]} {first[0]}))'
        for first, second in rng.sample(links, min(len(links), 1 + len(instance.objects) // 6))
    ]
    arm.flatten()
    for lower, upper in order:
        arm.move(upper, lower)
    return instance.constrained(found, arm.build()) if found else None


@FAMILIES.add('always', rules=(_FOUR,))
def _off_the_table(rng: Random, instance: Instance) -> Instance | None:
    """A certain block is never on the table.

    The block waits on another one until what belongs under it is built.
    """
    arm = TowerBuilder.at(instance)
    now, goal = arm.now, arm.goal
    choices = [
        (block, aside)
        for block in now.below
        if set(now.under(block)) & set(goal.under(block))
        for aside in now.below
        if aside not in (block, *now.under(block), *goal.under(block))
    ]
    if not choices:
        return None
    block, aside = rng.choice(choices)
    arm.uncover(aside)
    arm.move(aside, None)
    arm.uncover(block)
    arm.move(block, aside)
    for base in arm.now.bases():
        if base != aside:
            arm.uncover(base)
    arm.build_under(block)
    arm.move(block, goal.below[block])
    return instance.constrained([f'(always (not (on-table {block})))'], arm.build())


@FAMILIES.add('always', rules=(_FOUR,))
def _apart_on_the_table(rng: Random, instance: Instance) -> Instance | None:
    """Two blocks are never on the table at the same time.

    The upper block belongs on the table, and the lower one, which is there, must leave first.
    """
    arm = TowerBuilder.at(instance)
    now, goal = arm.now, arm.goal
    choices = [
        (upper, lower, aside)
        for lower in now.bases()
        for upper in now.over(lower)
        if goal.below[upper] is None and upper not in goal.under(lower) and goal.below[lower]
        for aside in now.below
        if aside not in (upper, *now.under(upper), *goal.under(lower))
    ]
    if not choices:
        return None
    upper, lower, aside = rng.choice(choices)
    for base in now.bases():
        if base != lower:
            arm.uncover(base)
    arm.uncover(upper)
    arm.move(upper, aside)
    arm.uncover(lower)
    arm.build_under(lower)
    arm.move(lower, goal.below[lower])
    arm.move(upper, None)
    both = f'(and (on-table {upper}) (on-table {lower}))'
    return instance.constrained([f'(always (not {both}))'], arm.build())


@FAMILIES.add('at-most-once', rules=(_FOUR,))
def _lifted_once(rng: Random, instance: Instance) -> Instance | None:
    """A certain block is lifted at most once.

    The block, which a direct plan lifts twice, is lifted when what belongs under it is built.
    """
    arm = TowerBuilder.at(instance)
    now, goal = arm.now, arm.goal
    steps = direct_steps(rng, instance)
    lifted = [step.arguments[0] for step in steps if step.action in ('pickup', 'unstack')]
    choices = [
        block
        for block in now.below
        if lifted.count(block) > 1 and not set(now.under(block)) & set(goal.under(block))
    ]
    if not choices:
        return None
    block = rng.choice(choices)
    bottom = (block, *now.under(block))[-1]
    for base in now.bases():
        if base != bottom:
            arm.uncover(base)
    arm.uncover(block)
    arm.build_under(block)
    arm.move(block, goal.below[block])
    if bottom != block:
        arm.uncover(bottom)
    return instance.constrained([f'(at-most-once (holding {block}))'], arm.build())


@FAMILIES.add('sometime', rules=(_THREE,))
def _weighed(rng: Random, instance: Instance) -> Instance | None:
    """A certain block is laid on a certain other one at some time."""
    arm = TowerBuilder.at(instance)
    block = rng.choice(list(arm.now.below))
    taken = (block, arm.now.below[block], arm.goal.below[block])
    scales = [other for other in arm.now.below if other not in taken]
    if not scales:
        return None
    scale = rng.choice(scales)
    arm.flatten()
    arm.move(block, scale)
    return instance.constrained([f'(sometime (on {block} {scale}))'], arm.finish())


@FAMILIES.add('sometime-after')
def _wiped_after(rng: Random, instance: Instance) -> Instance | None:
    """After one block was held, another one is held."""
    arm = TowerBuilder.at(instance)
    dirty, cloth = rng.choice(list(arm.now.below)), rng.choice(arm.goal.tops())
    if dirty == cloth:
        return None
    arm.finish()
    arm.touch(cloth)
    text = f'(sometime-after (holding {dirty}) (holding {cloth}))'
    return instance.constrained([text], arm.build())


@FAMILIES.add('always-within', rules=(_THREE,))
def _wiped_within(rng: Random, instance: Instance) -> Instance | None:
    """Within a few steps after one block was held, another one is held.

    The cloth stays at hand on the table until all other blocks are in place.
    """
    arm = TowerBuilder.at(instance)
    dirty, cloth = rng.choice(list(arm.now.below)), rng.choice(arm.goal.tops())
    if cloth in (dirty, *arm.now.under(dirty)):
        return None
    arm.uncover(cloth)
    arm.move(cloth, None)
    arm.uncover(dirty)
    if arm.now.below[dirty]:
        arm.move(dirty, None)
        arm.touch(cloth)
    arm.flatten()
    for tower in arm.goal.towers():
        for lower, upper in pairwise(tower):
            if upper != cloth:
                arm.move(upper, lower)
            if upper == dirty:
                arm.touch(cloth)
    delay = rng.choice((2, 2, 3))
    text = f'(always-within {delay} (holding {dirty}) (holding {cloth}))'
    return instance.constrained([text], arm.build())


@FAMILIES.add('at end', rules=(_THREE,))
def _place_at_end(rng: Random, instance: Instance) -> Instance:
    """A block that the goal does not name ends on the table, or off it.

    The goal is silent about one block; the constraint asks for a place it would not stay in.
    """
    block = rng.choice(TowerState.of(instance.goal).tops())
    instance = replace(instance, goal=tuple(a for a in instance.goal if a[1] != block))
    arm = TowerBuilder.at(instance)
    text = f'(on-table {block})'
    steps = arm.finish()
    if arm.at(instance).now.below[block] is None:
        arm.move(block, next(top for top in arm.now.tops() if top != block))
        text, steps = f'(not {text})', tuple(arm.steps)
    return instance.constrained([f'(at end {text})'], steps)


@FAMILIES.add('within', rules=(_THREE,))
def _stacked_within(rng: Random, instance: Instance) -> Instance | None:
    """A certain block is stacked on another one within a number of steps."""
    arm = TowerBuilder.at(instance)
    pairs = [
        (block, below)
        for below, block in arm.goal.above.items()
        if below not in (*arm.now.under(block), *arm.now.over(block))
    ]
    if not pairs:
        return None
    block, below = rng.choice(pairs)
    arm.uncover(block)
    arm.uncover(below)
    arm.move(block, below)
    deadline = len(arm.steps) + rng.randint(0, 1)
    return instance.constrained([f'(within {deadline} (on {block} {below}))'], arm.finish())


@FAMILIES.add('hold-during', rules=(_THREE,))
def _drying(rng: Random, instance: Instance) -> Instance | None:
    """A certain block is not touched during a time.

    Another block is lifted and put back until the wet one is dry.
    """
    arm = TowerBuilder.at(instance)
    tops = arm.now.tops()
    block = rng.choice(tops)
    others = [top for top in tops if top != block]
    if not others:
        return None
    end = rng.randint(3, 3 + len(instance.objects))
    while len(arm.steps) < end:
        arm.touch(others[0])
    text = f'(hold-during {rng.randint(0, 1)} {end} (not (holding {block})))'
    return instance.constrained([text], arm.finish())


@FAMILIES.add('hold-after', rules=(_FOUR,))
def _settled_after(rng: Random, instance: Instance) -> Instance | None:
    """A certain block is on the table from a certain step on."""
    arm = TowerBuilder.at(instance)
    choices = [block for block in arm.goal.bases() if arm.now.below[block]]
    if not choices:
        return None
    block = rng.choice(choices)
    arm.uncover(block)
    arm.move(block, None)
    text = f'(hold-after {len(arm.steps) + rng.randint(0, 1)} (on-table {block}))'
    return instance.constrained([text], arm.finish())
