# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Figures, their targets and intervals, and the files and pictures they become."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from safegen_ros.benchmarks.comparison import Tally, wilson
from safegen_ros.benchmarks.language import (
    NO_DOMAIN,
    is_one_list,
    measure_folder,
    share_text,
    total,
    well_formed_text,
)
from safegen_ros.benchmarks.measurement import Measurement, Report, number_text
from safegen_ros.benchmarks.plots import Chart
from safegen_ros.benchmarks.solving import drawn
from safegen_ros.benchmarks.subjects import load_stages, load_subject, model_checksum, untrained
from safegen_ros.cli.main import app
from safegen_ros.errors import BackendError
from safegen_ros.verdict import Category

FAST = Measurement('speed', 180.0, 'x', 150.0)
SLOW = Measurement('time', 60.0, 'us', 50.0, at_least=False, note='a [note]')
MISSING = Measurement('other', None, 'x', 200.0, note='not installed')
PLAIN = Measurement('count', 3.0, 'plans')
REPORT = Report('sample', {'seed': 7}, (FAST, SLOW, MISSING, PLAIN), {'plans': 3})


def test_the_files_hold_every_figure(tmp_path: Path) -> None:
    REPORT.write(tmp_path)
    whole = json.loads((tmp_path / 'sample.json').read_text())
    assert (whole['settings'], whole['details']) == ({'seed': 7}, {'plans': 3})
    assert [m['reached'] for m in whole['measurements']] == [True, False, None, None]
    rows = list(csv.DictReader((tmp_path / 'sample.csv').open()))
    assert [row['value'] for row in rows] == ['180.0', '60.0', '', '3.0']
    assert [row['target'] for row in rows] == ['>= 150 x', '<= 50 us', '>= 200 x', '']
    assert [row['reached'] for row in rows] == ['yes', 'no', '', '']


def test_the_table_shows_targets_and_notes_as_they_are() -> None:
    console = Console(record=True, width=100)
    REPORT.print(console)
    text = console.export_text()
    assert 'seed 7' in text
    assert 'a [note]' in text
    assert '>= 150 x' in text
    assert 'not installed' in text


@pytest.mark.parametrize(
    ('value', 'text'), [(0, '0'), (12345.6, '12,346'), (41.26, '41.3'), (0.012345, '0.0123')]
)
def test_numbers_have_the_digits_that_matter(value: float, text: str) -> None:
    assert number_text(value) == text


def test_a_chart_draws_every_share_and_names_every_line() -> None:
    chart = Chart(
        'a < b', 'blocks', 'solved [%]', (5, 10, 15),
        {'ours & others': (100.0, 50.0, None), 'second': (100.0, 100.0, 0.0)}, {'OPTIC': 45.8},
    )  # fmt: skip
    figure = chart.figure()
    (axes,) = figure.axes
    ours, second, optic = axes.lines
    assert list(zip(*ours.get_data(), strict=True)) == [(5, 100.0), (10, 50.0)]
    assert list(second.get_ydata()) == [100.0, 100.0, 0.0]
    assert set(optic.get_ydata()) == {45.8}
    (legend,) = figure.legends
    assert [t.get_text() for t in legend.get_texts()] == ['ours & others', 'second', 'OPTIC']
    assert (axes.get_title(), axes.get_xlabel()) == ('a < b', 'blocks')


@pytest.mark.parametrize(
    ('successes', 'trials', 'low', 'high'),
    # Published values: the interval for 0 of 10 ends at z^2 / (n + z^2).
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (0, 0, 0.0, 1.0)],
)
def test_known_intervals(successes: int, trials: int, low: float, high: float) -> None:
    assert wilson(successes, trials) == pytest.approx((low, high), abs=1e-4)


