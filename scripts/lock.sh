#!/usr/bin/env bash
# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
#
# Resolves requirements/*.in for Python 3.10 and newer into requirements/lock.txt, and docs.in into a
# lock of its own. Versions that are locked already stay; `--upgrade` as an argument renews them. torch.in stays out: the index entry of
# torch asks for CUDA libraries, and the build for the CPU is another one per platform.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/tools.sh

base_python=$(find_python)
uv=$(find_uv "$base_python")
take_pip_settings "$base_python"
inputs=()
for name in base proof ros build sim arm llm torch-deps train record cluster plots planetarium console dev; do
  inputs+=("requirements/$name.in")
done
lock=requirements/lock.txt
overrides=$(mktemp)
trap 'rm -f "$overrides"' EXIT
# The training libraries ask for torch: never installed from the lock, on no platform.
echo "torch ; sys_platform == 'none'" > "$overrides"
say 'resolving requirements/*.in'
resolve() {  # OUT ARGUMENTS...
  "$uv" pip compile --quiet --no-config --universal --generate-hashes --no-header \
    --no-emit-index-url --output-file "$@"
  sed -i '1i # Made by `make lock` from requirements/*.in. Do not edit.' "$1"
}
resolve "$lock" --python-version 3.10 --overrides "$overrides" --no-emit-package torch "$@" \
  "${inputs[@]}"
resolve requirements/docs-lock.txt --python-version 3.11 --constraints "$lock" "$@" \
  requirements/docs.in
