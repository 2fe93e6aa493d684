# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Checks that a reading adds nothing to its request that a rule can find.

Each object of the goal and the rules must be named, or be one of those that the request means by
other words; two cars are two; an exchange is one; and a rule needs a word for it. A model that
makes up more is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from safegen_ros.language.lexicon import lexicon
from safegen_ros.language.noun_phrases import NounPhrases
from safegen_ros.pddl.model import (
    Atom,
    AtomFormula,
    Constraint,
    Formula,
    Not,
    Problem,
    subformulas,
    terms_of,
)
from safegen_ros.tasks.planetarium.coverage import (
    COUNTS,
    PART,
    RULE,
    alone,
    names_in,
    plain_text,
)
from safegen_ros.tasks.planetarium.goal_prompt import observed_facts
from safegen_ros.tasks.planetarium.request import Request

_OPEN = re.compile(
    r'\b(?:all|any\w*|every\w*|each|both|either|neither|none|nothing|no ?body|rest|others?|no one|'
    r"another|remaining|(?:is|are|the) left|them|'em|those|these|they|what\w*|which\w*|where\w*|"
    r'places?|spots?|same|swap\w*|swit\w*|trad\w*|exchang\w*|chang\w*|interchang\w*|flip\w*|'
    r'invert\w*|revers\w*|other way round|upside|it was|ones?|two|three|four|five|six|seven|eight|'
    r'nine|ten|pairs?|lot|unstack|dismantle|tear|apart|level|mix\w*|undo|stuff|things?|left|right|'
    r"stacks?|towers?|piles?|the [a-z]+ (?:that|that's|which|who|currently))\b"
)
"""Words by which a request can mean objects that it does not name."""
_DENIAL = (
    r"n't\b|\b(?:not?|never|ever|nothing|no ?body|none|neither|nor|without|avoid\w*|refrain\w*|"
    r'forb\w+|prohibit\w*|ban\w*|closed|limits?|hands|paws|off|away|out|outside|clear|alone|only|'
    r'untouched|taboo|hate|disaster|touch\w*|stays?|staying|remain\w*|keep\w*|leave\w*|leaving|left|'
    r'mine|budge\w*|disturb\w*|move\w*)\b'
)
_LASTING = (
    r"n't\b|\b(?:not?|never|always|stays?|staying|stayed|remain\w*|keep\w*|kept|leave\w*|leaving|left|"
    r'times?|throughout|along|while|during|meanwhile|cease|stops?|alone|hands|untouched|together|'
    r'glued|good|forever|move\w*|touch\w*|careful\w*|apart|separat\w*)\b'
)
_ORDER = (
    r'\b(?:before|after\w*|until|till|unless|first|last|later|then|once|only|order|sequence|prior|'
    r'earlier|precede\w*|begin|start|wait\w*|long|when|not|second|next|subsequent\w*|done)\b'
)
_ONCE = r'\b(?:once|twice|again|second|more|most|good|rest|single|time|repeat\w*|there)\b'
_OTHER = '|'.join(
    (
        _DENIAL,
        _LASTING,
        _ORDER,
        _ONCE,
        r'\b(?:some\w*|point|stage|moment|within|in time|seconds?|steps?|minutes?|way|visit\w*|'
        r'pass\w*|via|through|must|have|has|had|need\w*|least|end|finally|by)\b',
    )
)
_NOW = (
    r"(?: (?:that|which|who)(?: (?:is|are|lies?|sits?|stands?)|'s)|'s)?"
    r'(?: (?:now|currently|presently|at present|lying|standing|sitting|waiting))*'
)
_MARK = re.compile(r"\b(?:that|which|who|now|currently|presently|at present)\b|'s\b")
_CORRECTED = re.compile(
    r'\b(?:sorry|scratch|correction|second thought|wait|instead|rather|nah|actually|i mean|i meant|'
    r'no better|other way round|make (?:that|it)|no(?= \w+\d)|no(?=,)|not(?= \w+\d\b\s*[.,]))\b'
)
_JOINED = re.compile(
    r'\b(?:and|or|then|but|with|from|where|than|as|which|that|who|now|moment|was)\b'
)
"""Words between two objects by which they do not belong together."""
_UNWANTED = re.compile(r'\b(?:no|no ?body|no one|nothing|none|neither|hate)\b')
_DOWN = re.compile(
    r'\btop[ -](?:down|to (?:the )?bottom)|\bdownwards?\b|\bfrom (?:the top|above)\b'
)
_UP = re.compile(
    r'\bbottom[ -](?:up|to (?:the )?top)|\b(?:upwards?|going up)\b|\bfrom (?:the bottom|below)\b'
)
_UNCOUNTED = re.compile(
    r'\b(?:all the|every\w*|each|rest|others?|remaining|left|another|any\w*|more)\b'
)
_BOTH = re.compile(r"\b(?:both|them|'em|they|these|those)\b(?! [a-z]*s\b| of\b)")
"""Words for two objects that are named."""
_COUNT = rf'both|{"|".join(COUNTS)}'


