# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Random Blocksworld tasks with binding safety constraints, each with an optimal safe plan.

Train and test are split by a hash of the canonical text, so no test task is a renaming of a
training task (SafeGen-LLM section IV-A removes isomorphic problems).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import count
from typing import Literal

import numpy as np
import numpy.typing as npt

from safegen_ros.llm.sketch import Sketch
from safegen_ros.llm.vocabulary import TaskText, task_text
from safegen_ros.verdict import Category
from safegen_ros.worlds.pddl3.domains.blocksworld import specs
from safegen_ros.worlds.pddl3.domains.blocksworld.attempts import (
    Action,
    Attempt,
    draw_attempt,
    judge,
)
from safegen_ros.worlds.pddl3.domains.blocksworld.solver import FAR, Solution
from safegen_ros.worlds.pddl3.domains.blocksworld.statespace import IntArray, state_space

Split = Literal['train', 'test']
Rng = np.random.Generator

SIZES = {3: 0.06, 4: 0.14, 5: 0.28, 6: 0.52}
"""Number of blocks and its share; the largest are the hardest to learn."""

TEST_PERCENT = 5
STARTS = 12
MOST_EQUAL = 12
DRAWS_PER_GOAL = 3
UNCONSTRAINED_SHARE = 0.3
LOOSE_SHARE = 0.2
HELD_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Sample:
    """A task with its plan.

    Attributes:
        sketch: the task over block numbers.
        text: its canonical words.
        family: the constraint family it was drawn from, `none` without constraints.
        strict: whether the unconstrained optimal plan breaks a constraint.
        plan: the optimal safe plan, over block numbers.
        unconstrained: the optimal plan when constraints are ignored.
        support: shape (T + 1, n); what each canonical block stands on before each step, with n
            for the table and n + 1 for the gripper.
        monitors: shape (T + 1, K); the automaton state of each constraint in sketch order.
        attempt: a failed attempt that the prompt shows, or None.
    """

    sketch: Sketch
    text: TaskText
    family: str
    strict: bool
    plan: tuple[Action, ...]
    unconstrained: tuple[Action, ...]
    support: IntArray
    monitors: IntArray
    attempt: Attempt | None = None


def in_test_split(text: TaskText) -> bool:
    """Whether a task's isomorphism class belongs to the test split."""
    digest = blake2b(' '.join(text.words).encode(), digest_size=8).digest()
    return int.from_bytes(digest, 'big') % 100 < TEST_PERCENT


def samples(
    seed: int | list[int],
    *,
    split: Split = 'train',
    size: int | None = None,
    family: str | None = None,
    starts: int = STARTS,
    repair_share: float = 0.0,
    patience: int = 0,
) -> Iterator[Sample]:
    """An endless stream of solved tasks; the same arguments give the same stream.

    Args:
        seed: seed, or entropy list, of the stream.
        split: which isomorphism classes to draw from.
        size: number of blocks; drawn from `SIZES` when not given.
        family: constraint family (`none` for no constraints); drawn when not given.
        starts: at most this many initial states share a goal and constraints.
        repair_share: share of samples whose prompt shows a failed attempt.
        patience: ends the stream after this many goals, 0 never.
    """
    rng = np.random.default_rng(seed)
    sizes, shares = list(SIZES), np.array(list(SIZES.values()))
    for _ in range(patience) if patience else count():
        blocks = size or int(rng.choice(sizes, p=shares))
        for sample in _family_of_starts(rng, blocks, family, starts, split):
            if rng.random() < repair_share:
                tempting = sample.unconstrained if sample.strict else None
                attempt = draw_attempt(rng, sample.sketch, sample.plan, tempting)
                yield replace(sample, attempt=attempt)
            else:
                yield sample


