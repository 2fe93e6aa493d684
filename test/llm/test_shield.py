# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whatever a model writes under the shield is a safe plan, whatever its tokens are."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cache, partial
from typing import Any

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from support import llm_small, strategies
from support.model_server import MODEL, ModelServer
from support.scripted_answers import ScriptedAnswers

from safegen_ros.errors import BackendError, Canceled, ErrorCode, SafegenError
from safegen_ros.llm.backend import (
    ChoiceUnsupported,
    Completion,
    Sampling,
    Unsupported,
)
from safegen_ros.llm.decoding import beam
from safegen_ros.llm.decoding import choices as choices_module
from safegen_ros.llm.decoding.beam import StepBeam
from safegen_ros.llm.decoding.choices import ChoiceGuide
from safegen_ros.llm.decoding.guide import BeamOutcome, BeamResult, PlanSyntax
from safegen_ros.llm.decoding.shield import TextEnding, TextShield, Visited
from safegen_ros.llm.decoding.token_tree import CachedTokenTree, TokenTree
from safegen_ros.llm.decoding.token_trie import TokenTrie, token_trie
from safegen_ros.llm.openai_backend import OpenAIBackend
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle, next_step, plan_syntax
from safegen_ros.verdict import Category
from safegen_ros.verify.admissible import Shield, Situation
from safegen_ros.verify.validator import Validator

PAIRS = (
    ('words', 'words'),
    ('words', 'joined'),
    ('instruct', 'bytes'),
    ('instruct', 'joined'),
    ('instruct', 'blanks'),
)
"""Styles with the tokenizers that their models may have."""


@cache
def trie(kind: str) -> TokenTrie:
    return token_trie(llm_small.tokenizer(kind))


def text_shield(problem: Problem, style: str, kind: str) -> TextShield:
    tokenizer = llm_small.tokenizer(kind)
    own = plan_syntax(llm_small.style(style), problem)
    return TextShield(Shield(problem), own, trie(kind), [tokenizer.eos_token_id])


def read_back(problem: Problem, style: str, kind: str, tokens: list[int]) -> str:
    """The text of tokens in the names of the problem, as the planner reads it."""
    tokenizer = llm_small.tokenizer(kind)
    ends = [tokenizer.eos_token_id, tokenizer.pad_token_id]
    text = tokenizer.decode([t for t in tokens if t not in ends], skip_special_tokens=True)
    return llm_small.style(style).plan_text(text, problem)


def check_safe(problem: Problem, plan: Plan, ending: TextEnding) -> None:
    """Every step applies, nothing is broken for good, and who finished has solved the problem.

    Who is stuck could go nowhere, or only back.
    """
    verdict = Validator(problem).verify(plan)
    assert verdict.category not in (Category.FORMAT_ERROR, Category.PRECONDITION_VIOLATION)
    shield = Shield(problem)
    situation: Situation | None = shield.start
    visited = {shield.start}
    for step in plan.steps:
        assert situation is not None
        situation = shield.after(situation, step)
        assert situation is not None
        assert situation not in visited
        visited.add(situation)
    assert situation is not None
    assert ending is not TextEnding.FOREIGN
    assert (ending is TextEnding.FINISHED) <= verdict.ok
    ahead = {*shield.steps(situation).values()} - visited
    assert (ending is TextEnding.STUCK) <= (not verdict.ok and not ahead)


def a_problem(rng: random.Random) -> Problem:
    """Of a built-in domain or of a user's own."""
    kind = rng.randrange(4)
    if kind == 0:
        return llm_small.lamps(
            constraints=rng.choice(['', '(sometime-before (lit l11) (broken l2))'])
        )
    return strategies.generated(rng) if kind < 3 else strategies.toggles(rng)


@strategies.examples(200)
@given(strategies.SEEDS, st.sampled_from(PAIRS))
def test_whatever_tokens_are_drawn_the_plan_is_safe(seed: int, pair: tuple[str, str]) -> None:
    rng = random.Random(seed)
    problem = a_problem(rng)
    if pair[1] == 'words' and problem.domain.name == 'random-toggles':
        problem = llm_small.lamps()
    try:
        shield = text_shield(problem, *pair)
    except SafegenError as error:  # too large to be put in words
        assume(error.code is not ErrorCode.TASK_TOO_LARGE)
        raise
    [end] = shield.ends
    tokens: list[int] = []
    written = shield.start
    while written.ending is TextEnding.CUT and len(tokens) < 60:
        moves = shield.moves(written.place)
        choices = [*moves.tokens, *([end] if moves.may_end or moves.stuck else [])]
        assert choices
        tokens.append(rng.choice(choices))
        written = shield.after(written, tokens[-1])
    plan, ending = shield.read(tokens)
    assert ending is written.ending
    check_safe(problem, plan, ending)
    if ending is not TextEnding.CUT:
        assert parse_plan(read_back(problem, *pair, tokens)) == plan


