# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The models of a measurement: a folder, its training stages, and the network before training."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from safegen_ros.errors import BackendError
from safegen_ros.llm.backend import Backend
from safegen_ros.llm.model_folder import LOCAL, base_folder, check_no_code
from safegen_ros.llm.model_names import full_name, is_server, model_folder
from safegen_ros.llm.open_backend import open_backend
from safegen_ros.llm.transformers_backend import TransformersBackend
from safegen_ros.tasks.pddl3.prompts.styles import PromptStyle, load_style, style_of

STAGES = ('PT', 'SFT', 'GRPO')
"""Before fine-tuning, after supervised fine-tuning, after reinforcement (SafeGen-LLM table II)."""

TRAINING = 'training.json'
"""The recipe of the last run in a model folder, with the `problems` of all runs."""

STAGES_FILE = 'stages.json'
"""Beside a model: from the name of each stage to its folder, relative to that of the model."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A model that is measured.

    Attributes:
        checksum: SHA-256 of its weights; empty for a model at a server.
        parameters: how many it has; 0 for a model at a server.
        problems: on how many it was trained, in all of its runs; 0 where its folder does not say.
    """

    name: str
    checksum: str
    parameters: int
    style: PromptStyle
    backend: Backend
    problems: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Its key, as plain values for JSON."""
        key = {'name': self.name, 'checksum': self.checksum, 'parameters': self.parameters}
        return {**key, 'problems': self.problems} if self.problems else key


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


def which_model(spec: str) -> str:
    """The key of a model: the checksum of its weights, or its name at a server.

    Raises:
        BackendError: its folder has no weights.
    """
    folder = model_folder(spec)
    return spec if folder is None else model_checksum(folder)


def load_subject(model_dir: str | Path, device: str = 'auto', name: str = '') -> Subject:
    """The model of a folder, or one at a server.

    Raises:
        BackendError: the model cannot be loaded.
    """
    if is_server(address := full_name(str(model_dir))):
        return Subject(name or address, '', 0, style_of(address), open_backend(address))
    backend = TransformersBackend(model_dir, device)
    style = load_style(model_dir)
    called = name or Path(model_dir).name
    found = model_checksum(model_dir), backend.parameters, style, backend
    return Subject(called, *found, _trained_on(Path(model_dir)))


def _trained_on(folder: Path) -> int:
    """`problems` in the `training.json` of a model; 0 without one."""
    try:
        return int(json.loads((folder / TRAINING).read_text(encoding='utf-8'))['problems'])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


@contextmanager
def untrained(model_dir: str | Path, seed: int, device: str = 'auto') -> Iterator[Subject]:
    """The same network with fresh weights, for adapters their base; raises as `load_subject`."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    check_no_code(Path(model_dir))
    if (base := base_folder(Path(model_dir))) != Path(model_dir):
        yield replace(load_subject(base, device, 'untrained'), style=load_style(model_dir))
        return
    with tempfile.TemporaryDirectory(prefix='safegen-untrained-') as name:
        folder = Path(name) / 'model'
        left_out = shutil.ignore_patterns('*.safetensors*', 'stages', TRAINING)
        try:
            shutil.copytree(model_dir, folder, ignore=left_out)
            config = AutoConfig.from_pretrained(folder, **LOCAL)
        except (OSError, ValueError) as error:
            raise BackendError(f'{model_dir}: the model cannot be loaded: {error}') from error
        torch.manual_seed(seed)
        AutoModelForCausalLM.from_config(config).save_pretrained(folder)
        yield load_subject(folder, device, 'untrained')


def load_stages(model_dir: Path, given: Mapping[str, Path] | None = None) -> dict[str, Path]:
    """The folders of the training stages, in the order of `STAGES`.

    Args:
        model_dir: a model with a `stages.json`, which is read when nothing is given.
        given: folders by the names of stages, instead.

    Raises:
        BackendError: there is no such file, it is not what it should be, or a stage or its folder
            does not exist.
    """
    path = model_dir / STAGES_FILE
    found: dict[str, Path] = dict(given or {})
    if not found:
        try:
            values = json.loads(path.read_text(encoding='utf-8'))
            found = {name: model_dir / folder for name, folder in values.items()}
        except FileNotFoundError as error:
            raise BackendError(
                f'{path}: is missing: name the stages with --stage NAME=FOLDER, such as '
                '--stage SFT=runs/sft/model'
            ) from error
        except (OSError, ValueError, AttributeError, TypeError) as error:
            raise BackendError(
                f'{path}: expected {{"PT": "stages/pt", ...}}, from stage to folder: {error}: '
                'correct it, or name the stages with --stage NAME=FOLDER'
            ) from error
    for name, folder in found.items():
        if name not in STAGES:
            raise BackendError(f'stage {name!r} is none of {" ".join(STAGES)}: use one of them')
        if not folder.is_dir():
            raise BackendError(f'{folder}: there is no such folder of stage {name}: correct {path}')
    if not found:
        raise BackendError(f'{path}: names no stage: add them, {" ".join(STAGES)}')
    return {name: found[name] for name in STAGES if name in found}
