# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Blocks that are not all in view: what is told of them, and what is refused."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.pddl.model import State
from safegen_ros.pddl.plan import Step
from safegen_ros.robot.cell.blocks import simulated_cell
from safegen_ros.robot.cell.settings import ABOVE, ALL
from safegen_ros.robot.cell.symbolic import SymbolicCell
from safegen_ros.robot.cell.view import ViewedCell
from safegen_ros.robot.scene import load_scene
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.planning.stepwise import Limits, StepContext, run_stepwise
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_task

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
        asked.problem,
        cell.observe,
        lambda step: cell.execute(*step),
        Chooser(),
        Limits(60),
        sight=sight,
    )
    return outcome, sight


@settings(max_examples=30)
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
