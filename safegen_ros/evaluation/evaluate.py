# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Success of a model on unseen problems: single shot, with retries, and against controls."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from safegen_ros import __version__
from safegen_ros.errors import BackendError
from safegen_ros.evaluation.problems import TestProblem
from safegen_ros.evaluation.statistics import Tally
from safegen_ros.llm.backend import Sampling
from safegen_ros.llm.prompt_styles import PromptStyle, load_style
from safegen_ros.llm.transformers_backend import TransformersBackend
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.validator import Validator

MODES = ('greedy', 'sampled', 'feedback', 'resample', 'untrained')
"""Single shot without and with temperature (0.6, top-p 0.9); up to `attempts` tries with the
verdict fed back, and the same number of independent draws; the network before training."""

History = list[tuple[str, Verdict]]


@dataclass(frozen=True, slots=True)
class Result:
    """One mode: the last verdict on each problem and how many attempts it took."""

    mode: str
    verdicts: tuple[Verdict, ...]
    attempts: tuple[int, ...]
    steps_over_optimal: float
    seconds: float

    def tally(self, keep: Callable[[int], bool] = lambda index: True) -> Tally:
        """Counts over the problems whose index is kept."""
        return Tally.of(v.category for i, v in enumerate(self.verdicts) if keep(i))

    def solved_by_attempt(self, most: int) -> list[int]:
        """How many problems are solved within 1, 2, ... `most` attempts."""
        solved = [a for a, v in zip(self.attempts, self.verdicts, strict=True) if v.ok]
        return [sum(a <= limit for a in solved) for limit in range(1, most + 1)]


@dataclass(frozen=True, slots=True)
class Report:
    """A measurement, with all that is needed to repeat it."""

    model: str
    checksum: str
    parameters: int
    seed: int
    max_attempts: int
    problems: tuple[TestProblem, ...]
    results: tuple[Result, ...]
    version: str = field(default=__version__)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        sizes = sorted({p.size for p in self.problems})
        families = list(dict.fromkeys(p.family for p in self.problems))
        return {
            'model': self.model,
            'checksum': self.checksum,
            'parameters': self.parameters,
            'version': self.version,
            'seed': self.seed,
            'problems': len(self.problems),
            'max_attempts': self.max_attempts,
            'results': [
                {
                    'mode': result.mode,
                    'total': result.tally().as_dict(),
                    'solved_by_attempt': result.solved_by_attempt(self.max_attempts),
                    'steps_over_optimal': round(result.steps_over_optimal, 3),
                    'seconds': round(result.seconds, 2),
                    'by_size': {str(n): self._by(result, 'size', n) for n in sizes},
                    'by_family': {name: self._by(result, 'family', name) for name in families},
                }
                for result in self.results
            ],
        }

    def _by(self, result: Result, attribute: str, value: Any) -> dict[str, Any]:
        return result.tally(lambda i: getattr(self.problems[i], attribute) == value).as_dict()

    def write(self, path: str | Path) -> None:
        """Writes the report as JSON."""
        text = json.dumps(self.as_dict(), indent=2) + '\n'
        Path(path).write_text(text, encoding='utf-8')


def model_checksum(model_dir: str | Path) -> str:
    """SHA-256 over the weight files of a model.

    Raises:
        BackendError: there are none.
    """
    files = sorted(Path(model_dir).glob('*.safetensors'))
    if not files:
        raise BackendError(f'{model_dir}: no *.safetensors file: give the folder of a model')
    digest = sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def evaluate(
    model_dir: str | Path,
    problems: Sequence[TestProblem],
    seed: int,
    *,
    modes: Sequence[str] = MODES,
    max_attempts: int = 5,
    batch: int = 50,
    max_new_tokens: int = 256,
    device: str = 'auto',
    notify: Callable[[str, int, int], None] = lambda mode, done, total: None,
) -> Report:
    """Measures a model.

    Args:
        model_dir: folder of the model.
        problems: what to solve, see `draw_problems`.
        seed: seed of the sampling; batch k of round r draws with a seed made from all three.
        modes: which of `MODES`, in this order.
        max_attempts: tries in the modes `feedback` and `resample`.
        batch: problems that are answered together.
        max_new_tokens: longest answer; an optimal plan for 6 blocks has less than 100 tokens.
        device: `cpu`, `cuda` or `auto`.
        notify: told of the mode, the attempts done and the attempts expected.

    Raises:
        BackendError: the model cannot be loaded or cannot answer.
        ValueError: an unknown mode.
    """
    unknown = [mode for mode in modes if mode not in MODES]
    if unknown:
        raise ValueError(f'unknown mode {unknown[0]!r}: modes are {" ".join(MODES)}')
    style = load_style(model_dir)
    backend = TransformersBackend(model_dir, device)
    exam = _Exam(style, list(problems), seed, batch, max_new_tokens)
    results = []
    for mode in modes:
        rounds = max_attempts if mode in ('feedback', 'resample') else 1
        if mode == 'untrained':
            with _untrained(model_dir, seed) as folder:
                fresh = TransformersBackend(folder, device)
                results.append(exam.run(fresh, mode, rounds, notify))
        else:
            results.append(exam.run(backend, mode, rounds, notify))
    return Report(
        Path(model_dir).name,
        model_checksum(model_dir),
        backend.parameters,
        seed,
        max_attempts,
        tuple(problems),
        tuple(results),
    )


