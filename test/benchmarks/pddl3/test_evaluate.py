# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What models answer is counted right, and a measurement can be repeated."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.scripted_model import (
    BENCH,
    Script,
    ScriptedBackend,
    chatty,
    idle,
    inapplicable,
    right,
    scripted,
    unsafe,
)

from safegen_ros.benchmarks.pddl3.evaluate import MODES, Exam, evaluate
from safegen_ros.benchmarks.pddl3.problems import GROUPS, load_problems, load_source
from safegen_ros.datasets.files import DatasetError
from safegen_ros.datasets.pddl3.rows import Row
from safegen_ros.errors import BackendError, ErrorCode, SafegenError
from safegen_ros.pddl.model import Problem
from safegen_ros.tasks.pddl3.prompts.styles import History, InstructStyle, Message
from safegen_ros.verdict import Category

PROBLEMS = load_problems(BENCH, most=3)


@pytest.mark.parametrize('form', ['pddl', 'json', 'english'])
@pytest.mark.parametrize(
    ('script', 'category'),
    [
        (right, Category.SUCCESS),
        (unsafe, Category.SAFETY_VIOLATION),
        (inapplicable, Category.PRECONDITION_VIOLATION),
        (idle, Category.GOAL_NOT_SATISFIED),
        (chatty, Category.FORMAT_ERROR),
    ],
)
def test_every_class_of_answers_is_counted(form: str, script: Script, category: Category) -> None:
    result = Exam(PROBLEMS, 1).run(scripted(script), 'greedy', form=form)
    assert result.tally().counts == {category: 12}
    assert result.attempts == (1,) * 12
    assert result.steps_over_optimal == (1.0 if category is Category.SUCCESS else 0.0)


def test_groups_have_the_verdicts_of_their_problems() -> None:
    def script(row: Row, time: int) -> str:
        return row.plan if row.domain == 'ferry' or row.bucket == 'easy' else ''

    result = Exam(PROBLEMS, 1).run(scripted(script), 'greedy')
    domains = result.by('domain')
    assert list(domains) == ['blocksworld', 'ferry', 'grippers', 'spanner']
    assert (domains['ferry'].successes, domains['ferry'].trials) == (3, 3)
    others = sum(p.bucket == 'easy' for p in PROBLEMS if p.domain != 'ferry')
    assert result.tally().successes == 3 + others
    assert result.by('bucket')['easy'].rate == 1.0
    values = result.as_dict()
    assert {f'by_{name}' for name in GROUPS} - values.keys() == {'by_size'}
    for name in GROUPS.keys() - {'size'}:
        groups = values[f'by_{name}'].values()
        assert sum(group['success'] for group in groups) == values['total']['success']
        assert sum(group['trials'] for group in groups) == 12


def test_a_longer_plan_is_told_by_its_length() -> None:
    def script(row: Row, time: int) -> str:
        first, *rest = row.plan.splitlines()
        here, there = first.strip('()').split()[1:3]
        return '\n'.join((first, f'(sail {there} {here})', first, *rest))

    problems = [p for p in load_problems(BENCH, domains=['ferry']) if p.operators == ('sometime',)]
    result = Exam(problems, 1).run(scripted(script), 'greedy')
    sails = [p for p, v in zip(result.problems, result.verdicts, strict=True) if v.ok]
    assert sails
    expected = sum((p.reference_length + 2) / p.reference_length for p in sails) / len(sails)
    assert result.steps_over_optimal == pytest.approx(expected)


def test_feedback_shows_the_verdict_and_a_new_draw_does_not() -> None:
    def script(row: Row, time: int) -> str:
        return row.plan if time >= (2 if row.domain == 'ferry' else 1) else ''

    for mode in ('feedback', 'resample'):
        subject = scripted(script)
        result = Exam(PROBLEMS, 1).run(subject, mode, attempts=3)
        assert result.tally().successes == 12
        assert result.solved_by_attempt(3) == [0, 9, 12]
        assert isinstance(subject.backend, ScriptedBackend)
        rounds = [[len(messages) for messages in asked] for asked, _ in subject.backend.batches]
        lengths = (1, 3, 5) if mode == 'feedback' else (1, 1, 1)
        assert rounds == [[n] * count for n, count in zip(lengths, (12, 12, 3), strict=True)]
        seeds = [sampling.seed for _, sampling in subject.backend.batches]
        assert len({*seeds}) == 3
    few = Exam(PROBLEMS, 1).run(scripted(script), 'feedback', attempts=2)
    assert few.tally().counts == {Category.SUCCESS: 9, Category.GOAL_NOT_SATISFIED: 3}
    assert few.attempts.count(2) == 12


