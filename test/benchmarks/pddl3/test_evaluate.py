# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What models answer is counted right, and a measurement can be repeated."""

from __future__ import annotations

import io
import json
import shutil
import struct
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
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

from safegen_ros.benchmarks.comparison import (
    ComparisonTable,
    Figures,
    sign_test,
    write_comparison,
)
from safegen_ros.benchmarks.pddl3 import paper, studies
from safegen_ros.benchmarks.pddl3.evaluate import MODES, Exam, ModelReport, answers_of, evaluate
from safegen_ros.benchmarks.pddl3.loop_studies import table4
from safegen_ros.benchmarks.pddl3.loops import MORE, LoopOptions, LoopResult, plan_goals
from safegen_ros.benchmarks.pddl3.problems import GROUPS, TestProblem, load_problems, load_source
from safegen_ros.benchmarks.pddl3.study import StudyOptions
from safegen_ros.benchmarks.plots import draw_comparison
from safegen_ros.benchmarks.subjects import Subject, load_subject
from safegen_ros.benchmarks.tables import markdown, print_comparison
from safegen_ros.datasets.builder import in_order
from safegen_ros.datasets.files import DatasetError
from safegen_ros.datasets.pddl3.rows import Row
from safegen_ros.datasets.workers import Workers, local_workers, ray_workers
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


def test_two_models_are_compared_problem_by_problem(tmp_path: Path) -> None:
    """Fair coins: 9 and 3 of 12 are as uneven as 14.6 % of such throws; 598 of 4096."""
    assert sign_test(9, 3) == pytest.approx(598 / 4096)
    assert sign_test(0, 0) == sign_test(600, 600) == 1
    source = load_source(BENCH, 'test')
    reports = []
    for domains in (['ferry'], ['ferry', 'spanner', 'grippers']):
        subject = scripted(lambda row, _, to=domains: row.plan if row.domain in to else '')
        result = Exam(PROBLEMS, 1).run(subject, 'greedy')
        reports.append(ModelReport(subject, source, 1, 'pddl', 1, (result,)))
    one, two = reports
    kept = tmp_path / '[a].json'
    one.write(kept)
    found = json.loads(kept.read_text())
    [told] = two.against(kept, found)
    assert told.startswith('greedy: solves 6 problems that ')
    assert told.endswith(' does not, and 0 the other way round (p = 0.031)')
    fewer = replace(two, results=(Exam(PROBLEMS[:4], 1).run(scripted(right), 'greedy'),))
    for report in (fewer, replace(two, source=None), replace(two, form='json')):
        with pytest.raises(DatasetError, match='no mode greedy of these problems'):
            [*report.against(kept, found)]
    [result] = found['results']
    for wrong in ([], {}, {'results': [{'mode': 'greedy', 'solved': [1]}]},
                  {**found, 'results': [{**result, 'by_domain': []}]},
                  {**found, 'results': [{**result, 'solved': None}]}):  # fmt: skip
        with pytest.raises(DatasetError, match='no mode greedy of these problems'):
            [*two.against(kept, wrong)]


def test_the_figures_do_not_depend_on_who_answers() -> None:
    def script(row: Row, time: int) -> str:
        return row.plan if time >= (2 if row.domain == 'ferry' else 1) else ''

    alone = Exam(PROBLEMS, 1, batch=5).run(scripted(script), 'feedback', attempts=3)
    subject = scripted(script)
    with ThreadPoolExecutor(1) as pool:  # the script counts the calls, so one at a time
        shared = Exam(PROBLEMS, 1, batch=5).run(
            scripted(lambda row, time: pytest.fail('asked in this process')),
            'feedback', attempts=3,
            answering=partial(
                in_order, Workers(3, pool.submit), partial(answers_of, subject.backend)
            ),
        )  # fmt: skip
    assert replace(shared, seconds=0) == replace(alone, seconds=0)


@pytest.mark.nightly
@pytest.mark.parametrize('where', ['processes', 'ray'])
def test_processes_and_a_cluster_give_the_same_report(tiny: Path, where: str) -> None:
    if where == 'ray':
        pytest.importorskip('ray')
    problems = load_problems(BENCH, most=2)
    given: dict[str, Any] = {'modes': ['sampled', 'untrained'], 'batch': 3, 'max_new_tokens': 12}
    alone = evaluate(tiny, problems, 3, **given)
    with local_workers(2) if where == 'processes' else ray_workers('local') as workers:
        shared = evaluate(tiny, problems, 3, workers=workers, **given)
    assert shared.as_dict() == alone.as_dict()


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


OPTIONS = StudyOptions(BENCH, seed=4, most=2)


def half(row: Row, time: int) -> str:
    return row.plan if row.domain in ('ferry', 'spanner') else row.unconstrained_plan


@pytest.fixture(scope='module')
def table2() -> ComparisonTable:
    scripts = {'PT': chatty, 'SFT': half, 'GRPO': right}
    return studies.table2((scripted(s, name) for name, s in scripts.items()), OPTIONS)


