# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which tokens may come next, so that a model can write nothing but safe plans.

A text is followed token by token: what it says so far is a plan whose steps are all admissible and
the beginning of one more. The tokens that keep it so are found by laying the texts of the
admissible steps beside what the tokens stand for, whatever tokens a model has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from safegen_ros.llm.backend import Unsupported
from safegen_ros.llm.decoding.guide import PlanSyntax
from safegen_ros.llm.decoding.token_trie import TokenTrie
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.verify.admissible import Shield, Situation

Visited = frozenset[Situation]


class TextEnding(Enum):
    """How a text that was written under a shield ends."""

    FINISHED = 'finished'  # the goal holds and so does every constraint
    STUCK = 'stuck'  # no step may come next any more; the text was ended there
    CUT = 'cut'  # it was not ended: the last step may be unfinished
    FOREIGN = 'foreign'  # a token in it was not let through by the shield


class Unit(NamedTuple):
    """An admissible step as text.

    Attributes:
        spelled: from which places in the text tokens can go on to its end.
    """

    text: str
    spelled: tuple[bool, ...]
    step: Step
    after: Situation


class Place(NamedTuple):
    """Where a text stands; texts that stand at one place go on alike.

    Attributes:
        situation: after the last step behind which something is written.
        partial: the text since then, beginning with the separator; None without any text.
        visited: situations not to go back to.
    """

    situation: Situation
    partial: str | None
    visited: Visited


@dataclass(frozen=True, slots=True)
class Moves:
    """What may come next.

    Attributes:
        tokens: the tokens, each with where it leads and the steps that it completes.
        may_end: whether the text is a whole plan that solves the problem.
    """

    tokens: dict[int, tuple[Place, tuple[Step, ...]]]
    may_end: bool

    @property
    def stuck(self) -> bool:
        """Whether nothing may come next."""
        return not self.tokens and not self.may_end


@dataclass(frozen=True, slots=True)
class Written:
    """A text so far.

    Attributes:
        ending: how it ended; `CUT` while it goes on.
    """

    place: Place
    steps: tuple[Step, ...] = ()
    ending: TextEnding = TextEnding.CUT


