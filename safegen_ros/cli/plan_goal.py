# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The goals of `safegen run --plan-only`, and with a request in plain words."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape

from safegen_msgs.action import PlanTask
from safegen_ros.cli.demo import run_goal
from safegen_ros.cli.display import RunDisplay, verdict_values
from safegen_ros.cli.failures import ExitStatus
from safegen_ros.cli.text_request import TextRequest
from safegen_ros.client import Client, Goal, Options
from safegen_ros.errors import ErrorCode
from safegen_ros.goals.recorder import planned
from safegen_ros.goals.request import IN_WORDS, GoalRequest, TranslatedRequest, check_goal_options
from safegen_ros.record.signatures import shown_request
from safegen_ros.ros import conversions
from safegen_ros.ros.record_conversions import step_texts
from safegen_ros.ros.stack_state import absolute_namespace
from safegen_ros.tasks.pddl3.formats import WORDS
from safegen_ros.tasks.planetarium.request import read_request
from safegen_ros.terminal import Console


def plan_task(
    asked: GoalRequest | TextRequest, options: Options, namespace: str, as_json: bool
) -> int:
    """Runs `safegen run --plan-only`: attempts go to standard error, the plan to standard output.

    Returns:
        The exit status.

    Raises:
        SafegenError: a request cannot be used, or there is no answer.
    """
    if isinstance(asked, TextRequest):
        text, domain, format, options = asked.text, asked.domain, WORDS, asked.options(options)
    else:
        text, domain, format = asked.task.problem_text, asked.domain_text, asked.task.format
    place = absolute_namespace(namespace)
    console = Console(stderr=True)
    with RunDisplay(console) as display, Client(place) as client:

        def start() -> Goal[PlanTask.Result]:
            return client.start_plan(
                text, domain, options, lambda told: display.planning(told.progress), format
            )

        result, _ = planned(client, start, display.show)
    failed = result.error_code != ErrorCode.NONE
    if as_json:
        print(json.dumps(plan_values(result)))
    elif failed:
        name = ErrorCode(result.error_code).name
        console.print(f'[bold red]{name}[/] {escape(result.error_msg)}', highlight=False)
    else:
        console.print(f'[green]proved[/], written by {escape(result.plan.source)}', highlight=False)
        print('\n'.join(step_texts(result.plan)))
    return ExitStatus.FAILED if failed else ExitStatus.OK


def plan_values(result: Any) -> dict[str, Any]:
    """A `PlanTask.Result` as values for JSON."""
    attempts = [
        {
            'number': each.number,
            'source': each.source,
            'seconds': each.seconds,
            'text': each.text,
            **verdict_values(
                conversions.verdict_from_msg(each.verdict), step_texts(each.plan) or None
            ),
        }
        for each in result.attempts
    ]
    return {
        'error': ErrorCode(result.error_code).name,
        'message': result.error_msg,
        'plan': list(step_texts(result.plan)),
        'source': result.plan.source,
        'seconds': conversions.seconds_of(result.planning_time),
        'attempts': attempts,
        'problem': result.problem,
        'reading': result.reading,
        'reading_digest': result.reading_digest,
        'question': result.question,
    }


_MEANT = ('Is this what you mean?', 'Is this what you mean, despite the doubts?')


def understood(
    client: Client, spoken: TextRequest, options: Options, display: RunDisplay, yes: bool
) -> tuple[GoalRequest | None, Any]:
    """Has a stack read a request, and the reading accepted by a person or by its digest.

    The user is asked on a terminal. Without one, and without a digest, the goal asks for approval:
    its plan waits for an operator, who sees what the request was read as. A reading in doubt is
    refused then.

    Args:
        options: of the goal that will be sent for it; `accept_reading` is the digest.
        display: shows the problem in canonical words and in PDDL.
        yes: whether the user is not asked here.

    Returns:
        The problem to send instead of the words, exactly as shown; None where there is
        none, or the user did not agree. And the `PlanTask.Result` that says why.

    Raises:
        SafegenError: the request cannot be read, or there is no answer.
    """
    given = (spoken.text, spoken.domain, spoken.constraints, spoken.start)
    domain = read_request(*given).domain_text
    asked = replace(spoken.options(options), translate_only=True)

    def start() -> Goal[PlanTask.Result]:
        return client.start_plan(
            spoken.text, spoken.domain, asked, lambda told: display.planning(told.progress), WORDS
        )

    result, events = planned(client, start, display.show)
    display.close()
    if result.error_code != ErrorCode.NONE:
        code = ErrorCode(result.error_code).name
        display.line(f'[bold red]{code}[/] {escape(result.error_msg)}')
        return None, result
    accepted = options.accept_reading
    if accepted not in ('', result.reading_digest):
        display.line(
            '[bold red]READING_NOT_ACCEPTED[/] this reading is not the accepted one, '
            f'{escape(accepted)}: nothing was planned, and nothing moved'
        )
        return None, result
    asks = not (accepted or yes) and sys.stdin.isatty()
    for doubt in result.question.splitlines():
        display.line(f'[bold red]in doubt[/] {escape(doubt)}')
    if result.question and not (accepted or asks):
        display.line(
            '[bold red]READING_NOT_ACCEPTED[/] nothing was planned: run it on a terminal without '
            f'--yes, or let a person accept it (--accept-reading {result.reading_digest})'
        )
        return None, result
    # The reading itself is sent; an operator sees the request beside it.
    options = replace(
        options, accept_reading='', request=shown_request(spoken.text, result.question)
    )
    if not (accepted or asks):
        display.line('not confirmed here: the plan waits for an operator')
        options = replace(options, approval=True)
    elif asks and not typer.confirm(_MEANT[bool(result.question)], err=True):
        display.line('nothing was planned, and nothing moved: say it in other words')
        return None, result
    task, translated = TranslatedRequest.of(spoken.text, domain, asked, result, events)
    return GoalRequest(Path(IN_WORDS), task, domain, options, spoken=translated), result


def run_request(
    spoken: TextRequest,
    options: Options,
    namespace: str,
    console: Console,
    yes: bool,
    as_json: bool,
    done: Callable[[Path], None],
) -> int:
    """Runs `safegen run` with a request in words; returns the exit status.

    Args:
        yes: whether the user is not asked here if the request was understood.
        as_json: whether to print the reading of a request that was not PDDL, as with `--plan-only`.
        done: as of `run_goal`.

    Raises:
        SafegenError: as `understood` and `run_goal`.
    """
    check_goal_options(options)
    with RunDisplay(console) as display, Client(absolute_namespace(namespace)) as client:
        asked, result = understood(client, spoken, options, display, yes)
    if asked is not None:
        return run_goal(asked, namespace, console, done=done)
    if as_json:
        print(json.dumps(plan_values(result)))
    return ExitStatus.FAILED