def _family_of_starts(
    rng: Rng, size: int, family: str | None, starts: int, split: Split
) -> list[Sample]:
    space = state_space(size)
    goal = specs.draw_goal(rng, space)
    free = Solution(space, goal, ())
    if family == 'none' or (not family and rng.random() < UNCONSTRAINED_SHARE):
        return _from(rng, free, free, 'none', max(2, starts // 2), split)
    found = []
    for _ in range(DRAWS_PER_GOAL):
        name, constraints = specs.draw_constraints(rng, size, family)
        found += _from(rng, Solution(space, goal, constraints), free, name, starts, split)
    return found


def _from(
    rng: Rng, safe: Solution, free: Solution, family: str, starts: int, split: Split
) -> list[Sample]:
    """Samples of the wanted split with one goal and one set of constraints."""
    chosen = _choose_starts(rng, safe, free, starts)
    texts = [
        task_text(Sketch(*safe.space.towers(int(s)), safe.conjuncts, safe.constraints))
        for s in chosen
    ]
    keep = [i for i, text in enumerate(texts) if in_test_split(text) == (split == 'test')]
    if not keep:
        return []
    loose = LOOSE_SHARE if safe.constraints else 1.0
    drafts = _drafts(safe, free, chosen[keep], [texts[i] for i in keep])
    drafts = [draft for draft in drafts if draft.strict or rng.random() < loose]
    return _solve(safe, drafts, family) if drafts else []


@dataclass(frozen=True, slots=True)
class _Draft:
    """A start with the plan that ignores the constraints."""

    start: int
    text: TaskText
    unconstrained: tuple[Action, ...]
    strict: bool


def _drafts(
    safe: Solution, free: Solution, starts: IntArray, texts: list[TaskText]
) -> list[_Draft]:
    states, _, slots = free.plans(starts, _ranks(texts))
    drafts = []
    for row, start in enumerate(starts.tolist()):
        actions = _actions(free, states[row], slots[row])
        strict = judge(safe, start, actions)[0] is not Category.SUCCESS
        drafts.append(_Draft(start, texts[row], actions, strict))
    return drafts


def _ranks(texts: list[TaskText]) -> IntArray:
    return np.array([text.rank for text in texts], dtype=np.int32)


def _choose_starts(rng: Rng, safe: Solution, free: Solution, wanted: int) -> IntArray:
    """Initial states with a safe plan, most of them where safety makes the plan longer."""
    distance, shortest = safe.start_distance(), free.start_distance()
    usable = (distance > 0) & (distance < FAR)
    longer = usable & (distance > shortest)
    held = safe.space.held >= 0
    if rng.random() < HELD_SHARE:
        usable, longer = usable & held, longer & held
        wanted = max(2, wanted // 3)
    else:
        usable, longer = usable & ~held, longer & ~held
    first = _pick(rng, longer, (wanted * 3 + 3) // 4)
    rest = _pick(rng, usable & ~longer, min(wanted - len(first), MOST_EQUAL))
    return np.concatenate([first, rest]).astype(np.int32)


def _pick(rng: Rng, mask: npt.NDArray[np.bool_], most: int) -> npt.NDArray[np.int64]:
    found = np.flatnonzero(mask)
    if len(found) <= most:
        return found
    return rng.choice(found, most, replace=False)


def _solve(safe: Solution, drafts: list[_Draft], family: str) -> list[Sample]:
    starts = np.array([draft.start for draft in drafts], dtype=np.int32)
    states, monitors, slots = safe.plans(starts, _ranks([draft.text for draft in drafts]))
    found = []
    for row, draft in enumerate(drafts):
        plan = _actions(safe, states[row], slots[row])
        visited = slice(0, len(plan) + 1)
        found.append(
            Sample(
                sketch=Sketch(*safe.space.towers(draft.start), safe.conjuncts, safe.constraints),
                text=draft.text,
                family=family,
                strict=draft.strict,
                plan=plan,
                unconstrained=draft.unconstrained,
                support=_renamed(safe.space.support[states[row, visited]], draft.text),
                monitors=safe.automaton.parts[monitors[row, visited]],
            )
        )
    return found


def _renamed(support: IntArray, text: TaskText) -> IntArray:
    size = support.shape[1]
    lookup = np.array([*text.rank, size, size + 1], dtype=np.int32)
    renamed: IntArray = lookup[support[:, list(text.order)]]
    return renamed


def _actions(solution: Solution, states: IntArray, slots: IntArray) -> tuple[Action, ...]:
    space = solution.space
    found: list[Action] = []
    for state, slot in zip(states.tolist(), slots.tolist(), strict=False):
        if slot < 0:
            break
        block = int(space.held[state])
        below = int(space.support[state, slot])
        if block < 0:
            on_table = below == space.size
            found.append(('pickup', slot) if on_table else ('unstack', slot, below))
        else:
            found.append(('putdown', block) if slot == block else ('stack', block, slot))
    return tuple(found)
