# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The generator and its solver, checked against the verifier and against plain search."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from safegen_ros.llm.sketch import Sketch
from safegen_ros.pddl.model import Problem
from safegen_ros.search.outcome import Unsolvable
from safegen_ros.search.solve import solve
from safegen_ros.verdict import Category
from safegen_ros.verify.validator import Validator
from safegen_ros.worlds.pddl3.domains.blocksworld import specs
from safegen_ros.worlds.pddl3.domains.blocksworld.generator import (
    Sample,
    in_test_split,
    samples,
)
from safegen_ros.worlds.pddl3.domains.blocksworld.render import (
    block_names,
    plan_pddl,
    problem_pddl,
)
from safegen_ros.worlds.pddl3.domains.blocksworld.solver import FAR, Solution
from safegen_ros.worlds.pddl3.domains.blocksworld.statespace import state_space
from safegen_ros.worlds.pddl3.task import load_task


def read(sample: Sample) -> Problem:
    return load_task(problem_pddl(sample.sketch)).problem


def test_the_verifier_agrees_with_every_plan_and_every_attempt() -> None:
    judged = dict.fromkeys(Category, 0)
    for sample in islice(samples(11, repair_share=0.8), 300):
        validator = Validator(read(sample))
        names = block_names(sample.sketch.size)
        verdict = validator.verify(plan_pddl(sample.plan, names))
        assert verdict.category is Category.SUCCESS, verdict
        free = validator.verify(plan_pddl(sample.unconstrained, names))
        assert (free.category is not Category.SUCCESS) == sample.strict
        judged[Category.SUCCESS] += 1
        if sample.attempt:
            verdict = validator.verify(plan_pddl(sample.attempt.actions, names))
            assert verdict.category is sample.attempt.category
            if verdict.category is not Category.FORMAT_ERROR:
                assert verdict.failing_step == sample.attempt.failing_step
            judged[verdict.category] += 1
    del judged[Category.UNKNOWN]
    assert all(count >= 8 for count in judged.values()), judged


@pytest.mark.parametrize(('number', 'family'), list(enumerate(specs.FAMILIES)))
@pytest.mark.parametrize('size', [3, 4])
def test_distances_agree_with_the_search_planner(number: int, family: str, size: int) -> None:
    rng = np.random.default_rng([number, size])
    space = state_space(size)
    goal = specs.draw_goal(rng, space)
    _, constraints = specs.draw_constraints(rng, size, family)
    distance = Solution(space, goal, constraints).start_distance()
    for state in rng.permutation(len(space.support))[:5].tolist():
        sketch = Sketch(*space.towers(state), goal, constraints)
        problem = load_task(problem_pddl(sketch)).problem
        try:
            expected = len(solve(problem, optimal=True).plan)
        except Unsolvable:
            expected = int(FAR)
        assert expected == distance[state], problem_pddl(sketch)


def test_the_stream_depends_on_the_seed_only() -> None:
    one = [s.text.words for s in islice(samples([3, 4], repair_share=0.2), 60)]
    two = [s.text.words for s in islice(samples([3, 4], repair_share=0.2), 60)]
    other = [s.text.words for s in islice(samples([3, 5], repair_share=0.2), 60)]
    assert one == two
    assert one != other


def test_train_and_test_share_no_class() -> None:
    train = {s.text.words for s in islice(samples(1), 600)}
    test = {s.text.words for s in islice(samples(2, split='test'), 40)}
    assert not train & test
    assert not any(in_test_split(s.text) for s in islice(samples(8), 200))


def test_most_tasks_are_strict_and_all_kinds_appear() -> None:
    drawn = list(islice(samples(21), 900))
    bound = [s for s in drawn if s.sketch.constraints]
    assert np.mean([s.strict for s in bound]) > 0.6
    assert {s.sketch.size for s in drawn} == {3, 4, 5, 6}
    operators = {c[0] for s in drawn for c in s.sketch.constraints}
    assert operators == {'always', 'sometime', 'sometime-before', 'at-most-once'}
    assert any(s.sketch.held is not None for s in drawn)
    assert any(s.family == 'none' for s in drawn)


def test_number_of_states() -> None:
    assert [len(state_space(n).support) for n in (1, 2, 3, 6)] == [2, 5, 22, 7057]
