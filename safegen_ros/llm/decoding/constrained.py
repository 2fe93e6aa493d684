# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a model may write: plans whose steps a shield admits, texts whose words an automaton allows.

A model in this process is kept to both token by token. One at a server, which is only told choices,
is guided step by step (`choices.ChoiceGuide`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from safegen_ros.llm.backend import Cancelled, Clock, Message, Sampling, never
from safegen_ros.llm.decoding.beam import BeamResult, StepBeam
from safegen_ros.llm.decoding.plan_syntax import PlanSyntax
from safegen_ros.llm.decoding.shield import ShieldProcessor, TextShield
from safegen_ros.llm.decoding.token_tree import ROOT, TokenTree
from safegen_ros.llm.decoding.token_trie import TokenTrie
from safegen_ros.pddl.plan import Plan
from safegen_ros.verify.admissible import Shield

if TYPE_CHECKING:
    import torch


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
        ...

    def beam(
        self,
        width: int,
        time_limit_s: float,
        cancelled: Cancelled = never,
        *,
        backtrack: bool = False,
    ) -> BeamResult:
        """A search over admissible steps by the model's probabilities; see `StepBeam.search`."""
        ...


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


@runtime_checkable
class TokenBackend(Protocol):
    """A backend whose every token can be looked at and kept from being written."""

    def guide(self, messages: Sequence[Message], shield: Shield, syntax: PlanSyntax) -> Guide:
        """What writes plans of one problem.

        Args:
            messages: what asks for the plan, as of `Backend.generate`.
            shield: the problem's shield.
            syntax: how the model writes its steps.

        Raises:
            BackendError: the model cannot be asked this.
        """
        ...

    def writer(self) -> ConstrainedWriter:
        """What writes texts whose every word an automaton allows; tokens must be words."""
        ...


class TokenModel(Protocol):
    """A loaded model whose tokens can be looked at: what is asked of a `TransformersBackend`.

    Attributes:
        model_dir: its folder, which names it in messages.
        context: longest sequence [tokens].
        ends: the tokens that end an answer.
        model: the model of `transformers`; to be called in a `turn` only.
        tokenizer: its tokenizer.
    """

    model_dir: Path
    context: int
    ends: frozenset[int]
    model: Any
    tokenizer: Any

    @property
    def trie(self) -> TokenTrie:
        """What the tokens stand for."""
        ...

    @property
    def tree(self) -> type[TokenTree]:
        """How the model is asked about continuations; only in its turn."""
        ...

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """The tokens that ask for the answer to a conversation."""
        ...

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text, without marks of its beginning or end."""
        ...

    def text(self, ids: Sequence[int]) -> str:
        """What tokens say, without marks."""
        ...

    def write(
        self,
        prompt: Sequence[int],
        sampling: Sampling,
        cancelled: Cancelled = never,
        **settings: Any,
    ) -> list[int]:
        """The tokens that the model writes behind others, that of the end included."""
        ...

    def turn(self, clock: Clock) -> AbstractContextManager[None]:
        """One call of the model at a time."""
        ...


class TransformersGuide:
    """A `Guide` for one problem and a model in this process.

    It keeps what was computed for the prompt and for the situations of the problem, so that one
    kind of search after the other is cheap; let go of it with the problem.

    Args:
        backend: the model.
        messages: what asks for the plan.
        shield: the problem's shield.
        syntax: how the model writes its steps.

    Raises:
        BackendError: the prompt has words that the tokenizer does not know.
    """

    def __init__(
        self,
        backend: TokenModel,
        messages: Sequence[Message],
        shield: Shield,
        syntax: PlanSyntax,
    ) -> None:
        self._backend = backend
        self._prompt = backend.prompt(messages)
        self._shield = shield
        self._syntax = syntax

    def shielded(self, sampling: Sampling, cancelled: Cancelled = never) -> Plan:
        """A plan of admissible steps only; see `Guide.shielded`."""
        processor = ShieldProcessor([self._text])
        ids = self._backend.write(self._prompt, sampling, cancelled, logits_processor=[processor])
        return self._text.read(ids)[0]

    def completed(self, kept: Plan, sampling: Sampling, cancelled: Cancelled = never) -> str:
        """An answer that begins with given steps; see `Guide.completed`."""
        begun = self._backend.tokens(self._syntax.plan(kept))
        ids = self._backend.write([*self._prompt, *begun], sampling, cancelled, min_new_tokens=1)
        return self._backend.text([*begun, *ids])

    def beam(
        self,
        width: int,
        time_limit_s: float,
        cancelled: Cancelled = never,
        *,
        backtrack: bool = False,
    ) -> BeamResult:
        """A search over admissible steps; see `Guide.beam`."""
        clock = Clock(str(self._backend.model_dir), Sampling(), cancelled)
        clock.check()
        with self._backend.turn(clock):
            left_s = time_limit_s - clock.seconds
            return self._beam.search(width, left_s, cancelled, backtrack=backtrack)

    @cached_property
    def _text(self) -> TextShield:
        backend = self._backend
        return TextShield(
            self._shield, self._syntax, backend.trie, backend.ends, avoid_visited=True
        )

    @cached_property
    def _beam(self) -> StepBeam:
        backend = self._backend
        return StepBeam(
            backend.model,
            backend.tokenizer,
            self._prompt,
            self._shield,
            self._syntax,
            backend.ends,
            context=backend.context,
            tree=backend.tree,
        )


class ConstrainedWriter:
    """A model whose tokens are words, and that writes no others than it may.

    Args:
        backend: the model.
    """

    def __init__(self, backend: TokenModel) -> None:
        self._backend = backend
        self._ids: dict[str, int | None] = {}

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
        backend = self._backend
        prompt = backend.prompt(messages)
        mask = _Mask(text, self.id, sorted(backend.ends), len(prompt))
        ids = backend.write(prompt, sampling, cancelled, logits_processor=[mask])
        return backend.text([token for token in ids if token not in backend.ends])

    def scores(
        self,
        messages: Sequence[Message],
        written: Sequence[str],
        choices: Sequence[Sequence[str]],
        cancelled: Cancelled = never,
    ) -> tuple[list[float], float]:
        """How likely the model finds each way to go on with an answer.

        Args:
            messages: what asks for the answer.
            written: its words so far.
            choices: the words of each way.
            cancelled: whether the caller wants to stop.

        Returns:
            The logarithm of the probability of each way, minus infinity where the model lacks a
            word or its context ends, and that of the end of the answer.

        Raises:
            BackendError: the model cannot answer.
        """
        import torch

        backend = self._backend
        known = [self._row(words) for words in (written, *choices)]
        text = [*backend.prompt(messages), *(known[0] or ())]
        longest = max((len(row) for row in known[1:] if row), default=0)
        clock = Clock(str(backend.model_dir), Sampling(), cancelled)
        clock.check()
        if len(text) + longest >= backend.context:
            return [float('-inf')] * len(choices), float('-inf')
        with backend.turn(clock), torch.inference_mode():
            tree = backend.tree(backend.model, text)
            end = max(tree.logprobs([ROOT] * len(backend.ends), sorted(backend.ends)))
            nodes: dict[tuple[int, ...], int] = {(): ROOT}
            parents, tokens = list[int](), list[int]()
            for row in known[1:]:
                for size in range(1, len(row or ())):  # what stands behind the last is not asked
                    path = tuple(row or ())[:size]
                    if path not in nodes:
                        nodes[path] = len(tree) + len(tokens)
                        parents.append(nodes[path[:-1]])
                        tokens.append(path[-1])
            if tokens:
                tree.grow(parents, tokens)
            rows = [row or () for row in known[1:]]
            before = [nodes[row[:at]] for row in rows for at in range(len(row))]
            values = iter(tree.logprobs(before, [token for row in rows for token in row]))
            found = [sum(next(values) for _ in row) if row else float('-inf') for row in rows]
        return found, end

    def id(self, word: str) -> int | None:
        """The token of a word; None where the model has none."""
        if word not in self._ids:
            ids = self._backend.tokens(word)
            unknown = self._backend.tokenizer.unk_token_id
            self._ids[word] = ids[0] if len(ids) == 1 and ids[0] != unknown else None
        return self._ids[word]

    def _row(self, words: Sequence[str]) -> tuple[int, ...] | None:
        found = [self.id(word) for word in words]
        row = tuple(each for each in found if each is not None)
        return row if len(row) == len(found) else None


class _Mask:
    """A logits processor for a single row."""

    def __init__(
        self,
        text: WordAutomaton,
        id_of: Callable[[str], int | None],
        ends: Sequence[int],
        width: int,
    ) -> None:
        self._text, self._id_of, self._ends = text, id_of, ends
        self._width = width
        self._offered: dict[int, str] = {}

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores with those of all words that may not come next at minus infinity."""
        row = input_ids[0].tolist()
        if len(row) > self._width:
            self._text.take(self._offered[row[-1]])
            self._width = len(row)
        words = sorted(self._text.next_words())
        self._offered = {token: w for w in words if (token := self._id_of(w)) is not None}
        allowed = [*self._offered]
        if self._text.may_end() or not allowed:
            allowed += self._ends
        index = input_ids.new_tensor(allowed)
        kept = scores.new_full(scores.shape, float('-inf'))
        kept[0, index] = scores[0, index]
        return kept
