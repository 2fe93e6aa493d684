# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A model on all splits of BoxNet2D, in both modes, plain and shielded, beside an untrained one.

These are tables 2, 3, 8 and 9 of the paper, as far as they are about BoxNet2D.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from safegen_ros.evaluation.boxnet import (
    DIFFERENCES,
    MORE,
    Record,
    figures,
    paper_lines,
    run_rows,
)
from safegen_ros.evaluation.comparison import Comparison, Line
from safegen_ros.llm.backend import Backend, Sampling
from safegen_ros.planning.boxnet import FILTER, FULL, MODES, NEXT, PLAIN, Options
from safegen_ros.worlds.boxnet.dataset.rows import Row, read_rows
from safegen_ros.worlds.boxnet.findings import Finding
from safegen_ros.worlds.boxnet.styles import Style
from safegen_ros.worlds.pddl3.dataset.assemble import Notify

NAME = 'boxnet'
SPLITS = ('test', 'randrob', 'newcoord', 'unseenmap', 'test_unsolvable')
MOST_STEPS = 20
SHIELDS = {
    'plain': Options(shield=PLAIN, most_steps=MOST_STEPS),
    'shielded': Options(shield=FILTER, most_steps=MOST_STEPS),
    'shielded, 3 answers': Options(shield=FILTER, attempts=3, most_steps=MOST_STEPS),
}
"""What keeps a model from bad moves, as the tables call it; see `planning.boxnet.SHIELDS`."""

UNTRAINED = 'before training'
_MODE = {FULL: 'FULLPLAN', NEXT: 'REPLAN'}

