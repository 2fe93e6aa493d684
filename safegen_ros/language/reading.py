# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What somebody's words were understood as: constraints, shown back for a person to confirm."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from safegen_ros.errors import ErrorCode, PddlError, PddlErrors
from safegen_ros.language.english import constraint_sentence
from safegen_ros.language.placed import Place, error_at
from safegen_ros.pddl.bits import AtomTable, condition
from safegen_ros.pddl.constraints import read_constraints
from safegen_ros.pddl.formulas import flatten_constraints
from safegen_ros.pddl.limits import MAX_FORMULA_SIZE, constraint_size
from safegen_ros.pddl.model import (
    Constraint,
    ConstraintAnd,
    ConstraintTree,
    Problem,
)
from safegen_ros.pddl.scope import Scope
from safegen_ros.pddl.sexpr import read_sexpr
from safegen_ros.pddl.writer import constraint_text, constraint_tree_text

MAX_CONJUNCTS = 2000
"""Most constraints that one rule may come to."""

_MOST_COMPARED = 100_000  # parts of formulas

_LONGEST = 500  # characters of a meaning in a message

_OPENED = '((and '  # the constraints of a text are the parts of one


class Origin(Enum):
    """Who wrote the formula of a reading."""

    WORDS = 'words'  # the grammar of `sentences`, out of a person's words
    FORMAL = 'formal'  # the person: PDDL3, or the sentences of the English format
    ATTRIBUTES = 'attributes'  # a rule about attributes, see `attributes`
    MODEL = 'model'  # a language model, out of a person's words


@dataclass(frozen=True, slots=True)
class Reading:
    """Constraints, with the words that they were read from and the words that they mean.

    Attributes:
        formula: the same in PDDL3.
        constraints: the same with `and` and `forall` written out; at least one.
        sentences: each of them in the words of the English format.
        place: `source:line:column` of the text.
    """

    text: str
    tree: ConstraintTree
    formula: str
    constraints: tuple[Constraint, ...]
    sentences: tuple[str, ...]
    origin: Origin
    place: str

    @property
    def sentence(self) -> str:
        """All sentences in a row."""
        return ' '.join(self.sentences)

    def shown(self) -> str:
        """What a person is asked to confirm, for a terminal."""
        lines = [f'{self.place}: {self.text}']
        lines += [f'  means: {sentence}' for sentence in self.sentences]
        return '\n'.join([*lines, f'  PDDL3: {self.formula}', f'  read by: {self.origin.value}'])

    def to_dict(self) -> dict[str, object]:
        """The reading for a program."""
        return {
            'text': self.text,
            'formula': self.formula,
            'constraints': [constraint_text(each) for each in self.constraints],
            'sentences': list(self.sentences),
            'origin': self.origin.value,
            'place': self.place,
        }


class AmbiguousRule(PddlError):
    """A text that can mean several things; `meanings` are these, in words."""

    def __init__(self, meanings: Sequence[str], source: str, place: Place) -> None:
        told = ' '.join(
            f'({number}) {_short(text)}' for number, text in enumerate(meanings, start=1)
        )
        super().__init__(
            f'this can mean {len(meanings)} things: {told}',
            source=source,
            line=place[0],
            column=place[1],
            cure='write the one that is meant',
        )
        self.meanings = tuple(meanings)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f'{text[:_LONGEST]}...'


def read_formal(text: str, problem: Problem, source: str) -> ConstraintTree:
    """Reads constraints in PDDL3, one or several, with every name checked against the problem.

    Raises:
        PddlError: this is not PDDL3, or it names what the problem does not have.
    """
    try:
        # The text may hold comments, so the closing bracket of the list stands on its own line.
        reader, top = read_sexpr(f'{_OPENED}{text}\n))', source)
        if len(top.items) != 1:
            raise reader.error_in(top, 1, 'a parenthesis too many before this', 'remove it')
        scope = Scope(reader, problem.domain, problem.objects)
        return reader.whole(read_constraints, scope, top, 0)
    except PddlError as error:
        moved = [_moved(each) for each in error.errors]
        raise (moved[0] if len(moved) == 1 else PddlErrors(moved)) from error


def _moved(error: PddlError) -> PddlError:
    """An error at its place in the text, without the added beginning."""
    column = max(1, error.column - len(_OPENED)) if error.line == 1 else error.column
    return error_at(error.source, (error.line, column), error.what, error.cure, error.code)


def reading(
    tree: ConstraintTree,
    problem: Problem,
    text: str,
    origin: Origin,
    source: str,
    place: Place,
    binding: tuple[tuple[str, str], ...] = (),
) -> Reading:
    """The reading of a text, with its result for the objects of a problem.

    - `tree`: the constraints; they go through the reader of PDDL3 once more.
    - `binding`: objects that the rule was made for, beside those that its `forall`s bind.

    Raises:
        PddlError: it is too large (`TASK_TOO_LARGE`), asks for nothing, or is not PDDL3.
    """
    objects = problem.objects_by_type()
    read = read_formal(constraint_tree_text(tree, typed=True), problem, source)
    count, size = constraint_size(read, objects)
    if count > MAX_CONJUNCTS or size > MAX_FORMULA_SIZE:
        what = f'this comes to {count:,} constraints of {size:,} parts'
        cure = f'say it of fewer objects; the limit is {MAX_CONJUNCTS:,} constraints'
        raise error_at(source, place, what, cure, ErrorCode.TASK_TOO_LARGE)
    at = ':'.join(map(str, (source, *place)))
    found = [
        replace(each, place=at, binding=(*binding, *each.binding))
        for each in flatten_constraints(read, objects)
    ]
    ground = tuple(dict.fromkeys(found))
    if not ground:
        what, cure = 'this asks for nothing here', 'name objects that the problem has'
        raise error_at(source, place, what, cure)
    sentences = tuple(constraint_sentence(each, problem) for each in ground)
    formula = constraint_tree_text(single(tree), typed=bool(problem.domain.types))
    return Reading(' '.join(text.split()), single(tree), formula, ground, sentences, origin, at)


def single(tree: ConstraintTree) -> ConstraintTree:
    """A tree without an `and` around one constraint."""
    while isinstance(tree, ConstraintAnd) and len(tree.parts) == 1:
        tree = tree.parts[0]
    return tree


def different(trees: Iterable[ConstraintTree], problem: Problem) -> list[ConstraintTree]:
    """The trees that do not come to the same for the objects of a problem, in their order.

    Trees that are too large to be compared in full count as different if their texts are.
    """
    told = {constraint_tree_text(tree, typed=True): tree for tree in trees}
    objects = problem.objects_by_type()
    sizes = [constraint_size(tree, objects) for tree in told.values()]
    if len(told) < 2 or sum(count + size for count, size in sizes) > _MOST_COMPARED:
        return list(told.values())
    table = AtomTable(problem, fold_static=False)
    found: dict[object, ConstraintTree] = {}
    for tree in told.values():
        key = frozenset(
            (each.operator, each.times, tuple(condition(a, table) for a in each.arguments))
            for each in flatten_constraints(tree, objects)
        )
        found.setdefault(key, tree)
    return list(found.values())
