# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Checks that a reading leaves out no part of its request that a rule can find.

A model that drops half a sentence writes a problem that is right in itself. The words of the
request decide: each object that they name must be in the goal or in a constraint, unless it says
where another one is now (`the cars at l1`); each number must be that of something; and `never`,
`not`, `before` and their like need a constraint about the same objects. What is understood wrongly,
but wholly, is for the person who confirms the reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial

from safegen_ros.language.lexicon import lexicon
from safegen_ros.language.noun_phrases import NounPhrases
from safegen_ros.pddl.model import (
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
from safegen_ros.pddl.pruning import changed_predicates
from safegen_ros.tasks.planetarium.goal_prompt import observed_facts
from safegen_ros.tasks.planetarium.request import Request

_IN_TIME = (
    'never|always|ever|cannot|until|unless|while|during|(?<!as )before|'
    'after(?! (?:that|this|which)\\b)|only afterwards|whenever|'
    'throughout|at most once|at all times|at no (?:time|point|moment)|all along|'
    'the (?:whole|entire) time|under no circumstances|on no account|in no case|by no means|'
    'only (?:once|when|if|subsequently)|no one|no ?body|off limits|refrain|'
    r'forbid|prohibited|no \w+ing any\w*'
)
_DENIED = 'not|without|except|avoid|avoiding|forbidden'
RULE = re.compile(rf"(?<![\w-])(?:(?P<time>{_IN_TIME})|(?:{_DENIED}))(?![\w-])|n't\b")
PART = re.compile(r'[.;:!?\n]+|,\s|\b(?:but|then)\b')
_EMPHASIS = re.compile(
    r"(?:\s|[\"'-]|\b(?:not|never|ever|even|for|an?|one|single|second|moment|instant|once|at|any|no|all|"
    r'time|point|whatsoever|absolutely|really|please|i|mean|it|under|circumstances|and|really)\b)+'
)
"""A part that stresses the rule before it: 'not even for a second'."""
_IDLE = re.compile(
    '|'.join(
        (
            r"\b(?:(?:do|does|did|need|must)(?:n't| not)|never|without|couldn't|could not)\s+"
            r'(?:(?:you|really|even)\s+)*(?:care|mind|worry|worrying|matter|forget|hesitate|bother|'
            r'drop it|ask (?:me )?(?:why|how)|(?:have|need) to)\b',
            r'\b(?:because|since|otherwise|or else)\b(?![^.;,]*\b(?:never|always|must|may|can|'
            r"can't|should|could|allowed|cannot)\b)[^.;,]*",
            r'\buntil i (?:say|tell)\b',
            r"(?:\bnot|n't)\s+(?:(?:so|very|really|that|of|any|much|my)\s+)*(?:relevant|important|"
            r'importance|concern|interest(?:ed)?|fussed|bothered|urgent|necessary|amused|idea)\b',
            r"\bif (?:it|that|this)(?:'s| is| isn't| is not)?(?: not)? (?:too much|any|no) "
            r'(?:trouble|bother|work|hassle|to ask)\b',
            r"\bwhy (?:don't|do not|not)\b(?: (?:you|we)\b)?",
            r"\b(?:i|we) (?:can(?:'t|not)|couldn't) (?:even )?(?:reach|lift|carry|do|see) "
            r'(?:it|that|them|there)\b(?: myself)?',
            r"\b(?:won't|will not) (?:be|take) long\b",
            r"\bi(?:'m| am) after\b",
            r"\bi(?:'ve| have)? never (?:once |ever )?(?:saw|seen|left|learned|had|been|met|did)\b",
            r"\bso (?:that )?(?:it|they) (?:do|does|wo|will|ca)(?:n't| not) "
            r'(?:wobble|fall|tip|break|slip|roll|slide|rattle)\b',
            r'\b(?:like|than|as) before\b',
            r'\bwithout any(?:thing| \w+) (?:on|upon|in)\b',
            r',\s+while (?=(?:all )?the (?:rest|others?|remaining)\b)',
        )
    )
)
"""Words that sound like a rule but add none."""
_HAPPENS = (
    r"(?:'s| is| has| was| won't| will not| doesn't| does not| keeps)(?: been)? "
    r'(?:rattl|fall|open|clos|shak|wobbl|leak|squeak|break|broke|stuck|loose|giv|mak|com)\w*'
)
"""Events of a thing, behind its name."""
_OPINION = re.compile(
    r"\b(?:(?:do|does|did)(?:n't| not)|never|not) (?:ever )?(?:like|love|enjoy|know|understand|"
    r'trust|complain\w*|seen?|learn\w*)\b[^.;:!?,\n]*|'
    r'\b(?:no ?body|no one) (?:\w+ed|was|did|has|had|saw|knows?|cares?|told|is)\b[^.;:!?,\n]*'
)
"""What somebody feels or knows; a rule all the same where it names or means an object."""
_UNSPELT = re.compile(
    r'\b(do|does|did|ca|wo|is|are|was|were|must|should|could|would|need|has|have)nt\b'
)
"""A denial without its apostrophe."""
_BINDS = re.compile(
    r'(?<![\w-])(?:it|its|them|they|that|this|these|those|ones|any\w*|no(?:thing|body|ne| one)|'
    r"some\w*|every\w*|each|both|all|others?|must\w*|mustn't|may|should\w*|shouldn't|shall|can\w*|"
    r"can't|do|don't|dont|does|doesn't|let|keep|leave|stay\w*|never|ever|always|allowed|only)(?![\w-])"
)
"""Words of rules. A part without one, and without a name or noun, is not a rule: 'not my idea'."""
_STANDS = (
    'is|are|was|lies|lie|sits|stands|lying|sitting|standing|resting|waiting|parked|located|now|'
    'currently|presently|moment|that|which|what|whatever|everything|all|one|ones|thing|those'
)
_BY_PLACE = 'at|in|on|upon|from|standing|lying|waiting|sitting|resting|that|which|who|of'
COUNTS = {
    'two': 2, 'three': 3, 'four': 4, 'five': 5, 'six': 6, 'seven': 7, 'eight': 8, 'nine': 9,
    'ten': 10, 'eleven': 11, 'twelve': 12,
}  # fmt: skip
_NUMBER = re.compile(rf'(?<![\w.-])(\d+|{"|".join(COUNTS)})(?![\w-]|\.\d)(\s+\w+)?')
_TIMES = re.compile(r'(?:second|minute|hour|day|week|month|year|people|percent|am|pm)s?')
_STEPS = ('step', 'steps', 'action', 'actions', 'move', 'moves')
_LIKE_A_NAME = re.compile(r'(?<![\w-])[a-z]+[_-]?\d+(?![\w-])')
_CORRECTION = (
    r'(?:(?:oh )?no|wait|nah|sorry|i mean(?:t)?|(?:or )?rather|scratch that|correction|'
    r'make (?:that|it))'
)
_BEHIND_A = re.compile(
    r'\s*(?:$|[.,;:!?)]|(?:on|onto|in|into|to|at|from|and|or|is|must|be|up|down|off|under|before|'
    r'after|with|until|while)\b)'
)
"""What stands behind an object of the name `a`, and not behind the article."""


def left_out(request: Request, problem: Problem) -> str:
    """What a problem leaves out of its request, in words for the model; empty for nothing.

    The problem is as the model wrote it, without the constraints that hold in any case.
    """
    text = plain_text(request)
    used = set(_named((problem.goal,), problem))
    for each in problem.constraints:
        used |= _of(each, problem)
    if request.start is None:
        known = set(problem.objects)
        named = [name for name in _LIKE_A_NAME.findall(text) if name not in known]
        if named:
            return f'the request names {named[0]!r}, which is not an object of it'
        return _rule_left_out(text, problem, ('not', 'before', 'except', 'while', 'after'))
    things = NounPhrases(problem, lexicon(problem.domain))
    text = _without_corrected(_without_uncared(text, things), things, used)
    text = _without_events(text, problem, used)
    text = _without_exceptions(text, problem, used)
    for name in names_in(text, problem.objects):
        if name not in used | alone(things) and not _tells_where(text, name, things, used):
            return f'the request names {name!r}, which is in no goal and no constraint of it'
    told = _OPINION.sub(partial(_unless_named, things), _IDLE.sub(' ', text))
    return (
        _kind_left_out(told, things, used)
        or _number_left_out(told, problem, used)
        or _rule_left_out(told, problem, nouns=things.nouns, ruled=bool(request.constraints))
    )


def plain_text(request: Request) -> str:
    """The part of a request that no grammar has read, in lower case and one spelling."""
    text = (request.text if request.rest is None else request.rest).lower()
    return _UNSPELT.sub(r"\1n't", text.replace('\N{RIGHT SINGLE QUOTATION MARK}', "'"))


def _unless_named(things: NounPhrases, found: re.Match[str]) -> str:
    """A blank for words that mean no object."""
    nouns = '|'.join(map(re.escape, (*things.nouns, 'it', 'them', 'this', 'these', 'anything')))
    named = re.search(rf'(?<![\w-])(?:{nouns})(?![\w-])', found[0])
    return found[0] if named or [*names_in(found[0], things.problem.objects)] else ' '


def _without_uncared(text: str, things: NounPhrases) -> str:
    """A text without the objects of which it says that they do not matter."""
    nouns, names = (
        '|'.join(map(re.escape, each)) for each in (things.nouns, things.problem.objects)
    )
    called = rf'(?:the )?(?:(?:{nouns}) )?(?:{names})(?![\w-])'
    return re.sub(
        rf"(?:\bnever mind|(?:n't|\bnot) (?:care|mind|worry|bother)(?: (?:less|about|for|with))+|"
        rf'\bwhatever happens (?:to|with)) {called}(?=\s*(?:[.,;!?)]|$))|'
        rf"(?<![\w-]){called} (?:is(?:n't| not) (?:important|relevant)|"
        rf"is of no (?:importance|concern)|does(?:n't| not) matter)\b",
        ' ',
        text,
    )


def _without_corrected(text: str, things: NounPhrases, used: set[str]) -> str:
    """A text without an unused object that another replaces: 'b2, no, b3', 'b3 instead of b2'."""
    nouns, names = (
        '|'.join(map(re.escape, each)) for each in (things.nouns, things.problem.objects)
    )
    called = rf'(?:the )?(?:(?:{nouns}) )?({names})(?![\w-])'
    wrong = rf'{_CORRECTION}\b[\s,.-]*'
    text = re.sub(
        rf'\b((?:{wrong})+{called}),? (?:not|instead of|rather than) {called}', r'\1', text
    )
    told = re.compile(
        rf'(?<![\w-]){called}(?=[\s,.-]*\b(?:{wrong})+{called})|'
        rf'\b(?:(?:instead of|rather than) {called}|(?:not|scratch) {called}(?=\s*(?:[.,;:!?)]|$)))'
    )
    out = {found[1] or found[3] or found[4] for found in told.finditer(text)} - used
    text = told.sub(lambda found: ' ' if out & {*found.groups()} else found[0], text)
    return (
        re.sub(rf'(?<![\w-])(?:{"|".join(map(re.escape, out))})(?![\w-])', ' ', text)
        if out
        else text
    )


def _without_exceptions(text: str, problem: Problem, used: set[str]) -> str:
    """A text without 'but b3' behind 'all blocks', where all others of that kind are used."""
    every = '|'.join(map(re.escape, problem.objects))
    name = rf'(?:(?:the )?(?:[a-z]+ )?(?:{every})(?![\w-]))'
    told = re.compile(
        r'(\b(?:all|every\w*|each)\b(?: \w+){0,3}?) (?:but|except|save|bar|apart from|other than)'
        rf'(?: for)? ({name}(?:(?:,| and|, and) {name})*)'
    )
    kinds = observed_facts(problem)[1].values()

    def shorter(found: re.Match[str]) -> str:
        out = {*names_in(found[2], problem.objects)}
        same = {name for kind in kinds if out & {*kind} for name in kind}
        return f'the {found[1].partition(" ")[2]}' if same - out <= used else found[0]

    return told.sub(shorter, text)


def alone(things: NounPhrases) -> set[str]:
    """Who acts, where there is only one."""
    doing = ' '.join(lexicon(things.problem.domain).agents)
    acting = (things.members(noun) for word, noun in things.nouns.items() if word in doing)
    return {members[0] for members in acting if len(members) == 1}


def _tells_where(text: str, name: str, things: NounPhrases, used: set[str]) -> bool:
    """Whether an object only says where one that is used is now, as in 'the cars at l1'."""
    if not _beside(name, things.problem, used):
        return False
    nouns = '|'.join(map(re.escape, things.nouns))
    at = (
        rf'(?:from|off|out of|where(?:ver)?|same (?:{nouns}) as|'
        rf'(?:{nouns}|spot|position) (?:of|with)|'
        rf'(?:{_STANDS}|{nouns})\s+(?:at|in|on|upon|under|below|beneath|underneath|has)|'
        r'(?:swing|stop|pass)(?:ing)? by|'
        r'(?:what|that|which)(?=\s[^.;,]*\b(?:is|stands|sits|lies)\b))\s+'
    )
    called = rf'(?:(?:{nouns})\s+)?{re.escape(name)}(?![\w-])'
    told = re.sub(rf'\b{at}(?:the\s+)?{called}', '', text)
    return name not in names_in(told, [name])


def _beside(name: str, now: Problem, used: set[str]) -> bool:
    """Whether something that is used is there now, as a car is at a place."""
    changing = changed_predicates(now)
    return any(a[0] in changing and name in a[1:] and used & {*a[1:]} for a in now.init)


def _without_events(text: str, problem: Problem, used: set[str]) -> str:
    """A text without events of an object: 'that gate has been rattling'."""
    for name in names_in(text, problem.objects):
        if name not in used and _beside(name, problem, used):
            text = re.sub(rf'(?<![\w-]){re.escape(name)}{_HAPPENS}', ' ', text)
    return text


def _kind_left_out(text: str, things: NounPhrases, used: set[str]) -> str:
    """The noun in a text of whose kind nothing is used, or not everything where all is said."""
    doing = ' '.join(lexicon(things.problem.domain).agents)
    every = '|'.join(map(re.escape, things.problem.objects))
    text = re.sub(r'\bno \w+ (?:aboard|on (?:board|it))\b', ' ', text)
    for word, noun in things.nouns.items():
        members = set(things.members(noun))
        if word in ('object', 'objects') or word in doing or not members:
            continue
        called = (
            rf'(?:^|[.!?;]\s*)(?:(?:hey|hi|hello|ok|okay|dear|now),?\s+)*{word}\s*[,!]|'
            rf'\b(?:hey|hi|hello|dear|a good|thanks|thank you),? {word}\b'
        )
        found = re.search(
            rf'(?<![\w-])(?<!my )(?<!your )((?:all|every|each)\s+(?:of\s+)?(?:the\s+)?)?{word}\b'
            rf'(?!\s+(?:{every})(?![\w-]))(\s+(?:{_BY_PLACE})\b)?',
            re.sub(called, ' ', text),
        )
        if found and not (members <= used if found[1] and not found[2] else members & used):
            return f'the request says {found[0]!r}, and no goal or constraint of it names ' + (
                f'{min(members - used)!r}' if found[1] and not found[2] else 'one'
            )
    return ''


def _number_left_out(text: str, problem: Problem, used: set[str]) -> str:
    """The number in a text of which there is nothing."""
    times = {time for each in problem.constraints for time in each.times}
    for found in _NUMBER.finditer(text):
        number = COUNTS.get(found[1]) or int(found[1])
        unit = (found[2] or '').strip()
        if _TIMES.fullmatch(unit) and not re.search(r'within\s*$', text[: found.start()]):
            continue
        if unit in _STEPS:
            counted = number in times
        else:
            ends = any(re.fullmatch(rf'.*\D0*{number}', name) for name in used)
            counted = number in times or number <= len(used) or ends
        if not counted:
            return f'the request says {found[0]!r}, which no goal and no constraint of it has'
    return ''


def _rule_left_out(
    text: str,
    problem: Problem,
    harmless: Iterable[str] = (),
    *,
    nouns: Iterable[str] = (),
    ruled: bool = False,
) -> str:
    """The word of a rule in a text, about whose objects the problem has no rule."""
    in_time = [_of(each, problem) for each in problem.constraints]
    denied = [
        set(_named((each,), problem))
        for each in walk(problem.goal)
        if isinstance(each, Not | Imply)
    ]
    open_rules = len(in_time) + len(denied)
    known = re.compile(rf'(?<![\w-])(?:{"|".join(map(re.escape, nouns))})(?![\w-])')
    for part in PART.split(text):
        found = next((m for m in RULE.finditer(part) if m[0] not in harmless), None)
        if found is None or ((ruled or in_time) and _EMPHASIS.fullmatch(part)):
            continue
        rules = in_time if found['time'] else [*in_time, *denied]
        about = set[str]().union(*rules)
        behind = set(names_in(part[found.end() :], problem.objects))
        before = set(names_in(part[: found.start()], problem.objects))
        binds = behind or before or _BINDS.search(part) or _EMPHASIS.fullmatch(part)
        if nouns and not (binds or known.search(part)):
            continue
        fits = behind <= about if behind else not before or before & about
        open_rules -= 1
        if not rules or not fits or open_rules < 0:
            return (
                f'the request says {part.strip()[:80]!r}, for which it has no constraint: write one'
            )
    return ''


def names_in(text: str, objects: Iterable[str]) -> Iterator[str]:
    """The objects that a text names."""
    for name in objects:
        for found in re.finditer(rf'(?<![\w-]){re.escape(name)}(?![\w-])', text):
            if name != 'a' or _BEHIND_A.match(text, found.end()):
                yield name
                break


def _of(constraint: Constraint, problem: Problem) -> set[str]:
    """The objects of a constraint."""
    return {name for _, name in constraint.binding} | set(_named(constraint.arguments, problem))


def _named(formulas: Iterable[Formula], problem: Problem) -> Iterator[str]:
    """The objects of formulas, those of a quantifier's kinds included."""
    for each in formulas:
        yield from (name for name in terms_of(each) if name in problem.objects)
        if isinstance(each, Forall | Exists):
            for _, kind in each.variables:
                yield from problem.objects_by_type()[kind]
        yield from _named(subformulas(each), problem)
