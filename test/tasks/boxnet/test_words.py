# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Words of the small model: nothing is lost on the way there and back, nothing is mended."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import examples

from safegen_ros.datasets.boxnet.draw import MOVED_POINTS, RANDOM_ROBOTS, tasks
from safegen_ros.errors import BackendError, ErrorCode, SafegenError
from safegen_ros.tasks.boxnet.answers import REFUSAL
from safegen_ros.tasks.boxnet.findings import Finding
from safegen_ros.tasks.boxnet.geometry import UNIT
from safegen_ros.tasks.boxnet.model import Move, Task
from safegen_ros.tasks.boxnet.optimal import solve
from safegen_ros.tasks.boxnet.prompts import (
    EXAMPLE,
    EXAMPLE_PLAN,
    ChatStyle,
    MapStyle,
    answer_text,
    full_prompt,
    style_of,
)
from safegen_ros.tasks.boxnet.reward import reward
from safegen_ros.tasks.boxnet.rule_planner import TURNS, TurnedTask
from safegen_ros.tasks.boxnet.verifier import judge, verify, verify_step
from safegen_ros.tasks.boxnet.words import NEXT_STEP, WHOLE, answer_in_json, answer_words, map_words

PLAN = solve(EXAMPLE).plan
SAID = answer_words(EXAMPLE, EXAMPLE.start, PLAN)
ANYTHING = [*SAID, 'object0', 'unsolvable', '1e9', '-', '{"', '</think>']
SOME = [
    task
    for variant in (RANDOM_ROBOTS, MOVED_POINTS)
    for task in islice(tasks((3, 2), 2, 'words', variant=variant), 3)
]


@pytest.mark.parametrize('task', [EXAMPLE, *SOME], ids=lambda task: task.id)
def test_a_plan_comes_back_from_its_words_as_it_was(task: Task) -> None:
    plan = solve(task).plan
    found = verify(
        task, answer_in_json(' '.join(answer_words(task, task.start, plan)), task, WHOLE)
    )
    assert (found.verdict.ok, found.formatted) == (True, True)
    assert [sorted(step, key=lambda m: m.robot) for step in found.plan] == [*map(list, plan)]
    for at, state in enumerate(judge(task, plan).states[:-1]):
        said = ' '.join(answer_words(task, state, plan[at : at + 1]))
        assert verify_step(task, state, answer_in_json(said, task, NEXT_STEP)).verdict.ok


def test_a_map_is_told_whole() -> None:
    assert ' '.join(map_words(EXAMPLE, EXAMPLE.start, WHOLE)) == (
        'full object0 0.25 0.25 2.75 1.75 object1 2.75 0.25 1.25 0.25 '
        'base1,1 1.25 1.25 base2,1 2.25 1.25'
    )


@pytest.mark.parametrize(
    ('words', 'finding'),
    [
        (['unsolvable'], Finding.REFUSED),
        (SAID[:-1], Finding.UNPARSEABLE),
        ([*SAID, 'then'], Finding.UNPARSEABLE),
        (['base7,7' if word == 'base1,1' else word for word in SAID], Finding.UNKNOWN_ROBOT),
        (['go' if word == 'take' else word for word in SAID], Finding.INCOMPLETE),
        (['0.5' if word == '1.25' else word for word in SAID], Finding.NOT_AT_START),
        (SAID[:7] * 2, Finding.REPEATED_ROBOT),
        (['object0', *SAID], Finding.UNPARSEABLE),
        ([], Finding.UNPARSEABLE),
    ],
)
def test_what_the_model_says_wrong_stays_wrong(words: list[str], finding: Finding) -> None:
    assert verify(EXAMPLE, answer_in_json(' '.join(words), EXAMPLE, WHOLE)).finding is finding


def test_each_move_tells_which_object_it_is_for_and_the_world_does_not_see_it() -> None:
    assert SAID[:7] == ['object0', 'base1,1', '1.25', '1.25', '0.25', '0.25', 'go']
    text = answer_in_json(' '.join(SAID[:7]), EXAMPLE, NEXT_STEP)
    assert '<think> Robot 0 moves for Object 0. </think>' in text
    without = answer_in_json(' '.join(SAID[1:7]), EXAMPLE, NEXT_STEP)
    assert without.partition('</think>')[2] == text.partition('</think>')[2]


