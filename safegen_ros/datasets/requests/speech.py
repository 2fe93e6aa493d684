# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How objects are named, and how a fact is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from random import Random

from safegen_ros.datasets.requests.scenes import (
    AskedFact,
    RequestScene,
    chosen,
    gerund,
    of_several,
    participle,
    phrases,
)


class References:
    """What a person calls the objects of a scene without their names.

    Args:
        name: how an object is named, where another one is described by it.
    """

    def __init__(self, rng: Random, scene: RequestScene, name: Callable[[str], str]) -> None:
        self._rng, self._scene, self._name = rng, scene, name

    def described(self, name: str) -> str:
        """Where an object is; empty where that does not single it out."""
        found = [told for told in self._descriptions(name) if told]
        return self._rng.choice(found) if found else ''

    def count(self, number: int) -> str:
        """`three` or `3`."""
        return str(number) if self._rng.random() < 0.2 else str(phrases()['digits'][number])

    def several(self, kind: str, able: Sequence[str]) -> tuple[Sequence[str], str]:
        """Some objects of a kind that have something in common, and their words.

        Args:
            able: those that may be meant.
        """
        found = [each for each in self._sets(kind) if {*each[0]} <= {*able}]
        if not found:
            return (), ''
        members, clause = self._rng.choice(found)
        return members, self._called(kind, members, clause)

    def pair(self, kind: str) -> tuple[Sequence[str], str]:
        """Two objects of a kind that have something in common, and their words."""
        found = [each for each in self._sets(kind) if len(each[0]) == 2]
        if not found:
            return (), ''
        members, clause = self._rng.choice(found)
        noun = self._rng.choice(self._scene.nouns[kind])
        return members, f'the two {noun}s {self._be("that", clause, one=False)}'

    def _called(self, kind: str, members: Sequence[str], clause: str) -> str:
        rng, number = self._rng, len(members)
        fit = phrases()['set-that' if number > 1 else 'one-that']
        told = chosen(rng, [each for each in fit if number == 2 or 'both' not in each])
        one = number == 1 or told.startswith(('every', 'each', 'any'))
        told = told.replace('KIND', rng.choice(self._scene.nouns[kind]))
        told = told.replace('COUNT', self.count(number)).replace('all two', 'both')
        return self._be(told, clause, one=one)

    def _be(self, told: str, clause: str, *, one: bool) -> str:
        """A clause with its verb behind its subject."""
        rng = self._rng
        be = rng.choice(['is', 'is now'] if one else ['are', 'are now', 'are at the moment'])
        if ' not' in clause:
            clause = clause.replace(' not', '')
            be = rng.choice(["isn't", 'is not'] if one else ["aren't", 'are not'])
        if 'HAS' in clause:
            clause, be = clause.replace('HAS ', ''), 'has' if one else 'have'
        return f'{told} {be} {clause}'.replace('  ', ' ')

    def _sets(self, kind: str) -> Iterator[tuple[Sequence[str], str]]:
        """Objects of a kind, and what is true of all of them and of no other one."""
        scene, pool = self._scene, self._scene.objects[kind]
        if scene.blocks:
            true = {f: {a[1] for a in scene.now if a[0] == f} for f in ('on-table', 'clear')}
            for fact, clause in phrases()['block-sets']:
                found = {*pool}
                for each in fact.split():
                    found = found - true[each[1:]] if each[0] == '-' else found & true[each]
                if found:
                    yield sorted(found), chosen(self._rng, [clause])
            return
        for fact in (*scene.facts.values(), *scene.seen):
            fit = [each for each in fact.phrases['states'] if each.startswith('{0} =be ')]
            plain = fact.takes[:1] == (kind,) and fact.phrases.get('about', 1) == 1 and fit
            if not plain or len(fact.takes) > 2:
                continue
            places = scene.objects[fact.takes[1]] if len(fact.takes) == 2 else ['']
            for place in places:
                atom = (fact.name, '', place) if place else (fact.name, '')
                there = [n for n in pool if (fact.name, n, *atom[2:]) in scene.now]
                for members, no in ((there, ''), ([n for n in pool if n not in there], ' not')):
                    if members and there:
                        clause = chosen(self._rng, fit, fact.number).removeprefix('{0} =be ')
                        yield members, no + ' ' + clause.format('', place and self._name(place))

    def _descriptions(self, name: str) -> Iterator[str]:
        scene = self._scene
        if scene.blocks:
            yield from self._in_stack(name)
        kind = scene.kind(name)
        for fact in (*scene.facts.values(), *scene.seen):
            now = [atom for atom in sorted(scene.now) if atom[0] == fact.name]
            if fact.takes == (kind,) and (fact.name, name) in now and 'here' in fact.phrases:
                yield self._noun(chosen(self._rng, fact.phrases['here']), kind)
            if len(fact.takes) != 2:
                continue
            true = [a for a in now if len(a) == 3 and a[1] in scene.objects[fact.takes[0]]]
            for place, key in ((1, 'at0'), (2, 'at1')):
                for atom in true:
                    alike = sum(other[3 - place] == atom[3 - place] for other in true)
                    if atom[place] == name and alike == 1 and key in fact.phrases:
                        fit = [*fact.phrases[key], *(phrases()['that'] if key == 'at0' else ())]
                        told = self._noun(chosen(self._rng, fit), kind)
                        told = told.replace('PLACE', 'on' if scene.blocks else 'at/in')
                        yield chosen(self._rng, [told]).format(*map(self._name, atom[1:]))
            if kind == fact.takes[1] and 'set0' in fact.phrases:
                yield from self._place(name, fact, [a[1:] for a in true])

    def _place(self, name: str, fact: AskedFact, true: Sequence[Sequence[str]]) -> Iterator[str]:
        """A place by what is there."""
        rng, kind = self._rng, fact.takes[1]
        there = [thing for thing, place in true if place == name]
        crowds = [[t for t, p in true if p == place] for place in self._scene.objects[kind]]
        told = ''
        if there and (len(there) == 1 or rng.random() < 0.5):
            told = chosen(rng, phrases()['where']).format(self._name(rng.choice(there)))
        elif len(there) > 1 and sum(len(crowd) > 1 for crowd in crowds) == 1:
            told = chosen(rng, phrases()['where-several'])
        elif not there and sum(not crowd for crowd in crowds) == 1:
            told = chosen(rng, phrases()['where-none'])
        thing = rng.choice(self._scene.nouns[fact.takes[0]])
        told = told.replace('COUNT', self.count(len(there))).replace('THING', thing)
        yield self._noun(told, kind)

    def _in_stack(self, name: str) -> Iterator[str]:
        """A block by its place in a stack."""
        rng, now = self._rng, self._scene.now
        low = {atom[1] for atom in now if atom[0] == 'on-table'}
        over = {atom[2]: atom[1] for atom in now if atom[0] == 'on'}
        if {bottom for bottom in low if bottom not in over} == {name}:
            yield self._noun(chosen(rng, phrases()['alone']), 'object')
        for bottom in sorted(low):
            stack = [bottom]
            while stack[-1] in over:
                stack.append(over[stack[-1]])
            if name not in stack or len(stack) < 2:
                continue
            ends = {stack[0]: 'stack-low', stack[-1]: 'stack-top'}
            key = ends.get(name, 'stack-middle' if len(stack) == 3 else '')
            if key:
                other = rng.choice([each for each in stack if each != name])
                yield self._noun(chosen(rng, phrases()[key]), 'object').format(self._name(other))

    def _noun(self, told: str, kind: str) -> str:
        return told.replace('KIND', self._rng.choice(self._scene.nouns[kind]))


