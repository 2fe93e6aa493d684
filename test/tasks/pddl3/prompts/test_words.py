# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Words of tasks and plans: what the small model reads and writes."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import examples

from safegen_ros.llm.special_tokens import PLAN, SPECIAL_TOKENS
from safegen_ros.llm.tokenizers import word_tokenizer
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import AtomFormula, conjuncts
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.pddl.reader import read_problem
from safegen_ros.pddl.writer import atom_text, formula_text
from safegen_ros.search.budget import Budget
from safegen_ros.search.in_process import solve_in_process
from safegen_ros.tasks.pddl3.domains import builtin_domain, kits
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.prompts.slots import slotted
from safegen_ros.tasks.pddl3.prompts.words import (
    plan_words,
    read_steps,
    reasoned_text,
    task_words,
    vocabulary,
    words_of,
)
from safegen_ros.tasks.pddl3.task import load_task

ARITIES = {'stack': 2, 'pickup': 1, 'wait': 0}


def test_every_family_is_told_in_known_words() -> None:
    known = set(vocabulary())
    lengths = []
    for kit in kits().values():
        for family in (*kit.families, 'none'):
            generated = kit.problem(5, kit.sizes(family, wide=True)[-1], family)
            task = slotted(generated.problem)
            for form in FORMATS:
                words = task_words(task, form)
                lengths.append(len(words))
                assert known.issuperset(words), (family, set(words) - known)
            assert known.issuperset(plan_words(task.plan(generated.witness)))
    assert len(lengths) == 3 * sum(len(kit.families) + 1 for kit in kits().values())


def test_a_vocabulary_has_marks_first_and_no_word_twice() -> None:
    words = vocabulary()
    assert words[: len(SPECIAL_TOKENS)] == SPECIAL_TOKENS
    assert len(set(words)) == len(words)


@pytest.mark.nightly
def test_different_tasks_have_different_words() -> None:
    """Brackets are left out: nothing may be lost with them."""
    for form in FORMATS:
        seen: dict[tuple[str, ...], object] = {}
        for kit in kits().values():
            for seed in range(60):
                task = slotted(kit.problem(seed).problem)
                assert seen.setdefault(tuple(task_words(task, form)), task.problem) == task.problem


@pytest.mark.slow
def test_the_tokenizer_reads_texts_as_words() -> None:
    tokenizer = word_tokenizer(vocabulary(), 512)
    for kit in kits().values():
        task = slotted(kit.problem(3).problem)
        for form in FORMATS.values():
            text = form.write(task.problem)
            ids = tokenizer(text, add_special_tokens=False)['input_ids']
            assert tokenizer.convert_ids_to_tokens(ids) == words_of(text)
    asked = tokenizer.apply_chat_template(
        [{'role': 'user', 'content': 'block1 [attempt] pickup block1 [verdict] safety'}],
        tokenize=False,
        add_generation_prompt=True,
    )
    found = tokenizer(asked, add_special_tokens=False)['input_ids']
    assert tokenizer.unk_token_id not in found
    assert tokenizer.convert_ids_to_tokens(found)[-1] == PLAN


@pytest.mark.parametrize('name', kits())
def test_plans_come_back_from_their_words(name: str) -> None:
    generated = kits()[name].problem(11)
    domain = generated.problem.domain
    arities = {n: len(a.parameters) for n, a in domain.actions.items()}
    task = slotted(generated.problem)
    plan = task.plan(generated.witness)
    assert read_steps(plan_words(plan), arities) == plan
    assert task.original(plan) == generated.witness
    assert read_steps(plan_words(plan)[:-1], arities) is None


@examples(300)
@given(st.lists(st.sampled_from(['stack', 'pickup', 'wait', 'block1', 'block2', 'safety', ''])))
def test_any_words_are_a_plan_or_none(words: list[str]) -> None:
    plan = read_steps(words, ARITIES)
    if plan is not None:
        assert plan_words(plan) == words
        assert all(len(step.arguments) == ARITIES[step.action] for step in plan.steps)


