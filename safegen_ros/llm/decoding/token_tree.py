# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How likely a model finds continuations of a prompt that share their beginnings.

The continuations are a tree of tokens. All of it lies in one row of the key-value cache. A mask
lets every token look only at the prompt and its own ancestors, so no token is computed twice and
none is copied. Models whose attention cannot be masked so are asked row by row instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

ROOT = 0
"""The node behind the prompt."""

_SAME = 1e-4  # two ways to compute a log-probability, in 32 bits
_SAME_HALF = 0.1  # and in 16


class TokenTree:
    """A tree of tokens behind a prompt; this one computes every path from its beginning."""

    def __init__(self, model: Any, prompt: Sequence[int]) -> None:
        import torch

        self._torch = torch
        self._model = model
        self._prompt = list(prompt)
        self._size = 1
        self._parent: dict[int, int] = {}
        self._token: dict[int, int] = {}
        self._length = {ROOT: len(self._prompt)}
        self._place = {ROOT: 0}  # the row of a node in the table
        self._table = self._first()

    def __len__(self) -> int:
        """The number that the next node will have; those that were forgotten count."""
        return self._size

    def length(self, node: int) -> int:
        """How many tokens lead to a node, those of the prompt included."""
        return self._length[node]

    def logprobs(self, nodes: Sequence[int], tokens: Sequence[int]) -> list[float]:
        """The logarithms of the probabilities of tokens, each behind its node."""
        rows = self._long([self._place[node] for node in nodes])
        found: list[float] = self._table[rows, self._long(tokens)].tolist()
        return found

    def table(self, nodes: Sequence[int]) -> torch.Tensor:
        """Those of all tokens, a row for each node."""
        return self._table[self._long([self._place[node] for node in nodes])]

    def grow(self, parents: Sequence[int], tokens: Sequence[int]) -> list[int]:
        """Adds a node for each token.

        Args:
            parents: the node before each token; one of this very call is named by the number that
                it will have, `len(tree)` for the first, and stands before its children.

        Returns:
            The numbers of the new nodes.
        """
        nodes = list(range(self._size, self._size + len(tokens)))
        for node, parent, token in zip(nodes, parents, tokens, strict=True):
            self._parent[node], self._token[node] = parent, token
            self._length[node] = self._length[parent] + 1
        rows = len(self._table)
        self._table = self._torch.cat([self._table, self._rows(nodes)])
        self._place.update((node, rows + number) for number, node in enumerate(nodes))
        self._size += len(nodes)
        return nodes

    def keep(self, nodes: Iterable[int]) -> None:
        """Forgets all that is not needed to grow behind these nodes or the root."""
        kept = list(dict.fromkeys((ROOT, *nodes)))
        self._table = self._table[self._long([self._place[node] for node in kept])]
        self._place = {node: row for row, node in enumerate(kept)}
        needed: set[int] = set()
        for node in kept:
            step = node
            while step != ROOT and step not in needed:
                needed.add(step)
                step = self._parent[step]
        self._parent = {node: self._parent[node] for node in sorted(needed)}
        self._token = {node: self._token[node] for node in self._parent}
        self._length = {node: self._length[node] for node in (ROOT, *self._parent)}
        self._drop(kept)

    def _long(self, numbers: Any) -> torch.Tensor:
        return self._torch.tensor(numbers, device=self._model.device, dtype=self._torch.long)

    def _first(self) -> torch.Tensor:
        """The table with the row of the root."""
        output = self._model(input_ids=self._long([self._prompt]))
        return self._normal(output.logits[0, -1:])

    def _rows(self, nodes: Sequence[int]) -> torch.Tensor:
        """The rows of new nodes."""
        texts = [self._prompt + self._path(node) for node in nodes]
        longest = max(map(len, texts))
        # The tokens to the right of a token do not change its computation.
        output = self._model(
            input_ids=self._long([text + text[-1:] * (longest - len(text)) for text in texts])
        )
        rows, last = list(range(len(texts))), [len(text) - 1 for text in texts]
        return self._normal(output.logits[self._long(rows), self._long(last)])

    def _path(self, node: int) -> list[int]:
        """The tokens from the root to a node."""
        found = []
        while node != ROOT:
            found.append(self._token[node])
            node = self._parent[node]
        return found[::-1]

    def _drop(self, kept: Sequence[int]) -> None:
        """Forgets the computations for all nodes but these and their ancestors."""

    def _normal(self, logits: torch.Tensor) -> torch.Tensor:
        return self._torch.log_softmax(logits.float(), dim=-1)


