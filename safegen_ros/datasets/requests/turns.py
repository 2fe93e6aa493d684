# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Wishes as people turn them: by what is there now, in several sentences, by exceptions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from safegen_ros.datasets.requests.scenes import AskedFact, chosen, phrases
from safegen_ros.datasets.requests.wishes import TWICE, Wishes

_TURNED = 0.5  # share of the parts in one of the constructions below
_REARRANGED = 0.1  # share of the first parts about blocks that start from the stacks of now
_PLURAL = (
    ('should be', ''),
    ('must be', ''),
    ('has to be', ''),
    ('needs to be', ''),
    ('are', 'make sure'),
)
_PRONOUNS = {'man': ('him',), 'robot': ('it',)}


class TurnedWishes(Wishes):
    """Wishes in many constructions."""

    def part(self) -> str:
        """See `Wishes`."""
        if self._scene.blocks and not self.goal and self._rng.random() < _REARRANGED:
            ways = [self._turned_over, self._turned_over, self._upended, self._restacked]
            return self._rng.choice([*ways, self._replaced, self._exchanged])()
        if self._rng.random() > _TURNED:
            return super().part()
        turns = [
            self._topic, self._topic, self._rest, self._rest, self._same, self._all_but,
            self._exchanged, self._exchanged, self._as_now, self._mended, self._mended, self._many,
        ]  # fmt: skip
        if self._scene.pairs:
            turns += [self._pair, self._pair]
        if self._scene.blocks:
            turns += [self._column] * 5 + [self._tower] * 10
            turns += [self._rest, self._bare]
        return self._rng.choice(turns)()

    def _named(self, key: str, *words: str, **more: str) -> str:
        """A phrase of the files with its words."""
        return chosen(self._rng, phrases()[key]).format(*words, **more)

    def _said(self, fact: AskedFact, words: Sequence[str]) -> str:
        """A wish, mostly as short as it can be."""
        rng = self._rng
        if rng.random() < 0.4:
            return chosen(rng, fact.phrases['plain'], fact.number).format(*words)
        return self._speech.wish(fact, words)

    def _about_first(self) -> list[AskedFact]:
        """Facts about their first argument."""
        every = self._scene.facts.values()
        return [fact for fact in every if fact.takes and fact.phrases.get('about', 1) == 1]

    def _places(self) -> list[AskedFact]:
        """Facts of where a thing is, of which many things can be in one place."""
        facts = [fact for fact in self._scene.facts.values() if 'set0' in fact.phrases]
        return [fact for fact in facts if not fact.phrases.get('fixed')]

    def _topic(self) -> str:
        """A thing first, and its wish in the next sentence."""
        rng, speech = self._rng, self._speech
        fact = rng.choice(self._about_first())
        atom = self._fitting(fact)
        if atom is None:
            return ''
        thing = (rng.random() < 0.5 and speech.described(atom[1])) or speech.name(atom[1])
        it = rng.choice(_PRONOUNS.get(fact.takes[0], ('it', 'it', 'that one')))
        words = [it, *(speech.name(name, referred=True) for name in atom[2:])]
        self._want(atom)
        self._last = atom[1]
        told = self._named('topics', thing)
        if rng.random() < 0.3:
            words[0] = words[0].replace('him', 'he')
            return f'{told} {speech.state(fact, words, phrases()["modals"])}'
        return f'{told} {chosen(rng, phrases()["asking"])} {speech.deed(fact, words)}'

    def _rest(self) -> str:
        """Some of a kind, and then the rest of it."""
        rng, speech, scene = self._rng, self._speech, self._scene
        if scene.blocks:
            return self._rest_of_blocks()
        facts = self._places()
        if not facts or self.goal:
            return ''
        fact = rng.choice(facts)
        pool, places = scene.objects[fact.takes[0]], scene.objects[fact.takes[1]]
        if len(pool) < 2 or len(places) < 2:
            return ''
        here, there = rng.sample(places, 2)
        some, told = self._some(fact, pool)
        rest = [name for name in pool if name not in some]
        if not some or not rest:
            return ''
        for name in pool:
            self._want((fact.name, name, here if name in some else there))
        called = self._rest_name(rest, fact.takes[0])
        first = self._said(fact, [told, speech.name(here, referred=True)])
        if rng.random() < 0.5:
            second = chosen(rng, fact.phrases['plain'], fact.number)
            second = second.format(called, speech.name(there))
        else:
            second = speech.wish(fact, [called, speech.name(there)], several=len(rest) > 1)
        return first + str(rng.choice(phrases()['rest-joints'])) + second

    def _some(self, fact: AskedFact, pool: Sequence[str]) -> tuple[list[str], str]:
        """Some of a kind and what they are called."""
        rng, speech = self._rng, self._speech
        told = speech.references.several(fact.takes[0], pool) if rng.random() < 0.3 else ((), '')
        if told[0] and len(told[0]) < len(pool):
            return [*told[0]], told[1]
        place = rng.choice(self._scene.objects[fact.takes[1]])
        there = [name for name in pool if (fact.name, name, place) in self._scene.now]
        if there and rng.random() < 0.4:
            return there, self._set_name(fact, there, speech.name(place))
        some = rng.sample(pool, rng.randint(1, min(3, len(pool) - 1)))
        if len(some) == 1 and rng.random() < 0.6:
            return some, speech.described(some[0]) or speech.name(some[0])
        return some, speech.listed(some)

    def _rest_name(self, rest: Sequence[str], kind: str) -> str:
        noun = self._rng.choice(self._scene.nouns[kind])
        if len(rest) == 1:
            return self._named('rest-one').replace('KIND', noun)
        told = str(self._rng.choice(phrases()['rest'])).replace('KIND', noun)
        return told.replace('COUNT', self._speech.references.count(len(rest)))

    def _rest_of_blocks(self) -> str:
        """A stack, and the blocks that are not in it on the table."""
        rng, scene = self._rng, self._scene
        if self.goal:
            return ''
        first = rng.choice((self._tower, self._column, self._single))()
        if not first or not any(atom[0] == 'on' for atom in self.goal):
            return first
        mentioned = {name for atom in self.goal for name in atom[1:]}
        rest = [name for name in scene.objects['object'] if name not in mentioned]
        if not rest:
            return first
        called = self._rest_name(rest, 'object')
        lower = {atom[2] for atom in self.goal if atom[0] == 'on'}
        lower -= {atom[1] for atom in self.goal}
        if lower and rng.random() < 0.25:
            bottom = min(lower)
            rest.append(bottom)
            called += self._named('included', self._speech.name(bottom))
        for name in rest:
            self._want(('on-table', name))
        fact = scene.facts['on-table']
        if rng.random() < 0.5:
            second = chosen(rng, fact.phrases['plain']).format(called)
        else:
            second = self._speech.wish(fact, [called], several=len(rest) > 1)
        return first + str(rng.choice(phrases()['rest-joints'])) + second

    def _same(self) -> str:
        """What is wanted of a thing, and the same of another."""
        rng, speech, scene = self._rng, self._speech, self._scene
        fact = rng.choice(self._about_first())
        atom = self._fitting(fact)
        if fact.phrases.get('only') or atom is None or (scene.blocks and fact.name == 'on'):
            return ''
        others = [
            name for name in scene.objects[fact.takes[0]]
            if name != atom[1] and self._free(fact, (fact.name, name, *atom[2:]))
        ]  # fmt: skip
        if not others:
            return ''
        some = rng.sample(others, min(len(others), rng.choice((1, 1, 1, 2))))
        for name in (atom[1], *some):
            self._want((fact.name, name, *atom[2:]))
        told = self._said(fact, list(map(speech.name, atom[1:])))
        way = 'same-place' if len(some) == 1 and fact in self._places() else 'same'
        return told + self._named(rng.choice((way, 'same')), speech.listed(some))

    def _mended(self) -> str:
        """A wish with a wrong name, and the right one."""
        rng, speech = self._rng, self._speech
        fact = rng.choice([fact for fact in self._scene.facts.values() if fact.takes])
        atom = self._fitting(fact)
        if atom is None:
            return ''
        place = rng.randrange(len(fact.takes))
        pool = self._scene.objects[fact.takes[place]]
        others = [name for name in pool if name not in (*atom, *self._busy)]
        if not others:
            return ''
        words = list(map(speech.name, atom[1:]))
        right, wrong = words[place], speech.name(rng.choice(others))
        self._want(atom)
        if rng.random() < 0.5:
            words[place] = self._named('mended', wrong, right)
            return speech.wish(fact, words)
        words[place] = wrong
        return speech.wish(fact, words) + self._named('mending', wrong, right)

    def _many(self) -> str:
        """Two things first, and their wish in the next sentence."""
        rng, speech = self._rng, self._speech
        fact = rng.choice(self._about_first())
        if fact.phrases.get('only') or (self._scene.blocks and fact.name == 'on'):
            return ''
        atoms = [atom for _ in range(2) if (atom := self._fitting(fact))]
        atoms = [(fact.name, each[1], *atoms[0][2:]) for each in atoms]
        if len({*atoms}) < 2 or not all(self._free(fact, atom) for atom in atoms):
            return ''
        for atom in atoms:
            self._want(atom)
        told = self._named('topics-many', speech.listed([atom[1] for atom in atoms]))
        words = list(map(speech.name, atoms[0][2:]))
        they, them = (rng.choice(phrases()[key]) for key in ('they', 'them'))
        if rng.random() < 0.5:
            return f'{told} {speech.state(fact, [they, *words], _PLURAL, several=True)}'
        return f'{told} {chosen(rng, phrases()["asking"])} {speech.deed(fact, [them, *words])}'

    def _all_but(self) -> str:
        """All of a kind, with one or two exceptions."""
        rng, speech, scene = self._rng, self._speech, self._scene
        facts = [f for f in self._about_first() if not f.phrases.get('only')]
        facts = [f for f in facts if f.name == 'on-table' or not scene.blocks]
        if not facts:
            return ''
        fact = rng.choice(facts)
        pool = scene.objects[fact.takes[0]]
        if len(pool) < 3 or len(fact.takes) > 2:
            return ''
        out = rng.sample(pool, rng.choice((1, 1, 1, 2)))
        place = [rng.choice(scene.objects[kind]) for kind in fact.takes[1:]]
        atoms = [(fact.name, name, *place) for name in pool if name not in out]
        if not all(self._free(fact, atom) for atom in atoms):
            return ''
        for atom in atoms:
            self._want(atom)
        noun = rng.choice(scene.nouns[fact.takes[0]])
        told = self._named('all-but', ' and '.join(map(speech.name, out))).replace('KIND', noun)
        return self._said(fact, [told, *map(speech.name, place)])

    def _exchanged(self) -> str:
        """Two things each in the place of the other, mostly with what that means."""
        rng, speech, scene = self._rng, self._speech, self._scene
        facts = [scene.facts['on']] if scene.blocks else self._places()
        if not facts or self.goal:
            return ''
        fact = rng.choice(facts)
        pool = scene.objects[fact.takes[0]]
        true = sorted(a for a in scene.now if a[0] == fact.name and a[1] in pool)
        pairs = [(a, b) for a in true for b in true if not {*a[1:]} & {*b[1:]}]
        if not pairs:
            return ''
        one, other = rng.choice(pairs)
        self._want((fact.name, one[1], other[2]))
        self._want((fact.name, other[1], one[2]))
        told = self._named('swap', *(speech.name(a[1], referred=True) for a in (one, other)))
        if rng.random() < 0.5:
            return told + (self._named('swap-meaning') if rng.random() < 0.3 else '')
        details = [
            speech.state(fact, list(map(speech.name, words)), [('is', ''), ('ends up', '')])
            for words in ((one[1], other[2]), (other[1], one[2]))
        ]
        return told + self._named('meaning', *details)

    def _as_now(self) -> str:
        """A wish for a fact that is true already."""
        rng, scene = self._rng, self._scene
        able = [atom for atom in sorted(scene.now) if atom[0] in scene.facts and len(atom) > 1]
        atom = rng.choice(able) if able else ()
        if not atom or not self._free(scene.facts[atom[0]], atom):
            return ''
        self._want(atom)
        told = self._said(scene.facts[atom[0]], list(map(self._speech.name, atom[1:])))
        return told + str(rng.choice(phrases()['as-now']))

    def _column(self) -> str:
        """A tower block by block."""
        rng, speech, pool = self._rng, self._speech, self._scene.objects['object']
        if self.goal or len(pool) < 2:
            return ''
        some = rng.sample(pool, rng.randint(2, min(6, len(pool))))
        upwards = rng.random() < 0.55
        grounded = rng.random() < (0.6 if upwards else 0.2)
        names = some if upwards else some[::-1]
        called = list(map(speech.name, names))
        way = phrases()['columns']['up' if upwards else 'down']
        told = ''
        if rng.random() < 0.5:
            told = chosen(rng, way['head']) + ' '
        told += chosen(rng, way['first-down' if grounded and upwards else 'first'])
        told = told.format(called[0])
        for place, (before, name) in enumerate(pairwise(called), start=1):
            last = 1 < place == len(called) - 1
            step = chosen(rng, way['last' if last and rng.random() < 0.5 else 'next'])
            told += rng.choice((', ', ', ', ', then ', ' and ', ' and then ', '. then ', '; '))
            told += step.format(name, before)
        if grounded and not upwards:
            told += self._named('standing', called[-1])
        if grounded:
            self._want(('on-table', some[0]))
        elif rng.random() < TWICE:
            told += self._named('told-twice', *map(speech.name, (some[0], some[-1])))
        for under, over in pairwise(some):
            self._want(('on', over, under))
        return told

    def _bare(self) -> str:
        """Two blocks with nothing on them."""
        fact, pool = self._scene.facts['clear'], self._scene.objects['object']
        free = [name for name in pool if self._free(fact, ('clear', name))]
        if len(free) < 2:
            return ''
        some = self._rng.sample(free, 2)
        for name in some:
            self._want(('clear', name))
        return self._named('bare', *map(self._speech.name, some))

    def _restacked(self) -> str:
        """A block moved away from under another one, which comes back onto it."""
        speech, scene, rng = self._speech, self._scene, self._rng
        true = [atom for atom in sorted(scene.now) if atom[0] == 'on']
        if self.goal or not true:
            return ''
        _, over, under = rng.choice(true)
        target = rng.choice([*scene.objects['object'], ''])
        if target in (over, under):
            return ''
        self._want(('on', under, target) if target else ('on-table', under))
        self._want(('on', over, under))
        where = f'on {speech.name(target)}' if target else 'on the table'
        return self._named('restack', speech.name(over), speech.name(under), where)

    def _replaced(self) -> str:
        """A block where another one is now."""
        rng, scene = self._rng, self._scene
        true = [atom for atom in sorted(scene.now) if atom[0] == 'on']
        _, other, under = rng.choice(true) if true else ('', '', '')
        pool = [name for name in scene.objects['object'] if name not in (other, under)]
        if self.goal or not true or not pool:
            return ''
        name = rng.choice(pool)
        self._want(('on', name, under))
        return self._named('replaced', *map(self._speech.name, (name, other)))

    def _turned_over(self) -> str:
        """A whole stack the other way round, on the table."""
        speech, now = self._speech, self._scene.now
        low = sorted(atom[1] for atom in now if atom[0] == 'on-table')
        stack = [self._rng.choice(low)] if low else []
        over = {atom[2]: atom[1] for atom in now if atom[0] == 'on'}
        while stack and stack[-1] in over:
            stack.append(over[stack[-1]])
        if self.goal or len(stack) < 2:
            return ''
        self._want(('on-table', stack[-1]))
        for name, under in pairwise(stack):
            self._want(('on', name, under))
        called = list(map(speech.name, stack))
        every = f'{", ".join(called[:-1])} and {called[-1]}'
        return self._named('turned-over', low=called[0], top=called[-1], all=every)

    def _upended(self) -> str:
        """One or two stacks of two the other way round, with what that means."""
        rng, speech, scene = self._rng, self._speech, self._scene
        true = [atom for atom in sorted(scene.now) if atom[0] == 'on']
        low = {atom[1] for atom in scene.now if atom[0] == 'on-table'}
        able = [a for a in true if a[2] in low and ('clear', a[1]) in scene.now]
        if self.goal or not able:
            return ''
        some = rng.sample(able, min(len(able), rng.choice((1, 2))))
        told = []
        for _, over, under in some:
            self._want(('on', under, over))
            self._want(('on-table', over))
            told.append(self._named('upended', speech.name(over), speech.name(under)))
        head = self._named('upending-two' if len(some) == 2 else 'upending')
        return f'{head} {" and ".join(told)}'
