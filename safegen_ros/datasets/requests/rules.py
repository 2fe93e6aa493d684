# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rules of a request, in words and in PDDL3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from safegen_ros.datasets.requests.scenes import AskedFact, chosen, gerund, phrases
from safegen_ros.datasets.requests.speech import Speech
from safegen_ros.datasets.requests.wishes import Wishes
from safegen_ros.pddl.model import Atom
from safegen_ros.pddl.writer import atom_text

SpokenRule = tuple[str, str]
"""A rule in words and in PDDL3."""

_NONE = ('', '')


class PlainRules:
    """Rules that go with what is wanted."""

    def __init__(self, speech: Speech, wishes: Wishes) -> None:
        self._speech, self._wishes = speech, wishes
        self._rng, self._scene = speech.rng, speech.scene

    def plain(self) -> SpokenRule:
        """A rule as it is mostly said; empty where chance has found none."""
        shape = self._rng.random()
        if shape < 0.1:
            return self._sometime()
        if shape < 0.42:
            ruled = self._scene.ruled and self._rng.random() < 0.65
            return self._forbidden_deed() if ruled else self._forbidden()
        if shape < 0.55:
            return self._nothing_there()
        if shape < 0.75:
            return self._lasting()
        return self._ordered() if shape < 0.89 else self._once()

    def _names(self, atom: Atom) -> list[str]:
        names = [self._speech.name(name, referred=self._rng.random() < 0.6) for name in atom[1:]]
        return [*names[:2], self._speech.hand(atom[3], atom[1])] if len(atom) == 4 else names

    def _never(self, deed: str) -> str:
        if self._rng.random() < 0.75:
            return f'{self._rng.choice(phrases()["never"])} {deed}'
        verb, _, rest = deed.partition(' ')
        return f'{self._rng.choice(phrases()["never-gerund"])} {gerund(verb)} {rest}'

    def _forbidden_deed(self) -> SpokenRule:
        rng, scene = self._rng, self._scene
        ruled = rng.choice(scene.ruled)
        takes, atom = self._scene.deed(self._rng, ruled)
        busy = len(atom) == 2 and atom[1] in self._wishes.busy
        if busy or atom in self._wishes.goal or atom in scene.now:
            return _NONE
        words = self._names(atom)
        if rng.random() < 0.5:
            told = chosen(rng, ruled['plain']).format(*words)
        else:
            told = self._never(chosen(rng, ruled['deeds']).format(*words))
        return told, self._never_text(atom, takes, ruled.get('all', ()))

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
        reason = ''
        if rng.random() < 0.3:
            reason, where = chosen(rng, phrases()['reason']).format(where), 'it'
            reason = f'{reason.replace("there", "on it")} ' if scene.blocks else f'{reason} '
        if rng.random() < 0.6:
            anything = rng.choice(phrases()['anything']).replace('KIND', noun)
            told = self._never(self._speech.deed(fact, [anything, where]))
        else:
            nothing = rng.choice(phrases()['nothing']).replace('KIND', noun)
            states = [each for each in fact.phrases['states'] if each.startswith('{0}')]
            fact = replace(fact, phrases={**fact.phrases, 'states': states})
            told = self._speech.state(fact, [nothing, where], phrases()['nothing-may'])
        return reason + told, self._never_text((fact.name, '', place), fact.takes, (0,))

    def _lasting_atom(self) -> Atom:
        """What can stay as it is; empty where the scene has nothing."""
        scene, busy = self._scene, self._wishes.busy
        able = [
            atom
            for atom in sorted(scene.now)
            if atom[0] in scene.facts
            and len(atom) > 1
            and not {*atom[1 : 3 if scene.blocks else 2]} & busy
        ]
        return self._rng.choice(able) if able else ()

    def _lasting(self) -> SpokenRule:
        """Something stays as it is."""
        scene, atom = self._scene, self._lasting_atom()
        if not atom:
            return _NONE
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
            alike = [atom for atom in wanted if atom[0] == late[0]]
            fit = [each for each in phrases()['order-names'] if len(alike) == 2 or '1}' in each]
            told = chosen(rng, fit).format(
                self._speech.name(early[1]),
                self._speech.name(late[1]),
                f1=speech.state(then, self._names(late), [('may be', ''), ('is', '')]),
            )
            return told, f'(sometime-before {atom_text(late)} {atom_text(early)})'
        told = chosen(rng, phrases()['order']).format(
            **self._early(early),
            f1=speech.state(then, self._names(late), [('is', ''), ('may be', '')]),
            g1=speech.state(then, self._names(late), [('is', '')]),
            d1=speech.deed(then, self._names(late)),
        )
        return told, f'(sometime-before {atom_text(late)} {atom_text(early)})'

    def _deed_after(self, early: Atom) -> SpokenRule:
        """A deed that no request asks for, only after a fact."""
        rng, scene = self._rng, self._scene
        ruled = rng.choice(scene.ruled)
        takes, late = self._scene.deed(self._rng, ruled)
        mover = ruled.get('mover')
        same = mover is not None and late[1 + mover] == (*early, '')[1]
        if same or late in scene.now or late in self._wishes.goal:
            return _NONE
        words = self._names(late)
        if mover is not None and rng.random() < 0.5:
            told = chosen(rng, phrases()['until'])
            told = told.format(words[mover], **self._early(early))
        else:
            told = chosen(rng, phrases()['order-deeds'])
            deed = chosen(rng, ruled['deeds']).format(*words)
            told = told.format(d1=deed, **self._early(early))
        every = self._scene.exists(late, takes, ruled.get('all', ()))
        return told, f'(sometime-before {every} {atom_text(early)})'

    def _early(self, early: Atom) -> dict[str, str]:
        """The wordings of a fact that has to come first."""
        fact, speech = self._scene.facts[early[0]], self._speech
        return {
            'f0': speech.state(
                fact, self._names(early), [('is', ''), ('is', ''), ('has been', '')]
            ),
            'm0': speech.state(fact, self._names(early), [('must be', ''), ('has to be', '')]),
            'n0': speech.state(
                fact, self._names(early), [('is not', ''), ("isn't", ''), ('is not yet', '')]
            ),
            'd0': speech.deed(fact, self._names(early)),
            'p0': speech.state(
                fact, self._names(early), [('must have been', ''), ('has to have been', '')]
            ),
        }

    def _once(self) -> SpokenRule:
        able = [each for each in self._scene.ruled if 'all' not in each]
        if not able:
            return _NONE
        ruled = self._rng.choice(able)
        takes, atom = self._scene.deed(self._rng, ruled)
        names = self._names(atom)
        rule = f'(at-most-once {atom_text(atom)})'
        if len(takes) == 1 and self._rng.random() < 0.2:
            names = [f'any {self._rng.choice(self._scene.nouns[takes[0]])}']
            every = self._scene.objects[takes[0]]
            rule = '\n'.join(f'(at-most-once {atom_text((atom[0], name))})' for name in every)
        elif 'visits' in ruled and self._rng.random() < 0.5:
            return chosen(self._rng, ruled['visits']).format(*names), rule
        deed = chosen(self._rng, ruled['deeds']).format(*names)
        return str(self._rng.choice(phrases()['once'])).format(d=deed), rule

    def _sometime(self) -> SpokenRule:
        """A fact that is true at some time."""
        fact = self._rng.choice([*self._scene.facts.values()])
        atom = None if fact.phrases.get('fixed') else self._other(fact)
        if atom is None:
            return _NONE
        others = [n for n in self._scene.objects.get((*fact.takes, '')[0], ()) if n not in atom]
        alone = fact.phrases.get('only') or not others or (self._scene.blocks and len(atom) > 2)
        if not alone and len(atom) < 4 and self._rng.random() < 0.2:
            other = (fact.name, self._rng.choice(others), *atom[2:])
            words = [self._speech.listed([atom[1], other[1]]), *self._names(atom)[1:]]
            both = self._speech.state(
                fact, words, [('must be', ''), ('has to be', '')], several=True
            )
            told = chosen(self._rng, phrases()['sometime-both']).format(both)
            return told, f'(sometime (and {atom_text(atom)} {atom_text(other)}))'
        told = chosen(self._rng, phrases()['sometime']).format(**self._early(atom))
        return told, f'(sometime {atom_text(atom)})'

    def _never_text(self, atom: Atom, takes: Sequence[str], every: Sequence[int] = ()) -> str:
        """That a fact is never true; of any object for the arguments in `every`."""
        return f'(always (not {self._scene.exists(atom, takes, every)}))'
