# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a person asks for in words, and what goes with it formally, which no model can change."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.language.reading import AmbiguousRule
from safegen_ros.language.rules import read_rules
from safegen_ros.pddl.diagnostics import excerpt
from safegen_ros.pddl.model import Domain, Problem
from safegen_ros.pddl.reader import problem_domain_name, read_domain, read_problem
from safegen_ros.pddl.writer import constraint_text
from safegen_ros.tasks.pddl3.domains import builtin_domain, domain_files
from safegen_ros.tasks.planetarium.domains import (
    RULES,
    planetarium_domain,
    planetarium_domain_text,
)

MAX_REQUEST = 50_000
"""Longest request [characters]; a description of 55 blocks atom by atom has a tenth of that."""

_MARK = (
    r"(?:never|always|do not|don't|must not|may not|cannot|at most|at all times|at no time|nothing)"
)
_ENDS = re.compile(rf'[.;\n]+|,?\s+\b(?:and|but)\s+(?={_MARK}\b)|,\s+(?={_MARK}\b)', re.IGNORECASE)
"""Where one part of a request ends: a sentence, or what comes before a rule in the same one."""
_RULE = re.compile(rf'\b(?:{_MARK}|no|only|keep|neither)\b', re.IGNORECASE)
_BEGINS = re.compile(r'(?:,?\s+\b(?:and|but|yet|while|though)\b|,)\s+', re.IGNORECASE)
"""Where a rule may begin within such a part, behind the task."""
_CONDITION = re.compile(
    r'(?:^|[,.;\n]|\b(?:and|but))\s*(?:until|till|before|after|once|when(?:ever)?|while|if|unless|'
    r'as (?:long|soon) as|with)\b[^,.;\n]*$',
    re.IGNORECASE,
)
"""A clause that the rule behind it depends on: 'before c1 is at l2, never sail to l3'."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a person asks for.

    Attributes:
        constraints: formal PDDL3, what stands behind `:constraints`; empty for none. All problems
            have them.
        start: the observed world; its objects and its initial state are not for the model to
            change. None where the text gives them.
        domain_text: PDDL of the domain, as a task carries it; empty for a built-in one.
        rest: the text without the rules in it that `request_rules` has read; None where it was not
            looked for any.
    """

    text: str
    domain: Domain
    constraints: str = ''
    start: Problem | None = None
    domain_text: str = ''
    rest: str | None = None


@dataclass(frozen=True, slots=True)
class RequestRules:
    """The rules that were read from a request.

    Attributes:
        constraints: as one PDDL3 formula; empty for none.
        rest: the text without them.
    """

    constraints: str
    rest: str


def read_request(text: str, domain: str = '', constraints: str = '', start: str = '') -> Request:
    """Reads the formal parts of a request.

    Args:
        domain: PDDL of the domain, or the name of one that is built in or of Planetarium; empty
            for the one that `start` names.
        constraints: one PDDL3 formula; empty for none.
        start: PDDL problem whose objects, initial state and constraints hold in any case, and whose
            goal does not count; empty where the text lists the facts.

    Raises:
        SafegenError: there is no request (`EMPTY_TASK`) or too much of it (`TASK_TOO_LARGE`), no
            domain (`UNKNOWN_DOMAIN`), or PDDL that cannot be read, with its place.
    """
    if not text.strip():
        raise SafegenError('the request is empty: describe the task in words', ErrorCode.EMPTY_TASK)
    if len(text) > MAX_REQUEST:
        raise SafegenError(
            f'the request has {len(text):,} characters, more than the limit of {MAX_REQUEST:,}: '
            'say it in fewer words',
            ErrorCode.TASK_TOO_LARGE,
        )
    known, domain_text = _domain(domain, start)
    if not start:
        return Request(text, known, constraints, None, domain_text)
    try:
        problem = read_problem(start, known, '<start>')
    except PddlError as error:
        for each in error.errors:
            each.excerpt = each.excerpt or excerpt(start, each)
        raise
    more = [constraint_text(each, typed=bool(known.types)) for each in problem.constraints]
    return Request(text, known, joined(constraints, *more), problem, domain_text)


def joined(*constraints: str) -> str:
    """One PDDL3 formula for several; empty ones are left out."""
    given = [each for each in constraints if each.strip()]
    return given[0] if len(given) == 1 else f'(and {" ".join(given)})' if given else ''


def request_rules(request: Request) -> RequestRules:
    """The rules of a request that are in the words of `language.rules`.

    Such a rule means what the grammar says, whatever a model makes of it; there is none where the
    objects are not known. All else that is said is for the model to understand.

    Raises:
        AmbiguousRule: one of them can mean several things.
    """
    if request.start is None:
        return RequestRules('', request.text)
    found, kept, place = list[str](), list[str](), 0
    for end in [*_ENDS.finditer(request.text), None]:
        if end and end[0][0] not in '.;\n' and _CONDITION.search(request.text[: end.start()]):
            continue
        part = request.text[place : end.start() if end else None]
        formulas, before = _rules_behind(part, request.start)
        found += formulas
        if before.strip():
            # What joined it to a rule, such as 'but', goes with that.
            joint = end[0] if end else ''
            kept.append(before + (joint if not joint or joint[0] in '.;\n' else '. '))
        place = end.end() if end else place
    return RequestRules(joined(*found), ''.join(kept).strip())


def _rules_behind(part: str, start: Problem) -> tuple[list[str], str]:
    """The rules at the end of a part of a request, and what stands before them."""
    for at, begin in [(0, 0), *(match.span() for match in _BEGINS.finditer(part))]:
        if not _RULE.search(part, begin):
            break
        if _CONDITION.search(part[:at]):
            continue
        try:
            return [each.formula for each in read_rules(part[begin:].strip(), start)], part[:at]
        except AmbiguousRule:
            raise
        except PddlError:
            continue
    return [], part


def _domain(domain: str, start: str) -> tuple[Domain, str]:
    """A domain, and its text where it is not built in."""
    if domain.lstrip().startswith(('(', ';')):
        read = read_domain(domain, '<domain>')
        if read.derived:
            raise SafegenError(
                f'domain {read.name[:40]} has derived predicates, which Planetarium does not '
                'compare: state them in :init and in effects',
                ErrorCode.UNSUPPORTED_FEATURE,
            )
        return read, domain
    name = domain.strip().lower()
    if not name and start:
        name = problem_domain_name(start, '<start>').text
    if name in domain_files():
        return replace(builtin_domain(name), name=name), ''
    if name in RULES:
        return planetarium_domain(name), planetarium_domain_text(name)
    known = ' '.join(dict.fromkeys((*domain_files(), *RULES)))
    told = f'domain {name[:40]!a} is not known' if name else 'the request has no domain'
    raise SafegenError(
        f'{told}: give its PDDL text, or the name of one of {known}', ErrorCode.UNKNOWN_DOMAIN
    )
