#!/usr/bin/env bash
# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
#
# What the machine has to bring, and uv. Sourced by the other scripts, from the repository's root.

readonly uv_version=0.13.8

# Another environment's Python or ROS would leak into what is built here.
if [ -n "${AMENT_PREFIX_PATH:-}${_ROS_WHEELS_BOOTSTRAP_COMPLETE:-}" ]; then
  unset LD_LIBRARY_PATH
fi
unset AMENT_PREFIX_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH _ROS_WHEELS_BOOTSTRAP_COMPLETE
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV
export UV_PYTHON_DOWNLOADS=never

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: error: %s\n' "$*" >&2; exit 1; }

find_python() {
  local name
  for name in ${PYTHON:-python3.11 python3 python3.12 python3.13 python3.10}; do
    if "$name" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' \
      2>/dev/null; then
      "$name" -c 'import sys; print(sys._base_executable)'
      return
    fi
  done
  die "no Python 3.10 to 3.13${PYTHON:+ behind PYTHON=$PYTHON}:" \
    'apt-get install python3 python3-venv python3-dev'
}

check_tools() {
  local missing=()
  command -v "${CC:-cc}" >/dev/null || missing+=(gcc)
  command -v "${CXX:-c++}" >/dev/null || missing+=(g++)
  command -v cmake >/dev/null || missing+=(cmake)
  "$1" - <<'PY' || missing+=("python$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-dev")
import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path('include'), 'Python.h')))
PY
  [ ${#missing[@]} -eq 0 ] || die "missing on this machine: apt-get install ${missing[*]}"
}

# uv of the pinned minor version: the one on PATH, or a private copy that pip gets.
find_uv() {
  local found
  found=$(command -v uv || true)
  if [ -n "$found" ] && [[ $("$found" --version) == "uv ${uv_version%.*}."* ]]; then
    printf '%s\n' "$found"
    return
  fi
  if [ ! -x .tools/bin/uv ] || [[ $(.tools/bin/uv --version) != "uv $uv_version"* ]]; then
    say "getting uv $uv_version" >&2
    rm -rf .tools
    "$1" -m venv .tools >&2 || die 'python cannot make a venv: apt-get install python3-venv'
    .tools/bin/python -m pip install -qq --disable-pip-version-check "uv==$uv_version" >&2 ||
      die "pip could not get uv $uv_version (see above)"
  fi
  printf '%s\n' "$PWD/.tools/bin/uv"
}

# uv reads no pip configuration; hand over what a machine without direct internet access needs.
pip_setting() { "$1" -m pip config get "$2" 2>/dev/null || true; }
take_pip_settings() {
  local value
  if [ -z "${UV_DEFAULT_INDEX:-}" ]; then
    value=${PIP_INDEX_URL:-$(pip_setting "$1" global.index-url)}
    [ -z "$value" ] || export UV_DEFAULT_INDEX=$value
  fi
  if [ -z "${SSL_CERT_FILE:-}" ]; then
    value=${PIP_CERT:-$(pip_setting "$1" global.cert)}
    [ -z "$value" ] || export SSL_CERT_FILE=$value
  fi
}
