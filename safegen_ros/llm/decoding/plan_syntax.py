# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How the steps of a plan are written for a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from safegen_ros.pddl.plan import Plan, Step


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