_FORMS = ('{0}', '{0}', '{0}', '{0}', '{0}', '{noun} {0}', 'the {noun} {0}')
_REFERRED = 0.25  # share of the objects that are named by where they are
_NUMBERED = 0.06  # share of the objects that are named by their number
_DIGITS = '0123456789'
_TOLD_TWICE = 0.15  # share of those that are named too
_SIDE = re.compile(r'([lr])gripper(\d+)')
_PASSIVE = re.compile(r'(?!have|let|make|get|see|give)\S+ \{0\}(?! (?:and|it|go|up)\b)')


class Speech:
    """The voice of one request.

    Args:
        rng: chooses the phrases.
        scene: what is spoken about.
    """

    def __init__(self, rng: Random, scene: RequestScene) -> None:
        self.rng = rng
        self.scene = scene
        self.references = References(rng, scene, self.name)
        self._loud = rng.random() < 0.05

    def name(self, name: str, *, referred: bool = False) -> str:
        """How an object is called; with `referred`, sometimes by the place where it is."""
        rng = self.rng
        if referred and rng.random() < _REFERRED and (told := self.described(name)):
            return f'{name} , {told} ,' if rng.random() < _TOLD_TWICE else told
        if '-' in name and not name[-1].isdigit() and rng.random() < 0.5:
            return f'the {name.replace("-", " ")}'
        kind = self.scene.kind(name)
        if kind == 'man' and rng.random() < 0.6:
            return name.capitalize()
        noun = rng.choice(self.scene.nouns[kind])
        if rng.random() < _NUMBERED and (told := self._numbered(name, noun)):
            return told
        return rng.choice(_FORMS).format(name.upper() if self._loud else name, noun=noun)

    def _numbered(self, name: str, noun: str) -> str:
        """`block no. 7` for `b7`; empty for a name without a number, or of another stem."""
        pool = self.scene.objects[self.scene.kind(name)]
        stem, number = name.rstrip(_DIGITS), name[len(name.rstrip(_DIGITS)) :]
        if not number or any(each.rstrip(_DIGITS) != stem for each in pool):
            return ''
        spelt = phrases()['digits']
        if int(number) < len(spelt) and self.rng.random() < 0.5:
            number = spelt[int(number)]
        told = self.rng.choice(phrases()['numbered'])
        return str(told).replace('KIND', noun).format(number)

    def described(self, name: str) -> str:
        """Where an object is; empty where that does not single it out."""
        return self.references.described(name)

    def hand(self, gripper: str, robot: str) -> str:
        """A gripper, sometimes as the left or the right one of its robot."""
        side = _SIDE.fullmatch(gripper)
        if side is None or not robot.endswith(side[2]) or self.rng.random() < 0.5:
            return self.name(gripper)
        told = str(self.rng.choice(phrases()['sides'][side[1]]))
        return told.replace('KIND', self.rng.choice(self.scene.nouns['gripper']))

    def listed(self, names: Sequence[str]) -> str:
        """Several objects."""
        rng = self.rng
        called = [self.name(name, referred=len(names) < 3) for name in names]
        if len(called) == 2:
            return str(rng.choice(phrases()['two'])).format(*called)
        *others, last = called
        return (
            f'{", ".join(others)}{rng.choice((" and ", ", and ", ", "))}{last}' if others else last
        )

    def wish(self, fact: AskedFact, words: Sequence[str], *, several: bool = False) -> str:
        """A fact as something that is wanted.

        Args:
            words: what stands for its arguments.
            several: whether the first of them is a plural.
        """
        rng, shape = self.rng, self.rng.random()
        if shape < 0.5:
            return f'{chosen(rng, phrases()["asking"])} {self.deed(fact, words)}'
        if shape < 0.54:
            return f'{rng.choice(phrases()["gerunds"])} {self.deed(fact, words, gerund)}'
        fit = [each for each in fact.phrases['deeds'] if fact.name and _PASSIVE.match(each)]
        if shape < 0.66 and fit:
            return self._passive(fact, fit, words, several)
        if shape < 0.86 or several:
            return self.state(fact, words, phrases()['modals'], several=several)
        return chosen(rng, fact.phrases['plain'], fact.number).format(*words)

    def deed(self, fact: AskedFact, words: Sequence[str], form: Callable[[str], str] = str) -> str:
        """What is done to make a fact true, with its verb in a form."""
        verb, _, rest = chosen(self.rng, fact.phrases['deeds'], fact.number).partition(' ')
        return f'{form(verb)} {rest}'.format(*words)

    def _passive(
        self, fact: AskedFact, deeds: Sequence[str], words: Sequence[str], several: bool
    ) -> str:
        verb, rest = chosen(self.rng, deeds, fact.number).split(' {0}', 1)
        before, _, behind = str(self.rng.choice(phrases()['passives'])).partition('{}')
        be = of_several(behind.strip()) if several else behind.strip()
        return f'{before}{words[0]} {be} {participle(verb)}{rest}'.format(*words)

    def state(
        self,
        fact: AskedFact,
        words: Sequence[str],
        modals: Sequence[Sequence[str]],
        *,
        several: bool = False,
    ) -> str:
        """A fact as how things are.

        Args:
            modals: what `=be` becomes, and the words before all.
        """
        be, before = self.rng.choice(modals)
        states = fact.phrases['states']
        if modals is not phrases()['modals']:  # 'nothing must never be on b1' is another rule
            states = [each for each in states if not each.startswith('no')]
        told = chosen(self.rng, states, fact.number).format(*words)
        return f'{before} {told.replace("=be", of_several(be) if several else be)}'.strip()
