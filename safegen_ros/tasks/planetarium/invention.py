# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Checks that a reading adds nothing to its request that a rule can find.

Each object of the goal and the rules must be named, or be one of those that the request means by
other words; and a rule needs a word for it. A model that makes up more is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from safegen_ros.language.lexicon import lexicon
from safegen_ros.language.noun_phrases import NounPhrases
from safegen_ros.pddl.model import Formula, Problem, subformulas, terms_of
from safegen_ros.tasks.planetarium.coverage import alone, names_in, plain_text
from safegen_ros.tasks.planetarium.request import Request

_OPEN = re.compile(
    r'\b(?:all|any\w*|every\w*|each|both|either|neither|none|nothing|no ?body|rest|others?|no one|'
    r"another|remaining|(?:is|are|the) left|them|'em|those|these|they|what\w*|which\w*|where\w*|"
    r'places?|spots?|same|swap\w*|swit\w*|trad\w*|exchang\w*|chang\w*|interchang\w*|flip\w*|invert\w*|'
    r'revers\w*|other way round|upside|it was|ones?|two|three|four|five|six|seven|eight|nine|ten|'
    r'pairs?|lot|unstack|dismantle|tear|apart|level|mix\w*|undo|stuff|things?|bricks?|wrench\w*|'
    r'left|right|stacks?|towers?|piles?|'
    r'harbou?rs?|docks?)\b'
)
"""Words by which a request can mean objects that it does not name."""
_RULISH = re.compile(
    r"n't\b|\b(?:not?|never|ever|nothing|no ?body|none|neither|nor|only|but|before|until|till|"
    r'unless|after\w*|first|last|later|then|once|twice|order|sequence|prior|earlier|precede\w*|begin|start|'
    r'always|ever|time|times|throughout|along|while|during|meanwhile|long|moment|point|forever|good|'
    r'stays?|staying|stayed|remain\w*|keep\w*|kept|leave|leaves|leaving|left|stops?|cease|touch\w*|'
    r'hands|paws|off|away|out|outside|clear|alone|careful\w*|mind|watch|avoid\w*|refrain\w*|without|'
    r'forb\w+|prohibit\w*|ban\w*|closed|taboo|limits?|untouched|most|must|may|can|cannot|cant|dont|'
    r'fragile|broken|glued|loose|permitted|allowed|wait\w*|hold|second|exactly|circumstances|'
    r'mine|budge\w*|move\w*|disturb\w*)\b'
)
"""Words of rules."""
_NOW = (
    r"(?: (?:that|which|who)(?: (?:is|are|lies?|sits?|stands?)|'s)|'s)?"
    r'(?: (?:now|currently|presently|at present|lying|standing|sitting|waiting))*'
)
_MARK = re.compile(r"\b(?:that|which|who|now|currently|presently|at present)\b|'s\b")


def made_up(request: Request, problem: Problem) -> str:
    """What a problem adds to its request, in words for the model; empty for nothing.

    The problem is as the model wrote it, without the constraints that hold in any case.
    """
    if request.start is None:
        return ''
    text = plain_text(request)
    if problem.constraints and not _RULISH.search(text):
        return 'it has a constraint, and the request has no rule'
    things = NounPhrases(problem, lexicon(problem.domain))
    meant = {*names_in(text, problem.objects)} | alone(things)
    formulas = [problem.goal, *(each for c in problem.constraints for each in c.arguments)]
    for name in _constants(formulas, problem):
        if name not in meant and name not in _meant(text, things):
            return f'it has {name!r}, of which the request says nothing'
    return ''


def _meant(text: str, things: NounPhrases) -> set[str]:
    """The objects that a text means without a name."""
    problem, meant = things.problem, set[str]()
    names = '|'.join(map(re.escape, problem.objects))
    nouns = '|'.join(map(re.escape, things.nouns))
    placed = re.compile(
        rf'(?:\b(?:all|every|each|both|the|two|three|four|five|of) )*\b(?P<noun>{nouns})\b{_NOW}'
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

    text = placed.sub(kept, text)
    if _OPEN.search(text):
        return {*problem.objects}
    for word, noun in things.nouns.items():
        if re.search(rf'(?<![\w-]){re.escape(word)}(?![\w-])', text):
            meant |= {*things.members(noun)}
    return meant


def _constants(formulas: Iterable[Formula], problem: Problem) -> Iterator[str]:
    """The objects that formulas name."""
    for each in formulas:
        yield from (name for name in terms_of(each) if name in problem.objects)
        yield from _constants(subformulas(each), problem)
