# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tables and figures hold what was measured, beside what the paper says."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path

import pytest
from rich.console import Console
from support.scripted_model import BENCH, chatty, idle, right, scripted, unsafe

from safegen_ros.benchmarks.comparison import CLASSES, ComparisonTable, Figures, write_comparison
from safegen_ros.benchmarks.pddl3 import paper, studies
from safegen_ros.benchmarks.pddl3.loops import LoopOptions
from safegen_ros.benchmarks.pddl3.study import StudyOptions
from safegen_ros.benchmarks.plots import draw_comparison
from safegen_ros.benchmarks.subjects import load_subject
from safegen_ros.benchmarks.tables import markdown, print_comparison
from safegen_ros.datasets.files import DatasetError
from safegen_ros.datasets.pddl3.rows import Row
from safegen_ros.errors import SafegenError

OPTIONS = StudyOptions(BENCH, seed=4, most=2)


def line(comparison: ComparisonTable, *place: str) -> Figures:
    found = [e.figures for e in comparison.lines if (e.group, e.case, e.whose) == place]
    assert len(found) == 1, place
    return found[0]


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
    assert line(found, 'blocksworld', 'SFT', 'Mistral-7B').failures == {'precond': 20, 'safety': 10}
    row = next(text for text in markdown(found).splitlines() if 'Mistral-7B |' in text)
    assert row.split(' | ')[-4:] == ['-', '20.0', '10.0', '- |']


def test_figure_5_has_three_models_of_the_paper() -> None:
    found = studies.figure5(scripted(right), OPTIONS)
    assert line(found, 'ferry', 'single shot', 'GPT-5 Nano').success == 20
    assert line(found, 'ferry', 'single shot', 'Qwen3-14B, GRPO').success == 96
    nano = [e.group for e in found.lines if e.whose == 'GPT-5 Nano']
    assert nano == ['blocksworld', 'ferry', 'grippers']


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


@pytest.mark.nightly
def test_larger_problems_are_told_by_their_size(tiny: Path) -> None:
    options = StudyOptions(BENCH, seed=2, max_new_tokens=2)
    found = studies.larger(load_subject(tiny), options, 1)
    cases = list(dict.fromkeys(e.case for e in found.lines if e.group == 'blocksworld'))
    assert cases == [f'{count} blocks' for count in (7, 8, 9, 10, 12, 20, 30)]
    assert all(e.figures.trials == 1 for e in found.lines)
    assert len(found.lines) == 2 * 18
    assert 'drawn from seed 2' in found.facts[1]


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


def test_classes_are_named_as_the_figures_of_the_paper() -> None:
    for others in paper.table2().values():
        assert all(list(figures.failures) == list(CLASSES) for _, figures in others)


def test_kinds_compares_models_on_the_same_problems() -> None:
    models = (scripted(script, name) for name, script in {'old': unsafe, 'new': right}.items())
    found = studies.kinds(models, OPTIONS)
    assert [e.case for e in found.lines if e.group == paper.ALL] == ['old', 'old', 'new', 'new']
    assert line(found, 'rules: one-rule', 'old', 'ours, greedy').failures['safety'] == 100
    assert line(found, 'sizes: of table VIII', 'new', 'ours, T 0.6').success == 100
