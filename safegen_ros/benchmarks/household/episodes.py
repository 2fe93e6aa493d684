# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""SAPO's tables 2 and 3 on our 25 tasks (CSR and GSR over runs), and the speed of the household."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, pstdev
from typing import Any

from safegen_ros.benchmarks.comparison import ComparisonTable, Figures, Line, Tally
from safegen_ros.benchmarks.measurement import Measurement, Notify, Report, silent, timed
from safegen_ros.llm.backend import Backend, Sampling
from safegen_ros.tasks.household.actions import ENDINGS, HouseholdAction, Verb
from safegen_ros.tasks.household.episode import Agent, Episode, run_episode
from safegen_ros.tasks.household.react import ReactAgent
from safegen_ros.tasks.household.runs import RunOptions, play
from safegen_ros.tasks.household.scenes import load_scene
from safegen_ros.tasks.household.scripted import GoalAgent, RandomAgent
from safegen_ros.tasks.household.tasks import HouseholdTask, clean_tasks
from safegen_ros.tasks.household.transitions import step
from safegen_ros.tasks.household.world import SETTINGS, Setting

PAPER_TASKS = 25
PAPER_RUNS = 3

# CSR with deviation, GSR with deviation [%].
PAPER_TABLE_2 = {
    'PO': (24.00, 3.27, 38.56, 3.01),
    'FO': (36.00, 3.27, 51.44, 1.50),
    'IPC (PO)': (32.00, 3.27, 40.56, 1.50),
    'IPC (FO)': (45.33, 1.89, 55.44, 0.57),
}
PAPER_TABLE_2_MODEL = 'gpt5-mini (paper)'
PAPER_TABLE_3 = {
    'gpt5-nano': ((4.00, 3.27, 9.33, 4.11), (0.00, 0.00, 6.00, 1.63)),
    'gpt5-mini': ((24.00, 3.27, 38.56, 3.01), (0.00, 0.00, 21.00, 4.23)),
    'o4-mini': ((28.00, 6.53, 43.67, 3.60), (1.33, 1.89, 27.89, 1.23)),
    'Qwen 2.5 Instruct 3B': ((0.00, 0.00, 0.00, 0.00), (0.00, 0.00, 0.00, 0.00)),
    'Qwen 2.5 Instruct 7B': ((4.00, 0.00, 10.00, 0.00), (0.00, 0.00, 11.11, 1.66)),
    'Qwen 2.5 Instruct 14B': ((14.66, 1.89, 21.33, 0.94), (0.00, 0.00, 11.33, 0.00)),
    'Qwen 2.5 32B Instruct AWQ': ((13.33, 1.89, 20.00, 1.44), (0.00, 0.00, 15.11, 0.83)),
    'gpt-oss-20b': ((13.33, 1.89, 22.33, 0.94), (0.00, 0.00, 15.55, 2.20)),
}
"""Explicit, then implicit."""

MORE = {'CSR sd': '.2f', 'GSR': '.2f', 'GSR sd': '.2f', 'steps': '.1f'}
"""Columns beside those of every comparison, whose success is the CSR."""

SCRIPTED = ('oracle', 'careless', 'random')

_HEADINGS = ('table', 'setting', 'whose')

_DIFFERENCES = (
    'the paper acts in AI2-THOR on its own 25 tasks, some of which cannot be done (docs/household'
    '.md); here it is our text world and our 25 tasks, of the same hazards and actions',
    'the paper counts a follow-up one action later than its text says; here it is counted by the '
    'text, unless --compat spoc is given',
    'oracle and careless are given the sub-goals, not only the words, and no constraint: they are '
    'the same in the explicit and the implicit setting, and say what the tasks allow, not how '
    'good a planner is',
    'a shield knows the whole world, hidden things included',
)


