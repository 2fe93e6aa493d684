# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How many goals the planning loop plans, by strategy, with a model and without one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from safegen_ros.benchmarks.comparison import Comparison, Line
from safegen_ros.benchmarks.pddl3 import paper
from safegen_ros.benchmarks.pddl3.loops import MORE, LoopOptions, LoopResult
from safegen_ros.benchmarks.pddl3.paper import ALL
from safegen_ros.benchmarks.pddl3.study import Options, Record, Study
from safegen_ros.benchmarks.subjects import Subject, untrained

CONTROLS = 12
"""Problems of each domain for the untrained network, which writes every answer to its limit."""

_Results = dict[str, dict[str, LoopResult]]


def table4(
    subject: Subject,
    model_dir: Path,
    options: Options,
    loop: LoopOptions,
    split: str = 'test',
    controls: int = CONTROLS,
) -> Comparison:
    """Table IV: success and attempts of the planning loop, by domain and strategy.

    Args:
        subject: the model.
        model_dir: its folder, of which an untrained network is made.
        options: what to measure on, and how.
        loop: how goals are planned.
        split: the split of the dataset.
        controls: problems of each domain that the untrained network is put, which takes most of
            the time; 0 for all.

    Raises:
        SafegenError: as of `Study.of_split` and `plan_goal`.
    """
    study = Study.of_split(Record(options), split=split)
    results: _Results = {strategy: {} for strategy in loop.strategies}
    with untrained(model_dir, options.seed, options.device) as fresh:
        for whose, each, most in (('ours', subject, 0), ('untrained', fresh, controls)):
            for strategy in loop.strategies:
                results[strategy][whose] = study.plan(each, strategy, loop, most)
    usual = split == 'test'
    return study.record.comparison(
        'table4' if usual else f'table4-{split}',
        'The planning loop by domain and strategy, beside table IV of SafeGen-LLM',
        ('domain', 'strategy', 'whose'),
        list(_lines(study, results)),
        (
            *study.record.differences('Qwen3-14B, 14 billion, in 4 bits'),
            'loop: that of the paper is SafePilot, which has a plan regenerated that a verifier '
            'refuses; what it tells the model and how often it asks the paper does not say',
            'attempts: the plans that were judged, of failed goals too, as the retries of the '
            'paper, where a goal that is planned at once counts 1; a level that finds no plan '
            'proposes none, so that a beam alone can fail without an attempt',
            *_contributions(results),
            "the paper's PT is a chat model before fine-tuning, ours is untrained and knows no "
            'language; the paper has neither shield nor beam',
        ),
        'success',
        more=MORE,
        arguments='' if usual else f'table4 --split {split}',
    )


def _lines(study: Study, results: _Results) -> Iterator[Line]:
    """Our figures for every domain and strategy, then those of the paper."""
    domains = list(dict.fromkeys(p.domain for p in study.problems))
    beside = paper.table4()
    for group in (*domains, ALL):
        for strategy, by_whose in results.items():
            for whose, result in by_whose.items():
                part = result if group == ALL else result.part('domain', group)
                yield Line(group, strategy, whose, part.figures)
        for whose, figures in beside.get((group, paper.SAFEPILOT), ()):
            yield Line(group, paper.SAFEPILOT, whose, figures)


def _contributions(results: _Results) -> Iterator[str]:
    """What of each strategy is the search, and what the model."""
    for strategy, by_whose in results.items():
        fresh = by_whose['untrained']
        ours, without = (
            f'{100 * result.tally().rate:.1f} %'
            for result in (by_whose['ours'].on(fresh.problems), fresh)
        )
        yield (
            f'control, {strategy}: the same network with freshly drawn weights plans {without} of '
            f'{len(fresh.problems)} problems, ours {ours} of the same: only what lies between is '
            'what the model has learned, the rest does the loop around it'
        )
