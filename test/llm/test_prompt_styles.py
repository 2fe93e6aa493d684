# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Both prompt styles: nothing of the task is lost, feedback arrives, answers are not guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from safegen_ros.errors import BackendError
from safegen_ros.llm.prompt_styles import CanonicalStyle, InstructStyle, load_style
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.verdict import Category
from safegen_ros.worlds.pddl3.task import Pddl3Task, load_task

TEXT = """
(define (problem tray) (:domain blocksworld) (:objects red green blue)
  (:init (arm-empty) (on-table red) (on green red) (clear green) (on-table blue) (clear blue))
  (:goal (and (on red blue)))
  (:constraints (and (sometime-before (on red blue) (on green blue)))))
"""


@pytest.fixture
def task() -> Pddl3Task:
    return load_task(TEXT)


def test_instruct_puts_the_whole_task_into_the_prompt(task: Pddl3Task) -> None:
    (message,) = InstructStyle().messages(task.problem, [])
    assert message['role'] == 'user'
    content = message['content']
    domain = read_domain(content[content.index('(define (domain') : content.index('Problem:')])
    problem = read_problem(content[content.index('(define (problem') :], domain)
    assert problem.init == task.problem.init
    assert problem.goal == task.problem.goal
    assert problem.constraints == task.problem.constraints
    assert domain.actions == task.problem.domain.actions


def test_instruct_shows_every_attempt_with_its_reason(task: Pddl3Task) -> None:
    plans = [
        '(unstack green red)\n(putdown green)\n(pickup red)\n(stack red blue)',
        '(putdown red)',
    ]
    history = [(plan, task.verify(plan)) for plan in plans]
    messages = InstructStyle().messages(task.problem, history)
    assert [m['role'] for m in messages] == ['user', 'assistant', 'user', 'assistant', 'user']
    assert [m['content'] for m in messages[1::2]] == plans
    for (_, verdict), message in zip(history, messages[2::2], strict=True):
        assert verdict.reason in message['content']
    assert 'breaks a trajectory constraint' in messages[2]['content']
    assert 'precondition' in messages[4]['content']


def test_canonical_shows_the_last_attempt(task: Pddl3Task) -> None:
    plans = [
        '(putdown red)',
        '(unstack green red)\n(putdown green)\n(pickup red)\n(stack red blue)',
    ]
    history = [(plan, task.verify(plan)) for plan in plans]
    assert [v.category for _, v in history] == [
        Category.PRECONDITION_VIOLATION,
        Category.SAFETY_VIOLATION,
    ]
    (message,) = CanonicalStyle().messages(task.problem, history)
    assert message['content'].endswith(
        '[attempt] unstack b2 b1 putdown b2 pickup b1 stack b1 b3 [verdict] safety'
    )
    (plain,) = CanonicalStyle().messages(task.problem, [])
    assert message['content'].startswith(plain['content'])


def test_answers_are_taken_as_they_are(task: Pddl3Task) -> None:
    style = InstructStyle()
    answer = '<think>\n(pickup red) would be unsafe\n</think>\n\n(pickup blue)\n'
    assert style.plan_text(answer, task.problem) == '(pickup blue)'
    chatty = 'Here is the plan:\n(pickup blue)'
    assert style.plan_text(chatty, task.problem) == chatty
    assert task.verify(chatty).category is Category.FORMAT_ERROR


def test_canonical_answers_get_the_names_of_the_task(task: Pddl3Task) -> None:
    style = CanonicalStyle()
    assert style.plan_text('unstack b2 b1 stack b2 b3', task.problem) == (
        '(unstack green red)\n(stack green blue)'
    )
    strange = style.plan_text('unstack b2 b9', task.problem)
    assert task.verify(strange).category is Category.FORMAT_ERROR


@pytest.mark.parametrize('text', ['{', '[]', '{}', '{"prompt_style": "poem"}', '"canonical"'])
def test_a_broken_settings_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / 'safegen.json').write_text(text)
    with pytest.raises(BackendError, match='canonical'):
        load_style(tmp_path)


def test_folders_of_other_makers_are_instruct(tmp_path: Path) -> None:
    assert isinstance(load_style(tmp_path), InstructStyle)
