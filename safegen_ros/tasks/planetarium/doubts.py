# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Doubts about a reading, for the person who confirms it.

A model that drops half a sentence writes a problem that is right in itself, so the words of the
request are compared with it. Each object and number that they name must be used, or be where a
used object is now. Each clause with a word such as `never`, `not` or `before` needs a rule about
its objects. Each object and rule of the reading needs a word in the request.

A false doubt costs a look, so these rules know no side remarks, corrections or idioms.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations, pairwise

from safegen_ros.language.lexicon import lexicon
from safegen_ros.language.noun_phrases import NounPhrases
from safegen_ros.pddl.deciding import changed_predicates
from safegen_ros.pddl.model import (
    AtomFormula,
    Constraint,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Problem,
    subformulas,
    terms_of,
    walk,
)
from safegen_ros.tasks.planetarium.request import Request
from safegen_ros.tasks.planetarium.styles import observed_facts

_IN_TIME = (
    'never|always|ever|cannot|until|till|unless|while|during|before|after(?! (?:that|this|which))|'
    'afterwards|whenever|throughout|at (?:most once|all times|no (?:time|point|moment))|'
    'the (?:whole|entire) time|all along|no (?:circumstances|account|case|means|one|body)|nobody|'
    'only (?:once|when|if|subsequently|then|after)|off limits|refrain|forbid|prohibited|'
    r'no \w+ing any\w*|(?:one|a single) time|once (?:max|and no|at (?:the )?most)|'
    '(?:at|in) (?:some|any|every|each) (?:time|point|stage|moment|instant)|in between|hands off|'
    '(?:start|beginning) to (?:finish|end)|prior to|earlier than|followed by|goes last|thereafter|'
    '(?:that|this) (?:order|sequence)|(?:order|sequence) is'
)
_RULE = re.compile(
    rf"(?<![\w-])(?:(?P<time>{_IN_TIME})|not|without|except|avoid\w*|forbidden)(?![\w-])|n't\b"
)
_CLAUSE = re.compile(r'[.;:!?\n]+|,\s|\b(?:but|then)\b')
_ORDER = (
    r'before|after\w*|until|till|unless|only|first|last|once|order|sequence|wait|when|as long|next|'
    r'subsequent\w*|then|prior|earlier|ahead|way|priority'
)
_LASTING = (
    r"\w+n't|not?|never|always|nothing|nobody|none|neither|without|while|during|times?|throughout|"
    r'along|ever|avoid\w*|forb\w+|prohibit\w*|off|away|alone|untouched|stay\w*|remain\w*|keep\w*|'
    r'leave\w*|touch\w*|hands|together|apart'
)
_RULED = {
    'sometime-before': rf'\b(?:{_ORDER})\b',
    'at-most-once': r'\b(?:once|twice|again|most|time|more|good|stay\w*|one|single|only)\b',
    'always': rf'\b(?:{_LASTING})\b',
}
_RULED_ELSE = (
    rf'\b(?:{_ORDER}|{_LASTING}|within|most|least|some\w*|between|moment|via|through|visit\w*|'
    r'pass\w*)\b'
)
"""Words by which a request can ask for a rule of an operator."""
_SEVERAL = (
    r"all|any\w*|every\w*|each|both|none|no|nothing|nobody|rest|others?|another|remaining|them|'em|those|these|"
    r'they|what\w*|which\w*|where\w*|ones?|same|things?|stuff|lot|pairs?|places?|spots?|left|'
    r'(?:swap|switch|trad|exchang|chang|revers|flip|invert|unstack)\w*|(?:stack|tower|pile)s?|level'
)
"""Words by which a request can mean objects that it does not name."""
_COUNTS = ('two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven')
_NUMBER = re.compile(rf'(?<![\w.-])(\d+|{"|".join(_COUNTS)})(?![\w-])( steps?\b)?')
_OPEN = re.compile(rf'\b(?:{_SEVERAL}|{"|".join(_COUNTS)})\b')
_LIKE_A_NAME = re.compile(r'(?<![\w-])[a-z]+[_-]?\d+(?![\w-])')
_UNSPELT = re.compile(r'\b(do|does|did|ca|wo|is|are|was|were|must|should|could|would)nt\b')
"""A denial without its apostrophe."""
_PLACED = re.compile(
    r"(?: [a-z']+){0,5}? (?:(?P<on>on|onto|upon|atop|in|into|inside|at|to)|"
    r'under|below|beneath|underneath)(?: top of)?(?: the(?: [a-z]+)?)? '
)
"""What stands between two objects of which one is on or under the other."""
_ASIDE = re.compile(
    r'\b(?:on|onto|upon|in|into|at|to|under|below|beneath|of|off|from|but|except)'
    r'(?: the(?: [a-z]+)?)? $'
)
"""What stands before an object that only says where something is."""
_DOWN = re.compile(r'\b(?:top[ -](?:down|to (?:the )?bottom)|downwards?|from (?:the top|above))\b')
_UP = re.compile(
    r'\b(?:bottom[ -](?:up|to (?:the )?top)|upwards?|going up|from (?:the bottom|below)|'
    r'at the bottom|bottom one)\b'
)
_LISTED = (
    r'(?:[\s,]|\b(?:and|then|next|first|comes|followed by|the|blocks?|is|it|that|one|at|on|'
    r'right|flat|directly|bottom|table)\b)+'
)
"""What stands between the objects of a list from the top or from the bottom."""
_SWAPPED = re.compile(r'\b(?:swap|exchang|switch|trad|interchang)')
_JOINED = re.compile(r'\b(?:and|or|with|from|where|than|as|which|that|who|now|was)\b')
"""Words between two objects by which they do not belong together."""


