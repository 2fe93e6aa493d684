# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Lessons for a language model that reads requests; about a third of them have a rule."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from random import Random

from safegen_ros.datasets.requests.reasons import SpokenRules
from safegen_ros.datasets.requests.scenes import RequestScene, chosen, drawn_scene, phrases
from safegen_ros.datasets.requests.sequences import SequencedWishes
from safegen_ros.datasets.requests.speech import Speech
from safegen_ros.datasets.requests.written import WrittenRequest, other_names, renamed
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import Atom, Problem
from safegen_ros.pddl.reader import read_problem
from safegen_ros.pddl.writer import atom_text, constraint_text
from safegen_ros.tasks.planetarium.clauses import goal_prompt
from safegen_ros.tasks.planetarium.domains import find_plan
from safegen_ros.tasks.planetarium.doubts import made_up
from safegen_ros.tasks.planetarium.request import Request, read_request, request_rules
from safegen_ros.tasks.planetarium.styles import answered_problem, observed_facts

_PARTS = (1, 1, 1, 1, 2, 2, 2, 3, 4)
_RULES = (0, 0, 0, 0, 0, 0, 0, 1, 1, 2)  # beside those of the wishes
_RULE_TRIES = 4
_WRITTEN = 0.7  # share of the groups with written requests, where there are some
_RENAMED = 0.5  # share of them with other names
_REST = 0.5  # share without the rules that a grammar reads, as the model is asked
_TRIES = 400
_TIME_LIMIT_S = 2.0  # harder ones are left out, more of them by a slow machine
_LEADS, _TRAILS = 0.45, 0.45  # shares of the requests with a remark before and behind them
_LISTED = 0.08  # share of the longer ones that are lists
_ASIDES = 0.1  # share with an object that does not matter
_MANNERED = 0.3  # share in the manner of a certain person
_SLIPS = 0.1  # share with words that are misspelt


Spoken = tuple[str, Sequence[str], Sequence[str]]
"""A request, its goal facts in PDDL, and its rules in PDDL3."""


def request_group(
    written: Sequence[WrittenRequest], seed: int, number: int, size: int
) -> list[str]:
    """The lines of a group, as `training.text_world` reads them: requests in one scene.

    There are fewer than `size` where a scene has few.

    Args:
        written: requests that most groups are of; none for drawn ones alone.
    """
    rng = Random(f'requests {seed} {number}')  # noqa: S311  # no secret
    if one_by_one := bool(written) and rng.random() < _WRITTEN:
        start, spoken = _written_ones(rng, written)
        signatures, objects, now = observed_facts(start)
    else:
        scene = drawn_scene(rng)
        start, spoken = scene.start, _drawn_ones(rng, scene)
        signatures, objects, now = scene.signatures, scene.objects, scene.now
    lines: dict[str, None] = {}
    for text, goal, rules in islice(spoken, _TRIES):
        if not goal:
            continue
        try:
            rest, more = as_asked(start, text, goal, rules, told=not one_by_one)
        except SafegenError:
            continue
        if rng.random() < _REST:
            text, rules = rest, more
        asked = goal_prompt(signatures, objects, now, text)
        values = {
            'prompt': [{'role': 'user', 'content': asked}],
            'completion': '\n'.join([' '.join(goal), *rules]),
            'group': f'requests {number}',
        }
        lines[json.dumps(values, ensure_ascii=False) + '\n'] = None
        if len(lines) == size:
            break
    return list(lines)


def _drawn_ones(rng: Random, scene: RequestScene) -> Iterator[Spoken]:
    """Requests in a scene, without end."""
    while True:
        text, goal, rules = spoken_request(rng, scene)
        yield text, [*map(atom_text, goal)], rules


def _written_ones(
    rng: Random, written: Sequence[WrittenRequest]
) -> tuple[Problem, Iterator[Spoken]]:
    """A world of written requests, half of the times with other names, and those about it."""
    start = rng.choice(sorted({each.start for each in written}))
    found = [each for each in written if each.start == start]
    if rng.random() < _RENAMED:
        names = other_names(rng, start)
        found = [other for each in found if (other := renamed(each, names))] or found
    rng.shuffle(found)
    domain = read_request(found[0].text, start=found[0].start).domain
    world = read_problem(found[0].start, domain)
    return world, ((each.text, each.goal, each.rules[:1]) for each in found)


def as_asked(
    start: Problem, text: str, goal: Sequence[str], rules: Sequence[str], *, told: bool = True
) -> tuple[str, list[str]]:
    """What a model is asked, and the rules that it has to write: those that no grammar reads.

    Args:
        told: whether the text must name all that is meant, and nothing else of a meant object. A
            person may know a place by what is there, and mention where a thing was.

    Raises:
        SafegenError: a grammar reads another rule, the text says otherwise, or there is no plan.
    """
    request = Request(text, start.domain, start=start)
    aims = ' '.join(goal)
    problem = read_problem(answered_problem(start, '\n'.join([aims, *rules])), start.domain)
    spoken = request_rules(request)
    held = read_problem(answered_problem(start, f'{aims}\n{spoken.constraints}'), start.domain)
    if not {*held.constraints} <= {*problem.constraints}:
        raise SafegenError(f'a grammar reads {spoken.constraints}', ErrorCode.BAD_PDDL)
    asked = replace(request, constraints=spoken.constraints, rest=spoken.rest)
    own = tuple(each for each in problem.constraints if each not in held.constraints)
    # A lesson may say more than its answer: remarks, corrections.
    if told and (doubts := made_up(asked, replace(problem, constraints=own))):
        raise SafegenError(doubts[0], ErrorCode.TRANSLATION_FAILED)
    find_plan(problem, _TIME_LIMIT_S)
    typed = bool(start.domain.types)
    return spoken.rest, [constraint_text(each, typed=typed) for each in own]


