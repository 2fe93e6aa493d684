# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whatever a model writes under the shield is a safe plan, whatever its tokens are."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from support import llm_small, strategies

from safegen_ros.errors import BackendError, ErrorCode, SafegenError
from safegen_ros.llm.decoding.guide import PlanSyntax
from safegen_ros.llm.decoding.logits_processors import ShieldProcessor
from safegen_ros.llm.decoding.shield import TextEnding, TextShield, Visited
from safegen_ros.llm.decoding.token_trie import TokenTrie, token_trie
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.prompts.styles import plan_syntax
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


@pytest.mark.parametrize('pair', PAIRS)
def test_a_model_that_draws_writes_safe_plans(pair: tuple[str, str]) -> None:
    problems = [
        llm_small.lamps(),
        kits()['ferry'].problem(3, kits()['ferry'].sizes('express')[0], 'express').problem,
        llm_small.lamps('(lit l1)'),  # solved by doing nothing
        llm_small.lamps('(lit l2)', '(within 1 (and (lit l2) (lit l11)))'),  # out of reach
    ]
    tokenizer, found = llm_small.tokenizer(pair[1]), []
    torch.manual_seed(1)
    for problem in problems:
        shield = text_shield(problem, *pair)
        prompt = torch.tensor([llm_small.prompt(tokenizer, problem)])
        [row] = llm_small.model(len(tokenizer)).generate(
            prompt,
            logits_processor=[ShieldProcessor(shield)],
            max_new_tokens=70,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            do_sample=True,
            top_k=0,
            top_p=0.9,
        )
        tokens = row[prompt.shape[1] :].tolist()
        plan, ending = shield.read(tokens)
        check_safe(problem, plan, ending)
        if ending is not TextEnding.CUT:
            assert parse_plan(read_back(problem, *pair, tokens)) == plan
        found.append((plan, ending))
    assert found[2:] == [(Plan(), TextEnding.FINISHED), (Plan(), TextEnding.STUCK)]
    assert any(len(plan) for plan, _ in found)


@pytest.mark.parametrize('pair', PAIRS)
def test_a_plan_that_could_only_go_back_is_stuck(pair: tuple[str, str]) -> None:
    problem = llm_small.lamps('(and (lit l1) (broken l1))')  # never
    shield = text_shield(problem, *pair)
    rng = random.Random(2)
    longest = 0
    for _ in range(5):
        tokens: list[int] = []
        written = shield.start
        while not shield.moves(written.place).stuck:
            tokens.append(rng.choice([*shield.moves(written.place).tokens]))
            written = shield.after(written, tokens[-1])
        plan, ending = shield.read([*tokens, *shield.ends])
        assert ending is TextEnding.STUCK
        check_safe(problem, plan, ending)
        longest = max(longest, len(plan))
    assert 3 < longest < 27  # situations: each of three lamps is lit, off or broken


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


@pytest.mark.parametrize('kind', ['words', 'bytes', 'joined', 'blanks'])
def test_the_pieces_of_tokens_make_up_the_text(kind: str) -> None:
    tokenizer = llm_small.tokenizer(kind)
    text = 'unstack block2 block1' if kind == 'words' else '(unstack b2 b1)\n(all-off)\n(on l11)'
    ids = tokenizer(text)['input_ids']
    pieces = {id_: piece for piece in substrings(' ' + text) for id_ in known(kind, piece)}
    assert ''.join(pieces[id_] for id_ in ids).strip() == text


def substrings(text: str) -> Iterator[str]:
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            yield text[start:end]


def known(kind: str, piece: str) -> tuple[int, ...]:
    spot = trie(kind).spot(piece)
    return spot.ids if spot else ()


def test_places_from_which_a_text_can_be_spelled() -> None:
    found = TokenTrie({1: 'ab', 2: 'c', 3: 'b', 4: 'bcd', 5: ''})
    assert found.spelled_from('abc') == (True, True, True, True)
    assert found.spelled_from('abcd') == (False, True, False, False, True)
    assert found.spot('bc') == ((), True)
    assert found.spot('bcd') == ((4,), False)
    assert found.spot('d') is None
