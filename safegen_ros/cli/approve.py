# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen approve`: an operator's word about a plan that waits for it."""

from __future__ import annotations

from typing import Annotated

import typer

from safegen_ros.cli.operate import AsJson, Namespace


def approve(
    digest: Annotated[
        str,
        typer.Argument(help='plan digest or prefix; omit to review the pending plan'),
    ] = '',
    refuse: Annotated[bool, typer.Option('--refuse', help='refuse the plan')] = False,
    reason: Annotated[str, typer.Option(help='reason, for the record and the client')] = '',
    wait: Annotated[
        float, typer.Option(min=0, max=86400, help='seconds to wait for a pending plan')
    ] = 2.0,
    namespace: Namespace = '',
    as_json: AsJson = False,
) -> None:
    """Show the plan that waits for approval, and allow or refuse it."""
    from safegen_ros.cli.approval import Word, answer_plan

    word = Word(digest, not refuse, reason)
    raise typer.Exit(answer_plan(word, namespace, wait, as_json))
