# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Holds a small model whose tokens are whole words to the words that may be said.

It is also asked how likely it finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from safegen_ros.llm.backend import Cancelled, Clock, Followed, Message, Sampling, never
from safegen_ros.llm.decoding.token_tree import ROOT

if TYPE_CHECKING:
    import torch

    from safegen_ros.llm.transformers_backend import TransformersBackend


class HeldModel:
    """See `HeldWriter`.

    Args:
        backend: the model; its tokens must be words.
    """

    def __init__(self, backend: TransformersBackend) -> None:
        self._backend = backend
        self._ids: dict[str, int | None] = {}

    def write(
        self,
        messages: Sequence[Message],
        text: Followed,
        sampling: Sampling,
        cancelled: Cancelled = never,
    ) -> str:
        """See `HeldWriter.write`."""
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
        """See `HeldWriter.scores`."""
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
        text: Followed,
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
