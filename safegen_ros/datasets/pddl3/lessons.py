# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Lessons for a language model: conversations in style `instruct`, each with its right answer.

A model that sees four domains and one rule a problem learns their words by heart. So the problems
here mix up to four rules, begin at one object, and have goals of every changing predicate. Half of
the groups have made-up names for everything in their domain, and some a made-up domain. Some
lessons show an attempt that failed, with its verdict. Problems that the benchmark holds out are
left out: its families of constraints, and every class of problems that is for tests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from random import Random

from safegen_ros.datasets.builder import Notify, in_order
from safegen_ros.datasets.files import write_groups
from safegen_ros.datasets.pddl3.any_rule import Shape, shapes, with_any_rule
from safegen_ros.datasets.pddl3.made_up import (
    domain_of,
    held_out_domain,
    made_up_domain,
    made_up_setting,
    with_goal_and_rules,
)
from safegen_ros.datasets.pddl3.mixed import with_other_goal, with_rules
from safegen_ros.datasets.pddl3.recipe import load_recipe
from safegen_ros.datasets.pddl3.rows import Row, is_test_class, row_problem
from safegen_ros.datasets.workers import Workers
from safegen_ros.errors import SafegenError
from safegen_ros.paths import data_path
from safegen_ros.pddl.model import Domain, Problem
from safegen_ros.pddl.plan import Plan, Step, parse_plan
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import domain_text, problem_text
from safegen_ros.search.budget import Budget
from safegen_ros.search.in_process import solve_in_process
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.folders import folder_domain
from safegen_ros.tasks.pddl3.domains.isomorphism import canonical_problem
from safegen_ros.tasks.pddl3.domains.kit import DomainKit, Instance
from safegen_ros.tasks.pddl3.mistakes import failed_attempt
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle
from safegen_ros.verify.validator import verify

BENCH_RECIPE = 'data/safegen-bench/recipe.json'
"""Its held-out families have no lessons."""

_RENAMED = 0.5  # share of the groups whose domain has made-up names
_MADE_UP = 0.3  # share of the groups with a made-up domain, see `made_up`
_FORMATS = (('pddl', 6), ('json', 2), ('english', 2))
_RULES = (1, 10, 5, 3, 2)  # how often a problem has none, one, two, three and four
_PAPER = 0.6  # share of the problems that have a size of the paper
_OTHER_GOALS = 0.4  # share of the problems whose goal is what a walk has changed
_ANY_RULE = 0.3  # share of the problems of our domains with a rule of any operator, see `any_rule`
_REPAIRS = 0.15  # share of the lessons that show an attempt
# Most lessons with the same objects and initial state. A model learns to look up where things are
# from many states, and reads one state for several lessons sooner.
_ALIKE = 4
_LONGEST = 5_500  # characters of a lesson; memory goes with the longest one
_TRIES = 24  # at a scene, before another one is drawn; few objects have few problems
_BINDING = 0.75  # share of the problems whose rules make no difference that is left out
_NEAR = 4  # steps: a shorter plan of a made-up problem is often left out
_HELD_BACK = 25  # one group in so many is for validation

_TIME_LIMIT_S, _MEMORY_MB = 1.0, 1024.0  # harder ones are left out, more of them by a slow machine


@dataclass(frozen=True, slots=True)
class Solved:
    """A problem with a shortest plan, and one for it without its constraints."""

    problem: Problem
    plan: Plan
    unsafe: Plan


def write_lessons(
    out: Path,
    group: Callable[[int, int, int], list[str]],
    groups: int,
    size: int,
    seed: int,
    workers: Workers,
    notify: Notify,
) -> int:
    """Writes `train.jsonl` and `test.jsonl` as `training.text_world` reads them.

    Args:
        group: the lines of a group by the seed, its number and its size.
        groups: how many; the lessons of a group share the beginning of their prompts.
        size: lessons of each.
        notify: told how many groups are there.

    Returns:
        How many lessons there are.

    Raises:
        DatasetError: a file cannot be written.
    """
    made = []
    for lines in in_order(workers, group, ((seed, number, size) for number in range(groups))):
        made.append(lines)
        notify('groups', len(made), groups)
    held = made[::_HELD_BACK]
    rest = [lines for number, lines in enumerate(made) if number % _HELD_BACK]
    return write_groups(out, {'train': rest, 'test': held})


