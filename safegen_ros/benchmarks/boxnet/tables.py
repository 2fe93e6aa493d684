# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A model on all splits of BoxNet2D, in both modes, plain and shielded, beside its other stages.

These are tables 2, 3, 8 and 9 of the paper, as far as they are about BoxNet2D.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from safegen_ros.benchmarks.boxnet.planners import (
    DIFFERENCES,
    MORE,
    TrialRecord,
    figures,
    paper_lines,
    run_rows,
    spread,
)
from safegen_ros.benchmarks.comparison import ComparisonTable, Figures, Line
from safegen_ros.benchmarks.measurement import Notify
from safegen_ros.benchmarks.subjects import load_stages
from safegen_ros.datasets.boxnet.recipe import load_recipe
from safegen_ros.datasets.boxnet.rows import BoxNetRow, read_rows
from safegen_ros.datasets.builder import RECIPE
from safegen_ros.llm.backend import Backend, Sampling
from safegen_ros.tasks.boxnet.decoding_mask import MOST_SCORED
from safegen_ros.tasks.boxnet.findings import Finding
from safegen_ros.tasks.boxnet.optimal import parallelism
from safegen_ros.tasks.boxnet.planner import (
    BEAM,
    FULL,
    HELD,
    MODES,
    NEXT,
    PLAIN,
    WIDTHS,
    PlannerOptions,
)
from safegen_ros.tasks.boxnet.prompts import Style
from safegen_ros.terminal import Console, table

NAME = 'boxnet'
SPLITS = ('test', 'randrob', 'newcoord', 'unseenmap', 'test_unsolvable')
MOST_STEPS = 20
_FEWER = 5
SHIELDS = {
    'plain': PlannerOptions(shield=PLAIN, most_steps=MOST_STEPS),
    'shielded': PlannerOptions(shield=HELD, most_steps=MOST_STEPS),
    'beam': PlannerOptions(shield=BEAM, most_steps=MOST_STEPS),
}
"""What keeps a model from bad moves, as the tables call it; see `tasks.boxnet.planner.SHIELDS`."""

UNSOLVABLE = 'test_unsolvable'
MEASURED = {
    'test': tuple(SHIELDS),
    **dict.fromkeys(SPLITS[1:-1], ('plain', 'shielded')),
    UNSOLVABLE: ('plain',),
}
"""The measurements of a model on each split. Where no task has a plan, a shield that lets plans end
at goals alone has nothing to say.
"""

UNTRAINED = 'before training'
OTHERS = {'SFT': 'before reinforcement', 'GRPO': 'after reinforcement'}
"""What the stages of a model are called that are not the one that is served."""

_LEVELS = 'by beam 1 2 4 8'
_MODE = {FULL: 'FULLPLAN', NEXT: 'REPLAN'}

