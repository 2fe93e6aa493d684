# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""BoxNet2D in the loop: retries with feedback, step by step, and shields that let nothing pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from random import Random
from types import SimpleNamespace

import pytest
from support.boxnet_planner import (
    HeldPlanner,
    ScriptedPlanner,
    as_text,
    observations,
    random_moves,
    untrained_boxnet,
)

from safegen_ros.datasets.boxnet.draw import RANDOM_ROBOTS, UNSOLVABLE, VARIANTS, tasks
from safegen_ros.errors import BackendError, ErrorCode, SafegenError
from safegen_ros.llm.backend import Message, Sampling, never
from safegen_ros.llm.transformers_backend import TransformersBackend
from safegen_ros.paths import data_path
from safegen_ros.tasks.boxnet import decoding_mask
from safegen_ros.tasks.boxnet.answers import REFUSAL
from safegen_ros.tasks.boxnet.decoding_mask import MaskedPlan, MoveBeam, MoveMask
from safegen_ros.tasks.boxnet.findings import Finding
from safegen_ros.tasks.boxnet.model import State, Task, plan_json, step_json
from safegen_ros.tasks.boxnet.planner import (
    BEAM,
    FILTER,
    FULL,
    HELD,
    NEXT,
    PlannerOptions,
    plan_with_model,
)
from safegen_ros.tasks.boxnet.prompts import (
    EXAMPLE,
    EXAMPLE_PLAN,
    answer_text,
    plan_prompt,
    style_of,
)
from safegen_ros.tasks.boxnet.rule_planner import RulePlanner
from safegen_ros.tasks.boxnet.verifier import judge, take_step, verify, verify_step
from safegen_ros.tasks.boxnet.words import NEXT_STEP, WHOLE, answer_in_json, answer_words, map_words
from safegen_ros.verdict import Category

PLAN = verify(EXAMPLE, EXAMPLE_PLAN).plan
CRASH = as_text([{'Robot 0': '[1.25, 1.25] -> [1.75, 0.25], False',
                  'Robot 1': '[2.25, 1.25] -> [1.25, 0.25], False'}])  # fmt: skip
SAMPLING = Sampling()


def right(whole: bool) -> ScriptedPlanner:
    def script(messages: object, sampling: Sampling) -> str:
        del sampling
        steps = PLAN if whole else (PLAN[observations(messages)],)
        return answer_text('so', steps, whole=whole)

    return ScriptedPlanner(script)


def test_the_worked_example_of_the_prompts_is_right() -> None:
    found = verify(EXAMPLE, f'<think> a </think>\n```json\n{EXAMPLE_PLAN}\n```')
    assert (found.verdict.ok, found.formatted, len(found.plan)) == (True, True, 4)
    assert EXAMPLE_PLAN in plan_prompt(EXAMPLE, whole=True)
    assert plan_prompt(EXAMPLE, whole=False).count('<observation>\n') == 2
    assert '|x - base x| < 1' in plan_prompt(EXAMPLE, whole=False)


def test_a_whole_plan_is_proved_before_anything_moves() -> None:
    found = plan_with_model(EXAMPLE, right(whole=True), SAMPLING)
    assert (found.judged.verdict.ok, len(found.attempts)) == (True, 1)
    assert found.judged.states[-1].objects == EXAMPLE.targets


def test_a_refused_plan_is_answered_with_who_collides_and_where() -> None:
    answers = iter([CRASH, answer_text('so', PLAN, whole=True)])
    backend = ScriptedPlanner(lambda messages, sampling: next(answers))
    found = plan_with_model(EXAMPLE, backend, SAMPLING, PlannerOptions(attempts=3))
    assert found.judged.verdict.ok
    assert [a.verdict.category for a in found.attempts] == [
        Category.SAFETY_VIOLATION, Category.SUCCESS,
    ]  # fmt: skip
    told = backend.asked[1][0][-1]['content']
    assert 'step 1: Robot 0 and Robot 1 collide at [' in told
    assert 'Answer again' in told


def test_feedback_can_be_less_than_the_diagnosis() -> None:
    backend = ScriptedPlanner(lambda messages, sampling: CRASH)
    found = plan_with_model(
        EXAMPLE, backend, SAMPLING, PlannerOptions(attempts=2, feedback='category')
    )
    assert found.judged.finding is Finding.ROBOT_COLLISION
    told = backend.asked[1][0][-1]['content']
    assert 'collision' in told
    assert 'Robot 0' not in told


