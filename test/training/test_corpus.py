# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Datasets: what is learned from them, and which ones are refused."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from hashlib import sha256
from itertools import accumulate, compress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.training_small import SHORT, drawn, renamed, write_recipe, write_rows

from safegen_ros.datasets.pddl3.rows import row_problem
from safegen_ros.errors import SafegenError
from safegen_ros.llm.model_folder import load_tokenizer
from safegen_ros.llm.special_tokens import ATTEMPT, PLAN, VERDICT
from safegen_ros.paths import data_path
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.tasks.pddl3.mistakes import failed_attempt
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle, WordStyle
from safegen_ros.tasks.pddl3.prompts.words import vocabulary
from safegen_ros.training.config import ConfigError, GrpoConfig, TrainConfig, load_config
from safegen_ros.training.encoding import IGNORE, WORD_ID
from safegen_ros.training.examples import example
from safegen_ros.training.pddl3_world import Pddl3World, load_corpus, training_rows
from safegen_ros.training.reward import Intervals, plan_reward
from safegen_ros.training.samplers import BUCKETS, BalancedSampler, CurriculumSampler, Shape
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.validator import Validator


def config(tmp_path: Path, folder: Path, **changes: object) -> TrainConfig:
    return load_config(
        write_recipe(tmp_path / 'recipe.yaml', SHORT, data__folder=str(folder), **changes)
    )


def test_every_problem_is_learned_in_every_format(dataset: Path, tmp_path: Path) -> None:
    formats = {'pddl': 2.0, 'json': 1.0, 'english': 1.0}
    corpus = load_corpus(config(tmp_path, dataset, data__formats=formats))
    plain = [item for item in corpus.items if WORD_ID[ATTEMPT] not in item['input_ids']]
    repaired = [item for item in corpus.items if WORD_ID[ATTEMPT] in item['input_ids']]
    assert len(plain) == 3 * 4 * 24
    assert len(repaired) > 0.9 * len(plain)
    share = sum(item['weight'] for item in repaired) / sum(i['weight'] for i in corpus.items)
    assert share == pytest.approx(0.2, abs=0.02)
    assert Counter(corpus.examples[item['number']].domain for item in plain).most_common()[-1][1]
    assert all(WORD_ID[ATTEMPT] not in item['input_ids'] for item in corpus.validation)
    validated = {corpus.examples[item['number']].domain for item in corpus.validation}
    assert len(validated) == 4
    for item in corpus.items:
        asked = item['input_ids'].index(WORD_ID[PLAN])
        assert item['labels'][: asked + 1] == [IGNORE] * (asked + 1)
        assert item['labels'][asked + 1 :] == item['input_ids'][asked + 1 :]


def test_reinforcement_shows_failed_attempts(dataset: Path, tmp_path: Path) -> None:
    base = data_path('models/safegen-mini')
    changes = {'model': {'base': str(base)}, 'data__repair_share': 0.3, 'budget__max_length': 2048}
    world = Pddl3World(config(tmp_path, dataset, **changes))
    found = world.prompts(load_tokenizer(base), 8)
    shown = [ATTEMPT in each['prompt'][-1]['content'].split() for each in found.asked]
    share = sum(compress(found.weights, shown)) / sum(found.weights)
    assert share == pytest.approx(0.3, abs=0.02)


def test_problems_of_rare_sizes_are_taken_more_often(dataset: Path, tmp_path: Path) -> None:
    corpus = load_corpus(config(tmp_path, dataset, data__rare=1, data__repair_share=0))
    totals: Counter[tuple[str, int]] = Counter()
    for item in corpus.items:
        asked = corpus.examples[item['number']]
        totals[asked.domain, len(asked.objects)] += item['weight']
    assert len(totals) > 4
    assert [*totals.values()] == pytest.approx([1] * len(totals))


def test_what_is_learned_is_what_the_planner_asks(dataset: Path) -> None:
    """The words of an example are those that the prompt style writes, attempt included."""
    style, words = WordStyle(), vocabulary()
    for domain in ('blocksworld', 'ferry', 'grippers', 'spanner'):
        for row in drawn(domain, 'train', 3):
            problem, found = row_problem(row), example(row, repair=True)
            assert found.trace.atoms
            assert len(found.trace.atoms) == row.reference_length + 1
            for form, told in found.prompts.items():
                (message,) = style.messages(problem, [], form)
                assert message['content'].split() == list(told)
            assert style.answer(parse_plan(row.plan), problem).split() == list(found.plan)
            assert found.attempt[0] == ATTEMPT
            assert found.attempt[-2] == VERDICT
            assert set(found.attempt) <= set(words)


