# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How many answers are parseable, solvable and correct, by domain, size and abstractness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from safegen_ros.benchmarks.comparison import ComparisonTable, Figures, Line, wilson
from safegen_ros.datasets.files import read_lines
from safegen_ros.datasets.planetarium import recipe
from safegen_ros.datasets.planetarium.pairs import ABSTRACTIONS, SIZES, size_bin
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.reader import problem_domain_name, read_problem
from safegen_ros.schema import SchemaReader, one_of
from safegen_ros.tasks.planetarium.assess import AnswerAssessment, Assessed, assess
from safegen_ros.tasks.planetarium.domains import RULES, planetarium_domain
from safegen_ros.tasks.planetarium.equivalence import Compat
from safegen_ros.tasks.planetarium.explain import explain
from safegen_ros.tasks.planetarium.state_rules import StripsTask
from safegen_ros.terminal import Console, table

METRICS = ('parseable', 'solvable', 'correct')

ALL, MEAN = 'all rows', 'mean of domains'

GROUPS: Mapping[str, tuple[str, ...]] = {
    'all': (ALL,),
    'domain': tuple(RULES),
    'size': SIZES,
    'abstractness': ABSTRACTIONS,
}
"""How rows are grouped, with the groups in their order."""

PAPER: Mapping[str, Mapping[str, float]] = {
    'GPT-4o, zero-shot': {'parseable': 96.1, 'solvable': 94.4, 'correct': 24.8},
    'Gemma 2 27B IT, fine-tuned': {'correct': 34.2},
}
"""Figures of the paper on its own test split, averaged over the domains [%]."""

PAPER_ROWS = 15_943
"""Rows of the test split of the paper (table 1)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A problem that was asked for, and what a model wrote.

    Attributes:
        abstraction: one of `ABSTRACTIONS`, or empty where it is not known.
    """

    id: str
    wanted: Problem
    answer: str
    placeholder: bool
    abstraction: str


@dataclass(frozen=True, slots=True)
class _Line:
    problem: str
    answer: str
    id: str = ''
    placeholder: bool = False
    abstraction: Annotated[str, one_of('', *ABSTRACTIONS)] = ''


def read_scored(path: Path) -> Iterator[Answer]:
    """The rows of a file, one after the other; fields that are not needed are left alone.

    Raises:
        SafegenError: the file cannot be read, or a line lacks `problem` or `answer`, or names a
            problem of another domain.
    """
    for values, place in read_lines(path, _bad):
        known = _Line.__dataclass_fields__.keys()
        needed = (
            {name: value for name, value in values.items() if name in known}
            if isinstance(values, dict)
            else values
        )
        line = SchemaReader(place, _bad).read(_Line, needed)
        wanted = read_wanted(line.problem, place)
        yield Answer(line.id or place, wanted, line.answer, line.placeholder, line.abstraction)


def _bad(message: str) -> SafegenError:
    return SafegenError(
        f'{message}; give "problem" in PDDL and "answer", and where they matter "id", '
        f'"placeholder" and "abstraction", one of {", ".join(ABSTRACTIONS)}',
        ErrorCode.BAD_PDDL,
    )


def read_wanted(text: str, source: str) -> Problem:
    """A problem of one of the three domains.

    Raises:
        SafegenError: it is not a problem, of another domain, or its goal is not a conjunction of
            atoms.
    """
    name = problem_domain_name(text, source).text
    if name not in RULES:
        raise SafegenError(
            f'{source}: the problem is for domain {name[:40]!a}: use one of {" ".join(RULES)}',
            ErrorCode.UNKNOWN_DOMAIN,
        )
    problem = read_problem(text, planetarium_domain(name), source)
    if StripsTask.of(problem) is None:
        raise SafegenError(
            f'{source}: the goal is no conjunction of atoms: write it so', ErrorCode.BAD_PDDL
        )
    return problem


