# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How many goals the planning loop plans, by strategy, with a model and without one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from random import Random
from typing import Any

from safegen_ros.benchmarks.comparison import (
    ComparisonTable,
    Figures,
    Line,
    Tally,
    together,
    wilson,
)
from safegen_ros.benchmarks.pddl3 import paper
from safegen_ros.benchmarks.pddl3.loops import (
    MORE,
    LoopOptions,
    LoopResult,
    goal_seed,
    plan_goal,
    task_of,
)
from safegen_ros.benchmarks.pddl3.paper import ALL
from safegen_ros.benchmarks.pddl3.problems import Source
from safegen_ros.benchmarks.pddl3.study import Study, StudyOptions, StudyRecord
from safegen_ros.benchmarks.subjects import Subject, untrained
from safegen_ros.llm.backend import Sampling
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.planning.levels import level_names
from safegen_ros.planning.loop import SEARCH, Outcome
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.kit import DomainKit, GeneratedProblem
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.second_opinion import save_case
from safegen_ros.verify.val import ask, validate_binary

CONTROLS = 12
"""Problems of each domain for the untrained network, which writes every answer to its limit."""

_Results = dict[str, dict[str, LoopResult]]


def table4(
    subject: Subject,
    model_dir: Path,
    options: StudyOptions,
    loop: LoopOptions,
    split: str = 'test',
    controls: int = CONTROLS,
) -> ComparisonTable:
    """Table IV: success and attempts of the planning loop, by domain and strategy.

    Args:
        model_dir: its folder, of which an untrained network is made.
        controls: problems of each domain that the untrained network is put, which takes most of
            the time; 0 for no control. The search planner alone has no network to compare.

    Raises:
        SafegenError: as of `Study.of_split` and `plan_goal`.
    """
    study = Study.of_split(StudyRecord(options), split=split)
    results: _Results = {strategy: {} for strategy in loop.strategies}
    for strategy in loop.strategies:
        results[strategy]['ours'] = study.plan(subject, strategy, loop)
    asking = [each for each in loop.strategies if set(level_names(each)) != {SEARCH}]
    if controls and asking:
        with untrained(model_dir, options.seed, options.device) as fresh:
            for strategy in asking:
                results[strategy]['untrained'] = study.plan(fresh, strategy, loop, controls)
    comparison = study.record.comparison(
        'table4',
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
    )
    if split == 'test':
        return comparison
    again = f'{comparison.command} --split {split}'
    return replace(comparison, name=f'table4-{split}', command=again)


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
        fresh = by_whose.get('untrained')
        if fresh is None:
            continue
        ours, without = (
            f'{100 * result.tally().rate:.1f} %'
            for result in (by_whose['ours'].on(fresh.problems), fresh)
        )
        yield (
            f'control, {strategy}: the same network with freshly drawn weights plans {without} of '
            f'{len(fresh.problems)} problems, ours {ours} of the same: only what lies between is '
            'what the model has learned, the rest does the loop around it'
        )


_MORE = dict.fromkeys(
    ('published', 'confirmed', 'unsafe', 'refused', 'not judged', 'held back'), 'd'
)


