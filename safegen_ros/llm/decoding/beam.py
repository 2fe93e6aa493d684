# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Beam search over whole steps: a model says how likely, the shield says what at all.

The search covers the tree of admissible steps, so every step in it is safe and every path to the
goal is a solution; the model guides the search. With random weights instead of the model, the same
search shows the model's share of a result.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from safegen_ros.errors import Canceled, ErrorCode
from safegen_ros.llm.decoding.guide import BeamOutcome, BeamResult, PlanSyntax
from safegen_ros.llm.decoding.token_tree import ROOT, TokenTree, tree_class
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.verify.admissible import Shield, Situation

MOST_SCORED = 5_000
"""Steps that the model is asked about in a search that goes back, which would else take all the
time that a goal has left. A problem of the size that the shipped model was trained on takes below a
thousand."""

_AT_ONCE = 64  # candidates in one call of the model
_TOKENS_AT_ONCE = 1024  # tokens of plans that are taken up again, but for those of the last one


class _Hypothesis(NamedTuple):
    situation: Situation
    steps: tuple[Step, ...]
    score: float
    node: int


class _Candidate(NamedTuple):
    parent: _Hypothesis
    steps: tuple[Step, ...]  # behind those of the parent, most often one
    after: Situation
    tokens: tuple[int, ...]
    last: bool  # whether the plan ends with it


