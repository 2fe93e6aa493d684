# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Statistics are shown beside those of the paper, and plots are drawn."""

from __future__ import annotations

import io
import re
import resource
import struct
from pathlib import Path

import pytest
from rich.console import Console

from safegen_ros.benchmarks.pddl3.dataset_report import (
    PLOTS,
    draw_plots,
    plots_available,
    print_statistics,
)
from safegen_ros.datasets.files import DatasetError
from safegen_ros.datasets.pddl3.statistics import BARE_NEW, load_statistics, longer_rows
from safegen_ros.paths import data_path
from safegen_ros.tasks.pddl3.domains.check import bucket, thresholds

STATISTICS = load_statistics(data_path('data/safegen-bench'))


def printed() -> str:
    out = io.StringIO()
    print_statistics(STATISTICS, Console(file=out, width=200))
    return out.getvalue()


def test_the_paper_stands_beside_ours() -> None:
    lines = [re.split(r' {2,}', line.strip()) for line in printed().splitlines()]
    assert ['blocksworld', 'paper', 'blocks 3-6', '500', '500', '50', '50'] in lines
    assert ['ours', 'blocks 3-6', '500', '500', '50', '50'] in lines
    sizes = 'spanners 2-3, nuts 2, locations 3-4'
    assert ['spanner', 'paper', sizes, '500', '500', '50', '50'] in lines
    always = next(line for line in lines if line[:2] == ['blocksworld', 'always'])
    splits = STATISTICS['blocksworld']['splits']
    assert always[2:4] == [
        f'{splits[s]["operators"]["always"]} ({splits[s]["broken"]["always"]})'
        for s in ('train', 'test')
    ]
    renamed, tested = splits['test_renamed'], splits['test']
    assert ['blocksworld', 'train', '500', str(longer_rows(splits['train'])), '-'] in lines
    assert ['test', '50', str(longer_rows(tested)), str(tested[BARE_NEW])] in lines
    assert ['test_renamed', '25', str(longer_rows(renamed)), '0'] in lines
    buckets = next(line for line in lines if line[0] == 'ferry' and len(line) == 8)
    assert list(map(int, buckets[1:4])) == list(
        STATISTICS['ferry']['splits']['train']['buckets'].values()
    )


def test_another_domain_has_no_line_of_the_paper() -> None:
    out = io.StringIO()
    print_statistics({'harbour': STATISTICS['ferry']}, Console(file=out, width=200))
    assert ' paper  ' not in out.getvalue()
    assert ' harbour  ours ' in out.getvalue()


@pytest.mark.nightly
def test_every_plot_is_a_picture(tmp_path: Path) -> None:
    assert plots_available()
    two = {domain: STATISTICS[domain] for domain in ('ferry', 'spanner')}
    paths = draw_plots(two, tmp_path / 'plots')
    assert {path.stem for path in paths} == set(PLOTS)
    for path in paths:
        data = path.read_bytes()
        assert data.startswith(b'\x89PNG\r\n')
        width, height = struct.unpack('>II', data[16:24])
        assert width > 900
        assert height > 300


def test_plots_that_cannot_be_written_are_an_error(tmp_path: Path) -> None:
    (tmp_path / 'plots').write_text('')
    with pytest.raises(DatasetError, match='plots: cannot be written: '):
        draw_plots(STATISTICS, tmp_path / 'plots')


def test_a_plot_is_whole_or_what_it_was(tmp_path: Path) -> None:
    (tmp_path / 'sizes.png').write_bytes(b'older')
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # like a full disk
    try:
        with pytest.raises(DatasetError, match=r'sizes\.png: cannot be written: '):
            draw_plots({'ferry': STATISTICS['ferry']}, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {'sizes.png': b'older'}


@pytest.mark.parametrize(
    ('scores', 'shares'),
    [
        ([float(n) for n in range(10)], [4, 4, 2]),
        ([1.0] * 3 + [2.0] * 5 + [3.0] * 2, [3, 5, 2]),
        ([1.0] * 5 + [2.0] * 4 + [3.0], [5, 4, 1]),
        ([1.0] * 4 + [2.0] * 4 + [3.0] * 2, [4, 4, 2]),
        ([7.0], [1, 0, 0]),
    ],
)
def test_buckets_come_as_near_to_the_percentiles_as_ties_allow(
    scores: list[float], shares: list[int]
) -> None:
    limits = thresholds(scores)
    found = [bucket(score, limits) for score in scores]
    assert [found.count(name) for name in ('easy', 'medium', 'hard')] == shares


def test_a_folder_without_statistics_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match='name the folder of a dataset that is built'):
        load_statistics(tmp_path)
    for text, message in (('{', 'is not JSON'), ('[]', 'holds no statistics')):
        (tmp_path / 'statistics.json').write_text(text)
        with pytest.raises(DatasetError, match=message):
            load_statistics(tmp_path)
