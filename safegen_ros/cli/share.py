# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen share`: one run as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from safegen_ros.cli.kept_runs import RunName


def share(
    run: RunName,
    out: Annotated[
        Path | None,
        typer.Option('--out', '-o', help='file to write; by default the id of the run with .html'),
    ] = None,
) -> None:
    """Write one run as one HTML file that anybody can read, without a network and without a script.

    It has the task, every attempt with its verdict, the states, the timeline, digests of the files,
    and the video where that is small enough.

    Exit status: 0, 2 there is no such run, it cannot be read, or the file cannot be written.
    """
    from safegen_ros.cli.failures import EXIT_BAD_INPUT, EXIT_OK, print_error
    from safegen_ros.cli.named_run import with_run
    from safegen_ros.console.share import write_share
    from safegen_ros.errors import SafegenError
    from safegen_ros.record.events import KeptRun

    def work(folder: Path, kept: KeptRun) -> int:
        to = out or Path(f'{kept.record.run_id}.html')
        try:
            write_share(folder, kept, to)
        except SafegenError as error:
            print_error(error.message)
            return EXIT_BAD_INPUT
        print(to)
        return EXIT_OK

    raise typer.Exit(with_run(run, work))
