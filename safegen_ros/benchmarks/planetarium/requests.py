# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Has a model read requests, and compares with what they mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import Enum

from safegen_ros.datasets.requests.written import WrittenRequest
from safegen_ros.errors import SafegenError
from safegen_ros.language.reading import AmbiguousRule
from safegen_ros.llm.backend import Backend, Sampling
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.model import Domain, Formula, Problem
from safegen_ros.pddl.reader import read_problem
from safegen_ros.pddl.writer import constraint_text, formula_text
from safegen_ros.tasks.planetarium.doubts import doubts
from safegen_ros.tasks.planetarium.equivalence import ground_rules
from safegen_ros.tasks.planetarium.nl_to_pddl import Question, translate
from safegen_ros.tasks.planetarium.request import read_request, request_rules
from safegen_ros.tasks.planetarium.styles import TranslationStyle, answered_problem

_MOST_TOKENS = 1024


class RequestOutcome(str, Enum):
    """What became of a request."""

    RIGHT = 'right without a doubt'
    DOUBTED = 'right with a doubt shown'
    WRONG = 'wrong without a doubt'
    WRONG_DOUBTED = 'wrong with a doubt shown'
    ASKED_BACK = 'question'
    REFUSED = 'refused'


def understood(
    asked: WrittenRequest, backend: Backend, style: TranslationStyle, seed: int, readings: int
) -> tuple[RequestOutcome, str]:
    """What became of a request, and its meaning with the doubts, or the reason."""
    sampling = Sampling(temperature=0.6, top_p=0.9, max_new_tokens=_MOST_TOKENS, seed=seed)
    try:
        request = read_request(asked.text, start=asked.start)
        found = translate(request, backend, sampling, style=style, readings=readings)
    except SafegenError as error:
        return RequestOutcome.REFUSED, error.message
    if isinstance(found, Question):
        return RequestOutcome.ASKED_BACK, ' '.join(found.text.split())
    goal = set(_atoms(found.problem.goal_conjuncts()))
    table = AtomTable(found.problem)
    ways = [_ruled(asked.start, rule, request.domain) for rule in asked.rules]
    meant = [ground_rules(way, table) for way in ways or [replace(found.problem, constraints=())]]
    right = goal == {*asked.goal} and ground_rules(found.problem, table) in meant
    meaning = ' '.join([*sorted(goal), *map(constraint_text, found.problem.constraints)])
    if not found.doubts:
        return RequestOutcome.RIGHT if right else RequestOutcome.WRONG, meaning
    became = RequestOutcome.DOUBTED if right else RequestOutcome.WRONG_DOUBTED
    return became, f'{meaning} ({"; ".join(found.doubts)})'


def doubted(asked: WrittenRequest, *, ruled: bool = True) -> bool | None:
    """Whether the reading that is meant would be in doubt, or the same without its rule.

    None where it has no such rule, since a grammar reads it, its words can mean several things, or
    its goal has a `not`, which no answer can have.
    """
    if any(fact.startswith('(not ') for fact in asked.goal):
        return None
    request = read_request(asked.text, start=asked.start)
    try:
        spoken = request_rules(request)
    except AmbiguousRule:
        return None
    if not ruled and (spoken.constraints or not asked.rules):
        return None
    goal, start = ' '.join(sorted(asked.goal)), read_problem(asked.start, request.domain)

    def read(rule: str) -> Problem:
        return read_problem(answered_problem(start, f'{goal}\n{rule}'), request.domain)

    request, held = replace(request, rest=spoken.rest), read(spoken.constraints).constraints
    ways = asked.rules if ruled and asked.rules else ('',)
    return all(doubts(request, read(rule), held) for rule in ways)


def _ruled(start: str, rule: str, domain: Domain) -> Problem:
    return read_problem(f'{start.rstrip()[:-1]}(:constraints {rule}))', domain, '<rule>')


def _atoms(goal: Sequence[Formula]) -> Iterator[str]:
    for each in goal:
        yield formula_text(each)
