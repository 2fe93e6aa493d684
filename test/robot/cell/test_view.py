# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Blocks that are not all in view: what is told of them, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safegen_ros.errors import Canceled, ErrorCode, RobotError
from safegen_ros.pddl.model import State
from safegen_ros.pddl.plan import Plan, Step, parse_plan
from safegen_ros.robot.cell.blocks import simulated_cell
from safegen_ros.robot.cell.rehearsal import rehearse
from safegen_ros.robot.cell.settings import ABOVE, ALL
from safegen_ros.robot.cell.symbolic import SymbolicCell
from safegen_ros.robot.cell.view import ViewedCell
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import load_scene
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.planning.stepwise import Limits, StepContext, run_stepwise
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_task
from safegen_ros.verdict import Category

BLOCKS = ('a', 'b', 'c', 'd', 'e')


def towers(*stacks: str) -> State:
    """The state in which these towers stand, each from the table up."""
    atoms = {('arm-empty',)}
    for stack in stacks:
        atoms |= {('on-table', stack[0]), ('clear', stack[-1])}
        atoms |= {('on', top, under) for under, top in pairwise(stack)}
    return frozenset(atoms)


@st.composite
def states(draw: st.DrawFn) -> State:
    order = draw(st.permutations(BLOCKS))
    cuts = sorted(draw(st.sets(st.integers(1, len(BLOCKS) - 1))))
    ends = [0, *cuts, len(BLOCKS)]
    return towers(*(''.join(order[a:b]) for a, b in pairwise(ends)))


def task(init: State, goal: str, constraints: str = '') -> Pddl3Task:
    atoms = ' '.join(f'({" ".join(atom)})' for atom in sorted(init))
    return load_task(
        f'(define (problem p) (:domain blocksworld) (:objects {" ".join(BLOCKS)})'
        f'(:init {atoms}) (:goal {goal}) {constraints})'
    )


def cell_of(asked: Pddl3Task, stands: State, watched: tuple[str, ...] = ()) -> ViewedCell:
    cell = ViewedCell(SymbolicCell(asked.problem), ABOVE, watched, stands)
    cell.prepare(BLOCKS, asked.problem.init)
    return cell


def assert_is_a_state(told: State) -> None:
    """Every block stands on one thing, nothing has two blocks on it, and there is no ring."""
    on = {atom[1]: atom[2] for atom in told if atom[0] == 'on'}
    table = {atom[1] for atom in told if atom[0] == 'on-table'}
    assert len([atom for atom in told if atom[0] in ('on', 'on-table')]) == len(BLOCKS)
    assert set(on) | table == set(BLOCKS)
    assert len(set(on.values())) == len(on)
    for block in BLOCKS:
        for _ in BLOCKS:
            block = on.get(block, block)
        assert block in table
    assert {atom[1] for atom in told if atom[0] == 'clear'} == set(BLOCKS) - set(on.values())


@settings(max_examples=40)
@given(states(), states())
def test_what_is_told_is_a_state_and_looking_makes_it_true(stands: State, believed: State) -> None:
    cell = cell_of(task(believed, '(and)'), stands)
    tops = [atom[1] for atom in stands if atom[0] == 'clear']
    assert set(cell.unseen) <= set(BLOCKS)
    assert_is_a_state(cell.observe())
    assert cell.unseen == BLOCKS  # of a tower nobody has seen what it stands on
    for number, top in enumerate(tops, 1):
        before = set(cell.unseen)
        cell.look(top)
        told = cell.observe()
        assert_is_a_state(told)
        assert set(cell.unseen) < before
        assert (told == stands) or number < len(tops)
    assert not cell.unseen


class Chooser:
    """Takes the first step of a shortest plan, from what is believed."""

    def __call__(self, moment: StepContext, cancelled: object) -> Step | None:
        steps = solve(moment.problem).plan.steps
        return next((step for step in steps[:1] if step in moment.choices), moment.choices[0])


class Perception:
    """Looks in a cell of this process."""

    def __init__(self, cell: ViewedCell) -> None:
        self.cell = cell
        self.looks: list[str] = []

    def unseen(self) -> frozenset[str]:
        return frozenset(self.cell.unseen)

    def look(self, name: str) -> None:
        on = {atom[2]: atom[1] for atom in self.cell.observe() if atom[0] == 'on'}
        while name in on:
            name = on[name]
        self.looks.append(name)
        self.cell.look(name)