@dataclass(slots=True)
class Shares:
    """How many answers of a group meet each metric.

    Attributes:
        enforced: of them those that meet each metric.
        tolerant: likewise with typing tolerated.
    """

    trials: int = 0
    enforced: Counter[str] = field(default_factory=Counter)
    tolerant: Counter[str] = field(default_factory=Counter)

    def add(self, assessed: Assessed) -> None:
        """Counts an answer."""
        self.trials += 1
        for counts, found in (
            (self.enforced, assessed.enforced),
            (self.tolerant, assessed.tolerant),
        ):
            counts.update(metric for metric in METRICS if getattr(found, metric))

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON [%]."""
        return {
            'rows': self.trials,
            'enforced': {metric: _share(self.enforced[metric], self.trials) for metric in METRICS},
            'tolerant': {metric: _share(self.tolerant[metric], self.trials) for metric in METRICS},
        }


def _share(count: int, trials: int) -> dict[str, Any]:
    low, high = wilson(count, trials)
    return {
        'percent': round(100 * count / trials, 1) if trials else None,
        'interval': [round(100 * low, 1), round(100 * high, 1)],
    }


class Score:
    """Answers, counted; it keeps no row."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.groups = {name: {case: Shares() for case in cases} for name, cases in GROUPS.items()}
        self.findings: Counter[str] = Counter()
        self.forgiven: Counter[str] = Counter()  # findings where typing is tolerated

    def add(self, row: Answer, assessed: Assessed) -> None:
        """Counts an answer."""
        size = len(row.wanted.init) + len(row.wanted.goal_conjuncts())
        places = {
            'all': ALL, 'domain': row.wanted.domain.name, 'size': size_bin(size),
            'abstractness': row.abstraction,
        }  # fmt: skip
        for group, case in places.items():
            if case:
                self.groups[group][case].add(assessed)
        self.findings[assessed.enforced.finding.value] += 1
        self.forgiven[assessed.tolerant.finding.value] += 1

    @property
    def rows(self) -> int:
        """How many were counted."""
        return self.groups['all'][ALL].trials

    def mean(self, side: str, metric: str) -> float:
        """The mean of the shares of the domains that have rows [%]."""
        found = [each for each in self.groups['domain'].values() if each.trials]
        shares = (getattr(each, side)[metric] / each.trials for each in found)
        return 100 * sum(shares) / len(found) if found else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            'source': self.source,
            'groups': {
                name: {case: shares.as_dict() for case, shares in cases.items() if shares.trials}
                for name, cases in self.groups.items()
            },
            MEAN: {
                side: {metric: round(self.mean(side, metric), 1) for metric in METRICS}
                for side in ('enforced', 'tolerant')
            },
            'findings': dict(self.findings.most_common()),
            'findings_tolerant': dict(self.forgiven.most_common()),
            'paper': {name: dict(figures) for name, figures in PAPER.items()},
        }


def score(
    rows: Iterable[Answer],
    source: str,
    tell: Callable[[Answer, Assessed], None] = lambda *_: None,
    compat: Compat = '',
) -> Score:
    """Judges answers one after the other.

    Args:
        source: where they come from, for people.
        compat: as of `compare`: who says what is correct.

    Raises:
        SafegenError: there are none.
    """
    found = Score(source)
    for row in rows:
        assessed = assess(row.wanted, row.answer, placeholder=row.placeholder, compat=compat)
        found.add(row, assessed)
        tell(row, assessed)
    if not found.rows:
        raise SafegenError(f'{source}: holds no row: name a file with answers', ErrorCode.BAD_PDDL)
    return found


def details(row: Answer, assessed: Assessed) -> dict[str, Any]:
    """The findings about an answer, with the changes that it needs, as plain values."""
    return {
        'id': row.id,
        'finding': assessed.enforced.finding.value,
        'finding_tolerant': assessed.tolerant.finding.value,
        'reason': assessed.enforced.reason,
        'explanation': _explained(row, assessed.tolerant).splitlines(),
    }


def _explained(row: Answer, found: AnswerAssessment) -> str:
    """What to change in a wrong answer; nothing where it cannot be said."""
    if found.correct or found.problem is None:
        return ''
    try:
        return str(explain(row.wanted, found.problem, placeholder=row.placeholder))
    except SafegenError:
        return ''


def comparison(found: Score) -> ComparisonTable:
    """The shares as lines of a plot, with those of the paper, which are means of its domains."""
    lines = []
    for metric in METRICS:
        for side, name in _SIDES.items():
            share = 100 * getattr(found.groups['all'][ALL], side)[metric] / found.rows
            lines.append(Line(ALL, metric, name, Figures(found.rows, share, {})))
        for name, told in PAPER.items():
            if metric in told:
                lines.append(Line(ALL, metric, name, Figures(PAPER_ROWS, told[metric], {})))
    for group, cases in found.groups.items():
        for case, shares in cases.items():
            for side, name in _SIDES.items():
                if shares.trials and group != 'all':
                    share = 100 * getattr(shares, side)['correct'] / shares.trials
                    figures = Figures(shares.trials, share, {})
                    lines.append(Line(f'correct by {group}', case, name, figures))
    return ComparisonTable(
        'planetarium', f'Planetarium: {found.source}', ('group', 'case', 'whose'), tuple(lines),
        (), (), {}, (), plot='success',
    )  # fmt: skip


