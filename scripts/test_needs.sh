#!/usr/bin/env bash
# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
#
# Installs what only tests need, or says what to install: the SSH driver is tested against a real
# server, the operator's page in a real browser and by axe. Without one of them its tests are skipped.
set -euo pipefail

need() {
  if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    echo "test: installing $1"
    apt-get update -qq >/dev/null 2>&1 || true
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" \
      >/dev/null 2>&1 && return
  fi
  echo "test: $1 is missing, so its tests are skipped: sudo apt-get install $1" >&2
}
[ -x /usr/sbin/sshd ] || need openssh-server
command -v chromium >/dev/null || need chromium
axe=axe-core@4.14.1
[ -d .cache/axe/node_modules/axe-core ] || npm install --silent --prefix .cache/axe "$axe" ||
  echo "test: $axe is missing, so its tests are skipped: install npm" >&2
