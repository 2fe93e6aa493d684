# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A recipe says everything, and says what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.datasets_small import small_recipe

from safegen_ros.datasets.files import RecipeError
from safegen_ros.datasets.pddl3.recipe import default_values, domain_recipe, load_recipe, recipe_of
from safegen_ros.errors import ErrorCode
from safegen_ros.tasks.pddl3.domains import kits


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
