# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Keeps a planner from every move that does not reach or would collide."""

from __future__ import annotations

from dataclasses import replace

from safegen_ros.tasks.boxnet.model import Move, Plan, State, Step, Task
from safegen_ros.tasks.boxnet.routes import Routes
from safegen_ros.tasks.boxnet.verifier import IdleArms, take_step


class Admissible:
    """The moves that may be taken in a state, beside others of the same step.

    Args:
        task: whose robots move.
        idle_arms: whether robots that do nothing are in the way.
    """

    def __init__(self, task: Task, idle_arms: IdleArms = 'ignore') -> None:
        self.task = task
        self.idle_arms = idle_arms
        self._routes = Routes(task)

    def moves(self, state: State, begun: Step = ()) -> list[Move]:
        """The useful moves of robots that have none yet, with which a step may still be taken.

        An object that is not at its target is carried to any point in reach, and an arm goes to
        such an object; other moves of arms bring nothing about.
        """
        busy = {move.robot for move in begun}
        return [
            move
            for robot in range(len(state.tips))
            if robot not in busy
            for move in self._useful(robot, state)
            if self._may(state, (*begun, move))
        ]

    def _useful(self, robot: int, state: State) -> list[Move]:
        tip = state.tips[robot]
        found = list[Move]()
        for place, target in zip(state.objects, self.task.targets, strict=True):
            if place == target or not self.task.reaches(robot, place):
                continue
            if place == tip:
                ends = (end for end in self._routes.reach[robot] if end != tip)
                found += [self.task.move(robot, tip, end, True) for end in ends]
            else:
                found.append(self.task.move(robot, tip, place, False))
        return found

    def _may(self, state: State, step: Step) -> bool:
        return isinstance(take_step(self.task, state, step, self.idle_arms), State)

    def filtered(self, state: State, step: Step) -> Step:
        """A step without the moves that may not be taken beside those before them.

        Each move begins at the tip of its robot, wherever it is said to begin.
        """
        kept: Step = ()
        for move in step:
            move = replace(move, start=state.tips[move.robot])
            if self._may(state, (*kept, move)):
                kept = (*kept, move)
        return kept

    def filtered_plan(self, plan: Plan) -> Plan:
        """A plan with each step filtered in the state that those before it lead to."""
        state, steps = self.task.start, list[Step]()
        for step in plan:
            kept = self.filtered(state, step)
            after = take_step(self.task, state, kept, self.idle_arms)
            if isinstance(after, State):
                steps.append(kept)
                state = after
        return tuple(step for step in steps if step)