def work(asked: Pddl3Task, cell: ViewedCell) -> tuple[object, Perception]:
    sight = Perception(cell)
    outcome = run_stepwise(
        asked.problem, cell.observe, lambda step: cell.execute(*step), Chooser(), Limits(60),
        sight=sight,
    )  # fmt: skip
    return outcome, sight


@settings(max_examples=12)
@given(states(), states())
def test_a_goal_is_reached_however_the_blocks_stand(stands: State, believed: State) -> None:
    asked = task(believed, '(and (on a b) (on b c))', '(:constraints (always (not (on c d))))')
    cell = cell_of(asked, stands, ('c', 'd'))
    outcome, _ = work(asked, cell)
    broken = ('on', 'c', 'd') in stands
    assert outcome.error_code is (ErrorCode.MONITOR_VIOLATION if broken else ErrorCode.NONE)
    if broken:
        assert not outcome.steps  # found before anything was moved
    else:
        truth = cell.cell.observe()
        assert {('on', 'a', 'b'), ('on', 'b', 'c')} <= truth


def test_only_what_matters_is_looked_at() -> None:
    """The tower of d and e is nobody's business, and stays out of view."""
    stands = towers('ab', 'c', 'de')
    asked = task(towers('ab', 'c', 'de'), '(on c b)')
    outcome, sight = work(asked, cell_of(asked, stands))
    assert outcome.error_code is ErrorCode.NONE
    assert sight.looks == ['c', 'b']
    assert outcome.steps == (Step('pickup', ('c',)), Step('stack', ('c', 'b')))
    assert outcome.differences == 0


def test_what_constraints_are_about_comes_first() -> None:
    """The task believes that b stands on c, which would break its constraint."""
    asked = task(towers('cb', 'a', 'd', 'e'), '(on a e)', '(:constraints (always (not (on b c))))')
    outcome, sight = work(asked, cell_of(asked, towers('bc', 'a', 'd', 'e'), ('b', 'c')))
    assert outcome.error_code is ErrorCode.NONE, outcome.message
    assert 'c' in sight.looks
    assert outcome.verdict.ok


@pytest.mark.parametrize(
    ('step', 'watched', 'hidden'),
    [(('unstack', ('b', 'a')), (), 'a b is out of view'), (('pickup', ('c',)), ('a',), 'a is out')],
)
def test_nothing_is_moved_on_a_guess(step: Step, watched: tuple[str, ...], hidden: str) -> None:
    stands = towers('ab', 'c', 'd', 'e')
    cell = cell_of(task(stands, '(and)'), stands, watched)
    cell.look('c')
    with pytest.raises(RobotError, match=hidden) as caught:
        cell.execute(*step)
    assert caught.value.code is ErrorCode.UNSUPPORTED_SCENE
    assert cell.cell.observe() == stands
    for top in 'bde':
        cell.look(top)
    cell.execute(*step)
    assert cell.cell.observe() != stands


def test_what_the_arm_has_put_down_is_known() -> None:
    stands = towers('ab', 'c', 'd', 'e')
    cell = cell_of(task(stands, '(and)'), stands)
    for name in 'bc':
        cell.look(name)
    cell.execute('unstack', ('b', 'a'))
    assert ('holding', 'b') in cell.observe()
    cell.execute('stack', ('b', 'c'))
    assert cell.unseen == ('d', 'e')
    assert ('on', 'b', 'c') in cell.observe()


def test_a_look_at_what_is_covered_and_other_blocks_are_refused() -> None:
    stands = towers('ab', 'c', 'd', 'e')
    cell = cell_of(task(stands, '(and)'), stands)
    with pytest.raises(RobotError, match="'a' is not the top of a tower"):
        cell.look('a')
    with pytest.raises(RobotError, match='not those of the task: f'):
        ViewedCell(SymbolicCell(task(stands, '(and)').problem), ALL, (), towers('abcdef')).prepare(
            BLOCKS, stands
        )


def test_the_arm_goes_out_of_the_way_for_a_look() -> None:
    """On the twin: the blocks stand otherwise than the task says, and are found so."""
    stands, believed = towers('abc'), towers('bac')
    seen: list[float] = []
    with simulated_cell(load_scene(), sample=lambda look: seen.append(look.time)) as twin:
        cell = ViewedCell(twin, ABOVE, (), stands, twin.home)
        cell.prepare(('a', 'b', 'c'), believed)
        assert cell.observe() == believed
        cell.look('c')
        assert cell.observe() == stands
        cell.execute('unstack', ('c', 'b'))
        assert ('holding', 'c') in cell.observe()
        before = len(seen)
        cell.look('b')
        assert len(seen) > before
        assert ('holding', 'c') in cell.observe()


