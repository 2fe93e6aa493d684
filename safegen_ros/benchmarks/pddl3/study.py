# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Measures models on the same problems, and remembers all that is needed to repeat it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from safegen_ros import __version__
from safegen_ros.benchmarks.comparison import ComparisonTable, Line
from safegen_ros.benchmarks.measurement import Notify, silent, this_machine
from safegen_ros.benchmarks.pddl3.evaluate import MAX_NEW_TOKENS, Exam, Result
from safegen_ros.benchmarks.pddl3.loops import LoopOptions, LoopResult, plan_goals
from safegen_ros.benchmarks.pddl3.problems import (
    Source,
    TestProblem,
    first_of_each,
    load_problems,
    load_source,
)
from safegen_ros.benchmarks.subjects import Subject
from safegen_ros.llm.backend import Sampling
from safegen_ros.paths import share_dir
from safegen_ros.record.run import source_commit
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.prompts.styles import WordStyle
from safegen_ros.verdict import Category


@dataclass(frozen=True, slots=True)
class StudyOptions:
    """What to measure on, and how.

    Attributes:
        seed: of the sampling, and of problems that are drawn.
        most: problems of each domain at most; 0 for all.
        max_new_tokens: longest answer [tokens].
        device: `cpu`, `cuda` or `auto`.
    """

    data: Path
    seed: int = 0
    most: int = 0
    batch: int = 50
    max_new_tokens: int = MAX_NEW_TOKENS
    device: str = 'auto'
    notify: Notify = silent


@dataclass
class StudyRecord:
    """The measurements, their models and their data.

    Attributes:
        sources: where problems came from, with their number.
        models: the key of each model, by its name.
        words: whether all of them read words under canonical names.
        training: the source of the copies, in the study that copies.
        single_shot: whether single answers were asked for.
        counts: the counts where problems were not kept.
    """

    options: StudyOptions
    sources: list[tuple[Source, int]] = field(default_factory=list)
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    words: bool = True
    training: dict[str, Any] = field(default_factory=dict)
    single_shot: bool = False
    loop: LoopOptions | None = None
    results: list[tuple[dict[str, Any], Result]] = field(default_factory=list)
    counts: list[dict[str, Any]] = field(default_factory=list)

    def add_model(self, subject: Subject) -> None:
        """Remembers the key of a model."""
        self.models[subject.name] = subject.as_dict()
        self.words &= isinstance(subject.style, WordStyle)

    def comparison(
        self,
        name: str,
        title: str,
        headings: tuple[str, str, str],
        lines: Sequence[Line],
        differences: Sequence[str],
        plot: str = 'classes',
        more: Mapping[str, str] | None = None,
    ) -> ComparisonTable:
        """The table of all that was measured; the arguments are attributes of `ComparisonTable`."""
        sampling, options = Sampling(), self.options
        models = [
            f'{m["name"]}: {m["parameters"]:,} parameters, weights {m["checksum"][:16]}'
            + (f', trained on {m["problems"]:,} problems' if 'problems' in m else '')
            for m in self.models.values()
        ]
        rows = self.training
        copied = [f'training rows: {rows["rows"]:,}, SHA-256 {rows["sha256"][:16]}'] if rows else []
        facts = (
            *models,
            *(f'problems: {count}, {source}' for source, count in self.sources),
            *copied,
            f'seed of the sampling {options.seed}',
            *self._asked(),
            '95 %: Wilson intervals; for figures of others computed from their n problems',
        )
        conditions = {
            'version': __version__,
            'commit': source_commit(share_dir()),
            'seed': options.seed,
            'temperature': sampling.temperature,
            'top_p': sampling.top_p,
            'batch': options.batch,
            'max_new_tokens': options.max_new_tokens,
            'problems_of_each_domain': options.most or 'all',
            'models': list(self.models.values()),
            **({'training_rows': rows} if rows else {}),
            **({'loop': asdict(self.loop)} if self.loop else {}),
            'data': [{**source.as_dict(), 'problems': count} for source, count in self.sources],
        }
        measured = tuple({**what, **result.as_dict()} for what, result in self.results)
        return ComparisonTable(
            name, title, headings, tuple(lines), facts, tuple(differences), conditions,
            (*measured, *self.counts), plot, more or {}, command=f'safegen eval {name}',
        )  # fmt: skip

    def _asked(self) -> Iterator[str]:
        """How answers were asked for, and what times were measured on."""
        if self.single_shot:
            sampling = Sampling()
            yield (
                f'single shot, T {sampling.temperature:g} and top-p {sampling.top_p:g} as in table '
                'IX of SafeGen-LLM, or greedy'
            )
        if self.loop is not None:
            yield str(self.loop)
        loops = [result for _, result in self.results if isinstance(result, LoopResult)]
        if loops:
            yield f'goals that ran out of time: {sum(result.late for result in loops)}'
            yield (
                's: wall-clock time of a goal, median and 95 %; CPU s: median of its processor '
                'time, of which a small model without a GPU takes no more than one core; on this '
                f'machine: {this_machine()}'
            )

    def differences(self, others: str) -> tuple[str, ...]:
        """What differs from the models and the problems of the paper."""
        sizes = sorted({m['parameters'] for m in self.models.values()})
        counts = ' to '.join(f'{size:,}' for size in dict.fromkeys((sizes[0], sizes[-1])))
        asked = (
            'ours reads the problem as words under canonical names, the others read the problem '
            'with its domain in a chat prompt'
            if self.words
            else 'the chat prompt is worded differently'
        )
        return (
            f'models: ours has {counts} parameters; those of the paper are {others}',
            f'prompts: {asked}',
            self._problems(),
            self._classes(),
        )

    def _problems(self) -> str:
        problems = [p for _, result in self.results[:1] for p in result.problems]
        sizes = sum(p.paper_size for p in problems)
        families = sum(
            p.family in kits()[p.domain].families and kits()[p.domain].families[p.family].paper
            for p in problems
        )
        return (
            f'problems: ours are {len(problems)} of our own generators, of which {sizes} have a '
            f'size of table VIII and {families} a constraint family that the paper tells of; the '
            "paper's are 50 other ones of each domain"
        )

    def _classes(self) -> str:
        verdicts = [v for _, result in self.results for v in result.verdicts if not v.ok]
        moved = sum(v.paper_category() is not v.category for v in verdicts)
        ours = sum(v.category is Category.SAFETY_VIOLATION for v in verdicts)
        theirs = sum(v.paper_category() is Category.SAFETY_VIOLATION for v in verdicts)
        return (
            'classes: ours counts every plan that breaks a constraint under safety; of the '
            f'{len(verdicts)} failures that were measured here, the patterns of the paper '
            f'(appendix E) call {moved} otherwise, and {theirs} instead of {ours} safety'
        )