def test_step_by_step_each_answer_follows_what_is_observed() -> None:
    backend = right(whole=False)
    found = plan_with_model(EXAMPLE, backend, SAMPLING, PlannerOptions(NEXT))
    assert (found.judged.verdict.ok, found.judged.plan, found.judged.formatted) == (
        True, PLAN, True,
    )  # fmt: skip
    assert [attempt.number for attempt in found.attempts] == [1, 2, 3, 4]
    assert 'Robot 0: base [1.0, 1.0], arm [0.25, 0.25]' in backend.asked[1][0][-1]['content']


def test_a_step_that_is_refused_ends_the_run_where_it_is() -> None:
    def script(messages: object, sampling: Sampling) -> str:
        done = observations(messages)
        return answer_text('so', (PLAN[done],), whole=False) if done < 2 else '{"Robot 0": "up"}'

    found = plan_with_model(
        EXAMPLE, ScriptedPlanner(script), SAMPLING, PlannerOptions(NEXT, attempts=2)
    )
    assert found.judged.finding is Finding.UNPARSEABLE
    assert (found.judged.verdict.failing_step, len(found.judged.states)) == (2, 3)
    assert len(found.attempts) == 4
    assert judge(EXAMPLE, found.judged.plan).finding is Finding.INCOMPLETE


def test_a_run_step_by_step_ends() -> None:
    backend = ScriptedPlanner(lambda messages, sampling: '{}')
    found = plan_with_model(EXAMPLE, backend, SAMPLING, PlannerOptions(NEXT, most_steps=3))
    assert (found.judged.finding, len(found.attempts)) == (Finding.INCOMPLETE, 3)


def test_a_refusal_is_told_apart() -> None:
    for mode in ('full', NEXT):
        backend = ScriptedPlanner(lambda messages, sampling: f'<think>no</think> {REFUSAL}')
        found = plan_with_model(EXAMPLE, backend, SAMPLING, PlannerOptions(mode))
        assert (found.judged.finding, found.judged.formatted) == (Finding.REFUSED, True)


@pytest.mark.parametrize('mode', ['full', NEXT])
def test_no_bad_move_passes_the_filter(mode: str) -> None:
    rng = Random(5)
    changed = 0
    for task in islice(tasks((4, 4), 3, 'filter'), 6):
        texts = [as_text(random_moves(task, 6, rng))]
        if mode == NEXT:
            texts = [as_text(random_moves(task, 1, rng)[0]) for _ in range(8)]
        script = ScriptedPlanner(lambda messages, sampling, texts=texts: texts[sampling.seed])
        options = PlannerOptions(mode, FILTER, most_steps=len(texts))
        found = plan_with_model(task, script, SAMPLING, options)
        assert found.judged.finding in (Finding.INCOMPLETE, Finding.OK)
        assert not [step for step in found.judged.plan if len({m.robot for m in step}) < len(step)]
        assert {attempt.source for attempt in found.attempts} == {FILTER}
        changed += any(a.text != t for a, t in zip(found.attempts, texts, strict=False))
    assert changed > 3


def test_a_model_that_cannot_answer_says_so() -> None:
    def broken(messages: object, sampling: Sampling) -> str:
        raise BackendError('no model')

    with pytest.raises(SafegenError, match='no model') as raised:
        plan_with_model(EXAMPLE, ScriptedPlanner(broken), SAMPLING, PlannerOptions(attempts=3))
    assert raised.value.code is ErrorCode.BACKEND_FAILED
    with pytest.raises(SafegenError) as raised:
        plan_with_model(EXAMPLE, right(whole=True), SAMPLING, cancelled=lambda: True)
    assert raised.value.code is ErrorCode.PLANNING_CANCELED


@pytest.mark.parametrize(
    ('mode', 'shield', 'attempts', 'feedback'),
    [
        ('half', 'plain', 1, 'diagnosis'),
        ('full', 'none', 1, 'diagnosis'),
        ('full', 'plain', 0, 'diagnosis'),
        ('full', 'plain', 1, 'loud'),
    ],
)
def test_options_that_make_no_sense_are_refused(
    mode: str, shield: str, attempts: int, feedback: str
) -> None:
    with pytest.raises(SafegenError) as raised:
        PlannerOptions(mode, shield, attempts, feedback=feedback)
    assert raised.value.code is ErrorCode.UNKNOWN_STRATEGY


def test_a_shield_leaves_out_strangers_and_what_a_robot_does_again() -> None:
    first, second = (step_json(step)[1:-1] for step in (PLAN[0], PLAN[0][:1]))
    strange = f'[{{{first}, "Robot 7": "x", {second}}}, {plan_json(PLAN[1:])[1:]}'
    backend = ScriptedPlanner(lambda messages, sampling: strange)
    plain = plan_with_model(EXAMPLE, backend, SAMPLING)
    assert plain.judged.finding is Finding.UNKNOWN_ROBOT
    assert plan_with_model(
        EXAMPLE, backend, SAMPLING, PlannerOptions(shield=FILTER)
    ).judged.verdict.ok