ROOT = Path(__file__).parents[3]
SHIPPED = load_scene(ROOT / 'config' / 'figure6_scene.yaml')
QUICK = replace(SHIPPED.motion, travel_speed_fraction=1.0, vertical_speed_fraction=1.0)
NARROW = replace(SHIPPED, motion=QUICK)
TOWER_FIRST = parse_plan(
    '(pickup b2) (stack b2 b1) (pickup b3) (stack b3 b2) (pickup b4) (stack b4 b3) '
    '(pickup b5) (stack b5 b4)'
)
BEHIND_FIRST = parse_plan(
    '(pickup b5) (stack b5 b4) (pickup b2) (stack b2 b1) (pickup b3) (stack b3 b2) '
    '(unstack b5 b4) (putdown b5) (pickup b4) (stack b4 b3) (pickup b5) (stack b5 b4)'
)


@pytest.fixture(scope='module')
def behind() -> Pddl3Task:
    """The task of figure 6."""
    return load_task((ROOT / 'examples' / 'reach_behind.pddl').read_text(encoding='utf-8'))


def test_the_constraint_of_figure_6_is_what_keeps_the_arm_from_the_tower(behind: Pddl3Task) -> None:
    assert behind.verify(TOWER_FIRST).category is Category.SAFETY_VIOLATION
    went = rehearse(behind.problem, TOWER_FIRST, NARROW)
    assert went.verdict.category is Category.SAFETY_VIOLATION
    assert went.verdict.failing_step == 6
    assert 'step 7 (pickup b5): collision at' in went.verdict.reason
    assert 'link4 hits b4' in went.verdict.reason
    (hit,) = [each for each in went.contacts if not each.contact.expected]
    assert (hit.step, hit.contact.pair) == (6, ('<link4>', 'b4'))
    assert hit.contact.force > 1.0

    proved = behind.verify(BEHIND_FIRST)
    assert proved.ok
    went = rehearse(behind.problem, BEHIND_FIRST, NARROW, proved=proved)
    assert went.verdict == proved
    assert all(each.contact.expected for each in went.contacts)
    assert {each.step for each in went.contacts} == set(range(12))
    assert went.simulated_s > 30.0


def test_a_block_out_of_reach_fails_the_step_and_not_the_program(behind: Pddl3Task) -> None:
    poses = poses_of(NARROW, behind)
    poses['b5'] = Pose.upright(0.33, 0.0, NARROW.level_height(0), 0.0)
    went = rehearse(behind.problem, BEHIND_FIRST, NARROW, poses=poses)
    assert went.verdict.category is Category.PRECONDITION_VIOLATION
    assert went.verdict.failing_step == 0
    assert 'put the block where the arm can reach' in went.verdict.reason


def poses_of(scene, task):
    slots = zip(task.problem.objects, scene.slots, strict=False)
    return {block: scene.slot_pose(slot) for block, slot in slots}


def test_it_starts_from_where_the_blocks_were_measured(behind: Pddl3Task) -> None:
    poses = poses_of(NARROW, behind)
    x, y, z = poses['b5'].position
    poses['b5'] = Pose.upright(x + 0.02, y, z, 0.3)
    seen: list[tuple[int, Pose]] = []
    went = rehearse(
        behind.problem, Plan(BEHIND_FIRST.steps[:1]), NARROW, poses=poses,
        sample=lambda step, look: seen.append((step, look.poses['b5'])) if look.poses else None,
    )  # fmt: skip
    assert went.verdict.ok
    start = next(pose for step, pose in seen if step == -1)
    assert start.position == pytest.approx((x + 0.02, y, z), abs=1e-3)
    assert {step for step, _ in seen} == {-1, 0}


def test_what_cannot_be_set_up_has_no_verdict(behind: Pddl3Task) -> None:
    crowded = replace(NARROW, max_tower=4)
    with pytest.raises(RobotError) as caught:
        rehearse(behind.problem, BEHIND_FIRST, crowded)
    assert caught.value.code is ErrorCode.UNSUPPORTED_SCENE


def test_time_and_cancelling_end_it_without_a_verdict(behind: Pddl3Task) -> None:
    poses = poses_of(NARROW, behind)
    with pytest.raises(RobotError, match='nothing moves') as caught:
        rehearse(behind.problem, BEHIND_FIRST, NARROW, poses=poses, time_limit_s=0.0)
    assert caught.value.code is ErrorCode.REHEARSAL_FAILED
    with pytest.raises(Canceled):
        rehearse(behind.problem, BEHIND_FIRST, NARROW, poses=poses, cancelled=lambda: True)
