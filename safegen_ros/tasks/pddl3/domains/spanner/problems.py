# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Random Spanner problems and the plans that solve them, all of which walk the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from safegen_ros.pddl.model import Atom, Problem
from safegen_ros.pddl.plan import Step
from safegen_ros.tasks.pddl3.domains.kit import Instance, Size

WORKER = 'bob'


def draw(rng: Random, size: Size) -> Instance:
    """Spanners at random locations between the shed and the gate, loose nuts at the gate."""
    spanners = [f'spanner{number + 1}' for number in range(size['spanners'])]
    nuts = [f'nut{number + 1}' for number in range(size['nuts'])]
    places = [f'location{number + 1}' for number in range(size['locations'])]
    init: list[Atom] = [('at', WORKER, 'shed')]
    for spanner in spanners:
        init += [('at', spanner, rng.choice(places)), ('useable', spanner)]
    for nut in nuts:
        init += [('at', nut, 'gate'), ('loose', nut)]
    init += [('link', start, end) for start, end in pairwise(['shed', *places, 'gate'])]
    goal: list[Atom] = [('tightened', nut) for nut in nuts]
    objects = [(WORKER, 'man')]
    objects += [(spanner, 'spanner') for spanner in spanners] + [(nut, 'nut') for nut in nuts]
    objects += [(place, 'location') for place in (*places, 'shed', 'gate')]
    return Instance(tuple(objects), tuple(init), tuple(goal))


def measure(problem: Problem) -> dict[str, int]:
    """The size of a problem; the shed and the gate are not locations of its size."""
    kinds = list(problem.objects.values())
    return {
        'spanners': kinds.count('spanner'),
        'nuts': kinds.count('nut'),
        'locations': max(0, kinds.count('location') - 2),
    }


@dataclass(frozen=True, slots=True)
class SpannerWalk:
    """An instance as the worker sees it.

    Attributes:
        places: from the shed to the gate.
        spanners: where each one lies.
    """

    places: tuple[str, ...]
    spanners: dict[str, str]
    nuts: tuple[str, ...]

    @property
    def arrival(self) -> int:
        """Steps until the worker stands at the gate with as many spanners as nuts."""
        return len(self.places) - 1 + len(self.nuts)

    def choose(self, rng: Random, *wanted: str, never: str = '', more: int = 0) -> list[str]:
        """Spanners to collect, in random order."""
        others = [s for s in self.spanners if s not in wanted and s != never]
        count = len(self.nuts) + more - len(wanted)
        return rng.sample([*wanted, *rng.sample(others, count)], count + len(wanted))

    def steps(self, spanners: Sequence[str], nuts: Sequence[str]) -> tuple[Step, ...]:
        """The plan that collects spanners and tightens nuts, both in the given order.

        The spanners of a location are taken in their order; the first spanner is used first.
        """
        found = []
        for place, following in pairwise((*self.places, '')):
            for spanner in spanners:
                if self.spanners[spanner] == place:
                    found.append(Step('pickup_spanner', (place, spanner, WORKER)))
            if following:
                found.append(Step('walk', (place, following, WORKER)))
        for nut, spanner in zip(nuts, spanners, strict=False):
            found.append(Step('tighten_nut', (self.places[-1], spanner, WORKER, nut)))
        return tuple(found)


def walk(instance: Instance) -> SpannerWalk:
    """The instance's atoms, by their meaning."""
    links = [atom for atom in instance.init if atom[0] == 'link']
    places = {atom[1]: atom[2] for atom in instance.init if atom[0] == 'at'}
    return SpannerWalk(
        places=(links[0][1], *(atom[2] for atom in links)),
        spanners={atom[1]: places[atom[1]] for atom in instance.init if atom[0] == 'useable'},
        nuts=tuple(atom[1] for atom in instance.goal),
    )


def direct_steps(rng: Random, instance: Instance) -> tuple[Step, ...]:
    """A sensible plan: as many spanners as nuts, used in random order."""
    scene = walk(instance)
    return scene.steps(scene.choose(rng), rng.sample(scene.nuts, len(scene.nuts)))