def lesson_group(seed: int, number: int, size: int) -> list[str]:
    """The lines of a group: one domain in one format, under the same names.

    Some of its problems share their objects and their initial state as well, so that most of their
    prompts is read once; they differ in goals and constraints.
    """
    rng = Random(f'{seed} {number}')  # noqa: S311  # no secret
    kinds = sorted(kits())
    while True:
        lines = _group(kits()[kinds[number % len(kinds)]], number, size, rng)
        if lines is not None:
            return lines


def _group(kit: DomainKit, number: int, size: int, rng: Random) -> list[str] | None:
    """The lines of a group; None for a made-up domain in which there is too little to do."""
    made_up = rng.random() < _MADE_UP
    rename = rng.random() < _RENAMED
    # The words of English are those of a domain.
    forms = [f for f in _FORMATS if not (rename or made_up) or f[0] != 'english']
    [form] = rng.choices([f for f, _ in forms], [weight for _, weight in forms])
    title = 'made-up' if made_up else kit.name
    group = f'{title} {form} {number}' + (' renamed' if rename else '')
    draft = made_up_domain(rng) if made_up else None
    domain = folder_domain(kit.name) if draft is None else domain_of(draft, 'world')
    of_domain = _new_names(domain, rng) if rename else {}
    lines: dict[str, None] = {}
    settings = 0
    while len(lines) < size:
        settings += 1
        if draft is None:
            scene = drawn_setting(kit, rng)
            objects, draw = scene.objects, partial(drawn, kit, scene, rng)
        elif settings > size:
            return None
        else:
            setting = made_up_setting(draft, domain, rng)
            objects, draw = [*setting.objects], partial(_drawn_made_up, setting, rng)
        names = {**of_domain, **_new_objects(objects, of_domain, rng)} if rename else {}
        most = min(size, len(lines) + _ALIKE)
        for _ in range(_TRIES):
            found = draw()
            if found is None:
                continue
            if names:
                found = renamed(found, names)
            line = _line(found, form, group, rng)
            if len(line) > _LONGEST:
                break
            lines[line] = None
            if len(lines) == most:
                break
    return list(lines)


def _drawn_made_up(setting: Problem, rng: Random) -> Solved | None:
    """As `drawn`, of a setting of a made-up domain."""
    [count] = rng.choices(range(len(_RULES)), _RULES)
    try:
        problem = with_goal_and_rules(setting, rng, count)
        found = _solved(problem) if problem is not None else None
    except SafegenError:
        return None
    # Most goals that chance sets are a step or two away.
    if found is None or len(found.plan.steps) < rng.randint(1, _NEAR):
        return None
    return found


def held_out_problems(name: str, seed: int, count: int) -> list[Solved]:
    """Problems of a domain that no lesson is about, drawn as those of the made-up domains.

    Args:
        name: a part of `made_up.yaml` under `held_out`.
        seed: the same arguments give the same problems, except where one is left out because this
            machine takes too long for it.
    """
    rng, draft = Random(f'{name} {seed}'), held_out_domain(name)  # noqa: S311  # no secret
    domain = domain_of(draft, name)
    found: dict[str, Solved] = {}
    while len(found) < count:
        solved = _drawn_made_up(made_up_setting(draft, domain, rng), rng)
        if solved is not None:
            found[problem_text(solved.problem)] = solved
    return list(found.values())


@dataclass(frozen=True, slots=True)
class LessonSetting:
    """What the problems of a group share.

    Attributes:
        title: the name of each of them.
        size: the values of the domain's parameters.
        instance: its objects and initial state are those of all of them.
    """

    title: str
    size: dict[str, int]
    instance: Instance

    @property
    def objects(self) -> list[str]:
        """Their names."""
        return [name for name, _ in self.instance.objects]