def test_attempts_fail_and_are_the_same_each_time() -> None:
    for row in drawn('blocksworld', 'train', 10):
        problem, right = row_problem(row), parse_plan(row.plan)
        for unsafe in (Plan(), parse_plan(row.unconstrained_plan)):
            found = failed_attempt(problem, right, unsafe, row.id)
            assert found == failed_attempt(problem, right, unsafe, row.id)
            assert found is not None
            text, verdict = found
            assert not verdict.ok
            assert Validator(problem).verify(text) == verdict


def test_problems_of_test_classes_are_refused(tmp_path: Path) -> None:
    rows = list(drawn('ferry', 'train', 4))
    write_rows(tmp_path / 'train.jsonl', [*rows, renamed(rows[0], 'f0')])
    assert int('f0', 16) % 8 == 0
    with pytest.raises(ConfigError, match='of a class that is kept for tests'):
        training_rows(config(tmp_path, tmp_path))
    write_rows(tmp_path / 'train.jsonl', rows)
    assert training_rows(config(tmp_path, tmp_path)) == rows


def test_a_dataset_that_is_not_what_its_manifest_says(dataset: Path, tmp_path: Path) -> None:
    folder = tmp_path / 'data'
    shutil.copytree(dataset, folder)
    digest = sha256((folder / 'train.jsonl').read_bytes()).hexdigest()
    manifest = {'recipe': '', 'files': {'train.jsonl': digest}, 'folders': {}}
    (folder / 'manifest.json').write_text(json.dumps(manifest))
    assert training_rows(config(tmp_path, folder))
    with (folder / 'train.jsonl').open('a') as file:
        file.write((folder / 'train.jsonl').read_text().splitlines()[0] + '\n')
    with pytest.raises(ConfigError, match='is not what the manifest says'):
        training_rows(config(tmp_path, folder))


@pytest.mark.parametrize(
    ('text', 'message'),
    [(None, 'there is no such file'), ('', 'holds no rows'), ('{}\n', 'is not a row')],
)
def test_what_is_no_dataset(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / 'train.jsonl').write_text(text)
    with pytest.raises(SafegenError, match=message):
        training_rows(config(tmp_path, tmp_path))


@pytest.mark.nightly
def test_examples_that_are_too_long(dataset: Path, tmp_path: Path) -> None:
    corpus = load_corpus(config(tmp_path, dataset, budget__max_length=110))
    whole = load_corpus(config(tmp_path, dataset))
    assert 0 < len(corpus.items) < len(whole.items)
    assert max(len(item['input_ids']) for item in corpus.items) <= 110
    with pytest.raises(ConfigError, match='no example has at most 20 tokens'):
        load_corpus(config(tmp_path, dataset, budget__max_length=20))


@given(
    st.lists(
        st.tuples(st.sampled_from('abcd'), st.integers(1, 99), st.floats(0.1, 5)),
        min_size=1,
        max_size=200,
    ),
    st.integers(1, 16),
    st.integers(0),
)
def test_domains_and_weights_are_respected(
    items: list[tuple[str, int, float]], batch: int, seed: int
) -> None:
    domains, lengths, weights = map(list, zip(*items, strict=True))
    sampler = BalancedSampler(domains, lengths, weights, batch, seed)
    order = list(sampler)
    each = len(items) // len(set(domains))
    assert len(order) == len(sampler) == each * len(set(domains))
    assert set(Counter(domains[n] for n in order).values()) == {each}
    counts = Counter(order)
    for domain in set(domains):
        own = [n for n in range(len(items)) if domains[n] == domain]
        total = sum(weights[n] for n in own)
        for n in own:
            assert abs(counts[n] - each * weights[n] / total) < 1 + 1e-9
    assert order == list(BalancedSampler(domains, lengths, weights, batch, seed))


def test_domains_are_taken_in_their_shares_all_the_way() -> None:
    domains = ['a'] * 100 + ['b'] * 600 + ['c'] * 100
    sampler = BalancedSampler(domains, [1] * 800, [1.0] * 800, 8, 3, {'a': 2.0, 'c': 0.5})
    order = list(sampler)
    assert len(order) == len(sampler) == 799  # 2, 1 and 0.5 parts in 3.5, rounded down
    counts = Counter(domains[n] for n in order)
    assert [counts[name] for name in 'abc'] == [457, 228, 114]
    half = Counter(domains[n] for n in order[:400])
    assert half['a'] / 400 == pytest.approx(2 / 3.5, abs=0.08)


