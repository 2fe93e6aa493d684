# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A candidate depends on recipe, domain and number alone, and its row keeps its promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from support.datasets_small import small_recipe

from safegen_ros.datasets.files import DatasetError
from safegen_ros.datasets.pddl3 import candidates
from safegen_ros.datasets.pddl3.any_rule import shape, shapes
from safegen_ros.datasets.pddl3.candidates import REFUSALS, candidate, drawn
from safegen_ros.datasets.pddl3.mixed import ANY_GOAL, ANY_RULE, LARGER, RULES
from safegen_ros.datasets.pddl3.recipe import load_recipe
from safegen_ros.datasets.pddl3.rows import Row, row_problem
from safegen_ros.paths import data_path
from safegen_ros.pddl.model import AtomFormula
from safegen_ros.pddl.reader import read_problem
from safegen_ros.search.budget import SearchLimit
from safegen_ros.tasks.pddl3.domains import builtin_domain, kits
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.val import Opinion
from safegen_ros.verify.val_faults import ValFault

RECIPE = small_recipe()


def one_by_day(domains: Iterable[str], by_day: str) -> list[Any]:
    """Parameters of which all but one are left to the nightly tier."""
    night = pytest.mark.nightly
    return [pytest.param(name, marks=() if name == by_day else night) for name in domains]


def _first(domain: str) -> Row:
    made = (candidate(RECIPE, domain, number) for number in range(50))
    return next(row for row in made if isinstance(row, Row))


@pytest.mark.slow
@pytest.mark.parametrize('domain', one_by_day(RECIPE.domains, 'spanner'))
def test_a_candidate_is_the_same_every_time(domain: str) -> None:
    made = [candidate(RECIPE, domain, number) for number in range(8)]
    assert made == [candidate(RECIPE, domain, number) for number in reversed(range(8))][::-1]
    other = replace(RECIPE, seed=4)
    assert made != [candidate(other, domain, number) for number in range(8)]
    assert all(isinstance(each, Row) or each in REFUSALS for each in made)


@pytest.mark.parametrize('domain', RECIPE.domains)
def test_families_and_sizes_follow_the_recipe(domain: str) -> None:
    kit, wanted = kits()[domain], RECIPE.domains[domain]
    many = [drawn(RECIPE, domain, number) for number in range(1000)]
    families = Counter(family for family, _, _ in many)
    assert set(families) == set(wanted.weights)
    paper = sum(count for name, count in families.items() if kit.families[name].paper)
    assert 430 < paper < 570
    for share, expected in ((1.0, True), (0.0, False)):
        changed = replace(wanted, paper_share=share)
        recipe = replace(RECIPE, domains={domain: changed})
        sizes = [drawn(recipe, domain, number)[1] for number in range(100)]
        assert all(kit.is_paper_size(size) for size in sizes) is expected
        for size in sizes:
            assert all(low <= size[n] <= high for n, (low, high) in wanted.sizes.items())
    seeds = {seed for _, _, seed in many}
    assert len(seeds) == len(many)


@pytest.mark.parametrize('domain', RECIPE.domains)
def test_no_text_tells_family_or_seed(domain: str) -> None:
    row = _first(domain)
    for text in (row.problem, row.json, row.english):
        assert row.id in text
        assert row.family not in text
    seed = str(drawn(RECIPE, domain, row.number)[2])
    assert seed not in row.to_line()
    problem = read_problem(row.problem, builtin_domain(domain), row.id)
    assert problem.name == row.id == f'{domain}-{row.number:03d}'


def test_a_search_that_ends_at_a_limit_is_an_error_that_names_the_candidate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def give_up(*_: Any, **__: Any) -> Any:
        raise SearchLimit('the search ended at its time limit of 1 s: allow more time')

    row = _first('ferry')
    monkeypatch.setattr(candidates, 'solve_in_process', give_up)
    with pytest.raises(
        DatasetError, match=rf'ferry, candidate {row.number} \({row.family}, .* time limit'
    ):
        candidate(RECIPE, 'ferry', row.number)


