# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Logits processors of `transformers`: what may not come next gets no probability.

Put them before warpers that cut tokens off (`generate` itself does so): the tokens that such a
warper leaves may be just the removed ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from safegen_ros.llm.backend import Refused
from safegen_ros.llm.decoding.guide import WordAutomaton
from safegen_ros.llm.decoding.shield import TextEnding, TextShield
from safegen_ros.llm.decoding.token_tree import ROOT, TokenTree
from safegen_ros.llm.decoding.token_trie import TokenTrie

if TYPE_CHECKING:
    import torch


class ShieldProcessor:
    """Holds the single row of one call of `generate` to plans of a problem.

    A plan that can neither end nor go on is ended there; see `TextShield.read`.
    """

    def __init__(self, shield: TextShield) -> None:
        self._shield = shield
        self._written = shield.start
        self._width = -1  # of the prompt, and then of what was read [tokens]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores with those of all other tokens at minus infinity.

        Raises:
            BackendError: the tokens of the model cannot spell any admissible step.
            SafegenError: the problem has too many ground actions to list.
        """
        row = input_ids[0].tolist()
        for token in row[self._width :] if self._width >= 0 else ():
            self._written = self._shield.after(self._written, token)
        self._width = len(row)
        allowed = [*self._shield.ends]
        if self._written.ending is TextEnding.CUT:
            moves = self._shield.moves(self._written.place)
            allowed = [*moves.tokens, *(allowed if moves.may_end or moves.stuck else ())]
        return _only(input_ids, scores, allowed)


class Likelihood:
    """Adds up how likely the model alone finds each row of one call of `generate`.

    It goes before all other processors.

    Args:
        ends: the tokens that end an answer.
    """

    def __init__(self, ends: Collection[int]) -> None:
        self._ends = frozenset(ends)
        self._alone: torch.Tensor | None = None
        self._sums: list[float] = []
        self._ended: list[bool] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores as they are."""
        self._take(input_ids)
        self._alone = scores.log_softmax(-1)
        return scores

    def found(self, output: torch.Tensor) -> list[float]:
        """The probability of each row at temperature 1, given what `generate` returned."""
        self._take(output)
        return [math.exp(each) for each in self._sums]

    def _take(self, ids: torch.Tensor) -> None:
        if self._alone is None:
            self._sums, self._ended = [0.0] * len(ids), [False] * len(ids)
            return
        tokens = ids[:, -1]
        likely = self._alone.gather(1, tokens[:, None])[:, 0].tolist()
        for place, (token, logarithm) in enumerate(zip(tokens.tolist(), likely, strict=True)):
            if not self._ended[place]:
                self._sums[place] += logarithm
                self._ended[place] = token in self._ends


def _only(input_ids: torch.Tensor, scores: torch.Tensor, allowed: list[int]) -> torch.Tensor:
    """The scores of a single row with those of all other tokens at minus infinity."""
    index = input_ids.new_tensor(allowed)
    kept = scores.new_full(scores.shape, float('-inf'))
    kept[0, index] = scores[0, index]
    return kept


_COMMENTS = re.compile(r'^[ \t]*;.*\n?', re.MULTILINE)
_OPEN_COMMENT = re.compile(r'^[ \t]*;.*\Z', re.MULTILINE)


Ways = Mapping[tuple[int, ...], Mapping[int, float]]
"""By the tokens with which a refused text begins: the tokens that go on with one, each with the
logarithm of how likely the rest is not refused."""


def ways_out(tree: TokenTree, refused: Collection[tuple[int, ...]], heat: float) -> Ways:
    """Where a model that is on its way to a refused text would turn from it.

    To forbid the last token alone would change that one: a model that is sure of all but one step
    would write the same steps, and then a wrong word. With what this returns it draws as if it had
    drawn whole texts and thrown the refused ones away.

    Args:
        tree: behind the prompt; it grows.
        refused: the tokens of each text.
        heat: the temperature of the draw [1].
    """
    followers: dict[tuple[int, ...], dict[int, None]] = {}
    for row in refused:
        for at, token in enumerate(row):
            if row[:at] in refused:
                break
            followers.setdefault(row[:at], {})[token] = None
    before = sorted(followers, key=len)
    nodes: dict[tuple[int, ...], int] = {(): ROOT}
    for number, row in enumerate(before[1:]):
        nodes[row] = len(tree) + number
    if len(before) > 1:
        tree.grow([nodes[row[:-1]] for row in before[1:]], [row[-1] for row in before[1:]])
    likely = (tree.table([nodes[row] for row in before]) / heat).softmax(-1)
    mass: dict[tuple[int, ...], float] = dict.fromkeys(refused, 1.0)
    for row, place in zip(reversed(before), reversed(range(len(before))), strict=True):
        shares = (float(likely[place, t]) * mass[(*row, t)] for t in followers[row])
        mass[row] = min(sum(shares), 1.0)
    return {
        row: {t: _log_rest(mass[(*row, t)]) for t in tokens} for row, tokens in followers.items()
    }


def _log_rest(share: float) -> float:
    return math.log1p(-share) if share < 1 else -math.inf


class NotAgain:
    """Keeps the rows of one call of `generate` from writing a refused plan.

    The same text with other lines of comment is the same text.

    Args:
        text: what written tokens say.
        ends: the tokens that end an answer.
        ways: where to turn from the refused texts, see `ways_out`.
        heat: the temperature of the draw [1].
    """

    def __init__(
        self,
        refused: Sequence[Refused],
        trie: TokenTrie,
        text: Callable[[Sequence[int]], str],
        ends: Sequence[int],
        ways: Ways | None = None,
        heat: float = 1.0,
    ) -> None:
        self._refused = refused
        self._trie = trie
        self._text = text
        self._ends = ends
        self._ways = ways or {}
        self._heat = heat
        self._width = -1  # of the prompts, in tokens
        self._known: dict[str, list[int]] = {}

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores with those of tokens that would complete a refused text at minus infinity."""
        if self._width < 0:
            self._width = input_ids.shape[1]
        for row, ids in enumerate(input_ids[:, self._width :].tolist()):
            for token, logarithm in self._ways.get(tuple(ids), {}).items():
                scores[row, token] += self._heat * logarithm  # which is divided by it later
            written = self._text(ids).lstrip()  # blanks before a plan say nothing
            taken = self._completing(written)
            if ';' in written and not _OPEN_COMMENT.search(written):
                taken += self._completing(_COMMENTS.sub('', written))
            if taken:
                scores[row, taken] = float('-inf')
        return scores

    def _completing(self, written: str) -> list[int]:
        found: list[int] = []
        for refused in self._refused:
            if refused.whole and written.strip() == refused.text:
                found += self._ends
            elif not refused.whole and refused.text.startswith(written):
                left = refused.text[len(written) :]
                if left not in self._known:
                    self._known[left] = self._trie.ending(left)
                found += self._known[left]
        return found


class WordMask:
    """Holds the single row of one call of `generate` to the words that an automaton allows."""

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
        return _only(input_ids, scores, allowed)