def test_several_steps_are_no_next_step() -> None:
    text = answer_in_json(' '.join(SAID), EXAMPLE, NEXT_STEP)
    assert verify_step(EXAMPLE, EXAMPLE.start, text).finding is Finding.UNPARSEABLE


@examples(150)
@given(
    st.lists(st.sampled_from(ANYTHING), max_size=20),
    st.sampled_from([WHOLE, NEXT_STEP]),
)
def test_whatever_is_said_there_is_a_verdict(words: list[str], mode: str) -> None:
    text = answer_in_json(' '.join(words), EXAMPLE, mode)
    found = verify(EXAMPLE, text) if mode == WHOLE else verify_step(EXAMPLE, EXAMPLE.start, text)
    assert found.verdict.ok or found.fault is not None


@pytest.mark.parametrize('turn', TURNS)
def test_a_turned_plan_does_what_it_did(turn: tuple[bool, bool, bool]) -> None:
    new = TurnedTask(EXAMPLE, turn, (2 * UNIT, UNIT))
    assert list(new.task.bases) == sorted(new.task.bases)
    for plan in (PLAN, PLAN[:2], (PLAN[1],)):
        before, after = judge(EXAMPLE, plan), judge(new.task, new.plan(plan))
        assert after.finding is before.finding
        assert after.states == tuple(map(new.state, before.states))


def write_style(folder: Path, name: str, words: list[str]) -> str:
    (folder / 'safegen.json').write_text(json.dumps({'prompt_style': name}))
    vocabulary = {word: number for number, word in enumerate(words)}
    (folder / 'tokenizer.json').write_text(json.dumps({'model': {'vocab': vocabulary}}))
    return str(folder)


def test_a_model_is_asked_in_its_own_style(tmp_path: Path) -> None:
    assert isinstance(style_of('http://127.0.0.1:1/v1#m'), ChatStyle)
    assert isinstance(style_of(str(tmp_path)), ChatStyle)
    known = map_words(EXAMPLE, EXAMPLE.start, WHOLE)
    style = style_of(write_style(tmp_path, 'boxnet', known))
    assert isinstance(style, MapStyle)
    assert style.asked(EXAMPLE, whole=True) == [{'role': 'user', 'content': ' '.join(known)}]
    with pytest.raises(SafegenError, match="does not know 'next'") as caught:
        style.asked(EXAMPLE, whole=False)
    assert caught.value.code is ErrorCode.TASK_TOO_LARGE
    with pytest.raises(BackendError, match='another world'):
        style_of(write_style(tmp_path, 'words', []))
    (tmp_path / 'safegen.json').write_text('{')
    with pytest.raises(BackendError, match=r'safegen\.json'):
        style_of(str(tmp_path))


def test_a_chat_model_reads_the_prompt_of_the_paper_s_kind() -> None:
    assert ChatStyle().asked(EXAMPLE, whole=True)[0]['content'] == full_prompt(EXAMPLE)


PAPER_PLAN = verify(EXAMPLE, EXAMPLE_PLAN).plan
LAST = PAPER_PLAN[-1][0]
FIDGET = (Move(LAST.robot, LAST.end, LAST.end, False),)


@pytest.mark.parametrize(
    ('text', 'reference', 'earned'),
    [
        (answer_text('so', PAPER_PLAN, whole=True), 4, 1.1),
        (answer_text('so', PAPER_PLAN, whole=True), 6, 1.1),
        (EXAMPLE_PLAN, 4, 1.0),
        (answer_text('so', (*PAPER_PLAN, FIDGET, FIDGET), whole=True), 4, 0.9),
        (answer_text('so', (*PAPER_PLAN, *[FIDGET] * 30), whole=True), 4, 0.2),
        (answer_text('so', PAPER_PLAN[:2], whole=True), 4, 0.1),
        (answer_text('so', PAPER_PLAN[:2] + (FIDGET,) * 40, whole=True), 4, 0.1),
        ('nonsense', 4, 0.0),
        (f'<think>no</think>\n{REFUSAL}', 4, 0.1),
        (f'<think>no</think>\n{REFUSAL}', None, 1.1),
        (answer_text('so', PAPER_PLAN, whole=True), None, 0.1),
    ],
)
def test_an_answer_earns(text: str, reference: int | None, earned: float) -> None:
    assert reward(verify(EXAMPLE, text), reference) == pytest.approx(earned)