def continuations(
    shield: Shield, own: PlanSyntax, situation: Situation, visited: Visited, depth: int
) -> Iterator[str]:
    """The texts of all plans of up to `depth` steps from a situation, a separator before each."""
    yield own.separator
    if depth:
        for step, after in shield.steps(situation).items():
            if after in visited:
                continue
            for rest in continuations(shield, own, after, visited | {after}, depth - 1):
                yield own.separator + own.step(step) + rest


@pytest.mark.parametrize('pair', PAIRS)
def test_the_tokens_let_through_are_just_those_that_keep_a_plan(pair: tuple[str, str]) -> None:
    """Found by trying every token at every place of a text, against all plans there are."""
    problem = llm_small.lamps('(and (lit l1) (broken l1))', names='l1 l11')  # never
    shield = text_shield(problem, *pair)
    own, tokenizer = plan_syntax(llm_small.style(pair[0]), problem), llm_small.tokenizer(pair[1])
    once, twice = (
        [tokenizer.decode([token] * count) for token in range(len(tokenizer))] for count in (1, 2)
    )
    pieces = {t: two[len(one) :] for t, (one, two) in enumerate(zip(once, twice, strict=True))}
    for token in tokenizer.all_special_ids:
        del pieces[token]
    rng, spanning = random.Random(4), 0
    for _ in range(6):
        written = shield.start
        for _ in range(12):
            place = written.place
            partial = own.separator if place.partial is None else place.partial
            longest = len(partial) + llm_small.LONGEST
            ahead = {
                plan[:end]
                for plan in continuations(shield.shield, own, place.situation, place.visited, 4)
                for end in range(len(partial), min(len(plan), longest) + 1)
            }
            whole = ' ' if pair[1] == 'words' else ''  # no word is written in two parts
            expected = {t for t, p in pieces.items() if p and partial + p + whole in ahead}
            if place.partial is None:  # a blank may stand before the first step
                blank = {t: p[1:] for t, p in pieces.items() if p.startswith(' ')}
                expected |= {t for t, p in blank.items() if partial + p + whole in ahead}
            moves = shield.moves(place)
            assert {*moves.tokens} == expected
            spanning += sum(bool(steps) for _, steps in moves.tokens.values())
            if moves.stuck:
                break
            token = rng.choice(sorted(moves.tokens))
            written = shield.after(written, token)
    assert spanning > (10 if pair[1] == 'joined' else 0)


def test_tokens_that_were_not_let_through_are_told() -> None:
    shield = text_shield(llm_small.lamps(), 'instruct', 'bytes')
    tokenizer = llm_small.tokenizer('bytes')
    for text, whole in (('(on l2)\n(off l11)', 1), ('hello', 0), ('(on l2)<end>', 1)):
        plan, ending = shield.read(tokenizer(text)['input_ids'])
        assert ending is TextEnding.FOREIGN
        assert len(plan) == whole
    plan, ending = shield.read(tokenizer('(on l2)\n(on l1')['input_ids'])
    assert ending is TextEnding.CUT
    assert [step.action for step in plan.steps] == ['on']


def test_names_that_tokens_cannot_spell_are_refused() -> None:
    lamps = llm_small.lamps()
    some = TokenTrie({1: ' on', 2: ' object1', 3: ' off'})
    own = plan_syntax(llm_small.style('words'), lamps)
    shield = TextShield(Shield(lamps), own, some, [0])
    assert shield.moves(shield.start.place).tokens.keys() == {3}  # object1 is on already
    then = shield.moves(shield.after(shield.start, 3).place)
    assert then.tokens.keys() == {2}
    none = TextShield(Shield(lamps), own, TokenTrie({1: ' fly'}), [0])
    with pytest.raises(BackendError, match='no tokens for'):
        none.moves(none.start.place)


def test_places_from_which_a_text_can_be_spelled() -> None:
    found = TokenTrie({1: 'ab', 2: 'c', 3: 'b', 4: 'bcd', 5: ''})
    assert found.spelled_from('abc') == (True, True, True, True)
    assert found.spelled_from('abcd') == (False, True, False, False, True)
    assert found.spot('bc') == ((), True)
    assert found.spot('bcd') == ((4,), False)
    assert found.spot('d') is None


