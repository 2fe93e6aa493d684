# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen arm`: the group of its commands."""

from __future__ import annotations

import typer

from safegen_ros.cli.calibrate import calibrate
from safegen_ros.cli.emulate import emulate
from safegen_ros.cli.operate import blocks_set_up, release

app = typer.Typer(no_args_is_help=True)
for command in (calibrate, emulate, release, blocks_set_up):
    app.command()(command)