def test_no_words_are_the_empty_plan() -> None:
    assert read_steps([], ARITIES) == Plan()
    assert parse_plan('') == Plan()


def test_goals_that_differ_by_brackets_alone_have_different_words() -> None:
    def words(goal: str) -> list[str]:
        text = (
            '(define (problem p) (:domain blocksworld) (:objects a b c) (:init (arm-empty)'
            f'(on-table a) (on b a) (on c b) (clear c)) (:goal {goal}))'
        )
        return task_words(slotted(read_problem(text, builtin_domain('blocksworld'))), 'pddl')

    one = '(or (and (on a b) (on b a)) (on-table b) (on-table c))'
    other = '(or (and (on a b) (on b a) (on-table b)) (on-table c))'
    assert words(one) != words(other)


def split(comment: str) -> tuple[str, str]:
    """What a comment says that a step is for, and what it says that it needs."""
    aims, mark, needs = comment.partition(':')
    return (aims, needs) if mark else ('', aims)


TOWER = """
(define (problem tower) (:domain blocksworld) (:objects a b c)
  (:init (arm-empty) (on-table a) (on b a) (clear b) (on-table c) (clear c))
  (:goal (and (on a c) (on-table b))))
"""


def test_each_step_says_what_it_is_for_needs_and_changes() -> None:
    task = load_task(TOWER)
    plan = parse_plan('(unstack b a) (putdown b) (pickup a) (stack a c)')
    assert reasoned_text(plan, task.problem) == (
        '; (on-table b) (holding b): (on b a) (clear b) (arm-empty)\n(unstack b a)\n'
        '; + (holding b) (clear a) - (clear b) (on b a) (arm-empty)\n'
        '; (on-table b): (holding b)\n(putdown b)\n'
        '; + (clear b) (arm-empty) (on-table b) - (holding b)\n'
        '; (on a c) (holding a): (clear a) (on-table a) (arm-empty)\n(pickup a)\n'
        '; + (holding a) - (clear a) (on-table a) (arm-empty)\n'
        '; (on a c): (clear c) (holding a)\n(stack a c)\n'
        '; + (arm-empty) (clear a) (on a c) - (clear c) (holding a)'
    )


def test_a_step_behind_the_goal_is_for_nothing_more() -> None:
    task = load_task(TOWER.replace('(and (on a c) (on-table b))', '(on b a)'))
    plan = parse_plan('(pickup c) (putdown c)')
    assert reasoned_text(plan, task.problem).startswith('; (clear c) (on-table c) (arm-empty)\n')


@pytest.mark.parametrize('name', sorted(kits()))
def test_what_is_said_is_true(name: str) -> None:
    kit = kits()[name]
    size = kit.checked({each.name: each.paper[0] for each in kit.parameters})
    for seed in range(5):
        text = kit.text(f't{seed}', kit.draw(Random(seed), size))  # no secret
        problem = load_task(text).problem
        plan = solve_in_process(problem, Budget(5.0, 1024.0)).plan
        told = reasoned_text(plan, problem)
        assert parse_plan(told) == plan
        table = AtomTable(problem)
        grounder, state = Grounder(problem, table), table.encode(problem.init)
        goal = {formula_text(p) for p in conjuncts(problem.goal) if isinstance(p, AtomFormula)}
        changes = iter(told.splitlines()[2::3])
        for comment, step in zip(told.splitlines()[::3], plan.steps, strict=True):
            aims, needs = (re.findall(r'\([^()]*\)', part) for part in split(comment))
            holds = {atom_text(atom) for atom in table.atoms(state)}
            after = grounder.ground(step).apply(state)
            assert {*needs} <= holds
            assert not aims or aims[0] in goal
            assert {*aims[-1:]} <= {atom_text(atom) for atom in table.atoms(after)} - holds
            made, _, gone = next(changes).partition(' - ')
            now = {atom_text(atom) for atom in table.atoms(after)}
            assert {*re.findall(r'\([^()]*\)', made)} == now - holds
            assert {*re.findall(r'\([^()]*\)', gone)} == holds - now
            state = after