class Chat(ScriptedAnswers):
    """A server that takes one of the choices, the last one unless told, or answers in words."""

    def __init__(
        self,
        *answers: str,
        held: bool = True,
        take: Callable[[Sequence[str]], str] = lambda choices: choices[-1],
    ) -> None:
        super().__init__(*answers)
        self.held, self.take = held, take
        self.offered: list[set[str]] = []

    def choose(self, messages: Any, choices: Sequence[str], *_: Any) -> Completion:
        self.offered.append({*choices})
        if not self.held:
            raise ChoiceUnsupported('no choices here')
        return Completion(self.take(choices), 1, 1, 0.0, 'stop')


def by_steps(model: Chat, problem: Problem) -> ChoiceGuide:
    style = InstructStyle()
    ask = partial(next_step, style, style.messages(problem, []))
    return ChoiceGuide(model, ask, Shield(problem), plan_syntax(style, problem))


@strategies.examples(100)
@given(strategies.SEEDS)
def test_whatever_is_chosen_the_plan_is_safe(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.toggles(rng) if seed % 2 else strategies.generated(rng)
    model = Chat(take=lambda choices: f' {rng.choice(choices)}\n')
    shield = Shield(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choices_module, 'MAX_STEPS', 8)
        plan = by_steps(model, problem).shielded(Sampling())
    situation, seen = shield.start, {shield.start}
    for step in plan.steps:
        steps = shield.steps(situation)
        offered = {str(each) for each, after in steps.items() if after not in seen}
        assert len(offered) == 1 or model.offered.pop(0) == offered
        assert str(step) in offered
        situation = steps[step]
        seen.add(situation)
    if len(plan) < 8 and not Validator(problem).verify(plan).ok:  # a dead end
        assert not {*shield.steps(situation).values()} - seen


@pytest.mark.parametrize('answer', ['', '(off l2)', '(on l2) (on l11)', 'I would turn on l2.'])
def test_an_answer_that_was_not_offered_is_no_step(answer: str) -> None:
    model = Chat(take=lambda choices: answer)
    with pytest.raises(BackendError, match='ask again'):
        by_steps(model, llm_small.lamps()).shielded(Sampling())


def test_a_dead_end_ends_the_plan_and_asks_nothing() -> None:
    problem, model = llm_small.lamps('(lit l2)', '(within 1 (and (lit l2) (lit l11)))'), Chat()
    assert len(by_steps(model, problem).shielded(Sampling())) == 0
    assert model.offered == model.asked == []


def test_what_a_server_answers_plainly_counts_only_where_it_was_offered() -> None:
    problem = llm_small.lamps()
    model = Chat('Gladly!', ' (on l11)\n', '(smash l2', '(on l1)(on l2)', '(off l1)', held=False)
    assert str(by_steps(model, problem).shielded(Sampling(seed=4))) == '(on l11)\n(off l1)'
    assert [sampling.seed for _, sampling in model.asked] == [4, 5, 4, 5, 6]
    assert len(model.offered) == 1
    stubborn = Chat(*['no'] * 4, held=False)
    with pytest.raises(Unsupported, match="answered 'no'"):
        by_steps(stubborn, problem).shielded(Sampling())
    assert len(stubborn.answers) == 1


def test_the_question_for_a_step_names_the_plan_so_far_and_the_choices() -> None:
    problem, style = llm_small.lamps(), InstructStyle()
    [question] = style.messages(problem, [])
    [first] = next_step(style, [question], '', ['(on l1)', '(on l2)'])
    assert first['content'].startswith(question['content'])
    assert first['content'].endswith('(on l1)\n(on l2)')
    later = next_step(style, [question], '(on l1)', ['(on l2)'])
    assert [m['role'] for m in later] == ['user', 'assistant', 'user']
    assert later[1]['content'] == '(on l1)'
    with pytest.raises(Unsupported, match='single steps'):
        next_step(llm_small.style('words'), [question], '', ['on object1'])


def test_what_a_server_cannot_do_is_told() -> None:
    guide = by_steps(Chat(), llm_small.lamps())
    with pytest.raises(Unsupported, match='from its folder'):
        guide.beam(2, 1.0)
    with pytest.raises(Unsupported, match='from its folder'):
        guide.completed(parse_plan('(on l2)'), Sampling())


@pytest.mark.parametrize('refused', [(), ('structured_outputs', 'grammar')], ids=['held', 'plain'])
def test_over_the_protocol_of_a_server(refused: tuple[str, ...]) -> None:
    problem = llm_small.lamps()
    with ModelServer(refuse=refused) as server, closing(OpenAIBackend(server.url, MODEL)) as model:
        guide = by_steps(model, problem)
        if refused:  # it answers in words that are no step
            with pytest.raises(Unsupported, match='cannot be held'):
                guide.shielded(Sampling(1.0, seed=2))
            return
        plan = guide.shielded(Sampling(1.0, seed=2))
        assert Validator(problem).verify(plan).category >= Category.GOAL_NOT_SATISFIED
        assert len(plan) >= len(server.requests) > 0


FEW = (('words', 'words'), ('words', 'bytes'), ('instruct', 'bytes'), ('instruct', 'blanks'))
AMPLE_S = 3600.0
"""What no search takes, however slow the machine: what is found depends on nothing else."""
FAST = {'tree': CachedTokenTree}  # the choice of it is tested elsewhere


def searched(problem: Problem, style: str, kind: str, seed: int = 0, **options: Any) -> StepBeam:
    tokenizer = llm_small.tokenizer(kind)
    chosen: dict[str, Any] = {'context': 2048, 'max_steps': 12, **FAST, **options}
    return StepBeam(
        llm_small.model(len(tokenizer), seed),
        tokenizer,
        llm_small.prompt(tokenizer, problem),
        Shield(problem),
        plan_syntax(llm_small.style(style), problem),
        [tokenizer.eos_token_id],
        **chosen,
    )


def probability(problem: Problem, plan: Plan, style: str, kind: str, seed: int = 0) -> float:
    """Logarithm of the probability that the model answers with a plan, computed at once."""
    tokenizer = llm_small.tokenizer(kind)
    prompt = llm_small.prompt(tokenizer, problem)
    text = llm_small.style(style).answer(plan, problem)
    answer = [*tokenizer(text, add_special_tokens=False)['input_ids'], tokenizer.eos_token_id]
    with torch.inference_mode():
        model = llm_small.model(len(tokenizer), seed)
        table = model(torch.tensor([prompt + answer])).logits[0].log_softmax(-1)
    return sum(float(table[len(prompt) - 1 + place, t]) for place, t in enumerate(answer))


def trap(count: int) -> Problem:
    """One lamp has to be lit; to smash another one first, which nothing mends, is of no use."""
    names = ' '.join(f'l{number + 1}' for number in range(count))
    return llm_small.lamps('(and (lit l1) (lit l2) (lit l3))', '(always (not (broken l1)))', names)


@strategies.examples(15)
@given(strategies.SEEDS, st.sampled_from(FEW), st.sampled_from([1, 3]), st.booleans())
def test_what_is_found_is_a_solution_with_the_probability_that_the_model_gives_it(
    seed: int, pair: tuple[str, str], width: int, backtrack: bool
) -> None:
    rng = random.Random(seed)
    problem = strategies.generated(rng) if seed % 3 == 0 else trap(rng.randint(3, 5))
    network = seed % 5
    result = searched(problem, *pair, seed=network).search(width, 20.0, backtrack=backtrack)
    assert (result.plan is None) == (result.outcome is not BeamOutcome.FOUND)
    if result.plan is None:
        assert result.score == 0
        return
    assert Validator(problem).verify(result.plan).ok
    expected = probability(problem, result.plan, *pair, network)
    assert result.score == pytest.approx(expected, rel=1e-4, abs=1e-3)
    shield = Shield(problem)
    situation, seen = shield.start, {shield.start}
    for step in result.plan.steps:
        situation = shield.steps(situation)[step]
        assert situation not in seen
        seen.add(situation)


def problems(count: int) -> list[Problem]:
    rng = random.Random(8)
    return [strategies.generated(rng) for _ in range(count)]


def widened(search: StepBeam, widths: tuple[int, ...]) -> list[BeamResult]:
    """What wider and wider beams find, the last one also with leave to go back."""
    tries: list[BeamResult] = []
    for width, backtrack in (*((width, False) for width in widths), (widths[-1], True)):
        tries.append(search.search(width, AMPLE_S, backtrack=backtrack))
        if tries[-1].outcome is BeamOutcome.FOUND:
            break
    return tries


@pytest.mark.parametrize(
    'pair',
    [FEW[0], *(pytest.param(pair, marks=pytest.mark.nightly) for pair in FEW[1:])],
)
def test_the_cache_changes_nothing(pair: tuple[str, str]) -> None:
    found = 0
    for problem in (*problems(2), llm_small.lamps(), trap(3)):
        fast, plain = (
            widened(searched(problem, *pair, max_steps=7, tree=tree), (1, 3))
            for tree in (CachedTokenTree, TokenTree)
        )
        for one, other in zip(fast, plain, strict=True):
            assert (one.outcome, one.plan, one.scored) == (other.outcome, other.plan, other.scored)
            assert one.score == pytest.approx(other.score, abs=1e-2)
        found += fast[-1].plan is not None
    assert found


def test_steps_are_left_out_only_where_they_cannot_be_among_the_best(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    saved = 0
    for seed in range(6):
        results = []
        for at_once in (10**6, 2):
            monkeypatch.setattr(beam, '_AT_ONCE', at_once)
            results.append(searched(trap(6), 'words', 'words', seed).search(2))
        whole, bounded = results
        assert (whole.plan, whole.outcome) == (bounded.plan, bounded.outcome)
        assert whole.score == pytest.approx(bounded.score, abs=1e-3)
        saved += whole.scored - bounded.scored
    assert saved > 0


@pytest.mark.nightly
def test_wider_beams_find_what_others_miss() -> None:
    levels = set()
    for problem in problems(16):
        last = widened(searched(problem, 'words', 'words', max_steps=40), (1, 2, 4, 8))[-1]
        if last.plan is not None:
            assert Validator(problem).verify(last.plan).ok
            levels.add((last.width, last.backtracking))
    assert len(levels) > 2


def test_a_search_that_goes_back_ends_after_so_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = llm_small.lamps('(and (lit l1) (broken l1))')
    whole = searched(problem, 'words', 'words').search(1, backtrack=True)
    assert whole.outcome is BeamOutcome.EXHAUSTED
    monkeypatch.setattr(beam, 'MOST_SCORED', whole.scored - 1)
    cut = searched(problem, 'words', 'words').search(1, backtrack=True)
    assert (cut.outcome, cut.plan) == (BeamOutcome.EFFORT, None)


def test_plans_that_were_left_are_taken_up_again() -> None:
    problem, taken = trap(4), 0
    for seed in range(6):
        search = searched(problem, 'words', 'words', seed, max_steps=6)
        again = search.search(1, backtrack=True)
        assert again.outcome is BeamOutcome.FOUND
        assert again.plan is not None
        assert Validator(problem).verify(again.plan).ok
        taken += search.search(1).plan is None
    assert taken


def test_a_solved_problem_needs_no_step() -> None:
    problem = llm_small.lamps('(lit l1)')
    result = searched(problem, 'words', 'words').search(2)
    assert (result.plan, result.scored) == (Plan(), 0)
    assert result.score == pytest.approx(probability(problem, Plan(), 'words', 'words'), abs=1e-3)


@pytest.mark.parametrize(
    ('problem', 'options', 'outcome'),
    [
        (llm_small.lamps('(and (lit l1) (broken l1))'), {}, BeamOutcome.EXHAUSTED),
        (
            llm_small.lamps('(lit l2)', '(within 1 (and (lit l2) (lit l11)))'),
            {},
            BeamOutcome.EXHAUSTED,
        ),
        (llm_small.lamps(), {'max_steps': 1}, BeamOutcome.STEPS),
        (llm_small.lamps(), {'context': 8}, BeamOutcome.CONTEXT),
    ],
    ids=['unsolvable', 'stuck', 'too-long', 'no-room'],
)
@pytest.mark.parametrize('backtrack', [False, True])
def test_why_there_is_no_plan(
    problem: Problem, options: dict[str, Any], outcome: BeamOutcome, backtrack: bool
) -> None:
    search = searched(problem, 'words', 'words', **{'max_steps': 50, **options})
    result = search.search(2, backtrack=backtrack)
    assert (result.outcome, result.plan) == (outcome, None)


def test_the_time_is_kept() -> None:
    search = searched(trap(3), 'words', 'words')
    assert search.search(2, 0.0).outcome is BeamOutcome.TIME
    assert search.search(2).outcome is BeamOutcome.FOUND  # nothing of it was lost


@pytest.mark.parametrize('after', [0, 1, 5])
def test_a_search_can_be_cancelled(after: int) -> None:
    asked = 0

    def cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked > after

    search = searched(llm_small.lamps('(and (lit l1) (broken l1))'), 'words', 'words')
    with pytest.raises(Canceled) as error:
        search.search(1, AMPLE_S, cancelled, backtrack=True)
    assert error.value.code is ErrorCode.PLANNING_CANCELED
    assert asked == after + 1
