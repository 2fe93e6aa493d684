# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a request is put to a model, and how its answers are read.

Two styles behind one protocol: `instruct` for chat models, which are shown the domain and write
PDDL, and `goals` for a language model that was fine-tuned on requests or descriptions. A model
folder chooses one with `safegen.json`: `{"prompt_style": "goals"}`.

The prompt of `goals` lists the facts that can change, the objects by kind and the current state.
The answer has the goal facts on its first line, denied ones as `(not (on b1 b2))`, and a rule in
PDDL3 on each further one; `clauses` says how a text without an observed world is put:

    Facts: (on object object) (on-table object) ...        (on b1 b4)
    object: b1 b2 b3 b4                                    (always (not (on b2 b3)))
    Now: (on b2 b1) ...
    Request: b1 goes on b4, but never put b2 on b3
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from safegen_ros.errors import PddlError
from safegen_ros.llm.backend import Message
from safegen_ros.llm.model_names import INSTRUCT, model_folder, prompt_style
from safegen_ros.pddl.deciding import changed_predicates
from safegen_ros.pddl.model import And, Atom, AtomFormula, Formula, Not, Problem
from safegen_ros.pddl.sexpr import Node, read_sexpr
from safegen_ros.pddl.writer import atom_text, domain_text, problem_text
from safegen_ros.tasks.planetarium.clauses import NOTHING, Description, goal_prompt, refusal
from safegen_ros.tasks.planetarium.request import Request


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


GOALS = 'goals'
"""The `safegen.json` of models that read `goal_prompt`."""

QUESTION = 'QUESTION:'
"""What an answer begins with that asks instead of guessing."""


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
    """Goal and rules from a request about an observed world, or facts from a description.

    The refusal is not passed on: another seed draws again.
    """

    one_way = True

    def translation(self, request: Request, refused: tuple[str, str] | None = None) -> Translation:
        """One question, without the rules that a grammar has read; for a description, many.

        A half of a description is asked once more as a whole where a clause says nothing alone.
        """
        if request.start is None:
            return _described(request)
        return self._observed(request, request.start)

    def _observed(self, request: Request, start: Problem) -> Translation:
        text = request.text if request.rest is None else request.rest
        (answer,) = yield [[_user(goal_prompt(*observed_facts(start), text))]]
        return answered_problem(start, answer)


def _described(request: Request) -> Translation:
    told = Description.of(request.domain, request.text)
    halves = [[(each, told.clause(each)) for each in half] for half in (told.start, told.goal)]
    prompts = [*dict.fromkeys(asked.prompt for half in halves for _, asked in half if asked.prompt)]
    answers = dict(zip(prompts, (yield [[_user(each)] for each in prompts]), strict=True))
    answers[''] = NOTHING
    found: list[list[Atom]] = []
    for half in halves:
        facts = [told.fact(text, answers[asked.prompt], asked) for text, asked in half]
        said = [fact for fact in facts if fact is not None]
        if len(said) < len(half):
            whole = told.whole([text for text, _ in half], *found)
            (answer,) = yield [[_user(whole.prompt)]]
            summed = told.read(answer, whole) or []
            if not {*summed} > {*said}:
                raise refusal('does not understand what is summed up: list its facts')
            said = summed
        found.append(said)
    return told.problem(*found)


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


def translation_style_of(model: str) -> TranslationStyle | None:
    """The style of a model by its name, as `named_model` has it; None for one of another world.

    Raises:
        BackendError: its `safegen.json` cannot be read.
    """
    name = prompt_style(model_folder(model))
    if name == GOALS:
        return GoalTranslation()
    return InstructTranslation() if name == INSTRUCT else None