def spoken_request(rng: Random, scene: RequestScene) -> tuple[str, list[Atom], list[str]]:
    """A request, the facts that it wants, and its rules in PDDL3.

    A fact that must be false is one of `not`, with the fact in PDDL.
    """
    speech = Speech(rng, scene)
    wishes = SequencedWishes(speech)
    parts = [part for _ in range(rng.choice(_PARTS)) if (part := wishes.part())]
    if not parts:
        return '', [], []
    if len(parts) > 1 and rng.random() < _LISTED:
        mark = rng.choice(phrases()['orders'])
        numbers = range(1, 9)
        if ')' in mark or len(mark) > 5:  # and not the name of an object
            numbers = rng.choice(
                (range(1, 9), phrases()['letters' if ')' in mark else 'digits'][1:])
            )
        text = ' '.join(mark.format(n) + p + '.' for n, p in zip(numbers, parts, strict=False))
    else:
        text = parts[0] + ''.join(rng.choice(phrases()['joints']) + part for part in parts[1:])
    rules, said = SpokenRules(speech, wishes), dict.fromkeys(wishes.rules)
    for _ in range(0 if said else rng.choice(_RULES)):
        tried = (rules.rule() for _ in range(_RULE_TRIES))
        told, rule = next((each for each in tried if each[1] and each[1] not in said), ('', ''))
        if not rule:
            continue
        place = 1.0 if said or rule.startswith('(at') else rng.random()
        if place < 0.2:
            text = told + rng.choice(phrases()['rule-first']) + text
        elif place < 0.4 and len(parts) > 1 and text.startswith(parts[0]):
            joint = rng.choice(phrases()['rule-joints'])
            text = parts[0] + joint + told + text[len(parts[0]) :]
        else:
            text += rng.choice(phrases()['rule-joints']) + told
        said[rule] = None
    if rng.random() < _LEADS:
        text = f'{chosen(rng, phrases()["leads"])} {text}'
    if rng.random() < _TRAILS:
        fit = [each for each in phrases()['trails'] if not said or 'before' not in each]
        text += chosen(rng, fit)
    names = {name for each in scene.objects.values() for name in each}
    used = {n for atom in (*wishes.goal, *wishes.denied) for n in atom}
    moved = {
        n for fact in scene.facts.values() for n in scene.objects.get((*fact.takes, '')[0], ())
    }
    spare = [n for n in sorted(moved) if n not in used and n not in ' '.join(said)]
    if spare and rng.random() < _ASIDES:
        told = chosen(rng, phrases()['asides-about']).format(speech.name(rng.choice(spare)))
        text = (
            f'{told} , {text}' if rng.random() < 0.2 else f'{text}{rng.choice((", ", ". "))}{told}'
        )
    goal = [*wishes.goal, *(('not', atom_text(atom)) for atom in wishes.denied)]
    told_rules = [rule for each in said for rule in each.splitlines()]
    return _written(rng, _mannered(rng, text, names)), goal, told_rules


def _mannered(rng: Random, text: str, names: set[str]) -> str:
    """The text in the manner of a person, with slips; the names of objects stay as they are."""
    if rng.random() < _MANNERED:
        manner = rng.choice([*phrases()['mannerisms'].values()])
        for expression, instead in manner.items():
            if expression not in names and instead not in names and rng.random() < 0.8:
                text = re.sub(rf"(?<![\w'-]){re.escape(expression)}(?![\w'-])", instead, text)
    if rng.random() < _SLIPS:
        known = names | {part for name in names for part in name.split('-')}
        words = [w for w in set(re.findall(r'[a-z]{5,}', text)) if w not in known]
        for word in rng.sample(sorted(words), min(len(words), rng.randint(1, 3))):
            text = re.sub(rf'(?<![\w-]){word}(?![\w-])', _slipped(rng, word), text, count=1)
    return text


def _slipped(rng: Random, word: str) -> str:
    """A word with a letter doubled, left out or in the place of its neighbour."""
    at = rng.randrange(1, len(word) - 1)
    before, letter, after, behind = word[:at], word[at], word[at + 1], word[at + 2 :]
    return before + rng.choice((letter * 2 + after, after, after + letter)) + behind


def _written(rng: Random, text: str) -> str:
    """The text as people write it: with and without capitals and marks."""
    text = re.sub(r'\s+([,.;:!?)])', r'\1', ' '.join(text.split()))
    text = re.sub(r'([,.;:!?])[,.;:]+', r'\1', text).replace('( ', '(').lstrip(' ,.;').rstrip(' ,')
    text = re.sub(r'\b(wrench|box)s\b', r'\1es', re.sub(r'\bmans\b', 'men', text))
    text = re.sub(r'\b(?:in|at|into) (where(?:ver)?)\b', r'\1', text)
    style = rng.random()
    if style < 0.08:
        return re.sub(r'[.,;!]+(?= )', '', text)
    if style < 0.15:
        return text.replace('. ', rng.choice((' ', ', ', '\n', ' - ', ' ... ')))
    if style < 0.25:
        return text
    if style > 0.45:
        text = re.sub(r'(^|[.!?] )([a-z])', lambda found: found[1] + found[2].upper(), text)
        text = re.sub(r"\bi(?=$|[ '])", 'I', text)
    return text + rng.choice(('', '.', '.', '.', '!'))