class StepBeam:
    """Searches plans for one prompt.

    A plan that it finds is a solution as far as the shield knows; it is for the caller to have it
    proved, as every other plan.

    Args:
        model: a causal language model of `transformers`, in evaluation mode.
        syntax: how the model writes the problem's steps.
        ends: the tokens with which the model ends an answer.
        context: longest sequence of the model, in tokens.
        max_steps: longest plan that is looked for.
        tree: how the model is asked; None chooses what suits it (see `tree_class`).
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        prompt: Sequence[int],
        shield: Shield,
        syntax: PlanSyntax,
        ends: Collection[int],
        *,
        context: int,
        max_steps: int = 200,
        tree: type[TokenTree] | None = None,
    ) -> None:
        import torch

        self._inference = torch.inference_mode
        self._model = model
        self._prompt = list(prompt)
        self._shield = shield
        self._tokens = StepTokens(tokenizer, syntax)
        self._ends = list(ends)
        self._context = context
        self._max_steps = max_steps
        self._tree_class = tree or tree_class(model, context)

    def search(
        self,
        width: int,
        time_limit_s: float = float('inf'),
        cancelled: Callable[[], bool] = lambda: False,
        *,
        backtrack: bool = False,
    ) -> BeamResult:
        """Searches level by level, keeping the most likely plans to new situations.

        The score of a plan is the sum of the log-probabilities of its tokens; plans of one level
        have the same number of steps, so that no length is favoured. The first level with a
        solution ends the search with its most likely one, the end token's probability included.

        Args:
            width: how many plans are followed at a time.
            time_limit_s: when it gives up [s].
            cancelled: asked before every call of the model.
            backtrack: whether, where no plan can go on, those are taken up that were left, the
                most likely by step first. That finds every plan in the end; it ends after
                `MOST_SCORED`.

        Raises:
            Canceled: `cancelled` said so.
            SafegenError: the problem has too many ground actions to list.
        """
        run = _Run(width, time_limit_s, cancelled, self._shield.start)
        with self._inference():
            outcome, best = self._search(run, backtrack)
        plan = None if best is None else Plan(best.steps)
        score = 0.0 if best is None else best.score
        seconds = time.monotonic() - run.start
        return BeamResult(width, backtrack, outcome, plan, score, run.scored, seconds)

    def _search(self, run: _Run, backtrack: bool) -> tuple[BeamOutcome, _Hypothesis | None]:
        if run.late():
            return BeamOutcome.TIME, None
        self._grown.keep([])  # what an earlier search has left
        beam = [self._root]
        if self._shield.finished(self._root.situation):
            return BeamOutcome.FOUND, self._root._replace(score=self._end(ROOT))
        while beam:
            solutions, others = self._candidates(run, beam)
            found = self._score(run, solutions or others, 1 if solutions else run.width)
            if found is None:
                return BeamOutcome.TIME, None
            if solutions:
                return BeamOutcome.FOUND, found[0]
            if not found and backtrack and run.scored >= MOST_SCORED:
                return BeamOutcome.EFFORT, None
            beam = found or (self._taken_up(run) if backtrack else [])
            run.seen.update(hypothesis.situation for hypothesis in beam)
            self._grown.keep(hypothesis.node for hypothesis in beam)
        return run.limit, None

    @cached_property
    def _root(self) -> _Hypothesis:
        return _Hypothesis(self._shield.start, (), 0.0, ROOT)

    def _candidates(
        self, run: _Run, beam: list[_Hypothesis]
    ) -> tuple[list[_Candidate], list[_Candidate]]:
        """The next steps that solve the problem, and the others."""
        found: tuple[list[_Candidate], list[_Candidate]] = [], []
        for parent in beam:
            if len(parent.steps) >= self._max_steps:
                run.limit = BeamOutcome.STEPS
                continue
            room = self._context - 1 - self._grown.length(parent.node)
            for step, after in self._shield.steps(parent.situation).items():
                if after in run.seen:
                    continue
                last = self._shield.finished(after)
                tokens = self._tokens.tokens(step, not parent.steps, last)
                if len(tokens) > room:
                    run.limit = BeamOutcome.CONTEXT
                elif tokens:
                    found[not last].append(_Candidate(parent, (step,), after, tokens, last))
        return found

    def _score(
        self, run: _Run, candidates: list[_Candidate], width: int
    ) -> list[_Hypothesis] | None:
        """The best of the candidates, one for each situation; None when the time is up.

        The probability of a step is at most that of its first token, which is known already. Steps
        are taken in this order, and those that cannot be among the best are not asked about.
        """
        if run.late():
            return None
        first = [c.tokens[0] for c in candidates]
        known = self._grown.logprobs([c.parent.node for c in candidates], first)
        bounds = [c.parent.score + value for c, value in zip(candidates, known, strict=True)]
        order = sorted(range(len(candidates)), key=lambda number: -bounds[number])
        best: dict[Situation, _Hypothesis] = {}
        nodes: dict[tuple[int, int], int] = {}
        begin = 0
        while begin < len(order):
            ahead = heapq.nlargest(width, (hypothesis.score for hypothesis in best.values()))
            if len(ahead) == width and ahead[-1] >= bounds[order[begin]]:
                break
            if run.late():
                return None
            asked = [candidates[number] for number in order[begin : begin + _AT_ONCE]]
            run.scored += len(asked)
            begin += len(asked)
            for hypothesis in self._ask(asked, nodes):
                other = best.get(hypothesis.situation)
                if other is None or other.score < hypothesis.score:
                    best[hypothesis.situation] = hypothesis
        ranked = sorted(best.values(), key=lambda hypothesis: -hypothesis.score)
        for number in order[begin:]:
            c = candidates[number]
            run.leave(c.after, (*c.parent.steps, *c.steps), bounds[number])
        for hypothesis in ranked[width:]:
            run.leave(hypothesis.situation, hypothesis.steps, hypothesis.score)
        return ranked[:width]

    def _taken_up(self, run: _Run) -> list[_Hypothesis]:
        """The most likely of the plans that were left, as many as the beam is wide."""
        self._grown.keep([])
        found: dict[Situation, _Candidate] = {}
        size = 0
        while run.left and len(found) < run.width and size < _TOKENS_AT_ONCE:
            _, _, situation, steps = heapq.heappop(run.left)
            if situation not in run.seen and situation not in found:
                parts = [self._tokens.tokens(step, not i, False) for i, step in enumerate(steps)]
                tokens = tuple(token for part in parts for token in part)
                found[situation] = _Candidate(self._root, steps, situation, tokens, False)
                size += len(tokens)
        return self._ask(list(found.values()), {})

    def _ask(
        self, candidates: list[_Candidate], nodes: dict[tuple[int, int], int]
    ) -> list[_Hypothesis]:
        """The candidates with their scores, from one call of the model.

        Args:
            nodes: the nodes that grew at this level, by parent and token; new ones are added.
        """
        tree = self._grown
        parents: list[int] = []
        tokens: list[int] = []
        paths = []
        for candidate in candidates:
            path = [candidate.parent.node]
            for token in candidate.tokens:
                node = nodes.get((path[-1], token))
                if node is None:
                    node = nodes[path[-1], token] = len(tree) + len(parents)
                    parents.append(path[-1])
                    tokens.append(token)
                path.append(node)
            paths.append(path)
        if parents:
            tree.grow(parents, tokens)
        before = [node for path in paths for node in path[:-1]]
        values = iter(tree.logprobs(before, [t for c in candidates for t in c.tokens]))
        found = []
        for candidate, path in zip(candidates, paths, strict=True):
            score = candidate.parent.score + sum(next(values) for _ in candidate.tokens)
            score += self._end(path[-1]) if candidate.last else 0.0
            steps = candidate.parent.steps + candidate.steps
            found.append(_Hypothesis(candidate.after, steps, score, path[-1]))
        return found

    def _end(self, node: int) -> float:
        """The log-probability that the answer ends behind a node."""
        return max(self._grown.logprobs([node] * len(self._ends), self._ends))

    @cached_property
    def _grown(self) -> TokenTree:
        """The tree of this prompt; searches share the computations for the prompt."""
        return self._tree_class(self._model, self._prompt)


class _Run:
    """One search: its limits, its cost and its memory."""

    def __init__(
        self, width: int, time_limit_s: float, cancelled: Callable[[], bool], start: Situation
    ) -> None:
        self.width = width
        self.start = time.monotonic()
        self.scored = 0
        self.seen = {start}  # situations that plans were followed to
        self.left: list[tuple[float, int, Situation, tuple[Step, ...]]] = []  # a heap
        self.limit = BeamOutcome.EXHAUSTED  # or what has kept plans from going on
        self._deadline = self.start + time_limit_s
        self._cancelled = cancelled

    def leave(self, situation: Situation, steps: tuple[Step, ...], score: float) -> None:
        """Remembers a plan that is not followed for now."""
        heapq.heappush(self.left, (-score / len(steps), len(self.left), situation, steps))

    def late(self) -> bool:
        """Whether the time is up; raises when the search was cancelled."""
        if self._cancelled():
            raise Canceled('the search for a plan was cancelled', ErrorCode.PLANNING_CANCELED)
        return time.monotonic() >= self._deadline


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
