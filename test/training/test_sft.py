# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Training really learns, and a run that is killed and resumed ends as if it had not been."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from safegen_ros.errors import SafegenError
from safegen_ros.evaluation.evaluate import evaluate
from safegen_ros.evaluation.problems import draw_problems
from safegen_ros.training.config import ConfigError
from safegen_ros.training.sft import CHECKPOINT, METRICS, export_checkpoint, train
from safegen_ros.verdict import Category

ROOT = Path(__file__).parents[2]
SHORT = """
name: short
seed: 5
model: {width: 32, layers: 1, heads: 2, mlp: 64}
data: {chunk: 64, repair_share: 0.2, validation: 16}
optimizer: {batch: 8, warmup_steps: 5}
budget: {steps: 24, checkpoint_minutes: 0.0, log_steps: 4, validate_steps: 8}
"""


def metrics(folder: Path) -> list[dict[str, float]]:
    lines = [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]
    return [{k: v for k, v in line.items() if k not in ('wall_s', 'cpu_s')} for line in lines]


@pytest.fixture
def short(tmp_path: Path) -> Path:
    recipe = tmp_path / 'short.yaml'
    recipe.write_text(SHORT)
    return recipe


@pytest.mark.slow
def test_the_smoke_recipe_learns(tmp_path: Path) -> None:
    start = time.process_time()
    model = train(ROOT / 'config/train/mini-smoke.yaml', tmp_path)
    assert time.process_time() - start < 60
    values = metrics(tmp_path)
    losses = [line['loss'] for line in values if 'loss' in line]
    validation = [line['validation_loss'] for line in values if 'validation_loss' in line]
    assert losses[-1] < 0.5 * losses[0]
    assert validation[-1] < 1.5  # 4.85 is the loss of a uniform guess over the vocabulary
    problems = draw_problems(24, 3, ('sometime', 'none'))
    report = evaluate(model, problems, 1, modes=('greedy', 'untrained'), max_new_tokens=96)
    formats = [r.tally().counts.get(Category.FORMAT_ERROR, 0) for r in report.results]
    # After these few steps most answers are plans, if not yet right ones.
    assert formats[1] >= 20
    assert formats[0] <= formats[1] - 6


def test_a_killed_run_resumes_to_the_same_end(short: Path, tmp_path: Path) -> None:
    whole, broken = tmp_path / 'whole', tmp_path / 'broken'
    train(short, whole)
    code = (
        'import sys, time\n'
        'from safegen_ros.training import sft\n'
        'save = sft._Run.save\n'
        'def slow(run, path):\n'
        '    save(run, path)\n'
        '    if run.progress.step >= 11:\n'
        '        print("ready", flush=True)\n'
        '        sys.stdin.read()\n'
        'sft._Run.save = slow\n'
        'sft.train(sys.argv[1], sys.argv[2])\n'
    )
    process = subprocess.Popen(
        [sys.executable, '-c', code, str(short), str(broken)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, 'PYTHONPATH': str(ROOT)},
    )  # fmt: skip
    assert process.stdout is not None
    assert any(line.strip() == 'ready' for line in process.stdout)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with pytest.raises(ConfigError, match='resume'):
        train(short, broken)
    train(short, broken, resume=True)
    assert metrics(whole) == metrics(broken)
    files = [folder / 'model' / 'model.safetensors' for folder in (whole, broken)]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_finished_run_can_be_exported_again(short: Path, tmp_path: Path) -> None:
    model = train(short, tmp_path / 'run')
    weights = (model / 'model.safetensors').read_bytes()
    again = export_checkpoint(short, tmp_path / 'run')
    assert (again / 'model.safetensors').read_bytes() == weights
    names = {path.name for path in again.iterdir()}
    assert names >= {
        'model.safetensors', 'config.json', 'generation_config.json', 'tokenizer.json',
        'tokenizer_config.json', 'chat_template.jinja', 'safegen.json', 'training.json',
        'training_log.jsonl', 'checksums.sha256',
    }  # fmt: skip


def test_a_damaged_checkpoint_is_named(short: Path, tmp_path: Path) -> None:
    run = tmp_path / 'run'
    train(short, run)
    checkpoint = run / CHECKPOINT
    checkpoint.write_bytes(checkpoint.read_bytes()[:2000])
    with pytest.raises(ConfigError, match='not a readable checkpoint'):
        train(short, run, resume=True)


def test_a_full_disk_keeps_the_last_checkpoint(
    short: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / 'run'
    whole = train(short, tmp_path / 'whole')
    fsync, calls = os.fsync, []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) > 6:
            raise OSError(28, 'No space left on device')
        fsync(descriptor)

    monkeypatch.setattr(os, 'fsync', full)
    with pytest.raises(SafegenError, match='No space left'):
        train(short, run)
    monkeypatch.undo()
    resumed = train(short, run, resume=True)
    files = [folder / 'model.safetensors' for folder in (whole, resumed)]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_checkpoint_of_another_recipe_is_refused(short: Path, tmp_path: Path) -> None:
    run = tmp_path / 'run'
    train(short, run)
    short.write_text(SHORT.replace('seed: 5', 'seed: 6'))
    with pytest.raises(ConfigError, match='different recipe'):
        train(short, run, resume=True)
    with pytest.raises(ConfigError, match='no checkpoint'):
        export_checkpoint(short, tmp_path / 'empty')
