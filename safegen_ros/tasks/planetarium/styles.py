# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a request is put to a model, and how its answers are read.

Three styles behind one protocol: `instruct` for chat models, which are shown the domain and write
PDDL; `goals` for a language model that was fine-tuned on requests; and `planetarium` for the small
translator of descriptions. A model folder chooses one with `safegen.json`:
`{"prompt_style": "goals"}`.

The prompt of `goals` lists the facts that can change, the objects by kind and the current state.
The answer has the goal facts on its first line, denied ones as `(not (on b1 b2))`, and a rule in
PDDL3 on each further one:

    Facts: (on object object) (on-table object) ...        (on b1 b4)
    object: b1 b2 b3 b4                                    (always (not (on b2 b3)))
    Now: (on b2 b1) ...
    Request: b1 goes on b4, but never put b2 on b3
"""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Protocol

from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.llm.backend import Message
from safegen_ros.llm.model_names import INSTRUCT, model_folder, prompt_style, words_of_model
from safegen_ros.pddl.deciding import changed_predicates
from safegen_ros.pddl.model import And, Atom, AtomFormula, Formula, Not, Problem
from safegen_ros.pddl.sexpr import Node, read_sexpr
from safegen_ros.pddl.writer import atom_text, domain_text, problem_text
from safegen_ros.tasks.planetarium.descriptions import END, START
from safegen_ros.tasks.planetarium.request import Request
from safegen_ros.tasks.planetarium.translator_words import (
    TranslatorWords,
    clauses,
    halves,
    spelt_out,
    unread,
)


def goal_prompt(
    facts: Mapping[str, Sequence[str]],
    objects: Mapping[str, Sequence[str]],
    now: Iterable[Atom],
    request: str,
) -> str:
    """The prompt.

    Args:
        facts: the kinds of the arguments of every predicate that can change.
        objects: the names of every kind.
        now: what is true.
    """
    return '\n'.join([
        f'Facts: {" ".join(atom_text((name, *kinds)) for name, kinds in facts.items())}',
        *(f'{kind}: {" ".join(names)}' for kind, names in objects.items()),
        f'Now: {" ".join(map(atom_text, sorted(now)))}',
        f'Request: {" ".join(request.split())}',
    ])  # fmt: skip


def observed_facts(
    start: Problem,
) -> tuple[Mapping[str, Sequence[str]], Mapping[str, Sequence[str]], frozenset[Atom]]:
    """The facts, objects and state of an observed world, as `goal_prompt` takes them.

    What an object is may be its type, or the one predicate of one argument that is true of it and
    never changes.
    """
    changing = changed_predicates(start)
    facts = {n: kinds for n, kinds in start.domain.predicates.items() if n in changing}
    said = {a[1]: a[0] for a in sorted(start.init) if len(a) == 2 and a[0] not in changing}
    objects: dict[str, list[str]] = {}
    for name, kind in start.objects.items():
        objects.setdefault(said.get(name, kind), []).append(name)
    return facts, objects, frozenset(a for a in start.init if a[0] in changing)


def answered_problem(start: Problem, answer: str) -> str:
    """The problem that an answer means, in PDDL that is not checked yet.

    An answer without such a list is returned unchanged.

    Args:
        start: the observed world, whose objects and initial state the problem has.
    """
    try:
        _, listed = read_sexpr(f'({answer})', '<answer>')
    except PddlError:
        return answer
    goal, rules = list[Formula](), list[str]()
    for item in listed.items:
        if isinstance(item, str):
            return answer
        denied = item.head == 'not' and len(item.items) == 2
        fact = item.items[1] if denied else item
        if not isinstance(fact, str) and fact.head in start.domain.predicates:
            predicate, *terms = _text(fact)[1:-1].split()
            atom = AtomFormula(predicate, tuple(terms))
            goal.append(Not(atom) if denied else atom)
        else:
            rules.append(_text(item))
    wanted = replace(start, goal=And(tuple(dict.fromkeys(goal))), constraints=())
    written = problem_text(wanted).rstrip()
    return f'{written[:-1]}(:constraints (and {" ".join(rules)})))' if rules else written


def _text(node: Node) -> str:
    return node if isinstance(node, str) else f'({" ".join(map(_text, node.items))})'


STYLE, GOALS = 'planetarium', 'goals'
"""The `safegen.json` of models that read and write `translator_words`, and `goal_prompt`."""

QUESTION = 'QUESTION:'
"""What an answer begins with that asks instead of guessing."""


_RULE_WORDS = re.compile(
    r'\b(?:never|ever|always|cannot|no time|without|unless|until|avoid|except|only|'
    r'forbidden|while|during)\b'
)
"""Words of rules. A summary may say `not` and `before`: that things are not alike, or as before."""

Translation = Generator[list[list[Message]], list[str], str]
"""Yields conversations that the model is to answer, is sent what it wrote, and returns the answer
to the request, with the problem in PDDL."""


class TranslationStyle(Protocol):
    """How one kind of model is asked for a problem.

    Attributes:
        one_way: whether a meaning is written in one way, so that the probability of an answer shows
            how sure the model is of the meaning.
    """

    one_way: bool

    def translation(self, request: Request, refused: tuple[str, str] | None = None) -> Translation:
        """Asks for the problem that a request means.

        Args:
            refused: the last answer, and what is wrong with it.

        Raises:
            SafegenError: it cannot be put to this kind of model (`TRANSLATION_FAILED`).
        """
        ...


class InstructTranslation:
    """Domain and request in, PDDL out, for any instruction-tuned chat model."""

    one_way = False

    def translation(self, request: Request, refused: tuple[str, str] | None = None) -> Translation:
        """One question, behind it the refused answer with the reason."""
        asked = [_user(prompt(request))]
        if refused is not None:
            text, reason = refused
            asked.append({'role': 'assistant', 'content': text})
            asked.append(_user(f'This cannot be used: {reason}\nWrite the whole problem again.'))
        (answer,) = yield [asked]
        return answer


class GoalTranslation:
    """The facts of an observed world in, goal and rules out, as `goal_prompt` has them.

    The refusal is not passed on: another seed draws again.
    """

    one_way = True

    def translation(self, request: Request, refused: tuple[str, str] | None = None) -> Translation:
        """One question, without the rules that a grammar has read."""
        if request.start is None:
            raise SafegenError(
                'the model that translates needs to be told what there is: give the observed world '
                '(--start)',
                ErrorCode.TRANSLATION_FAILED,
            )
        text = request.text if request.rest is None else request.rest
        (answer,) = yield [[_user(goal_prompt(*observed_facts(request.start), text))]]
        return answered_problem(request.start, answer)


class WordTranslation:
    """The words of `words` in and out. The refusal is not passed on: another seed draws again.

    Args:
        known: every word that the model knows.
        strict: whether a text is refused that has another word or mark, or names an object in a
            sentence that says no facts alone; else that word or mark is left out.
        shield: whether answers to clauses are held to the domain, see `TranslatorWords.held`.
    """

    one_way = False

    def __init__(self, known: Collection[str], *, strict: bool = True, shield: bool = True) -> None:
        self._known = frozenset(known)
        self._strict = strict
        self._shield = shield

    def translation(self, request: Request, refused: tuple[str, str] | None = None) -> Translation:
        """Each clause of the description alone.

        A half is asked for once more as a whole where a clause of it says nothing alone. Text that
        is not an answer is left as it came.
        """
        if request.start is not None:
            raise SafegenError(
                'this model translates descriptions without an observed world: start the planner '
                'with models/safegen-requests for others (its parameter translator)',
                ErrorCode.TRANSLATION_FAILED,
            )
        told = halves(request.text)
        if told is None:
            raise SafegenError(
                'the model that translates needs to be told what there is: give the observed world '
                f'(--start), or a description with the parts {START.strip()!r} and {END.strip()!r}',
                ErrorCode.TRANSLATION_FAILED,
            )
        if self._strict:
            _refuse_rules(request.text)
            for mark in unread(' '.join(told)):
                raise _not_read(f'does not know {mark!r}')
        lexicon = TranslatorWords.of(request.domain, request.text)
        asked_of = [[lexicon.clause(clause) for clause in clauses(half)] for half in told]
        answers = yield [self._messages(asked) for each in asked_of for asked, _ in each]
        rest = iter(answers)
        found = [self._joined(lexicon, each, rest) for each in asked_of]
        for place, atoms in enumerate(found):
            before = found[0] if place else ()
            if atoms is None and before is not None:
                _, named = lexicon.clause(told[place])
                if named and self._strict:
                    raise _not_read(f'reads {named[0]} only in sentences that each say one fact')
                answers = yield [self._messages(lexicon.half(told[place], before))]
                found[place] = lexicon.read_half(answers[0].split())
        init, goal = found
        return ' '.join(answers) if init is None or goal is None else lexicon.problem(init, goal)

    def _messages(self, words: Sequence[str]) -> list[Message]:
        strange = [word for word in words if word not in self._known]
        if strange and self._strict:
            raise _not_read(f'does not know {strange[0]!r}')
        return [_user(' '.join(word for word in words if word in self._known))]

    def _joined(
        self,
        lexicon: TranslatorWords,
        asked: Sequence[tuple[list[str], list[str]]],
        answers: Iterator[str],
    ) -> list[Atom] | None:
        """The atoms of a half; None where a clause of it says none alone."""
        found: list[Atom] | None = []
        for (words, mentioned), answer in zip(asked, islice(answers, len(asked)), strict=True):
            read = lexicon.read_clause(answer.split(), mentioned, self._shield)
            atoms = None if 'not' in words else read
            found = None if atoms is None or found is None else [*found, *atoms]
        return found


def _not_read(why: str) -> SafegenError:
    return SafegenError(
        f'the model that translates {why}: say it in other words, or start the planner with '
        'models/safegen-requests or a chat model (its parameter translator)',
        ErrorCode.TRANSLATION_FAILED,
    )


def _refuse_rules(text: str) -> None:
    """Refuses a description with a rule: the small translator writes goals alone, and drops it."""
    rule = _RULE_WORDS.search(spelt_out(text))
    if rule is not None:
        raise SafegenError(
            f'the translating model understands no rules, such as the words with {rule[0]!r}: '
            'give them as PDDL (--constraints)',
            ErrorCode.TRANSLATION_FAILED,
        )


def _user(text: str) -> Message:
    return {'role': 'user', 'content': text}


def prompt(request: Request) -> str:
    """The instructions for a chat model."""
    parts = [
        'Translate a request into one PDDL problem of the domain below.',
        f'Answer with (define (problem ...) ...) alone. If the request can be understood in more '
        f'than one way, or leaves out what the problem needs, do not guess: answer with {QUESTION} '
        'and one question.',
        f'Domain:\n{domain_text(request.domain, constraints=True).rstrip()}',
    ]
    if request.start is not None:
        objects = ' '.join(f'{name} - {kind}' for name, kind in request.start.objects.items())
        init = ' '.join(map(atom_text, sorted(request.start.init)))
        parts.append(f'Take exactly these objects and this initial state:\n{objects}\n{init}')
    if request.constraints:
        parts.append(f'These constraints hold in any case:\n{request.constraints}')
    return '\n\n'.join([*parts, f'Request:\n{request.text}'])


def translation_style_of(
    model: str, *, strict: bool = True, shield: bool = True
) -> TranslationStyle | None:
    """The style of a model by its name, as `named_model` has it; None for one of another world.

    `strict` and `shield` are those of `WordTranslation`.

    Raises:
        BackendError: its `safegen.json` cannot be read, or its words are missing.
    """
    folder = model_folder(model)
    name = prompt_style(folder)
    if folder is not None and name == STYLE:
        return WordTranslation(words_of_model(folder), strict=strict, shield=shield)
    if name == GOALS:
        return GoalTranslation()
    return InstructTranslation() if name == INSTRUCT else None