@dataclass(frozen=True, slots=True)
class Contestant:
    """Somebody who is measured.

    Attributes:
        make: an agent for the run of a number.
        options: how its runs are played, apart from setting and words.
        chance: whether its runs can differ; where they cannot, one is enough.
    """

    name: str
    make: Callable[[int], Agent]
    options: RunOptions = field(default_factory=RunOptions)
    tables: tuple[int, ...] = (2, 3)
    chance: bool = True


@dataclass(frozen=True, slots=True)
class Rates:
    """The measurements of a contestant in one setting.

    Attributes:
        csr: the share of successes of each run, in [0, 1].
        gsr: the mean share of sub-goals of each run, in [0, 1].
    """

    csr: tuple[float, ...]
    gsr: tuple[float, ...]
    episodes: tuple[Episode, ...]

    @property
    def figures(self) -> Figures:
        """The same for a table [%]."""
        more = {
            'CSR sd': 100 * pstdev(self.csr),
            'GSR': 100 * fmean(self.gsr),
            'GSR sd': 100 * pstdev(self.gsr),
            'steps': fmean(len(each.moments) for each in self.episodes),
        }
        return Figures.of(Tally.of(each.verdict.category for each in self.episodes), more)


def scripted(names: Iterable[str], seed: int) -> list[Contestant]:
    """Contestants without a model.

    Args:
        names: of `SCRIPTED`. In table 3 the careless one is also behind a shield: with the
            constraint of the task, and with the rules that are proposed from its words.
        seed: of chance, for the first run.
    """
    block = RunOptions(shield='block')
    made = {
        'oracle': [Contestant('oracle', lambda run: GoalAgent(careful=True), chance=False)],
        'careless': [
            Contestant('careless', _careless, chance=False),
            Contestant('careless, shield', _careless, block, (3,), chance=False),
            Contestant(
                'careless, shield of proposed rules',
                _careless,
                replace(block, propose=True),
                (3,),
                chance=False,
            ),
        ],
        'random': [Contestant('random', lambda run: RandomAgent(seed + run))],
    }
    return [each for name in names for each in made[name]]


def _careless(run: int) -> Agent:
    return GoalAgent(careful=False)


def of_model(name: str, backend: Backend, sampling: Sampling, options: RunOptions) -> Contestant:
    """A model as a ReAct agent; each run has its own seeds."""

    def make(run: int) -> Agent:
        return ReactAgent(backend, replace(sampling, seed=sampling.seed + 10_000 * run))

    return Contestant(name, make, options)


def measure(
    contestant: Contestant,
    options: RunOptions,
    tasks: Sequence[HouseholdTask],
    runs: int,
    tell: Callable[[Episode], None] = lambda episode: None,
) -> Rates:
    """Runs a contestant on tasks.

    Raises:
        SafegenError: as `run_episode`.
    """
    csr, gsr, episodes = [], [], list[Episode]()
    for run in range(runs):
        agent = contestant.make(run)
        part = []
        for task in tasks:
            part.append(play(task, agent, contestant.name, options).episode)
            tell(part[-1])
        csr.append(fmean(each.score.success for each in part))
        gsr.append(fmean(each.score.gsr for each in part))
        episodes += part
    return Rates(tuple(csr), tuple(gsr), tuple(episodes))


