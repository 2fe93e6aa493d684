# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen train`: a recipe in, a model out; what is wrong becomes one line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.training_small import SHORT, write_dataset, write_recipe

from safegen_ros.cli.failures import EXIT_BAD_INPUT
from safegen_ros.cli.main import main


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, 'argv', ['safegen', 'train', *map(str, arguments)])
    with pytest.raises(SystemExit) as caught:
        main()
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_a_recipe_becomes_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_dataset(tmp_path / 'data', 4, 1, ['ferry'])
    recipe = write_recipe(tmp_path / 'short.yaml', SHORT, data__folder=str(data), budget__steps=1)
    out = tmp_path / 'run'
    assert run(monkeypatch, 'sft', '--config', recipe, '--out', out) == 0
    assert f'model: {out}/model' in capsys.readouterr().out.splitlines()
    assert (out / 'model' / 'config.json').exists()
    assert run(monkeypatch, 'sft', '--config', recipe, '--out', out) == EXIT_BAD_INPUT
    assert 'resume it (--resume)' in ' '.join(capsys.readouterr().err.split())
    assert run(monkeypatch, 'grpo', '--config', recipe, '--out', tmp_path / 'new') == EXIT_BAD_INPUT
    assert 'use train sft' in ' '.join(capsys.readouterr().err.split())