SOME = [
    task
    for variant in VARIANTS
    if variant != UNSOLVABLE
    for size, objects in (((2, 2), 3), ((3, 3), 5), ((5, 4), 4))
    for task in islice(tasks(size, objects, 'steady', variant=variant), 6)
] + [*islice(tasks((3, 3), 2, 'steady', arm='ur5e'), 6)]


@pytest.mark.parametrize('task', SOME, ids=lambda task: task.id)
def test_its_plans_are_proved_and_go_on_from_any_state_of_theirs(task: Task) -> None:
    plan = RulePlanner(task).plan(task.start) or ()
    judged = judge(task, plan)
    assert judged.verdict.ok, judged.verdict.reason
    for at, state in enumerate(judged.states):
        assert RulePlanner(task).plan(state) == plan[at:]
    said = answer_words(task, task.start, plan, RulePlanner(task).weighed)
    found = verify(task, answer_in_json(' '.join(said), task, WHOLE)).plan
    assert [*map(set, found)] == [*map(set, plan)]  # what waits is a thought alone
    mask = MaskedPlan(MoveMask(task), task.start, (), whole=True)
    for word in said:
        assert word in mask.next_words()
        mask.take(word)


def test_objects_that_wait_for_each_other_in_a_ring_make_room() -> None:
    places = EXAMPLE.start.objects
    task = replace(EXAMPLE, targets=places[::-1])
    plan = RulePlanner(task).plan(task.start) or ()
    assert judge(task, plan).verdict.ok
    assert RulePlanner(task).plan(State(EXAMPLE.start.tips, places[::-1])) == ()


def test_there_is_no_plan_where_there_is_none() -> None:
    alone = next(tasks((3, 3), 2, 'steady', variant=UNSOLVABLE))
    assert RulePlanner(alone).plan(alone.start) is None


MODEL = data_path('models/safegen-boxnet-mini')
STEADY = RulePlanner(EXAMPLE).plan(EXAMPLE.start) or ()


@pytest.fixture(scope='module')
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TransformersBackend]:
    """The network before training."""
    folder = untrained_boxnet(tmp_path_factory.mktemp('models'))
    with closing(TransformersBackend(folder)) as found:
        yield found


def asked(state: State) -> list[Message]:
    return [{'role': 'user', 'content': str(state)}]


def test_a_greedy_search_follows_the_model() -> None:
    said = ' '.join(answer_words(EXAMPLE, EXAMPLE.start, STEADY))
    known = HeldPlanner(lambda messages, sampling: said)
    beam = MoveBeam(MoveMask(EXAMPLE), known, asked, whole=True, most_steps=20)
    found = beam.search(1, never)
    assert found is not None
    assert [set(step) for step in found] == [set(step) for step in STEADY]


@pytest.mark.parametrize('whole', [True, False])
def test_a_search_without_a_guess_finds_plans_or_none(whole: bool) -> None:
    def even(
        messages: object, written: object, choices: Sequence[object], cancelled: object
    ) -> tuple[list[float], float]:
        return [-1.0] * len(choices), -1.0

    model = SimpleNamespace(scores=even)
    task = next(tasks((2, 2), 1, 'beam'))
    found = MoveBeam(MoveMask(task), model, asked, whole=whole, most_steps=9).search(60, never)
    assert found is not None
    judged = judge(task, found)
    assert judged.verdict.ok
    assert len(set(judged.states)) == len(judged.states)
    short = MoveBeam(MoveMask(task), model, asked, whole=whole, most_steps=1)
    assert short.search(60, never) is None


@pytest.mark.slow
def test_scores_are_those_of_the_model() -> None:
    import torch

    backend = TransformersBackend(MODEL)
    said = answer_words(EXAMPLE, EXAMPLE.start, STEADY)
    messages: list[Message] = [
        {'role': 'user', 'content': ' '.join(map_words(EXAMPLE, EXAMPLE.start, WHOLE))}
    ]
    choices = [said[7:14], said[7:13], ['then'], ['unheard', 'of']]
    scores, end = backend.writer().scores(messages, said[:7], choices)
    for words, score in zip(choices[:3], scores[:3], strict=True):
        text = [*backend.prompt(messages), *backend.tokens(' '.join(said[:7]))]
        ids = backend.tokens(' '.join(words))
        with torch.inference_mode():
            table = backend.model(input_ids=torch.tensor([text + ids])).logits[0].log_softmax(-1)
        wanted = sum(float(table[len(text) - 1 + at, token]) for at, token in enumerate(ids))
        assert score == pytest.approx(wanted, abs=1e-3)
    assert scores[3] == float('-inf')
    assert end < 0