class TextShield:
    """Follows texts of plans of one problem.

    A plan ends where it solves the problem. It goes back to no situation that it has been in, and
    is stuck where nothing else is admissible, rather than going in circles.

    Args:
        trie: what the model's tokens stand for.
        ends: the tokens that end a text.
    """

    def __init__(
        self,
        shield: Shield,
        syntax: PlanSyntax,
        trie: TokenTrie,
        ends: Collection[int],
    ) -> None:
        self.shield = shield
        self.ends = frozenset(ends)
        self._syntax = syntax
        self._trie = trie
        self._texts: dict[Step, tuple[str, tuple[bool, ...]]] = {}
        self._units: dict[Situation, tuple[Unit, ...]] = {}
        self._finished: dict[Situation, bool] = {}
        self._moves: dict[Place, Moves] = {}
        self.start = Written(Place(shield.start, None, frozenset([shield.start])))
        """The empty text."""

    def moves(self, place: Place) -> Moves:
        """What may come next.

        Raises:
            Unsupported: the model's tokens cannot spell any of the admissible steps.
            SafegenError: the problem has too many ground actions to list.
        """
        found = self._moves.get(place)
        if found is None:
            tokens: dict[int, tuple[Place, tuple[Step, ...]]] = {}
            self._spread(tokens, place, '', ())
            found = self._moves[place] = Moves(tokens, self._may_end(place))
        return found

    def after(self, written: Written, token: int) -> Written:
        """A text with one more token; what stands behind the end changes nothing."""
        if written.ending is not TextEnding.CUT:
            return written
        place, steps = written.place, written.steps
        moves = self.moves(place)
        if token in self.ends:
            ending = TextEnding.FINISHED if moves.may_end else TextEnding.FOREIGN
            return Written(place, steps, TextEnding.STUCK if moves.stuck else ending)
        move = moves.tokens.get(token)
        if move is None:
            return Written(place, steps, TextEnding.FOREIGN)
        return Written(move[0], steps + move[1] if move[1] else steps)

    def read(self, tokens: Iterable[int]) -> tuple[Plan, TextEnding]:
        """The whole steps of a text, and how it ends."""
        written = self.start
        for token in tokens:
            written = self.after(written, token)
        last = self._whole(written.place)
        steps = written.steps if last is None else (*written.steps, last.step)
        return Plan(steps), written.ending

    def _may_end(self, place: Place) -> bool:
        last = self._whole(place)
        if last is not None:
            return self._solved(last.after)
        between = self._syntax.separator.startswith(place.partial or '')
        return between and self._solved(place.situation)

    def _whole(self, place: Place) -> Unit | None:
        """The step whose text is complete, if one is."""
        if place.partial is None:
            return None
        units = self._open_units(place.situation, place.visited)
        return next((unit for unit in units if unit.text == place.partial), None)

    def _solved(self, situation: Situation) -> bool:
        found = self._finished.get(situation)
        if found is None:
            found = self._finished[situation] = self.shield.finished(situation)
        return found

    def _spread(
        self,
        found: dict[int, tuple[Place, tuple[Step, ...]]],
        place: Place,
        written: str,
        done: tuple[Step, ...],
    ) -> None:
        """Adds the tokens that write what may come next."""
        situation, partial, visited = place
        first = len(self._syntax.separator)
        for unit in self._open_units(situation, visited):
            if partial is None:  # no separator is before the first step, but a blank may be
                self._lay(found, unit, place, first, '', done)
                self._lay(found, unit, place, first, ' ', done)
            elif unit.text.startswith(partial):
                self._lay(found, unit, place, len(partial), written, done)

    def _lay(
        self,
        found: dict[int, tuple[Place, tuple[Step, ...]]],
        unit: Unit,
        place: Place,
        begin: int,
        written: str,
        done: tuple[Step, ...],
    ) -> None:
        """Adds the tokens that go on in the text of one step, and behind it, from a place in it."""
        text = unit.text
        for end in range(begin, len(text) + 1):
            piece = written + text[begin:end]
            if not piece:
                continue
            spot = self._trie.spot(piece)
            if spot is None:
                return
            if spot.ids and unit.spelled[end]:
                move = Place(place.situation, text[:end], place.visited), done
                found.update((token, move) for token in spot.ids)
            if not spot.deeper:
                return
        self._cross(found, unit, place.visited, written + text[begin:], done)

    def _cross(
        self,
        found: dict[int, tuple[Place, tuple[Step, ...]]],
        unit: Unit,
        visited: Visited,
        written: str,
        done: tuple[Step, ...],
    ) -> None:
        """Adds the tokens that go on behind the end of a step."""
        separator = self._syntax.separator
        done = (*done, unit.step)
        visited |= {unit.after}
        if not written:  # the step is written: its situation is where we are
            self._spread(found, Place(unit.after, '', visited), '', done)
            return
        for end in range(1, len(separator) + 1):
            spot = self._trie.spot(written + separator[:end])
            if spot is None:
                return
            move = Place(unit.after, separator[:end], visited), done
            found.update((token, move) for token in spot.ids)
            if not spot.deeper:
                return
        self._spread(found, Place(unit.after, separator, visited), written + separator, done)

    def _open_units(self, situation: Situation, visited: Visited) -> tuple[Unit, ...]:
        """The steps that may come next, as far as they are wanted."""
        if self._solved(situation):
            return ()
        return tuple(unit for unit in self._all_units(situation) if unit.after not in visited)

    def _all_units(self, situation: Situation) -> tuple[Unit, ...]:
        """All admissible steps that the tokens can spell."""
        found = self._units.get(situation)
        if found is None:
            steps = self.shield.steps(situation)
            units = [Unit(*self._text(step), step, after) for step, after in steps.items()]
            first = len(self._syntax.separator)
            found = tuple(u for u in units if u.spelled[0] or u.spelled[first])
            if units and not found:
                raise Unsupported(
                    f'the tokenizer has no tokens for {units[0].text!r}, nor for any other step '
                    'that may come next: use a model whose tokens can spell the names of the '
                    'problem'
                )
            self._units[situation] = found
        return found

    def _text(self, step: Step) -> tuple[str, tuple[bool, ...]]:
        found = self._texts.get(step)
        if found is None:
            text = self._syntax.separator + self._syntax.step(step)
            found = self._texts[step] = text, self._trie.spelled_from(text)
        return found
