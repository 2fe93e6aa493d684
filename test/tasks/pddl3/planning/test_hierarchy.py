# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a problem is divided by: its complexity, the order of its goals, the objects of a part."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from support import exhaustive, strategies
from support.strategies import make_plan

from safegen_ros.errors import BackendError, Canceled, ErrorCode, SafegenError
from safegen_ros.llm.backend import Cancelled, Completion, Message, Sampling, never
from safegen_ros.llm.decoding.guide import BeamOutcome as Ended
from safegen_ros.llm.decoding.guide import BeamResult, Guide, PlanSyntax
from safegen_ros.llm.transformers_backend import TransformersBackend, TransformersGuide
from safegen_ros.paths import data_path
from safegen_ros.pddl.bits import bit_numbers
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import AtomFormula, Formula, Problem
from safegen_ros.pddl.plan import Plan, Step, parse_plan
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import constraint_text, formula_text, problem_text
from safegen_ros.planning.levels import BEAMS, DEFAULT
from safegen_ros.planning.loop import Outcome, Progress, plan_with_levels
from safegen_ros.search.budget import Budget, Unsolvable
from safegen_ros.search.solve import solve
from safegen_ros.search.task import SearchTask
from safegen_ros.tasks.pddl3.domains import builtin_domain_text, kits
from safegen_ros.tasks.pddl3.planning.hierarchy import divide, goal_ordering
from safegen_ros.tasks.pddl3.planning.hierarchy.divide import Division, PlanPart, divide_and_conquer
from safegen_ros.tasks.pddl3.planning.hierarchy.goal_ordering import atoms_of, goal_orders
from safegen_ros.tasks.pddl3.planning.hierarchy.relaxed_analysis import (
    TRAINED,
    RelaxedAnalysis,
    Thresholds,
    assess,
    thresholds_of,
    trained_on,
)
from safegen_ros.tasks.pddl3.planning.hierarchy.scope import (
    ScopeTooSmall,
    described,
    restricted,
    scopes,
)
from safegen_ros.tasks.pddl3.planning.proposer import ModelProposer
from safegen_ros.tasks.pddl3.planning.strategy import levels_of
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle, PromptStyle, WordStyle, load_style
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_task
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.admissible import Shield
from safegen_ros.verify.validator import Validator, verify

GATES = """(define (domain gates) (:predicates (open ?x) (oiled ?x) (stuck ?x))
  (:action oil :parameters (?x) :precondition (not (open ?x)) :effect (oiled ?x))
  (:action open :parameters (?x) :precondition (not (stuck ?x)) :effect (open ?x))
  (:action shut :parameters (?x) :precondition (open ?x)
    :effect (and (not (open ?x)) (not (oiled ?x)))))"""


def gates(goal: str, constraints: str = '(and)', init: str = '') -> Problem:
    return read_problem(
        f'(define (problem p) (:domain gates) (:objects a b c) (:init {init}) (:goal {goal}) '
        f'(:constraints {constraints}))',
        read_domain(GATES, '<domain>'),
        '<problem>',
    )


def budget() -> Budget:
    return Budget(600.0, 2048.0)


def goals(problem: Problem, number: int = 0) -> list[str]:
    found = goal_orders(SearchTask(problem, budget()), budget())[number]
    return [formula_text(goal.formula) for goal in found]


def test_towers_are_ordered_from_the_table_up() -> None:
    problem = kits()['blocksworld'].problem(4, {'blocks': 12}, 'building-order').problem
    waits = [c.arguments for c in problem.constraints]
    for found in goal_orders(SearchTask(problem, budget()), budget())[:-1]:
        order = [goal.formula for goal in found]
        place = {goal.terms[0]: n for n, goal in enumerate(order) if isinstance(goal, AtomFormula)}
        for goal in order:
            assert isinstance(goal, AtomFormula)
            if goal.predicate == 'on':
                upper, lower = goal.terms
                assert place.get(lower, -1) < place[upper]
        for later, earlier in waits:
            assert order.index(earlier) < order.index(later)


def test_what_is_asked_in_passing_comes_first_or_last_and_deadlines_before_the_rest() -> None:
    problem = gates('(open a)', '(and (sometime (oiled b)) (within 3 (open c)) (at end (open b)))')
    assert goals(problem) == ['(open c)', '(oiled b)', '(open a)', '(open b)']
    assert goals(problem, 1) == ['(open a)', '(open b)']


