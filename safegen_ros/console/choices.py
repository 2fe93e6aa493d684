# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The choices of an operator: problems of the package, and the operator's texts and rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.goals.files import TEST_PROBLEMS, problems_in
from safegen_ros.language.additions import with_rules
from safegen_ros.language.english import constraint_sentence
from safegen_ros.language.reading import AmbiguousRule, Reading
from safegen_ros.language.rules import read_rules
from safegen_ros.pddl.diagnostics import with_excerpts
from safegen_ros.pddl.model import AtomFormula, Constraint, Not, Problem
from safegen_ros.tasks.pddl3.formats import PDDL
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_files, load_task

EXAMPLES = 'examples'

PASTED = '<pasted text>'
"""What errors call a text that was pasted."""

MAX_TEXT = 500_000
"""Longest text that is read here [characters]; the nodes have their own limits."""

_DEFINE = re.compile(r'\(\s*define\s*\(\s*(domain|problem)\b', re.IGNORECASE)
_MOST_EXAMPLES, _MOST_RULES = 2, 3  # examples of one kind, and rules
_COMMENT = re.compile(r';[^\n]*')


@dataclass(frozen=True, slots=True)
class Chosen:
    """A task as it would be sent.

    Attributes:
        task: the problem that was read.
        domain_text: the domain as it is sent; empty for a built-in one.
        source: where it comes from, for the record.
    """

    task: Pddl3Task
    domain_text: str
    source: str


def problems() -> dict[str, Path]:
    """The problems to choose from, by name: examples first, then the test problems."""
    return {**problems_in(EXAMPLES), **problems_in(TEST_PROBLEMS)}


def read_problem(name: str) -> Chosen:
    """A problem of those to choose from.

    Raises:
        SafegenError: no run has that name any longer, or it cannot be read.
    """
    path = problems().get(name)
    if path is None:
        raise SafegenError(f'there is no problem {name[:80]!a}', ErrorCode.BAD_PDDL)
    return Chosen(load_files(path), '', str(path))


def read_pasted(text: str, domain: str = '') -> Chosen:
    """A text that was pasted: PDDL, or JSON where it begins with a brace.

    Args:
        text: the problem; PDDL may have its domain before or behind it.
        domain: PDDL of the domain; empty for one in `text`, or the built-in one that it names.

    Raises:
        SafegenError: it cannot be read; the message has the lines with a caret under the place.
    """
    if len(text) + len(domain) > MAX_TEXT:
        raise SafegenError(
            f'the text has {len(text) + len(domain):,} characters, more than the limit of '
            f'{MAX_TEXT:,}: send a smaller task',
            ErrorCode.TASK_TOO_LARGE,
        )
    form = 'json' if text.lstrip().startswith('{') else PDDL
    if form == PDDL and not domain.strip():
        domain, text = _apart(text)
    try:
        task = load_task(text, domain, format=form, problem_source=PASTED)
    except PddlError as error:
        raise with_excerpts(error) from None
    return Chosen(task, domain, PASTED)


