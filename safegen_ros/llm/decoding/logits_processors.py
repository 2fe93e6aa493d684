# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Logits processors of `transformers`: what may not come next gets no probability.

Put them before warpers that cut tokens off (`generate` itself does so): the tokens that such a
warper leaves may be just the removed ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from safegen_ros.errors import BackendError
from safegen_ros.llm.backend import Refused
from safegen_ros.llm.decoding.guide import WordAutomaton
from safegen_ros.llm.decoding.shield import TextEnding, TextShield, Written
from safegen_ros.llm.decoding.token_trie import TokenTrie

if TYPE_CHECKING:
    import torch


class ShieldProcessor:
    """Follows every row of one call of `generate`, whose rows may have a problem each.

    Rows may be padded on the left, may be several for one problem (`num_return_sequences`, beams,
    which may change places among those of one problem) and may end at different times. A row whose
    plan can neither end nor go on is ended there; see `TextShield.read`.

    Args:
        shields: the problems' shields; the rows of one are next to each other.
    """

    def __init__(self, shields: Sequence[TextShield]) -> None:
        self._shields = shields
        self._width = -1  # of the prompts, in tokens
        self._rows: list[tuple[list[int], Written]] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores with those of all other tokens at minus infinity.

        Raises:
            BackendError: the rows are not as many for each problem, or the tokens of the model
                cannot spell any admissible step.
            SafegenError: a problem has too many ground actions to list.
        """
        rows, size = scores.shape
        if self._width < 0:
            self._begin(rows, input_ids.shape[1])
        texts = input_ids[:, self._width :].tolist()
        share = rows // len(self._shields)
        self._rows = [(ids, self._follow(row, ids, share)) for row, ids in enumerate(texts)]
        allowed: list[int] = []
        for row, (_, written) in enumerate(self._rows):
            first = row * size
            allowed.extend([first + token for token in self._allowed(row // share, written)])
        index = input_ids.new_tensor(allowed)
        return scores.new_full(scores.shape, float('-inf')).put_(index, scores.take(index))

    def _begin(self, rows: int, width: int) -> None:
        share, left = divmod(rows, len(self._shields))
        if left or not share:
            raise BackendError(
                f'{rows} rows cannot be shared by {len(self._shields)} problems: give every '
                'problem the same number of rows'
            )
        self._width = width
        self._rows = [([], shield.start) for shield in self._shields for _ in range(share)]

    def _follow(self, row: int, ids: list[int], share: int) -> Written:
        """The text of a row, from that of one token less, which a beam may have had elsewhere."""
        if not ids:
            return self._rows[row][1]
        shield, before = self._shields[row // share], ids[:-1]
        first = row - row % share
        for other in (row, *range(first, first + share)):
            known, written = self._rows[other]
            if known == before:
                return shield.after(written, ids[-1])
        written = shield.start
        for token in ids:
            written = shield.after(written, token)
        return written

    def _allowed(self, problem: int, written: Written) -> list[int]:
        shield = self._shields[problem]
        if written.ending is not TextEnding.CUT:
            return [*shield.ends]
        moves = shield.moves(written.place)
        if moves.may_end or moves.stuck:
            return [*moves.tokens, *shield.ends]
        return [*moves.tokens]


_COMMENTS = re.compile(r'^[ \t]*;.*\n?', re.MULTILINE)
_OPEN_COMMENT = re.compile(r'^[ \t]*;.*\Z', re.MULTILINE)


class NotAgain:
    """Keeps the rows of one call of `generate` from writing a refused plan.

    The same text with other lines of comment is the same text.

    Args:
        text: what written tokens say.
        ends: the tokens that end an answer.
    """

    def __init__(
        self,
        refused: Sequence[Refused],
        trie: TokenTrie,
        text: Callable[[Sequence[int]], str],
        ends: Sequence[int],
    ) -> None:
        self._refused = refused
        self._trie = trie
        self._text = text
        self._ends = ends
        self._width = -1  # of the prompts, in tokens
        self._known: dict[str, list[int]] = {}

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores with those of tokens that would complete a refused text at minus infinity."""
        if self._width < 0:
            self._width = input_ids.shape[1]
        for row, ids in enumerate(input_ids[:, self._width :].tolist()):
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
        index = input_ids.new_tensor(allowed)
        kept = scores.new_full(scores.shape, float('-inf'))
        kept[0, index] = scores[0, index]
        return kept
