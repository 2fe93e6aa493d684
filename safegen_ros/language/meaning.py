# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The constraints that a sentence can mean, of which more than one make it ambiguous."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from safegen_ros.language.clauses import KEEP, MAY, Clauses, MainClause
from safegen_ros.language.grammar import Modifier, Parse
from safegen_ros.language.noun_phrases import (
    ALL,
    AND,
    ANY,
    MOST,
    NO,
    NOR,
    ONLY,
    OR,
    UNIVERSAL,
)
from safegen_ros.language.quantities import (
    DEMANDED,
    FORBIDDEN,
    SUPPOSED,
    Quantities,
    RuleRefused,
    is_negative,
    leaves_out_who,
    negated,
)
from safegen_ros.pddl.model import (
    And,
    Constraint,
    ConstraintAnd,
    ConstraintTree,
    Formula,
    Imply,
    Not,
    Or,
)

_TAGS = {'always': 'always', 'sometime': 'sometime', 'end': 'end', 'each': 'each'}

COUNTED = 'counted'
"""What the formula of a constraint is made for that limits how often, or when, it comes true."""

_MANNERS = ('together', 'each')

_Make = Callable[[Formula], ConstraintTree]


def meanings(clauses: Clauses, parse: Parse) -> list[ConstraintTree]:
    """What one way to take a sentence apart can mean.

    Raises:
        Refused: it is understood and cannot be a constraint.
    """
    quantities = Quantities(clauses)
    if parse.that is not None:
        kind, condition = parse.that
        never = kind == 'never'
        found = quantities.conditions(condition, purpose=SUPPOSED if never else DEMANDED)
        return [_always(negated(f) if never else f) for f in found]
    if len(parse.main) == 2:
        return _in_order(clauses, quantities, *parse.main)
    return _Meaning(clauses, quantities, parse.main[0], parse.modifiers).trees()


def _in_order(
    clauses: Clauses, quantities: Quantities, first: MainClause, then: MainClause
) -> list[ConstraintTree]:
    """`first ..., then ...`: both happen, in this order."""
    if any('not' in told.tags or is_negative(told.clause) for told in (first, then)):
        raise RuleRefused(
            "'first ..., then ...' with something that must not be", 'say what is first'
        )
    one, other = (
        quantities.formulas(quantities.complete(told.clause), DEMANDED) for told in (first, then)
    )
    return [
        ConstraintAnd((Constraint('sometime-before', (q, p)), Constraint('sometime', (q,))))
        for p in one
        for q in other
    ]


def _always(formula: Formula) -> ConstraintTree:
    return Constraint('always', (formula,))


