# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Formulas out of clauses: what `any`, `every`, `only`, `at most one` and lists of names mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from safegen_ros.language.clauses import Again, Clause, Clauses, RuleCondition
from safegen_ros.language.noun_phrases import (
    ANY,
    MORE,
    MOST,
    NAME,
    NO,
    NOR,
    ONLY,
    OR,
    SOME,
    UNIVERSAL,
    NounPhrase,
)
from safegen_ros.pddl.model import (
    And,
    AtomFormula,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
)

DEMANDED, FORBIDDEN, SUPPOSED, SHARED, UNTRUE = (
    'demanded', 'forbidden', 'supposed', 'shared', 'untrue',
)  # fmt: skip
"""What a formula is made for; `any block` is another thing in each."""

_MOST_OPTIONS = 64  # ways to understand a condition

_VARIABLES = ('?x', '?y', '?z', '?u', '?v', '?w')


class RuleRefused(Exception):
    """A sentence that is understood and cannot be a constraint; another way to read it may be."""

    def __init__(self, what: str, cure: str) -> None:
        super().__init__(what)
        self.what = what
        self.cure = cure


class Quantities:
    """Makes formulas for one problem."""

    def __init__(self, clauses: Clauses) -> None:
        self._clauses = clauses
        self._objects = clauses.problem.objects

    def complete(self, clause: Clause) -> Clause:
        """The clause completed: with the words of the goal, or the only possible thing."""
        way = clause.way
        given = dict(clause.things)
        arity = len(self._clauses.problem.domain.predicates[way.predicate])
        left_out = []
        for number in sorted(set(range(arity)) - given.keys()):
            if number == way.goal and any(t.how != NAME for _, t in clause.things):
                continue  # it is another one for each of them: see `one_by_one`
            if number == way.goal:
                left_out.append((number, self._from_goal(clause, number)))
                continue
            kind = self._clauses.wanted(way, number)
            fitting = [n for n in self._objects if self._clauses.fits(NounPhrase(NAME, (n,)), kind)]
            one = len(fitting) == 1
            how = NounPhrase(NAME if one else SOME, tuple(fitting) if one else (), index=-1)
            left_out.append((number, how))
        return replace(clause, things=(*clause.things, *left_out))

    def _from_goal(self, clause: Clause, number: int) -> NounPhrase:
        """The argument that the problem's goal has for the same fact."""
        named = {n: t.names[0] for n, t in clause.things if t.how == NAME}
        predicate = clause.way.predicate
        found = {
            goal.terms[number]
            for goal in self._clauses.problem.goal_conjuncts()
            if isinstance(goal, AtomFormula) and goal.predicate == predicate
            if named and all(goal.terms[n] == name for n, name in named.items())
        }
        if len(found) != 1:
            who = ' '.join(named.values()) or 'all of them'
            raise RuleRefused(
                f'the goal does not say where {who} must go',
                f"say it: '{_verb(clause)} ... to ...'",
            )
        return NounPhrase(NAME, tuple(found), index=-1)

    def formulas(self, clause: Clause, purpose: str) -> list[Formula]:
        """What a clause can mean; several formulas if its words leave that open.

        - `purpose`: `DEMANDED`, `FORBIDDEN` (the result will be negated), `SUPPOSED`, `SHARED`
          (supposed of several things, at once or of each) or `UNTRUE` (supposed, and negated).

        Raises:
            Refused: its quantities do not go together.
        """
        if len(clause.things) < len(self._clauses.problem.domain.predicates[clause.way.predicate]):
            raise RuleRefused(
                'it is not said where each must go', f"say it: '{_verb(clause)} ... to ...'"
            )
        special = [t for _, t in clause.things if t.how in (ONLY, MOST, MORE)]
        if special:
            if len(special) > 1 or purpose not in (DEMANDED, FORBIDDEN):
                raise RuleRefused('too many quantities', 'write a sentence for each')
            if special[0].how != ONLY and (clause.way.momentary or clause.way.passing):
                raise RuleRefused(
                    'PDDL3 cannot count what is done',
                    "write how things may be: 'at most one ... may be ...'",
                )
            return [self._limited(clause, special[0], purpose)]
        given = [pair for pair in clause.things if pair[1].index >= 0]
        rest = [pair for pair in clause.things if pair not in given]
        orders = [given]
        if len({self._ways(t, purpose)[0] for _, t in given if t.how != NAME}) > 1:
            orders.append(given[::-1])
        found = [f for order in orders for f in self._nested(clause, [*order, *rest], purpose, {})]
        return list(dict.fromkeys(found))

    def _ways(self, thing: NounPhrase, purpose: str) -> tuple[type[Forall] | type[Exists], ...]:
        if thing.how in UNIVERSAL:
            return (Forall,) if purpose in (DEMANDED, SUPPOSED) else (Forall, Exists)
        if (thing.how == ANY and purpose == DEMANDED) or (purpose == UNTRUE and thing.index >= 0):
            return (Forall, Exists)
        return (Exists,)

    def _nested(
        self,
        clause: Clause,
        left: list[tuple[int, NounPhrase]],
        purpose: str,
        terms: Mapping[int, str],
    ) -> Iterator[Formula]:
        if not left:
            yield self._atom(clause, terms)
            return
        (number, thing), *rest = left
        if thing.how == NAME:
            yield from self._nested(clause, rest, purpose, {**terms, number: thing.names[0]})
            return
        for way in self._ways(thing, purpose):
            if thing.listed:
                sides = [
                    list(self._nested(clause, rest, purpose, {**terms, number: name}))
                    for name in thing.names
                ]
                for parts in zip(*sides, strict=True):
                    yield And(parts) if way is Forall else Or(parts)
                continue
            variable = _VARIABLES[len(terms)] if len(terms) < len(_VARIABLES) else f'?x{number}'
            for body in self._nested(clause, rest, purpose, {**terms, number: variable}):
                yield self._quantified(way, variable, clause, number, thing, body)

    def _quantified(
        self, way: type[Forall] | type[Exists], variable: str, clause: Clause, number: int,
        thing: NounPhrase, body: Formula,
    ) -> Formula:  # fmt: skip
        guards = self._guards(variable, clause, number, thing)
        if guards and way is Forall:
            body = Imply(guards[0] if len(guards) == 1 else And(tuple(guards)), body)
        elif guards:
            body = And((*guards, body))
        return way(((variable, self._kind(clause, number, thing)),), body)

    def _kind(self, clause: Clause, number: int, thing: NounPhrase) -> str:
        if thing.noun is not None:
            return thing.noun.kind
        own = dict(clause.way.types).get(number)
        return own or self._clauses.problem.domain.predicates[clause.way.predicate][number]

    def _guards(
        self, variable: str, clause: Clause, number: int, thing: NounPhrase
    ) -> list[Formula]:
        """What must be true of a variable for the clause to be about it."""
        found: list[Formula] = []
        sort = thing.noun.sort if thing.noun is not None else ''
        wanted = self._clauses.lexicon.sorts.get(clause.way.predicate, {}).get(number, '')
        if sort or wanted:
            found.append(AtomFormula(sort or wanted, (variable,)))
        if not thing.listed:
            found += [Not(Equals(variable, name)) for name in thing.names]
        return found

    def _atom(self, clause: Clause, terms: Mapping[int, str]) -> Formula:
        return AtomFormula(clause.way.predicate, tuple(terms[n] for n in sorted(terms)))

    def _limited(self, clause: Clause, thing: NounPhrase, purpose: str) -> Formula:
        """`only b1 may ...` and `at most one block may ...`, in one state."""
        if (purpose == FORBIDDEN) != (thing.how == MORE):
            what = 'it is unclear what is forbidden' if thing.how != MORE else 'a least number'
            raise RuleRefused(what, "write 'only ... may ...', 'at most one ...' or 'no ...'")
        number = next(n for n, own in clause.things if own is thing)
        count = 1 if thing.how == ONLY else thing.number + 1
        names = [f'?x{n}' for n in range(1, count + 1)] if count > 1 else ['?x']
        facts = []
        for name in names:
            inner = [(n, t) for n, t in clause.things if n != number]
            whole = list(self._nested(clause, inner, SUPPOSED, {number: name}))
            facts.append(whole[0])
        kind = self._kind(clause, number, NounPhrase(ANY, noun=thing.noun))
        guards = [
            g
            for n in names
            for g in self._guards(n, clause, number, NounPhrase(ANY, noun=thing.noun))
        ]
        if thing.how == ONLY:
            same: list[Formula] = [Equals(names[0], name) for name in thing.names]
        else:
            same = [Equals(one, other) for one, other in combinations(names, 2)]
        premise = And((*guards, *facts)) if len(guards) + len(facts) > 1 else facts[0]
        conclusion = same[0] if len(same) == 1 else Or(tuple(same))
        limited = Forall(tuple((name, kind) for name in names), Imply(premise, conclusion))
        return Not(limited) if thing.how == MORE else limited

    def one_by_one(self, clause: Clause, *, counted: bool) -> list[Clause]:
        """The clause for each of its objects.

        - `counted`: whether `any`, `no`, `or`, and who does it where that is left out, mean each.
        """
        for number, thing in clause.things:
            split = thing.how in UNIVERSAL
            if counted:
                anyone = number == clause.way.agent and thing.index < 0 and thing.how == SOME
                split = split or anyone or thing.how in (ANY, NO, NOR, OR)
            if split:
                members = self._members(clause, number, thing)
                one = [clause.put(number, NounPhrase(NAME, (name,))) for name in members]
                return [e for single in one for e in self.one_by_one(single, counted=counted)]
        return [self.complete(clause)]

    def conditions(
        self, condition: RuleCondition, main: Clause | None = None, purpose: str = SUPPOSED
    ) -> list[Formula]:
        """What a condition can mean, as one formula each.

        - `main`: the main clause as it was said, which half a sentence refers to.
        - `purpose`: as of `formulas`.

        Raises:
            Refused: there is half a sentence, and no main clause that goes with it.
        """
        found: list[tuple[Formula, ...]] = [()]
        for part, true in condition.parts:
            options = self._supposed(part, main, purpose if true else UNTRUE)
            found = [(*before, option) for before in found for option in options]
            if len(found) > _MOST_OPTIONS:
                raise RuleRefused('this can be read in too many ways', 'write whole sentences')
        if len(condition.parts) == 1:
            return [parts[0] for parts in found]
        both: list[Formula] = [
            And(parts) if condition.conjunctive else Or(parts) for parts in found
        ]
        if condition.conjunctive and not all(_lasts(part) for part, _ in condition.parts):
            both += map(Or, found)  # two steps are never made at once
        return both

    def _supposed(self, part: Clause | Again, main: Clause | None, purpose: str) -> list[Formula]:
        several = [part] if isinstance(part, Clause) else []
        if isinstance(part, Again) and main is not None:
            several = self._clauses.again(main, part)
        if not several:
            raise RuleRefused(
                'half a sentence that goes with no other half', 'write the whole of it'
            )
        found: list[Formula] = []
        for clause in several:
            whole = self.complete(clause)
            negative, untrue = is_negative(whole), purpose == UNTRUE
            if negative and untrue:
                raise RuleRefused('two negations in one sentence', 'write one of them')
            if leaves_out_who(whole) and (isinstance(part, Again) or part.done):
                cure = "say who: 'while ... carries ...', not 'while carrying ...'"
                raise RuleRefused('it is unclear who of several does this', cure)
            shared = not untrue and any(
                thing.how in UNIVERSAL and not (_lasts(part) and number == whole.subject)
                for number, thing in whole.things
            )
            for formula in self.formulas(whole, SHARED if shared else purpose):
                found.append(negated(formula) if negative or untrue else formula)
        return found

    def _members(self, clause: Clause, number: int, thing: NounPhrase) -> tuple[str, ...]:
        if thing.listed:
            return thing.names
        noun = thing.noun
        found = tuple(self._objects) if noun is None else self._clauses.things.members(noun)
        kind = self._clauses.wanted(clause.way, number)
        return tuple(
            name
            for name in found
            if name not in thing.names and self._clauses.fits(NounPhrase(NAME, (name,)), kind)
        )


def _lasts(part: Clause | Again) -> bool:
    """Whether a part of a condition states how things are, and no step."""
    return isinstance(part, Clause) and not (part.way.momentary or part.way.passing)


def leaves_out_who(clause: Clause) -> bool:
    """Whether it is open who of several does something."""
    return any(
        number == clause.way.agent and thing.index < 0 and thing.how == SOME
        for number, thing in clause.things
    )


def is_negative(clause: Clause) -> bool:
    """Whether a clause denies by its object: `nothing is on b3`."""
    return any(thing.how in (NO, NOR) for _, thing in clause.things)


def _verb(clause: Clause) -> str:
    return clause.way.text.replace('=', '').split(' {')[0]


def negated(formula: Formula) -> Formula:
    """The negation of a formula, without a double one."""
    return formula.body if isinstance(formula, Not) else Not(formula)