WHAT_DIFFERS = (
    'The small model reads and writes the words of tasks/boxnet/words.py, not the prompt of the '
    'chat models; the map that they tell is the same. Its thoughts are the object that each '
    'move is for, and the moves that wait. Who draws JSON from its words adds nothing to them '
    'but the names of robots.',
    'In REPLAN it sees the map as it is now and nothing of the steps before, and has '
    f'{MOST_STEPS} steps; the paper does not tell how many it gives.',
    'It learned from plans by fixed rules (tasks/boxnet/rule_planner.py) for maps of all sizes '
    'from 2 x 2 to 6 x 6, with robots anywhere, moved points and unsolvable maps among them, none '
    'of which is in a test split. So RANDROB and NEWCOORD hold new tasks of a known kind, and '
    'UNSEENMAP alone larger maps.',
    "Plain, every word is the model's own: what is solved there is what it has learned.",
    'Shielded, the model still draws each word, among those of moves that may be made: an object '
    'that is not at its target is carried to any point in reach, or an arm goes to it. No state is '
    'entered twice, and a plan ends at the goal alone. A run fails where its steps or its words '
    'are used up, or nothing new may be said; a text that is cut off within a move has no form.',
    "A beam searches such plans by the model's probabilities alone, one at a time, then two, four "
    f'and eight, asking about at most {MOST_SCORED:,} moves each time; it draws nothing, so that '
    'each task has one run. The last column counts the plans that each width found. Step by '
    'step it takes its steps in thought before the first is done.',
    'What shield and beam bring about without a model that knows anything is in the rows of the '
    'untrained network, by a beam for one task of '
    f'{_FEWER}, since a search that knows nothing takes long.',
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A model, and how it is asked.

    Attributes:
        style: how a map is put to it.
        splits: that it is asked about, each with names of `SHIELDS`.
        model: which one it is; see `run_rows`.
    """

    name: str
    backend: Backend
    style: Style
    splits: Mapping[str, tuple[str, ...]]
    model: str = ''


def stages_to_ask(folder: Path) -> Sequence[tuple[str, Path, Mapping[str, tuple[str, ...]]]]:
    """The model of a folder, then its other stages, and of those the untrained network last.

    Returns:
        The name of each in tables, its folder, and the splits that it is asked about; the untrained
        network about the first alone.

    Raises:
        BackendError: as `load_stages`.
    """
    stages = load_stages(folder)
    untrained = stages.pop('PT', None)
    others = {name: path for name, path in stages.items() if path != folder}
    asked = [(folder.name, folder, MEASURED)]
    asked += [(OTHERS[name], path, MEASURED) for name, path in others.items()]
    if untrained is not None:
        asked.append((UNTRAINED, untrained, {split: MEASURED[split] for split in SPLITS[:1]}))
    return asked


@dataclass(frozen=True, slots=True)
class BoxnetStudy:
    """How much is asked, and how.

    Attributes:
        rows: most tasks of each split, from all over it; 0 for all.
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
    models: Sequence[Asked],
    study: BoxnetStudy,
    arguments: str,
    facts: Sequence[str],
    notify: Notify,
) -> list[ComparisonTable]:
    """Measures models; runs that are kept are not made again.

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
    models: Sequence[Asked], study: BoxnetStudy, notify: Notify
) -> Iterator[tuple[_Case, list[TrialRecord]]]:
    for model in models:
        for split in model.splits:
            rows = spread(list(read_rows(study.data / f'{split}.jsonl')), study.rows)
            for mode in MODES:
                for shield in model.splits[split]:
                    case = _Case(split, mode, shield, model.name)
                    options = replace(SHIELDS[shield], mode=mode)
                    # A search that knows nothing goes on until its moves are used up.
                    few = model.name == UNTRAINED and options.shield == BEAM
                    asked = rows[::_FEWER] if few else rows
                    yield case, _one(case, model, asked, study, options, notify)


def _one(
    case: _Case,
    model: Asked,
    rows: Sequence[BoxNetRow],
    study: BoxnetStudy,
    options: PlannerOptions,
    notify: Notify,
) -> list[TrialRecord]:
    label = '-'.join((case.model, case.split, case.mode, case.shield))
    folder = study.work / label.replace(', ', '-').replace(' ', '-')
    told: Callable[[str, int, int], None] = lambda _, done, total: notify(label, done, total)  # noqa: E731
    trials = 1 if options.shield == BEAM else study.trials  # a beam draws nothing
    return run_rows(
        rows, model.backend, study.sampling, options, folder, model=model.model,
        trials=trials, at_once=study.at_once, style=model.style, notify=told,
    )  # fmt: skip


def _split_lines(split: str, found: Mapping[_Case, list[TrialRecord]]) -> Iterator[Line]:
    for mode in MODES:
        for case, records in found.items():
            if (case.split, case.mode) == (split, mode):
                yield Line(split, case.title, case.model, _figures(records))
        for line in paper_lines(split, mode):
            yield replace(line, case=f'{_MODE[mode]}, plain')


def _object_lines(found: Mapping[_Case, list[TrialRecord]]) -> Iterator[Line]:
    for case, records in found.items():
        if case.split != SPLITS[0] or case.model in (UNTRAINED, *OTHERS.values()):
            continue
        for objects in sorted({record.objects for record in records}):
            part = [record for record in records if record.objects == objects]
            yield Line(
                case.title, f'{objects} object{"s" * (objects != 1)}', case.model, _figures(part)
            )


def _figures(records: Sequence[TrialRecord]) -> Figures:
    """As `figures`, with the widths of the beams that found the plans."""
    found = figures(records)
    solved = [record.level for record in records if record.solved]
    counts = [solved.count(f'{BEAM} {width}') for width in WIDTHS]
    if not any(counts):
        return found
    return replace(found, more={**found.more, _LEVELS: ' '.join(map(str, counts))})


def _comparison(
    name: str,
    title: str,
    lines: Sequence[Line],
    found: Mapping[_Case, list[TrialRecord]],
    arguments: str,
    facts: Sequence[str],
) -> ComparisonTable:
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
    return ComparisonTable(
        name, title, ('split', 'mode', 'whose'), tuple(lines), tuple(facts),
        (*WHAT_DIFFERS, *DIFFERENCES), {'facts': list(facts)}, tuple(measured),
        plot='success', more={**MORE, _LEVELS: 's'},
        command=f'safegen bench boxnet tables {arguments}',
    )  # fmt: skip


def _how(study: BoxnetStudy) -> str:
    sampling = study.sampling
    rows = f'at most {study.rows} tasks of each split' if study.rows else 'all tasks'
    return (
        f'{rows}, {study.trials} runs each, temperature {sampling.temperature:g}, top-p '
        f'{sampling.top_p:g}, seed {sampling.seed}, answers of at most '
        f'{sampling.max_new_tokens} tokens'
    )


PAPER = {
    'train': (55_000, 8.13, 1.73, 6.25),
    'test': (250, 8.32, 1.75, 6.25),
    'randrob': (200, 7.06, 1.49, 6.25),
    'newcoord': (250, 8.59, 1.77, 6.25),
    'train3d': (1_800, 6.27, 1.89, 2.25),
    'test3d': (160, 5.62, 1.88, 2.25),
}
"""Table 11: tasks, mean steps of its planner, mean parallelism, mean number of robots."""

NOTES = (
    'Steps and robots at once are means over the tasks that the planner of the line solves; the '
    'paper has only tasks that its planner solves, and does not tell its averages by size.',
    'The planner of the paper is ours after its listing 1, which leaves open how the quality of a '
    'placement is measured.',
    '6.25 robots is the mean of maps of 2 x 2 to 5 x 5, though the text says 2 x 2 to 6 x 6; for '
    'BoxNet3D 2.25 is that of 2 x 2 to 3 x 3, though the text says 2 x 2 to 4 x 4.',
)


def print_statistics(folder: Path, console: Console) -> None:
    """Prints a line for each planner and split of a dataset, and that of the paper.

    Raises:
        DatasetError: there is no dataset, or it is unreadable.
    """
    rows: list[tuple[str, ...]] = []
    for split in load_recipe(folder / RECIPE).splits:
        rows += _lines(split.name, list(read_rows(folder / f'{split.name}.jsonl')))
    numbers = ('tasks', 'solved', 'steps', 'at once', 'robots', 'proved shortest')
    title = 'Tasks, and those of table 11 of the paper'
    console.print(table(title, ('split', 'plans of'), numbers, rows))
    for note in NOTES:
        console.print(f'- {note}', markup=False, highlight=False)


def _lines(name: str, rows: Sequence[BoxNetRow]) -> Iterator[tuple[str, ...]]:
    """The cells of a split: of each planner over the tasks that it solves, and of the paper."""
    count, robots = f'{len(rows):,}', f'{_mean([len(row.task.bases) for row in rows]):.2f}'
    plans = [row.plan for row in rows if row.plan is not None]
    if not plans:
        yield name, 'none', count, '0', '-', '-', robots, ''
        return
    proved = sum(row.plan is not None and len(row.plan) == row.lower_bound for row in rows)
    optimal = [(len(plan), parallelism(plan)) for plan in plans]
    yield name, 'optimal', count, *_means(optimal), robots, f'{proved:,}'
    paper = [(row.paper_steps, row.paper_parallelism or 0) for row in rows if row.paper_steps]
    yield name, 'paper', '', *_means(paper), robots, ''
    if name in PAPER:
        tasks, *means = PAPER[name]
        yield name, 'its own', f'{tasks:,}', f'{tasks:,}', *(f'{m:.2f}' for m in means), ''


def _means(solved: Sequence[tuple[int, int]]) -> tuple[str, str, str]:
    """How many there are, and the means of their steps and of the robots at once."""
    steps, at_once = ([pair[at] for pair in solved] for at in (0, 1))
    return f'{len(solved):,}', f'{_mean(steps):.2f}', f'{_mean(at_once):.2f}'


def _mean(values: Sequence[int]) -> float:
    return fmean(values) if values else 0.0