class Study:
    """Problems of one source, with their validators."""

    def __init__(
        self, problems: Sequence[TestProblem], source: Source, record: StudyRecord
    ) -> None:
        self.problems = tuple(problems)
        self.record = record
        self._split = source.split
        options = record.options
        self._exam = Exam(
            problems, options.seed, batch=options.batch, max_new_tokens=options.max_new_tokens
        )
        record.sources.append((source, len(problems)))

    @classmethod
    def of_split(
        cls, record: StudyRecord, domains: Collection[str] = (), split: str = 'test'
    ) -> Study:
        """A study of a split of the dataset.

        Raises:
            DatasetError: the dataset is not whole, or the split is not the built one.
            SafegenError: it has no such problem.
        """
        data = record.options.data
        source = load_source(data, split)
        return cls(load_problems(data, split, domains, record.options.most), source, record)

    def run(self, subject: Subject, mode: str, form: str = 'pddl') -> Result:
        """Measures a model; arguments and errors as of `Exam.run`."""

        def notify(what: str, done: int, total: int) -> None:
            tell = self.record.options.notify
            tell(f'{subject.name} {self._split} {form} {what}', done, total)

        result = self._exam.run(subject, mode, form=form, notify=notify)
        self.record.single_shot = True
        self.record.add_model(subject)
        self._remember({'model': subject.name, 'format': form}, result)
        return result

    def plan(self, subject: Subject, strategy: str, loop: LoopOptions, most: int = 0) -> LoopResult:
        """Measures the planning loop with a model.

        Args:
            most: of each domain, the first problems only; 0 for all.

        Raises:
            SafegenError: as of `plan_goal`.
        """
        options = self.record.options

        def notify(what: str, done: int, total: int) -> None:
            options.notify(f'{subject.name} {self._split} {what}', done, total)

        result = plan_goals(
            first_of_each(self.problems, most), subject, strategy, loop, options.seed,
            options.max_new_tokens, notify,
        )  # fmt: skip
        self.record.loop = loop
        self.record.add_model(subject)
        self._remember({'model': subject.name}, result)
        return result

    def judge(self, name: str, plans: Sequence[str]) -> Result:
        """The result of plans that no model wrote, one for each problem."""
        result = self._exam.judge(name, plans)
        self._remember({'model': ''}, result)
        return result

    def _remember(self, what: dict[str, Any], result: Result) -> None:
        self.record.results.append(({'split': self._split, **what}, result))
