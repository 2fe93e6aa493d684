# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans of one problem from a model in this process, which may write only what is admissible."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from safegen_ros.llm.backend import Cancelled, Clock, Message, Sampling, never
from safegen_ros.llm.decoding.beam import StepBeam
from safegen_ros.llm.decoding.beam_result import BeamResult
from safegen_ros.llm.decoding.plan_syntax import Spelling
from safegen_ros.llm.decoding.shield import TextShield
from safegen_ros.llm.decoding.shield_processor import ShieldProcessor
from safegen_ros.pddl.plan import Plan
from safegen_ros.verify.admissible import Shield

if TYPE_CHECKING:
    from safegen_ros.llm.transformers_backend import TransformersBackend


class TransformersGuide:
    """A `Guide` for one problem.

    It keeps what was computed for the prompt and for the situations of the problem, so that one
    kind of search after the other is cheap; let go of it with the problem.

    Args:
        backend: the model.
        messages: what asks for the plan.
        shield: the problem's shield.
        spelling: how the model writes its steps.

    Raises:
        BackendError: the prompt has words that the tokenizer does not know.
    """

    def __init__(
        self,
        backend: TransformersBackend,
        messages: Sequence[Message],
        shield: Shield,
        spelling: Spelling,
    ) -> None:
        self._backend = backend
        self._prompt = backend.prompt(messages)
        self._shield = shield
        self._spelling = spelling

    def shielded(self, sampling: Sampling, cancelled: Cancelled = never) -> Plan:
        """A plan of admissible steps only; see `Guide.shielded`."""
        processor = ShieldProcessor([self._text])
        ids = self._backend.write(self._prompt, sampling, cancelled, logits_processor=[processor])
        return self._text.read(ids)[0]

    def completed(self, kept: Plan, sampling: Sampling, cancelled: Cancelled = never) -> str:
        """An answer that begins with given steps; see `Guide.completed`."""
        begun = self._backend.tokens(self._spelling.plan(kept))
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
            self._shield, self._spelling, backend.trie, backend.ends, avoid_visited=True
        )

    @cached_property
    def _beam(self) -> StepBeam:
        backend = self._backend
        return StepBeam(
            backend.model,
            backend.tokenizer,
            self._prompt,
            self._shield,
            self._spelling,
            backend.ends,
            context=backend.context,
            tree=backend.tree,
        )
