# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A candidate depends on recipe, domain and number alone, and its row keeps its promises."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.datasets_small import small_recipe
from support.strategies import one_in

from safegen_ros.datasets.files import DatasetError, RecipeError
from safegen_ros.datasets.pddl3 import candidates
from safegen_ros.datasets.pddl3.any_rule import shape, shapes
from safegen_ros.datasets.pddl3.candidates import REFUSALS, candidate, drawn
from safegen_ros.datasets.pddl3.mixed import ANY_GOAL, ANY_RULE, LARGER, RULES
from safegen_ros.datasets.pddl3.recipe import default_values, domain_recipe, load_recipe, recipe_of
from safegen_ros.datasets.pddl3.rows import Row, row_problem
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.paths import data_path
from safegen_ros.pddl.model import AtomFormula
from safegen_ros.pddl.reader import read_problem
from safegen_ros.tasks.pddl3.domains import builtin_domain, kits
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.val import Opinion
from safegen_ros.verify.val_faults import ValFault

RECIPE = small_recipe()


def _first(domain: str) -> Row:
    made = (candidate(RECIPE, domain, number) for number in range(50))
    return next(row for row in made if isinstance(row, Row))


@pytest.mark.slow
@pytest.mark.parametrize('domain', one_in(2, RECIPE.domains))
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


def test_a_search_that_fails_is_an_error_that_names_the_candidate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def give_up(*_: Any, **__: Any) -> Any:
        raise SafegenError('the search has failed')

    row = _first('ferry')
    monkeypatch.setattr(candidates, 'solve_in_process', give_up)
    with pytest.raises(
        DatasetError, match=rf'ferry, candidate {row.number} \({row.family}, .* has failed'
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


@pytest.mark.parametrize('domain', one_in(4, MIX.domains))
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
@pytest.mark.parametrize('domain', one_in(4, LATER.domains))
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


def test_what_leaves_too_much_to_search_is_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    row = _first('ferry')
    monkeypatch.setattr(candidates, '_MEMORY_LIMIT_MB', 0.05)
    assert candidate(RECIPE, 'ferry', row.number) == 'too hard'


def test_a_recipe_reads_back(tmp_path: Path) -> None:
    recipe = small_recipe()
    path = tmp_path / 'recipe.json'
    path.write_text(recipe.to_json())
    assert load_recipe(path) == recipe
    assert load_recipe(path).digest == recipe.digest
    assert replace(recipe, seed=4).digest != recipe.digest


@pytest.mark.parametrize(
    ('change', 'equal'),
    [
        ({'quotas': {'train': 3, 'test': 2, 'test_family': 0, 'test_renamed': 0}}, True),
        ({'held_out': ()}, True),
        ({'paper_share': 0.25}, False),
        ({'weights': {'express': 1.0}}, False),
        ({'sizes': {'locations': (3, 3), 'cars': (2, 2)}}, False),
    ],
)
def test_candidates_depend_on_what_they_are_drawn_by(change: dict[str, Any], equal: bool) -> None:
    recipe = small_recipe()
    changed = replace(recipe.domains['ferry'], **change)
    other = replace(recipe, name='other', domains={**recipe.domains, 'ferry': changed})
    assert (recipe.candidates_digest('ferry') == other.candidates_digest('ferry')) == equal
    assert recipe.candidates_digest('ferry') != replace(recipe, seed=9).candidates_digest('ferry')
    assert recipe.digest != other.digest


def test_half_of_the_candidates_are_of_families_of_the_paper() -> None:
    for kit in kits().values():
        weights = domain_recipe(kit).weights
        assert set(weights) == set(kit.families)
        paper = sum(w for name, w in weights.items() if kit.families[name].paper)
        assert 2 * paper == sum(weights.values())


def test_a_domain_that_no_recipe_mentions_has_values_of_its_own() -> None:
    values = {**json.loads(small_recipe().to_json()), 'domains': {'ferry': default_values('ferry')}}
    recipe = recipe_of(json.loads(json.dumps(values)), 'recipe')
    assert recipe.domains['ferry'].quotas['train'] == 500
    with pytest.raises(RecipeError, match="there is no domain 'boats': use blocksworld "):
        default_values('boats')


def _ferry(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda values: values['domains']['ferry'].update(changes)


def _quota(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda values: values['domains']['ferry']['quotas'].update(changes)


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda v: v.pop('seed'), "recipe: field 'seed' is missing: add it"),
        (lambda v: v.update(seed=-1), 'recipe: seed: is -1: take 0 to '),
        (lambda v: v.update(version=9), 'recipe: version: is 9: this program makes 1'),
        (lambda v: v.update(name=''), "recipe: name: is '': give the dataset a name"),
        (lambda v: v.update(block_size=0), 'recipe: block_size: is 0: take 1 to 10,000'),
        (lambda v: v.update(domains={}), 'domains: ask for no row: raise a quota'),
        (
            lambda v: v['domains'].update(boats=v['domains']['ferry']),
            'domains.boats: there is no such domain: use',
        ),
        (_ferry(paper_share=2), 'domains.ferry.paper_share: is 2: take 0 to 1'),
        (_ferry(sizes={'cars': [1, 2]}), "ferry.sizes: field 'locations' is missing: add it"),
        (_ferry(sizes={'cars': [3, 2], 'locations': [3, 4]}), r'\[3, 2\]: write \[smallest'),
        (_ferry(sizes={'cars': [0, 2], 'locations': [3, 4]}), 'sizes.cars: is 0: take 1 to 1,000'),
        (
            _ferry(sizes={'cars': [1, 1], 'locations': [2, 2]}),
            "family 'stop-before-delivery' has no problem of 2 to 2 locations, 1 to 1 cars: widen",
        ),
        (_ferry(weights={'express': 0}), 'weights.express: is 0: take 1 to'),
        (_ferry(weights={'flying': 1}), "weights: there is no 'flying': use stop-before-delivery"),
        (_ferry(held_out=['flying']), "held_out: there is no 'flying': use"),
        (_ferry(held_out=[]), 'held_out: is empty, but test_family asks for rows: name a family'),
        (_ferry(weights={'closed-later': 1}, held_out=['closed-later']), 'no family to train on'),
        (
            _ferry(weights={'closed-later': 1, 'two-rules': 1}, held_out=['closed-later']),
            "held_out: cannot be beside 'two-rules', which draws from all families: leave one",
        ),
        (_quota(train=0), 'quotas.train: is 0: take 1 to'),
        (_quota(test=1.5), 'quotas.test: is 1.5: write a whole number'),
        (_quota(test_renamed=9), 'quotas.test_renamed: exceeds train, of which it is made'),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    change: Callable[[dict[str, Any]], None], message: str
) -> None:
    values = json.loads(small_recipe().to_json())
    change(values)
    with pytest.raises(RecipeError, match=message) as caught:
        recipe_of(values, 'recipe')
    assert caught.value.code is ErrorCode.BAD_PDDL


@pytest.mark.parametrize(
    ('text', 'message'),
    [(None, 'cannot be read: No such file'), ('{', 'is not JSON'), ('3', 'is 3')],
)
def test_a_file_that_is_no_recipe_is_refused(
    tmp_path: Path, text: str | None, message: str
) -> None:
    path = tmp_path / 'recipe.json'
    if text is not None:
        path.write_text(text)
    with pytest.raises(RecipeError, match=message):
        load_recipe(path)
