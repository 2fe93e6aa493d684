# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a plan earns: by the verdict on it, in strictly separated intervals.

SafeGen-LLM section IV-C1. The text of the paper lacks the intervals of its table VI; those in
`config.GrpoConfig` are ours. Whatever they are, a plan of a better category earns more (equation
7), and within a category it earns the more the further it comes (equations 8 and 9).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from safegen_ros.datasets.pddl3.rows import Row, row_problem
from safegen_ros.tasks.pddl3.prompts.styles import PromptStyle
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.validator import Validator

Message = dict[str, str]

SHARES = {
    Category.FORMAT_ERROR: 'format_error',
    Category.SAFETY_VIOLATION: 'safety_violation',
    Category.PRECONDITION_VIOLATION: 'precondition_violation',
    Category.GOAL_NOT_SATISFIED: 'goal_not_satisfied',
    Category.SUCCESS: 'success',
}
"""What the share of each category is called in the metrics."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """The rewards of the five categories.

    Args:
        bounds: the reward of a format error; least and most of a safety violation, of a
            precondition violation and of an unmet goal; the reward of success, or its least and
            most. `load_config` checks that each is greater than the one before.
    """

    bounds: tuple[float, ...]

    def reward(self, verdict: Verdict, reference_length: int) -> float:
        """The reward of a plan (equation 8).

        Args:
            verdict: of the plan; `UNKNOWN` earns what a format error does.
            reference_length: steps of a shortest safe plan, which progress is measured by, and the
                length of a plan that succeeds.
        """
        if verdict.category is Category.SUCCESS:
            low, high = self.bounds[7], self.bounds[-1]
            share = min(1.0, reference_length / max(1, verdict.plan_length))
        elif verdict.category in (Category.FORMAT_ERROR, Category.UNKNOWN):
            return self.bounds[0]
        else:
            place = 2 * (verdict.category - Category.SAFETY_VIOLATION) + 1
            low, high = self.bounds[place : place + 2]
            share = verdict.progress(reference_length)
        # Rounding must not carry it into the next interval.
        return min(high, low + (high - low) * share)


def plan_reward(
    rows: Sequence[Row], style: PromptStyle, intervals: Intervals
) -> Callable[..., list[float]]:
    """The reward function of a TRL trainer.

    Plans are judged one after the other: a verdict takes less than a millisecond, which is less
    than it takes to hand a plan to another process.

    Args:
        rows: the problems; a prompt names its own by `number`.
        style: how the model writes plans.

    Returns:
        A function of completions, each a list of messages of which the last is the answer, and
        the `number` of each one's row. It reports the share of each category, and that of success
        by domain, to `log_metric`.
    """

    def verdict(
        completions: Sequence[Sequence[Message]],
        number: Sequence[int],
        log_metric: Callable[[str, float], None] | None = None,
        **_: Any,
    ) -> list[float]:
        validators = {n: Validator(row_problem(rows[n])) for n in set(number)}
        verdicts = []
        for messages, n in zip(completions, number, strict=True):
            validator = validators[n]
            text = style.plan_text(messages[-1]['content'], validator.problem)
            verdicts.append(validator.verify(text))
        if log_metric is not None:
            _report(verdicts, [rows[n].domain for n in number], log_metric)
        return [
            intervals.reward(v, rows[n].reference_length)
            for v, n in zip(verdicts, number, strict=True)
        ]

    return verdict


def _report(
    verdicts: Sequence[Verdict], domains: Sequence[str], log_metric: Callable[[str, float], None]
) -> None:
    for category, name in SHARES.items():
        log_metric(name, sum(v.category is category for v in verdicts) / len(verdicts))
    for domain in sorted(set(domains)):
        own = [v.ok for v, of in zip(verdicts, domains, strict=True) if of == domain]
        log_metric(f'success_{domain}', sum(own) / len(own))
