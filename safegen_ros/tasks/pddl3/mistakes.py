# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans with mistakes, to judge and to learn from."""

from __future__ import annotations

from random import Random

from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.verdict import Verdict
from safegen_ros.verify.validator import Validator

_MISTAKES = ('drop', 'drop', 'swap', 'object', 'object', 'other', 'end', 'action', 'prose')
_DRAWS = 20
_UNSAFE = 0.3  # share of attempts that are the plan without regard to safety, where it is known


class Mistakes:
    """Makes mistakes in plans for one problem, as a model would."""

    def __init__(self, problem: Problem) -> None:
        self._objects = list(problem.objects)
        self._steps = [action.step for action in Grounder(problem).all_actions()]

    @property
    def steps(self) -> list[Step]:
        """Every step that a plan could take."""
        return self._steps

    def make(self, rng: Random, plan: Plan) -> str:
        """The text of a plan with one mistake, which may happen to do no harm."""
        steps = list(plan.steps)
        place = rng.randrange(len(steps)) if steps else 0
        kind = rng.choice(_MISTAKES)
        if kind == 'drop':
            del steps[place : place + 1]
        elif kind == 'swap' and len(steps) > 1:
            other = (place + 1) % len(steps)
            steps[place], steps[other] = steps[other], steps[place]
        elif kind == 'object' and steps and steps[place].arguments:
            arguments = list(steps[place].arguments)
            arguments[rng.randrange(len(arguments))] = rng.choice(self._objects)
            steps[place] = Step(steps[place].action, tuple(arguments))
        elif kind == 'other':
            steps.insert(place, rng.choice(self._steps))
        elif kind == 'end':
            del steps[place:]
        elif kind == 'action':
            steps.insert(place, Step('teleport', (rng.choice(self._objects),)))
        text = f'{Plan(tuple(steps))}\n'
        return f'Here is the plan:\n{text}' if kind == 'prose' else text


def failed_attempt(
    problem: Problem, right: Plan, unsafe: Plan, seed: str
) -> tuple[str, Verdict] | None:
    """A plan that fails, with the verdict on it; None when many draws do no harm.

    Args:
        unsafe: a plan that ignores the constraints; empty when none is known.
        seed: the same arguments give the same attempt.
    """
    rng = Random(seed)  # noqa: S311
    validator, mistakes = Validator(problem), Mistakes(problem)
    for _ in range(_DRAWS):
        text = str(unsafe)
        if not unsafe.steps or rng.random() >= _UNSAFE:
            text = mistakes.make(rng, right)
        verdict = validator.verify(text)
        if not verdict.ok:
            return text, verdict
    return None