WHAT_DIFFERS = (
    'The small model reads and writes the words of worlds/boxnet/words.py, not the prompt of the '
    'chat models; the map that they tell is the same. Its thoughts are the carries that each '
    'object needs. Who draws JSON from its words adds nothing to them but the names of robots.',
    'In REPLAN it sees the map as it is now and nothing of the steps before, and has '
    f'{MOST_STEPS} steps; the paper does not tell how many it gives.',
    'It learned from plans of our optimal planner for maps of all sizes from 2 x 2 to 6 x 6, with '
    'robots anywhere, moved points and unsolvable maps among them, none of which is in a test '
    'split. So RANDROB and NEWCOORD hold new tasks of a known kind, and UNSEENMAP alone larger '
    'maps.',
    'Shielded, moves that cannot begin, do not reach or would collide are left out of an answer '
    'before it is judged; what is left may fail to bring all objects to their targets.',
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A model, and how it is asked.

    Attributes:
        name: what it is called in tables.
        backend: what answers.
        style: how a map is put to it.
        splits: that it is asked about.
        shields: of `SHIELDS`.
    """

    name: str
    backend: Backend
    style: Style
    splits: tuple[str, ...] = SPLITS
    shields: tuple[str, ...] = tuple(SHIELDS)


@dataclass(frozen=True, slots=True)
class Study:
    """How much is asked, and how.

    Attributes:
        data: folder of the dataset.
        work: folder in which all runs are kept.
        sampling: how answers are drawn.
        trials: runs of each task.
        rows: most tasks of each split, from all over it; 0 for all.
        at_once: runs under way together.
    """

    data: Path
    work: Path
    sampling: Sampling
    trials: int
    rows: int
    at_once: int


@dataclass(frozen=True, slots=True)
class _Case:
    split: str
    mode: str
    shield: str
    model: str

    @property
    def title(self) -> str:
        return f'{_MODE[self.mode]}, {self.shield}'


def tables(
    models: Sequence[Asked], study: Study, arguments: str, facts: Sequence[str], notify: Notify
) -> list[Comparison]:
    """Measures models; runs that are kept are not made again.

    Args:
        models: what is measured.
        study: how much.
        arguments: of the command, for the page.
        facts: what else is to be told.
        notify: told of the progress.

    Returns:
        All splits, and `test` by number of objects.

    Raises:
        BackendError: a model cannot answer.
        DatasetError: a split cannot be read.
        SafegenError: the folder of the runs holds others.
    """
    found = dict(_runs(models, study, notify))
    every = [line for split in SPLITS for line in _split_lines(split, found)]
    by_objects = list(_object_lines(found))
    told = (*facts, _how(study))
    return [
        _comparison(NAME, 'BoxNet2D: runs that solve their task', every, found, arguments, told),
        _comparison(
            f'{NAME}-objects',
            'BoxNet2D: runs that solve their task, by number of objects',
            by_objects, {}, arguments, told,
        ),
    ]  # fmt: skip


def _runs(
    models: Sequence[Asked], study: Study, notify: Notify
) -> Iterator[tuple[_Case, list[Record]]]:
    for model in models:
        for split in model.splits:
            rows = _some(list(read_rows(study.data / f'{split}.jsonl')), study.rows)
            for mode in MODES:
                for shield in model.shields:
                    case = _Case(split, mode, shield, model.name)
                    options = replace(SHIELDS[shield], mode=mode)
                    yield case, _one(case, model, rows, study, options, notify)


def _some(rows: Sequence[Row], most: int) -> Sequence[Row]:
    """Rows from all over a split, which is in the order of sizes and numbers of objects."""
    if not 0 < most < len(rows):
        return rows
    return [rows[at * len(rows) // most] for at in range(most)]


def _one(
    case: _Case, model: Asked, rows: Sequence[Row], study: Study, options: Options, notify: Notify
) -> list[Record]:
    label = '-'.join((case.model, case.split, case.mode, case.shield))
    folder = study.work / label.replace(', ', '-').replace(' ', '-')
    told: Callable[[str, int, int], None] = lambda _, done, total: notify(label, done, total)  # noqa: E731
    return run_rows(
        rows, model.backend, study.sampling, options, folder,
        trials=study.trials, at_once=study.at_once, style=model.style, notify=told,
    )  # fmt: skip


def _split_lines(split: str, found: Mapping[_Case, list[Record]]) -> Iterator[Line]:
    for mode in MODES:
        for case, records in found.items():
            if (case.split, case.mode) == (split, mode):
                yield Line(split, case.title, case.model, figures(records))
        for line in paper_lines(split, mode):
            yield replace(line, case=f'{_MODE[mode]}, plain')


def _object_lines(found: Mapping[_Case, list[Record]]) -> Iterator[Line]:
    for case, records in found.items():
        if case.split != SPLITS[0] or case.model == UNTRAINED:
            continue
        for objects in sorted({record.objects for record in records}):
            part = [record for record in records if record.objects == objects]
            yield Line(
                case.title, f'{objects} object{"s" * (objects != 1)}', case.model, figures(part)
            )


def _comparison(
    name: str,
    title: str,
    lines: Sequence[Line],
    found: Mapping[_Case, list[Record]],
    arguments: str,
    facts: Sequence[str],
) -> Comparison:
    measured = [
        {
            'split': case.split,
            'mode': case.mode,
            'shield': case.shield,
            'whose': case.model,
            'findings': {
                kind.value: count
                for kind in Finding
                if (count := sum(record.finding == kind.value for record in records))
            },
        }
        for case, records in found.items()
    ]
    return Comparison(
        name, title, ('split', 'mode', 'whose'), tuple(lines), tuple(facts),
        (*WHAT_DIFFERS, *DIFFERENCES), {'facts': list(facts)}, tuple(measured),
        plot='success', more=MORE, arguments=arguments, verb='boxnet tables',
    )  # fmt: skip


def _how(study: Study) -> str:
    sampling = study.sampling
    rows = f'at most {study.rows} tasks of each split' if study.rows else 'all tasks'
    return (
        f'{rows}, {study.trials} runs each, temperature {sampling.temperature:g}, top-p '
        f'{sampling.top_p:g}, seed {sampling.seed}, answers of at most '
        f'{sampling.max_new_tokens} tokens'
    )
