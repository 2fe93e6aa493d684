#!/usr/bin/env bash
# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
#
# Makes .cache/docs, an environment of its own with MkDocs and Jupyter, for `make docs` and
# `make notebooks`. It sees the packages of .venv too, so that notebooks run in it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/tools.sh

readonly out=.cache/docs lock=requirements/docs-lock.txt
made_from="$(sha256sum < $lock) $PWD"
[ "$(cat $out/.made-from 2>/dev/null)" = "$made_from" ] && exit
base_python=$(find_python)
uv=$(find_uv "$base_python")
take_pip_settings "$base_python"
say "making $out (200 MB)"
"$uv" venv --quiet --clear --python "$base_python" $out
"$uv" pip sync --quiet --python $out/bin/python $lock
packages=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
site=$($out/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "import site; site.addsitedir('$packages')" > "$site/venv.pth"
echo "$made_from" > $out/.made-from
