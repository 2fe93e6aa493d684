# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The shield as a logits processor of `transformers`: what is not admissible gets no probability.

Stand it behind no warper that cuts tokens off (`generate` itself puts it before them): what they
leave may be just what the shield takes away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from safegen_ros.errors import BackendError
from safegen_ros.llm.decoding.shield import Ending, TextShield, Written

if TYPE_CHECKING:
    import torch


class ShieldProcessor:
    """Follows every row of one call of `generate`, whose rows may have a problem each.

    Rows may be padded on the left, may be several for one problem (`num_return_sequences`, beams,
    which may change places among those of one problem) and may end at different times. A row whose
    plan can neither end nor go on is ended there; `TextShield.read` tells that from a solution.

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
        if written.ending is not Ending.CUT:
            return [*shield.ends]
        moves = shield.moves(written.place)
        if moves.may_end or moves.stuck:
            return [*moves.tokens, *shield.ends]
        return [*moves.tokens]
