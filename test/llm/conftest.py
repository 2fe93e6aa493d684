# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A complete model folder with random weights, made once per process."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope='session')
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from safegen_ros.llm.tokenizers import word_tokenizer
    from safegen_ros.tasks.pddl3.prompts.words import vocabulary
    from safegen_ros.training.config import NetworkConfig
    from safegen_ros.training.network import new_decoder

    network = NetworkConfig(width=32, layers=1, heads=2, mlp=64)
    folder = tmp_path_factory.mktemp('tiny')
    new_decoder(network, seed=3).save_pretrained(folder)
    word_tokenizer(vocabulary(), network.context).save_pretrained(folder)
    (folder / 'safegen.json').write_text('{"prompt_style": "words"}\n')
    return folder
