# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Models and their stages are found, and what is wrong with them is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from safegen_ros.benchmarks.subjects import load_stages, load_subject, model_checksum, untrained
from safegen_ros.errors import BackendError


def test_a_model_is_told_by_its_weights(tiny: Path, tmp_path: Path) -> None:
    subject = load_subject(tiny, 'cpu', 'GRPO')
    assert subject.name == 'GRPO'
    assert subject.checksum == model_checksum(tiny)
    assert subject.parameters > 1000
    copy = tmp_path / 'copy'
    shutil.copytree(tiny, copy)
    assert model_checksum(copy) == subject.checksum
    weights = copy / 'model.safetensors'
    weights.write_bytes(weights.read_bytes()[:-4] + b'\0\1\2\3')
    assert model_checksum(copy) != subject.checksum
    weights.unlink()
    with pytest.raises(BackendError, match=r'no \*\.safetensors file'):
        model_checksum(copy)


def test_the_untrained_network_has_other_weights_and_leaves_the_model_alone(tiny: Path) -> None:
    before = {path.name: path.read_bytes() for path in tiny.iterdir()}
    with untrained(tiny, 1) as one, untrained(tiny, 1) as again, untrained(tiny, 2) as other:
        assert one.parameters == load_subject(tiny).parameters
        assert one.checksum == again.checksum
        assert len({one.checksum, other.checksum, model_checksum(tiny)}) == 3
    assert {path.name: path.read_bytes() for path in tiny.iterdir()} == before


def test_no_network_can_be_made_of_a_folder_without_a_model(tmp_path: Path) -> None:
    (tmp_path / 'model').mkdir()
    for folder in (tmp_path / 'model', tmp_path / 'none'):
        with pytest.raises(BackendError, match='the model cannot be loaded'):
            untrained(folder, 1).__enter__()


def test_stages_come_from_the_model_or_from_the_user(tmp_path: Path) -> None:
    for name in ('a', 'b', 'c'):
        (tmp_path / name).mkdir()
    (tmp_path / 'stages.json').write_text(json.dumps({'GRPO': '.', 'PT': 'a', 'SFT': 'b'}))
    assert list(load_stages(tmp_path).items()) == [
        ('PT', tmp_path / 'a'), ('SFT', tmp_path / 'b'), ('GRPO', tmp_path),
    ]  # fmt: skip
    assert load_stages(tmp_path, {'SFT': tmp_path / 'c'}) == {'SFT': tmp_path / 'c'}


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (None, r'stages\.json: is missing: name the stages with --stage NAME=FOLDER'),
        ('{', r'stages\.json: expected \{"PT"'),
        ('[]', r'stages\.json: expected \{"PT"'),
        ('{"PT": 3}', r'stages\.json: expected \{"PT"'),
        ('{}', r'stages\.json: names no stage'),
        ('{"RLHF": "."}', "stage 'RLHF' is none of PT SFT GRPO"),
        ('{"PT": "none"}', 'none: there is no such folder of stage PT'),
    ],
)
def test_stages_that_are_none_are_named(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / 'stages.json').write_text(text)
    with pytest.raises(BackendError, match=message):
        load_stages(tmp_path)
