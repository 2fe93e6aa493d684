# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Canonical names: the same problem under other names is the same, and no verdict changes."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from support import strategies
from support.strategies import examples

from safegen_ros.errors import BackendError, ErrorCode, SafegenError
from safegen_ros.llm.special_tokens import PLAN, SPECIAL_TOKENS
from safegen_ros.llm.tokenizers import word_tokenizer
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import problem_text
from safegen_ros.search.budget import Budget
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.domains import builtin_domain, kits
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.prompts.slots import MAX_PARTS, slotted, taught_plan
from safegen_ros.tasks.pddl3.prompts.styles import (
    InstructStyle,
    PromptStyle,
    ServerStyle,
    WordStyle,
    load_style,
    style_of,
)
from safegen_ros.tasks.pddl3.prompts.words import (
    MOST_OF_A_KIND,
    MOST_STEPS,
    plan_words,
    read_steps,
    task_words,
    vocabulary,
    words_of,
)
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_task
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.validator import verify


@pytest.mark.parametrize('name', kits())
@strategies.examples(40)
@given(strategies.SEEDS)
def test_renaming_a_problem_does_not_change_it(name: str, seed: int) -> None:
    problem = kits()[name].problem(seed).problem
    other = strategies.disguised(random.Random(seed), problem)
    ours, theirs = slotted(problem), slotted(other)
    assert ours.problem == theirs.problem
    assert ours.told == theirs.told
    assert list(ours.problem.objects) == list(theirs.problem.objects)


