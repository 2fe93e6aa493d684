# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the tokens of a tokenizer say, so that texts can be spelled with any of them.

A tokenizer is asked for nothing but decoding: what a token adds behind another one is its piece of
the text. That holds for words with blanks implied between them, for bytes, and for tokens that
hold a blank, half a word or several words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from safegen_ros.errors import BackendError

_PLAN_TEXT = re.compile(r'[\w\-() \t\n]+', re.ASCII)
"""What a piece of a plan can look like; names in PDDL are ASCII. Other tokens are left out."""

_NAME_GOES_ON = re.compile(r'[\w-]{2}', re.ASCII)

_LETTERS = re.compile(r'[A-Za-z0-9]+', re.ASCII)

_MOST_TEXTS = 1 << 14


class Spot(NamedTuple):
    """What begins with, or is, a given text.

    Attributes:
        ids: the tokens that stand for just this text.
        deeper: whether there are tokens whose text goes on.
    """

    ids: tuple[int, ...]
    deeper: bool


class TokenTrie:
    """The pieces of all tokens, found by their beginnings."""

    def __init__(self, pieces: Mapping[int, str]) -> None:
        ids: dict[str, list[int]] = {}
        inner: set[str] = set()
        for token, piece in pieces.items():
            if piece:
                ids.setdefault(piece, []).append(token)
                inner.update(piece[:end] for end in range(1, len(piece)))
        self._spots = {
            text: Spot(tuple(ids.get(text, ())), text in inner) for text in {*ids, *inner}
        }
        self._open: dict[str, tuple[bool, ...]] = {}
        self._pieces = ids

    def ending(self, text: str) -> list[int]:
        """The tokens that begin with a text, and end a name where it does."""
        if text not in self._spots:
            return []
        return [
            token
            for piece, tokens in self._pieces.items()
            if piece.startswith(text) and not _NAME_GOES_ON.match(piece, len(text) - 1)
            for token in tokens
        ]

    def spot(self, text: str) -> Spot | None:
        """The node of a text that is not empty; None when no token begins like that."""
        return self._spots.get(text)

    def spelled_from(self, text: str) -> tuple[bool, ...]:
        """From which of its places, its end included, the rest of a text can be spelled."""
        found = self._open.get(text)
        if found is None:
            if len(self._open) >= _MOST_TEXTS:
                self._open.clear()
            found = self._open[text] = self._spell(text)
        return found

    def _spell(self, text: str) -> tuple[bool, ...]:
        found = [False] * len(text) + [True]
        for start in reversed(range(len(text))):
            for end in range(start + 1, len(text) + 1):
                spot = self._spots.get(text[start:end])
                if spot is None:
                    break
                if spot.ids and found[end]:
                    found[start] = True
                    break
        return tuple(found)


def token_trie(tokenizer: Any) -> TokenTrie:
    """The trie of a tokenizer of `transformers`; it takes a second for 150,000 tokens.

    Raises:
        BackendError: the tokenizer has no token for a plain word or letter.
    """
    ids = sorted({*tokenizer.get_vocab().values()} - {*tokenizer.all_special_ids})
    alone = _decoded(tokenizer, [[token] for token in ids])
    before = next((t for t, text in zip(ids, alone, strict=True) if _LETTERS.fullmatch(text)), None)
    if before is None:
        raise BackendError(
            'the tokenizer has no token of letters or digits alone, so what its tokens stand for '
            'cannot be found out: use a model with another tokenizer'
        )
    [first] = _decoded(tokenizer, [[before]])
    pairs = _decoded(tokenizer, [[before, token] for token in ids])
    pieces = {
        token: text[len(first) :]
        for token, text in zip(ids, pairs, strict=True)
        if text.startswith(first)
    }
    return TokenTrie({t: piece for t, piece in pieces.items() if _PLAN_TEXT.fullmatch(piece)})


def _decoded(tokenizer: Any, rows: Sequence[Sequence[int]]) -> list[str]:
    found: list[str] = tokenizer.batch_decode(
        rows, skip_special_tokens=True, clean_up_tokenization_spaces=False
    )
    return found