def drawn_setting(kit: DomainKit, rng: Random) -> LessonSetting:
    """A random scene of a random size."""
    ranges = [(p.name, p.paper, (p.least, p.wide[1])) for p in kit.parameters]
    while True:
        paper = rng.random() < _PAPER
        drawn_size = {n: rng.randint(*(usual if paper else wide)) for n, usual, wide in ranges}
        try:
            size = kit.checked(drawn_size)
        except SafegenError:
            continue  # the parameters do not fit each other
        return LessonSetting(f'{kit.name}-{rng.randrange(1000)}', size, kit.draw(rng, size))


def drawn(kit: DomainKit, scene: LessonSetting, rng: Random) -> Solved | None:
    """A problem with its plan; None where chance has made none that can be learned from."""
    instance, other = scene.instance, kit.draw(rng, scene.size)
    if {*other.objects} == {*instance.objects}:
        instance = replace(instance, goal=other.goal)
    if {*instance.goal} <= {*instance.init}:
        return None
    try:
        [count] = rng.choices(range(len(_RULES)), _RULES)
        ruled = with_rules(kit, scene.size, instance, learned_families(kit.name), count, rng)
        if ruled is None:
            return None
        problem = read_problem(kit.text(scene.title, ruled), folder_domain(kit.name))
        if rng.random() < _OTHER_GOALS:
            problem = with_other_goal(problem, rng)
        if rng.random() < _ANY_RULE:
            problem = with_any_rule(problem, unlearned_shapes(kit.name), rng) or problem
        found = _solved(problem)
    except SafegenError:
        return None  # no plan, or none soon enough
    if problem.constraints and verify(problem, found.unsafe).ok and rng.random() < _BINDING:
        return None
    if not found.plan.steps or is_test_class(canonical_problem(problem).key):
        return None
    return found


def _solved(problem: Problem) -> Solved:
    plan, unsafe = _shortest(problem), _shortest(replace(problem, constraints=()))
    return Solved(problem, plan, unsafe)


@cache
def learned_families(domain: str) -> list[str]:
    """The constraint families of a domain that may be learned."""
    held_out = load_recipe(data_path(BENCH_RECIPE)).domains[domain].held_out
    return [name for name in kits()[domain].families if name not in held_out]


@cache
def unlearned_shapes(domain: str) -> frozenset[Shape]:
    """The shapes that no rule of a lesson may have: those of the families held out."""
    learned = learned_families(domain)
    found = (shapes(domain, name) for name in kits()[domain].families if name not in learned)
    return frozenset[Shape]().union(*found)


def _shortest(problem: Problem) -> Plan:
    return solve_in_process(problem, Budget(_TIME_LIMIT_S, _MEMORY_MB), optimal=True).plan


def row_group(rows: Sequence[Row], seed: int, number: int, size: int) -> list[str]:
    """The lines of a group: problems of a dataset in any format, half of them with other names.

    Lessons with a domain and a format in common have a group in common.
    """
    rng = Random(f'{seed} {number}')  # noqa: S311  # no secret
    lines = []
    for row in (rng.choice(rows) for _ in range(size)):
        problem = row_problem(row)
        plans = [parse_plan(row.plan), parse_plan(row.unconstrained_plan)]
        solved = Solved(problem, *plans)
        if rng.random() < _RENAMED:
            solved = renamed(solved, _new_objects([*problem.objects], {}, rng))
        [form] = rng.choices([f for f, _ in _FORMATS], [weight for _, weight in _FORMATS])
        lines.append(_line(solved, form, f'{row.domain} {form}', rng))
    return lines


def _line(solved: Solved, form: str, group: str, rng: Random) -> str:
    problem, style = solved.problem, InstructStyle()
    history = []
    if rng.random() < _REPAIRS:
        failed = failed_attempt(problem, solved.plan, solved.unsafe, f'{rng.random()}')
        history = [failed] if failed is not None else []
    values = {
        'prompt': style.messages(problem, history, form),
        'completion': style.answer(solved.plan, problem),
        'group': group,
    }
    return json.dumps(values, ensure_ascii=False) + '\n'