class _Exam:
    """Problems with their validators, put to models in different modes."""

    def __init__(
        self,
        style: PromptStyle,
        problems: list[TestProblem],
        seed: int,
        batch: int,
        max_new_tokens: int,
    ) -> None:
        self.style = style
        self.problems = problems
        self.validators = [Validator(p.problem) for p in problems]
        self.seed = seed
        self.batch = batch
        self.max_new_tokens = max_new_tokens

    def run(
        self,
        backend: TransformersBackend,
        mode: str,
        rounds: int,
        notify: Callable[[str, int, int], None],
    ) -> Result:
        start = time.monotonic()
        histories: list[History] = [[] for _ in self.problems]
        done, total = 0, len(self.problems)
        for number in range(rounds):
            left = [i for i, h in enumerate(histories) if not h or not h[-1][1].ok]
            # Equal lengths together: less padding, the same answers.
            left.sort(key=lambda i: len(str(self._ask(i, histories[i], mode))))
            for at in range(0, len(left), self.batch):
                rows = left[at : at + self.batch]
                self._answer(backend, rows, histories, mode, (number, at))
                done += len(rows)
                notify(mode, done, total)
            total = done + sum(not h[-1][1].ok for h in histories)
        return Result(
            mode,
            tuple(h[-1][1] for h in histories),
            tuple(map(len, histories)),
            self._excess(histories),
            time.monotonic() - start,
        )

    def _ask(self, index: int, history: History, mode: str) -> list[dict[str, str]]:
        shown = history if mode == 'feedback' else []
        return self.style.messages(self.problems[index].problem, shown)

    def _answer(
        self,
        backend: TransformersBackend,
        rows: list[int],
        histories: list[History],
        mode: str,
        place: tuple[int, int],
    ) -> None:
        # The first try of every mode but `greedy` draws alike, so that modes can be compared.
        seed = (self.seed * 1_000_003 + place[0] * 10_007 + place[1]) % (1 << 31)
        temperature = 0.0 if mode == 'greedy' else Sampling().temperature
        sampling = Sampling(temperature, max_new_tokens=self.max_new_tokens, seed=seed)
        asked = [self._ask(i, histories[i], mode) for i in rows]
        for index, answer in zip(rows, backend.generate_batch(asked, sampling), strict=True):
            plan = self.style.plan_text(answer.text, self.problems[index].problem)
            histories[index].append((plan, self.validators[index].verify(plan)))

    def _excess(self, histories: list[History]) -> float:
        """Mean of plan length over optimal length, on solved problems; 0 when none is."""
        ratios = [
            len(parse_plan(history[-1][0])) / problem.reference_length
            for history, problem in zip(histories, self.problems, strict=True)
            if history[-1][1].category is Category.SUCCESS
        ]
        return sum(ratios) / len(ratios) if ratios else 0.0


@contextmanager
def _untrained(model_dir: str | Path, seed: int) -> Iterator[Path]:
    """The same model with freshly initialised weights, in a temporary folder."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    with tempfile.TemporaryDirectory(prefix='safegen-untrained-') as name:
        folder = Path(name) / 'model'
        shutil.copytree(model_dir, folder, ignore=shutil.ignore_patterns('*.safetensors*'))
        torch.manual_seed(seed)
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        AutoModelForCausalLM.from_config(config).save_pretrained(folder)
        yield folder