def _apart(text: str) -> tuple[str, str]:
    """The domain and the problem of a text with both; the first is empty where it has one only.

    The place of the other is filled with blanks, so that lines and columns stay what they are.
    """
    plain = _COMMENT.sub(lambda found: ' ' * len(found[0]), text)
    starts = [(found.start(), found[1].lower()) for found in _DEFINE.finditer(plain)]
    if [kind for _, kind in starts] not in (['domain', 'problem'], ['problem', 'domain']):
        return '', text
    cut, (_, first) = starts[1][0], starts[0]
    head, tail = text[:cut], re.sub(r'[^\n]', ' ', text[:cut]) + text[cut:]
    return (head, tail) if first == 'domain' else (tail, head)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a rule cannot be added.

    Attributes:
        what: what is wrong.
        cure: how to say it so that it is understood.
        line: of the text, from 1; 0 where no place is meant.
        column: from 1.
        excerpt: the line with a caret under the place; empty where there is no place.
        meanings: where it can mean several things, each of them in words.
    """

    what: str
    cure: str = ''
    line: int = 0
    column: int = 0
    excerpt: str = ''
    meanings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Understood:
    """What became of a text: readings, or at least one trouble and no reading.

    Attributes:
        readings: for `Pddl3Task.with_rules`, once a person has confirmed them.
        troubles: why not.
    """

    readings: tuple[Reading, ...] = ()
    troubles: tuple[Trouble, ...] = ()


def understand(text: str, problem: Problem) -> Understood:
    """Reads rules in plain words or in PDDL3; nothing is guessed and nothing left out.

    Args:
        text: one rule or several.
        problem: the problem that they are meant for; rules that it is seen no plan can keep are
            refused.
    """
    try:
        readings = read_rules(text, problem, 'your rule')
        with_rules(problem, readings)
    except PddlError as error:
        return Understood(troubles=tuple(_trouble(each, text) for each in error.errors))
    except SafegenError as error:
        return Understood(troubles=(Trouble(error.message),))
    if not readings:
        return Understood(troubles=(Trouble('there is no rule', 'write a sentence'),))
    return Understood(readings)


def rule_examples(problem: Problem) -> tuple[str, ...]:
    """Rules about the objects of a problem, each of which is understood and may be kept."""
    goals = [each for each in problem.goal_conjuncts() if isinstance(each, AtomFormula)]
    once = [Constraint('at-most-once', (each,)) for each in goals[:1]]
    order = [Constraint('sometime-before', tuple(goals[:2]))] if len(goals) > 1 else []
    offered = (*_never(problem, goals), *once, *order)[:_MOST_RULES]
    new = (each for each in offered if each not in problem.constraints)
    found = [constraint_sentence(each, problem) for each in new]
    return tuple(each for each in found if understand(each, problem).readings)


def request_examples(problem: Problem) -> tuple[str, ...]:
    """Requests in words for a part of a problem's goal; the shipped translator reads each."""
    goals = [
        (each.predicate, *each.terms)
        for each in problem.goal_conjuncts()
        if isinstance(each, AtomFormula)
    ]
    pairs = [goal for goal in goals if len(goal) == 3]  # a car that is on the ferry has no second
    above = {goal[2]: goal[1] for goal in pairs if goal[0] == 'on'}
    bottoms = [each for each in above if each not in above.values() and above[each] in above]
    found = [f'put {upper} on {lower}' for lower, upper in above.items()][:1]
    for low in bottoms[:1]:
        middle = above[low]
        found.append(f'build a tower with {low} at the bottom, then {middle}, then {above[middle]}')
    found += [f'take {goal[1]} to {goal[2]}' for goal in pairs if goal[0] == 'at'][:_MOST_EXAMPLES]
    loose = [goal[1] for goal in goals if goal[0] == 'tightened' and len(goal) == 2]
    found += [f'tighten {nut}' for nut in loose[:_MOST_EXAMPLES]]
    return tuple(found)


def _never(problem: Problem, goals: Sequence[AtomFormula]) -> Iterator[Constraint]:
    """What need not happen: goals about another last object, two at most."""
    asked = {(each.predicate, *each.terms) for each in goals} | problem.init
    for goal in goals[:_MOST_EXAMPLES]:
        kind = problem.objects.get(goal.terms[-1]) if len(goal.terms) > 1 else None
        for other in reversed(tuple(problem.objects) if kind else ()):
            atom = AtomFormula(goal.predicate, (*goal.terms[:-1], other))
            known = other in goal.terms or (atom.predicate, *atom.terms) in asked
            if problem.objects[other] == kind and not known:
                yield Constraint('always', (Not(atom),))
                break


def _trouble(error: PddlError, text: str) -> Trouble:
    meanings = error.meanings if isinstance(error, AmbiguousRule) else ()
    return Trouble(
        error.what, error.cure, error.line, error.column, _excerpt(error, text), meanings
    )


def _excerpt(error: PddlError, text: str) -> str:
    lines = text.splitlines()
    if not 1 <= error.line <= len(lines):
        return ''
    return f'{lines[error.line - 1]}\n{" " * (error.column - 1)}^'