def test_a_plan_that_val_refuses_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    row = _first('spanner')
    no = Opinion(Verdict(Category.UNKNOWN, 'VAL said nothing', -1, 9))
    monkeypatch.setattr(candidates, 'ask', lambda *_: no)
    with pytest.raises(DatasetError, match='VAL refuses the plan: VAL said nothing'):
        candidate(RECIPE, 'spanner', row.number)
    assert isinstance(candidate(replace(RECIPE, val=False), 'spanner', row.number), Row)


def test_a_problem_that_val_cannot_judge_becomes_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    row = _first('spanner')
    fault = ValFault('a-fault', 'crashes', lambda problem, plan: True)
    no = Opinion(Verdict(Category.UNKNOWN, 'VAL cannot be asked', -1, 9), fault=fault)
    monkeypatch.setattr(candidates, 'ask', lambda *_: no)
    assert candidate(RECIPE, 'spanner', row.number) == 'no second opinion'


MIX = load_recipe(data_path('config/dataset/mini-mix.json'))
LATER = load_recipe(data_path('config/dataset/mini-mix4.json'))
_KINDS = {*RULES} - {ANY_RULE, LARGER}


@pytest.mark.parametrize('domain', one_by_day(MIX.domains, 'spanner'))
def test_the_mix_has_several_rules_small_sizes_and_other_goals(domain: str) -> None:
    """Of the families of its recipe, none of which the benchmark holds out."""
    bench = load_recipe(data_path('data/safegen-bench/recipe.json'))
    assert not {*MIX.domains[domain].weights} & {*bench.domains[domain].held_out}
    made = [row for n in range(60) if isinstance(row := candidate(MIX, domain, n), Row)]
    assert {row.family for row in made} >= _KINDS - {'none'}
    usual: set[str] = set()
    asked: set[str] = set()
    most: Counter[str] = Counter()
    for row in made:
        problem = read_problem(row.problem, builtin_domain(domain), row.id)
        goal = {g.predicate for g in problem.goal_conjuncts() if isinstance(g, AtomFormula)}
        (asked if row.family == ANY_GOAL else usual).update(goal)
        if row.family in RULES:
            most[row.family] = max(most[row.family], len(problem.constraints))
            assert kits()[domain].measure(problem) == dict(row.size)
    assert asked - usual
    assert all(most[name] >= max(RULES[name]) for name in _KINDS if name != ANY_GOAL)


@pytest.mark.parametrize('kind', [ANY_RULE, LARGER])
@pytest.mark.parametrize('domain', one_by_day(LATER.domains, 'spanner'))
def test_a_later_mix_has_rules_of_any_shape_and_larger_sizes(domain: str, kind: str) -> None:
    """What the benchmark holds out has no rule of their shapes."""
    kit, wanted = kits()[domain], LATER.domains[domain]
    held_out = load_recipe(data_path('data/safegen-bench/recipe.json')).domains[domain].held_out
    assert not {*wanted.weights} & {*held_out}
    unseen = {each for name in held_out for each in shapes(domain, name)}
    known = {each for name in kit.families for each in shapes(domain, name)}
    weights = {name: 1 for name in wanted.weights if name not in RULES}
    changed = replace(wanted, weights={**weights, kind: 10_000})
    recipe = replace(LATER, domains={domain: changed})
    made = [row for n in range(20) if isinstance(row := candidate(recipe, domain, n), Row)]
    rules = {shape(c) for row in made for c in row_problem(row).constraints}
    assert unseen.isdisjoint(rules)
    assert bool(rules - known) is (kind == ANY_RULE)
    wide = {parameter.name: parameter.wide[1] for parameter in kit.parameters}
    for row in made:
        assert any(n > wide[name] for name, n in row.size) is (kind == LARGER)