class _Meaning:
    """One main clause with its modifiers."""

    def __init__(
        self, clauses: Clauses, quantities: Quantities, told: MainClause,
        modifiers: Sequence[Modifier],
    ) -> None:  # fmt: skip
        self._clauses = clauses
        self._quantities = quantities
        self._told = told
        self._voice = told.voice
        tags = told.tags
        every = [*modifiers, *(Modifier(_TAGS[tag]) for tag in tags if tag in _TAGS)]
        self._clause = quantities.complete(told.clause)
        self._manner = {m.kind for m in every if m.kind in _MANNERS}
        self._times = list(dict.fromkeys(m for m in every if self._is_time(m)))
        self._conditions = [m for m in every if m.condition is not None]
        self._only = 'only' in tags
        self._denied = sum((tags.count('not'), is_negative(self._clause)))
        self._limited = any(t.how in (ONLY, MOST) for _, t in self._clause.things)
        self._stays = 'stay' in tags

    @staticmethod
    def _is_time(modifier: Modifier) -> bool:
        return modifier.condition is None and modifier.kind not in _MANNERS

    def trees(self) -> list[ConstraintTree]:
        """What the sentence can mean."""
        if self._denied > 1:
            raise RuleRefused('two negations in one sentence', 'write one of them')
        if self._stays and (self._denied or self._voice == MAY):
            raise RuleRefused('it is unclear whether this must never be', "write 'must never be'")
        self._settle()
        if len(self._times) > 1 or len(self._conditions) > 1:
            raise RuleRefused(
                'more than one time, or condition, in one sentence', 'write two sentences'
            )
        time = self._times[0] if self._times else None
        if self._conditions:
            return self._under(self._conditions[0], time)
        if self._only:
            raise RuleRefused(
                "'only' without a condition", "write 'only b1 may ...' or 'only if ...'"
            )
        return self._plain(time)

    def _settle(self) -> None:
        """Takes together what several words say once."""
        kinds = [m.kind for m in self._times]
        if 'ever' in kinds:
            if not self._denied:
                raise RuleRefused(
                    "'ever' without 'never' or 'not'", "write 'always' or 'at some time'"
                )
            self._times = [m for m in self._times if m.kind != 'ever']
        if self._only:
            renamed = {'while': 'only-while', 'after': 'only-after'}
            self._conditions = [
                Modifier(renamed.get(m.kind, f'only {m.kind}'), m.numbers, m.condition)
                for m in self._conditions
            ]
            if [m.kind for m in self._times] == ['end']:
                raise RuleRefused(
                    "'only at the end'", "write when it must not be: 'never ... before'"
                )
        for number, each in enumerate(self._conditions):
            kind, *predicates = each.kind.split()
            if kind == 'place':
                if self._clause.way.predicate not in predicates:
                    raise RuleRefused('the place does not go with this', 'write it with while ...')
                if self._clause.way.momentary:
                    raise RuleRefused(
                        'a step at a place leaves no trace', 'write how things must be'
                    )
                self._conditions[number] = Modifier('while', (), each.condition)

    # A demand, or a ban, for some states.

    def _over(self, make: _Make) -> list[ConstraintTree]:
        """Trees about every state of some stretch of time."""
        return [make(formula) for formula in self._judged()]

    def _judged(self) -> list[Formula]:
        """What must hold where the clause is said: itself, or its negation."""
        if self._denied:
            return [negated(f) for f in self._quantities.formulas(self._clause, FORBIDDEN)]
        return self._quantities.formulas(self._clause, DEMANDED)

    def _once(self, make: _Make, purpose: str = DEMANDED) -> list[ConstraintTree]:
        """Trees about some state; for several things one by one, or for all at once."""
        clause = self._clause
        if self._limited:
            raise RuleRefused('a quantity with a moment', "write 'always' or 'at the end' with it")
        counted = purpose == COUNTED
        hows = {thing.how for _, thing in clause.things}
        several = hows & {*UNIVERSAL, *((ANY, NO, NOR, OR) if counted else ())}
        anyone = counted and leaves_out_who(clause)
        if anyone:
            several |= {ALL}
        found: list[ConstraintTree] = []
        goal = self._clause.way.goal is not None and bool(several)
        if (several or 'each' in self._manner) and 'together' not in self._manner:
            each = self._quantities.one_by_one(clause, counted=counted)
            parts = [make(f) for one in each for f in self._quantities.formulas(one, SUPPOSED)]
            found.append(ConstraintAnd(tuple(parts)))
        unclear = ALL in several or (AND in several and not clause.done)
        unclear = unclear or (OR in several and not self._denied)
        if not found or (unclear and not goal and 'each' not in self._manner):
            shape = SUPPOSED if counted else DEMANDED
            found += [make(f) for f in self._quantities.formulas(clause, shape)]
        return found

    def _plain(self, time: Modifier | None) -> list[ConstraintTree]:
        kind = time.kind if time is not None else ''
        if kind in ('', 'always'):
            return self._without_time(kind)
        if self._voice == MAY and not (self._denied or self._limited or kind == 'most-once'):
            self._refuse_permission()
        if kind == 'end':
            return self._over(lambda f: Constraint('at end', (f,)))
        numbers = time.numbers if time is not None else ()
        if kind == 'from':
            return self._over(lambda f: Constraint('hold-after', (f,), numbers))
        if kind == 'during':
            return self._over(lambda f: _window(f, *numbers))
        if kind == 'more-than-once':
            if not self._denied:
                raise RuleRefused("'more than once' cannot be demanded", "write 'at least once'")
            return self._once(lambda f: Constraint('at-most-once', (f,)), COUNTED)
        if kind == 'before-step' and self._denied:
            return self._over(lambda f: _window(f, 0, *numbers))
        if self._denied:
            raise RuleRefused(
                f'{_told(kind)} with a negation', "write 'never' or 'not more than once'"
            )
        if kind == 'most-once':
            return self._once(lambda f: Constraint('at-most-once', (f,)), COUNTED)
        if kind == 'sometime':
            return self._once(lambda f: Constraint('sometime', (f,)))
        if kind in ('within', 'by'):
            return self._once(lambda f: Constraint('within', (f,), numbers))
        if kind == 'before-step':
            if not self._clause.done or not numbers[0]:
                raise RuleRefused("'before step ...' of how things are", "write 'by step ...'")
            return self._once(lambda f: Constraint('within', (f,), (numbers[0] - 1,)))
        once = self._once(_exactly_once, COUNTED)
        if kind == 'exactly-once':
            return once
        if kind in ('once', 'only-once'):
            less = 'at-most-once' if kind == 'only-once' or self._only else 'sometime'
            return [*self._once(lambda f: Constraint(less, (f,)), COUNTED), *once]
        raise RuleRefused(f'{_told(kind)} does not go with this', 'write two sentences')

    def _without_time(self, kind: str) -> list[ConstraintTree]:
        if self._denied or self._limited or self._voice == KEEP:
            if kind and self._denied:
                raise RuleRefused("'always' with a negation", "write 'never'")
            return self._over(_always)
        if self._voice == MAY:
            self._refuse_permission()
        if self._clause.way.passing and not kind:
            return self._once(lambda f: Constraint('sometime', (f,)))
        if self._clause.done and kind:
            cure = "write how things must always be, as in 'b1 must always be on the table'"
            raise RuleRefused("'always' with what is done", cure)
        if kind:
            return self._over(_always)
        moments = self._once(lambda f: Constraint('sometime', (f,)))
        ends = self._over(lambda f: Constraint('at end', (f,)))
        return [*([] if self._clause.done else self._over(_always)), *moments, *ends]

    @staticmethod
    def _refuse_permission() -> None:
        raise RuleRefused(
            'what may be is allowed already', "write what must or must not be, or 'may only ... if'"
        )

    # A clause under a condition.

    def _under(self, condition: Modifier, time: Modifier | None) -> list[ConstraintTree]:
        supposed = condition.condition
        assert supposed is not None  # noqa: S101 - that is how they were chosen
        kind = condition.kind
        return [
            tree
            for formula in self._quantities.conditions(supposed, self._told.clause)
            for tree in self._said(kind, condition, formula, time)
        ]

    def _said(
        self, kind: str, condition: Modifier, when: Formula, time: Modifier | None
    ) -> list[ConstraintTree]:
        named = time.kind if time is not None else ''
        if kind == 'not-until':
            kind, self._denied = 'before', 1
        permits = self._voice == MAY and not self._denied and not self._limited
        if permits and kind not in ('unless', 'only-while', 'only-after'):
            self._refuse_permission()
        if named == 'within' and kind in ('after', 'while') and not self._denied:
            numbers = time.numbers if time is not None else ()
            return self._once(lambda f: Constraint('always-within', (when, f), numbers))
        if kind == 'within-after' and not self._denied and not named:
            return self._once(lambda f: Constraint('always-within', (when, f), condition.numbers))
        if named == 'sometime' and kind in ('after', 'while') and not self._denied:
            return self._once(lambda f: Constraint('sometime-after', (when, f)))
        if named not in ('', 'always') or kind == 'within-after':
            what = f'{_told(named or "a negation")} together with a condition'
            raise RuleRefused(what, 'write two sentences')
        if kind in ('while', 'unless', 'only-while'):
            return self._in_states(kind, when)
        if kind in ('before', 'until'):
            return self._earlier(kind, when, named)
        if kind == 'only-after' and not self._denied:
            return self._once(lambda f: Constraint('sometime-before', (f, when)), COUNTED)
        if kind == 'after':
            return self._later(when, named)
        raise RuleRefused(f'{_told(kind)} does not go with this', 'say it in two sentences')

    def _in_states(self, kind: str, when: Formula) -> list[ConstraintTree]:
        """What depends on the state alone."""
        if self._clause.way.momentary and (self._denied or kind != 'while'):
            raise RuleRefused(
                'a constraint compares states, and does not see in which of them a step is made',
                "write how things must not be: 'b1 must never be on b2 while ...'",
            )
        if kind == 'only-while':
            if self._denied:
                raise RuleRefused("'only' with a negation", "write 'never ... while ...'")
            found = self._quantities.formulas(self._clause, FORBIDDEN)
            return [_always(Imply(formula, when)) for formula in found]
        if kind == 'unless':
            if self._denied:
                found = self._quantities.formulas(self._clause, FORBIDDEN)
                return [_always(Imply(formula, when)) for formula in found]
            if self._voice == MAY:  # where the exception holds, it may not
                found = self._quantities.formulas(self._clause, FORBIDDEN)
                return [_always(Not(And((formula, when)))) for formula in found]
            if self._clause.done:
                raise RuleRefused("'unless' with what is done", "write 'never ... unless ...'")
            return self._over(lambda f: _always(Or((f, when))))
        if self._denied:
            found = self._quantities.formulas(self._clause, FORBIDDEN)
            return [_always(Not(And((formula, when)))) for formula in found]
        states = self._over(lambda f: _always(Imply(when, f)))
        if self._clause.done and self._voice != KEEP:
            return [*states, *self._once(lambda f: Constraint('sometime-after', (when, f)))]
        return states

    def _earlier(self, kind: str, when: Formula, named: str) -> list[ConstraintTree]:
        """What must be, or must not be, before something else."""
        if self._denied:
            if named:
                raise RuleRefused("'always' with a negation", "write 'never ... before ...'")
            found = self._quantities.formulas(self._clause, FORBIDDEN)
            return [Constraint('sometime-before', (formula, when)) for formula in found]
        if kind == 'until' and self._clause.done and self._voice != KEEP:
            raise RuleRefused(
                "'until' with what is done", "write 'keep ... until', or 'never ... until'"
            )
        kept = self._over(lambda f: Constraint('sometime-before', (negated(f), when)))
        if kind == 'until' or self._voice == KEEP:
            return kept
        first = self._once(lambda f: Constraint('sometime-before', (when, f)))
        return [*first, *kept] if named else first

    def _later(self, when: Formula, named: str) -> list[ConstraintTree]:
        """What must be after something else."""
        if self._denied or named or self._voice == KEEP:
            raise RuleRefused(
                'PDDL3 cannot say what must be so in every state after something',
                "write 'while ...', or 'never ... before ...' the other way round",
            )
        if self._clause.done:
            return self._once(lambda f: Constraint('sometime-after', (when, f)))
        raise RuleRefused(
            'it is unclear whether this must be so at some time after that, or from then on',
            "write 'after ..., ... must eventually be ...' for the first; PDDL3 has no second",
        )


def _exactly_once(formula: Formula) -> ConstraintTree:
    most, least = (Constraint(each, (formula,)) for each in ('at-most-once', 'sometime'))
    return ConstraintAnd((most, least))


def _told(kind: str) -> str:
    """A kind of modifier for a message."""
    return repr(kind.replace('-', ' '))


def _window(formula: Formula, begin: int, end: int) -> Constraint:
    if begin >= end:
        raise RuleRefused(
            f'no state lies from step {begin} until before step {end}, so nothing is asked',
            'write the earlier step first; the second one is the first that no longer counts',
        )
    return Constraint('hold-during', (formula,), (begin, end))