class CachedTokenTree(TokenTree):
    """The same, computing each token once."""

    def _first(self) -> torch.Tensor:
        from transformers import DynamicCache

        self._cache = DynamicCache()
        self._columns: dict[int, int] = {}  # of the nodes, behind those of the prompt
        # Which columns a node looks at, as many as there were when it came.
        self._looks = {ROOT: self._long([0] * 0).bool()}
        output = self._model(
            input_ids=self._long([self._prompt]),
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        return self._normal(output.logits[0, -1:])

    def _rows(self, nodes: Sequence[int]) -> torch.Tensor:
        start, known, torch = len(self._prompt), len(self._columns), self._torch
        device, dtype = self._model.device, self._model.dtype
        shape = len(nodes), known + len(nodes)
        looks = torch.zeros(shape, dtype=torch.bool, device=device)
        for row, node in enumerate(nodes):
            before = self._looks[self._parent[node]]
            looks[row, : len(before)] = before
            looks[row, known + row] = True
            self._looks[node], self._columns[node] = looks[row], known + row
        mask = torch.zeros((len(nodes), start + shape[1]), dtype=dtype, device=device)
        mask[:, start:].masked_fill_(~looks, torch.finfo(dtype).min)
        output = self._model(
            input_ids=self._long([[self._token[node] for node in nodes]]),
            position_ids=self._long([[self._length[node] - 1 for node in nodes]]),
            attention_mask=mask[None, None],
            past_key_values=self._cache,
            use_cache=True,
        )
        return self._normal(output.logits[0])

    def _drop(self, kept: Sequence[int]) -> None:
        start = len(self._prompt)
        columns = [self._columns[node] for node in self._parent]
        cached = self._long([*range(start), *(start + column for column in columns)])
        for layer in self._cache.layers:
            layer.keys = layer.keys.index_select(-2, cached)
            layer.values = layer.values.index_select(-2, cached)
        wide = self._looks[ROOT].new_zeros((len(kept), len(self._columns)))
        for row, node in enumerate(kept):
            looks = self._looks[node]
            wide[row, : len(looks)] = looks
        self._columns = {node: column for column, node in enumerate(self._parent)}
        self._looks = dict(zip(kept, wide[:, self._long(columns)], strict=True))


def tree_class(model: Any, longest: int) -> type[TokenTree]:
    """The class of trees that computes what the model itself would, the fast one if it does.

    It is tried on a few tokens, since a model may take no mask or may ignore it.

    Args:
        model: a causal language model of `transformers`.
        longest: the longest sequence that will be asked for, in tokens; a model that looks back
            less far than that cannot be masked.
    """
    import torch

    window = getattr(model.config, 'sliding_window', None)
    if window and window < longest:
        return TokenTree
    size = model.config.get_text_config().vocab_size
    prompt, parents = [token % size for token in (5, 11, 7)], [ROOT, ROOT, 1, 2, 3]
    tokens = [token % size for token in (13, 17, 19, 19, 23)]
    with torch.inference_mode():
        plain = TokenTree(model, prompt)
        plain.grow(parents, tokens)
        try:
            fast = CachedTokenTree(model, prompt)
            fast.grow(parents[:3], tokens[:3])
            fast.keep([3, 2])
            fast.grow(parents[3:], tokens[3:])
        except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError):
            return TokenTree  # the fast way is not for this model; the plain one raises as it does
        compared = (ROOT, 2, 3, 4, 5)
        apart = (fast.table(compared) - plain.table(compared)).abs().max()
    limit = _SAME if model.dtype == torch.float32 else _SAME_HALF
    return CachedTokenTree if bool(apart <= limit) else TokenTree