@given(trials=st.integers(1, 500), data=st.data())
def test_the_interval_holds_the_rate_and_mirrors(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    low, high = wilson(successes, trials)
    assert 0 <= low <= successes / trials + 1e-12
    assert successes / trials - 1e-12 <= high <= 1
    mirrored = wilson(trials - successes, trials)
    assert mirrored == pytest.approx((1 - high, 1 - low))


def test_counts() -> None:
    tally = Tally.of([Category.SUCCESS, Category.SUCCESS, Category.SAFETY_VIOLATION])
    values = tally.as_dict()
    assert values['success_percent'] == 66.7
    assert (values['success'], values['safety_violation'], values['format_error']) == (2, 1, 0)
    assert Tally.of([]).rate == 0.0


def test_a_model_is_told_by_its_weights(tiny: Path, tmp_path: Path) -> None:
    subject = load_subject(tiny, 'cpu', 'GRPO')
    assert subject.name == 'GRPO'
    assert subject.checksum == model_checksum(tiny)
    assert subject.parameters > 1000
    copy = tmp_path / 'copy'
    shutil.copytree(tiny, copy)
    assert model_checksum(copy) == subject.checksum
    weights = copy / 'model.safetensors'
    weights.write_bytes(weights.read_bytes()[:-4] + b'\0\1\2\3')
    assert model_checksum(copy) != subject.checksum
    weights.unlink()
    with pytest.raises(BackendError, match=r'no \*\.safetensors file'):
        model_checksum(copy)


def test_the_untrained_network_has_other_weights_and_leaves_the_model_alone(tiny: Path) -> None:
    before = {path.name: path.read_bytes() for path in tiny.iterdir()}
    with untrained(tiny, 1) as one, untrained(tiny, 1) as again, untrained(tiny, 2) as other:
        assert one.parameters == load_subject(tiny).parameters
        assert one.checksum == again.checksum
        assert len({one.checksum, other.checksum, model_checksum(tiny)}) == 3
    assert {path.name: path.read_bytes() for path in tiny.iterdir()} == before


def test_the_control_of_adapters_is_their_base(adapters: Path, word_folder: Path) -> None:
    with untrained(adapters, 1, 'cpu') as base:
        assert (
            base.checksum == model_checksum(word_folder) != load_subject(adapters, 'cpu').checksum
        )


def test_no_network_can_be_made_of_a_folder_without_a_model(tmp_path: Path) -> None:
    (tmp_path / 'model').mkdir()
    for folder in (tmp_path / 'model', tmp_path / 'none'):
        with pytest.raises(BackendError, match='the model cannot be loaded'):
            untrained(folder, 1).__enter__()


def test_stages_come_from_the_model_or_from_the_user(tmp_path: Path) -> None:
    for name in ('a', 'b', 'c'):
        (tmp_path / name).mkdir()
    (tmp_path / 'stages.json').write_text(json.dumps({'GRPO': '.', 'PT': 'a', 'SFT': 'b'}))
    assert list(load_stages(tmp_path).items()) == [
        ('PT', tmp_path / 'a'), ('SFT', tmp_path / 'b'), ('GRPO', tmp_path),
    ]  # fmt: skip
    assert load_stages(tmp_path, {'SFT': tmp_path / 'c'}) == {'SFT': tmp_path / 'c'}


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (None, r'stages\.json: is missing: name the stages with --stage NAME=FOLDER'),
        ('{', r'stages\.json: expected \{"PT"'),
        ('[]', r'stages\.json: expected \{"PT"'),
        ('{"PT": 3}', r'stages\.json: expected \{"PT"'),
        ('{}', r'stages\.json: names no stage'),
        ('{"RLHF": "."}', "stage 'RLHF' is none of PT SFT GRPO"),
        ('{"PT": "none"}', 'none: there is no such folder of stage PT'),
    ],
)
def test_stages_that_are_none_are_named(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / 'stages.json').write_text(text)
    with pytest.raises(BackendError, match=message):
        load_stages(tmp_path)


