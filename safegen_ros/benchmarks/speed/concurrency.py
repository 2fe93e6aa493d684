# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench planner --model`: goals and answers per second, one at a time and many at once.

Processor time is that of one core, however many cores the machine has: what several threads do at
once counts together. A server computes elsewhere, so that its clock is that on the wall.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from safegen_ros.benchmarks.measurement import Measurement, Notify, Report, timed
from safegen_ros.errors import SafegenError
from safegen_ros.llm.backend import Backend, Message, Sampling
from safegen_ros.planning.loop import SEARCH, plan_with_levels
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.planning.proposer import ModelProposer
from safegen_ros.tasks.pddl3.planning.strategy import levels_of
from safegen_ros.tasks.pddl3.prompts.styles import PromptStyle
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_task

AT_ONCE = (1, 8, 32)
MOST_MEDIAN_S = 1.0

_ATTEMPTS = 5
_BUDGET_S = 300.0
_ROUNDS = 3  # the median counts

Clock = Callable[[], float]

_Item = TypeVar('_Item')
_Result = TypeVar('_Result')


@dataclass(frozen=True, slots=True)
class Served:
    """What became of all goals when so many were open at once.

    Attributes:
        seconds: for all of them together [s].
        proved: from the task to the proved plan [s], and the level that answered, of each goal
            that has one.
    """

    goals: int
    seconds: float
    proved: tuple[tuple[float, str], ...]


def measure(
    plain: Backend,
    shared: Backend,
    style: PromptStyle,
    problems: int,
    strategy: str,
    seed: int,
    notify: Notify,
    clock: Clock = time.process_time,
) -> Report:
    """Takes all figures.

    Args:
        clock: what is measured [s].
        plain: answers one call after the other, with `generate` of its library.
        shared: the same model, which may answer calls together.
        strategy: levels that are asked for a plan, as of `levels.level_names`.

    Raises:
        SafegenError: the model cannot answer, the strategy names no level, or the model can be
            asked about none of the problems.
    """
    tasks = draw_tasks(problems, seed)
    asked = _asked(style, tasks)
    sampling = Sampling(seed=seed)
    plain.generate(asked[0], sampling)  # prepared once, such as the memory of the library
    shared.generate(asked[0], sampling)
    tokens = 0
    plain_s: list[float] = []
    shared_s: dict[int, list[float]] = {count: [] for count in AT_ONCE}
    for number in range(_ROUNDS):  # all in turn, so that a slow moment meets them all
        tokens, seconds = timed(
            lambda: sum(plain.generate(each, sampling).completion_tokens for each in asked),
            clock=clock,
        )
        plain_s.append(seconds)
        for count in AT_ONCE:
            answer = partial(_at_once, lambda each: shared.generate(each, sampling), asked, count)
            shared_s[count].append(timed(answer, clock=clock)[1])
        notify('answers', number + 1, _ROUNDS)
    goals = {}
    for number, count in enumerate(AT_ONCE):
        goals[count] = serve_goals(strategy, seed, shared, style, tasks, count, clock)
        notify('goals', number + 1, len(AT_ONCE))
    settings = {'problems': problems, 'strategy': strategy, 'seed': seed}
    measurements = (
        *_answer_figures(plain_s, shared_s, len(asked), tokens),
        *(figure for count in AT_ONCE for figure in _goal_figures(count, goals[count])),
    )
    return Report('concurrency', settings, measurements)


def draw_tasks(problems: int, seed: int) -> list[Pddl3Task]:
    """Tasks of all built-in domains, of the paper's sizes, whose families take turns."""
    found = []
    for number in range(problems):
        for kit in kits().values():
            families = [name for name in kit.families if kit.sizes(name)]
            family = families[number % len(families)]
            sizes = kit.sizes(family)
            size = sizes[number // len(families) % len(sizes)]
            found.append(load_task(kit.problem(seed * 100_003 + number, size, family).text))
    return found


def serve_goals(
    strategy: str,
    seed: int,
    backend: Backend,
    style: PromptStyle,
    tasks: Sequence[Pddl3Task],
    count: int,
    clock: Clock = time.process_time,
) -> Served:
    """Plans for all tasks, with as many open at once."""

    def one(task: Pddl3Task) -> tuple[float, str]:
        begun = clock()
        sampling = Sampling(seed=seed)
        proposer = ModelProposer(task.problem, backend, style, sampling, format=task.format)
        levels = levels_of(
            strategy,
            proposer,
            lambda left, stop: solve(task.problem, time_limit_s=left, cancelled=stop).plan,
            _ATTEMPTS,
        )
        outcome = plan_with_levels(levels, task.verify, _BUDGET_S)
        source = outcome.attempts[-1].source if outcome.plan is not None else ''
        return clock() - begun, source

    results, seconds = timed(lambda: _at_once(one, tasks, count), clock=clock)
    return Served(len(tasks), seconds, tuple(result for result in results if result[1]))


def _asked(style: PromptStyle, tasks: Sequence[Pddl3Task]) -> list[list[Message]]:
    """What the model is asked about each task that can be put to it."""
    found = []
    for task in tasks:
        try:
            found.append(style.messages(task.problem, [], task.format))
        except SafegenError as error:
            refused = error
    if not found:
        raise refused
    return found


def _at_once(work: Callable[[_Item], _Result], items: Sequence[_Item], count: int) -> list[_Result]:
    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(work, items))


def _answer_figures(
    plain_s: Sequence[float], shared_s: dict[int, list[float]], answers: int, tokens: int
) -> list[Measurement]:
    plain = statistics.median(plain_s)
    figures = [
        Measurement(
            'plain generate, one after the other', answers / plain, 'answers/s',
            note=f'{answers} answers, {tokens / answers:.1f} tokens each, {tokens / plain:,.0f} '
            'tokens/s',
        )
    ]  # fmt: skip
    for count, seconds in shared_s.items():
        rate = answers / statistics.median(seconds)
        figures.append(Measurement(f'{count} at once', rate, 'answers/s'))
    for count, seconds in shared_s.items():
        ratio = statistics.median(one / other for one, other in zip(plain_s, seconds, strict=True))
        note = f'median of {_ROUNDS} rounds'
        figures.append(Measurement(f'{count} at once / plain generate', ratio, 'x', note=note))
    return figures


def _goal_figures(count: int, served: Served) -> list[Measurement]:
    times = [seconds for seconds, _ in served.proved]
    levels = Counter(name for _, name in served.proved)
    said = ', '.join(f'{number} by {name}' for name, number in sorted(levels.items()))
    by_model = levels.total() - levels[SEARCH]
    at_once = f'{count} goal{"s" * (count != 1)} at once'
    return [
        Measurement(
            f'{at_once}: goal to proved plan, median',
            statistics.median(times) if times else None, 's',
            MOST_MEDIAN_S if count == 1 else None, at_least=False,
            note=f'most {max(times):.2f}' if times else 'no plan was proved',
        ),
        Measurement(f'{at_once}: goals with a proved plan', len(times) / served.seconds, 'goals/s'),
        Measurement(
            f'{at_once}: proved plans by the model', 100 * by_model / served.goals, '%',
            note=f'of {served.goals} goals: {said or "none proved"}',
        ),
    ]  # fmt: skip