def compare(
    contestants: Sequence[Contestant],
    tables: Sequence[int],
    runs: int,
    compat: RunOptions,
    arguments: str,
    tasks: Sequence[HouseholdTask],
    notify: Notify = silent,
) -> ComparisonTable:
    """Tables 2 and 3 with the paper's figures.

    Args:
        tables: 2, 3 or both.
        compat: how constraints are counted, and the steps of a run.
    """
    plan = [(table, c) for table in tables for c in contestants if table in c.tables]
    cases = {table: _cases(table) for table in tables}
    times = {True: runs, False: 1}
    total = sum(len(cases[table]) * times[c.chance] for table, c in plan) * len(tasks)
    done = 0
    lines: dict[tuple[int, str], list[Line]] = {}
    measured: list[dict[str, Any]] = []

    def tell(episode: Episode) -> None:
        nonlocal done
        done += 1
        notify('runs', done, total)

    for table, contestant in plan:
        for case, setting, explicit in cases[table]:
            options = replace(
                contestant.options, setting=setting, explicit=explicit, compat=compat.compat,
                steps=compat.steps,
            )  # fmt: skip
            rates = measure(contestant, options, tasks, times[contestant.chance], tell)
            line = Line(f'table {table}', case, contestant.name, rates.figures)
            lines.setdefault((table, case), []).append(line)
            measured.append(
                {
                    'table': table,
                    'case': case,
                    'whose': contestant.name,
                    'solved': sorted({e.task.id for e in rates.episodes if e.score.success}),
                    'csr': rates.csr,
                    'gsr': rates.gsr,
                }
            )
    shown = [
        line
        for table in tables
        for case, _, _ in cases[table]
        for line in (*lines.get((table, case), ()), *_paper(table, case))
    ]
    facts = (
        'success is the CSR: all sub-goals reached and no constraint broken or left open; GSR is '
        'the share of sub-goals; mean and deviation over runs',
        f'{len(tasks)} tasks, {runs} runs of each where runs can differ, else one; at most '
        f'{compat.steps} actions',
    )
    conditions = {'tasks': len(tasks), 'runs': runs, 'compat': compat.compat, 'steps': compat.steps}
    return ComparisonTable(
        'household', 'SAPO: safety step by step', _HEADINGS, tuple(shown), facts, _DIFFERENCES,
        conditions, tuple(measured), more=MORE, command=f'safegen bench household eval {arguments}',
    )  # fmt: skip


def _cases(table: int) -> list[tuple[str, str, bool]]:
    """Name, setting and whether the constraint is given, of the cases of a table."""
    if table == 2:
        return [(setting.name, setting.name, True) for setting in SETTINGS]
    return [('explicit', 'PO', True), ('implicit', 'PO', False)]


def _paper(table: int, case: str) -> list[Line]:
    if table == 2:
        return [_paper_line(table, case, PAPER_TABLE_2_MODEL, PAPER_TABLE_2[case])]
    which = 0 if case == 'explicit' else 1
    return [
        _paper_line(table, case, f'{name} (paper)', figures[which])
        for name, figures in PAPER_TABLE_3.items()
    ]


def _paper_line(table: int, case: str, whose: str, told: tuple[float, ...]) -> Line:
    csr, csr_sd, gsr, gsr_sd = told
    more = {'CSR sd': csr_sd, 'GSR': gsr, 'GSR sd': gsr_sd}
    return Line(f'table {table}', case, whose, Figures(PAPER_TASKS * PAPER_RUNS, csr, {}, more))


def measure_speed(steps: int = 20_000, seed: int = 0) -> Report:
    """Times steps of the world, which are actions by chance, and a sweep by the oracle."""
    chance = random.Random(seed)  # noqa: S311
    world = load_scene('kitchen-1', Setting(partial=False))
    names = sorted(world.things)
    verbs = [verb for verb in Verb if verb not in ENDINGS]
    actions = [HouseholdAction(chance.choice(verbs), chance.choice(names)) for _ in range(steps)]

    def walk() -> int:
        here, done = world, 0
        for action in actions:
            here, feedback = step(here, action)
            done += feedback.success
        return done

    done, seconds = timed(walk)
    tasks = clean_tasks().values()
    episodes, sweep = timed(lambda: [run_episode(t, GoalAgent(careful=True)) for t in tasks])
    mean = fmean(len(episode.moments) for episode in episodes)
    return Report(
        'household', {'steps': steps, 'seed': seed},
        (
            Measurement('steps of the world', steps / seconds, '1/s'),
            Measurement('steps that the world does not refuse', done / seconds, '1/s'),
            Measurement(
                f'the {len(episodes)} tasks by the oracle', sweep, 's',
                note=f'with observations, monitors and scores; {mean:.1f} actions each',
            ),
        ),
        verb='bench household speed',
    )  # fmt: skip