DOMAIN = '(define (domain d) (:predicates (p) (q)) (:action a :effect (p)) (:action b :effect (q)))'
PROBLEM = '(define (problem {}) (:domain {}) (:init) (:goal {}))'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A collection with two problems, one of which no plan solves."""
    texts = {
        'domain.pddl': DOMAIN,
        'p1.pddl': PROBLEM.format('one', 'd', '(p)'),
        'p2.pddl': PROBLEM.format('two', 'other', '(and (p) (not (p)))'),
    }
    (tmp_path / 'set').mkdir()
    for name, text in texts.items():
        (tmp_path / 'set' / name).write_text(text)
    return tmp_path / 'set'


def test_a_larger_sample_begins_with_a_smaller_one(folder: Path) -> None:
    assert [problem.name for _, problem in drawn(folder, 0, 0, False)] == ['p1.pddl']
    whole = drawn(folder, 0, 3, True)
    assert len(whole) == 2
    assert drawn(folder, 1, 3, True) == whole[:1]


def test_both_planners_are_asked_once_and_a_wrong_plan_does_not_count(folder: Path) -> None:
    writes = f"{sys.executable} -c \"open('{{plan}}.1', 'w').write('(a)')\" {{domain}}"
    journal = folder / 'trials.jsonl'
    words = ['bench', 'solve', str(folder), '--any-name', '--journal', str(journal), '--json']
    words += ['--time-limit', '20', '--reference', writes]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    trials = json.loads(done.stdout)
    found = {(Path(t['problem']).name, t['planner'] == 'safegen'): t['status'] for t in trials}
    assert found == {
        ('p1.pddl', True): 'solved',
        ('p1.pddl', False): 'solved',
        ('p2.pddl', True): 'unsolvable',
        ('p2.pddl', False): 'GOAL_NOT_SATISFIED',
    }
    assert len(journal.read_text().splitlines()) == 4
    journal.write_text(f'{journal.read_text()}{{"problem": "p')  # killed while it wrote
    again = CliRunner().invoke(app, [word for word in words if word != '--json'])
    assert 'GOAL_NOT_SATISFIED' in again.stdout
    assert len(journal.read_text().splitlines()) == 4


ANY_DOMAIN = '(define (domain {}) (:predicates (p)) (:action a :effect {}))'
ANY_PROBLEM = '(define (problem one) (:domain {}) (:init) (:goal {}))'


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A collection with two domains of one name, each beside its problem."""
    texts = {
        'a/domain.pddl': ANY_DOMAIN.format('one', '(p)'),
        'a/p1.pddl': ANY_PROBLEM.format('one', '(p)'),
        'a/again.pddl': ANY_PROBLEM.format('one', '(p)'),
        'a/wrong.pddl': ANY_PROBLEM.format('one', '(q7)'),
        'b/domain.PDDL': ANY_DOMAIN.format('One', '(oneof (p) (p))'),
        'b/p1.pddl': ANY_PROBLEM.format('one', '(and (p))'),
        'b/p2.pddl': ANY_PROBLEM.format('two', '(p)'),
        'c/d.pddl': ANY_DOMAIN.format('three', '(p p1)'),
        'c/e.pddl': ANY_DOMAIN.format('four', '(p p23)')[:-1],
        'notes.txt': 'no PDDL',
        'c/list.pddl': '(define (task t))',
    }
    for name, text in texts.items():
        path = tmp_path / 'set' / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / 'set'


def test_texts_count_once_and_problems_go_with_the_domain_beside_them(
    texts: Path,
) -> None:
    found = measure_folder(texts)
    assert (found.domains.read, found.domains.refused) == (1, 3)
    assert found.domains.reasons == {
        "the operator 'oneof' is not supported": 1,
        'predicate ... takes ... arguments, found ...': 1,
        '... is never closed': 1,
    }
    assert (found.problems.read, found.problems.refused) == (1, 1)
    assert found.unpaired.reasons == {NO_DOMAIN: 1, 'its domain is refused': 1}
    assert share_text(found.domains) == '1 of 4, 25 % (5 to 70)'
    assert well_formed_text(found.domains) == '33 % of 3'
    assert total([found, found]).domains.trials == 8
    assert total([found, found]).domains.well_formed == 6


def test_a_well_formed_text_is_one_list() -> None:
    good = ('(a (b))', ' ; a ( comment\n(a)\n; and another )', '()')
    bad = ('', 'a', '(a', '(a))', '(a) (b)', '(a) b', ')(', '(a ;)\n')
    assert all(map(is_one_list, good))
    assert not any(map(is_one_list, bad))


def test_a_domain_that_is_there_twice_is_paired_at_both_places(texts: Path) -> None:
    twin = texts / 'b' / 'e'
    twin.mkdir()
    (twin / 'domain.pddl').write_text((texts / 'a' / 'domain.pddl').read_text())
    (twin / 'p3.pddl').write_text(ANY_PROBLEM.format('one', '(not (p))'))
    found = measure_folder(texts)
    assert (found.domains.read, found.problems.read) == (1, 2)


def test_a_sample_is_drawn_by_its_seed(texts: Path) -> None:
    assert measure_folder(texts, 2, 1).domains.trials == 2
    one, again = measure_folder(texts, 1, 3), measure_folder(texts, 1, 3)
    assert one == again


def test_the_verb_prints_shares_and_reasons(texts: Path) -> None:
    done = CliRunner().invoke(app, ['bench', 'language', str(texts / 'a'), str(texts / 'b')])
    assert done.exit_code == 0, done.output
    assert '1 of 2, 50 %' in done.stdout
    assert 'oneof' in done.stdout
    words = ['bench', 'language', str(texts), '--json']
    values = json.loads(CliRunner().invoke(app, words).stdout)
    assert values['set']['domains']['percent'] == 25.0
    assert values['set']['domains']['percent_of_well_formed'] == 33.3
    assert CliRunner().invoke(app, ['bench', 'language', 'nowhere']).exit_code == 2
