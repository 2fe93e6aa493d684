# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Success of a model on unseen problems: single shot, with retries, and before training."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import starmap
from pathlib import Path
from typing import Any

from safegen_ros import __version__
from safegen_ros.benchmarks.comparison import Tally, sign_test
from safegen_ros.benchmarks.measurement import Notify, silent
from safegen_ros.benchmarks.pddl3.problems import GROUPS, Source, TestProblem
from safegen_ros.benchmarks.subjects import Subject, load_subject, untrained
from safegen_ros.datasets.builder import in_order
from safegen_ros.datasets.files import DatasetError, write_atomically
from safegen_ros.datasets.workers import HERE, Workers
from safegen_ros.errors import SafegenError
from safegen_ros.llm.backend import Backend, Message, Sampling
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.validator import Validator

MODES = ('greedy', 'sampled', 'feedback', 'resample', 'untrained')
"""Single shot without and with temperature (0.6, top-p 0.9); up to `attempts` tries with the
verdict fed back, and the same number of independent draws; the network before training."""

MAX_NEW_TOKENS = 256
"""Longest answer [tokens]; no plan of a test problem has half as many words."""

_MOST_GROUPS = 100
"""Values of an attribute in a file; more of them hold a problem or two each."""

History = list[tuple[str, Verdict]]
Answering = Callable[[Iterable[tuple[list[list[Message]], Sampling]]], Iterable[list[str]]]
"""The answers of a model to each batch of conversations, in their order."""


