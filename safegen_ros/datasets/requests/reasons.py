# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rules with a reason, an opening or several subjects."""

from __future__ import annotations

from safegen_ros.datasets.requests.rules import PlainRules, SpokenRule
from safegen_ros.datasets.requests.scenes import chosen, gerund, phrases
from safegen_ros.pddl.writer import atom_text

_NONE = ('', '')
_TURNED = 0.4  # share among the rules
_STRESSED = 0.3  # share of the lasting rules with something behind them


class SpokenRules(PlainRules):
    """All kinds of rules."""

    def rule(self) -> SpokenRule:
        """Another rule; empty where chance has found none."""
        rng = self._rng
        if rng.random() < _TURNED:
            turns = [self._reasoned, self._reasoned, self._firm, self._no_kind, self._until]
            turns += [*turns, self._for_good, self._within, self._alike, self._alike]
            told, rule = rng.choice(turns)()
        else:
            told, rule = self.plain()
        if rule.startswith('(always') and rng.random() < _STRESSED:
            told += chosen(rng, phrases()['rule-trails'])
        return told, rule

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
            named = [atom[1], rng.choice(able)[1]]
            told = self._speech.listed(named)
            if rng.random() < 0.4:
                kind = scene.kind(atom[1])
                several = self._speech.references.several(kind, [a[1] for a in (atom, *able)])
                if len(several[0]) > 1 and not several[1].startswith(('every', 'each', 'any')):
                    named, told = [*several[0]], several[1]
            both = [(atom[0], name, *atom[2:]) for name in named]
            words = [told, *self._names(atom)[1:]]
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
