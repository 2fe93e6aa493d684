# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Speed of BoxNet and Planetarium: `safegen bench boxnet speed` and `bench planetarium speed`."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from random import Random

from safegen_ros.benchmarks.measurement import Measurement, Notify, Report, timed
from safegen_ros.datasets.boxnet.draw import tasks
from safegen_ros.datasets.planetarium.layouts import Kit, space_of, tasks_of
from safegen_ros.datasets.planetarium.pairs import kits, make_problem
from safegen_ros.datasets.planetarium.recipe import load_recipe
from safegen_ros.paths import data_path
from safegen_ros.pddl.model import And, Atom, AtomFormula, Problem
from safegen_ros.pddl.reader import read_problem
from safegen_ros.pddl.writer import problem_text
from safegen_ros.tasks.boxnet.astar import plan_as_paper
from safegen_ros.tasks.boxnet.geometry import UNIT
from safegen_ros.tasks.boxnet.model import IdleArms, Move, State, Step, Task
from safegen_ros.tasks.boxnet.optimal import solve
from safegen_ros.tasks.boxnet.verifier import take_step
from safegen_ros.tasks.planetarium.domains import planetarium_domain
from safegen_ros.tasks.planetarium.equivalence import Equivalence, compare
from safegen_ros.tasks.planetarium.graphs import renamed

MOST_STEP_MS = 0.5
MOST_MEDIAN_S = 1.0
SIZES = range(2, 7)
OBJECTS = range(1, 6)
"""Sides of the square maps of the paper's test set, and how many objects are on them."""


def measure_boxnet(count: int, checks: int, seed: int, notify: Notify) -> Report:
    """Takes all figures."""
    drawn = [
        task
        for side in SIZES
        for objects in OBJECTS
        for task in islice(tasks((side, side), objects, str(seed), held_out=True), count)
    ]
    figures = (*_steps(checks, drawn[-1]), *_solves(drawn, notify))
    settings = {'tasks': count, 'checks': checks, 'seed': seed}
    return Report('boxnet', settings, figures, verb='bench boxnet speed')


def all_move(task: Task) -> Step:
    """A step of every robot in which no arms touch, so that none of them is left unlooked at."""
    down = -UNIT // 2
    return tuple(
        Move(robot, tip, (tip[0], tip[1] + down), False)
        for robot, tip in enumerate(task.start.tips)
    )


def _steps(checks: int, task: Task) -> Iterator[Measurement]:
    modes: tuple[tuple[IdleArms, Step, str], ...] = (
        ('ignore', all_move(task), 'all of them move'),
        ('block', all_move(task)[::2], 'every other one moves, the rest are in the way'),
    )
    for idle, step, note in modes:
        take = partial(take_step, replace(task, idle_arms=idle), task.start, step)
        if not isinstance(take(), State):
            raise RuntimeError('the step of the benchmark is refused, so that less is checked')
        _, seconds = timed(take, checks)
        yield Measurement(
            f'one step, {len(task.bases)} robots, idle arms: {idle}', seconds * 1e3 / checks, 'ms',
            MOST_STEP_MS, at_least=False, note=note,
        )  # fmt: skip


def _solves(drawn: Sequence[Task], notify: Notify) -> list[Measurement]:
    times: list[float] = []
    paper_times: list[float] = []
    longer: list[int] = []
    certified = 0
    for number, task in enumerate(drawn):
        best, seconds = timed(partial(solve, task))
        times.append(seconds)
        certified += best.certified
        plan, seconds = timed(partial(plan_as_paper, task))
        paper_times.append(seconds)
        if plan is not None:
            longer.append(len(plan) - len(best.plan))
        notify('tasks', number + 1, len(drawn))
    count = f'{len(drawn)} tasks of 2 x 2 to 6 x 6, 1 to 5 objects'
    solved = f'{len(longer)} of {len(drawn)} tasks solved'
    return [
        Measurement(
            'optimal planner: median', statistics.median(times), 's', MOST_MEDIAN_S,
            at_least=False, note=count,
        ),
        Measurement('optimal planner: most', max(times), 's'),
        Measurement('optimal planner: plans proved shortest', 100 * certified / len(drawn), '%'),
        Measurement('planner of the paper: median', statistics.median(paper_times), 's'),
        Measurement('planner of the paper: most', max(paper_times), 's', note=solved),
        Measurement(
            'planner of the paper: steps above the optimal planner, mean',
            statistics.fmean(longer), 'steps',
        ),
    ]  # fmt: skip


MOST_MEAN_MS = 5.0
MOST_LARGE_MS = 100.0
LARGE = 55
"""Blocks of the largest problems of the paper."""


@dataclass(frozen=True, slots=True)
class TextPair:
    """Two texts, and what is to come out.

    Attributes:
        other: with other names and in another order; and where they differ with one condition of
            the goal left out.
        equivalent: whether they are; None where the omitted part may follow from the rest.
    """

    domain: str
    one: str
    other: str
    equivalent: bool | None


