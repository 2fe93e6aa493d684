# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether a description means the problem that stands beside it.

Descriptions are understood from their words alone. What understands them shares nothing with what
writes them, and deals the objects in another order, so that whatever a description leaves out or
says wrongly shows as another problem.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from safegen_ros.pddl.model import And, Atom, AtomFormula, Problem
from safegen_ros.tasks.pddl3.dataset.failures import DatasetError
from safegen_ros.tasks.planetarium.dataset.heard_blocks import heard_blocks
from safegen_ros.tasks.planetarium.dataset.heard_floor import heard_floor
from safegen_ros.tasks.planetarium.dataset.heard_grippers import heard_grippers
from safegen_ros.tasks.planetarium.dataset.hearing import Objects
from safegen_ros.tasks.planetarium.domains import planetarium_domain
from safegen_ros.tasks.planetarium.equivalence import compare

_TEXT = re.compile(
    r'Given: (?P<objects>[^.]+)\. At the start: (?P<start>[^.]+)\. In the end: (?P<goal>[^.]+)\.'
)
_KIND = re.compile(r'(\d+) ([a-z]+?)s? \(([a-z]+)1(?: (?:to|and) ([a-z]+)(\d+))?\)')
_LINK = re.compile(r', | and ')

_Heard = Callable[[Sequence[str], Sequence[str], Objects], tuple[Iterable[Atom], Iterable[Atom]]]

_HEARD: Mapping[str, _Heard] = {
    'blocksworld': heard_blocks,
    'gripper': heard_grippers,
    'floor-tile': heard_floor,
}


def understood(text: str, domain_name: str) -> Problem:
    """The problem that a description means, without looking at any other.

    Raises:
        DatasetError: it does not say enough, or something that descriptions do not say.
    """
    found = _TEXT.fullmatch(text)
    if found is None:
        raise _error(text, 'has not the three parts of a description')
    objects = {}
    for kind in _LINK.split(_KIND.sub(lambda m: m.group().replace(' and ', ' to '),
                                      found['objects'])):  # fmt: skip
        said = _KIND.fullmatch(kind)
        if said is None or int(said[5] or 1) != int(said[1]) or (said[4] or said[3]) != said[3]:
            raise _error(kind, 'names other objects than it counts')
        objects[said[2]] = [f'{said[3]}{n}' for n in range(1, int(said[1]) + 1)]
    try:
        heard = _HEARD[domain_name](found['start'].split('; '), found['goal'].split('; '), objects)
    except (ValueError, IndexError, KeyError) as error:
        raise _error(text, f'cannot be understood ({error})') from error
    init, goal = map(list, heard)
    domain = planetarium_domain(domain_name)
    kinds = {
        name: kind if domain.types else 'object'
        for kind, names in objects.items()
        for name in names
    }
    strange = {name for atom in (*init, *goal) for name in atom[1:]} - kinds.keys()
    if strange:
        raise _error(text, f'speaks of {min(strange)}, which it does not name at first')
    formula = And(tuple(AtomFormula(atom[0], atom[1:]) for atom in goal))
    return Problem('understood', domain, kinds, frozenset(init), formula, ())


def check_description(text: str, problem: Problem, placeholder: bool) -> None:
    """Checks that a description means a problem.

    Args:
        text: the description.
        problem: what it should mean.
        placeholder: whether the objects in the goal are placeholders.

    Raises:
        DatasetError: it means another problem, or none.
    """
    heard = understood(text, problem.domain.name)
    if heard.init == problem.init and set(heard.goal_conjuncts()) == set(problem.goal_conjuncts()):
        return
    found = compare(problem, heard)
    if placeholder and not found.equivalent:
        found = compare(problem, heard, placeholder=True)
    if not found.equivalent:
        raise _error(text, f'does not mean the problem {problem.name} ({found.reason})')


def _error(text: str, what: str) -> DatasetError:
    return DatasetError(f'{text[:200]!r} {what}: mend the words or the problem')
