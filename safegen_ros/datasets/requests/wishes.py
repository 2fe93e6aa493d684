# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The facts that a request wants, and the sentences for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from safegen_ros.datasets.requests.phrases import chosen, phrases
from safegen_ros.datasets.requests.scenes import AskedFact
from safegen_ros.datasets.requests.speech import Speech
from safegen_ros.pddl.model import Atom

_TRIES = 10
_ALREADY = 0.1  # share of the facts that are true and asked for all the same
_TALLEST = 6
_ANEW = 0.04  # share of the wishes that take the place of another one
_IT = ('it', 'it', 'that', 'that one')


class Wishes:
    """Grows part by part.

    Attributes:
        goal: what is wanted so far.
    """

    def __init__(self, speech: Speech) -> None:
        self.goal: list[Atom] = []
        self._speech = speech
        self._rng, self._scene = speech.rng, speech.scene
        self._busy: set[str] = set()  # objects of which something is wanted
        self._below: set[str] = set()  # blocks that something is to stand on
        self._last = ''  # the object that 'it' is

    @property
    def busy(self) -> frozenset[str]:
        """The objects of which something is wanted."""
        return frozenset(self._busy)

    def part(self) -> str:
        """Another part in words; empty where chance has found none."""
        shape = self._rng.random()
        if self._scene.blocks and not self.goal and shape < 0.3:
            return self._tower() if shape < 0.25 else self._spread()
        if shape > 0.95:
            return self._swapped()
        return self._several() if shape > 0.75 else self._single()

    def _single(self) -> str:
        rng = self._rng
        fact = rng.choice([*self._scene.facts.values()])
        atom = self._fitting(fact)
        if atom is None:
            return ''
        words = [self._speech.name(name, referred=True) for name in atom[1:]]
        if len(atom) == 4:
            words[2] = self._speech.hand(atom[3], atom[1])
        if self._scene.blocks and len(atom) == 3 and atom[2] == self._last and rng.random() < 0.6:
            words[1] = rng.choice(_IT)
        before = ''
        if len(atom) == 3 and rng.random() < _ANEW:
            others = [each for each in self._scene.objects[fact.takes[1]] if each not in atom]
            if others:
                wrong = [words[0], self._speech.name(rng.choice(others))]
                before = self._speech.wish(fact, wrong) + rng.choice(phrases()['anew'])
        self._want(atom)
        self._last = atom[1]
        return before + self._speech.wish(fact, words)

    def _swapped(self) -> str:
        """Two objects each in the place of the other."""
        rng, scene = self._rng, self._scene
        fact = rng.choice([*scene.facts.values()])
        true = sorted(a for a in scene.now if a[0] == fact.name and a[1] not in self._busy)
        if scene.blocks:
            able = [a for a in true if fact.name == 'on' and self._free(fact, (a[0], a[2], a[1]))]
            if not able:
                return ''
            name, over, under = rng.choice(able)
            self._want((name, under, over))
            called = self._speech.name(over), self._speech.name(under)
            return str(rng.choice(phrases()['flip'])).format(*called)
        if 'set0' not in fact.phrases or len(true) < 2:
            return ''
        one, other = rng.sample(true, 2)
        if one[2] == other[2]:
            return ''
        self._want((fact.name, one[1], other[2]))
        self._want((fact.name, other[1], one[2]))
        called = self._speech.name(one[1]), self._speech.name(other[1])
        return str(rng.choice(phrases()['swap'])).format(*called)

    def _fitting(self, fact: AskedFact) -> Atom | None:
        pools = [self._scene.objects.get(kind, []) for kind in fact.takes]
        if not all(pools):
            return None
        for _ in range(_TRIES):
            atom = (fact.name, *map(self._rng.choice, pools))
            new = atom not in self._scene.now or self._rng.random() < _ALREADY
            if new and self._free(fact, atom):
                return atom
        return None

    def _free(self, fact: AskedFact, atom: Atom) -> bool:
        """Whether a fact can be wanted beside the others."""
        if atom[1] in self._busy or len({*atom[1:]}) < len(atom) - 1:
            return False
        if fact.phrases.get('only') and any(other[0] == fact.name for other in self.goal):
            return False
        if len(atom) == 4 and atom[2] in self._busy:
            return False
        if not self._scene.blocks:
            return True
        if fact.name != 'on':
            return fact.name == 'on-table' or atom[1] not in self._below
        under = {other[1]: other[2] for other in self.goal if other[0] == 'on'}
        bottom = atom[2]
        while bottom in under:
            bottom = under[bottom]
        bare = {other[1] for other in self.goal if other[0] in ('clear', 'holding')}
        return bottom != atom[1] and atom[2] not in self._below | bare

    def _want(self, atom: Atom) -> None:
        self.goal.append(atom)
        self._busy.add(atom[1])
        if len(atom) == 4:  # a robot carries something
            self._busy.add(atom[2])
        if self._scene.blocks and atom[0] == 'on':
            self._below.add(atom[2])

    def _several(self) -> str:
        """The same of several objects."""
        rng, scene = self._rng, self._scene
        fact = rng.choice([*scene.facts.values()])
        if fact.phrases.get('only') or (scene.blocks and fact.name == 'on'):
            return ''
        pools = [scene.objects.get(kind, []) for kind in fact.takes]
        if not all(pools) or len(pools[0]) < 2:
            return ''
        others = [rng.choice(pool) for pool in pools[1:]]
        members, told = self._group(fact, pools[0], others)
        if not members:
            return ''
        for member in members:
            self._want((fact.name, member, *others))
        several = len(members) > 1 and not re.match('every|each|what|the whole', told)
        words = [told, *(self._speech.name(name, referred=True) for name in others)]
        return self._speech.wish(fact, words, several=several)

    def _group(
        self, fact: AskedFact, pool: Sequence[str], others: Sequence[str]
    ) -> tuple[Sequence[str], str]:
        """Objects of a kind, and how they are called together; none where chance has found none."""
        rng, scene = self._rng, self._scene
        free = [name for name in pool if self._free(fact, (fact.name, name, *others))]
        noun, shape = rng.choice(scene.nouns[fact.takes[0]]), rng.random()
        if shape < 0.3 and len(free) == len(pool) and (fact.name != 'clear' or not scene.blocks):
            kinds = {other.takes[0] for other in scene.facts.values()}
            fit = [each for each in phrases()['everything'] if 'KIND' in each or len(kinds) == 1]
            called = str(rng.choice(fit)).replace('KIND', noun)
            return pool, f'both {noun}s' if len(pool) == 2 and rng.random() < 0.5 else called
        if shape < 0.45:
            asked = {atom[1] for atom in self.goal}
            if 1 < len(free) < len(pool) and {*pool} - asked == {*free}:
                return free, rng.choice(phrases()['rest']).replace('KIND', noun)
            return [], ''
        if shape < 0.7 and 'set0' in fact.phrases:
            place = rng.choice(scene.objects[fact.takes[1]])
            there = [name for name in pool if (fact.name, name, place) in scene.now]
            told = chosen(rng, fact.phrases['set0']).format('', self._speech.name(place))
            fits = place not in others and {*there} <= {*free}
            return (there, told) if fits and ('both' not in told or len(there) == 2) else ([], '')
        if len(free) < 2:
            return [], ''
        some = rng.sample(free, rng.randint(2, min(4, len(free))))
        return some, self._speech.listed(some)

    def _tower(self) -> str:
        """Blocks on each other."""
        rng, pool = self._rng, self._scene.objects['object']
        if len(pool) < 2:
            return ''
        some = rng.sample(pool, rng.randint(2, min(_TALLEST, len(pool))))
        upwards = rng.random() < 0.5
        template = chosen(rng, phrases()['towers']['up' if upwards else 'down'])
        names = some if upwards else some[::-1]
        called = list(map(self._speech.name, names))
        table = '{t}' in template and rng.random() < 0.4
        joint = rng.choice(
            (', then ', ', ', ' and then ', f', {"on" if upwards else "under"} that ')
        )
        on = rng.choice((' on ', ' on top of '))
        text = template.format(
            called[0],
            joint.join(called[1:]),
            rng.choice((', '.join(called), self._speech.listed(names))),
            t=rng.choice((' on the table', ' standing on the table')) if table else '',
            chain=on.join(called[1:]),
        )
        if not table and rng.random() < 0.1:
            table = True
            text += f', with {self._speech.name(some[0])} on the table'
        if table:
            self._want(('on-table', some[0]))
        for under, over in pairwise(some):
            self._want(('on', over, under))
        if text.split()[0] in phrases()['building']:
            text = f'{chosen(rng, phrases()["asking"])} {text}'
        return text

    def _spread(self) -> str:
        """All blocks on the table."""
        for name in self._scene.objects['object']:
            self._want(('on-table', name))
        return str(self._rng.choice(phrases()['spread']))