def test_every_row_of_the_paper_adds_up() -> None:
    for table in (paper.table2(), paper.table3()):
        for place, others in table.items():
            for whose, figures in others:
                total = figures.success + sum(figures.failures.values())
                assert total == pytest.approx(100), (place, whose)
    averages = {
        case: fs[0][1] for (group, case), fs in paper.table3().items() if group == paper.ALL
    }
    assert {case: figures.success for case, figures in averages.items()} == {
        'pddl': 95.5, 'english': 84.0, 'json': 92.5,
    }  # fmt: skip
    assert averages['english'].failures == {
        'format': 0.5, 'precond': 11.5, 'safety': 4.0, 'goal': 0.0,
    }  # fmt: skip
    assert averages['pddl'].trials == 200


def test_table_2_has_our_stages_beside_those_of_the_paper(table2: ComparisonTable) -> None:
    assert line(table2, 'blocksworld', 'PT', 'ours, T 0.6').failures['format'] == 100
    assert line(table2, 'ferry', 'SFT', 'ours, greedy').success == 100
    assert line(table2, 'grippers', 'SFT', 'ours, T 0.6').failures['safety'] == 100
    everything = line(table2, paper.ALL, 'SFT', 'ours, T 0.6')
    assert (everything.trials, everything.success, everything.failures['safety']) == (8, 50, 50)
    assert everything.interval == pytest.approx((21.5, 78.5), abs=0.1)
    qwen = line(table2, 'grippers', 'PT', 'Qwen3-14B')
    assert (qwen.success, *qwen.failures.values()) == (2, 0, 46, 46, 6)
    assert line(table2, 'spanner', 'GRPO', 'Llama-8B').success == 94
    assert [e.whose for e in table2.lines[:4]] == [
        'ours, T 0.6', 'ours, greedy', 'Qwen3-14B', 'Llama-8B',
    ]  # fmt: skip
    assert len(table2.lines) == 5 * 3 * 4


def test_what_differs_is_said_and_all_is_kept_for_repeating(
    table2: ComparisonTable, tmp_path: Path
) -> None:
    paths = write_comparison(table2, tmp_path / 'results', markdown(table2))
    assert [path.name for path in paths] == ['table2.json', 'table2.md']
    values = json.loads(paths[0].read_text())
    assert [m['name'] for m in values['conditions']['models']] == ['PT', 'SFT', 'GRPO']
    assert values['conditions']['seed'] == 4
    assert values['conditions']['data'][0]['problems'] == 8
    assert values['lines'][0] == {
        'domain': 'blocksworld', 'stage': 'PT', 'whose': 'ours, T 0.6', 'problems': 2,
        'success': 0.0, 'interval': [0.0, 65.8],
        'format': 100.0, 'precond': 0.0, 'safety': 0.0, 'goal': 0.0,
    }  # fmt: skip
    assert len(values['measured']) == 6
    out = io.StringIO()
    print_comparison(table2, Console(file=out, width=200))
    for text in (out.getvalue(), paths[1].read_text()):
        for said in ('7 parameters, weights ffffffffffffffff', '14 and 8 billion', 'manifest'):
            assert said in text
        assert 'problems: ours are 8 of our own generators' in text
        assert 'Qwen3-14B' in text
    with pytest.raises(DatasetError, match='cannot be written'):
        write_comparison(table2, paths[0], '')


def test_the_same_seed_gives_the_same_table(table2: ComparisonTable) -> None:
    scripts = {'PT': chatty, 'SFT': half, 'GRPO': right}
    again = studies.table2((scripted(s, name) for name, s in scripts.items()), OPTIONS)
    assert again.as_dict() == table2.as_dict()


def test_table_3_has_every_format() -> None:
    found = studies.table3(scripted(right), OPTIONS)
    assert [e.case for e in found.lines[:9:3]] == ['pddl', 'english', 'json']
    for form in ('pddl', 'english', 'json'):
        assert line(found, paper.ALL, form, 'ours, greedy').success == 100
    assert line(found, 'blocksworld', 'english', 'Qwen3-14B').success == 74
    assert line(found, 'blocksworld', 'english', 'Qwen3-14B').failures['safety'] == 8
    assert {m['format'] for m in found.measured} == {'pddl', 'english', 'json'}


def test_figure_4_is_of_blocksworld_and_leaves_out_what_the_text_does_not_tell() -> None:
    found = studies.figure4([scripted(idle, 'SFT')], OPTIONS)
    assert [(e.group, e.case) for e in found.lines] == [('blocksworld', 'SFT')] * 3
    assert line(found, 'blocksworld', 'SFT', 'ours, T 0.6').failures['goal'] == 100
    assert line(found, 'blocksworld', 'SFT', 'Mistral-7B').failures == {
        'precond': 20,
        'safety': 10,
    }
    row = next(text for text in markdown(found).splitlines() if 'Mistral-7B |' in text)
    assert row.split(' | ')[-4:] == ['-', '20.0', '10.0', '- |']