def made_up(request: Request, problem: Problem) -> str:
    """What a problem adds to its request, in words for the model; empty for nothing.

    The problem is as the model wrote it, without the constraints that hold in any case.
    """
    if request.start is None:
        return ''
    text = plain_text(request)
    for rule in problem.constraints:
        if not re.search(_rule_words(rule), text):
            return f'it has a constraint with {rule.operator}, and the request has no such rule'
    things = NounPhrases(problem, lexicon(problem.domain))
    named = {*names_in(text, problem.objects)} | alone(things)
    formulas = [problem.goal, *(each for c in problem.constraints for each in c.arguments)]
    meant = named | _meant(text, things)
    for name in _constants(formulas, problem):
        if name not in meant:
            return f'it has {name!r}, of which the request says nothing'
    return (
        _miscounted(text, things)
        or _exchanged_wrongly(text, problem)
        or _misplaced(text, problem, things)
        or _stacked_wrongly(text, problem, things)
    )


def _rule_words(rule: Constraint) -> str:
    """A pattern of the words that such a rule has in a request."""
    if rule.operator == 'always':
        return _DENIAL if isinstance(rule.arguments[0], Not) else _LASTING
    return {'sometime-before': _ORDER, 'at-most-once': _ONCE}.get(rule.operator, _OTHER)


def _meant(text: str, things: NounPhrases) -> set[str]:
    """The objects that a text means without a name."""
    problem = things.problem
    kinds = observed_facts(problem)[1].values()
    meant = {names[0] for names in kinds if len(names) == 1}
    for name in problem.objects:
        stem = re.match(r'[a-z]*', name)
        if stem and stem[0] and re.search(rf'\b{stem[0]}s?\b(?![_-])', text):
            meant.add(name)
    names, nouns = ('|'.join(map(re.escape, each)) for each in (problem.objects, things.nouns))
    placed = re.compile(
        rf'(?:\b(?:all|every|each|the|of|{_COUNT}) )*\b(?P<noun>{nouns})\b{_NOW}'
        rf'(?P<at> (?:at|in|on|from))? (?:the )?(?:(?:{nouns}) )?(?P<name>{names})(?![\w-])'
    )

    def kept(found: re.Match[str]) -> str:
        """The words, without a named object or its present place."""
        if found['at'] and found['at'] != ' from' and not _MARK.search(found[0]):
            return found[0]
        if found['at']:
            there = {atom[1] for atom in problem.init if found['name'] in atom[2:]}
            meant.update(there.intersection(things.members(things.nouns[found['noun']])))
        return ' '

    if len({*names_in(text, problem.objects)}) > 1:
        text = _BOTH.sub(' ', text)
    text = placed.sub(kept, text)
    counted = (
        rf'\b(?:all|any|every|each|no|another|either|neither|none|{_COUNT})'
        rf'(?: (?:of|the|its|his|my|our|other|single|last|these|those|remaining|{_COUNT}))* '
        rf'({nouns})\b'
    )
    for noun in re.findall(counted, text):
        meant |= {*things.members(things.nouns[noun])}
    text = re.sub(counted, ' ', text)
    if _OPEN.search(text):
        return {*problem.objects}
    for word, noun in things.nouns.items():
        if re.search(rf'(?<![\w-]){re.escape(word)}(?![\w-])', text):
            meant |= {*things.members(noun)}
    return meant


def _miscounted(text: str, things: NounPhrases) -> str:
    """The number of things in a text that is not that of the goal, where it counts them all."""
    if re.search(
        r'\b(?:all the|every\w*|each|rest|others?|remaining|left|another|any\w*|more)\b', text
    ):
        return ''
    goal = {*_constants((things.problem.goal,), things.problem)}
    for word, noun in things.nouns.items():
        members = {*things.members(noun)}
        if word in ('object', 'objects') or members & {*names_in(text, members)}:
            continue
        found = re.findall(
            rf'\b({_COUNT})\s+(?:(?:of|the|its|his|these|those)\s+)*{word}\b|'
            rf'\b{word}\b[^.;,!?]*\b(both)\b',
            text,
        )
        counts = {COUNTS.get(''.join(each), 2) for each in found}
        if len(counts) == 1 and members & goal and {len(members & goal)} != counts:
            return f'its goal has {len(members & goal)} of the kind, and the request another number'
    return ''