@dataclass(frozen=True, slots=True)
class Result:
    """One mode: the last verdict on each problem and how many attempts it took.

    Attributes:
        mode: one of `MODES`.
        verdicts: the last verdict on each of them.
        steps_over_optimal: mean of plan length over shortest length, on the solved problems whose
            shortest length is known; 0 when there is none.
        seconds: wall-clock time [s].
    """

    mode: str
    problems: tuple[TestProblem, ...]
    verdicts: tuple[Verdict, ...]
    attempts: tuple[int, ...]
    steps_over_optimal: float
    seconds: float

    def tally(self) -> Tally:
        """Counts over all problems."""
        return Tally.of(verdict.category for verdict in self.verdicts)

    def paper_tally(self) -> Tally:
        """Counts of the classes that SafeGen-LLM appendix E would read off VAL's output."""
        return Tally.of(verdict.paper_category() for verdict in self.verdicts)

    def by(self, attribute: str) -> dict[str, Tally]:
        """Counts for every value of one of `GROUPS`, in the order in which they come."""
        found: dict[str, list[Category]] = {}
        for problem, verdict in zip(self.problems, self.verdicts, strict=True):
            found.setdefault(GROUPS[attribute](problem), []).append(verdict.category)
        return {name: Tally.of(categories) for name, categories in found.items()}

    def solved_by_attempt(self, most: int) -> list[int]:
        """How many problems are solved within 1, 2, ... `most` attempts."""
        solved = [a for a, v in zip(self.attempts, self.verdicts, strict=True) if v.ok]
        return [sum(a <= limit for a in solved) for limit in range(1, most + 1)]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; times are left out, so that a repetition gives the same."""
        groups = {name: self.by(name) for name in GROUPS if name != 'size'}
        return {
            'mode': self.mode,
            'total': self.tally().as_dict(),
            'total_as_in_the_paper': self.paper_tally().as_dict(),
            'steps_over_optimal': round(self.steps_over_optimal, 3),
            'solved': [place for place, verdict in enumerate(self.verdicts) if verdict.ok],
            **{
                f'by_{name}': {value: tally.as_dict() for value, tally in found.items()}
                for name, found in groups.items()
                if len(found) <= _MOST_GROUPS
            },
        }


def over_optimal(solved: Iterable[tuple[int, TestProblem]]) -> float:
    """`Result.steps_over_optimal` of the lengths of plans that solve problems."""
    ratios = [length / p.reference_length for length, p in solved if p.reference_length]
    return sum(ratios) / len(ratios) if ratios else 0.0


class Exam:
    """Problems with their validators, put to models.

    Args:
        seed: seed of the sampling; a batch draws with a seed made from it, the number of the try
            and the place of the batch.
        max_new_tokens: longest answer [tokens].
    """

    def __init__(
        self,
        problems: Sequence[TestProblem],
        seed: int,
        *,
        batch: int = 50,
        max_new_tokens: int = MAX_NEW_TOKENS,
    ) -> None:
        self.problems = tuple(problems)
        self.seed = seed
        self._validators = [Validator(p.problem) for p in problems]
        self._batch = batch
        self._max_new_tokens = max_new_tokens

    def run(
        self,
        subject: Subject,
        mode: str,
        *,
        form: str = 'pddl',
        attempts: int = 1,
        notify: Notify = silent,
        answering: Answering | None = None,
    ) -> Result:
        """Measures a model in one mode.

        Args:
            mode: one of `MODES`; `untrained` draws like `sampled`.
            form: the format that the problems are put in, a key of `FORMATS`.
            answering: what has the model answer; by default this process asks that of the subject.

        Raises:
            BackendError: the model cannot answer.
        """
        start = time.monotonic()
        histories: list[History] = [[] for _ in self.problems]
        done, total = 0, len(self.problems)
        for number in range(attempts):
            asked = self._questions(subject, histories, mode == 'feedback', form)
            # Equal lengths together: less padding, the same answers.
            left = sorted(asked, key=lambda i: len(str(asked[i])))
            places = range(0, len(left), self._batch)
            batches = [left[at : at + self._batch] for at in places]
            given = (
                ([asked[i] for i in rows], self._sampling(mode, number, at))
                for at, rows in zip(places, batches, strict=True)
            )
            answers_in_order = answering or partial(starmap, partial(answers_of, subject.backend))
            for rows, answers in zip(batches, answers_in_order(given), strict=True):
                for i, answer in zip(rows, answers, strict=True):
                    plan = subject.style.plan_text(answer, self.problems[i].problem)
                    histories[i].append((plan, self._validators[i].verify(plan)))
                done += len(rows)
                notify(mode, done, total)
            total = done + sum(not h[-1][1].ok for h in histories)
        return self._result(mode, histories, time.monotonic() - start)

    def _questions(
        self, subject: Subject, histories: list[History], feedback: bool, form: str
    ) -> dict[int, list[Message]]:
        """The requests for every problem that is not solved yet.

        A problem that cannot be put to this kind of model counts as one that it did not answer.
        """
        asked = {}
        for number, history in enumerate(histories):
            if history and history[-1][1].ok:
                continue
            problem = self.problems[number].problem
            try:
                asked[number] = subject.style.messages(problem, history if feedback else [], form)
            except SafegenError as error:
                refused = Verdict(Category.FORMAT_ERROR, f'not asked: {error.message}')
                history.append(('', refused))
        return asked

    def judge(self, name: str, plans: Sequence[str]) -> Result:
        """The result of plans that no model wrote, one for each problem."""
        histories: list[History] = [
            [(plan, validator.verify(plan))]
            for plan, validator in zip(plans, self._validators, strict=True)
        ]
        return self._result(name, histories, 0.0)

    def _sampling(self, mode: str, number: int, place: int) -> Sampling:
        # The first try of every mode but `greedy` draws alike, so that modes can be compared.
        seed = (self.seed * 1_000_003 + number * 10_007 + place) % (1 << 31)
        temperature = 0.0 if mode == 'greedy' else Sampling().temperature
        return Sampling(temperature, max_new_tokens=self._max_new_tokens, seed=seed)

    def _result(self, mode: str, histories: list[History], seconds: float) -> Result:
        solved = [
            (len(parse_plan(history[-1][0])), problem)
            for history, problem in zip(histories, self.problems, strict=True)
            if history[-1][1].ok
        ]
        return Result(
            mode,
            self.problems,
            tuple(h[-1][1] for h in histories),
            tuple(map(len, histories)),
            over_optimal(solved),
            seconds,
        )


def answers_of(backend: Backend, asked: list[list[Message]], sampling: Sampling) -> list[str]:
    """What a model answers to each conversation."""
    return [answer.text for answer in backend.generate_batch(asked, sampling)]


def loaded_answers(
    model_dir: str, device: str, asked: list[list[Message]], sampling: Sampling
) -> list[str]:
    """What the model in a folder answers; a process loads it once, for one core."""
    return answers_of(_loaded(model_dir, device), asked, sampling)


@cache
def _loaded(model_dir: str, device: str) -> Backend:
    import torch

    torch.set_num_threads(1)
    return load_subject(model_dir, device).backend


@dataclass(frozen=True, slots=True)
class ModelReport:
    """A measurement of one model on one split, with all that is needed to repeat it."""

    subject: Subject
    source: Source | None
    seed: int
    form: str
    max_attempts: int
    results: tuple[Result, ...]
    version: str = field(default=__version__)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            'model': self.subject.as_dict(),
            'data': self.source.as_dict() if self.source else None,
            'version': self.version,
            'seed': self.seed,
            'format': self.form,
            'max_attempts': self.max_attempts,
            'results': [
                {
                    **result.as_dict(),
                    'solved_by_attempt': result.solved_by_attempt(self.max_attempts),
                }
                for result in self.results
            ],
        }

    def against(self, path: Path, found: Any) -> Iterator[str]:
        """Says for each mode which problems a model solved and the other did not.

        Args:
            path: what `write` wrote for the other model.
            found: what it holds.

        Raises:
            DatasetError: it is not that, or of other problems.
        """
        own = self.as_dict()
        for result in own['results']:
            try:
                [other] = (each for each in found['results'] if each['mode'] == result['mode'])
                gained = len({*result['solved']} - {*other['solved']})
                lost = len({*other['solved']} - {*result['solved']})
                name = found['model']['name']
                alike = _posed(found, other) == _posed(own, result)
            except (AttributeError, KeyError, TypeError, ValueError):
                alike = False
            if not alike:
                raise DatasetError(
                    f'{path}: has no mode {result["mode"]} of these problems: measure that model '
                    'with the same --data, --split, --domain, --problems, --format and --mode'
                )
            yield (
                f'{result["mode"]}: solves {gained} problems that {name} in {path} does not, and '
                f'{lost} the other way round (p = {sign_test(gained, lost):.3f})'
            )

    def write(self, path: str | Path) -> None:
        """Writes the report as JSON.

        Raises:
            DatasetError: the file cannot be written.
        """
        text = json.dumps(self.as_dict(), indent=1) + '\n'
        write_atomically(Path(path), text.encode())


def _posed(report: Mapping[str, Any], result: Mapping[str, Any]) -> list[Any]:
    counts = {name: tally['trials'] for name, tally in result['by_domain'].items()}
    return [counts, *(report[name] for name in ('data', 'format', 'max_attempts'))]


def evaluate(
    model_dir: str | Path,
    problems: Sequence[TestProblem],
    seed: int,
    *,
    source: Source | None = None,
    form: str = 'pddl',
    modes: Sequence[str] = MODES,
    max_attempts: int = 5,
    batch: int = 50,
    max_new_tokens: int = MAX_NEW_TOKENS,
    device: str = 'auto',
    notify: Notify = silent,
    workers: Workers = HERE,
) -> ModelReport:
    """Measures a model.

    Args:
        problems: what to solve, see `load_problems`.
        source: where the problems come from, for the report.
        form: the format that the problems are put in, a key of `FORMATS`.
        modes: which of `MODES`, in this order.
        max_attempts: tries in the modes `feedback` and `resample`.
        max_new_tokens: longest answer [tokens].
        device: `cpu`, `cuda` or `auto`.
        notify: told of the mode, the attempts done and the attempts expected.
        workers: who answers; each loads the model from the same path. The figures do not depend on
            them. The network before training is asked in this process.

    Raises:
        BackendError: the model cannot be loaded or cannot answer.
        ValueError: an unknown mode.
    """
    unknown = [mode for mode in modes if mode not in MODES]
    if unknown:
        raise ValueError(f'unknown mode {unknown[0]!r}: modes are {" ".join(MODES)}')
    subject = load_subject(model_dir, device)
    exam = Exam(problems, seed, batch=batch, max_new_tokens=max_new_tokens)
    asked = partial(in_order, workers, partial(loaded_answers, str(model_dir), device))
    answering = None if workers is HERE else asked
    results = []
    for mode in modes:
        attempts = max_attempts if mode in ('feedback', 'resample') else 1
        if mode == 'untrained':
            with untrained(model_dir, seed, device) as fresh:
                results.append(exam.run(fresh, mode, form=form, notify=notify))
        else:
            results.append(
                exam.run(
                    subject, mode, form=form, attempts=attempts, notify=notify,
                    answering=answering,
                )
            )  # fmt: skip
    return ModelReport(subject, source, seed, form, max_attempts, tuple(results))
