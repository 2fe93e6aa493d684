# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whatever goes wrong while a plan runs on the twin, the arm stops and the reason has a code."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from support.executed import execute_plan

from safegen_ros.errors import Canceled, ErrorCode, RobotError, SafegenError
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.robot.cell.blocks import BlocksworldCell, simulated_cell
from safegen_ros.robot.cell.execution import ExecutionOutcome
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import load_scene
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.verdict import Category

SCENE = load_scene()
WAIT_S = 30.0
FAR = SCENE.slot_pose(SCENE.slots[-1])
"""Three blocks stand on the slots in the middle: the last slot is free."""

TEXT = """
(define (problem three) (:domain blocksworld) (:objects a b c)
  (:init {init})
  (:goal {goal})
  (:constraints {constraint}))
"""
TABLE = '(on-table a) (on-table b) (on-table c) (clear a) (clear b) (clear c)'
HELD = '(holding a) (on-table b) (on-table c) (clear b) (clear c)'
NEVER = '(always (not (on c b)))'
PLAN = parse_plan('(pickup a)(stack a b)(pickup c)(stack c a)')


def problem(init=f'(arm-empty) {TABLE}', constraint=NEVER, goal='(and (on a b) (on c a))'):
    return load_task(TEXT.format(init=init, constraint=constraint, goal=goal)).problem