@pytest.mark.slow
@pytest.mark.parametrize('mode', [pytest.param(FULL, marks=pytest.mark.nightly), NEXT])
def test_whatever_a_model_is_what_it_may_say_is_safe(
    backend: TransformersBackend, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding_mask, 'MOST_SCORED', 150)
    style = style_of(str(MODEL))
    options = PlannerOptions(mode, HELD, most_steps=4)
    run = plan_with_model(EXAMPLE, backend, Sampling(1.0, max_new_tokens=60), options, style=style)
    states = run.judged.states
    assert run.judged.finding.value in ('ok', 'incomplete', 'unparseable')
    assert len(set(states)) == len(states)
    again = plan_with_model(EXAMPLE, backend, Sampling(), PlannerOptions(mode, BEAM), style=style)
    assert again.judged.finding.value in ('ok', 'incomplete')
    assert all(attempt.source.startswith(BEAM) for attempt in again.attempts)


def test_a_model_without_words_cannot_be_held() -> None:
    planner = ScriptedPlanner(lambda messages, sampling: '')
    for shield in (HELD, BEAM):
        with pytest.raises(SafegenError, match='cannot be held to words') as caught:
            plan_with_model(EXAMPLE, planner, Sampling(), PlannerOptions(FULL, shield))
        assert caught.value.code is ErrorCode.UNSUPPORTED_FEATURE


SMALL_TASKS = [
    task
    for size, objects in (((2, 2), 1), ((3, 2), 2), ((3, 3), 3))
    for task in islice(tasks(size, objects, 'held', variant=RANDOM_ROBOTS), 2)
]


def said_by_chance(text: MaskedPlan, random: Random, most: int) -> list[str]:
    said = list[str]()
    while len(said) < most and not text.may_end():
        words = sorted(text.next_words())
        if not words:
            break
        said.append(random.choice(words))
        text.take(said[-1])
    return said


@pytest.mark.parametrize('task', SMALL_TASKS, ids=lambda task: task.id)
def test_words_by_chance_are_a_safe_plan_without_a_state_twice(task: Task) -> None:
    for seed in range(2):
        text = MaskedPlan(MoveMask(task), task.start, (), whole=True)
        said = said_by_chance(text, Random(seed), 150)
        ended = text.may_end()
        while said and said[-1] not in ('go', 'take'):
            said.pop()  # what was cut off
        found = verify(task, answer_in_json(' '.join(said), task, WHOLE))
        assert found.finding is (Finding.OK if ended else Finding.INCOMPLETE)
        assert len(set(found.states)) == len(found.states)


def test_it_may_end_at_the_goal_alone_and_must() -> None:
    text = MaskedPlan(MoveMask(EXAMPLE), EXAMPLE.start, (), whole=True)
    for word in answer_words(EXAMPLE, EXAMPLE.start, STEADY):
        assert not text.may_end()
        assert word in text.next_words()
        text.take(word)
    assert text.may_end()
    assert not text.next_words()


def test_a_next_step_leads_to_a_new_state() -> None:
    there = take_step(EXAMPLE, EXAMPLE.start, STEADY[0])
    assert isinstance(there, State)
    words = answer_words(EXAMPLE, EXAMPLE.start, STEADY[:1])
    for visited, may in (((), True), ((there,), False)):
        text = MaskedPlan(MoveMask(EXAMPLE), EXAMPLE.start, visited, whole=False)
        for word in words:
            text.take(word)
        assert text.may_end() is may
    for seed in range(6):
        text = MaskedPlan(MoveMask(EXAMPLE), EXAMPLE.start, (there,), whole=False)
        said = ' '.join(said_by_chance(text, Random(seed), 99))
        found = verify_step(EXAMPLE, EXAMPLE.start, answer_in_json(said, EXAMPLE, NEXT_STEP))
        assert found.verdict.ok
        assert found.states[-1] not in (there, EXAMPLE.start)


def test_where_every_step_leads_back_nothing_may_be_said() -> None:
    task = replace(EXAMPLE, start=replace(EXAMPLE.start, objects=EXAMPLE.targets))
    text = MaskedPlan(MoveMask(task), task.start, (), whole=True)
    assert (text.next_words(), text.may_end()) == (set(), False)