@dataclass
class _Counts:
    """The results of the goals of a domain and a strategy.

    Attributes:
        held_back: the faults of the proposals that were not published.
        said: VAL's verdicts on the plans that were published.
        controls: VAL's verdicts on plans that ignore the constraints.
        silent: why it said nothing, where it did not.
    """

    last: Counter[Category] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    held_back: Counter[Category] = field(default_factory=Counter)
    said: Counter[Category] = field(default_factory=Counter)
    controls: Counter[Category] = field(default_factory=Counter)
    silent: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """Counts the outcome of the loop for a goal."""
        self.last[outcome.verdict.category] += 1
        self.ended[outcome.error_code.name] += 1
        refused = (a.verdict.category for a in outcome.attempts if not a.verdict.ok)
        self.held_back.update(refused)

    @property
    def refused(self) -> int:
        """Published plans that VAL refused."""
        judged = self.said.total() - self.said[Category.UNKNOWN]
        return judged - self.said[Category.SUCCESS]

    @property
    def figures(self) -> Figures:
        """Success, failures, and the values of `_MORE`."""
        return Figures.of(
            Tally(dict(self.last)),
            {
                'published': self.said.total(),
                'confirmed': self.said[Category.SUCCESS],
                'unsafe': self.said[Category.SAFETY_VIOLATION],
                'refused': self.refused,
                'not judged': self.said[Category.UNKNOWN],
                'held back': self.held_back.total(),
            },
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        named = {
            'last_verdicts': self.last, 'held_back': self.held_back,
            'second_opinion': self.said, 'second_opinion_of_controls': self.controls,
        }  # fmt: skip
        counts = {n: {c.name: v for c, v in found.items()} for n, found in named.items()}
        return {
            **counts,
            'refused': self.refused,
            'not_judged_because': dict(self.silent),
            'ended': dict(self.ended),
        }

    def __add__(self, other: _Counts) -> _Counts:
        names = [each.name for each in fields(self)]
        return _Counts(*(getattr(self, name) + getattr(other, name) for name in names))


def safety(
    subject: Subject, options: StudyOptions, loop: LoopOptions, count: int, cases: Path
) -> ComparisonTable:
    """Random problems through the loop; what it publishes is judged once more, by VAL.

    The domains take turns; sizes are those of the paper, families are drawn. Only counts are kept,
    so that any number of problems takes the same memory. VAL is also shown the generator's plan
    that ignores the constraints of a problem: were it to accept one, its other answers would be
    worth nothing.

    Args:
        options: seed and the like; no dataset is read.
        cases: where a plan that VAL refuses is saved.

    Returns:
        The table; it has `failed` when VAL refuses a plan that was published.

    Raises:
        SafegenError: VAL is not installed, or as of `plan_goal`.
    """
    validate_binary()
    record = StudyRecord(options, loop=loop)
    record.add_model(subject)
    drawn = 'random problems of the sizes of the paper'
    record.sources.append((Source('the generators', '', options.seed, drawn), count))
    lines, everything = list[Line](), _Counts()
    for strategy in loop.strategies:
        check = _Check(subject, strategy, options, loop, cases)
        found = check.run(count)
        total = sum(found.values(), _Counts())
        for group, counts in {**found, ALL: total}.items():
            lines.append(Line(group, strategy, subject.name, counts.figures))
            record.counts.append({'domain': group, 'strategy': strategy, **counts.as_dict()})
        everything += total
    comparison = record.comparison(
        'safety', 'Plans that the loop publishes, judged a second time by VAL',
        ('domain', 'strategy', 'whose'), together(lines), tuple(_meanings(everything)),
        'success', more=_MORE,
    )  # fmt: skip
    return replace(
        comparison,
        failed=f'VAL refuses {everything.refused} plans that were published: look at {cases}'
        if everything.refused
        else '',
    )


@dataclass(frozen=True, slots=True)
class _Check:
    """One strategy on random problems; the attributes are the arguments of `safety`."""

    subject: Subject
    strategy: str
    options: StudyOptions
    loop: LoopOptions
    cases: Path

    def run(self, count: int) -> dict[str, _Counts]:
        """The results of the goals, by domain."""
        known = list(kits().values())
        found = {kit.name: _Counts() for kit in known[:count]}
        for number in range(count):
            kit = known[number % len(known)]
            self._goal(found[kit.name], self._problem(kit, number), number)
            self.options.notify(f'{self.subject.name} {self.strategy}', number + 1, count)
        return found

    def _problem(self, kit: DomainKit, number: int) -> GeneratedProblem:
        rng = Random(f'safety {kit.name} {self.options.seed} {number}')  # noqa: S311
        return kit.problem(rng.getrandbits(63))

    def _goal(self, counts: _Counts, made: GeneratedProblem, number: int) -> None:
        seed, longest = goal_seed(self.options.seed, number), self.options.max_new_tokens
        outcome = plan_goal(
            task_of(made.problem), self.subject, self.strategy,
            Sampling(max_new_tokens=longest, seed=seed), self.loop,
        )  # fmt: skip
        counts.add(outcome)
        if made.problem.constraints:
            counts.controls[ask(made.problem, made.direct).verdict.category] += 1
        if outcome.plan is not None:
            said = self._second_opinion(made.problem, outcome.plan, outcome.verdict)
            counts.said[said.category] += 1
            if said.category is Category.UNKNOWN:
                counts.silent[said.reason[:80]] += 1

    def _second_opinion(self, problem: Problem, plan: Plan, ours: Verdict) -> Verdict:
        """VAL's verdict; a plan that it does not accept is saved."""
        opinion = ask(problem, plan)
        if not opinion.verdict.ok and opinion.fault is None:
            save_case(self.cases, problem, plan, ours, opinion)
        return opinion.verdict


def _meanings(total: _Counts) -> Iterator[str]:
    """What the columns are, and what the counts show."""
    judged = total.said.total() - total.said[Category.UNKNOWN]
    most = 100 * wilson(total.refused, judged)[1]
    yield (
        'published: plans that our validator proved, and so the only ones that could move '
        'anything; confirmed, unsafe and refused: what VAL, which shares no code with it, says of '
        'them (refused counts unsafe ones, too); not judged: VAL has a known fault there, or '
        'crashed'
    )
    yield (
        f'{total.refused} of {judged} plans that VAL judged were refused: up to {most:.3g} % may '
        'be (95 %, Wilson)'
    )
    yield (
        f'held back: {total.held_back.total()} proposals that our validator refused, '
        f'{total.held_back[Category.SAFETY_VIOLATION]} of them since they break a constraint'
    )
    unsafe = total.controls[Category.SAFETY_VIOLATION]
    yield (
        f'control: of {total.controls.total()} plans of the generators that reach the goal and '
        f'ignore the constraints, VAL calls {unsafe} unsafe and accepts '
        f'{total.controls[Category.SUCCESS]}'
    )