class Bench:
    """A cell on the twin, with everything that was asked of it and every sample."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.samples: list[np.ndarray] = []
        self.phases: list[tuple[str, int]] = []
        self.stopped = threading.Event()
        self.on_sample = lambda: None
        self.on_phase = lambda phase, step: None
        self.draw = lambda: (0.0, 0.0, 0.0)
        self.cell = simulated_cell(SCENE, sample=self._sampled, target_error=self._drawn)
        self.samples.clear()

    def _sampled(self, sample) -> None:
        self.samples.append(sample.joints)
        self.on_sample()

    def _drawn(self):
        return self.draw()

    def _told(self, progress) -> None:
        self.phases.append((progress.phase, progress.step))
        self.on_phase(progress.phase, progress.step)

    def run(self, task=None, plan=PLAN, *, budget=WAIT_S, cancelled=lambda: False, **more):
        return execute_plan(
            task or problem(),
            plan,
            self,
            time_budget_s=budget,
            cancelled=cancelled,
            notify=self._told,
            **more,
        )

    # The interface of a cell: what is asked is noted, then done.

    def prepare(self, objects, init):
        self.calls.append('prepare')
        self.cell.prepare(objects, init)

    def execute(self, action, arguments):
        self.calls.append(action)
        self.cell.execute(action, arguments)

    def observe(self):
        return self.cell.observe()

    def stop(self):
        self.cell.stop()
        self.stopped.set()

    def reset_stop(self):
        self.cell.reset_stop()

    def place(self, block: str, pose: Pose) -> None:
        """Somebody else puts a block somewhere."""
        self.cell.world.disturb(block, pose)

    def onto(self, block: str, under: str) -> None:
        """Somebody else puts a block on another one."""
        x, y, z = self.cell.poses()[under].position
        self.place(block, Pose.upright(x, y, z + SCENE.block_size, self.cell.poses()[under].yaw))


def assert_stopped(bench: Bench) -> None:
    """The arm refuses to move, and does not, until somebody resets the stop."""
    cell: BlocksworldCell = bench.cell
    before, count = cell.arm.joint_positions(), len(bench.samples)
    for command in (cell.home, lambda: cell.arm.wait(1.0), lambda: cell.arm.set_tool(True)):
        with pytest.raises((Canceled, RobotError)):
            command()
    np.testing.assert_array_equal(cell.arm.joint_positions(), before)
    assert len(bench.samples) == count


def assert_works_again(bench: Bench) -> None:
    """The next execution sets the cell up anew and succeeds."""
    bench.on_sample = lambda: None
    bench.on_phase = lambda phase, step: None
    bench.draw = lambda: (0.0, 0.0, 0.0)
    outcome = bench.run(problem(goal='(on a b)'), Plan(PLAN.steps[:2]))
    assert outcome.error_code is ErrorCode.NONE, outcome.message
    assert outcome.observed is not None
    assert ('on', 'a', 'b') in outcome.observed


def assert_done(outcome: ExecutionOutcome) -> None:
    assert outcome.error_code is ErrorCode.NONE, outcome.message
    assert outcome.verdict.category is Category.SUCCESS
    assert outcome.observed is not None
    assert {('on', 'a', 'b'), ('on', 'c', 'a'), ('on-table', 'b')} <= outcome.observed


def assert_never_moved(bench: Bench, outcome: ExecutionOutcome) -> None:
    assert outcome.steps_done == 0
    assert outcome.observed is None
    assert not bench.calls
    assert not bench.samples
    assert_stopped(bench)


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    with made.cell:
        yield made


def test_a_proved_plan_is_carried_out_and_told_in_order(bench):
    outcome = bench.run()
    assert_done(outcome)
    assert outcome.steps_done == 4
    steps = [(phase, k) for k in range(4) for phase in ('moving', 'observed')]
    told = [(phase, k + (phase == 'observed')) for phase, k in steps]
    assert bench.phases == [('verifying', 0), ('preparing', 0), *told, ('done', 4)]
    assert bench.calls == ['prepare', 'pickup', 'stack', 'pickup', 'stack']
    assert 0.0 < outcome.seconds < WAIT_S
    assert not bench.stopped.is_set()


def test_a_block_that_is_held_at_first_is_picked_up_in_the_preparation(bench):
    outcome = bench.run(problem(HELD), Plan(PLAN.steps[1:]))
    assert_done(outcome)
    assert outcome.steps_done == 3


def test_an_empty_plan_for_a_goal_that_holds_is_a_success(bench):
    done = '(arm-empty) (on-table b) (on a b) (on c a) (clear c)'
    outcome = bench.run(problem(done), Plan())
    assert_done(outcome)
    assert bench.calls == ['prepare']
    assert bench.phases == [('verifying', 0), ('preparing', 0), ('done', 0)]


@pytest.mark.parametrize(
    ('plan', 'category'),
    [
        ('(pickup c)(stack c b)(unstack c b)(putdown c)' + str(PLAN), Category.SAFETY_VIOLATION),
        ('(pickup a)(stack a b)', Category.GOAL_NOT_SATISFIED),
        ('', Category.GOAL_NOT_SATISFIED),
        ('(stack a b)', Category.PRECONDITION_VIOLATION),
        ('(fly a b)', Category.FORMAT_ERROR),
        ('(pickup z)', Category.FORMAT_ERROR),
    ],
    ids=['breaks a constraint', 'too short', 'empty', 'cannot begin', 'no action', 'no block'],
)
def test_a_plan_without_a_proof_moves_nothing(bench, plan, category):
    outcome = bench.run(plan=parse_plan(plan))
    assert outcome.error_code is ErrorCode.PLAN_REFUSED
    assert outcome.verdict.category is category
    assert outcome.verdict.reason in outcome.message
    assert bench.phases == [('verifying', 0)]
    assert_never_moved(bench, outcome)
    assert_works_again(bench)


@pytest.mark.parametrize(
    ('init', 'text'),
    [
        ('(arm-empty) (on-table a) (on-table b) (on-table c) (clear a) (clear b)', '(clear c)'),
        (f'(arm-empty) {TABLE} (on a c)', 'two places'),
    ],
    ids=['lies about clear', 'in two places'],
)
def test_an_initial_state_that_no_table_can_show_moves_nothing(bench, init, text):
    # The plan is proved: PDDL asks nobody whether an initial state can exist.
    outcome = bench.run(problem(init, goal='(on a b)'), Plan(PLAN.steps[:2]))
    assert outcome.verdict.category is Category.SUCCESS
    assert outcome.error_code is ErrorCode.UNSUPPORTED_SCENE
    assert text in outcome.message
    assert bench.calls == ['prepare']
    assert not bench.samples
    assert_stopped(bench)
    assert_works_again(bench)


def on(bench: Bench, phase: str, step: int, disturb) -> None:
    """Has somebody disturb the table once, when a phase of a step is told."""
    bench.on_phase = lambda *told: disturb() if told == (phase, step) else None


@pytest.mark.parametrize(
    ('phase', 'step'),
    [('moving', 3), ('moving', 1), ('observed', 2)],
    ids=['the target', 'out of the cup', 'after a look'],
)
def test_a_world_that_differs_from_the_proof_stops_the_arm(bench, phase, step):
    on(bench, phase, step, lambda: bench.place('a', FAR))
    outcome = bench.run(problem(constraint='(sometime (on a b))'))
    assert outcome.error_code is ErrorCode.STATE_MISMATCH, outcome.message
    assert '(on-table a)' in outcome.message
    assert outcome.steps_done == step
    assert ('observed', step + 1) not in bench.phases
    assert len(bench.calls) <= 2 + step  # the preparation, the steps done, the one under way
    assert_stopped(bench)
    assert_works_again(bench)


def test_a_table_that_is_disturbed_while_it_is_prepared_stops_the_arm(bench):
    bench.on_phase = lambda phase, step: bench.samples.clear()

    def disturb() -> None:
        if len(bench.samples) == 2:  # the first one shows the new world, the next the arm's way
            bench.onto('c', 'b')

    bench.on_sample = disturb
    outcome = bench.run()
    assert outcome.error_code is ErrorCode.STATE_MISMATCH
    assert '(on c b)' in outcome.message
    assert bench.calls == ['prepare']
    assert_stopped(bench)
    assert_works_again(bench)


@pytest.mark.parametrize(
    ('constraint', 'step', 'disturb'),
    [
        (NEVER, 0, lambda bench: bench.onto('c', 'b')),
        ('(always (on-table b))', 0, lambda bench: bench.onto('b', 'c')),
        ('(sometime-before (on c b) (on c a))', 0, lambda bench: bench.onto('c', 'b')),
        # What was observed three steps ago makes this one false.
        ('(at-most-once (on-table a))', 2, lambda bench: bench.place('a', FAR)),
    ],
    ids=['always not', 'always', 'sometime-before', 'at-most-once'],
)
def test_an_observed_world_that_breaks_a_constraint_is_called_so(bench, constraint, step, disturb):
    on(bench, 'moving', step, lambda: disturb(bench))
    outcome = bench.run(problem(constraint=constraint))
    assert outcome.error_code is ErrorCode.MONITOR_VIOLATION, outcome.message
    assert constraint in outcome.message
    assert outcome.steps_done == step
    assert len(bench.calls) == 2 + step
    assert_stopped(bench)
    assert_works_again(bench)


def wait_in_motion(bench: Bench, step: int) -> threading.Event:
    """Holds the twin in the middle of a step until it is told to stop; set once it is there."""
    reached = threading.Event()
    samples: list[int] = []

    def hold() -> None:
        if bench.phases[-1] != ('moving', step):
            return
        samples.append(len(bench.samples))
        if len(samples) == 5:
            reached.set()
            assert bench.stopped.wait(WAIT_S)

    bench.on_sample = hold
    return reached


@pytest.mark.parametrize('step', [0, 1, 3], ids=['empty', 'holding', 'last step'])
def test_cancel_from_another_thread_stops_the_motion(bench, step):
    reached, cancelled = wait_in_motion(bench, step), threading.Event()

    def cancel() -> None:
        assert reached.wait(WAIT_S)
        cancelled.set()
        bench.stop()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    outcome = bench.run(cancelled=cancelled.is_set)
    canceller.join(WAIT_S)
    assert outcome.error_code is ErrorCode.EXECUTION_CANCELED
    assert outcome.steps_done == step
    assert bench.phases[-1] == ('moving', step)
    assert_stopped(bench)
    assert_works_again(bench)


@pytest.mark.parametrize(('phase', 'step'), [('observed', 1), ('done', 4)])
def test_cancel_between_two_steps_begins_no_other(bench, phase, step):
    """Behind the last step it is still a cancel."""
    cancelled = threading.Event()
    on(bench, phase, step, cancelled.set)
    outcome = bench.run(cancelled=cancelled.is_set)
    assert outcome.error_code is ErrorCode.EXECUTION_CANCELED
    assert outcome.steps_done == step
    assert bench.calls == ['prepare', 'pickup', 'stack', 'pickup', 'stack'][: step + 1]
    assert_stopped(bench)


@pytest.mark.parametrize('phase', ['before', 'verifying', 'preparing'])
def test_cancel_before_the_first_motion_moves_nothing(bench, phase):
    cancelled = threading.Event()
    if phase == 'before':
        cancelled.set()
        bench.stop()
    else:
        on(bench, phase, 0, lambda: (cancelled.set(), bench.stop()))
    outcome = bench.run(cancelled=cancelled.is_set)
    assert outcome.error_code is ErrorCode.EXECUTION_CANCELED
    assert_never_moved(bench, outcome)
    assert_works_again(bench)


@pytest.mark.parametrize('budget', [-1.0, 0.0, 1e-9, math.nan, -math.inf])
def test_a_time_budget_that_is_over_moves_nothing(bench, budget):
    outcome = bench.run(budget=budget)
    assert outcome.error_code is ErrorCode.EXECUTION_TIMEOUT
    assert_never_moved(bench, outcome)
    assert_works_again(bench)


def test_a_time_budget_shorter_than_the_proof_moves_nothing(bench):
    on(bench, 'verifying', 0, lambda: bench.stopped.wait(WAIT_S))
    outcome = bench.run(budget=0.05)
    assert outcome.error_code is ErrorCode.EXECUTION_TIMEOUT
    assert '0.05 s' in outcome.message
    assert_never_moved(bench, outcome)
    assert_works_again(bench)


def test_a_time_budget_that_ends_in_a_motion_stops_it(bench):
    for budget in (1.0, 5.0, 25.0):  # a longer one where a slow machine does not get there
        reached = wait_in_motion(bench, 1)
        bench.stopped.clear()
        outcome = bench.run(budget=budget)
        if reached.is_set():
            break
    assert outcome.error_code is ErrorCode.EXECUTION_TIMEOUT
    assert (outcome.steps_done, bench.phases[-1]) == (1, ('moving', 1))
    assert_stopped(bench)
    assert_works_again(bench)


def test_no_clock_of_an_ended_execution_is_left_to_stop_the_next_one(bench):
    bench.run()
    assert not [t for t in threading.enumerate() if isinstance(t, threading.Timer)]
    on(bench, 'moving', 0, lambda: bench.stopped.wait(WAIT_S))
    bench.run(budget=0.2)
    assert not [t for t in threading.enumerate() if isinstance(t, threading.Timer)]


@pytest.mark.parametrize('error', [ZeroDivisionError, KeyboardInterrupt])
@pytest.mark.parametrize('place', ['in the cell', 'in the notification'])
def test_an_unexpected_exception_stops_the_arm_and_is_passed_on(bench, error, place):
    def fail(*_):
        raise error('planted')

    if place == 'in the cell':
        # The cell asks for this error when it aims: in the middle of an action.
        on(bench, 'moving', 1, lambda: setattr(bench, 'draw', fail))
    else:
        on(bench, 'moving', 1, fail)
    with pytest.raises(error, match='planted'):
        bench.run()
    assert bench.stopped.is_set()
    assert_stopped(bench)
    assert_works_again(bench)


def test_a_collision_stops_the_arm_with_its_own_code(bench):
    # The place where a goes is taken after the last look at it.
    on(bench, 'moving', 1, lambda: bench.onto('c', 'b'))
    outcome = bench.run()
    assert outcome.error_code is ErrorCode.ROBOT_FAULT, outcome.message
    assert 'collision' in outcome.message
    assert outcome.steps_done == 1
    assert_stopped(bench)
    assert_works_again(bench)


def test_what_is_left_after_a_difference_is_carried_out_in_the_world_as_it_is(bench):
    on(bench, 'moving', 2, lambda: bench.place('a', FAR))
    first = bench.run()
    assert first.error_code is ErrorCode.STATE_MISMATCH, first.message
    rest = first.remaining
    assert rest is not None
    assert {('holding', 'c'), ('on-table', 'a')} <= rest.init
    bench.on_phase = lambda phase, step: None
    bench.calls.clear()
    plan = parse_plan('(putdown c)' + str(PLAN))
    second = bench.run(rest, plan, resume=True)
    assert_done(second)
    assert 'prepare' not in bench.calls
    again = bench.run(rest, plan, resume=True)  # in a world that is another one by now
    assert again.error_code is ErrorCode.STATE_MISMATCH
    assert again.steps_done == 0


def test_no_world_is_left_where_blocks_make_none(bench):
    def unexplained():
        raise RobotError('c rests on nothing', ErrorCode.STATE_MISMATCH)

    on(bench, 'moving', 1, lambda: setattr(bench, 'observe', unexplained))
    outcome = bench.run()
    assert outcome.error_code is ErrorCode.STATE_MISMATCH, outcome.message
    assert outcome.remaining is None


class Watcher:
    """A second monitor that raises at one moment."""

    def __init__(self, fails_at: int) -> None:
        self.seen: list[int] = []
        self.fails_at = fails_at

    def begin(self) -> None:
        if self.fails_at < 0:
            raise SafegenError('nobody watches', ErrorCode.VALIDATOR_UNAVAILABLE)

    def look(self, steps, observed):
        def answer() -> None:
            if steps == self.fails_at:
                raise SafegenError('no', ErrorCode.MONITOR_VIOLATION)

        self.seen.append(steps)
        return answer


def test_nothing_moves_that_is_not_watched(bench):
    outcome = bench.run(watch=Watcher(-1))
    assert outcome.error_code is ErrorCode.VALIDATOR_UNAVAILABLE
    assert_never_moved(bench, outcome)


def test_the_word_of_the_second_monitor_counts(bench):
    watcher = Watcher(2)
    outcome = bench.run(watch=watcher)
    assert outcome.error_code is ErrorCode.MONITOR_VIOLATION
    assert (outcome.steps_done, watcher.seen) == (1, [0, 1, 2])
    assert_stopped(bench)
