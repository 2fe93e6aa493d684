# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A run through kills, full disks and damaged files: the same end, or a named error."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from safetensors.torch import load_file
from support.training_small import SHORT, reports, train, weights, write_recipe
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer

from safegen_ros.errors import SafegenError
from safegen_ros.training.config import ConfigError
from safegen_ros.training.run import last_checkpoint

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

# FSDP on a CPU, which is not among the devices that accelerate has it for.
SPREAD = """
from accelerate.state import AcceleratorState, PartialState
from safegen_ros.cli.main import main

begin = AcceleratorState.__init__

def spread(state, *rest, fsdp_plugin=None, **more):
    if fsdp_plugin:
        PartialState._shared_state['distributed_type'] = 'MULTI_XPU'
    begin(state, *rest, fsdp_plugin=fsdp_plugin, **more)

AcceleratorState.__init__ = spread
main()
"""
SFT = 'train sft --resume --config recipe.yaml'


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
    assert any(line.strip() == 'ready' for line in process.stdout)
    process.kill()
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
@pytest.mark.parametrize('kind', ['network', 'base', 'adapters'])
def test_processes_share_a_model(dataset: Path, short_run: Path, tmp_path: Path, kind: str) -> None:
    """The same with FSDP, where each holds half of it, through a stop and from its last step."""
    base = {'base': str(short_run / 'model')}
    adapters = {**base, 'lora': {'rank': 4, 'dropout': 0.0}}
    kinds = {'network': SHORT['model'], 'base': base, 'adapters': adapters}
    (tmp_path / 'spread.py').write_text(SPREAD)
    whole, spread = tmp_path / 'whole', tmp_path / 'spread'
    plain = 'torchrun --standalone --nproc_per_node 2'
    fsdp = 'accelerate launch --num_processes 2 --use_fsdp'
    for launch, run, steps in ((plain, whole, 4), *((fsdp, spread, steps) for steps in (2, 4, 4))):
        write_recipe(
            tmp_path / 'recipe.yaml', SHORT, model=kinds[kind], data__folder=str(dataset),
            data__validation=0, budget__steps=steps, budget__log_steps=1, budget__save_steps=2,
            optimizer__schedule='constant', optimizer__warmup=0,
        )  # fmt: skip
        shutil.rmtree(run / 'model', ignore_errors=True)
        program, *words = f'{launch} spread.py {SFT} --out {run.name}'.split()
        subprocess.run(
            [Path(sys.executable).with_name(program), *words], check=True, timeout=300,
            cwd=tmp_path, env={**os.environ, 'ACCELERATE_USE_CPU': 'true'},
        )  # fmt: skip
        assert last_step(run) == f'checkpoint-{steps}'
    assert len([*(whole / 'checkpoints/checkpoint-4').glob('rng_state_*.pth')]) == 2
    assert len([*(spread / 'checkpoints/checkpoint-4/optimizer_0').glob('*.distcp')]) == 2
    losses = [[line['loss'] for line in reports(run)] for run in (spread, whole)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    found, same = (load_file(run / 'model/model.safetensors') for run in (spread, whole))
    torch.testing.assert_close(found, same, rtol=0, atol=1e-5)
    assert weights(spread / 'model') != weights(short_run / 'model')


@pytest.mark.nightly
@pytest.mark.parametrize('method', ['muon', 'adamw'])
def test_resuming_takes_the_rates_of_the_recipe(dataset: Path, tmp_path: Path, method: str) -> None:
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
    model = short_run / 'model'
    assert {path.name for path in model.iterdir()} == {
        'model.safetensors', 'config.json', 'generation_config.json', 'tokenizer.json',
        'tokenizer_config.json', 'chat_template.jinja', 'safegen.json', 'training.json',
        'training_log.jsonl', 'checksums.sha256',
    }  # fmt: skip
    subprocess.run(['sha256sum', '--check', '--quiet', 'checksums.sha256'], cwd=model, check=True)
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


def fail(monkeypatch: pytest.MonkeyPatch, at: int, error: Exception) -> None:
    step = Trainer.training_step

    def full(trainer: Trainer, *rest: object) -> object:
        if trainer.state.global_step == at:
            raise error
        return step(trainer, *rest)

    monkeypatch.setattr(Trainer, 'training_step', full)


@pytest.mark.nightly
def test_running_out_of_memory_is_named_and_mended(
    short: Path, short_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(monkeypatch, 6, torch.OutOfMemoryError('CUDA out of memory'))
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
    fail(monkeypatch, 3, MemoryError())
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
    no_room = Mock(side_effect=OSError(28, 'No space left on device'))
    monkeypatch.setattr('safegen_ros.training.export.write_checksums', no_room)
    with pytest.raises(SafegenError, match=r'No space left.*intact: make room'):
        train(short, run, resume=True)
    monkeypatch.undo()
    assert not (run / 'model').exists()
    train(short, run, resume=True)
    assert weights(run / 'model') == weights(short_run / 'model')


@pytest.mark.nightly
@pytest.mark.parametrize('name', ['model.safetensors', 'optimizer.pt', 'trainer_state.json'])
def test_damage_is_passed_over(short: Path, short_run: Path, tmp_path: Path, name: str) -> None:
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
def test_a_missing_tracker_is_named_before_runs(short: Path, tmp_path: Path, tracker: str) -> None:
    with pytest.raises(ConfigError, match=f'--report-to {tracker}: .*{tracker}'):
        train(short, tmp_path / 'run', report_to=[tracker])
    assert not (tmp_path / 'run').exists()