def doubts(
    request: Request, problem: Problem, given: Collection[Constraint] = ()
) -> tuple[str, ...]:
    """What a problem may have missed or made up, in words for a person and the model.

    Args:
        problem: as the model wrote it.
        given: constraints that hold in any case, whatever the request says.
    """
    text = _text(request)
    if request.start is None:
        named = {name for name in _LIKE_A_NAME.findall(text) if name not in problem.objects}
        told = [f'the request names {name!r}, which is not an object' for name in sorted(named)]
        return (*told, *_missed_rules(text, problem, ('not', 'before', 'except', 'while', 'after')))
    return (
        *_missed_objects(text, problem),
        *_missed_rules(text, problem),
        *made_up(request, problem, given),
    )


def made_up(
    request: Request, problem: Problem, given: Collection[Constraint] = ()
) -> tuple[str, ...]:
    """The doubts about what a problem adds to an observed world's request, or turns round."""
    text, own = _text(request), [each for each in problem.constraints if each not in given]
    return (*_added(text, problem, own), *_misplaced(text, problem))


def _text(request: Request) -> str:
    """The part of a request that no grammar has read, in lower case and one spelling."""
    text = (request.text if request.rest is None else request.rest).lower()
    return _UNSPELT.sub(r"\1n't", text.replace('\N{RIGHT SINGLE QUOTATION MARK}', "'"))


def _missed_objects(text: str, problem: Problem) -> Iterator[str]:
    """The names, kinds and numbers of a text that a reading does not use."""
    used = {*_named((problem.goal,), problem)}
    for each in problem.constraints:
        used |= _of(each, problem)
    things = NounPhrases(problem, lexicon(problem.domain))
    changing, named = changed_predicates(problem), _names_in(text, problem.objects)
    beside = {
        name
        for fact, *terms in problem.init
        if fact in changing and used & {*terms[:1]}
        for name in terms[1:]
    }
    for name in sorted(named - used - beside - _alone(things) - {'a'}):  # which is an article
        yield f'the request names {name!r}, and the reading does not use it'
    nouns, names = ('|'.join(map(re.escape, each)) for each in (things.nouns, problem.objects))
    for how, word, place in re.findall(
        rf'\b(all|every|each|both|{"|".join(_COUNTS)})(?: (?:of|the|these|those|single|last))* '
        rf'({nouns})\b(?:(?: (?:that|which|now|is|are))* (?:at|in|on) (?:the )?({names})\b)?',
        text,
    ):
        members = {*things.members(things.nouns[word])}
        there = members & {a[1] for a in problem.init if len(a) > 2 and a[2] == place}
        count = _COUNTS.index(how) + 2 if how in _COUNTS else 2 if how == 'both' else 0
        meant = members & used
        if len(meant) < (count or len(there or members)) or len(meant - named) > count > 0:
            yield f"the request says '{how} {word}', and the reading has {len(meant)}"
    times = {time for each in problem.constraints for time in each.times}
    for number, steps in _NUMBER.findall(text):
        count = int(number) if number.isdecimal() else _COUNTS.index(number) + 2
        if count not in times and (
            steps
            or (count > len(used) and not any(re.fullmatch(rf'.*\D0*{count}', n) for n in used))
        ):
            yield f'the request says {number!r}, and the reading has no such number'


def _missed_rules(text: str, problem: Problem, harmless: Collection[str] = ()) -> Iterator[str]:
    """The clauses with a word of a rule about whose objects a reading has no rule."""
    in_time = [_of(each, problem) for each in problem.constraints]
    parts = [each for each in walk(problem.goal) if isinstance(each, Not | Imply)]
    denied = [{*_named((each,), problem)} for each in parts]
    left = len(in_time) + len(denied)
    for clause in _CLAUSE.split(text):
        found = next((m for m in _RULE.finditer(clause) if m[0] not in harmless), None)
        if found is None:
            continue
        rules = in_time if found['time'] else [*in_time, *denied]
        about = set[str]().union(*rules)
        behind = _names_in(clause[found.end() :], problem.objects)
        before = _names_in(clause[: found.start()], problem.objects)
        left -= 1
        if (
            left < 0
            or not rules
            or not (behind <= about if behind else not before or before & about)
        ):
            said = ' '.join(clause.split())[:80]
            yield f'the request says {said!r}, and the reading has no rule for it'


