# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The planning loop is measured as it runs: every goal, attempt and level is counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.scripted_model import BENCH, inapplicable, right, scripted, unsafe

from safegen_ros.benchmarks.comparison import ComparisonTable, Figures, nearest_rank
from safegen_ros.benchmarks.pddl3 import paper
from safegen_ros.benchmarks.pddl3.loop_studies import table4
from safegen_ros.benchmarks.pddl3.loops import MORE, LoopOptions, LoopResult, plan_goals
from safegen_ros.benchmarks.pddl3.problems import TestProblem, load_problems
from safegen_ros.benchmarks.pddl3.study import StudyOptions
from safegen_ros.benchmarks.subjects import Subject, load_subject
from safegen_ros.benchmarks.tables import markdown
from safegen_ros.datasets.pddl3.rows import Row
from safegen_ros.errors import BackendError, ErrorCode, SafegenError

TIMES = ('s', '95 % s', 'CPU s')


def planned(
    subject: Subject, strategy: str, problems: list[TestProblem], **how: object
) -> LoopResult:
    options = LoopOptions((strategy,), **how)  # type: ignore[arg-type]
    told: list[tuple[str, int, int]] = []
    found = plan_goals(problems, subject, strategy, options, 3, 8, lambda *n: told.append(n))
    count = len(problems)
    assert told == [(strategy, done, count) for done in range(1, count + 1)]
    return found


@pytest.fixture(scope='module')
def problems() -> list[TestProblem]:
    return load_problems(BENCH, most=1)


def test_attempts_and_levels_are_counted(problems: list[TestProblem]) -> None:
    def second(row: Row, time: int) -> str:
        return right(row, time) if time or row.domain == 'ferry' else inapplicable(row, time)

    found = planned(scripted(second), 'model, search', problems)
    assert found.attempts == (2, 1, 2, 2)
    assert found.answered == {'model': 4}
    assert found.figures.more['attempts'] == pytest.approx(7 / 4)
    assert found.figures.more['length'] == pytest.approx(1)
    ferry = found.part('domain', 'ferry')
    assert (ferry.attempts, ferry.tally().trials) == ((1,), 1)
    assert found.on(problems[:1]).attempts == (2,)

    found = planned(scripted(unsafe), 'model, search', problems, max_attempts=3)
    assert found.attempts == (4,) * 4
    assert found.figures.more['answered by'] == 'search: 4'
    found = planned(scripted(unsafe), 'model', problems)
    assert found.attempts == (5,) * 4
    assert found.figures.failures['safety'] == 100
    assert found.as_dict()['ended'] == {'ATTEMPTS_EXHAUSTED': 4}


def test_a_level_that_cannot_answer_proposes_no_plan(problems: list[TestProblem]) -> None:
    found = planned(scripted(right), 'beam 2', problems[:1])  # it knows whole texts only
    assert found.attempts == (0,)
    assert (found.figures.success, found.figures.more['no plan']) == (0, 100)
    late = planned(scripted(right), 'model', problems[:2], time_budget_s=1e-9)
    assert (late.late, late.attempts) == (2, (0, 0))


def test_a_model_that_fails_is_no_figure(problems: list[TestProblem]) -> None:
    def broken(row: Row, time: int) -> str:
        raise BackendError('the server is down')

    with pytest.raises(BackendError, match='server is down'):
        planned(scripted(broken), 'model, search', problems[:1])
    with pytest.raises(SafegenError, match="'magic' is not a planner") as caught:
        planned(scripted(right), 'magic', problems[:1])
    assert caught.value.code is ErrorCode.UNKNOWN_STRATEGY


def line(comparison: ComparisonTable, *place: str) -> Figures:
    (found,) = [e.figures for e in comparison.lines if (e.group, e.case, e.whose) == place]
    return found


def timeless(comparison: ComparisonTable) -> list[tuple[object, ...]]:
    """The lines without what another run may find otherwise."""
    return [
        (each.group, each.case, each.whose, {n: v for n, v in figures.items() if n not in TIMES})
        for each in comparison.lines
        for figures in [each.as_dict(comparison.headings)]
    ]


@pytest.mark.nightly
def test_table_4_has_both_networks_and_the_paper(tiny: Path) -> None:
    options = StudyOptions(BENCH, seed=4, most=2, max_new_tokens=4)
    how = LoopOptions(('model', 'shield'), max_attempts=2)
    subject = load_subject(tiny, 'cpu')

    def measured() -> ComparisonTable:
        return table4(subject, tiny, options, how, 'test_family', 1)

    found = measured()
    assert timeless(measured()) == timeless(found)
    assert len(found.lines) == 5 * (2 * 2 + 2)
    qwen = line(found, paper.ALL, 'SafePilot', 'Qwen3-14B GRPO')
    assert (qwen.trials, qwen.success, qwen.more) == (200, 97.5, {'attempts': 1.16})
    assert line(found, 'ferry', 'SafePilot', 'Qwen3-14B PT').more == {'attempts': 5.0}
    for whose, count in (('ours', 8), ('untrained', 4)):
        for strategy in how.strategies:
            figures = line(found, paper.ALL, strategy, whose)
            assert figures.trials == count
            shares = [figures.success, *figures.failures.values(), figures.more['no plan']]
            assert sum(map(float, shares)) == pytest.approx(100)
    assert line(found, paper.ALL, 'model', 'untrained').more['attempts'] == 2
    answered = [m['answered'] for m in found.measured]
    assert [sum(a.values()) for a in answered] == [m['total']['success'] for m in found.measured]
    assert found.conditions['loop']['strategies'] == ('model', 'shield')
    assert (found.name, found.command) == (
        'table4-test_family', 'safegen eval table4 --split test_family',
    )  # fmt: skip
    page = markdown(found)
    for said in ('control, shield: the same network', 'SafePilot, which', 'on this machine: '):
        assert said in page
    titles = page.splitlines()[4].split(' | ')
    assert [title.strip(' |') for title in titles[-7:]] == [*MORE]


def test_the_paper_counts_an_attempt_at_least() -> None:
    table = paper.table4()
    by_domain = [table[domain, paper.SAFEPILOT] for domain in paper.DOMAINS]
    for at, (whose, figures) in enumerate(table[paper.ALL, paper.SAFEPILOT]):
        parts = [others[at][1] for others in by_domain]
        assert all(others[at][0] == whose for others in by_domain)
        mean = sum(part.success for part in parts) / len(parts)
        assert figures.success == pytest.approx(mean)
        tried = [float(part.more['attempts']) for part in parts]
        assert min(tried) >= 1
        assert float(figures.more['attempts']) == pytest.approx(sum(tried) / 4, abs=0.0051)


def test_the_nearest_rank() -> None:
    assert nearest_rank([3.0, 1.0, 2.0], 0.95) == 3
    assert nearest_rank([*map(float, range(1, 101))], 0.95) == 95
    assert nearest_rank([7.0], 0.5) == 7


def test_options_tell_how_goals_are_planned() -> None:
    told = str(replace(LoopOptions(), feedback='binary', time_budget_s=7.0))
    for said in ('7 s each', '5 attempts', 'feedback binary', 'T 0.6 and 0.1 more'):
        assert said in told
