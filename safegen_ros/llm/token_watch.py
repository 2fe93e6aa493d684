# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Watches a model while it generates token by token: the clock, stop strings, the text so far."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from safegen_ros.errors import SafegenError
from safegen_ros.llm.backend import CallClock, StopCut

if TYPE_CHECKING:
    import torch


class TokenReader:
    """Reads the tokens of one answer as text, piece by piece."""

    def __init__(
        self, decode: Callable[[Sequence[int]], str], ends: Collection[int], stop: Sequence[str]
    ) -> None:
        self.tokens = 0
        self._decode = decode
        self._ends = ends
        self._cut = StopCut(stop)
        self._last: list[int] = []
        self._new: list[int] = []
        self._ended = False

    @property
    def stopped(self) -> bool:
        """Whether a stop string came."""
        return self._cut.stopped

    @property
    def text(self) -> str:
        """The text so far, without a beginning of a stop string."""
        return self._cut.text

    def feed(self, token: int) -> str:
        """Takes a token; returns the text that is certain by now."""
        self._ended = self._ended or token in self._ends
        if self._ended or self.stopped:
            return ''
        self.tokens += 1
        self._new.append(token)
        piece = self._piece()
        # A character of several bytes may still be on its way.
        if not piece or piece.endswith('\ufffd'):
            return ''
        self._last, self._new = self._new, []
        return self._cut.feed(piece)

    def finish(self) -> str:
        """Returns the held-back text, at the end of the answer."""
        piece, self._new = self._piece(), []
        return self._cut.feed(piece) + self._cut.finish()

    def _piece(self) -> str:
        # What a token reads as depends on the one before it: most tokenizers join with blanks.
        return self._decode([*self._last, *self._new])[len(self._decode(self._last)) :]


class TokenWatch:
    """Asked by `generate` after every token; remembers why it stopped.

    Attributes:
        first_s: from the call to the first token [s].
    """

    def __init__(
        self,
        clock: CallClock,
        readers: Sequence[TokenReader],
        on_text: Callable[[str], None] | None,
    ) -> None:
        self.readers = readers
        self.first_s = 0.0
        self._clock = clock
        self._on_text = on_text
        self._error: SafegenError | None = None

    def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        """Which rows end here; the last column of `input_ids` has their newest tokens."""
        for place, token in enumerate(input_ids[:, -1].tolist()):
            self.feed(place, token)
        try:
            self._clock.check()
        except SafegenError as error:
            self._error = error
        stopped = [self._error is not None or reader.stopped for reader in self.readers]
        if stopped:
            return input_ids.new_tensor(stopped).bool()
        return input_ids.new_full((len(input_ids),), int(self._error is not None)).bool()

    def feed(self, place: int, token: int) -> None:
        """Takes the next token of one answer."""
        self.first_s = self.first_s or self._clock.seconds
        if self.readers:
            self._tell(place, self.readers[place].feed(token))

    def stopped(self, place: int) -> bool:
        """Whether a stop string ended an answer."""
        return bool(self.readers) and self.readers[place].stopped

    def finish(self, place: int) -> str:
        """The whole text of an answer; reports the rest of it."""
        self._tell(place, self.readers[place].finish())
        return self.readers[place].text

    def check(self) -> None:
        """Raises what ended the call."""
        if self._error is not None:
            raise self._error

    def _tell(self, place: int, piece: str) -> None:
        if self._on_text is not None and place == 0 and piece:
            self._on_text(piece)