def _exchanged_wrongly(text: str, problem: Problem) -> str:
    """The one of two exchanged objects that a goal does not put in the place of the other."""
    names = '|'.join(map(re.escape, problem.objects))
    called = rf'(?:the )?(?:[a-z]+ )?({names})'
    found = re.search(
        rf'\b(?:swap|exchange|switch|interchange)(?: around)? {called} (?:and|with|for) {called}'
        rf'(?![\w-])|(?<![\w-]){called} and {called} (?:\w+ ){{0,2}}'
        r'(?:swap|trade|exchange|change|switch)(?: their)? (?:places|spots)\b',
        text,
    )
    pair = [name for name in found.groups() if name] if found else []
    if any({*pair} <= {*atom} for atom in problem.init):
        return ''  # one of them is on the other
    wanted = {*_atoms(problem)}
    for one, other in (pair, pair[::-1]) if len(pair) == 2 else ():
        for atom in problem.init:
            if atom[1:2] != (one,) or len(atom) != 3 or other in atom:
                continue
            where = {each[1] for each in wanted if each[0] == atom[0] and each[2:] == atom[2:]}
            if any(each[:2] == (atom[0], other) for each in problem.init) and other not in where:
                return f'it does not put {other!r} in the place of {one!r}'
    return ''


def _misplaced(text: str, problem: Problem, things: NounPhrases) -> str:
    """The object of a goal that the text puts elsewhere, in so many words."""
    if _CORRECTED.search(text):
        return ''
    said = {*_placings(text, problem, things)}
    kinds = observed_facts(problem)[1].values()
    for fact, thing, place in (each for each in _atoms(problem) if len(each) == 3):
        if (thing, place) in said:
            continue
        alike = next((names for names in kinds if place in names), [])
        for where in alike:
            if (thing, where) in said and (fact, thing, where) not in problem.init:
                return f'it has {thing!r} with {place!r}, and the request says {where!r}'
        now = (fact, place, thing) in problem.init
        if thing in alike and (place, thing) in said and not now:
            return f'it has {thing!r} and {place!r} the other way round'
    return ''


def _stacked_wrongly(text: str, problem: Problem, things: NounPhrases) -> str:
    """The pair of a list 'from top to bottom', or the other way, that the goal does not have."""
    goal = {each[1:] for each in _atoms(problem)}
    names, nouns = ('|'.join(map(re.escape, each)) for each in (problem.objects, things.nouns))
    between = (
        r'(?:[\s,]|\b(?:and|then|next|comes|the|followed by|'
        rf'(?:on|below|beneath|under) it|{nouns})\b)+'
    )
    listed = re.compile(rf'(?<![\w-])(?:{names})(?:{between}(?:{names})(?![\w-]))+')
    for sentence in re.split(r'[.;!?\n]', text):
        down, up = _DOWN.search(sentence), _UP.search(sentence)
        found = listed.search(sentence)
        if not found or bool(down) == bool(up):
            continue
        run = [*dict.fromkeys(re.findall(rf'(?<![\w-])(?:{names})(?![\w-])', found[0]))]
        for pair in pairwise(run if down else run[::-1]):
            if pair not in goal and problem.objects[pair[0]] == problem.objects[pair[1]]:
                return f'it does not have {pair[0]!r} upon {pair[1]!r}'
    return ''


def _placings(text: str, problem: Problem, things: NounPhrases) -> Iterator[tuple[str, str]]:
    """The objects and places that a text joins, as in 'b1 goes on b2' and 'b2 is under b1'."""
    names, nouns = ('|'.join(map(re.escape, each)) for each in (problem.objects, things.nouns))
    behind = re.compile(
        rf"(?: [a-z']+){{0,5}}? (?:(?P<on>on|onto|upon|atop|in|into|inside|at|to)|"
        rf'under|below|beneath|underneath)(?: (?:top of|the|{nouns}))* '
    )
    aside = re.compile(
        r'\b(?:on|onto|upon|in|into|at|to|under|below|beneath|of|from|but|except|for|than|bar|save)'
        rf'(?: (?:the|{nouns}))* $'
    )
    for part in PART.split(text):
        found = [*re.finditer(rf'(?<![\w-])(?:{names})(?![\w-])', part)]
        if RULE.search(part) or _UNWANTED.search(part):
            continue
        for one, other in pairwise(found):
            if aside.search(part[: one.start()]):
                continue  # where something is, or what is excepted
            between = part[one.end() : other.start()]
            told = behind.fullmatch(between)
            described = re.search(rf'\b(?:{nouns}) [a-z]', between)
            if told and not described and not _JOINED.search(between):
                yield (one[0], other[0]) if told['on'] else (other[0], one[0])


def _atoms(problem: Problem) -> Iterator[Atom]:
    """The atoms of a goal."""
    for each in problem.goal_conjuncts():
        if isinstance(each, AtomFormula):
            yield each.predicate, *each.terms


def _constants(formulas: Iterable[Formula], problem: Problem) -> Iterator[str]:
    """The objects that formulas name."""
    for each in formulas:
        yield from (name for name in terms_of(each) if name in problem.objects)
        yield from _constants(subformulas(each), problem)
