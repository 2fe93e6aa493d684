# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rules of a request, in words and in PDDL3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from safegen_ros.datasets.requests.phrases import chosen, gerund, phrases
from safegen_ros.datasets.requests.scenes import AskedFact
from safegen_ros.datasets.requests.speech import Speech
from safegen_ros.datasets.requests.wishes import Wishes
from safegen_ros.pddl.model import Atom
from safegen_ros.pddl.writer import atom_text

SpokenRule = tuple[str, str]
"""A rule in words and in PDDL3."""

_NONE = ('', '')


class SpokenRules:
    """Rules that go with what is wanted."""

    def __init__(self, speech: Speech, wishes: Wishes) -> None:
        self._speech, self._wishes = speech, wishes
        self._rng, self._scene = speech.rng, speech.scene

    def rule(self) -> SpokenRule:
        """Another rule; empty where chance has found none."""
        shape = self._rng.random()
        if shape < 0.4:
            ruled = self._scene.ruled and self._rng.random() < 0.65
            return self._forbidden_deed() if ruled else self._forbidden()
        if shape < 0.55:
            return self._nothing_there()
        if shape < 0.75:
            return self._lasting()
        return self._ordered() if shape < 0.92 else self._once()

    def _names(self, atom: Atom) -> list[str]:
        return list(map(self._speech.name, atom[1:]))

    def _never(self, deed: str) -> str:
        if self._rng.random() < 0.75:
            return f'{self._rng.choice(phrases()["never"])} {deed}'
        verb, _, rest = deed.partition(' ')
        return f'{self._rng.choice(phrases()["never-gerund"])} {gerund(verb)} {rest}'

    def _forbidden_deed(self) -> SpokenRule:
        rng, scene = self._rng, self._scene
        ruled = rng.choice(scene.ruled)
        takes = scene.facts[ruled['fact']].takes
        atom = (ruled['fact'], *(rng.choice(scene.objects[kind]) for kind in takes))
        busy = len(atom) == 2 and atom[1] in self._wishes.busy
        if busy or atom in self._wishes.goal or atom in scene.now:
            return _NONE
        words = self._names(atom)
        if rng.random() < 0.5:
            told = chosen(rng, ruled['plain']).format(*words)
        else:
            told = self._never(chosen(rng, ruled['deeds']).format(*words))
        return told, self._never_text(atom, takes, ruled.get('all'))

    def _forbidden(self) -> SpokenRule:
        fact = self._rng.choice([*self._scene.facts.values()])
        atom = self._other(fact)
        if atom is None:
            return _NONE
        words = self._names(atom)
        if self._rng.random() < 0.5:
            told = self._never(self._speech.deed(fact, words))
        else:
            told = self._speech.state(fact, words, phrases()['denied'])
        return told, self._never_text(atom, fact.takes)

    def _other(self, fact: AskedFact) -> Atom | None:
        """A fact that is neither true nor wanted."""
        pools = [self._scene.objects.get(kind, []) for kind in fact.takes]
        if not all(pools) or fact.name == 'clear':
            return None
        atom = (fact.name, *map(self._rng.choice, pools))
        known = atom in self._wishes.goal or atom in self._scene.now
        return None if known or len({*atom}) < len(atom) else atom

    def _nothing_there(self) -> SpokenRule:
        rng, scene = self._rng, self._scene
        facts = [fact for fact in scene.facts.values() if len(fact.takes) == 2]
        facts = [fact for fact in facts if all(map(scene.objects.get, fact.takes))]
        if not facts:
            return _NONE
        fact = rng.choice(facts)
        place = rng.choice(scene.objects[fact.takes[1]])
        if any(a[0] == fact.name and a[2] == place for a in (*self._wishes.goal, *scene.now)):
            return _NONE
        noun, where = rng.choice(scene.nouns[fact.takes[0]]), self._speech.name(place)
        if rng.random() < 0.6:
            anything = rng.choice(phrases()['anything']).replace('KIND', noun)
            told = self._never(self._speech.deed(fact, [anything, where]))
        else:
            nothing = rng.choice(phrases()['nothing']).replace('KIND', noun)
            told = self._speech.state(fact, [nothing, where], phrases()['nothing-may'])
        return told, self._never_text((fact.name, '', place), fact.takes, 0)

    def _lasting(self) -> SpokenRule:
        """Something stays as it is."""
        scene, busy = self._scene, self._wishes.busy
        able = [
            atom
            for atom in sorted(scene.now)
            if atom[0] in scene.facts and not {*atom[1 : 3 if scene.blocks else 2]} & busy
        ]
        if not able:
            return _NONE
        atom = self._rng.choice(able)
        leaving = scene.facts[atom[0]].phrases.get('leaving')
        if leaving and self._rng.random() < 0.4:
            told = self._rng.choice(leaving).format(*self._names(atom))
            return told, f'(always {atom_text(atom)})'
        told = self._speech.state(scene.facts[atom[0]], self._names(atom), phrases()['kept'])
        return f'{told} {self._rng.choice(phrases()["lasting"])}', f'(always {atom_text(atom)})'

    def _ordered(self) -> SpokenRule:
        """One fact before another."""
        rng, speech, facts = self._rng, self._speech, self._scene.facts
        wanted = [atom for atom in self._wishes.goal if atom not in self._scene.now]
        if not wanted:
            return _NONE
        late = rng.choice(wanted)
        if rng.random() < 0.7:
            early: Atom | None = rng.choice(wanted)
        else:
            early = self._other(rng.choice([*facts.values()]))
        if self._scene.ruled and rng.random() < 0.3:
            return self._deed_after(rng.choice(wanted))
        if early is None or early == late:
            return _NONE
        first, then = facts[early[0]], facts[late[0]]
        if early in wanted and first is then and early[1] != late[1] and rng.random() < 0.6:
            told = chosen(rng, phrases()['order-names'])
            told = told.format(self._speech.name(early[1]), self._speech.name(late[1]))
            return told, f'(sometime-before {atom_text(late)} {atom_text(early)})'
        told = str(rng.choice(phrases()['order'])).format(
            f0=speech.state(first, self._names(early), [('is', '')]),
            m0=speech.state(first, self._names(early), [('must be', ''), ('has to be', '')]),
            d0=speech.deed(first, self._names(early)),
            f1=speech.state(then, self._names(late), [('is', ''), ('may be', '')]),
            g1=speech.state(then, self._names(late), [('is', '')]),
            d1=speech.deed(then, self._names(late)),
        )
        return told, f'(sometime-before {atom_text(late)} {atom_text(early)})'

    def _deed_after(self, early: Atom) -> SpokenRule:
        """A deed that no request asks for, only after a fact."""
        rng, speech, scene = self._rng, self._speech, self._scene
        ruled, late = self._ruled()
        if not late or late in scene.now or late in self._wishes.goal or late[-1] in early:
            return _NONE
        first = scene.facts[early[0]]
        told = str(rng.choice(phrases()['order-deeds'])).format(
            f0=speech.state(first, self._names(early), [('is', '')]),
            m0=speech.state(first, self._names(early), [('must be', ''), ('has to be', '')]),
            d0=speech.deed(first, self._names(early)),
            d1=chosen(rng, ruled['deeds']).format(*self._names(late)),
        )
        return told, f'(sometime-before {atom_text(late)} {atom_text(early)})'

    def _once(self) -> SpokenRule:
        ruled, atom = self._ruled()
        if not atom:
            return _NONE
        deed = chosen(self._rng, ruled['deeds']).format(*self._names(atom))
        told = str(self._rng.choice(phrases()['once'])).format(d=deed)
        return told, f'(at-most-once {atom_text(atom)})'

    def _ruled(self) -> tuple[Mapping[str, Any], Atom]:
        """The phrases of a deed and its fact; the fact is empty where the scene has none."""
        rng, scene = self._rng, self._scene
        able = [each for each in scene.ruled if 'all' not in each]
        if not able:
            return {}, ()
        ruled = rng.choice(able)
        takes = scene.facts[ruled['fact']].takes
        return ruled, (ruled['fact'], *(rng.choice(scene.objects[kind]) for kind in takes))

    def _never_text(self, atom: Atom, takes: Sequence[str], every: int | None = None) -> str:
        """That a fact is never true; of any object where the number of an argument is given."""
        if every is None:
            return f'(always (not {atom_text(atom)}))'
        terms = [*atom[1:]]
        terms[every] = '?x'
        kind = f' - {takes[every]}' if self._scene.typed else ''
        return f'(always (not (exists (?x{kind}) {atom_text((atom[0], *terms))})))'