@pytest.mark.nightly
def test_every_test_split_is_measured_for_itself() -> None:
    def script(row: Row, time: int) -> str:
        return {'test': row.plan, 'test_family': row.unconstrained_plan}.get(row.split, '')

    subject = scripted(script, splits=tuple(studies.SPLITS))
    found = studies.heldout(subject, OPTIONS)
    new, held_out, text = studies.SPLITS.values()
    assert line(found, new, paper.ALL, 'ours, greedy').success == 100
    assert line(found, held_out, paper.ALL, 'ours, greedy').failures['safety'] == 100
    assert line(found, text, 'spanner', 'ours, greedy').failures['goal'] == 100
    families = {e.case for e in found.lines if e.group == held_out} - {paper.ALL}
    assert families <= {'blocksworld apart-on-the-table', *(e['family'] for e in _held_out())}
    assert families
    assert [d['split'] for d in found.conditions['data']] == list(studies.SPLITS)


def _held_out() -> list[dict[str, str]]:
    domains = json.loads((BENCH / 'recipe.json').read_text())['domains']
    return [
        {'family': f'{domain} {family}'}
        for domain, wanted in domains.items()
        for family in wanted['held_out']
    ]


def test_a_page_says_on_how_many_problems_a_model_was_trained(tiny: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny, tmp_path / 'own'))
    options = StudyOptions(BENCH, most=1, max_new_tokens=2)
    assert 'trained' not in studies.table3(load_subject(folder), options).facts[0]
    (folder / 'training.json').write_text(json.dumps({'problems': 1234}))
    found = studies.table3(load_subject(folder), options)
    assert 'own: ' in found.facts[0]
    assert found.facts[0].endswith(', trained on 1,234 problems')


def test_domains_that_were_never_trained_on_are_measured(tiny: Path) -> None:
    options = StudyOptions(BENCH, seed=2, max_new_tokens=2)
    found = studies.unseen(load_subject(tiny), options, 1, LoopOptions(('search',)))
    names = {'elevator', 'logistics', 'satellite', 'tray', 'tyre'}
    assert {e.group for e in found.lines} == {*names, 'all domains'}
    for name in names:
        assert line(found, name, 'single shot', 'ours, greedy').success == 0
        assert line(found, name, 'search', 'ours').success == 100


def test_strategies_are_measured_on_larger_problems_of_a_domain(tiny: Path) -> None:
    options = StudyOptions(BENCH, seed=2, max_new_tokens=2)
    how = LoopOptions(('search',), time_budget_s=20.0)
    found = studies.larger(load_subject(tiny), options, 1, how, ['spanner'])
    assert {e.group for e in found.lines} == {'spanner'}
    assert [e.whose for e in found.lines[:3]] == ['ours, T 0.6', 'ours, greedy', 'ours, search']
    for size in ('4 nuts', '7 nuts'):
        planned = line(found, 'spanner', size, 'ours, search')
        assert (planned.success, planned.more['answered by']) == (100, 'search: 1')
        solved = f'solved by strategy within 20 s, spanner, {size}: search 100 % of 1'
        assert solved in found.differences
    with pytest.raises(SafegenError, match="no larger sizes of domain 'harbour'"):
        studies.larger(load_subject(tiny), options, 1, None, ['harbour'])


@pytest.mark.nightly
def test_controls_stand_beside_the_model(tiny: Path) -> None:
    options = StudyOptions(BENCH, most=2, max_new_tokens=2)
    train = BENCH / 'test.jsonl'  # where each problem is its own nearest one
    found = studies.controls(scripted(unsafe), tiny, options, train)
    assert line(found, 'ferry', 'model', 'ours, greedy').failures['safety'] == 100
    assert line(found, paper.ALL, 'copied plan', 'control').success == 100
    assert line(found, paper.ALL, 'untrained', 'ours, T 0.6').success == 0
    rows = len(train.read_text().splitlines())
    assert found.conditions['training_rows']['rows'] == rows
    assert any(fact.startswith(f'training rows: {rows}, SHA-256 ') for fact in found.facts)
    assert any('1.00 on average, and for 8 of 8 problems it is 1' in d for d in found.differences)


@pytest.mark.nightly
def test_every_kind_of_plot_is_a_picture(table2: ComparisonTable, tmp_path: Path) -> None:
    for found in (table2, studies.figure5(scripted(half), OPTIONS)):
        data = draw_comparison(found, tmp_path / 'results').read_bytes()
        assert data.startswith(b'\x89PNG\r\n')
        assert struct.unpack('>II', data[16:24]) > (900, 600)
        assert draw_comparison(found, tmp_path / 'results').read_bytes() == data
    (tmp_path / 'file').write_text('')
    with pytest.raises(DatasetError, match='cannot be written'):
        draw_comparison(table2, tmp_path / 'file')


def test_kinds_compares_models_on_the_same_problems() -> None:
    models = (scripted(script, name) for name, script in {'old': unsafe, 'new': right}.items())
    found = studies.kinds(models, OPTIONS)
    assert [e.case for e in found.lines if e.group == paper.ALL] == ['old', 'old', 'new', 'new']
    assert line(found, 'rules: one-rule', 'old', 'ours, greedy').failures['safety'] == 100
    assert line(found, 'sizes: of table VIII', 'new', 'ours, T 0.6').success == 100