@pytest.mark.slow
@strategies.examples(150)
@given(strategies.SEEDS)
def test_verdicts_stay_the_same(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.problem(rng)
    try:
        task = slotted(problem)
    except SafegenError:
        reject()  # too many parts, as the last test has it
    for _ in range(4):
        plan = strategies.plan(rng, problem)
        before, after = verify(problem, plan), verify(task.problem, task.plan(plan))
        assert before.category is after.category
        assert before.failing_step == after.failing_step
        assert before.failing_state == after.failing_state
        assert task.original(task.plan(plan)) == plan


def test_names_say_what_an_object_is_and_where() -> None:
    problem = read_problem(
        '(define (problem p) (:domain blocksworld) (:objects red green blue)'
        '(:init (arm-empty) (on-table red) (on-table blue) (on green blue) (clear green)'
        ' (clear red)) (:goal (and (on red blue))) (:constraints (always (not (holding green)))))',
        builtin_domain('blocksworld'),
    )
    assert slotted(problem).names == {'blue': 'block1', 'green': 'block2', 'red': 'block3'}
    ferry = kits()['ferry'].problem(1, {'locations': 4, 'cars': 3}).problem
    task = slotted(ferry)
    assert sorted(task.names.values()) == [
        'car1', 'car2', 'car3', 'location1', 'location2', 'location3', 'location4',
    ]  # fmt: skip
    assert {atom[0] for atom in task.told} == {'car', 'location', 'not-eq'}


def test_ways_to_write_a_constraint_come_to_the_same() -> None:
    def constraints(text: str) -> object:
        return slotted(
            read_problem(
                '(define (problem p) (:domain blocksworld) (:objects a b c) (:init (arm-empty)'
                '(on-table a) (on b a) (on c b) (clear c)) (:goal (on-table c))'
                f'(:constraints {text}))',
                builtin_domain('blocksworld'),
            )
        ).problem.constraints

    written_out = constraints(
        '(and (always (not (holding a))) (always (not (holding b))) (always (not (holding c))))'
    )
    assert written_out == constraints('(forall (?y) (always (not (holding ?y))))')
    assert written_out == constraints('(always (forall (?x) (not (holding ?x))))')
    assert written_out == constraints(
        '(always (and (not (not (not (holding c)))) (and (not (holding b)) (not (holding a)))'
        ' (not (holding a))))'
    )
    assert written_out != constraints('(always (not (forall (?x) (holding ?x))))')


def test_a_formula_that_is_too_large_is_refused() -> None:
    objects = ' '.join(f'o{number}' for number in range(MAX_PARTS + 1))
    problem = read_problem(
        f'(define (problem p) (:domain blocksworld) (:objects {objects}) (:init (arm-empty))'
        '(:goal (arm-empty)) (:constraints (sometime (exists (?x) (holding ?x)))))',
        builtin_domain('blocksworld'),
    )
    with pytest.raises(SafegenError, match='use fewer objects') as caught:
        slotted(problem)
    assert caught.value.code is ErrorCode.TASK_TOO_LARGE


def own_problem(domain: str, problem: str) -> Problem:
    return read_problem(f'(define (problem p) (:domain d) {problem})', read_domain(domain))


def test_kinds_that_end_in_digits_share_no_name() -> None:
    bays = ' '.join(f'a{number}' for number in range(12))
    rules = ' '.join(f'(always (not (q a{number})))' for number in range(12))
    problem = own_problem(
        '(define (domain d) (:requirements :typing) (:types bay bay1 - object)'
        '(:predicates (p ?x) (q ?x)) (:action go :parameters (?x) :precondition (p ?x)'
        ' :effect (q ?x)))',
        f'(:objects {bays} - bay z - bay1) (:init (p z)) (:goal (q z))(:constraints (and {rules}))',
    )
    task = slotted(problem)
    assert len(set(task.names.values())) == 13
    plan = parse_plan('(go z)')
    assert verify(problem, plan).ok
    assert verify(task.problem, task.plan(plan)).ok


def test_names_of_joined_types_can_be_read() -> None:
    problem = own_problem(
        '(define (domain d) (:requirements :typing) (:types bench site - object)'
        '(:predicates (p ?x)) (:action go :parameters (?x) :effect (p ?x)))',
        '(:objects a - (either bench site)) (:init) (:goal (p a))',
    )
    task = slotted(problem)
    assert task.names == {'a': 'bench-site1'}
    text = problem_text(task.problem)
    assert read_problem(text, problem.domain) == task.problem


def test_only_what_the_domain_calls_distinct_goes_without_saying() -> None:
    roads = (
        '(define (domain d) (:predicates (link ?a ?b) (here ?a)) (:action go :parameters (?a ?b)'
        ' :precondition (and (here ?a) (link ?a ?b)) :effect (and (here ?b) (not (here ?a)))))'
    )
    links = ' '.join(f'(link {a} {b})' for a in 'xyz' for b in 'xyz' if a != b)
    whole = own_problem(roads, f'(:objects x y z) (:init (here x) {links}) (:goal (here z))')
    assert slotted(whole).told == frozenset()
    gates = (
        '(define (domain d) (:constants gate) (:predicates (open ?a) (shut ?a) (here ?a))'
        ' (:action go :parameters (?a) :precondition (open gate) :effect (here ?a)))'
    )
    shut = own_problem(gates, '(:objects a) (:init (open a) (shut gate)) (:goal (here a))')
    assert ('shut', 'gate') not in slotted(shut).told


def test_a_ferry_whose_places_do_not_differ_is_not_usual() -> None:
    def ferry(pairs: str) -> bool:
        text = (
            '(define (problem p) (:domain ferry) (:objects l0 l1 c0) (:init (location l0)'
            f'(location l1) (car c0) (empty-ferry) (at-ferry l0) (at c0 l0) {pairs})'
            '(:goal (at c0 l1)))'
        )
        return slotted(read_problem(text, builtin_domain('ferry'))).usual

    assert ferry('(not-eq l0 l1) (not-eq l1 l0)')
    assert not ferry('(not-eq l0 l1)')
    assert not ferry('')


def test_times_have_no_normal_form() -> None:
    action = ':durative-action a :parameters () :duration (= ?duration 1) :effect (at end (p))'
    domain = read_domain(f'(define (domain d) (:predicates (p)) ({action}))')
    text = '(define (problem x) (:domain d) (:init) (:goal (p)))'
    with pytest.raises(SafegenError, match='does not know times'):
        slotted(read_problem(text, domain))


@pytest.mark.parametrize('name', kits())
def test_the_taught_plan(name: str) -> None:
    for seed in range(12):
        problem = kits()[name].problem(seed).problem
        task = slotted(problem)
        plan = taught_plan(task, Budget(60, 4096))
        assert verify(problem, task.original(plan)).ok
        assert len(plan) == len(solve(problem, optimal=True).plan)
        again = slotted(strategies.disguised(random.Random(seed), problem))
        assert taught_plan(again, Budget(60, 4096)) == plan


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


TEXT = """
(define (problem tray) (:domain blocksworld) (:objects red green blue)
  (:init (arm-empty) (on-table red) (on green red) (clear green) (on-table blue) (clear blue))
  (:goal (and (on red blue)))
  (:constraints (and (sometime-before (on red blue) (on green blue)))))
"""
UNSAFE = '(unstack green red)\n(putdown green)\n(pickup red)\n(stack red blue)'


@pytest.fixture
def task() -> Pddl3Task:
    return load_task(TEXT)


@pytest.mark.parametrize('form', FORMATS)
def test_instruct_puts_the_whole_task_into_the_prompt(task: Pddl3Task, form: str) -> None:
    (message,) = InstructStyle().messages(task.problem, [], form)
    assert message['role'] == 'user'
    content = message['content']
    domain_at, problem_at = content.index('(define (domain'), content.index('\nProblem:\n')
    domain = read_domain(content[domain_at:problem_at])
    problem = FORMATS[form].read(content[problem_at + len('\nProblem:\n') :], domain, '<prompt>')
    assert problem.init == task.problem.init
    assert problem.goal == task.problem.goal
    assert problem.constraints == task.problem.constraints
    assert domain.actions == task.problem.domain.actions


def test_instruct_shows_every_attempt_with_its_reason(task: Pddl3Task) -> None:
    plans = [UNSAFE, '(putdown red)']
    history = [(plan, task.verify(plan)) for plan in plans]
    messages = InstructStyle().messages(task.problem, history)
    assert [m['role'] for m in messages] == ['user', 'assistant', 'user', 'assistant', 'user']
    assert [m['content'] for m in messages[1::2]] == plans
    for (_, verdict), message in zip(history, messages[2::2], strict=True):
        assert verdict.reason in message['content']
    assert 'breaks a trajectory constraint' in messages[2]['content']
    assert 'precondition' in messages[4]['content']


def test_words_show_the_last_attempt_up_to_its_fault(task: Pddl3Task) -> None:
    plans = ['(putdown red)', f'{UNSAFE}\n(unstack red blue)']
    history = [(plan, task.verify(plan)) for plan in plans]
    categories = [Category.PRECONDITION_VIOLATION, Category.SAFETY_VIOLATION]
    assert [v.category for _, v in history] == categories
    (message,) = WordStyle().messages(task.problem, history)
    assert message['content'].endswith(
        '[attempt] unstack block2 block1 putdown block2 pickup block1 stack block1 block3 '
        '[verdict] safety'
    )
    (plain,) = WordStyle().messages(task.problem, [])
    assert message['content'].startswith(plain['content'])


def test_an_attempt_that_is_no_plan_is_told_by_its_verdict(task: Pddl3Task) -> None:
    (message,) = WordStyle().messages(task.problem, [('I cannot', task.verify('I cannot'))])
    assert message['content'].endswith('[attempt] [verdict] format')


@pytest.mark.parametrize('style', [InstructStyle(), WordStyle()])
def test_what_is_taught_is_what_is_read(task: Pddl3Task, style: PromptStyle) -> None:
    plan = parse_plan('(unstack green red)\n(stack green blue)')
    assert style.plan_text(style.answer(plan, task.problem), task.problem) == str(plan)


def test_answers_are_taken_as_they_are(task: Pddl3Task) -> None:
    style = InstructStyle()
    answer = '<think>\n(pickup red) would be unsafe\n</think>\n\n(pickup blue)\n'
    assert style.plan_text(answer, task.problem) == '(pickup blue)'
    chatty = 'Here is the plan:\n(pickup blue)'
    assert style.plan_text(chatty, task.problem) == chatty
    assert task.verify(chatty).category is Category.FORMAT_ERROR
    for strange in ('unstack block2 block9', 'unstack block2', 'block1 block2', 'fly block1'):
        found = WordStyle().plan_text(strange, task.problem)
        assert task.verify(found).category is Category.FORMAT_ERROR


def test_a_domain_that_the_model_does_not_know_is_refused() -> None:
    own = load_task(
        '(define (problem p) (:domain lights) (:objects a) (:init) (:goal (lit a)))',
        '(define (domain lights) (:predicates (lit ?x))'
        ' (:action ignite :parameters (?x) :effect (lit ?x)))',
    )
    with pytest.raises(SafegenError, match='does not know') as caught:
        WordStyle().messages(own.problem, [])
    assert caught.value.code is ErrorCode.UNSUPPORTED_FEATURE


def test_a_task_that_is_too_large_for_the_words_of_the_model_is_told_from_that() -> None:
    large = kits()['blocksworld'].problem(1, {'blocks': MOST_OF_A_KIND + 1}, 'none').problem
    late = TEXT.replace('(and (some', f'(and (within {MOST_STEPS + 1} (clear red)) (some')
    for problem in (large, load_task(late).problem):
        with pytest.raises(SafegenError, match='planner hierarchy') as caught:
            WordStyle().messages(problem, [])
        assert caught.value.code is ErrorCode.TASK_TOO_LARGE


@pytest.mark.parametrize('text', ['{', '[]', '{}', '{"prompt_style": "poem"}', '"words"'])
def test_a_broken_settings_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / 'safegen.json').write_text(text)
    with pytest.raises(BackendError, match='words'):
        load_style(tmp_path)