def test_draws_are_those_of_the_paper_and_follow_from_the_seed() -> None:
    drawn = {}
    for mode in ('greedy', 'sampled', 'resample'):
        for seed in (1, 2):
            subject = scripted(right)
            Exam(PROBLEMS, seed, batch=5, max_new_tokens=33).run(subject, mode)
            assert isinstance(subject.backend, ScriptedBackend)
            drawn[mode, seed] = [sampling for _, sampling in subject.backend.batches]
    assert [len(d) for d in drawn.values()] == [3] * 6
    assert {s.temperature for s in drawn['greedy', 1]} == {0.0}
    assert {(s.temperature, s.top_p, s.max_new_tokens) for s in drawn['sampled', 1]} == {
        (0.6, 0.9, 33)
    }
    assert drawn['sampled', 1] == drawn['resample', 1]
    assert len({s.seed for seed in (1, 2) for s in drawn['sampled', seed]}) == 6


def test_progress_ends_at_what_was_expected() -> None:
    told: list[tuple[str, int, int]] = []
    Exam(PROBLEMS, 1, batch=5).run(
        scripted(idle), 'resample', attempts=2, notify=lambda *each: told.append(each)
    )
    assert [(done, total) for _, done, total in told] == [
        (5, 12), (10, 12), (12, 12), (17, 24), (22, 24), (24, 24),
    ]  # fmt: skip


@pytest.mark.nightly
def test_a_real_model_gives_the_same_report_again(tiny: Path, tmp_path: Path) -> None:
    problems, source = load_problems(BENCH, most=1), load_source(BENCH, 'test')
    for name in ('one', 'two'):
        report = evaluate(
            tiny, problems, 3, source=source, max_attempts=2, max_new_tokens=12, form='english'
        )
        report.write(tmp_path / 'figures' / f'{name}.json')
    one, two = ((tmp_path / 'figures' / f'{name}.json').read_text() for name in ('one', 'two'))
    assert one == two
    values = json.loads(one)
    assert [result['mode'] for result in values['results']] == list(MODES)
    assert all(result['total']['trials'] == 4 for result in values['results'])
    assert values['data']['manifest'] == source.manifest
    assert (values['format'], values['seed'], values['model']['name']) == ('english', 3, 'tiny')
    (tmp_path / 'file').write_text('')
    with pytest.raises(DatasetError, match='cannot be written'):
        report.write(tmp_path / 'file' / 'report.json')


def test_a_folder_without_a_model(tmp_path: Path, tiny: Path) -> None:
    with pytest.raises(BackendError, match=r'config\.json is missing'):
        evaluate(tmp_path, PROBLEMS, 1)
    with pytest.raises(ValueError, match='unknown mode'):
        evaluate(tiny, PROBLEMS, 1, modes=('lucky',))


class Picky(InstructStyle):
    """A style that cannot say every task."""

    def messages(self, problem: Problem, history: History, form: str = 'pddl') -> list[Message]:
        if len(problem.objects) % 2:
            raise SafegenError('no words for that', ErrorCode.UNSUPPORTED_FEATURE)
        return super().messages(problem, history, form)


@pytest.mark.parametrize('mode', ['greedy', 'feedback'])
def test_what_cannot_be_asked_counts_as_not_answered(mode: str) -> None:
    odd = sum(len(p.problem.objects) % 2 for p in PROBLEMS)
    assert 0 < odd < len(PROBLEMS)
    subject = replace(scripted(right), style=Picky())
    result = Exam(PROBLEMS, 1).run(subject, mode, attempts=2)
    assert result.tally().counts == {
        Category.SUCCESS: len(PROBLEMS) - odd,
        Category.FORMAT_ERROR: odd,
    }
    assert {v.reason for v in result.verdicts if not v.ok} == {'not asked: no words for that'}
