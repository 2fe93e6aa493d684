# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rules of a request, in words and in PDDL3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from safegen_ros.datasets.requests.phrases import chosen, gerund, phrases
from safegen_ros.datasets.requests.scenes import AskedFact
from safegen_ros.datasets.requests.speech import Speech
from safegen_ros.datasets.requests.wishes import Wishes
from safegen_ros.pddl.model import Atom
from safegen_ros.pddl.writer import atom_text

SpokenRule = tuple[str, str]
"""A rule in words and in PDDL3."""

_NONE = ('', '')
_TURNED = 0.4  # share of the rules with a reason, an opening or own subject
_STRESSED = 0.3  # share of the lasting rules with something behind them


class SpokenRules:
    """Rules that go with what is wanted."""

    def __init__(self, speech: Speech, wishes: Wishes) -> None:
        self._speech, self._wishes = speech, wishes
        self._rng, self._scene = speech.rng, speech.scene

    def rule(self) -> SpokenRule:
        """Another rule; empty where chance has found none."""
        rng = self._rng
        if rng.random() < _TURNED:
            turns = [self._reasoned, self._reasoned, self._firm, self._no_kind, self._until]
            turns += [*turns, self._for_good, self._within, self._alike, self._alike]
            told, rule = rng.choice(turns)()
        else:
            told, rule = self._plain()
        if rule.startswith('(always') and rng.random() < _STRESSED:
            told += chosen(rng, phrases()['rule-trails'])
        return told, rule

    def _plain(self) -> SpokenRule:
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
        names = list(map(self._speech.name, atom[1:]))
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
        if rng.random() < 0.6:
            anything = rng.choice(phrases()['anything']).replace('KIND', noun)
            told = self._never(self._speech.deed(fact, [anything, where]))
        else:
            nothing = rng.choice(phrases()['nothing']).replace('KIND', noun)
            states = [each for each in fact.phrases['states'] if each.startswith('{0}')]
            fact = replace(fact, phrases={**fact.phrases, 'states': states})
            told = self._speech.state(fact, [nothing, where], phrases()['nothing-may'])
        return told, self._never_text((fact.name, '', place), fact.takes, (0,))

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
        }

    def _until(self) -> SpokenRule:
        """A deed only after a wanted fact."""
        wanted = [atom for atom in self._wishes.goal if atom not in self._scene.now]
        if not wanted or not self._scene.ruled:
            return _NONE
        return self._deed_after(self._rng.choice(wanted))

    def _for_good(self) -> SpokenRule:
        """A wanted fact stays true once it is."""
        facts, now = self._scene.facts, self._scene.now
        able = [
            atom
            for atom in self._wishes.goal
            if len(atom) > 1
            and atom not in now
            and atom[0] != 'clear'
            and facts[atom[0]].phrases.get('about', 1) == 1
            and (len(atom) == 3 or atom[0] == 'on-table')
        ]
        if not able:
            return _NONE
        atom = self._rng.choice(able)
        told = chosen(self._rng, phrases()['for-good'])
        told = told.format(self._speech.name(atom[1]), **self._early(atom))
        return told, f'(at-most-once {atom_text(atom)})'

    def _within(self) -> SpokenRule:
        """A wanted fact soon."""
        wanted = [atom for atom in self._wishes.goal if atom not in self._scene.now]
        if not wanted:
            return _NONE
        atom, number = wanted[0], self._wishes.steps
        told = chosen(self._rng, phrases()['within']).format(**self._early(atom))
        count = self._rng.choice((phrases()['digits'][number], str(number)))
        return told.replace('COUNT', count), f'(within {number} {atom_text(atom)})'

    def _reasoned(self) -> SpokenRule:
        """What a thing is like, and so what must never or always be."""
        rng, scene = self._rng, self._scene
        shape = rng.random()
        if shape < 0.4 and scene.ruled:
            ruled = rng.choice(scene.ruled)
            takes, atom = self._scene.deed(self._rng, ruled)
            if atom in self._wishes.goal or atom in scene.now:
                return _NONE
            told = chosen(rng, ruled['plain'])
            thing = 1 if told.startswith('{1}') else 0
            rule = self._never_text(atom, takes, ruled.get('all', ()))
        elif shape < 0.7:
            lasting = self._lasting_atom()
            if not lasting:
                return _NONE
            atom, thing, fact = lasting, 0, scene.facts[lasting[0]]
            told = chosen(rng, fact.phrases.get('leaving', fact.phrases['states']))
            told = told.replace('=be', chosen(rng, ['must stay', 'has to stay', 'stays']))
            rule = f'(always {atom_text(atom)})'
        else:
            fact = rng.choice([*scene.facts.values()])
            other = self._other(fact)
            if other is None or len(other) == 1:
                return _NONE
            atom, thing = other, 0
            told = chosen(rng, fact.phrases['states'])
            told = told.replace('=be', chosen(rng, phrases()['must-never']))
            rule = self._never_text(atom, fact.takes)
        words = self._names(atom)
        name, kind = words[thing], scene.kind(atom[1 + thing])
        if not told.startswith(f'{{{thing}}}'):
            return _NONE
        words[thing] = 'he' if kind == 'man' else rng.choice(('it', 'it', 'that one'))
        pattern = chosen(rng, phrases()['reasoned'])
        return pattern.format(name, told.format(*words), n=name), rule

    def _firm(self) -> SpokenRule:
        """Something stays as it is, with a warning before it."""
        rng, atom = self._rng, self._lasting_atom()
        if not atom:
            return _NONE
        fact, words = self._scene.facts[atom[0]], self._names(atom)
        told = chosen(
            rng, [each for each in fact.phrases['states'] if each.startswith('{0}')] or ['']
        )
        if not told:
            return _NONE
        warned = chosen(rng, phrases()['firm']).format(words[0])
        words[0] = 'he' if self._scene.kind(atom[1]) == 'man' else 'it'
        be, before = rng.choice([each for each in phrases()['kept'] if each[0]])
        told = f'{before} {told.format(*words).replace("=be", be)}'.strip()
        return f'{warned} {told} {rng.choice(phrases()["lasting"])}', f'(always {atom_text(atom)})'

    def _no_kind(self) -> SpokenRule:
        """That a fact is never true of anything of a kind."""
        rng, scene = self._rng, self._scene
        used = {atom[0] for atom in (*self._wishes.goal, *scene.now)}
        used.add('holding')  # or nothing could be moved
        able = [f for f in scene.facts.values() if len(f.takes) == 1 and f.name not in used]
        if not able:
            return _NONE
        fact = rng.choice(able)
        noun = rng.choice(scene.nouns[fact.takes[0]])
        if rng.random() < 0.3:
            nothing = rng.choice(('nothing', f'no {noun}', f'not a single {noun}'))
            told = self._speech.state(fact, [nothing], phrases()['nothing-may'])
        else:
            anything = rng.choice(('anything', f'any {noun}', f'a {noun}', f'any of the {noun}s'))
            deed = self._speech.deed(fact, [anything])
            verb, _, rest = deed.partition(' ')
            told = chosen(rng, phrases()['no-kind']).format(deed, f'{gerund(verb)} {rest}')
        return told, self._never_text((fact.name, ''), fact.takes, (0,))

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
        told = chosen(self._rng, phrases()['sometime']).format(**self._early(atom))
        return told, f'(sometime {atom_text(atom)})'

    def _alike(self) -> SpokenRule:
        """The same rule for two things."""
        rng, scene = self._rng, self._scene
        atom = self._lasting_atom()
        if atom and rng.random() < 0.5:
            fact = scene.facts[atom[0]]
            able = [a for a in sorted(scene.now) if (a[0], *a[2:]) == (atom[0], *atom[2:])]
            able = [a for a in able if a[1] not in self._wishes.busy and a != atom]
            able = [a for a in able if scene.kind(a[1]) == scene.kind(atom[1])]
            fit = [each for each in phrases()['kept'] if not each[0].startswith('never')]
            if not able or fact.phrases.get('about', 1) != 1:
                return _NONE
            both = atom, rng.choice(able)
            words = [self._speech.listed([a[1] for a in both]), *self._names(atom)[1:]]
            told = self._speech.state(fact, words, fit, several=True)
            rules = [f'(always {atom_text(each)})' for each in both]
            return f'{told} {rng.choice(phrases()["lasting"])}', '\n'.join(rules)
        if not scene.ruled:
            return _NONE
        ruled = rng.choice(scene.ruled)
        takes, one = self._scene.deed(self._rng, ruled)
        place = ruled.get('mover', 0)
        if place in ruled.get('all', ()):
            place = len(takes) - 1
        pool = [n for n in scene.objects[takes[place]] if n not in (*one, *self._wishes.busy)]
        if one[place + 1] in self._wishes.busy or not pool or 'hand' in ruled:
            return _NONE
        other = (*one[: place + 1], rng.choice(pool), *one[place + 2 :])
        if {one, other} & {*scene.now, *self._wishes.goal}:
            return _NONE
        words = self._names(one)
        either = chosen(rng, phrases()['either'])
        words[place] = either.format(words[place], self._speech.name(other[place + 1]))
        told = self._never(chosen(rng, ruled['deeds']).format(*words))
        every = ruled.get('all', ())
        return told, '\n'.join(self._never_text(each, takes, every) for each in (one, other))

    def _never_text(self, atom: Atom, takes: Sequence[str], every: Sequence[int] = ()) -> str:
        """That a fact is never true; of any object for the arguments in `every`."""
        return f'(always (not {self._scene.exists(atom, takes, every)}))'
