# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rules in plain words, read as PDDL3 constraints on one problem.

A sentence means what `docs/constraints.md` says. A sentence with two meanings is refused with both,
and one that is not understood at its place. Nothing is guessed or left out.
"""

from __future__ import annotations

from safegen_ros.errors import ErrorCode, PddlError, PddlErrors
from safegen_ros.language.clauses import Clauses
from safegen_ros.language.english import Phrases
from safegen_ros.language.english_clauses import CanonicalClauses, Tokens
from safegen_ros.language.grammar import parses
from safegen_ros.language.lexicon import lexicon
from safegen_ros.language.meaning import meanings
from safegen_ros.language.placed import error_at
from safegen_ros.language.quantities import RuleRefused
from safegen_ros.language.reading import (
    AmbiguousRule,
    Origin,
    Reading,
    different,
    read_formal,
    reading,
    single,
)
from safegen_ros.language.sentences import MAX_WORDS, NotUnderstood, Sentence, sentences
from safegen_ros.pddl.diagnostics import excerpt
from safegen_ros.pddl.model import ConstraintTree, Problem

_MOST_PARSES = 200
_MOST_ERRORS = 20


def read_rules(text: str, problem: Problem, source: str = '<rules>') -> tuple[Reading, ...]:
    """Reads rules in plain words, in the sentences of the English format, or in PDDL3.

    Returns:
        A reading for each sentence, in their order; one for a text that begins with a parenthesis,
        which is PDDL3.

    Raises:
        PddlError: a sentence that is not understood, that names what the problem does not have, or
            that is not a constraint; `AmbiguousRule` for one that means several things.
        PddlErrors: several of that.
    """
    if text.lstrip().startswith('('):
        return _formal(text, problem, source)
    clauses = Clauses(problem, lexicon(problem.domain))
    found: list[Reading] = []
    errors: list[PddlError] = []
    for sentence in sentences(text, source):
        try:
            found.append(_sentence(sentence, clauses))
        except PddlError as error:
            error.excerpt = error.excerpt or excerpt(text, error)
            errors.append(error)
            if len(errors) >= _MOST_ERRORS:
                break
    if errors:
        raise errors[0] if len(errors) == 1 else PddlErrors(errors)
    return tuple(found)


def read_canonical(text: str, problem: Problem, source: str = '<rules>') -> tuple[Reading, ...]:
    """Reads rules in the sentences of the English format only; otherwise as `read_rules`."""
    return tuple(_canonical(sentence, problem) for sentence in sentences(text, source))


def _formal(text: str, problem: Problem, source: str) -> tuple[Reading, ...]:
    """The reading of constraints in PDDL3, as one."""
    if text.count('(') > 100_000:
        code = ErrorCode.TASK_TOO_LARGE
        raise error_at(source, (1, 1), 'too long', 'give fewer rules', code)
    tree = single(read_formal(text, problem, source))
    return (reading(tree, problem, text, Origin.FORMAL, source, (1, 1)),)


def _sentence(sentence: Sentence, clauses: Clauses) -> Reading:
    """The reading of a sentence; one of the English format means what it means there."""
    try:
        return _canonical(sentence, clauses.problem)
    except PddlError as error:
        canonical = error
    try:
        return _plain(sentence, clauses)
    except NotUnderstood as plain:  # the one that went further shows the intended words
        further = (canonical.line, canonical.column) > (plain.line, plain.column)
        raise (canonical if further else plain) from None


def _canonical(sentence: Sentence, problem: Problem) -> Reading:
    """The reading of a sentence of the English format.

    Raises:
        PddlError: it is not such a sentence.
    """
    line, column = sentence.place
    # The words keep their places in the text for messages.
    text = '\n' * (line - 1) + ' ' * (column - 1) + sentence.text + ' .'
    tokens = Tokens(text, sentence.source)
    reader = CanonicalClauses(tokens, Phrases.of(problem.domain))
    reader.objects |= problem.objects.keys()
    words = reader.constraint()
    if tokens.next.text:
        raise tokens.unexpected('the end of the sentence', 'write one rule in a sentence')
    try:
        tree = single(read_formal(' '.join(word for word, _ in words), problem, sentence.source))
    except PddlError as error:  # its place is one in the PDDL
        raise sentence.error(error.what, error.cure) from error
    return reading(tree, problem, sentence.text, Origin.FORMAL, sentence.source, sentence.place)


def _plain(sentence: Sentence, clauses: Clauses) -> Reading:
    """The one reading of a sentence in plain words."""
    if len(sentence.words) > MAX_WORDS:
        raise sentence.error(f'a rule of {len(sentence.words)} words', 'write shorter sentences')
    clauses.begin(sentence)
    problem = clauses.problem
    trees: list[ConstraintTree] = []
    refused: RuleRefused | None = None
    parsed = set()
    for number, parse in enumerate(parses(clauses)):
        if number >= _MOST_PARSES:
            raise sentence.error('too many ways to read this', 'write shorter sentences')
        if parse in parsed:
            continue
        parsed.add(parse)
        try:
            trees += meanings(clauses, parse)
        except RuleRefused as reason:
            refused = refused or reason
    unlike = different(trees, problem)
    if not unlike:
        if refused is not None:
            raise sentence.error(refused.what, refused.cure)
        raise sentence.not_understood(clauses.vocabulary, problem.objects)
    read = [
        reading(single(tree), problem, sentence.text, Origin.WORDS, sentence.source, sentence.place)
        for tree in unlike
    ]
    if len(read) == 1:
        return read[0]
    raise AmbiguousRule([each.sentence for each in read], sentence.source, sentence.place)