BOTH = '(and (open a) (open b))'


@pytest.mark.parametrize(
    ('goal', 'constraint', 'order'),
    [
        # A gate cannot be oiled once it is open.
        ('(and (open a) (oiled a) (open b))', '(and)', ['(oiled a)', '(open a)', '(open b)']),
        (BOTH, '(always (imply (open a) (open b)))', ['(open b)', '(open a)']),
        (BOTH, '(always (imply (open b) (open a)))', ['(open a)', '(open b)']),
        (BOTH, '(hold-during 0 5 (not (open a)))', ['(open b)', '(open a)']),
        (BOTH, '(hold-after 6 (open b))', ['(open b)', '(open a)', '(open b)']),
    ],
)
def test_actions_and_constraints_order_goals(goal: str, constraint: str, order: list[str]) -> None:
    assert goals(gates(goal, constraint)) == order


def test_what_goals_use_up_is_laid_in_before_them() -> None:
    """Spanners behind each other on a way of no return, the last one beside the nuts' gate."""
    size = {'spanners': 5, 'nuts': 3, 'locations': 5}
    problem = kits()['spanner'].problem(1, size, 'defective-spanner').problem
    bad = constraint_text(problem.constraints[0]).strip(')').split()[-1]
    task = SearchTask(problem, budget())
    found = goal_orders(
        task, budget(), RelaxedAnalysis(problem, budget()).resource_goals(atoms_of(task))
    )
    place = {atom[1]: atom[2] for atom in problem.init if atom[0] == 'at'}
    spanners = sorted((place[name], name) for name in place if 'spanner' in name and name != bad)
    for order, count in zip(found, (3, 4), strict=False):
        ready = [formula_text(goal.formula) for goal in order if goal.ready]
        assert ready[-1] == '(at bob gate)'
        carried = [text.strip(')').split()[-1] for text in ready[:-1]]
        assert len(carried) == len(set(carried)) == count
        assert {place[name] for name in carried} == {where for where, _ in spanners[:count]}
        assert [place[name] for name in carried] == sorted(place[name] for name in carried)
        assert [goal.ready for goal in order] == [True] * (count + 1) + [False] * 3
    assert not any(goal.ready for goal in found[2])


def test_what_cannot_be_had_together_is_not_laid_in() -> None:
    task = SearchTask(gates('(and (open a) (oiled b))'), budget())
    a, b = (task.table.bit(('open', 'a')), task.table.bit(('oiled', 'a')))
    assert any(goal.ready for goal in goal_orders(task, budget(), [[b]])[0])
    assert any(goal.ready for goal in goal_orders(task, budget(), [[a, b]])[0])
    blocks = SearchTask(kits()['blocksworld'].problem(1, {'blocks': 3}).problem, budget())
    both = [blocks.table.bit(('holding', name)) for name in ('b1', 'b2')]
    assert not any(goal.ready for goal in goal_orders(blocks, budget(), [both])[0])


