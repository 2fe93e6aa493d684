# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A run through kills, full disks and damaged files: the same end, or a named error."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from support.training_small import SHORT, reports, train, weights, write_recipe

from safegen_ros.errors import SafegenError
from safegen_ros.training.config import ConfigError
from safegen_ros.training.run import last_checkpoint

if TYPE_CHECKING:
    from transformers import Trainer

ROOT = Path(__file__).parents[2]

# Stops in the middle of the second checkpoint, when its weights are written and its state is not.
KILLED = """
import sys
from transformers import Trainer
from safegen_ros.training.run import train

if __name__ == '__main__':
    save = Trainer._save_rng_state

    def stop(trainer, folder):
        if trainer.state.global_step == 8:
            print('ready', flush=True)
            sys.stdin.read()
        save(trainer, folder)

    Trainer._save_rng_state = stop
    train(sys.argv[1], sys.argv[2])
"""


@pytest.fixture
def short(dataset: Path, tmp_path: Path) -> Path:
    return write_recipe(
        tmp_path / 'short.yaml', SHORT, data__folder=str(dataset), optimizer__method='muon'
    )


def last_step(run: Path) -> str:
    checkpoint = last_checkpoint(run)
    return '' if checkpoint is None else checkpoint.name


@pytest.mark.nightly
@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_end(short: Path, short_run: Path, tmp_path: Path) -> None:
    run = tmp_path / 'broken'
    process = subprocess.Popen(
        [sys.executable, '-c', KILLED, str(short), str(run)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, 'PYTHONPATH': str(ROOT)},
    )  # fmt: skip
    assert process.stdout is not None
    assert any(line.strip() == 'ready' for line in process.stdout)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (run / 'model').exists()
    assert (run / 'checkpoints' / 'checkpoint-8' / 'model.safetensors').exists()
    assert last_step(run) == 'checkpoint-4'
    with (run / 'metrics.jsonl').open('a') as file:
        file.write('{"step": 8, "lo')  # as a kill in the middle of a line leaves it
    with pytest.raises(ConfigError, match='resume it'):
        train(short, run)
    train(short, run, resume=True)
    assert reports(run) == reports(short_run)
    assert weights(run / 'model') == weights(short_run / 'model')


@pytest.mark.nightly
def test_two_processes_train_one_model(dataset: Path, tmp_path: Path) -> None:
    recipe = write_recipe(
        tmp_path / 'recipe.yaml', SHORT, data__folder=str(dataset), data__validation=0,
        budget__steps=2, budget__log_steps=1, budget__save_steps=2,
    )  # fmt: skip
    words = ['--standalone', '--nproc_per_node', '2', '-m', 'safegen_ros.cli.main', 'train', 'sft']
    subprocess.run(
        [Path(sys.executable).with_name('torchrun'), *words, '--config', recipe, '--out', 'run'],
        check=True, cwd=tmp_path, env={**os.environ, 'ACCELERATE_USE_CPU': 'true'},
    )  # fmt: skip
    assert len([*(tmp_path / 'run/checkpoints/checkpoint-2').glob('rng_state_*.pth')]) == 2
    assert [line['step'] for line in reports(tmp_path / 'run')] == [1, 2]


@pytest.mark.nightly
@pytest.mark.parametrize('method', ['muon', 'adamw'])
def test_a_resumed_run_takes_the_rates_of_its_recipe(
    dataset: Path, tmp_path: Path, method: str
) -> None:
    run, rates = tmp_path / 'run', {}
    for steps, rate in ((2, 0.003), (4, 0.0005)):
        recipe = write_recipe(
            tmp_path / 'recipe.yaml', SHORT, data__folder=str(dataset), optimizer__method=method,
            optimizer__schedule='constant', optimizer__warmup=0, optimizer__learning_rate=rate,
            data__validation=0, budget__steps=steps, budget__log_steps=1, budget__save_steps=2,
        )  # fmt: skip
        train(recipe, run, resume=steps > 2)
        rates = {line['step']: line['learning_rate'] for line in reports(run)}
    assert rates == pytest.approx({1: 0.003, 2: 0.003, 3: 0.0005, 4: 0.0005})


