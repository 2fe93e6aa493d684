# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""SAPO's tables: rates over runs, beside the paper's figures, and the picture of a run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from safegen_ros.benchmarks.comparison import write_comparison
from safegen_ros.benchmarks.household.episodes import Contestant, compare, measure, scripted
from safegen_ros.benchmarks.household.plots import draw_run, rows_of
from safegen_ros.benchmarks.tables import markdown
from safegen_ros.tasks.household.runs import RunOptions, play
from safegen_ros.tasks.household.scripted import GoalAgent, RandomAgent
from safegen_ros.tasks.household.tasks import clean_tasks

TASKS = list(clean_tasks().values())


def test_mean_and_deviation_are_over_runs() -> None:
    """Careful in one run and careless in the other."""
    mixed = Contestant('mixed', lambda run: GoalAgent(careful=run == 0))
    rates = measure(mixed, RunOptions(), TASKS[:3], 2)
    assert rates.csr == (1.0, 0.0)
    figures = rates.figures
    assert (figures.success, figures.more['CSR sd'], figures.trials) == (50.0, 50.0, 6)
    assert figures.failures['safety'] == 50.0


def test_runs_of_chance_differ_and_are_repeated_by_their_seed() -> None:
    [chance] = scripted(['random'], 4)
    texts = [
        [
            [m.text for m in episode.moments]
            for episode in measure(chance, RunOptions(steps=8), TASKS[:1], 2).episodes
        ]
        for _ in range(2)
    ]
    assert texts[0] == texts[1]
    assert texts[0][0] != texts[0][1]


@pytest.mark.nightly
def test_the_tables_stand_beside_the_paper(tmp_path: Path) -> None:
    some = TASKS[::6]
    found = compare(scripted(['oracle', 'careless'], 0), (2, 3), 1, RunOptions(), '--runs 1', some)
    lines = {(line.group, line.case, line.whose): line.figures for line in found.lines}
    for case in ('PO', 'FO', 'IPC (PO)', 'IPC (FO)'):
        assert lines['table 2', case, 'oracle'].success == 100.0
        assert lines['table 2', case, 'careless'].failures['safety'] == 100.0
    assert lines['table 2', 'IPC (FO)', 'gpt5-mini (paper)'].more['GSR'] == 55.44
    assert lines['table 3', 'implicit', 'o4-mini (paper)'].success == 1.33
    shielded = lines['table 3', 'implicit', 'careless, shield of proposed rules']
    assert shielded.failures['safety'] == 0.0
    assert lines['table 3', 'explicit', 'careless, shield'].success > 50.0
    assert found.command == 'safegen bench household eval --runs 1'
    page, *_ = [p for p in write_comparison(found, tmp_path, markdown(found)) if p.suffix == '.md']
    assert '| table 3 | explicit | oracle |' in page.read_text()
    kept = json.loads((tmp_path / 'household.json').read_text())
    oracle = [each for each in kept['measured'] if each['whose'] == 'oracle']
    assert all(len(each['solved']) == len(some) for each in oracle)


def test_the_published_count_changes_the_tables() -> None:
    options = RunOptions(compat='spoc')
    bowl = [clean_tasks()['pollution-bowl'], clean_tasks()['pollution-egg']]
    found = compare(scripted(['oracle'], 0), (2,), 1, options, '--compat spoc', bowl)
    ours = [line.figures.success for line in found.lines if line.whose == 'oracle']
    assert ours == [50.0] * 4  # without a step constraint nothing counts as success


def test_a_picture_shows_what_moved_and_what_was_on(tmp_path: Path) -> None:
    task = clean_tasks()['fire-microwave']
    played = play(task, GoalAgent(careful=False), 'careless', RunOptions())
    rows = rows_of(played.episode)
    where = [told for _, _, told in rows['where Fork (1)']]
    assert where == ['Cabinet (1)', 'hand', 'Drawer (1)']
    [(begin, end, told)] = rows['Microwave (1) on']
    assert (told, begin < end) == ('on', True)
    assert rows['where Potato (1)'][-1][1] < len(played.episode.trace)  # it was cut
    assert rows['where PotatoSliced (1)'][0][0] == rows['where Potato (1)'][-1][1]
    first, again = (draw_run(played.episode, tmp_path / f'{n}.png').read_bytes() for n in 'ab')
    assert first == again
    assert len(first) > 10_000


@pytest.mark.parametrize('shield', ['off', 'block'])
def test_options_name_what_is_played(shield: str) -> None:
    options = replace(RunOptions(), shield=shield)  # type: ignore[arg-type]
    played = play(TASKS[0], RandomAgent(0), 'random', options)
    assert played.as_dict()['shield'] == shield
    assert (options.rules(TASKS[0]).shield is None) is (shield == 'off')
