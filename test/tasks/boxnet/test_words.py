# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Words of the small model: nothing is lost in writing and reading them, and no fault is fixed."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import replace
from itertools import islice, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import examples

from safegen_ros.datasets.boxnet.draw import GRID, MOVED_POINTS, RANDOM_ROBOTS, UNSOLVABLE, tasks
from safegen_ros.errors import BackendError, ErrorCode, SafegenError
from safegen_ros.tasks.boxnet.answers import REFUSAL
from safegen_ros.tasks.boxnet.astar import NoPlan, certificate, connected, plan_as_paper, proves
from safegen_ros.tasks.boxnet.findings import Finding
from safegen_ros.tasks.boxnet.geometry import UNIT, Point
from safegen_ros.tasks.boxnet.model import Move, State, Step, Task, sites
from safegen_ros.tasks.boxnet.optimal import parallelism, solve
from safegen_ros.tasks.boxnet.prompts import (
    EXAMPLE,
    EXAMPLE_PLAN,
    ChatStyle,
    MapStyle,
    answer_text,
    style_of,
)
from safegen_ros.tasks.boxnet.reward import reward
from safegen_ros.tasks.boxnet.verifier import judge, take_step, verify, verify_step
from safegen_ros.tasks.boxnet.words import (
    NEXT_STEP,
    WHOLE,
    answer_in_json,
    answer_words,
    map_words,
    move_words,
    wait_words,
)

PLAN = solve(EXAMPLE).plan
SAID = answer_words(EXAMPLE, EXAMPLE.start, PLAN)
ANYTHING = [*SAID, 'object0', 'unsolvable', '1e9', '-', '{"', '</think>']
SOME = [
    task
    for variant in (RANDOM_ROBOTS, MOVED_POINTS)
    for task in islice(tasks((3, 2), 2, 'words', variant=variant), 3)
]


@pytest.mark.parametrize('task', [EXAMPLE, *SOME], ids=lambda task: task.id)
def test_a_plan_comes_back_from_its_words_as_it_was(task: Task) -> None:
    plan = solve(task).plan
    found = verify(
        task, answer_in_json(' '.join(answer_words(task, task.start, plan)), task, WHOLE)
    )
    assert (found.verdict.ok, found.formatted) == (True, True)
    assert [sorted(step, key=lambda m: m.robot) for step in found.plan] == [*map(list, plan)]
    for at, state in enumerate(judge(task, plan).states[:-1]):
        said = ' '.join(answer_words(task, state, plan[at : at + 1]))
        assert verify_step(task, state, answer_in_json(said, task, NEXT_STEP)).verdict.ok


def test_a_map_is_told_whole() -> None:
    assert ' '.join(map_words(EXAMPLE, EXAMPLE.start, WHOLE)) == (
        'full object0 0.25 0.25 2.75 1.75 object1 2.75 0.25 1.25 0.25 '
        'base1,1 1.25 1.25 base2,1 2.25 1.25'
    )


@pytest.mark.parametrize(
    ('words', 'finding'),
    [
        (['unsolvable'], Finding.REFUSED),
        (SAID[:-1], Finding.UNPARSEABLE),
        ([*SAID, 'then'], Finding.UNPARSEABLE),
        (['base7,7' if word == 'base1,1' else word for word in SAID], Finding.UNKNOWN_ROBOT),
        (['go' if word == 'take' else word for word in SAID], Finding.INCOMPLETE),
        (['0.5' if word == '1.25' else word for word in SAID], Finding.NOT_AT_START),
        (SAID[:7] * 2, Finding.REPEATED_ROBOT),
        (['object0', 'wait', *SAID], Finding.UNPARSEABLE),
        (['object0', f'object{"1" * 5000}', 'wait', *SAID], Finding.UNPARSEABLE),
        ([*SAID[:6], 'wait'], Finding.UNPARSEABLE),
        ([], Finding.UNPARSEABLE),
    ],
)
def test_what_the_model_says_wrong_stays_wrong(words: list[str], finding: Finding) -> None:
    assert verify(EXAMPLE, answer_in_json(' '.join(words), EXAMPLE, WHOLE)).finding is finding


def test_each_move_tells_which_object_it_is_for_and_the_world_does_not_see_it() -> None:
    assert SAID[:7] == ['object0', 'base1,1', '1.25', '1.25', '0.25', '0.25', 'go']
    text = answer_in_json(' '.join(SAID[:7]), EXAMPLE, NEXT_STEP)
    assert '<think> Robot 0 moves for Object 0. </think>' in text
    for said in (SAID[1:7], [*SAID[:13], 'wait']):
        other = answer_in_json(' '.join(said), EXAMPLE, NEXT_STEP)
        assert other.partition('</think>')[2] == text.partition('</think>')[2]
    assert 'Robot 1 waits for Object 1.' in other


