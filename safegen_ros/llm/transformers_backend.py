# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A model in this process that is held to a shield or to an automaton, token by token."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from safegen_ros.llm.backend import CallClock, Cancelled, Message, Sampling, never
from safegen_ros.llm.decoding.beam import StepBeam
from safegen_ros.llm.decoding.guide import BeamResult, PlanSyntax, WordAutomaton
from safegen_ros.llm.decoding.logits_processors import ShieldProcessor, WordMask
from safegen_ros.llm.decoding.shield import TextShield
from safegen_ros.llm.decoding.token_tree import ROOT
from safegen_ros.llm.local_model import LocalModel
from safegen_ros.pddl.plan import Plan
from safegen_ros.verify.admissible import Shield


class TransformersGuide:
    """A `Guide` for one problem and a model in this process.

    It caches computations for the prompt and the situations of the problem, so that several
    searches are cheap. Drop it with the problem.

    Raises:
        BackendError: the prompt has words that the tokenizer does not know.
    """

    def __init__(
        self,
        backend: LocalModel,
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
        processor = ShieldProcessor(self._text)
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
        clock = CallClock(str(self._backend.model_dir), Sampling(), cancelled)
        clock.check()
        with self._backend.turn(clock):
            left_s = time_limit_s - clock.seconds
            return self._beam.search(width, left_s, cancelled, backtrack=backtrack)

    @cached_property
    def _text(self) -> TextShield:
        backend = self._backend
        return TextShield(self._shield, self._syntax, backend.trie, backend.ends)

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
    """A model whose tokens are words, and that writes no others than it may."""

    def __init__(self, backend: LocalModel) -> None:
        self._backend = backend
        self._ids: dict[str, int | None] = {}

    def write(
        self,
        messages: Sequence[Message],
        text: WordAutomaton,
        sampling: Sampling,
        cancelled: Cancelled = never,
    ) -> str:
        """See `WordWriter.write`."""
        backend = self._backend
        prompt = backend.prompt(messages)
        mask = WordMask(text, self.id, sorted(backend.ends), len(prompt))
        ids = backend.write(prompt, sampling, cancelled, logits_processor=[mask])
        return backend.text([token for token in ids if token not in backend.ends])

    def scores(
        self,
        messages: Sequence[Message],
        written: Sequence[str],
        choices: Sequence[Sequence[str]],
        cancelled: Cancelled = never,
    ) -> tuple[list[float], float]:
        """See `WordWriter.scores`."""
        import torch

        backend = self._backend
        known = [self._row(words) for words in (written, *choices)]
        text = [*backend.prompt(messages), *(known[0] or ())]
        longest = max((len(row) for row in known[1:] if row), default=0)
        clock = CallClock(str(backend.model_dir), Sampling(), cancelled)
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


class TransformersBackend(LocalModel):
    """A `LocalModel` that can be held to what it may write."""

    def guide(
        self, messages: Sequence[Message], shield: Shield, syntax: PlanSyntax
    ) -> TransformersGuide:
        """What writes plans of one problem; see `TokenBackend.guide`."""
        return TransformersGuide(self, messages, shield, syntax)

    def writer(self) -> ConstrainedWriter:
        """What writes texts whose every word an automaton allows; see `TokenBackend.writer`."""
        return ConstrainedWriter(self)