def test_formats_are_mixed_all_the_way() -> None:
    """A weight must not bring its items early and leave the others for the end of the epoch."""
    weights = [3.0, 1.0] * 800
    order = list(BalancedSampler(['a'] * 1600, [1] * 1600, weights, 4, 1))
    for part in (order[:800], order[800:]):
        assert sum(n % 2 == 0 for n in part) / 800 == pytest.approx(0.75, abs=0.06)


def test_batches_hold_sequences_of_like_length() -> None:
    lengths = [(37 * n) % 200 for n in range(2000)]
    order = list(BalancedSampler(['a'] * 2000, lengths, [1.0] * 2000, 16, 1))
    batches = [[lengths[n] for n in order[i : i + 16]] for i in range(0, 2000, 16)]
    padding = sum(max(b) * len(b) - sum(b) for b in batches) / sum(lengths)
    assert padding < 0.1


PHASES = GrpoConfig().curriculum
DOMAINS = ('blocksworld', 'ferry', 'grippers', 'spanner')
PLACES = [(domain, bucket) for domain in DOMAINS for bucket in BUCKETS for _ in range(10)]


def sampler(
    shape: Shape, seed: int = 1, places: list[tuple[str, str]] = PLACES
) -> CurriculumSampler:
    domains, buckets = zip(*places, strict=True)
    return CurriculumSampler(domains, buckets, [1.0] * len(places), PHASES, shape, seed)


@given(st.integers(1, 9), st.integers(2, 8), st.integers(1, 4), st.integers(1, 5), st.integers(0))
def test_groups_stay_together(
    prompts: int, generations: int, repeats: int, batches: int, seed: int
) -> None:
    shape = Shape(prompts, generations, repeats, batches)
    order = list(sampler(shape, seed))
    assert len(order) == len(sampler(shape, seed)) == prompts * generations * repeats * batches
    groups = [order[i : i + generations] for i in range(0, len(order), generations)]
    assert all(len(set(group)) == 1 for group in groups)
    for batch in range(batches):
        start = batch * repeats * prompts
        parts = [groups[start + i * prompts : start + (i + 1) * prompts] for i in range(repeats)]
        assert all(part == parts[0] for part in parts)
        assert len({group[0] for group in parts[0]}) == prompts
    taken = Counter(PLACES[group[0]][0] for group in groups)
    counts = [taken[domain] for domain in DOMAINS]
    assert max(counts) - min(counts) <= repeats


def test_rows_are_enough_for_what_is_asked() -> None:
    from safegen_ros.training.pddl3_world import enough_rows  # seconds, which no collection needs

    rows = [row for domain in ('ferry', 'spanner') for row in drawn(domain, 'train', 12)]
    assert enough_rows(rows, 100, 1) == rows
    some = enough_rows(rows, 5, 1)
    assert Counter(row.domain for row in some) == {'ferry': 5, 'spanner': 5}
    assert some == [row for row in rows if row in some] == enough_rows(rows, 5, 1)
    assert some != enough_rows(rows, 5, 2)


def test_every_batch_holds_all_domains() -> None:
    chosen = sampler(Shape(8, 8, 4, 50))
    for batch in range(50):
        assert set(Counter(PLACES[n][0] for n in chosen.prompts(batch)).values()) == {2}


def test_problems_become_harder_as_table_vii_says() -> None:
    batches = 1000
    chosen = sampler(Shape(4, 8, 1, batches))
    start = 0.0
    for end, *shares in PHASES:
        part = range(int(start * batches), int(end * batches))
        counts = Counter(PLACES[n][1] for batch in part for n in chosen.prompts(batch))
        total = sum(counts.values())
        for bucket, share in zip(BUCKETS, shares, strict=True):
            assert counts[bucket] / total == pytest.approx(share, abs=0.05)
        start = end


def test_a_batch_depends_on_seed_and_number_alone() -> None:
    shape = Shape(4, 2, 1, 20)
    order = list(sampler(shape))
    later = [n for batch in range(7, 20) for n in sampler(shape).prompts(batch) for _ in range(2)]
    assert order[7 * 8 :] == later
    assert order != list(sampler(shape, seed=2))


def test_buckets_that_a_domain_lacks_are_made_up_for() -> None:
    places = [('ferry', 'hard')] * 2 + [('spanner', 'easy')] + [('spanner', 'medium')]
    chosen = sampler(Shape(4, 2, 1, 30), places=places)
    for batch in range(30):
        counts = Counter(places[n][0] for n in chosen.prompts(batch))
        assert counts == {'ferry': 2, 'spanner': 2}


