# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How objects are named, and how a fact is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

from safegen_ros.datasets.requests.phrases import chosen, gerund, of_several, participle, phrases
from safegen_ros.datasets.requests.references import References
from safegen_ros.datasets.requests.scenes import AskedFact, RequestScene

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