@pytest.mark.slow
def test_words_need_their_tokenizer(tmp_path: Path) -> None:
    (tmp_path / 'safegen.json').write_text('{"prompt_style": "words"}')
    with pytest.raises(BackendError, match=r'tokenizer\.json'):
        load_style(tmp_path)
    word_tokenizer(vocabulary(), 64).save_pretrained(tmp_path)
    style = load_style(tmp_path)
    assert style.messages(load_task(TEXT).problem, []) == WordStyle().messages(
        load_task(TEXT).problem, []
    )
    vocab = json.loads((tmp_path / 'tokenizer.json').read_text())['model']['vocab']
    assert set(vocab) >= set(vocabulary())


def test_folders_of_other_makers_are_instruct(tmp_path: Path) -> None:
    assert isinstance(load_style(tmp_path), InstructStyle)


def test_a_slot_that_the_task_lacks_is_no_object_of_the_user() -> None:
    own = load_task(TEXT.replace('red', 'block7').replace('green', 'block1'))
    words = 'unstack block2 block7'
    assert WordStyle().plan_text(words, own.problem) == words
    assert own.verify(words).category is Category.FORMAT_ERROR


def test_places_that_do_not_differ_are_refused() -> None:
    ferry = load_task(
        '(define (problem p) (:domain ferry) (:objects l0 l1 c0) (:init (location l0)'
        '(location l1) (car c0) (empty-ferry) (at-ferry l0) (at c0 l0)) (:goal (at c0 l1)))'
    )
    with pytest.raises(SafegenError, match='state it for all of them'):
        WordStyle().messages(ferry.problem, [])


