#!/usr/bin/env bash
# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
#
# Takes the steps of the Dockerfile in a clean Debian root, for machines without Docker, and looks
# whether the console answers as its health check asks. Needs root and debootstrap.
#   scripts/try_dockerfile.sh [FOLDER]        # FOLDER receives the root; about 5 GB
set -euo pipefail
cd "$(dirname "$0")/.."
root=$(realpath -m "${1:-/var/tmp/safegen_root}")
[ -e "$root" ] && { echo "$root is there already" >&2; exit 1; }

suite=$(sed -n 's/^FROM debian:\([a-z]*\).*/\1/p' Dockerfile)
debootstrap --variant=minbase "$suite" "$root"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev" # else its end would unmount /dev/pts of this machine
mount -t proc proc "$root/proc"
trap 'kill $(cat "$root/up.pid" 2>/dev/null) 2>/dev/null; umount -R -l "$root/dev" "$root/proc"' EXIT
# How this machine reaches the package indexes is its own affair, as a build argument would be.
for file in /etc/resolv.conf /etc/pip.conf /etc/apt/apt.conf.d/* /etc/apt/sources.list.d/*; do
  [ -f "$file" ] && mkdir -p "$root$(dirname "$file")" && cp "$file" "$root$file"
done

links=$(python3 -m pip config get global.find-links 2>/dev/null || true)
lend() { # again before each step, which may have written a file of its own in its place
  for lent in "${PIP_CERT:-}" "${SSL_CERT_FILE:-}" $links ${PIP_FIND_LINKS:-}; do
    if [ -f "$lent" ]; then mkdir -p "$root$(dirname "$lent")"; cp -L "$lent" "$root$lent"; fi
    if [ -d "$lent" ]; then mkdir -p "$root$lent"; cp -rLn "$lent/." "$root$lent"; fi
  done
}

user=root folder=/
run() {
  lend
  echo "--- $user: $1"
  chroot "$root" /usr/bin/env -i HOME="/home/$user" PATH="$path" $(env | grep -E '^PIP_|^UV_|^SSL_CERT_FILE=|_proxy=' || true) \
    setpriv --reuid="$user" --regid="$user" --init-groups \
    sh -c "cd $folder && $1"
}
argv() { python3 -c 'import json, shlex, sys; print(shlex.join(json.loads(sys.argv[1])))' "$1"; }
path=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
# One instruction a line, with its continuation lines joined.
sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}' Dockerfile | grep -v '^#' | while read -r word rest; do
  case $word in
    RUN) run "$rest" ;;
    WORKDIR) folder=$rest; mkdir -p "$root$folder" ;;
    COPY) git archive HEAD | tar -x -C "$root$folder"; chroot "$root" chown -R safegen:safegen "$folder" ;;
    USER) user=$rest ;;
    ENV) path="$folder/.venv/bin:$path" ;;
    HEALTHCHECK) health=$(argv "${rest#*CMD }") ;;
    CMD)
      run "$(argv "$rest") >/tmp/up.log 2>&1 & echo \$! >/tmp/up.pid; sleep 0"
      cp "$root/tmp/up.pid" "$root/up.pid"
      for _ in $(seq 60); do
        if run "$health" >/dev/null 2>&1; then echo "healthy"; exit 0; fi
        sleep 1
      done
      cat "$root/tmp/up.log"; exit 1 ;;
  esac
done
