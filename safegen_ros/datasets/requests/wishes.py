# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The facts that a request wants, and the sentences for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from safegen_ros.datasets.requests.scenes import AskedFact, chosen, phrases
from safegen_ros.datasets.requests.speech import Speech
from safegen_ros.pddl.model import Atom

_TRIES = 10
_ALREADY = 0.1  # share of the facts that are true and asked for all the same
_RARE = 0.6  # share of the facts that are seldom asked for that are left out
_TALLEST = 6
_THREE = 0.4  # share of the towers of three that say where each block is
TWICE = 0.15  # share of the towers with an end named twice
_IT = ('it', 'it', 'that', 'that one')


class Wishes:
    """Grows part by part.

    Attributes:
        goal: what is wanted so far.
        denied: what must be false at last.
        rules: what the parts say about the way there, in PDDL3.
        steps: how many of them a rule may allow.
    """

    def __init__(self, speech: Speech) -> None:
        self.goal: list[Atom] = []
        self.denied: list[Atom] = []
        self.rules: list[str] = []
        self._speech = speech
        self._rng, self._scene = speech.rng, speech.scene
        self._busy: set[str] = set()  # objects of which something is wanted
        self._settled: set[tuple[str, str]] = set()  # what is, of which object
        self._below: set[str] = set()  # blocks that something is to stand on
        self._last = ''  # the object that 'it' is
        self.steps = self._rng.randint(4, 12)

    @property
    def busy(self) -> frozenset[str]:
        """The objects of which something is wanted."""
        return frozenset(self._busy)

    def part(self) -> str:
        """Another part in words; empty where chance has found none."""
        shape = self._rng.random()
        if self._scene.blocks and not self.goal and shape < 0.4:
            return self._tower() if shape < 0.36 else self._spread()
        if shape > 0.95 and self._scene.blocks:
            return self._flipped()
        if shape > 0.75:
            return self._several()
        return self._pair() if shape > 0.6 and self._scene.pairs else self._single()

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
        self._want(atom)
        self._last = atom[1] if fact.takes else ''
        return self._speech.wish(fact, words)

    def _flipped(self) -> str:
        """A block and the one on it the other way round."""
        on, scene = self._scene.facts['on'], self._scene
        true = [atom for atom in sorted(scene.now) if atom[0] == 'on' and atom[1] not in self._busy]
        able = [atom for atom in true if self._free(on, ('on', atom[2], atom[1]))]
        if not able:
            return ''
        _, over, under = self._rng.choice(able)
        self._want(('on', under, over))
        called = self._speech.name(over), self._speech.name(under)
        return str(self._rng.choice(phrases()['flip'])).format(*called)

    def _fitting(self, fact: AskedFact) -> Atom | None:
        pools = [self._scene.objects.get(kind, []) for kind in fact.takes]
        if not all(pools) or (fact.phrases.get('rare') and self._rng.random() < _RARE):
            return None
        for _ in range(_TRIES):
            atom = (fact.name, *map(self._rng.choice, pools))
            new = atom not in self._scene.now or self._rng.random() < _ALREADY
            if new and self._free(fact, atom):
                return atom
        return None

    def _free(self, fact: AskedFact, atom: Atom) -> bool:
        """Whether a fact can be wanted beside the others."""
        if self._settles(fact, atom) & self._settled or len({*atom[1:]}) < len(atom) - 1:
            return False
        wanted = {other[0] for other in self.goal}
        if (fact.phrases.get('only') and fact.name in wanted) or fact.phrases.get('not') in wanted:
            return False
        if 'gripper' in fact.takes:
            hands = {other[1:] for other in self._scene.now if other[0] == 'free'}
            return (atom[1], atom[-1]) in hands
        if not self._scene.blocks or not fact.takes:
            return True
        if fact.name != 'on':
            other = {'clear': 'holding', 'holding': 'clear'}.get(fact.name, '')
            free = (other, atom[1]) not in self.goal and atom[1] not in self._below
            return fact.name == 'on-table' or free
        under = {other[1]: other[2] for other in self.goal if other[0] == 'on'}
        bottom = atom[2]
        while bottom in under:
            bottom = under[bottom]
        bare = {other[1] for other in self.goal if other[0] in ('clear', 'holding')}
        return bottom != atom[1] and atom[2] not in self._below | bare

    def _settles(self, fact: AskedFact, atom: Atom) -> set[tuple[str, str]]:
        """The slots that a fact fills, each with its object."""
        if not fact.takes:
            return {(fact.name, '')}
        about = (str(fact.phrases.get('slot', 'place')), atom[int(fact.phrases.get('about', 1))])
        return {about, ('hand', atom[3])} if len(atom) == 4 else {about}

    def _want(self, atom: Atom) -> None:
        fact = self._scene.facts[atom[0]]
        self.goal.append(atom)
        self._settled |= self._settles(fact, atom)
        self._busy |= {*atom[1:2], *atom[fact.phrases.get('about', 1) :][:1]}
        if self._scene.blocks and atom[0] == 'on':
            self._below.add(atom[2])

    def _pair(self) -> str:
        """Several facts of the same objects in one sentence."""
        rng, scene = self._rng, self._scene
        pair = rng.choice(scene.pairs)
        pools = [scene.objects.get(kind, []) for kind in pair['takes']]
        if not all(pools) or self._below:
            return ''
        for _ in range(_TRIES):
            names = list(map(rng.choice, pools))
            atoms = [(fact, *(names[place] for place in places)) for fact, *places in pair['facts']]
            places = pair['takes'].count('location') + pair['takes'].count('room')
            if (places > 1 or len({*names}) == len(names)) and self._fit(atoms):
                break
        else:
            return ''
        for atom in atoms:
            self._want(atom)
        self._last = names[0]
        words = [self._speech.name(name, referred=len(names) < 4) for name in names]
        for atom, (_, *places) in zip(atoms, pair['facts'], strict=True):
            if len(atom) == 4:
                words[places[2]] = self._speech.hand(atom[3], atom[1])
        told = self._speech.wish(AskedFact('', tuple(pair['takes']), pair), words)
        return self._both(told, pair['takes'], names, words)

    def _both(
        self, told: str, takes: Sequence[str], names: Sequence[str], words: Sequence[str]
    ) -> str:
        """Words in which the only two of a kind are sometimes called both of them."""
        if self._rng.random() < 0.5:
            return told
        for place, kind in enumerate(takes[:-1]):
            pool = self._scene.objects[kind]
            if kind == 'gripper':
                pool = [atom[2] for atom in self._scene.now if atom[:2] == ('free', names[0])]
            if takes[place + 1] == kind and sorted(names[place : place + 2]) == sorted(pool):
                noun = self._rng.choice(self._scene.nouns[kind])
                both = chosen(self._rng, phrases()['both']).replace('KIND', noun)
                two = f'{words[place]} and {words[place + 1]}'
                told = told.replace(f'both {two}', both).replace(two, both)
        return told

    def _fit(self, atoms: Sequence[Atom]) -> bool:
        """Whether facts can be wanted together, and are not all true."""
        facts = [self._scene.facts[atom[0]] for atom in atoms]
        settled = [self._settles(fact, atom) for fact, atom in zip(facts, atoms, strict=True)]
        return (
            all(map(self._free, facts, atoms))
            and len(set[tuple[str, str]]().union(*settled)) == sum(map(len, settled))
            and not {*atoms} <= self._scene.now
        )

    def _several(self) -> str:
        """The same of several objects."""
        rng, scene = self._rng, self._scene
        fact = rng.choice([*scene.facts.values()])
        if fact.phrases.get('only') or len(fact.takes) > 2 or (scene.blocks and fact.name == 'on'):
            return ''
        pools = [scene.objects.get(kind, []) for kind in fact.takes]
        about = fact.phrases.get('about', 1) - 1
        if not all(pools) or len(pools[about]) < 2:
            return ''
        atom = (fact.name, *map(rng.choice, pools))
        members, told = self._group(fact, atom, about)
        if not members:
            return ''
        words = [self._speech.name(name, referred=True) for name in atom[1:]]
        words[about] = told
        for member in members:
            self._want(_with(atom, about, member))
        if (
            len(members) == len(pools[about])
            and 'everything' in fact.phrases
            and rng.random() < 0.3
        ):
            return chosen(rng, fact.phrases['everything'])
        several = not about and len(members) > 1
        several = several and not re.match('every|each|any|what|the whole', told)
        return self._speech.wish(fact, words, several=several)

    def _group(self, fact: AskedFact, atom: Atom, about: int) -> tuple[Sequence[str], str]:
        """Objects of a kind, and how they are called together; none where chance has found none.

        Args:
            about: the argument of the atom that they take the place of.
        """
        rng, scene = self._rng, self._scene
        pool = scene.objects[fact.takes[about]]
        others = [name for name in atom[1:] if name != atom[about + 1]]
        free = [name for name in pool if self._free(fact, _with(atom, about, name))]
        noun, shape = rng.choice(scene.nouns[fact.takes[about]]), rng.random()
        if shape < 0.3 and len(free) == len(pool) and (fact.name != 'clear' or not scene.blocks):
            kinds = {other.takes[0] for other in scene.facts.values() if other.takes}
            fit = [each for each in phrases()['everything'] if 'KIND' in each or len(kinds) == 1]
            fit = [each for each in fit if 'COUNT' not in each or len(pool) > 1]
            called = str(rng.choice(fit)).replace('KIND', noun)
            called = called.replace('COUNT', self._speech.references.count(len(pool)))
            two = len(pool) == 2 and ('all two' in called or rng.random() < 0.5)
            return pool, f'both {noun}s' if two else called
        if shape < 0.5 and (said := self._speech.references.several(fact.takes[about], free))[0]:
            return said
        if shape < 0.6:
            if 1 < len(free) < len(pool) and {*pool} - self._busy == {*free}:
                told = str(rng.choice(phrases()['rest'])).replace('KIND', noun)
                return free, told.replace('COUNT', self._speech.references.count(len(free)))
            return [], ''
        if shape < 0.75 and not about and 'set0' in fact.phrases:
            place = rng.choice(scene.objects[fact.takes[1]])
            there = [name for name in pool if (fact.name, name, place) in scene.now]
            if place in others or not there or not {*there} <= {*free}:
                return [], ''
            return there, self._set_name(fact, there, self._speech.name(place))
        if len(free) < 2:
            return [], ''
        some = rng.sample(free, rng.randint(2, min(4, len(free))))
        return some, self._speech.listed(some)

    def _set_name(self, fact: AskedFact, there: Sequence[str], place: str) -> str:
        """What the objects at a place are called together."""
        fit = [*fact.phrases['set0'], *phrases()['sets']]
        if len(there) == 1:
            fit = [each for each in fact.phrases.get('at0', fit) if 'COUNT' not in each]
        told = chosen(self._rng, fit)
        if 'both' in told and len(there) != 2:
            told = told.replace('both', 'all', 1)
        noun = self._rng.choice(self._scene.nouns[fact.takes[0]])
        told = told.replace('COUNT', self._speech.references.count(len(there)))
        return told.replace('all two', 'both').replace('KIND', noun).format('', place)

    def _tower(self) -> str:
        """Blocks on each other."""
        rng, pool = self._rng, self._scene.objects['object']
        if self.goal or len(pool) < 2:
            return ''
        most = min(_TALLEST, len(pool))
        some = rng.sample(pool, most if rng.random() < 0.25 else rng.randint(2, most))
        way = rng.choice(('up', 'down'))
        names = some if way == 'up' else some[::-1]
        called = list(map(self._speech.name, names))
        towers = phrases()['towers']
        three = len(some) == 3 and rng.random() < _THREE
        template = chosen(rng, towers['three' if three else way])
        table = '{t}' in template and rng.random() < 0.4
        chain = chosen(rng, towers[f'chains-{way}'])
        joint = chosen(rng, towers[f'joints-{way}'])
        last = rng.choice((joint, ' and ', ', and finally '))
        text = template.format(
            called[0],
            joint.join(called[1:-1]) + (last if called[2:] else '') + called[-1],
            ', '.join(called[:-1]) + rng.choice((', ', ' and ', ', and ')) + called[-1],
            t=rng.choice((' on the table', ' standing on the table')) if table else '',
            chain=chain.join(called),
            low=called[0 if way == 'up' else -1],
            middle=called[1],
            top=called[-1 if way == 'up' else 0],
        )
        if not table and rng.random() < 0.25:
            table = True
            fit = [each for each in phrases()['standing'] if '{0}' in each]
            text += chosen(rng, fit).format(self._speech.name(some[0]))
        if table:
            self._want(('on-table', some[0]))
        for under, over in pairwise(some):
            self._want(('on', over, under))
        if not table and 'order' not in text and rng.random() < TWICE:
            ends = map(self._speech.name, (some[0], some[-1]))
            text += chosen(rng, phrases()['told-twice']).format(*ends)
        if len(some) == len(pool) > 2 and rng.random() < 0.3:
            told = chosen(rng, phrases()['tower-all']).replace('KIND', 'block')
            return told.replace('COUNT', self._speech.references.count(len(some))) + text
        if text.split()[0] in phrases()['building']:
            text = f'{chosen(rng, phrases()["asking"])} {text}'
        return text

    def _spread(self) -> str:
        """All blocks on the table."""
        for name in self._scene.objects['object']:
            self._want(('on-table', name))
        return str(self._rng.choice(phrases()['spread']))


def _with(atom: Atom, place: int, name: str) -> Atom:
    """An atom with another argument, counted from 0."""
    return (*atom[: place + 1], name, *atom[place + 2 :])