# Words of every day, none of them one of PDDL.
_NOUNS = """
apple arrow badge barn basil beacon berry bird boat bolt book bottle branch bridge brush bucket
button cabin cable camel candle canvas castle cedar chain chair chalk cherry circle clock cloud
coal coin copper coral cotton crane crown cup daisy dawn deer desk diamond dove dragon drum eagle
earth ember engine farm feather fern field fig flag flame flower forest fox frame garden gem ghost
glass globe gold grape grass hammer harbor hat hawk hill honey horn horse house ice iron island ivy
jacket jewel kettle kite ladder lake lamp leaf lemon lens lily lion lotus magnet maple marble melon
mill mirror moon moss needle nest oak oasis ocean olive onion orange orchid otter owl paint palm
paper pearl pepper piano pilot pine planet plum pond prism pump quartz queen rabbit rail raven reef
ribbon ridge river robin rocket roof rope rose ruby saddle sail salt sand scarf seed shadow shell
shield silk silver skull smoke snow spark spoon spring star steel stone storm sugar swan table tent
thorn thunder tiger torch tower trail tulip valley violet wagon walnut wheel willow window wolf
""".split()  # noqa: SIM905
_WORD = re.compile(r'\?[\w-]+|(?<![:\w-])[a-z][\w-]*')


def _new_names(domain: Domain, rng: Random) -> dict[str, str]:
    """Other names for all that a domain names."""
    kinds = {*domain.types} - {'object'}
    own = sorted({domain.name, *kinds, *domain.constants, *domain.predicates, *domain.actions})
    return dict(zip(own, rng.sample(_NOUNS, len(own)), strict=True))


def _new_objects(names: Sequence[str], taken: Mapping[str, str], rng: Random) -> dict[str, str]:
    """Other names for the objects of a problem; `taken` are the new names of its domain."""
    free = [noun for noun in _NOUNS if noun not in taken.values()]
    objects = [name for name in names if name not in taken]
    fresh = rng.sample(free, len(objects))
    if rng.random() < 0.5:  # numbered, as people do
        stem = rng.choice((rng.choice(free)[0], rng.choice(free)))
        fresh = [f'{stem}{number}' for number in rng.sample(range(1, 100), len(objects))]
    return dict(zip(objects, fresh, strict=True))


def renamed(solved: Solved, names: dict[str, str]) -> Solved:
    """The problem and its plan under other names, variables included.

    Args:
        solved: both under the names of our domains.
        names: the new names of objects and, unless the domain stays as it is, of all its names.

    Raises:
        SafegenError: the result is not a problem, or the plan does not solve it.
    """
    problem, given, domain = solved.problem, _Renamer(names), solved.problem.domain
    if domain.name in names:
        domain = read_domain(given.text(domain_text(domain)))
    text = problem_text(replace(problem, name='task'))
    found = read_problem(given.text(text), domain)
    plan, unsafe = (
        Plan(
            tuple(
                Step(names.get(s.action, s.action), tuple(names[a] for a in s.arguments))
                for s in old.steps
            )
        )
        for old in (solved.plan, solved.unsafe)
    )
    verdict = verify(found, plan)
    if not verdict.ok:
        raise SafegenError(f'renaming has made another problem of it: {verdict.reason}')
    return Solved(found, plan, unsafe)


class _Renamer:
    """Replaces names in PDDL; variables are numbered in the order in which they come."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names
        self._variables: dict[str, str] = {}

    def text(self, text: str) -> str:
        return _WORD.sub(self._word, text)

    def _word(self, found: re.Match[str]) -> str:
        word = found[0]
        if word.startswith('?'):
            return self._variables.setdefault(word, f'?x{len(self._variables) + 1}')
        if word == 'at' and found.string.startswith(' end ', found.end()):
            return word  # the operator of PDDL3
        return self._names.get(word, word)