_TABLE_1 = {
    'blocksworld': (22_595, 20_152, 20_152, 22_706, 963, 10_011, 47_153, 25_766, 1_712),
    'gripper': (13_683, 10_565, 12_466, 17_427, 2_334, 13_640, 16_405, 20_325, 1_437),
    'floor-tile': (2_289, 797, 793, 2_293, 706, 2_114, 2_224, 404, 724),
}
"""Table 1 of the paper: rows of each of `ABSTRACTIONS`, then of each of `SIZES`."""

_SIDES = {'enforced': 'types enforced', 'tolerant': 'types tolerated'}
_NOTE = (
    '- The figures of the paper are of its test split, and average over its domains. It tells '
    'those with types tolerated in a picture only.'
)


def print_score(found: Score, console: Console) -> None:
    """Prints the shares of every group, the means beside the paper, and what was wrong."""
    for side, name in _SIDES.items():
        rows = [
            (group, case, f'{shares.trials:,}', *_shares(shares, side))
            for group, cases in found.groups.items()
            for case, shares in cases.items()
            if shares.trials
        ]
        title = f'Planetarium, {name} [%] (95 % intervals)'
        console.print(table(title, ('rows', ''), ('n', *METRICS), rows))
    means = [
        ('ours', name.split()[1], f'{found.rows:,}',
         *(f'{found.mean(side, metric):.1f}' for metric in METRICS))
        for side, name in _SIDES.items()
    ]  # fmt: skip
    for name, figures in PAPER.items():
        told = (f'{figures[m]:.1f}' if m in figures else '-' for m in METRICS)
        means.append((f'paper: {name}', 'enforced', f'{PAPER_ROWS:,}', *told))
    console.print(table(f'{MEAN.capitalize()} [%]', ('whose', 'types'), ('n', *METRICS), means))
    counts = [
        (name, f'{found.findings[name]:,}', f'{found.forgiven[name]:,}')
        for name in found.findings | found.forgiven
    ]
    console.print(table('What became of the answers', ('finding',), _SIDES.values(), counts))
    console.print(_NOTE, highlight=False)


def print_statistics(
    values: Mapping[str, Mapping[str, Mapping[str, int]]], console: Console
) -> None:
    """Prints the values of `Statistics.values` beside table 1 of the paper."""
    whose = [f'{domain}\n{who}' for domain in values for who in ('paper', 'ours')]
    columns: list[list[int]] = []
    for domain, counts in values.items():
        paper = recipe.PAPER[domain]
        columns.append([sum(paper.values()), *_TABLE_1[domain], *paper.values()])
        ours = [counts['abstraction'].get(name, 0) for name in ABSTRACTIONS]
        ours += [counts['size'].get(name, 0) for name in SIZES]
        ours += [counts['split'].get(name, 0) for name in recipe.SPLITS]
        columns.append([sum(counts['split'].values()), *ours])
    names = ('all', *ABSTRACTIONS, *(f'size {size}' for size in SIZES), *recipe.SPLITS)
    rows = [(n, *(f'{c:,}' for c in cells)) for n, *cells in zip(names, *columns, strict=True)]
    console.print(table('Rows, and those of table 1 of the paper', ('rows',), whose, rows))
    for domain, counts in values.items():
        few, many = min(counts['task'].values()), max(counts['task'].values())
        placeholders = counts['placeholder'].get('True', 0)
        console.print(
            f'{domain}: {len(counts["task"])} tasks with {few:,} to {many:,} rows each; '
            f'{placeholders:,} rows with placeholders',
            highlight=False,
        )


def _shares(shares: Shares, side: str) -> list[str]:
    cells = []
    for metric in METRICS:
        count = getattr(shares, side)[metric]
        low, high = wilson(count, shares.trials)
        cells.append(f'{100 * count / shares.trials:.1f} ({100 * low:.0f}-{100 * high:.0f})')
    return cells
