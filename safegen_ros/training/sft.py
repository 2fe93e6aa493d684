# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Supervised training of the small model, from scratch, on tasks drawn while it trains.

SafeGen-LLM equation 4: negative log-likelihood of the plan tokens given the task. A run is a
function of its recipe (without a wall-clock limit); it can be killed at any moment and resumed.
"""

from __future__ import annotations

import json
import math
import os
import time
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from safegen_ros.errors import SafegenError
from safegen_ros.training.config import ConfigError, TrainConfig, load_config
from safegen_ros.training.encoding import Batch, BatchSource, collate, encode
from safegen_ros.training.export import export_model
from safegen_ros.training.network import TrainedDecoder
from safegen_ros.worlds.pddl3.domains.blocksworld.generator import samples

CHECKPOINT = 'checkpoint.pt'
METRICS = 'metrics.jsonl'
VALIDATION_SEED = 20_000


@dataclass(slots=True)
class Progress:
    """How far a run is.

    Attributes:
        step: optimizer steps done.
        wall_s: wall-clock time spent, over all resumptions [s].
        cpu_s: CPU time spent, over all resumptions [s].
        tokens: tokens read by the model, padding included.
    """

    step: int = 0
    wall_s: float = 0.0
    cpu_s: float = 0.0
    tokens: int = 0


def train(config_path: str | Path, out_dir: str | Path, resume: bool = False) -> Path:
    """Trains a model and exports it.

    Args:
        config_path: recipe, see `TrainConfig`.
        out_dir: receives `checkpoint.pt`, `metrics.jsonl` and the exported model under `model/`.
        resume: go on from the checkpoint in `out_dir`.

    Returns:
        the folder of the exported model.

    Raises:
        ConfigError: the recipe cannot be used, the folder holds another run, or the checkpoint
            was written by a different recipe.
    """
    config = load_config(config_path)
    out = Path(out_dir)
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = out / CHECKPOINT
    if checkpoint.exists() and not resume:
        raise ConfigError(f'{checkpoint} exists: resume that run or choose an empty folder')
    run = _Run(config, out)
    if resume and checkpoint.exists():
        run.load(checkpoint)
    run.loop()
    return export_model(run.model.decoder, config, out)


def export_checkpoint(config_path: str | Path, out_dir: str | Path) -> Path:
    """Exports the model of the last checkpoint of a run, which may still be under way.

    Raises:
        ConfigError: there is no checkpoint, or it does not belong to the recipe.
    """
    checkpoint = Path(out_dir) / CHECKPOINT
    if not checkpoint.exists():
        raise ConfigError(f'{checkpoint}: there is no checkpoint: train first')
    run = _Run(load_config(config_path), Path(out_dir))
    run.load(checkpoint, trim_metrics=False)
    return export_model(run.model.decoder, run.config, run.out)


class _Run:
    """The state of one training run."""

    def __init__(self, config: TrainConfig, out: Path) -> None:
        torch.set_num_threads(config.threads)
        self.config = config
        self.out = out
        self.model = TrainedDecoder(config.model, config.seed)
        self.optimizer = _optimizer(self.model, config)
        data = config.data
        self.batches = BatchSource(
            config.seed, data.chunk, config.optimizer.batch, data.repair_share
        )
        self.progress = Progress()
        self.window = _Window()

    def loop(self) -> None:
        """Steps until the budget is spent."""
        budget = self.config.budget
        validation = validation_batches(self.config.data.validation)
        wall, cpu, saved = time.monotonic(), time.process_time(), time.monotonic()
        while self.fraction() < 1.0:
            batch = self.batches[self.progress.step]
            self.window.add(*self._step(batch))
            now = self.progress
            now.step += 1
            now.tokens += batch.ids.size
            now.wall_s += time.monotonic() - wall
            now.cpu_s += time.process_time() - cpu
            wall, cpu = time.monotonic(), time.process_time()
            last = self.fraction() >= 1.0
            if now.step % budget.log_steps == 0 or last:
                self._log({**self.window.means(), 'learning_rate': self._rate()})
                self.window = _Window()
            if now.step % budget.validate_steps == 0 or last:
                self._log(validate(self.model, validation))
            if last or wall - saved > budget.checkpoint_minutes * 60:
                self.save(self.out / CHECKPOINT)
                saved = time.monotonic()

    def fraction(self) -> float:
        """How much of the budget is spent, from 0 to 1."""
        budget = self.config.budget
        fraction = self.progress.step / budget.steps
        if budget.wall_minutes:
            fraction = max(fraction, self.progress.wall_s / (60 * budget.wall_minutes))
        return min(fraction, 1.0)

    def _rate(self) -> float:
        settings = self.config.optimizer
        warm = min(1.0, (self.progress.step + 1) / settings.warmup_steps)
        cosine = 0.5 * (1 + math.cos(math.pi * self.fraction()))
        return settings.learning_rate * warm * max(cosine, 0.01)

    def _step(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        settings = self.config.optimizer
        self.model.train()
        for group in self.optimizer.param_groups:
            group['lr'] = self._rate()
        token_loss, state_loss, right, _ = self.model(batch)
        self.optimizer.zero_grad(set_to_none=True)
        (token_loss + settings.state_weight * state_loss).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), settings.clip)
        self.optimizer.step()
        return token_loss.detach(), state_loss.detach(), right

    def _log(self, values: dict[str, float]) -> None:
        now = self.progress
        line = {
            'step': now.step,
            'samples': now.step * self.config.optimizer.batch,
            'tokens': now.tokens,
            'wall_s': round(now.wall_s, 1),
            'cpu_s': round(now.cpu_s, 1),
            **{key: float(f'{value:.5g}') for key, value in values.items()},
        }
        with (self.out / METRICS).open('a', encoding='utf-8') as file:
            file.write(json.dumps(line) + '\n')
        shown = '  '.join(f'{key} {value:.4g}' for key, value in values.items())
        print(f'step {now.step}  {100 * self.fraction():.1f}%  {shown}', flush=True)

    def save(self, path: Path) -> None:
        """Writes a checkpoint; a reader sees the old one or the new one, never a part.

        Raises:
            SafegenError: the disk refuses; the checkpoint before it is still there.
        """
        partial = path.with_suffix('.partial')
        state = {
            'model': self.model.state_dict(),
            'optimizer': self.optimizer.state_dict(),
            'progress': asdict(self.progress),
            'window': vars(self.window),
            'config': self.config.as_dict(),
        }
        try:
            with partial.open('wb') as file:
                torch.save(state, file)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except (OSError, RuntimeError) as error:
            raise SafegenError(
                f'{path}: the checkpoint cannot be written ({error}): the last one is intact, '
                'make room and resume'
            ) from error

    def load(self, path: Path, trim_metrics: bool = True) -> None:
        """Continues from a checkpoint.

        Raises:
            ConfigError: it is damaged or belongs to another recipe.
        """
        try:
            state = torch.load(path, weights_only=True)
            recipe, progress = state['config'], Progress(**state['progress'])
        except Exception as error:
            raise ConfigError(f'{path}: is not a readable checkpoint: {error}') from error
        if _learning(recipe) != _learning(self.config.as_dict()):
            raise ConfigError(f'{path}: was written by a different recipe: use that one')
        self.model.load_state_dict(state['model'])
        self.optimizer.load_state_dict(state['optimizer'])
        self.progress = progress
        vars(self.window).update(state.get('window', {}))
        if trim_metrics:
            _forget_after(self.out / METRICS, progress.step)


def _learning(recipe: dict[str, Any]) -> dict[str, Any]:
    """The part of a recipe that must not change in the middle of a run."""
    return {key: recipe[key] for key in ('seed', 'model', 'data', 'optimizer')}


def _forget_after(metrics: Path, step: int) -> None:
    """Drops the lines that a killed run wrote after its last checkpoint."""
    if metrics.exists():
        lines = metrics.read_text(encoding='utf-8').splitlines()
        kept = [line for line in lines if json.loads(line)['step'] <= step]
        metrics.write_text(''.join(line + '\n' for line in kept), encoding='utf-8')


def _optimizer(model: torch.nn.Module, config: TrainConfig) -> torch.optim.AdamW:
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    others = [p for p in model.parameters() if p.ndim < 2]
    groups = [
        {'params': matrices, 'weight_decay': config.optimizer.weight_decay},
        {'params': others, 'weight_decay': 0.0},
    ]
    return torch.optim.AdamW(groups, lr=config.optimizer.learning_rate, betas=(0.9, 0.98))


def validation_batches(count: int) -> list[Batch]:
    """Tasks of the test split, for the validation loss only."""
    encoded = [encode(sample) for sample in islice(samples(VALIDATION_SEED, split='test'), count)]
    encoded.sort(key=lambda item: len(item.ids))
    return [collate(encoded[i : i + 64]) for i in range(0, len(encoded), 64)]


@torch.no_grad()
def validate(model: TrainedDecoder, batches: list[Batch]) -> dict[str, float]:
    """Token loss on unseen tasks, and the share whose whole plan greedy decoding reproduces."""
    model.eval()
    loss, tokens, exact, count = 0.0, 0, 0, 0
    for batch in batches:
        token_loss, _, _, whole = model(batch)
        size = int((batch.labels >= 0).sum())
        loss += float(token_loss) * size
        tokens += size
        exact += int(whole.sum())
        count += len(whole)
    return {'validation_loss': loss / tokens, 'validation_exact': exact / count}


class _Window:
    """Sums of what a step returns, since the last line of the log."""

    names = ('loss', 'state_loss', 'token_accuracy')

    def __init__(self) -> None:
        self.sums = [0.0, 0.0, 0.0]
        self.steps = 0

    def add(self, *values: Tensor) -> None:
        self.sums = [total + float(value) for total, value in zip(self.sums, values, strict=True)]
        self.steps += 1

    def means(self) -> dict[str, float]:
        means = (total / self.steps for total in self.sums)
        return dict(zip(self.names, means, strict=True))