def measure_planetarium(problems: int, seed: int, notify: Notify) -> Report:
    """Takes all figures."""
    measurements: list[Measurement] = []
    recipe = load_recipe(data_path('config/planetarium/paper.json'))
    rows = {name: sum(splits.values()) for name, splits in recipe.pairs.items()}
    weighted = 0.0
    for number, (name, kit) in enumerate(kits().items()):
        times = [_milliseconds(case) for case in draw_cases(kit, problems, seed)]
        weighted += statistics.fmean(times) * rows[name] / sum(rows.values())
        measurements.append(
            Measurement(
                f'{name}: equivalence of two texts, mean', statistics.fmean(times), 'ms',
                note=f'median {statistics.median(times):.1f}, most {max(times):.0f}; '
                f'{len(times)} pairs, reading included',
            )
        )  # fmt: skip
        notify('domains', number + 1, len(kits()))
    shares = ', '.join(f'{100 * count / sum(rows.values()):.0f} % {n}' for n, count in rows.items())
    measurements.append(
        Measurement(
            'as many of each domain as the paper has, mean', weighted, 'ms', MOST_MEAN_MS,
            at_least=False, note=shares,
        )
    )  # fmt: skip
    large = [_milliseconds(case) for case in large_cases(seed)]
    measurements.append(
        Measurement(
            f'{LARGE} blocks: equivalence of two texts, most', max(large), 'ms', MOST_LARGE_MS,
            at_least=False, note=f'mean {statistics.fmean(large):.1f}, {len(large)} pairs',
        )
    )  # fmt: skip
    settings = {'problems': problems, 'seed': seed}
    return Report('planetarium', settings, tuple(measurements), verb='bench planetarium speed')


def draw_cases(kit: Kit, problems: int, seed: int) -> Iterator[TextPair]:
    """Pairs of texts of the tasks of a domain, each problem once unchanged and once changed."""
    rng = Random(f'planetarium {kit.domain} {seed}')  # noqa: S311
    tasks = tasks_of(kit)
    for number in range(problems):
        task = tasks[number % len(tasks)]
        size = len(space_of(kit, task.start, task.goal))
        problem, _ = make_problem(task, rng.randrange(size))
        yield from _cases(problem, rng)


def large_cases(seed: int) -> Iterator[TextPair]:
    """Pairs of problems with as many blocks as the paper has at most, in random towers."""
    rng = Random(f'planetarium large {seed}')  # noqa: S311
    domain = planetarium_domain('blocksworld')
    for _ in range(10):
        blocks = [f'b{number}' for number in range(1, LARGE + 1)]
        init, goal = (_towers(rng.sample(blocks, LARGE), rng) for _ in range(2))
        text = (
            f'(define (problem large) (:domain {domain.name}) (:objects {" ".join(blocks)}) '
            f'(:init (arm-empty) {_text(init)}) (:goal (and (arm-empty) {_text(goal)})))'
        )
        yield from _cases(read_problem(text, domain, '<large>'), rng)


def _towers(blocks: Sequence[str], rng: Random) -> list[Atom]:
    atoms: list[Atom] = []
    below = ''
    for block in blocks:
        if below and rng.random() < 0.8:
            atoms.append(('on', block, below))
        else:
            atoms += [('clear', below)] if below else []
            atoms.append(('on-table', block))
        below = block
    return [*atoms, ('clear', below)]


def _text(atoms: Sequence[Atom]) -> str:
    return ' '.join(f'({" ".join(atom)})' for atom in atoms)


def _cases(problem: Problem, rng: Random) -> Iterator[TextPair]:
    """A problem beside its copy in other names, and beside one whose goal asks for less."""
    copy = _renamed(problem, rng)
    goal = copy.goal_conjuncts()
    one, domain = problem_text(problem), problem.domain.name
    yield TextPair(domain, one, problem_text(copy), equivalent=True)
    if len(goal) > 1:
        less = replace(copy, goal=And(tuple(goal[1:])))
        yield TextPair(domain, one, problem_text(less), equivalent=None)


def _renamed(problem: Problem, rng: Random) -> Problem:
    """The same problem in other names, its objects and its goal in another order."""
    old = list(problem.objects)
    names = dict(zip(old, (f'x{n}' for n in rng.sample(range(len(old)), len(old))), strict=True))
    parts = problem.goal_conjuncts()
    atoms = [(part.predicate, *part.terms) for part in parts if isinstance(part, AtomFormula)]
    goal = sorted(renamed(atoms, names))
    rng.shuffle(goal)
    rng.shuffle(old)
    return replace(
        problem,
        objects={names[name]: problem.objects[name] for name in old},
        init=renamed(problem.init, names),
        goal=And(tuple(AtomFormula(atom[0], atom[1:]) for atom in goal)),
    )


def _milliseconds(case: TextPair) -> float:
    """Time of reading and comparing a pair [ms]; raises where the answer is not the right one."""
    domain = planetarium_domain(case.domain)
    read = partial(read_problem, domain=domain, source='<bench>')
    found, seconds = timed(lambda: compare(read(case.one), read(case.other)))
    if found.answer is Equivalence.UNKNOWN or case.equivalent not in (None, found.equivalent):
        raise RuntimeError(f'{case.domain}: {found.answer.value}, which is wrong: {found.reason}')
    return seconds * 1e3