def test_a_run_leaves_a_complete_model(short: Path, short_run: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = short_run / 'model'
    assert {path.name for path in model.iterdir()} == {
        'model.safetensors', 'config.json', 'generation_config.json', 'tokenizer.json',
        'tokenizer_config.json', 'chat_template.jinja', 'safegen.json', 'training.json',
        'training_log.jsonl', 'checksums.sha256',
    }  # fmt: skip
    check = subprocess.run(
        ['sha256sum', '--check', '--quiet', 'checksums.sha256'], cwd=model, check=False
    )
    assert check.returncode == 0
    loaded = AutoModelForCausalLM.from_pretrained(model)
    assert type(loaded).__name__ == 'LlamaForCausalLM'
    assert AutoTokenizer.from_pretrained(model).vocab_size == loaded.config.vocab_size
    assert (short_run / 'metrics.png').read_bytes().startswith(b'\x89PNG')
    assert not list(short_run.glob('*.partial'))
    lines = reports(short_run)
    assert [line['step'] for line in lines if 'loss' in line] == [2, 4, 6, 8, 10, 12]
    assert [line['step'] for line in lines if 'eval_loss' in line] == [4, 8, 12]


@pytest.mark.nightly
def test_a_batch_in_parts_teaches_the_same(short: Path, dataset: Path, tmp_path: Path) -> None:
    """The loss is normalised by the words of all parts, not part by part."""
    from transformers import AutoModelForCausalLM

    models = []
    for batch, accumulate in ((8, 1), (2, 4)):
        recipe = write_recipe(
            tmp_path / f'{batch}.yaml', SHORT, data__folder=str(dataset), data__validation=0,
            optimizer__batch=batch, optimizer__accumulate=accumulate, budget__steps=2,
            optimizer__warmup=0,
        )  # fmt: skip
        model = AutoModelForCausalLM.from_pretrained(train(recipe, tmp_path / f'run{batch}'))
        models.append(model.state_dict())
    for name, value in models[0].items():
        assert torch.allclose(value, models[1][name], atol=2e-4), name


@pytest.mark.nightly
def test_running_out_of_memory_is_named_and_mended(
    short: Path, short_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import Trainer

    step = Trainer.training_step

    def full(trainer: Trainer, *rest: object) -> object:
        if trainer.state.global_step == 6:
            raise torch.OutOfMemoryError('CUDA out of memory')
        return step(trainer, *rest)

    monkeypatch.setattr(Trainer, 'training_step', full)
    with pytest.raises(SafegenError, match=r'too little memory.*lower optimizer\.batch'):
        train(short, tmp_path / 'run')
    monkeypatch.undo()
    assert last_step(tmp_path / 'run') == 'checkpoint-4'
    train(short, tmp_path / 'run', resume=True)
    assert weights(tmp_path / 'run' / 'model') == weights(short_run / 'model')


@pytest.mark.nightly
def test_reinforcement_resumes_to_the_same_end(
    dataset: Path, short_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prompts, sampling and the model that divergence is measured from go on where they were."""
    recipe = write_recipe(
        tmp_path / 'grpo.yaml',
        {**SHORT, 'model': {}, 'grpo': {'max_completion': 16, 'generations': 4}},
        stage='grpo', model__base=str(short_run / 'model'), data__folder=str(dataset),
        budget__steps=4, budget__save_steps=2, budget__log_steps=1,
    )  # fmt: skip
    train(recipe, tmp_path / 'whole')
    from transformers import Trainer

    step = Trainer.training_step

    def full(trainer: Trainer, *rest: object) -> object:
        if trainer.state.global_step == 3:
            raise MemoryError
        return step(trainer, *rest)

    monkeypatch.setattr(Trainer, 'training_step', full)
    with pytest.raises(SafegenError, match='too little memory'):
        train(recipe, tmp_path / 'broken')
    monkeypatch.undo()
    train(recipe, tmp_path / 'broken', resume=True)
    lines = reports(tmp_path / 'whole')
    assert [line['step'] for line in lines] == [1, 2, 3, 4]
    assert reports(tmp_path / 'broken') == lines
    assert weights(tmp_path / 'broken/model') == weights(tmp_path / 'whole/model')
    assert weights(tmp_path / 'whole/model') != weights(short_run / 'model')


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.nightly
@pytest.mark.parametrize('method', ['_save_optimizer_and_scheduler', 'save_model'])
def test_a_full_disk_is_named_and_mended(
    short: Path, short_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    run = tmp_path / 'run'
    from transformers import Trainer

    write = getattr(Trainer, method)

    def full(trainer: Trainer, *rest: object, **more: object) -> None:
        with largest_file(20_000 if trainer.state.global_step == 8 else 10_000_000):
            write(trainer, *rest, **more)

    monkeypatch.setattr(Trainer, method, full)
    with pytest.raises(SafegenError, match=r'the last checkpoint is intact: make room'):
        train(short, run)
    monkeypatch.undo()
    assert last_step(run) == 'checkpoint-4'
    train(short, run, resume=True)
    assert weights(run / 'model') == weights(short_run / 'model')


@pytest.mark.nightly
def test_a_disk_that_fills_with_the_model_keeps_the_run(
    short: Path, short_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / 'run'
    shutil.copytree(short_run, run)
    shutil.rmtree(run / 'model')
    monkeypatch.setattr('safegen_ros.training.export.write_checksums', no_room)
    with pytest.raises(SafegenError, match=r'No space left.*intact: make room'):
        train(short, run, resume=True)
    monkeypatch.undo()
    assert not (run / 'model').exists()
    train(short, run, resume=True)
    assert weights(run / 'model') == weights(short_run / 'model')


def no_room(folder: Path) -> None:
    raise OSError(28, 'No space left on device', str(folder))


@pytest.mark.nightly
@pytest.mark.parametrize('name', ['model.safetensors', 'optimizer.pt', 'trainer_state.json'])
def test_a_damaged_checkpoint_is_passed_over(
    short: Path, short_run: Path, tmp_path: Path, name: str
) -> None:
    run = tmp_path / 'run'
    shutil.copytree(short_run, run)
    damaged = run / 'checkpoints' / 'checkpoint-12' / name
    damaged.write_bytes(damaged.read_bytes()[: damaged.stat().st_size // 2])
    assert last_step(run) == 'checkpoint-8'
    train(short, run, resume=True)
    assert weights(run / 'model') == weights(short_run / 'model')


def test_another_recipe_does_not_go_on(short: Path, dataset: Path, short_run: Path) -> None:
    write_recipe(short, SHORT, data__folder=str(dataset), seed=6)
    with pytest.raises(ConfigError, match='another recipe made this run'):
        train(short, short_run, resume=True)
    (short.parent / 'file').write_text('')
    with pytest.raises(ConfigError, match='cannot be written'):
        train(short, short.parent / 'file' / 'run')
    with pytest.raises(ConfigError, match='use train sft'):
        train(short, short.parent / 'new', stage='grpo')


@pytest.mark.nightly
def test_progress_is_told_where_there_is_no_terminal(
    short: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr('safegen_ros.training.metrics.LINE_S', 0.0)
    train(short, tmp_path / 'run')
    lines = capsys.readouterr().err.splitlines()
    assert re.search(r'step 6 of 12, \d+ min left  loss \d', '\n'.join(lines))
    assert lines[-1].startswith('step 12 of 12, 0 min left')


@pytest.mark.parametrize('tracker', ['sheets', 'wandb'])
def test_a_tracker_that_is_not_there_is_named_before_the_run(
    short: Path, tmp_path: Path, tracker: str
) -> None:
    with pytest.raises(ConfigError, match=f'--report-to {tracker}: .*{tracker}'):
        train(short, tmp_path / 'run', report_to=[tracker])
    assert not (tmp_path / 'run').exists()
