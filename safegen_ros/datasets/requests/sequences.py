# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Wishes with an order, a detour, a correction, or something that has to end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from safegen_ros.datasets.requests.scenes import AskedFact, chosen, phrases
from safegen_ros.datasets.requests.turns import TurnedWishes
from safegen_ros.pddl.model import Atom
from safegen_ros.pddl.writer import atom_text

_SEQUENCED = 0.3  # share of the parts in one of the constructions below
_ALIKE = 0.6  # share of the orders whose things go to one place
_LONELY = 0.7  # share of the ends that are left out where there is one of a kind
_LASTS = ('clear', 'free', 'loose', 'useable', 'arm-empty')  # their end is never asked for


class SequencedWishes(TurnedWishes):
    """All kinds of wishes."""

    def part(self) -> str:
        """See `Wishes`."""
        if self._rng.random() > _SEQUENCED:
            return super().part()
        turns = [
            self._in_order, self._in_order, self._in_order, self._detour, self._retold,
            self._retold, self._gone, self._gone, self._other_of_two, self._stays_put, self._joined,
            self._moved, self._moved,
        ]  # fmt: skip
        if self._scene.ruled:
            turns += [self._before_others]
        if self._scene.blocks:
            turns += [self._two_towers, self._piecewise, self._piecewise]
        else:
            turns += [self._contents]
        return self._rng.choice(turns)()

    def _plainly(self, fact: AskedFact, words: Sequence[str]) -> str:
        return chosen(self._rng, fact.phrases['plain'], fact.number).format(*words)

    def _new(self, fact: AskedFact) -> Atom | None:
        """A fact that can be wanted and is not true yet."""
        atom = self._fitting(fact)
        return None if atom in self._scene.now else atom

    def _before(self, late: Atom, early: Atom) -> None:
        self.rules.append(f'(sometime-before {atom_text(late)} {atom_text(early)})')

    def _in_order(self) -> str:
        """Two or three things of which the same is wanted, one before the other."""
        rng, speech = self._rng, self._speech
        fact = rng.choice(self._about_first())
        one = self._new(fact)
        if fact.phrases.get('only') or fact.phrases.get('fixed') or one is None:
            return ''
        alike = rng.random() < _ALIKE and (not self._scene.blocks or fact.name != 'on')
        alike = alike or len(one) == 2
        found = [one]
        self._want(one)
        for _ in range(rng.choice((1, 1, 2))):
            other = self._new(fact)
            if other and alike:
                other = (fact.name, other[1], *one[2:])
            if other and other not in self._scene.now and self._free(fact, other):
                found.append(other)
                self._want(other)
        if len(found) == 1:
            return self._said(fact, list(map(speech.name, one[1:])))
        mentioned = rng.sample(found, len(found))
        first, *later = found
        names = [speech.name(atom[1]) for atom in found]
        if len(found) == 2:
            self._before(later[0], first)
            words = [list(map(speech.name, atom[1:])) for atom in found]
            if rng.random() < 0.4:
                fit = [p for p in phrases()['first-then'] if alike or '{1}' not in p]
                deeds = [speech.deed(fact, each) for each in words]
                return chosen(rng, fit).format(deeds[0], names[1], deeds[1])
            if rng.random() < 0.3:
                behind = self._named(
                    'in-order-said' if first == mentioned[0] else 'in-order-turned'
                )
            else:
                behind = self._named('in-order', *names)
        elif rng.random() < 0.5:
            for early, late in pairwise(found):
                self._before(late, early)
            behind = self._named('in-order-three', *names)
        else:
            for late in later:
                self._before(late, first)
            behind = self._named('in-order-one', names[0])
        if not alike:
            each = [self._plainly(fact, list(map(speech.name, atom[1:]))) for atom in mentioned]
            return (
                f'{", ".join(each[:-1])}{rng.choice((" and ", ", ", ", and "))}{each[-1]}{behind}'
            )
        listed = speech.listed([atom[1] for atom in mentioned])
        pool = self._scene.objects[fact.takes[0]]
        if len(pool) == len(found) and rng.random() < 0.6:
            told = rng.choice(('both KINDs' if len(pool) == 2 else 'all three KINDs', 'all KINDs'))
            listed = told.replace('KIND', rng.choice(self._scene.nouns[fact.takes[0]]))
        where = list(map(speech.name, one[2:]))
        return speech.wish(fact, [listed, *where], several=True) + behind

    def _before_others(self) -> str:
        """A wish that comes before anything is done with all else of a kind."""
        able = [each for each in self._scene.ruled if each.get('mover') == 0 and 'all' not in each]
        facts = [fact for fact in self._about_first() if not fact.phrases.get('fixed')]
        ruled, fact = self._rng.choice(able) if able else None, self._rng.choice(facts)
        atom = self._new(fact)
        if ruled is None or atom is None:
            return ''
        takes = self._scene.facts[ruled['fact']].takes
        others = [name for name in self._scene.objects[takes[0]] if name != atom[1]]
        if not others or len(takes) > 1:
            return ''
        self._want(atom)
        for name in others:
            self._before((ruled['fact'], name), atom)
        deed = self._speech.deed(fact, list(map(self._speech.name, atom[1:])))
        noun = self._rng.choice(self._scene.nouns[takes[0]])
        touch = chosen(self._rng, ruled['deeds']).format(f'any other {noun}')
        return self._named('before-others', deed, touch)

    def _detour(self) -> str:
        """A thing that has to be somewhere else before it is where it is wanted."""
        rng, speech, scene = self._rng, self._speech, self._scene
        facts = [fact for fact in self._about_first() if len(fact.takes) == 2]
        facts = [f for f in facts if not f.phrases.get('only') and not f.phrases.get('fixed')]
        fact = rng.choice(facts) if facts else None
        atom = self._new(fact) if fact else None
        if fact is None or atom is None:
            return ''
        other = fact
        first: Atom = (fact.name, atom[1], rng.choice(scene.objects[fact.takes[1]]))
        if scene.blocks and rng.random() < 0.5:
            other, first = scene.facts['on-table'], ('on-table', atom[1])
        if first in scene.now or first == atom or len({*first}) < len(first):
            return ''
        self._want(atom)
        self._last = atom[1]
        self._before(atom, first)
        name = speech.name(atom[1], referred=True)
        it = 'he' if scene.kind(atom[1]) == 'man' else 'it'
        where, via = (list(map(speech.name, each[2:])) for each in (atom, first))
        if rng.random() < 0.3:
            deeds = (
                speech.deed(other, [name, *via]),
                speech.deed(fact, [it.replace('he', 'him'), *where]),
            )
            fit = [p for p in phrases()['first-then'] if '{1}' not in p and p[1] != '2']
            return chosen(rng, fit).format(deeds[0], '', deeds[1])
        must = [('must be', ''), ('has to be', ''), ('should be', ''), ('must have been', '')]
        told = self._said(fact, [name, *where])
        if not told.find(name) < told.find(where[0]):  # 'it' would be the other one
            it = name
        s0 = speech.state(other, [it, *via], must)
        d0 = speech.deed(other, [it.replace('he', 'him') if it == 'he' else it, *via])
        return told + self._named('detour', d0=d0, s0=s0)

    def _retold(self) -> str:
        """A wish that is taken back, and the right one."""
        rng, speech = self._rng, self._speech
        fact = rng.choice([fact for fact in self._scene.facts.values() if fact.takes])
        atom = self._fitting(fact)
        if atom is None or len(atom) > 3:
            return ''
        wrong = list(atom[1:])
        for place in rng.sample(range(len(wrong)), rng.randint(1, len(wrong))):
            wrong[place] = rng.choice(self._scene.objects[fact.takes[place]])
        if (fact.name, *wrong) in (atom, *self.goal) or len({*wrong}) < len(wrong):
            return ''
        self._want(atom)
        words = list(map(speech.name, atom[1:]))
        right = self._plainly(fact, words) if rng.random() < 0.7 else speech.wish(fact, words)
        return self._said(fact, list(map(speech.name, wrong))) + self._named('retold') + right

    def _gone(self) -> str:
        """What is true and has to end."""
        rng, speech, scene = self._rng, self._speech, self._scene
        facts = [f for f in self._about_first() if f.name not in _LASTS]
        facts = [f for f in facts if not f.phrases.get('only') and not f.phrases.get('fixed')]
        able = [
            atom
            for fact in facts
            for atom in sorted(scene.now)
            if atom[0] == fact.name and atom[1] in scene.objects[fact.takes[0]]
            if not self._settles(fact, atom) & self._settled and atom[1] not in self._busy
        ]
        atom = rng.choice(able) if able else ()
        if not atom or (len(scene.objects[scene.kind(atom[1])]) == 1 and rng.random() < _LONELY):
            return ''
        fact = scene.facts[atom[0]]
        members, told = [atom[1]], speech.name(atom[1])
        same = [each[1] for each in able if (each[0], *each[2:]) == (atom[0], *atom[2:])]
        if len(same) > 1 and rng.random() < 0.6:
            members = rng.sample(same, rng.randint(2, min(3, len(same))))
            told = ''
            pool = [each for each in scene.now if each[0] == atom[0] and each[2:] == atom[2:]]
            if len(members) == len(pool) and 'set0' in fact.phrases and rng.random() < 0.7:
                told = self._set_name(fact, members, speech.name(atom[2]))
        for name in members:
            gone = (atom[0], name, *atom[2:])
            self.denied.append(gone)
            self._settled |= self._settles(fact, gone)
            self._busy.add(name)
        be, before, behind = rng.choice(phrases()['gone'])
        joint = ' or ' if be == 'to be' else ' and '  # 'I do not want both' denies one of them
        told = told or joint.join(map(speech.name, members))
        several = len(members) > 1 and not told.startswith(('every', 'each', 'any', 'what'))
        words = [told, *map(speech.name, atom[2:])]
        told = speech.state(fact, words, [(be, before)], several=several)
        return f'{told} {behind}{self._named("elsewhere") if len(atom) > 2 else ""}'

    def _other_of_two(self) -> str:
        """The other one of only two."""
        fact = self._rng.choice(self._about_first())
        atom = self._fitting(fact)
        pool = self._scene.objects[fact.takes[0]]
        two: Sequence[str] = pool
        before = ''
        if len(pool) > 2:
            two, told = self._speech.references.pair(fact.takes[0])
            before = f'of {told} , '
        if atom is None or atom[1] not in two or len(two) != 2 or {*atom[2:]} & {*two}:
            return ''
        self._want(atom)
        self._last = atom[1]
        other = self._speech.name(next(name for name in two if name != atom[1]))
        told = self._named('other-of-two', other)
        told = told.replace('KIND', self._rng.choice(self._scene.nouns[fact.takes[0]]))
        return before + self._speech.wish(fact, [told, *map(self._speech.name, atom[2:])])

    def _joined(self) -> str:
        """A thing to where all others of its kind are."""
        rng, facts = self._rng, [f for f in self._places() if not self._scene.blocks]
        if not facts:
            return ''
        fact = rng.choice(facts)
        pool = self._scene.objects[fact.takes[0]]
        where = {a[1]: a[2] for a in self._scene.now if a[0] == fact.name and a[1] in pool}
        able = [
            n
            for n in where
            if len(pool) > 2 and len({where[o] for o in pool if o in where and o != n}) == 1
        ]
        if not able or len(where) != len(pool):
            return ''
        name = rng.choice(sorted(able))
        atom = (fact.name, name, where[next(other for other in pool if other != name)])
        if atom in self._scene.now or not self._free(fact, atom):
            return ''
        self._want(atom)
        told = self._named('where-others').replace(
            'KIND', rng.choice(self._scene.nouns[fact.takes[0]])
        )
        told = told.replace('COUNT', self._speech.references.count(len(pool) - 1))
        return self._speech.wish(fact, [self._speech.name(name, referred=True), told])

    def _moved(self) -> str:
        """A thing from where it is to somewhere else."""
        rng, speech = self._rng, self._speech
        facts = [self._scene.facts['on']] if self._scene.blocks else self._places()
        fact = rng.choice(facts) if facts else None
        atom = self._new(fact) if fact else None
        if fact is None or atom is None:
            return ''
        here = next((a[2] for a in self._scene.now if a[:2] == atom[:2] and len(a) == 3), '')
        if not here or self._scene.kind(atom[1]) != fact.takes[0]:
            return ''
        words = [*map(speech.name, (atom[1], here, atom[2]))]
        table = (
            self._scene.blocks
            and rng.random() < 0.3
            and self._free(self._scene.facts['on-table'], ('on-table', atom[1]))
        )
        if table:
            atom, words[2] = ('on-table', atom[1]), 'the table'
        self._want(atom)
        self._last = atom[1]
        told = self._named('moved-block' if self._scene.blocks else 'moved', *words)
        return f'{chosen(rng, phrases()["asking"])} {told}' if rng.random() < 0.5 else told

    def _stays_put(self) -> str:
        """All of a kind where each of them is now."""
        facts = [f for f in self._places() if not self._scene.blocks]
        if not facts:
            return ''
        fact = self._rng.choice(facts)
        pool = self._scene.objects[fact.takes[0]]
        true = [a for a in sorted(self._scene.now) if a[0] == fact.name and a[1] in pool]
        if len(pool) < 2 or len(true) != len(pool) or not all(self._free(fact, a) for a in true):
            return ''
        for atom in true:
            self._want(atom)
        noun = self._rng.choice(self._scene.nouns[fact.takes[0]])
        return self._named('stays-put').replace('KIND', noun)

    def _contents(self) -> str:
        """The things of two places, each at the other place."""
        facts = self._places()
        if self.goal or not facts:
            return ''
        fact = self._rng.choice(facts)
        pool, places = (self._scene.objects[kind] for kind in fact.takes)
        crowds = {p: [n for n in pool if (fact.name, n, p) in self._scene.now] for p in places}
        full = [place for place in places if crowds[place]]
        if len(full) < 2 or len({*pool} & {*places}) > 0:
            return ''
        here, there = self._rng.sample(full, 2)
        for name in pool:
            if name in crowds[here] or name in crowds[there]:
                self._want((fact.name, name, there if name in crowds[here] else here))
        told = self._named('contents', *map(self._speech.name, (here, there)))
        return told.replace('KIND', self._rng.choice(self._scene.nouns[fact.takes[0]]))

    def _two_towers(self) -> str:
        """Two towers beside each other."""
        rng, pool = self._rng, self._scene.objects['object']
        if self.goal or len(pool) < 4:
            return ''
        some = rng.sample(pool, rng.randint(4, min(6, len(pool))))
        cut = rng.randint(2, len(some) - 2)
        towers = some[:cut], some[cut:]
        for tower in towers:
            for under, over in pairwise(tower):
                self._want(('on', over, under))
        told = []
        for tower in towers:
            up = rng.random() < 0.3
            joint = chosen(rng, phrases()['towers'][f'chains-{"up" if up else "down"}'])
            told.append(joint.join(map(self._speech.name, tower if up else tower[::-1])))
        text = self._named('two-towers', *told)
        if rng.random() < 0.4:
            for tower in towers:
                self._want(('on-table', tower[0]))
            text += self._named('both-standing', *map(self._speech.name, (some[0], some[cut])))
        return text

    def _piecewise(self) -> str:
        """A tower, pair by pair in no order."""
        rng, pool = self._rng, self._scene.objects['object']
        if self.goal or len(pool) < 3:
            return ''
        some = rng.sample(pool, rng.randint(3, min(5, len(pool))))
        facts, told = self._scene.facts, list[str]()
        for under, over in pairwise(some):
            self._want(('on', over, under))
            told.append(self._plainly(facts['on'], list(map(self._speech.name, (over, under)))))
        if rng.random() < 0.4:
            self._want(('on-table', some[0]))
            told.append(self._plainly(facts['on-table'], [self._speech.name(some[0])]))
        rng.shuffle(told)
        joint = rng.choice((', ', ' and ', ' ; ', '. ', ' , then '))
        return joint.join(told[:-1]) + rng.choice((joint, ' and ')) + told[-1]
