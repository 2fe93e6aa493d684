# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a model may be held to: steps that a shield admits, words that an automaton allows.

A model in this process is held token by token (`constrained`), one at a server, which is only told
choices, step by step (`choices`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, runtime_checkable

from safegen_ros.llm.backend import Cancelled, Message, Sampling, Unsupported, never
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.verify.admissible import Shield


@dataclass(frozen=True, slots=True)
class PlanSyntax:
    """A way to write plans.

    Attributes:
        step: the text of one step; no step's text is how another one's with a separator begins.
        separator: what stands between two steps, and in no step's text where a step could end.
    """

    step: Callable[[Step], str]
    separator: str

    def plan(self, plan: Plan) -> str:
        """The text of a plan."""
        return self.separator.join(map(self.step, plan.steps))


class StepTokens:
    """Cuts plans into the tokens that a model would see in them.

    Tokens may join the separator to the step before it, as `)` and a line break often are, or to
    the one behind it, as blanks and words are. The first step shows which of both gives the tokens
    of a whole text. It also stands before each other step when that is cut, since the beginning of
    a text may be cut in another way. Where tokens join steps neither does; then a plan is cut in a
    way that the model would not, and says the same.
    """

    def __init__(self, tokenizer: Any, syntax: PlanSyntax) -> None:
        self._tokenizer = tokenizer
        self._syntax = syntax
        self._known: dict[tuple[Step, bool, bool], tuple[int, ...]] = {}
        self._before = ''  # what stands before a step when it is cut
        self._trailing = False

    def tokens(self, step: Step, first: bool, last: bool) -> tuple[int, ...]:
        """The tokens of a step; none when the model cannot write it.

        Args:
            first: whether the plan begins with it.
            last: whether the plan ends with it.
        """
        found = self._known.get((step, first, last))
        if found is None:
            text, separator = self._syntax.step(step), self._syntax.separator
            if not self._before:
                self._choose(text, separator)
            if self._trailing:
                written = text if last else text + separator
            else:
                written = text if first else separator + text
            found = self._ids(written) if first else self._behind(written)
            unknown = self._tokenizer.unk_token_id
            if unknown is not None and unknown in found:
                found = ()
            self._known[step, first, last] = found
        return found

    def _choose(self, text: str, separator: str) -> None:
        self._before = text
        whole = self._ids(text + separator + text)
        if not _begins(whole, self._ids(text)) and _begins(whole, self._ids(text + separator)):
            self._before, self._trailing = text + separator, True

    def _behind(self, text: str) -> tuple[int, ...]:
        """The tokens of a text that something stands before."""
        before, whole = self._ids(self._before), self._ids(self._before + text)
        return whole[len(before) :] if _begins(whole, before) else self._ids(text)

    def _ids(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer(text, add_special_tokens=False)['input_ids'])


def _begins(ids: tuple[int, ...], with_: tuple[int, ...]) -> bool:
    return ids[: len(with_)] == with_


class BeamOutcome(Enum):
    """How a search ended."""

    FOUND = 'found'
    EXHAUSTED = 'no admissible step leads to a new situation'
    STEPS = 'the plan would take more steps than allowed'
    CONTEXT = 'the plan does not fit into the context of the model'
    TIME = 'the time was up'
    EFFORT = 'the model was asked about as many steps as allowed'


@dataclass(frozen=True, slots=True)
class BeamResult:
    """What a search found.

    Attributes:
        width: how many plans it followed at a time.
        backtracking: whether it might go back to plans that it had left.
        score: the logarithm of the plan's probability, its end included; 0 without a plan.
        scored: how many steps the model was asked about.
        seconds: wall-clock time [s].
    """

    width: int
    backtracking: bool
    outcome: BeamOutcome
    plan: Plan | None
    score: float
    scored: int
    seconds: float


class Guide(Protocol):
    """Lets a model write plans of one problem whose steps are all admissible.

    What it returns is a proposal like any other, for the caller to have proved. Every method raises
    as those of `Backend` do, `Unsupported` where this backend cannot do it, and `SafegenError`
    (`TASK_TOO_LARGE`) where the problem has too many ground actions to list.
    """

    def shielded(self, sampling: Sampling, cancelled: Cancelled = never) -> Plan:
        """A plan as the model writes it where it cannot take a step that is not admissible.

        It solves the problem unless nothing was admissible any more, or the answer too long.
        """
        ...

    def completed(self, kept: Plan, sampling: Sampling, cancelled: Cancelled = never) -> str:
        """An answer that begins with given steps and goes on, plainly, for a token at least."""
        raise Unsupported(
            'a server does not go on with an answer that was begun for it: load the model from its '
            'folder'
        )

    def beam(
        self,
        width: int,
        time_limit_s: float,
        cancelled: Cancelled = never,
        *,
        backtrack: bool = False,
    ) -> BeamResult:
        """A search over admissible steps by the model's probabilities; see `StepBeam.search`."""
        raise Unsupported(
            'a beam needs the probabilities of all tokens: load the model from its folder'
        )


class WordAutomaton(Protocol):
    """A text that is followed word by word."""

    def next_words(self) -> set[str]:
        """The words that may come next."""
        ...

    def may_end(self) -> bool:
        """Whether it may end here."""
        ...

    def take(self, word: str) -> None:
        """Goes on with a word that may come next."""
        ...


class WordWriter(Protocol):
    """A model whose tokens are words, and that writes no others than it may."""

    def write(
        self,
        messages: Sequence[Message],
        text: WordAutomaton,
        sampling: Sampling,
        cancelled: Cancelled = never,
    ) -> str:
        """What the model writes where every word must be one that may come next.

        A text that can neither end nor go on is ended there. `text` is used up by it.

        Raises:
            BackendError: as of `Backend.generate`.
        """
        ...

    def scores(
        self,
        messages: Sequence[Message],
        written: Sequence[str],
        choices: Sequence[Sequence[str]],
        cancelled: Cancelled = never,
    ) -> tuple[list[float], float]:
        """How likely the model finds each way to go on with an answer.

        Args:
            choices: the words of each way.

        Returns:
            The logarithm of the probability of each way, minus infinity where the model lacks a
            word or its context ends, and that of the end of the answer.

        Raises:
            BackendError: the model cannot answer.
        """
        ...


@runtime_checkable
class TokenBackend(Protocol):
    """A backend whose every token can be looked at and kept from being written."""

    def guide(self, messages: Sequence[Message], shield: Shield, syntax: PlanSyntax) -> Guide:
        """What writes plans of one problem.

        Raises:
            BackendError: the model cannot be asked this.
        """
        ...

    def writer(self) -> WordWriter:
        """What writes texts whose every word an automaton allows; tokens must be words."""
        ...