def test_an_object_whose_target_is_taken_names_those_that_have_to_leave() -> None:
    (one, other), tips = EXAMPLE.start.objects, EXAMPLE.start.tips
    behind = replace(EXAMPLE, targets=(other, EXAMPLE.targets[1]))
    said = wait_words(behind, behind.start)
    assert said == {one: ['object0', 'object1', 'wait']}
    ring = replace(EXAMPLE, targets=(other, one))
    assert wait_words(ring, ring.start)[other] == ['object1', 'object0', 'object1', 'wait']
    assert not wait_words(ring, State(tips, (other, one)))
    move = Move(1, tips[1], other, False)
    words = [*said[one], *move_words(behind, behind.start, move)]
    text = answer_in_json(' '.join(words), behind, NEXT_STEP)
    assert '<think> Object 0 waits for Object 1. Robot 1 moves for Object 1. </think>' in text
    assert verify_step(behind, behind.start, text).plan == ((move,),)


def test_several_steps_are_no_next_step() -> None:
    text = answer_in_json(' '.join(SAID), EXAMPLE, NEXT_STEP)
    assert verify_step(EXAMPLE, EXAMPLE.start, text).finding is Finding.UNPARSEABLE


@examples(150)
@given(
    st.lists(st.sampled_from(ANYTHING), max_size=20),
    st.sampled_from([WHOLE, NEXT_STEP]),
)
def test_whatever_is_said_there_is_a_verdict(words: list[str], mode: str) -> None:
    text = answer_in_json(' '.join(words), EXAMPLE, mode)
    found = verify(EXAMPLE, text) if mode == WHOLE else verify_step(EXAMPLE, EXAMPLE.start, text)
    assert found.verdict.ok or found.fault is not None


def write_style(folder: Path, name: str, words: list[str]) -> str:
    (folder / 'safegen.json').write_text(json.dumps({'prompt_style': name}))
    vocabulary = {word: number for number, word in enumerate(words)}
    (folder / 'tokenizer.json').write_text(json.dumps({'model': {'vocab': vocabulary}}))
    return str(folder)


def test_a_model_is_asked_in_its_own_style(tmp_path: Path) -> None:
    assert isinstance(style_of('http://127.0.0.1:1/v1#m'), ChatStyle)
    assert isinstance(style_of(str(tmp_path)), ChatStyle)
    known = map_words(EXAMPLE, EXAMPLE.start, WHOLE)
    style = style_of(write_style(tmp_path, 'boxnet', known))
    assert isinstance(style, MapStyle)
    assert style.asked(EXAMPLE, whole=True) == [{'role': 'user', 'content': ' '.join(known)}]
    with pytest.raises(SafegenError, match="does not know 'next'") as caught:
        style.asked(EXAMPLE, whole=False)
    assert caught.value.code is ErrorCode.TASK_TOO_LARGE
    with pytest.raises(BackendError, match='another world'):
        style_of(write_style(tmp_path, 'words', []))
    (tmp_path / 'safegen.json').write_text('{')
    with pytest.raises(BackendError, match=r'safegen\.json'):
        style_of(str(tmp_path))


PAPER_PLAN = verify(EXAMPLE, EXAMPLE_PLAN).plan
LAST = PAPER_PLAN[-1][0]
FIDGET = (Move(LAST.robot, LAST.end, LAST.end, False),)


@pytest.mark.parametrize(
    ('text', 'reference', 'earned'),
    [
        (answer_text('so', PAPER_PLAN, whole=True), 4, 1.1),
        (answer_text('so', PAPER_PLAN, whole=True), 6, 1.1),
        (EXAMPLE_PLAN, 4, 1.0),
        (answer_text('so', (*PAPER_PLAN, FIDGET, FIDGET), whole=True), 4, 0.9),
        (answer_text('so', (*PAPER_PLAN, *[FIDGET] * 30), whole=True), 4, 0.2),
        (answer_text('so', PAPER_PLAN[:2], whole=True), 4, 0.1),
        (answer_text('so', PAPER_PLAN[:2] + (FIDGET,) * 40, whole=True), 4, 0.1),
        ('nonsense', 4, 0.0),
        (f'<think>no</think>\n{REFUSAL}', 4, 0.1),
        (f'<think>no</think>\n{REFUSAL}', None, 1.1),
        (answer_text('so', PAPER_PLAN, whole=True), None, 0.1),
    ],
)
def test_an_answer_earns(text: str, reference: int | None, earned: float) -> None:
    assert reward(verify(EXAMPLE, text), reference) == pytest.approx(earned)


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
