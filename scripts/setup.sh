#!/usr/bin/env bash
# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
#
# Makes .venv: ROS 2 wheels, the interfaces, torch for the CPU, this package (editable) and an
# offscreen OpenGL. Every step leaves a stamp with the hash of what it was made from, so a second
# run does nothing. `make setup` calls it.
#
# Settings (environment):
#   PYTHON          the interpreter to use instead of the first fit of python3.11, python3, ...
#   TORCH_BACKEND   a torch build other than the CPU's, as uv names it: cu130, rocm7.2, auto
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly venv=$PWD/.venv
readonly python=$venv/bin/python
readonly stamps=$venv/.stamps
readonly wheels=$PWD/.cache/wheels
readonly log=$PWD/.cache/setup.log
readonly shared=(launch config models urdf examples data)
readonly egl_packages='libegl1 libgl1-mesa-dri libopengl0'
readonly osmesa_packages='libosmesa6'

source scripts/tools.sh

hash_of() { sha256sum "$@" | sha256sum | cut -c1-16; }
stamp_is() { [ "$(cat "$stamps/$1" 2>/dev/null)" = "$2" ]; }
state() { cat "$stamps"/* 2>/dev/null || true; }
set_stamp() { printf '%s\n' "$2" > "$stamps/$1"; }

install_torch() {
  local links link options=()
  if [ -n "${TORCH_BACKEND:-}" ]; then
    "$uv" pip install --quiet --python "$python" --compile-bytecode \
      --torch-backend "$TORCH_BACKEND" -r requirements/torch.in
    return
  fi
  links=${PIP_FIND_LINKS:-$(pip_setting "$1" global.find-links)}
  for link in $links; do options+=(--find-links "$link"); done
  if [ ${#options[@]} -gt 0 ] && "$uv" pip install --quiet --python "$python" --compile-bytecode \
    --no-deps --no-index "${options[@]}" -r requirements/torch.in 2>/dev/null; then
    return
  fi
  # Never from the package index itself: what it has for Linux is the CUDA build, gigabytes of it.
  "$uv" pip install --quiet --python "$python" --compile-bytecode --no-deps \
    --torch-backend cpu -r requirements/torch.in
}

# A change of the lock makes a new .venv: the ROS wheels bring second, older-style records of what
# they hold, and a sync of a filled .venv removes those as strangers, files included. A .venv is also
# bound to its path, so one that was moved or copied here is made anew.
install_packages() {
  local key
  key="$(hash_of requirements/lock.txt requirements/torch.in) ${TORCH_BACKEND:-cpu} $1 $venv"
  stamp_is packages "$key" && [ -x "$python" ] && return
  take_pip_settings "$1"
  say "making .venv with $1: ROS 2 and the locked packages (five minutes in all)"
  "$uv" venv --quiet --clear --seed --python "$1" "$venv"
  mkdir -p "$stamps"
  "$uv" pip sync --quiet --python "$python" --compile-bytecode requirements/lock.txt
  say "installing torch (${TORCH_BACKEND:-cpu})"
  install_torch "$1"
  set_stamp packages "$key"
}

build_messages() {
  check_tools "$1"
  say 'building the ROS interfaces (about a minute)'
  rm -rf "$2" "$2.part"
  "$uv" build --wheel --no-build-isolation --python "$python" --out-dir "$2.part" safegen_msgs \
    >>"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    die 'the ROS interfaces do not build'
  }
  mv "$2.part" "$2"
}

# The built wheel is kept, named after all that goes into it.
install_messages() {
  local key wheel
  key=$(grep -E '^(ros-|numpy=|empy=|scikit-build)' requirements/lock.txt |
    cat - $(find safegen_msgs -type f | LC_ALL=C sort) | sha256sum | cut -c1-16)
  key=$key-$("$python" -c 'import sysconfig as s; print(s.get_config_var("SOABI"))')
  stamp_is messages "$key" && return
  [ -d "$wheels/$key" ] || build_messages "$1" "$wheels/$key"
  wheel=$(echo "$wheels/$key"/*.whl)
  "$uv" pip install --quiet --python "$python" --no-deps --reinstall "$wheel"
  set_stamp messages "$key"
}

# Types of the interfaces, for mypy and editors: rosidl generates none.
install_stubs() {
  local key
  key=$(hash_of "$stamps/packages" "$stamps/messages" scripts/message_stubs.py)
  stamp_is stubs "$key" && return
  "$python" scripts/message_stubs.py "$("$python" -c 'import sysconfig as s; print(s.get_path("purelib"))')"
  set_stamp stubs "$key"
}

# An editable install has no data files, and its commands go to bin/: link what `ros2 run` and
# `ros2 launch` look for, so that they see the working tree.
link_ros_layout() {
  local share=$venv/share/safegen_ros libexec=$venv/lib/safegen_ros item
  rm -rf "$share" "$libexec"
  mkdir -p "$share" "$libexec" "$venv/share/ament_index/resource_index/packages"
  ln -sf "$PWD/resource/safegen_ros" "$venv/share/ament_index/resource_index/packages/safegen_ros"
  for item in package.xml "${shared[@]}"; do
    [ ! -e "$item" ] || [ "$item" = launch ] || ln -s "$PWD/$item" "$share/$item"
  done
  # `ros2 launch` searches the folder without following links to folders.
  mkdir "$share/launch"
  ln -s "$PWD"/launch/*.launch.py "$share/launch/"
  for item in planner validator executor console; do
    ln -s "../../bin/$item" "$libexec/$item"
  done
}

install_project() {
  local key item
  key=$(hash_of setup.py setup.cfg pyproject.toml package.xml scripts/setup.sh)
  for item in "${shared[@]}" launch/*.launch.py; do [ ! -e "$item" ] || key=$key-$item; done
  stamp_is project "$key" && return
  say 'installing safegen_ros (editable)'
  "$uv" pip install --quiet --python "$python" --no-deps --no-build-isolation --editable .
  link_ros_layout
  set_stamp project "$key"
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}
may_install() {
  command -v apt-get >/dev/null || return 1
  [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null
}
apt_install() {
  as_root apt-get update -qq >>"$log" 2>&1 || true
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "$@" >>"$log" 2>&1
}

# MuJoCo draws the video with OpenGL. Without it everything but the video works.
set_up_gl() {
  local gl key packages
  key=$(hash_of scripts/check_gl.py requirements/lock.txt)
  gl=$(cut -d' ' -f2 "$stamps/gl" 2>/dev/null || true)
  if ! stamp_is gl "$key ${gl:-unknown}"; then
    gl=$("$python" scripts/check_gl.py)
    for packages in "$egl_packages" "$osmesa_packages"; do
      [ "$gl" = none ] && may_install || break
      say "installing an offscreen OpenGL ($packages)"
      apt_install $packages || true
      gl=$("$python" scripts/check_gl.py)
    done
    set_stamp gl "$key $gl"
  fi
  if [ "$gl" = none ]; then
    say "no offscreen OpenGL: runs have no video. Cure: apt-get install $egl_packages" \
      '&& rm .venv/.stamps/gl && make setup'
  fi
}

# Bytecode of what the planner imports is written once, here: it is half of the time from its start
# to its first attempt, and compiling all of the packages would take minutes.
warm_up() {
  local key
  key=$(hash_of requirements/lock.txt scripts/setup.sh)
  stamp_is warm "$key" && return
  env -u PYTHONDONTWRITEBYTECODE HF_HUB_OFFLINE=1 "$python" -c '
import safegen_ros.cli.demo, safegen_ros.nodes.executor, safegen_ros.nodes.planner
import safegen_ros.nodes.validator
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM
from transformers import GenerationConfig, PreTrainedTokenizerFast
import torch
model = LlamaForCausalLM(LlamaConfig(
    vocab_size=8, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1,
))
model.generate(torch.tensor([[1]]), do_sample=True, max_new_tokens=1, pad_token_id=0)
' >>"$log" 2>&1 || say "the first start of the planner will be slow (its imports failed: $log)"
  set_stamp warm "$key"
}

main() {
  local base_python before
  exec 9>.cache/setup.lock
  flock 9  # a second run at the same time waits, and then finds everything done
  : >"$log"
  base_python=$(find_python)
  uv=$(find_uv "$base_python")
  before=$(state)
  install_packages "$base_python"
  install_messages "$base_python"
  install_stubs
  install_project
  scripts/base_model.sh || say 'requests in words need models/base: run make base when the index is there'
  warm_up
  set_up_gl
  [ "$before" = "$(state)" ] || say 'ready'
}

# Sourced by a test, this file only defines its functions.
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  mkdir -p .cache
  trap '[ $? = 0 ] || echo "setup: failed; its log is $log" >&2' EXIT
  main 2>&1 | tee -a "$log"
fi