def _added(text: str, problem: Problem, rules: Sequence[Constraint]) -> Iterator[str]:
    """The rules and objects of a reading for which a text has no word."""
    things = NounPhrases(problem, lexicon(problem.domain))
    for rule in rules:
        if not re.search(_RULED.get(rule.operator, _RULED_ELSE), text):
            yield f'the reading has a rule ({rule.operator}), and the request has no word of one'
    meant = _names_in(text, problem.objects) | _alone(things)
    kinds = observed_facts(problem)[1].values()
    meant |= {names[0] for names in kinds if len(names) == 1}
    names = '|'.join(map(re.escape, problem.objects))
    for word, noun in things.nouns.items():
        if re.search(rf'(?<![\w-]){re.escape(word)}(?![\w-])(?! (?:{names})(?![\w-]))', text):
            meant |= {*things.members(noun)}
    if not _OPEN.search(text):
        formulas = [problem.goal, *(part for each in rules for part in each.arguments)]
        for name in sorted({*_constants(formulas, problem)} - meant):
            yield f'the reading has {name!r}, and the request says nothing of it'


def _misplaced(text: str, problem: Problem) -> Iterator[str]:
    """The placings of a text that a reading does not have and that are not true now."""
    formulas = [problem.goal, *(part for each in problem.constraints for part in each.arguments)]
    atoms = [f.terms for each in formulas for f in walk(each) if isinstance(f, AtomFormula)]
    atoms += [atom[1:] for atom in problem.init]
    pairs = {pair for terms in atoms for pair in combinations(terms, 2)}
    for one, other in dict.fromkeys(_placings(text, problem)):
        if (one, other) not in pairs:
            yield f'the request has {one!r} at {other!r}, and the reading does not'


def _placings(text: str, problem: Problem) -> Iterator[tuple[str, str]]:
    """The objects and places that a text joins: 'b1 on b2', 'top down b1, b2', 'swap b1 and b2'."""
    names = '|'.join(map(re.escape, problem.objects))
    name = re.compile(rf'(?<![\w-])(?:{names})(?![\w-])')
    for clause in _CLAUSE.split(text):
        found = () if _RULE.search(clause) else name.finditer(clause)
        for one, other in pairwise(found):
            between = clause[one.end() : other.start()]
            told = _PLACED.fullmatch(between)
            if told and not _ASIDE.search(clause[: one.start()]) and not _JOINED.search(between):
                yield (one[0], other[0]) if told['on'] else (other[0], one[0])
    for sentence in re.split(r'[.;!?\n]', text):
        down, up = _DOWN.search(sentence), _UP.search(sentence)
        listed = re.search(rf'(?<![\w-])(?:{names})(?:{_LISTED}(?:{names})(?![\w-]))+', sentence)
        if listed and bool(down) != bool(up):
            run = [*dict.fromkeys(name.findall(listed[0]))]
            yield from pairwise(run if down else run[::-1])
        swapped = name.findall(sentence)
        if _SWAPPED.search(sentence) and len(swapped) == 2:
            for one, other in (swapped, swapped[::-1]):
                there = (atom[2] for atom in problem.init if len(atom) == 3 and atom[1] == one)
                yield from ((other, place) for place in there if place != other)


def _alone(things: NounPhrases) -> set[str]:
    """The one who acts, where there is only one."""
    doing = ' '.join(lexicon(things.problem.domain).agents)
    acting = (things.members(noun) for word, noun in things.nouns.items() if word in doing)
    return {members[0] for members in acting if len(members) == 1}


def _names_in(text: str, objects: Iterable[str]) -> set[str]:
    """The objects that a text names."""
    return {*objects} & {*re.findall(r'[\w-]+', text)}


def _of(constraint: Constraint, problem: Problem) -> set[str]:
    """The objects of a constraint."""
    return {name for _, name in constraint.binding} | {*_named(constraint.arguments, problem)}


def _named(formulas: Iterable[Formula], problem: Problem) -> Iterator[str]:
    """The objects of formulas, those of a quantifier's kinds included."""
    for each in formulas:
        yield from (name for name in terms_of(each) if name in problem.objects)
        if isinstance(each, Forall | Exists):
            for _, kind in each.variables:
                yield from problem.objects_by_type()[kind]
        yield from _named(subformulas(each), problem)


def _constants(formulas: Iterable[Formula], problem: Problem) -> Iterator[str]:
    """The objects that formulas name."""
    for each in formulas:
        yield from (name for name in terms_of(each) if name in problem.objects)
        yield from _constants(subformulas(each), problem)
