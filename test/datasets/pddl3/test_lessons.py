# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Lessons for a language model: right answers, made-up names, and nothing that is held out."""

from __future__ import annotations

import json
import re
from itertools import takewhile
from random import Random
from typing import Any

import pytest

from safegen_ros.datasets.pddl3.lessons import (
    BENCH_RECIPE,
    drawn,
    drawn_setting,
    learned_families,
    lesson_group,
    row_group,
)
from safegen_ros.datasets.pddl3.made_up import (
    domain_of,
    held_out_domain,
    made_up_domain,
    made_up_setting,
    parts,
    with_goal_and_rules,
)
from safegen_ros.datasets.pddl3.recipe import load_recipe
from safegen_ros.datasets.pddl3.rows import is_test_class, read_rows
from safegen_ros.paths import data_path
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.reader import read_domain
from safegen_ros.search.budget import Budget
from safegen_ros.search.in_process import solve_in_process
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.folders import folder_domain
from safegen_ros.tasks.pddl3.domains.isomorphism import canonical_problem
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.verify.validator import verify

GROUPS = range(10)


@pytest.fixture(scope='module')
def groups() -> list[list[dict[str, Any]]]:
    return [[json.loads(line) for line in lesson_group(7, number, 2)] for number in GROUPS]


def test_every_answer_is_proved_from_the_prompt_alone(groups: list[list[dict[str, Any]]]) -> None:
    """So whatever a lesson renames, it renames everywhere."""
    seen = {'repair': 0, 'renamed': 0, 'made-up': 0}
    for group in groups:
        for lesson in group:
            name, form, _, *renamed = lesson['group'].split()
            asked = lesson['prompt'][0]['content']
            domain_part, task = re.split('\n\n?Problem:\n', asked.split('Domain:\n')[1])
            domain = read_domain(domain_part)
            problem = FORMATS[form].read(task, domain, '<lesson>')
            assert verify(problem, lesson['completion']).ok
            if name == 'made-up':
                seen['made-up'] += 1
            elif renamed:
                seen['renamed'] += 1
                assert not {*domain.actions} & {*kits()[name].names}
            if len(lesson['prompt']) == 3:
                seen['repair'] += 1
                assert not verify(problem, lesson['prompt'][1]['content']).ok
                assert 'refused' in lesson['prompt'][2]['content']
    assert all(seen.values())


def test_prompts_of_a_group_begin_alike(groups: list[list[dict[str, Any]]]) -> None:
    """With the domain always, and mostly with the objects and the initial state."""
    one_state = 0
    for group in groups:
        first, second = (lesson['prompt'][0]['content'] for lesson in group)
        pairs = zip(first, second, strict=False)
        alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        problem = first.index('Problem:\n')
        assert alike >= problem
        one_state += alike - problem > (len(first) - problem) / 4
    assert one_state > len(groups) / 2


@pytest.mark.nightly
def test_problems_are_small_and_mixed_and_none_is_for_tests() -> None:
    rng = Random(3)
    constraints, steps = set(), set()
    for kit in kits().values():
        scenes = [drawn_setting(kit, rng) for _ in range(40)]
        found = [solved for scene in scenes if (solved := drawn(kit, scene, rng)) is not None]
        assert len(found) >= 8
        for solved in found:
            assert not is_test_class(canonical_problem(solved.problem).key)
            assert verify(solved.problem, solved.plan).ok
            constraints.add(min(len(solved.problem.constraints), 4))
            steps.add(len(solved.plan.steps))
    assert constraints >= {0, 1, 2, 3, 4}
    assert min(steps) <= 2


def test_families_of_the_benchmark_are_held_out() -> None:
    for name, wanted in load_recipe(data_path(BENCH_RECIPE)).domains.items():
        assert wanted.held_out
        assert {*learned_families(name)} == {*kits()[name].families} - {*wanted.held_out}


def test_the_same_seed_gives_the_same_lessons() -> None:
    assert lesson_group(5, 3, 2) == lesson_group(5, 3, 2) != lesson_group(6, 3, 2)


def test_problems_of_a_dataset_keep_their_plans_under_other_names() -> None:
    rows = list(read_rows(data_path('data/safegen-bench/test.jsonl')))
    renamed = 0
    for line in row_group(rows, 3, 0, 12):
        lesson = json.loads(line)
        name, form = lesson['group'].split()
        asked = lesson['prompt'][0]['content'].split('Problem:\n')[1]
        problem = FORMATS[form].read(asked, folder_domain(name), '<lesson>')
        assert verify(problem, lesson['completion']).ok
        renamed += problem.name == 'task'
    assert 1 <= renamed <= 11


def steps_of(problem: Problem) -> int:
    plan = solve_in_process(problem, Budget(5.0, 1024.0), optimal=True).plan
    assert verify(problem, plan).ok
    return len(plan.steps)


@pytest.mark.nightly
def test_made_up_domains_differ_and_have_something_to_do() -> None:
    shapes, found = set(), []
    for seed in range(12):
        rng = Random(seed)
        draft = made_up_domain(rng)
        domain = domain_of(draft, 'world')
        shapes.add(tuple(sorted(domain.actions)))
        settings = (made_up_setting(draft, domain, rng) for _ in range(4))
        found += [each for s in settings if (each := with_goal_and_rules(s, rng, seed % 2))]
    assert len(shapes) > 6
    assert max(map(steps_of, found)) > 3
    assert sum(bool(problem.constraints) for problem in found) > 8


@pytest.mark.parametrize('name', parts()['held_out'])
def test_domains_for_tests_have_problems_and_are_not_learned(name: str) -> None:
    domain = domain_of(held_out_domain(name), name)
    assert not {*domain.actions} & {*parts()['learned']}
    rng = Random(name)
    settings = (made_up_setting(held_out_domain(name), domain, rng) for _ in range(8))
    found = [each for s in settings if (each := with_goal_and_rules(s, rng, 0))]
    assert max(map(steps_of, found)) > 1
