# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans for BoxNet2D: accepted, as short as an exhaustive search says, and proofs that none is."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from itertools import islice, product

import pytest

from safegen_ros.datasets.boxnet.draw import GRID, MOVED_POINTS, RANDOM_ROBOTS, UNSOLVABLE, tasks
from safegen_ros.errors import ErrorCode
from safegen_ros.tasks.boxnet.astar import NoPlan, certificate, connected, plan_as_paper, proves
from safegen_ros.tasks.boxnet.geometry import UNIT, Point
from safegen_ros.tasks.boxnet.model import Move, State, Step, Task, sites
from safegen_ros.tasks.boxnet.optimal import parallelism, solve
from safegen_ros.tasks.boxnet.verifier import judge, take_step


def drawn(size: tuple[int, int], objects: int, count: int, variant: str = GRID) -> list[Task]:
    return list(islice(tasks(size, objects, 'test', variant=variant), count))


def breadth_first(task: Task, points: list[Point]) -> int:
    """Fewest steps where arms and objects go to given points only."""
    depth = {task.start: 0}
    front = deque([task.start])
    reach = [[p for p in points if task.reaches(r, p)] for r in range(len(task.bases))]
    while front:
        state = front.popleft()
        if task.solved(state):
            return depth[state]
        for step in all_steps(state, reach):
            after = take_step(task, state, step)
            if isinstance(after, State) and after not in depth:
                depth[after] = depth[state] + 1
                front.append(after)
    raise AssertionError('no plan')


def all_steps(state: State, reach: list[list[Point]]) -> list[Step]:
    options = [
        [None]
        + [
            Move(robot, tip, end, carry)
            for end in reach[robot]
            for carry in ([False, True] if tip in state.objects else [False])
            if end != tip
        ]
        for robot, tip in enumerate(state.tips)
    ]
    return [tuple(m for m in moves if m is not None) for moves in product(*options)]


@pytest.mark.parametrize('objects', [1, 2])
def test_with_one_robot_plans_are_as_short_as_they_can_be(objects: int) -> None:
    for task in drawn((2, 2), objects, 6):
        found = solve(task)
        assert len(found.plan) == breadth_first(task, list(sites(2, 2)))


def test_two_objects_that_change_places_cost_a_step_aside() -> None:
    here, there = (UNIT // 4, UNIT // 4), (UNIT // 4, 3 * UNIT // 4)
    task = replace(drawn((2, 2), 2, 1)[0], targets=(there, here))
    task = replace(task, start=State(task.start.tips, (here, there)))
    found = solve(task)
    assert len(found.plan) == breadth_first(task, list(sites(2, 2))) == 6
    assert (found.lower_bound, found.certified) == (4, False)


@pytest.mark.nightly
def test_the_lower_bound_is_below_an_exhaustive_search_with_two_robots() -> None:
    centres = [(x * UNIT + UNIT // 2, y * UNIT + UNIT // 2) for x in range(3) for y in range(2)]
    bases = ((UNIT, UNIT), (2 * UNIT, UNIT))
    for one, other in [(0, 5), (1, 4), (5, 0), (2, 3)]:
        start = State((centres[2], centres[4]), (centres[one], centres[other]))
        task = Task('centres', 3, 2, bases, start, (centres[other], centres[one]))
        found = solve(task)
        assert found.lower_bound <= len(found.plan) <= breadth_first(task, centres)


@pytest.mark.nightly
def test_plans_of_both_planners_are_accepted_and_repeatable() -> None:
    compared = 0
    for size, objects in [((3, 3), 2), ((4, 4), 2), ((6, 6), 3), ((5, 2), 2)]:
        for task in drawn(size, objects, 2):
            best = solve(task)
            assert judge(task, best.plan).verdict.ok
            assert best == solve(task)
            plan = plan_as_paper(task)
            assert plan == plan_as_paper(task)
            if plan is not None:
                compared += 1
                assert judge(task, plan).verdict.ok
                assert best.lower_bound <= len(best.plan) <= len(plan) or not best.certified
                assert 1 <= parallelism(plan) <= 4
    assert compared >= 6


def test_an_unsolvable_task_has_a_proof_that_can_be_checked() -> None:
    for task in drawn((3, 4), 3, 20, UNSOLVABLE):
        found = certificate(task)
        assert found is not None
        assert proves(found, task)
        for robot in found.carriers:
            assert not proves(replace(found, carriers=found.carriers - {robot}), task)
        with pytest.raises(NoPlan, match='no plan solves it') as raised:
            solve(task)
        assert raised.value.code is ErrorCode.UNSOLVABLE
        assert plan_as_paper(task, most=50) is None


@pytest.mark.slow
def test_variants_are_what_they_are_called() -> None:
    for task in drawn((4, 4), 3, 10, RANDOM_ROBOTS):
        assert len(task.bases) == 9
        assert connected(task.bases)
        assert certificate(task) is None
    assert {task.bases for task in drawn((4, 4), 3, 10, RANDOM_ROBOTS)} != {
        drawn((4, 4), 3, 1)[0].bases
    }
    pairs = zip(drawn((3, 3), 3, 4), drawn((3, 3), 3, 4, MOVED_POINTS), strict=True)
    for plain, moved in pairs:
        assert plain.id == moved.id
        points = zip(
            (*plain.start.objects, *plain.targets), (*moved.start.objects, *moved.targets),
            strict=True,
        )  # fmt: skip
        offsets = [b[axis] - a[axis] for a, b in points for axis in (0, 1)]
        assert all(abs(offset) <= UNIT // 5 for offset in offsets)
        assert any(offsets)
        assert judge(moved, solve(moved).plan).verdict.ok


def test_no_task_is_for_training_and_for_tests() -> None:
    def keys(held_out: bool) -> set[str]:
        found = tasks((2, 2), 1, 'test', held_out=held_out)
        return {replace(task, id='').to_json() for task in found}

    train, test = keys(False), keys(True)
    assert train
    assert test
    assert not train & test
    assert len(train | test) <= 16 * 15