def test_weights_choose_between_formats() -> None:
    places = [('ferry', 'easy'), ('ferry', 'easy')]
    shape = Shape(1, 2, 1, 2000)
    chosen = CurriculumSampler(*zip(*places, strict=True), [3.0, 1.0], PHASES, shape, 1)
    counts = Counter(chosen.prompts(batch)[0] for batch in range(2000))
    assert counts[0] / 2000 == pytest.approx(0.75, abs=0.04)


CATEGORIES = sorted(set(Category) - {Category.UNKNOWN})
OURS = Intervals(GrpoConfig().rewards)


@st.composite
def bounds(draw: st.DrawFn) -> tuple[float, ...]:
    first = draw(st.floats(-10, 10))
    gaps = draw(st.lists(st.floats(1e-6, 5), min_size=7, max_size=8))
    return tuple(accumulate(gaps, initial=first))


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    length = draw(st.integers(0, 60))
    return Verdict(
        draw(st.sampled_from(CATEGORIES)),
        failing_step=draw(st.integers(-1, max(-1, length - 1))),
        plan_length=length,
        goal_fraction=draw(st.floats(0, 1)),
    )


@given(bounds(), verdicts(), verdicts(), st.integers(1, 60), st.integers(1, 60))
def test_a_better_category_always_earns_more(
    chosen: tuple[float, ...], one: Verdict, other: Verdict, length: int, other_length: int
) -> None:
    for intervals in (OURS, Intervals(chosen)):
        first, second = intervals.reward(one, length), intervals.reward(other, other_length)
        if one.category != other.category:
            assert (first > second) == (one.category > other.category)
        elif one.category is Category.FORMAT_ERROR:
            assert first == second
        elif one.category is Category.SUCCESS:
            detours = one.plan_length / length, other.plan_length / other_length
            assert detours[0] <= detours[1] or first <= second
        else:
            progress = one.progress(length), other.progress(other_length)
            assert (progress[0] <= progress[1]) or first >= second
        assert intervals.bounds[0] <= first <= intervals.bounds[-1]


def test_progress_is_measured_by_the_reference() -> None:
    """Equation 9: a short wrong plan cannot make its failing step look late."""
    short = Verdict(Category.PRECONDITION_VIOLATION, failing_step=3, plan_length=4)
    long = Verdict(Category.PRECONDITION_VIOLATION, failing_step=3, plan_length=40)
    low, high = OURS.bounds[3:5]
    assert (
        OURS.reward(short, 10) == OURS.reward(long, 10) == pytest.approx(low + 0.3 * (high - low))
    )
    assert OURS.reward(long, 2) == high


def test_no_verdict_earns_nothing() -> None:
    assert OURS.reward(Verdict(), 5) == OURS.bounds[0]


@pytest.mark.parametrize('domain', ['blocksworld', 'ferry', 'grippers', 'spanner'])
def test_completions_earn_what_the_validator_says(domain: str) -> None:
    rows = list(drawn(domain, 'train', 3))
    row, problem = rows[1], row_problem(rows[1])
    steps = row.plan.splitlines()
    texts = [
        row.plan,
        '\n'.join(steps[:-1]),
        '\n'.join(steps[1:]),
        row.unconstrained_plan,
        'I plan',
    ]
    wanted = [OURS.reward(Validator(problem).verify(t), row.reference_length) for t in texts]
    assert wanted[0] == OURS.bounds[-1]
    assert wanted[4] == OURS.bounds[0]
    assert wanted[0] > max(wanted[1:]) >= min(wanted[1:4]) > wanted[4]
    shares: dict[str, float] = {}
    judge = plan_reward(rows, InstructStyle(), OURS)
    completions = [[{'role': 'assistant', 'content': text}] for text in texts]
    assert judge(completions, [1] * 5, log_metric=shares.__setitem__) == wanted
    assert shares['success'] == shares[f'success_{domain}'] == 0.2
    assert shares['format_error'] == 0.2
    assert sum(v for k, v in shares.items() if not k.startswith('success_')) == pytest.approx(1)


def test_the_words_of_the_small_model_are_judged_alike() -> None:
    rows = list(drawn('blocksworld', 'train', 2))
    style = WordStyle()
    right = [style.answer(parse_plan(row.plan), row_problem(row)) for row in rows]
    judge = plan_reward(rows, style, OURS)
    answers = [*right, 'stack', '']
    completions = [[{'role': 'assistant', 'content': text}] for text in answers]
    earned = judge(completions, [0, 1, 0, 1])
    assert earned[:2] == [OURS.bounds[-1]] * 2
    assert earned[2] == OURS.bounds[0]
    assert earned[3] < OURS.bounds[-1]