STEPS = '(unstack green red)\n(stack green blue)'


@pytest.mark.parametrize(
    'answer',
    [
        f'Sure! Here is the plan:\n\n```pddl\n{STEPS}\n```\nIt keeps all constraints.',
        '1. (unstack green red)\n2. (stack green blue)',
        f'<think>\n(pickup blue)?\n</think>\n{STEPS}',
        f'- {STEPS.splitlines()[0]}\n- {STEPS.splitlines()[1]}\n',
    ],
)
def test_a_plan_is_taken_out_of_the_answer_of_a_chat_model(task: Pddl3Task, answer: str) -> None:
    text = ServerStyle().plan_text(answer, task.problem)
    sent = ServerStyle().messages(task.problem, [(text, Verdict())])[1]['content']
    assert sent == STEPS  # the model has not written the comment
    assert str(parse_plan(text)) == STEPS
    assert text.startswith('; of the answer: took 2 steps')
    assert ServerStyle().plan_text(STEPS, task.problem) == STEPS


@pytest.mark.parametrize(
    'answer',
    [
        f'{STEPS}\nand then (pickup red)',
        f'{STEPS}\n\nOr else:\n{STEPS}',
        f'```\n{STEPS}\n(pick up red\n```',
        'I cannot do that.',
    ],
)
def test_a_part_of_a_plan_is_never_taken(task: Pddl3Task, answer: str) -> None:
    text = ServerStyle().plan_text(answer, task.problem)
    assert task.verify(text).category is Category.FORMAT_ERROR


def test_only_models_at_servers_are_read_so(tmp_path: Path) -> None:
    assert type(style_of('http://127.0.0.1:8000/v1#m')) is ServerStyle
    assert type(style_of(str(tmp_path))) is InstructStyle
