#!/usr/bin/env bash
# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
# Makes models/safegen-mini from nothing: datasets, two supervised runs, reinforcement, five more supervised
# runs, reinforcement twice more. After a kill the same command goes on where it was. docs/training.md says what it costs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
safegen=.venv/bin/safegen

dataset() { # FOLDER RECIPE
    "$safegen" data build "$1" --recipe "config/dataset/$2.json"
}

model() { # STAGE RECIPE RUN
    local resume=()
    if [[ -d runs/$3/model ]]; then
        return
    elif compgen -G "runs/$3/checkpoints/checkpoint-*" > /dev/null; then
        resume=(--resume)
    fi
    "$safegen" train "$1" --config "config/train/$2.yaml" --out "runs/$3" "${resume[@]}"
}

dataset runs/mini-data mini
model sft mini mini-sft
dataset runs/mini-more-data mini-more
model sft mini-more mini-more
model grpo mini-grpo mini-grpo
dataset runs/mini-mix-data mini-mix
model sft mini-mix mini-mix
dataset runs/mini-mix2-data mini-mix2
model sft mini-mix2 mini-mix2
model sft mini-mix3 mini-mix3
dataset runs/mini-mix4-data mini-mix4
model sft mini-mix4 mini-mix4
mkdir -p runs/mini-mix5-data
(awk 'NR % 2' runs/mini-mix2-data/train.jsonl; cat runs/mini-mix4-data/train.jsonl) > runs/mini-mix5-data/train.jsonl
cat runs/mini-mix2-data/test.jsonl runs/mini-mix4-data/test.jsonl > runs/mini-mix5-data/test.jsonl
model sft mini-mix5 mini-mix5
dataset runs/mini-mix6-data mini-mix6
model grpo mini-grpo2 mini-grpo2
model grpo mini-grpo3 mini-grpo3
.venv/bin/python scripts/ship_model.py --sft runs/mini-mix5 --grpo runs/mini-grpo3 --problems 223000 --out models/safegen-mini
