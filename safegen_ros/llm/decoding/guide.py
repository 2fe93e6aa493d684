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
from typing import Protocol, runtime_checkable

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
