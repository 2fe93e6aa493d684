# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen console`: the operator's page in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from safegen_ros.cli.operate import Namespace
from safegen_ros.console.viser_workarounds import keep_compact


def console(
    host: Annotated[
        str, typer.Option(help='address to listen on (other than loopback only with --token-file)')
    ] = '127.0.0.1',
    port: Annotated[
        int, typer.Option(min=0, max=65535, help='port to listen on (0: any free one)')
    ] = 8765,
    token_file: Annotated[
        Path | None,
        typer.Option(help='file with the token that opens the page, mode 600'),
    ] = None,
    read_only: Annotated[bool, typer.Option('--read-only', help='view only; no commands')] = False,
    dark: Annotated[bool, typer.Option('--dark', help='start with a dark page')] = False,
    scene_file: Annotated[
        str, typer.Option(help='YAML of the table and the tool (default: the built-in one)')
    ] = '',
    namespace: Namespace = '',
) -> None:
    """Serve a page that shows the plan, the proof and the arm, and takes an operator's word.

    It is a client like any other. It may start before the stack and finds it later.
    """
    keep_compact()  # before numpy begins threads
    from safegen_ros.console.access import read_token
    from safegen_ros.console.console import OperatorConsole, Settings
    from safegen_ros.ros.stack_state import absolute_namespace

    token = read_token(token_file) if token_file is not None else ''
    place = absolute_namespace(namespace)
    settings = Settings(host, port, token, read_only, place, scene_file, dark)
    with OperatorConsole(settings) as served:
        query = '?token=…' if token else ''
        print(f'console: {served.url}{query}  (Ctrl-C ends it)', flush=True)
        served.wait()
