#!/usr/bin/env bash
# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
#
# Makes .cache/llama.cpp: llama-server, and what converts a model of transformers to GGUF. The sources
# are those inside the package llama-cpp-python. `make llamacpp` calls it; the build takes ten minutes
# of a core.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/tools.sh

readonly out=.cache/llama.cpp sentencepiece=0.2.3
key=$(cat requirements/llama-cpp.txt "${BASH_SOURCE[0]}" | sha256sum | cut -c1-16)
[ "$(cat "$out/.made-from" 2>/dev/null)" = "$key" ] && exit
base_python=$(find_python)
uv=$(find_uv "$base_python")
take_pip_settings "$base_python"
say "making $out (80 MB to fetch)"
rm -rf "$out" "$out.build"
mkdir -p "$out" "$out.build"
"$base_python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
  --require-hashes -r requirements/llama-cpp.txt -d "$out.build"
tar -xzf "$out.build"/*.tar.gz -C "$out.build" --strip-components 1
sources=$out.build/vendor/llama.cpp
cmake -S "$sources" -B "$out.build/made" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
  -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF \
  -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF > "$out.build/log" 2>&1 &&
  cmake --build "$out.build/made" --target llama-server -j "$(nproc)" >> "$out.build/log" 2>&1 ||
  { tail "$out.build/log" >&2; die "llama-server could not be built: see $out.build/log"; }
cp "$out.build/made/bin/llama-server" "$sources"/convert_{hf,lora}_to_gguf.py "$out"
cp -r "$sources/conversion" "$sources/gguf-py" "$out"
# The converter imports it for every model, though few need it.
"$uv" pip install --quiet --python .venv/bin/python --no-deps --target "$out/gguf-py" \
  "sentencepiece==$sentencepiece"
rm -rf "$out.build"
echo "$key" > "$out/.made-from"