@strategies.examples(40)
@given(strategies.SEEDS)
def test_atoms_that_are_ever_true_together_are_known_to_be(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.toggles(rng) if seed % 2 else strategies.blocks(rng, 4, 0)
    try:
        task = SearchTask(problem, budget())
    except Unsolvable:
        return
    together = goal_ordering._together(task, budget())
    grounder = Grounder(problem, task.table)
    actions, state = grounder.all_actions(), task.init
    for _ in range(12):
        for number in bit_numbers(state):
            assert not state & ~together[number]
        possible = [action for action in actions if action.applicable(state)]
        if not possible:
            break
        state = rng.choice(possible).apply(state)


@strategies.examples(40)
@given(strategies.SEEDS)
def test_a_plan_over_some_objects_is_a_plan_of_the_whole(seed: int) -> None:
    """In domains whose actions do not range over all objects, as the built-in ones."""
    rng = random.Random(seed)
    problem = strategies.blocks(rng, 5) if seed % 2 else strategies.generated(rng)
    if not verify(problem, Plan()).category.name.startswith('GOAL'):
        return
    count = rng.randint(1, len(problem.objects))
    objects = described(problem, frozenset(rng.sample(list(problem.objects), count)))
    try:
        part = restricted(problem, objects)
    except ScopeTooSmall:
        return
    plan = strategies.plan(rng, part)
    assert verify(part, plan).ok == verify(problem, plan).ok
    try:
        found = solve(part, route='in-process', time_limit_s=2.0).plan
    except SafegenError:
        return
    assert verify(problem, found).ok


@pytest.mark.parametrize(
    ('constraint', 'written'),
    [
        ('(always (or (not (open a)) (stuck c)))', '(always (or (not (open a)) (stuck c)))'),
        ('(always (not (and (open a) (oiled c))))', '(always (not (open a)))'),
        ('(always (not (and (open a) (oiled b))))', ''),
        (
            '(always (forall (?x) (imply (oiled ?x) (open ?x))))',
            '(always (or (open a) (not (oiled a))))',
        ),
        ('(always (exists (?x) (open ?x)))', ''),
        ('(sometime-before (open a) (open b))', '(always (not (open a)))'),
        ('(sometime-after (open a) (oiled c))', ''),
        ('(sometime-after (open a) (open b))', '(always (not (open a)))'),
        ('(at-most-once (open c))', ''),
        ('(hold-after 4 (or (open a) (open b)))', '(hold-after 4 (open a))'),
    ],
)
def test_what_a_constraint_says_of_some_objects(constraint: str, written: str) -> None:
    part = restricted(
        gates('(open a)', constraint, '(open c) (oiled c)'),
        frozenset('ac' if 'stuck c' in constraint else 'a'),
    )
    texts = [constraint_text(c) for c in part.constraints]
    assert ' '.join(texts) == written
    assert set(part.objects) >= {'a'}
    assert all(set(atom[1:]) <= part.objects.keys() for atom in part.init)


@pytest.mark.parametrize('asked', ['(sometime (open b))', '(within 2 (open b))'])
def test_what_cannot_come_true_with_some_objects_is_said(asked: str) -> None:
    with pytest.raises(ScopeTooSmall, match=r'\(open b\) cannot come true'):
        restricted(gates('(open a)', asked), frozenset('a'))
    with pytest.raises(ScopeTooSmall, match=r'\(open b\) cannot come true'):
        restricted(gates('(and (open a) (open b))'), frozenset('a'))


def test_more_and_more_objects_are_taken() -> None:
    problem = kits()['blocksworld'].problem(4, {'blocks': 9}, 'building-order').problem
    below = {atom[1]: atom[2] for atom in problem.init if atom[0] == 'on'}
    upper = next(block for block in below if below[block] in below)
    found = list(scopes(problem, frozenset((upper,))))
    assert found[0] == {upper}
    assert found[1] >= {upper, below[upper], below[below[upper]]}
    assert found[-1] == set(problem.objects)
    for scope, wider in pairwise(found):
        assert scope < wider
    for scope in found[1:]:
        assert all(below[block] in scope for block in scope if block in below)
    waiting = problem.constraints[0].arguments[0]
    assert isinstance(waiting, AtomFormula)
    named = {t for part in problem.constraints[0].arguments for t in part.terms}  # type: ignore[union-attr]
    assert any(named <= scope for scope in list(scopes(problem, frozenset(waiting.terms)))[:-1])


@pytest.mark.parametrize('name', kits())
def test_problems_that_models_are_trained_on_are_simple(name: str) -> None:
    kit = kits()[name]
    for family in list(kit.families)[:4]:
        largest = kit.sizes(family, wide=True)[-1]
        found = assess(kit.problem(5, largest, family).problem, time_limit_s=600.0)
        assert not found.complex, found.reason
        assert 0 < found.relaxed_steps <= 20
        assert found.open_goals <= 7
        for other_name in kit.names:
            assert trained_on(other_name).objects == found.objects


def test_every_reason_why_a_task_is_complex_is_told() -> None:
    kit = kits()['blocksworld']
    large, huge = (kit.problem(1, {'blocks': n}, 'none').problem for n in (16, 60))
    assert assess(huge).reason == 'it has 60 objects, more than 7'
    assert assess(huge, thresholds=TRAINED).reason == 'it has 60 objects, more than 17'
    wide = assess(large, thresholds=TRAINED)
    assert wide.reason == f'it has {wide.open_goals} open goals, more than 7'
    asked = assess(large, lambda problem: WordStyle().messages(problem, []))
    assert asked.complex
    assert asked.reason.startswith('it cannot be put to the model as a whole: problem blocks')
    small = kit.problem(1, {'blocks': 5}, 'none').problem
    assert assess(small, time_limit_s=0.0).reason == 'looking at its actions takes more than 0 s'
    few = replace(TRAINED, relaxed_steps=3)
    found = assess(small, thresholds=few, time_limit_s=600.0)
    assert found.reason == f'it takes {found.relaxed_steps} steps or more, over 3'
    assert not assess(small, time_limit_s=600.0).complex

    def unknown_words(problem: Problem) -> None:
        raise SafegenError('no word for that', ErrorCode.UNSUPPORTED_FEATURE)

    with pytest.raises(SafegenError, match='no word for that'):
        assess(small, unknown_words)  # which parts of it would not help


FOLDER = data_path('models/safegen-mini')
TEN = load_task(kits()['blocksworld'].problem(1, {'blocks': 10}, 'building-order').text)
EIGHT = load_task(kits()['blocksworld'].problem(1, {'blocks': 8}, 'building-order').text)
FIVE = load_task(kits()['blocksworld'].problem(1, {'blocks': 5}, 'building-order').text)

Answer = Callable[[str, Cancelled], str]


class Asked:
    """A model that reads the problem it is asked and answers by a function."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.problems: list[str] = []

    def generate(
        self, messages: Sequence[Message], sampling: Sampling, cancelled: Cancelled, *_: Any
    ) -> Completion:
        self.problems.append(messages[0]['content'].partition('Problem:\n')[2])
        return Completion(self.answer(self.problems[-1], cancelled), 1, 1, 0.0, 'stop')

    def close(self) -> None:
        """Has nothing to let go of."""


def planned(
    strategy: str,
    backend: Any,
    style: PromptStyle,
    task: Pddl3Task = TEN,
    seconds: float = 600.0,
    cancelled: Cancelled = never,
    thresholds: Thresholds | None = None,
) -> tuple[Outcome, list[Progress]]:
    heard: list[Progress] = []
    levels = levels_of(
        strategy,
        ModelProposer(task.problem, backend, style, Sampling(), thresholds=thresholds),
        lambda left, stop: solve(task.problem, time_limit_s=left, cancelled=stop).plan,
        2,
    )
    outcome = plan_with_levels(
        levels, task.verify, seconds, cancelled=cancelled, notify=heard.append
    )
    return outcome, heard


def solved(text: str, cancelled: Cancelled = never) -> str:
    domain = read_domain(builtin_domain_text('blocksworld'), '<domain>')
    return str(solve(read_problem(text, domain, '<part>'), route='in-process').plan)


@pytest.mark.slow
def test_the_shipped_model_plans_eight_blocks_in_parts() -> None:
    backend, style = TransformersBackend(FOLDER, 'cpu'), load_style(FOLDER)
    outcome, heard = planned(DEFAULT, backend, style, EIGHT)
    (attempt,) = outcome.attempts
    assert attempt.source.startswith('hierarchy of beam 2')
    assert {*attempt.source.removeprefix('hierarchy of ').split(', ')} <= {*BEAMS}
    assert outcome.plan is not None
    assert EIGHT.verify(outcome.plan).ok
    assert [(p.phase, p.source) for p in heard[:2]] == [
        ('generating', 'model'),
        ('generating', 'hierarchy'),  # the beams are passed over
    ]
    said = 'model: the task is left to the hierarchy: it has 8 objects, more than 7'
    assert heard[1].detail == said


def test_a_simple_task_is_put_to_the_model_as_a_whole() -> None:
    model = Asked(solved)
    outcome, heard = planned('model, hierarchy', model, InstructStyle(), FIVE)
    assert [a.source for a in outcome.attempts] == ['model']
    assert outcome.plan is not None
    assert not any(p.detail for p in heard)
    in_turn, _ = planned('hierarchy', Asked(solved), InstructStyle(), FIVE)
    assert [a.source for a in in_turn.attempts] == ['hierarchy of model']
    assert in_turn.plan is not None


@pytest.mark.parametrize(
    ('blocks', 'limits', 'source'),
    [
        (10, {}, 'hierarchy'),
        (10, {'objects': 9}, 'hierarchy'),
        (10, {'objects': 10}, 'model'),
        (10, {'objects': 10, 'open_goals': 6}, 'hierarchy'),
        (5, {}, 'model'),
        (5, {'objects': 4}, 'hierarchy'),
        (5, {'relaxed_steps': 2}, 'hierarchy'),
    ],
)
def test_how_large_a_simple_task_may_be_can_be_said(
    blocks: int, limits: dict[str, int], source: str
) -> None:
    task = TEN if blocks == 10 else FIVE
    thresholds = thresholds_of('blocksworld', **limits)
    outcome, _ = planned(
        'model, hierarchy', Asked(solved), InstructStyle(), task, thresholds=thresholds
    )
    assert [a.source.partition(' of ')[0] for a in outcome.attempts] == [source]
    assert outcome.plan is not None


def test_without_a_hierarchy_behind_it_a_complex_task_is_asked_as_a_whole() -> None:
    model = Asked(solved)
    outcome, _ = planned('hierarchy, model', Asked(lambda *_: '(no plan)'), InstructStyle(), FIVE)
    assert outcome.attempts[0].source == 'model'
    outcome, _ = planned('model, search', model, InstructStyle())
    assert [a.source for a in outcome.attempts] == ['model']
    assert len(model.problems) == 1


def test_a_model_without_beams_answers_part_by_part_and_is_told_of_failures() -> None:
    def second_time(text: str, cancelled: Cancelled) -> str:
        return solved(text) if model.problems.count(text) == 2 else '(levitate b1)'

    model = Asked(second_time)
    outcome, _ = planned(DEFAULT, model, InstructStyle())
    assert [a.source for a in outcome.attempts] == ['hierarchy of model']
    assert outcome.plan is not None
    assert TEN.verify(outcome.plan).ok
    assert len(set(model.problems)) > 4
    assert all(text.count('(define') == 1 for text in model.problems)


class Guides(Asked):
    """A model whose beam finds the plan of a part when it is wider than 2."""

    def __init__(self) -> None:
        super().__init__(lambda *_: pytest.fail('a beam would do'))
        self.widths: list[list[int]] = []
        self.limits: list[float] = []

    def writer(self) -> None:
        raise NotImplementedError

    def guide(self, messages: Sequence[Message], shield: Shield, syntax: PlanSyntax) -> Guide:
        asked, text = self, messages[0]['content'].partition('Problem:\n')[2]
        widths: list[int] = []
        self.widths.append(widths)

        class Found(TransformersGuide):
            def __init__(self) -> None:
                """Has no model."""

            def beam(self, width: int, time_limit_s: float, *_: Any, **more: Any) -> BeamResult:
                widths.append(width)
                asked.limits.append(time_limit_s)
                plan = parse_plan(solved(text)) if width > 2 else None
                ending = Ended.EXHAUSTED if plan is None else Ended.FOUND
                return BeamResult(width, False, ending, plan, 0.0, 0, 0.0)

        return Found()


def test_each_part_has_a_guide_of_its_own_and_wider_and_wider_beams() -> None:
    model = Guides()
    outcome, _ = planned(DEFAULT, model, InstructStyle(), seconds=600.0)
    assert [a.source for a in outcome.attempts] == ['hierarchy of beam 4']
    assert len(model.widths) > 4
    assert all(widths == [2, 4] for widths in model.widths)
    assert all(limit <= 600.0 / 2 / 4 / 2 for limit in model.limits)  # level, part, beam


def test_the_last_level_that_can_be_asked_has_all_the_time() -> None:
    def first_limit_s(strategy: str) -> float:
        model = Guides()
        planned(strategy, model, InstructStyle(), seconds=600.0)
        return model.limits[0]  # of the first beam, which has half of the part's quarter

    assert 0.4 * 150.0 < first_limit_s('hierarchy') <= 0.5 * 150.0
    assert first_limit_s('hierarchy, search') <= 0.25 * 150.0


def test_a_model_that_knows_no_answer_leaves_it_to_the_search_planner() -> None:
    model = Asked(lambda *_: '(no plan)')
    outcome, heard = planned(DEFAULT, model, InstructStyle())
    assert [a.source for a in outcome.attempts] == ['search']
    [news] = [p.detail for p in heard if p.phase == 'searching']
    assert news.startswith('hierarchy: problem blocksworld-10-blocks-1: ')
    asked = Counter(tuple(sorted(text.split())) for text in model.problems)
    assert len(asked) > 4
    assert set(asked.values()) == {2}  # as many attempts as there are, and no part is asked twice


def test_a_model_that_fails_leaves_the_task_to_the_search_at_once() -> None:
    def fails(text: str, cancelled: Cancelled) -> str:
        raise BackendError('the server is gone')

    model = Asked(fails)
    outcome, heard = planned(DEFAULT, model, InstructStyle())
    assert [a.source for a in outcome.attempts] == ['search']
    assert 'the server is gone' in next(p.detail for p in heard if p.phase == 'searching')
    assert len(model.problems) == 1
    alone, _ = planned('hierarchy', Asked(fails), InstructStyle())
    assert (alone.error_code, alone.message) == (ErrorCode.BACKEND_FAILED, 'the server is gone')


def waits(text: str, cancelled: Cancelled) -> str:
    pause = threading.Event()
    while not cancelled():
        pause.wait(0.001)
    raise Canceled('generation was stopped', ErrorCode.PLANNING_CANCELED)


@pytest.mark.slow
def test_it_leaves_time_for_the_levels_behind_it() -> None:
    outcome, heard = planned('hierarchy, search', Asked(waits), InstructStyle(), seconds=8.0)
    assert [a.source for a in outcome.attempts] == ['search']
    [news] = [p.detail for p in heard if p.phase == 'searching']
    assert news.startswith('hierarchy: ')  # and where in its work its time was over


def test_cancelling_ends_it() -> None:
    stop = threading.Event()

    def cancels(text: str, cancelled: Cancelled) -> str:
        stop.set()
        return waits(text, cancelled)

    model = Asked(cancels)
    outcome, _ = planned(DEFAULT, model, InstructStyle(), cancelled=stop.is_set)
    assert outcome.error_code is ErrorCode.PLANNING_CANCELED
    assert len(model.problems) == 1


def test_a_task_without_a_plan_is_found_out_before_the_model_is_asked() -> None:
    goal = load_task("""(define (problem two) (:domain blocksworld) (:objects a b)
      (:init (arm-empty) (on-table a) (on-table b) (clear a) (clear b)) (:goal (on a b))
      (:constraints (always (not (holding a)))))""")
    model = Asked(lambda *_: pytest.fail('the model was asked'))
    for strategy in ('model, hierarchy', 'hierarchy'):
        outcome, _ = planned(strategy, model, InstructStyle(), goal)
        assert outcome.error_code is ErrorCode.UNSOLVABLE
        assert not outcome.attempts


LONG_S = 600.0
"""More than anything here takes, on however busy a machine [s]."""


def by_search(problem: Problem, time_limit_s: float, cancelled: Callable[[], bool]) -> Plan:
    return solve(problem, route='in-process', time_limit_s=time_limit_s, cancelled=cancelled).plan


def made(domain: str, family: str, seed: int = 1, **size: int) -> Problem:
    return kits()[domain].problem(seed, size, family).problem


SIX = made('blocksworld', 'building-order', blocks=6)


def divided(problem: Problem, plan_part: PlanPart = by_search) -> Division:
    return divide_and_conquer(problem, plan_part, time_limit_s=LONG_S)


@pytest.mark.parametrize(
    ('family', 'blocks'),
    [
        ('building-order', 30),
        ('off-the-table', 20),
        ('lifted-once', 10),
        ('weighed', 20),
        ('stacked-within', 30),
    ],
)
def test_towers_are_built_block_by_block(family: str, blocks: int) -> None:
    problem = made('blocksworld', family, blocks=blocks)
    found = divided(problem)
    assert Validator(problem).verify(found.plan).ok
    assert found.verdict.ok
    assert Plan(tuple(s for part in found.parts for s in part.plan.steps)) == found.plan
    assert len(found.parts) > 2
    if family == 'building-order':
        assert not found.failures
        assert max(part.objects for part in found.parts) <= 6
        assert all(len(part.goals) == 1 for part in found.parts)


@pytest.mark.parametrize(
    ('domain', 'family', 'size'),
    [
        ('ferry', 'delivery-order', {'locations': 8, 'cars': 10}),
        ('ferry', 'quarantine', {'locations': 8, 'cars': 10}),
        ('ferry', 'closed-later', {'locations': 8, 'cars': 10}),
        ('grippers', 'one-load-in-narrow-room', {'robots': 2, 'rooms': 6, 'objects': 10}),
        ('grippers', 'cleaned-after', {'robots': 2, 'rooms': 6, 'objects': 10}),
        ('grippers', 'closed-later', {'robots': 1, 'rooms': 4, 'objects': 6}),
        ('spanner', 'tightening-order', {'spanners': 8, 'nuts': 5, 'locations': 8}),
        ('spanner', 'spare-at-end', {'spanners': 6, 'nuts': 4, 'locations': 6}),
    ],
)
def test_every_domain_can_be_divided(domain: str, family: str, size: dict[str, int]) -> None:
    problem = made(domain, family, **size)
    assert Validator(problem).verify(divided(problem).plan).ok


def test_a_part_that_leads_nowhere_is_planned_with_what_comes_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who has passed a spanner cannot fetch it any more."""
    monkeypatch.setattr(divide.RelaxedAnalysis, 'resource_goals', lambda survey, goals: [])
    found = divided(made('spanner', 'tightening-order', spanners=8, nuts=5, locations=8))
    assert 'behind the plan of a part there is none for the rest' in found.failures
    assert max(len(part.goals) for part in found.parts) > 1


def test_what_shuts_out_the_rest_is_put_off() -> None:
    """A block that may be lifted once stays where it is until what belongs under it is there."""
    found = divided(made('blocksworld', 'lifted-once', 1, blocks=10), by_small_parts)
    assert 'behind the plan of a part there is none for the rest' in found.failures
    assert all(len(part.goals) == 1 for part in found.parts)


def by_small_parts(problem: Problem, time_limit_s: float, cancelled: Callable[[], bool]) -> Plan:
    """Plans what is no larger than what a small model has seen."""
    open_goals = [goal for goal in problem.goal_conjuncts() if not holds(problem, goal)]
    if len(problem.objects) > 9 or len(open_goals) > 2:
        raise SafegenError('this is too large')
    return by_search(problem, time_limit_s, cancelled)


def holds(problem: Problem, goal: Formula) -> bool:
    return Validator(replace(problem, goal=goal, constraints=())).verify(Plan()).ok


@pytest.mark.parametrize(
    ('domain', 'family', 'seed', 'size'),
    [
        ('spanner', 'tightening-order', 1, {'spanners': 8, 'nuts': 7, 'locations': 5}),
        ('spanner', 'defective-spanner', 1, {'spanners': 8, 'nuts': 7, 'locations': 5}),
        ('spanner', 'spare-at-end', 1, {'spanners': 8, 'nuts': 7, 'locations': 5}),
        ('spanner', 'loose-at-first', 1, {'spanners': 8, 'nuts': 7, 'locations': 5}),
        ('spanner', 'tight-later', 0, {'spanners': 8, 'nuts': 7, 'locations': 5}),
        ('blocksworld', 'lifted-once', 1, {'blocks': 10}),
        ('blocksworld', 'apart-on-the-table', 2, {'blocks': 10}),
    ],
)
def test_parts_are_small_where_goals_stand_in_each_others_way(
    domain: str, family: str, seed: int, size: dict[str, int]
) -> None:
    problem = made(domain, family, seed, **size)
    found = divided(problem, by_small_parts)
    assert Validator(problem).verify(found.plan).ok
    assert len(found.parts) > 4


class Saboteur:
    """Plans parts wrongly in every way; what it was asked can be read back as PDDL."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def __call__(
        self, problem: Problem, time_limit_s: float, cancelled: Callable[[], bool]
    ) -> Plan:
        again = read_problem(problem_text(problem), problem.domain, '<part>')
        assert again.constraints == problem.constraints
        assert again.init == problem.init
        kind = self.rng.randrange(6)
        if kind == 0:
            raise SafegenError('no plan today')
        if kind == 1:
            return make_plan([['stack', 'b1'], ['rm', '-rf'], ['', '']][: self.rng.randrange(4)])
        if kind == 2:
            return strategies.plan(self.rng, problem)
        careless = kind == 3
        asked = replace(problem, constraints=()) if careless else problem
        steps = list(solve(asked, route='in-process', time_limit_s=2.0).plan.steps)
        if kind == 4 and steps:
            steps[self.rng.randrange(len(steps))] = Step('putdown', ('b1',))
        return Plan(tuple(steps))


@strategies.examples(60)
@given(strategies.SEEDS)
def test_nothing_unsafe_is_returned_whatever_the_planner_of_parts_says(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.blocks(rng, 4) if seed % 2 else strategies.problem(rng)
    code = ErrorCode.NONE
    try:
        found = divide_and_conquer(problem, Saboteur(rng), time_limit_s=20.0, max_tries=15)
    except SafegenError as error:
        code = error.code
    else:
        assert Validator(problem).verify(found.plan).ok
    assert code is not ErrorCode.PLAN_REFUSED  # the shield saw to it before


def test_every_failure_is_bounded_and_told() -> None:

    def fails(problem: Problem, time_limit_s: float, cancelled: Callable[[], bool]) -> Plan:
        asked.append(problem)
        raise SafegenError('the model is out')

    asked: list[Problem] = []
    with pytest.raises(SafegenError, match='the model is out') as caught:
        divided(SIX, fails)
    assert caught.value.code is ErrorCode.ATTEMPTS_EXHAUSTED
    assert len(asked) > 5

    asked.clear()
    with pytest.raises(SafegenError, match='parts were tried 3 times') as caught:
        divide_and_conquer(SIX, fails, time_limit_s=LONG_S, max_tries=3)
    assert caught.value.code is ErrorCode.ATTEMPTS_EXHAUSTED
    assert len(asked) == 3


def test_a_whole_that_the_validator_refuses_is_not_returned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Refusing(Validator):
        def verify(self, plan: Plan | str) -> Verdict:
            return Verdict(Category.SAFETY_VIOLATION, 'not that way')

    monkeypatch.setattr(divide, 'Validator', Refusing)
    with pytest.raises(SafegenError, match='SAFETY_VIOLATION: not that way') as caught:
        divided(SIX)
    assert caught.value.code is ErrorCode.PLAN_REFUSED


def test_a_part_is_told_when_its_share_of_the_time_is_over() -> None:
    def waits(problem: Problem, time_limit_s: float, cancelled: Callable[[], bool]) -> Plan:
        limits.append(time_limit_s)
        while not cancelled():
            pass
        raise Canceled('stopped', ErrorCode.PLANNING_CANCELED)

    limits: list[float] = []
    for limit_s in (0.4, 4.0, 40.0):
        with pytest.raises(SafegenError) as caught:
            divide_and_conquer(SIX, waits, time_limit_s=limit_s)
        assert caught.value.code in (ErrorCode.ATTEMPTS_EXHAUSTED, ErrorCode.PLANNING_TIMEOUT)
        if limits:
            break  # else a busy machine has spent all of it before the first part
    assert max(limits) <= limit_s / 4
    assert limits == sorted(limits, reverse=True)


def test_the_time_limit_holds_for_a_planner_that_does_not_heed_it() -> None:
    def dawdles(problem: Problem, time_limit_s: float, cancelled: Callable[[], bool]) -> Plan:
        asked.append(problem)
        while time.monotonic() < start + 1.0:
            pass
        return by_search(problem, LONG_S, lambda: False)

    asked: list[Problem] = []
    start = time.monotonic()
    with pytest.raises(SafegenError) as caught:
        divide_and_conquer(SIX, dawdles, time_limit_s=0.5)
    assert caught.value.code is ErrorCode.PLANNING_TIMEOUT
    assert len(asked) <= 1


@strategies.examples(30)
@given(strategies.SEEDS)
def test_derived_goals_are_divided_too(seed: int) -> None:
    problem = exhaustive.solvable_problem(3 * seed + 1)  # these have derived predicates
    assert Validator(problem).verify(divided(problem).plan).ok
