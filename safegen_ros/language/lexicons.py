# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How people speak of the built-in domains; any other domain is spoken of by its own words."""

from __future__ import annotations

from safegen_ros.language.lexicon import Lexicon, Way, generic
from safegen_ros.pddl.model import Domain
from safegen_ros.tasks.pddl3.domains import builtin_domain


def _ways(predicate: str, *texts: str, **more: object) -> tuple[Way, ...]:
    return tuple(Way(predicate, text, **more) for text in texts)  # type: ignore[arg-type]


_BLOCKSWORLD = Lexicon(
    (
        *_ways('clear', '{0} =be clear', 'clear {0}'),
        *_ways('on-table', '{0} =be on the table', '{0} =stand on the table'),
        *_ways('on-table', '{0} =lie on the table', 'put {0} on the table', 'put {0} down'),
        *_ways('on-table', 'put down {0}', 'place {0} on the table', 'set {0} on the table'),
        *_ways('on-table', 'move {0} to the table'),
        *_ways('on', '{0} =be on {1}', '{0} =be on top of {1}', '{0} =be directly on {1}'),
        *_ways('on', '{0} =stand on {1}', '{0} =sit on {1}', '{0} =lie on {1}', '{0} =rest on {1}'),
        *_ways('on', 'put {0} on {1}', 'put {0} on top of {1}', 'place {0} on {1}'),
        *_ways('on', 'stack {0} on {1}', 'stack {0} on top of {1}', 'move {0} onto {1}'),
        *_ways('on', 'set {0} on {1}', 'cover {1}'),
        *_ways('arm-empty', 'the arm =be empty', 'the hand =be empty', 'the robot =be empty'),
        *_ways('holding', 'the arm =hold {0}', 'the hand =hold {0}', '{0} =be in the hand'),
        *_ways('holding', 'hold {0}', 'pick up {0}', 'pick {0} up', 'lift {0}', 'grasp {0}'),
        *_ways('holding', 'take {0}', 'move {0}', 'touch {0}'),
    ),
    agents=('the robot', 'the arm'),
    nouns={'object': (('block', 'blocks'), ('cube', 'cubes'))},
)

_FERRY = Lexicon(
    (
        *_ways('at-ferry', 'the ferry =be at {0}', 'the boat =be at {0}'),
        *_ways('at-ferry', 'visit {0}', 'sail to {0}', 'go to {0}', 'call at {0}', passing=True),
        *_ways('at', '{0} =be at {1}', '{0} =stand at {1}'),
        *_ways('at', 'deliver {0} to {1}', 'bring {0} to {1}', 'take {0} to {1}'),
        *_ways('at', 'move {0} to {1}', 'unload {0} at {1}', 'debark {0} at {1}'),
        *_ways('at', 'leave {0} at {1}', 'drop {0} at {1}'),
        *_ways('at', 'deliver {0}', goal=1),
        *_ways('empty-ferry', 'the ferry =be empty', 'the boat =be empty', 'empty the ferry'),
        *_ways('on', '{0} =be on the ferry', '{0} =be on board', '{0} =be aboard'),
        *_ways('on', 'put {0} on the ferry', 'load {0}', 'board {0}', 'carry {0}', 'move {0}'),
        *_ways('on', 'take {0} on board'),
        *_ways('car', '{0} =be a car'),
        *_ways('location', '{0} =be a location'),
    ),
    agents=('the ferry', 'the boat'),
    nouns={
        'car': (('car', 'cars'), ('vehicle', 'vehicles')),
        'location': (('location', 'locations'), ('place', 'places'), ('port', 'ports')),
    },
    sorts={
        'at-ferry': {0: 'location'},
        'at': {0: 'car', 1: 'location'},
        'on': {0: 'car'},
    },
    where=(('empty-ferry', 'on'), Way('at-ferry', 'at {0}')),
)

_GRIPPERS = Lexicon(
    (
        *_ways('at-robby', '{0} =be in {1}', '{0} =be at {1}'),
        *_ways('at-robby', 'visit {1}', 'enter {1}', 'go to {1}', agent=0, passing=True),
        *_ways('at-robby', 'go into {1}', 'move to {1}', agent=0, passing=True),
        *_ways('at', '{0} =be in {1}', '{0} =lie in {1}', '{0} =be at {1}'),
        *_ways('at', 'bring {0} to {1}', 'take {0} to {1}', 'deliver {0} to {1}'),
        *_ways('at', 'move {0} to {1}', 'put {0} in {1}', 'put {0} into {1}', 'drop {0} in {1}'),
        *_ways('at', 'leave {0} in {1}', 'carry {0} to {1}'),
        *_ways('at', 'deliver {0}', goal=1),
        *_ways('free', '{1} of {0} =be free', '{1} of {0} =be empty', '{1} =be free'),
        *_ways('free', '{1} =be empty'),
        *_ways('carry', '{0} =carry {1} with {2}', '{1} =be held by {0}', '{1} =be held'),
        *_ways('carry', 'carry {1}', 'hold {1}', 'pick up {1}', 'pick {1} up', agent=0),
        *_ways('carry', 'lift {1}', 'grasp {1}', 'take {1}', 'move {1}', 'touch {1}', agent=0),
        *_ways('carry', 'carry {1} with {2}', 'carry {1} in {2}', 'hold {1} with {2}', agent=0),
        *_ways('carry', 'pick up {1} with {2}', 'hold {1} in {2}', 'use {2}', agent=0),
        *_ways('carry', '{1} =be carried by {0}', '{1} =be carried by {0} with {2}'),
        *_ways('carry', '{1} =be in {2}'),
    ),
    nouns={
        'object': (('object', 'objects'), ('ball', 'balls'), ('item', 'items')),
        'gripper': (('gripper', 'grippers'), ('hand', 'hands')),
    },
)

_SPANNER = Lexicon(
    (
        *_ways('at', '{0} =be at {1}', '{0} =be in {1}', '{0} =lie at {1}'),
        *_ways(
            'at', 'visit {1}', 'go to {1}', 'walk to {1}', 'enter {1}', 'pass {1}',
            agent=0, passing=True, types=((0, 'man'),),
        ),
        *_ways('carrying', '{0} =have {1}', '{1} =be carried by {0}'),
        *_ways('carrying', 'carry {1}', 'pick up {1}', 'pick {1} up', 'take {1}', agent=0),
        *_ways('carrying', 'hold {1}', agent=0),
        *_ways('useable', '{0} =be usable', '{0} =be useable'),
        *_ways('tightened', '{0} =be tight', 'tighten {0}', 'fix {0}'),
        *_ways('loose', '{0} =be loose'),
        *_ways('link', 'a path =lead from {0} to {1}'),
    ),
    agents=('the worker',),
    nouns={'man': (('worker', 'workers'), ('man', 'men'), ('robot', 'robots'))},
)  # fmt: skip

_LEXICONS = {
    'blocksworld': _BLOCKSWORLD,
    'ferry': _FERRY,
    'gripper-strips': _GRIPPERS,
    'spanner': _SPANNER,
}
"""By the first of the names of their domains."""


def lexicon(domain: Domain) -> Lexicon:
    """The lexicon of a domain: that of a built-in one with its types and predicates, or plain."""
    for name, found in _LEXICONS.items():
        ours = builtin_domain(name)
        if (ours.types, dict(ours.predicates)) == (domain.types, dict(domain.predicates)):
            return found
    return generic(domain)
