# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A stack with a symbolic cell: every domain and format, by the action that also moves the arm."""

from __future__ import annotations

import subprocess
import sys
import threading
from itertools import dropwhile

import pytest
from support.one_process import Stack
from support.waiting import wait_until

from safegen_msgs.action import RunTask
from safegen_msgs.msg import WorldState
from safegen_ros.client import Client, Options
from safegen_ros.errors import ErrorCode
from safegen_ros.paths import data_path
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.pddl.writer import atom_text
from safegen_ros.ros import conversions, qos
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.verdict import Category

WAIT_S = 60.0

LAMP = """
(define (domain lamp) (:predicates (lit ?x) (red ?x))
  (:action light :parameters (?x) :precondition (red ?x) :effect (lit ?x)))
"""
PROBLEM = '(define (problem p) (:domain lamp) (:objects a) (:init (red a)) (:goal (lit a)))'


@pytest.fixture(scope='module')
def client(in_process: Stack) -> Client:
    return in_process.client


@pytest.mark.parametrize(
    ('name', 'format'),
    [('ferry', 'json'), ('grippers', 'english')],
)
def test_a_task_of_any_domain_in_any_format_runs_to_its_goal(
    client: Client, name: str, format: str
) -> None:
    task = load_task(kits()[name].problem(3).text)
    moved: list[int] = []

    def hear(feedback: object) -> None:
        if feedback.execution.phase == 'moving':
            moved.append(feedback.execution.step)

    text = task.written_as(format).problem_text
    result = client.run(text, options=Options(strategy='search'), format=format, on_feedback=hear)
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
    assert result.steps_done == len(result.plan.steps) > 0
    wait_until(lambda: len(moved) >= result.steps_done, 'what had to be sent twice')
    assert moved == [*range(result.steps_done)]
    assert not result.final_state.objects
    plan = '\n'.join(f'({" ".join((s.action, *s.arguments))})' for s in result.plan.steps)
    assert task.verify(plan).category is Category.SUCCESS
    wanted = {atom_text((g.predicate, *g.terms)) for g in task.problem.goal_conjuncts()}
    assert wanted <= set(result.final_state.facts)


def test_two_robots_that_have_to_act_at_once_do(client: Client) -> None:
    """One after the other they would be too late, so that a plan is proved with its times."""
    told: list[str] = []

    def hear(feedback: RunTask.Feedback) -> None:
        if feedback.execution.phase == 'moving':
            told.append(conversions.step_text(feedback.execution.current))

    result = client.run(
        data_path('examples/patrol/two_robots.pddl').read_text(),
        data_path('examples/patrol/domain.pddl').read_text(),
        options=Options(strategy='search'), on_feedback=hear,
    )  # fmt: skip
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
    assert {'(patrolled door)', '(patrolled shelf)'} <= set(result.final_state.facts)
    steps = [conversions.step_text(step) for step in result.plan.steps]
    assert all(step.startswith('(at ') for step in steps)
    assert result.steps_done == len(steps)
    assert told == steps


def test_the_world_is_published_as_facts_and_no_joints_are(client: Client) -> None:
    heard: list[WorldState] = []
    news = threading.Condition()

    def take(world: WorldState) -> None:
        with news:
            heard.append(world)
            news.notify_all()

    client.node.create_subscription(WorldState, 'world_state', take, qos.SAMPLES)
    plan = parse_plan('(light a)')
    # The two sides of a new connection do not learn of it at once.
    for _ in range(50):
        assert client.execute(PROBLEM, plan, LAMP).error_code == ErrorCode.NONE
        with news:
            if news.wait_for(lambda: len(heard) > 1 and '(lit a)' in heard[-1].facts, 1.0):
                break
    # Until the first goal opens its world, that of the goal before is heard.
    worlds = [*dropwhile(lambda world: tuple(world.facts) != ('(red a)',), heard)]
    assert worlds, 'the world was not heard'
    assert {tuple(world.facts) for world in worlds} <= {('(red a)',), ('(lit a)', '(red a)')}
    before, after = (world.header.stamp for world in worlds[-2:])
    assert (after.sec - before.sec, after.nanosec - before.nanosec) == (1, 0)
    assert not any(world.objects for world in worlds)
    assert client.node.count_publishers('world_state') == 1
    assert client.node.count_publishers('joint_states') == 0


@pytest.mark.parametrize(
    ('node', 'setting', 'message'),
    [
        ('executor', 'cell:=table', "'table' is none of: twin, symbolic"),
        ('planner', 'strategy:=model,luck', "'luck' is no planner: name one or more of model"),
        ('planner', 'feedback:=praise', "parameter feedback: 'praise' is none of: binary"),
    ],
)
def test_a_setting_that_there_is_not_starts_nothing(node: str, setting: str, message: str) -> None:
    done = subprocess.run(
        [sys.executable, '-m', f'safegen_ros.nodes.{node}', '--ros-args', '-p', setting],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == 1
    assert message in done.stderr
