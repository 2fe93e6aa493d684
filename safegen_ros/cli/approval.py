# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What an operator sees of a plan that waits, and how their word reaches the planner."""

from __future__ import annotations

import getpass
import json
import sys
import threading
import time
from typing import Any

from safegen_ros.cli.failures import ExitStatus, print_answer, print_error
from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.nodes.approval import Approver
from safegen_ros.record.signatures import doubts_and_request
from safegen_ros.ros import conversions
from safegen_ros.ros.liveness import why_missing
from safegen_ros.ros.record_conversions import step_texts
from safegen_ros.ros.stack_state import absolute_namespace, current_domain, require_stack
from safegen_ros.verdict import Category

ANSWER_S = 5.0
"""How long the planner may take to answer [s]."""

MIN_DIGEST = 8
"""Fewest digits of a digest that name a plan."""


def answer_plan(
    digest: str, approve: bool, reason: str, namespace: str, wait_s: float, as_json: bool
) -> int:
    """Runs `safegen approve`; returns the exit status.

    Args:
        digest: of a plan, or how that begins; empty where none was named.
        approve: whether it is allowed.

    Raises:
        SafegenError: no such plan waits, or no planner is there.
    """
    if 0 < len(digest) < MIN_DIGEST:
        raise SafegenError(
            f'digest {digest!r} is too short: give at least {MIN_DIGEST} of its digits'
        )
    place = absolute_namespace(namespace)
    require_stack(place)
    where = f'namespace {place} of ROS_DOMAIN_ID {current_domain()}'
    with Client(place) as client:
        approver = Approver(client.node)
        pending = approver.wait(wait_s, digest)
        if pending is None and not approver.connected:
            raise SafegenError(
                f'no planner answers in {where}: '
                f'{why_missing(client.node, client.heartbeats, "planner")}',
                ErrorCode.SERVER_LOST,
            )
        if pending is None:
            what = f'plan of digest {digest}' if digest else 'plan'
            raise SafegenError(f'no {what} waits for approval in {where}')
        if not as_json:
            print('\n'.join(lines(pending)))
        if not digest and approve:
            if as_json or not sys.stdin.isatty():
                return _shown(pending, as_json)
            approve = _yes()
        answer = _say(approver, pending.digest, approve, reason)
    return print_answer(answer.success, answer.message, as_json)


def _shown(pending: Any, as_json: bool) -> int:
    """Prints how to approve the plan, if there is no terminal; nothing is approved by that."""
    if as_json:
        print(json.dumps(_values(pending)))
    else:
        command = f'safegen approve {pending.digest[:MIN_DIGEST]}'
        print_error(f'nothing was approved, as there is no terminal to ask on: use {command}')
    return ExitStatus.BAD_INPUT


def _say(approver: Approver, digest: str, approve: bool, reason: str = '') -> Any:
    return approver.say(digest, approve, getpass.getuser(), reason, ANSWER_S)


def _yes() -> bool:
    """Asks, on standard error as the output may be for a program; raises `EOFError` at its end."""
    print('execute it? [y/N] ', end='', file=sys.stderr, flush=True)
    answer = sys.stdin.readline()
    if not answer:
        raise EOFError
    return answer.strip().lower() in ('y', 'yes')


def lines(pending: Any) -> list[str]:
    """A `PendingPlan` as a person reads it: task, steps, verdict and duration."""
    task = conversions.task_from_msg(pending.task)
    verdict = Category(pending.verdict.category).name
    left = pending.expires.sec + pending.expires.nanosec * 1e-9 - time.time()
    again = f', {pending.replans} replans' if pending.replans else ''
    doubts, words = doubts_and_request(pending.request)
    return [
        *([repr(doubts)] if doubts else []),
        *([f'request {words!r}, read by a model as'] if words else []),
        f'task {task.name}{again}',
        *(f'  {title:<11} {text}' for title, text in task.summary()),
        f'plan by {pending.plan.source}: {verdict}',
        *(f'  {index:>3} {step}' for index, step in enumerate(step_texts(pending.plan), start=1)),
        f'digest {pending.digest}',
        f'it counts as refused in {max(left, 0.0):.0f} s',
    ]


def _values(pending: Any) -> dict[str, Any]:
    return {
        'digest': pending.digest,
        'goal_id': bytes(pending.goal_id.uuid).hex(),
        'request': pending.request,
        'problem': pending.task.problem,
        'plan': list(step_texts(pending.plan)),
        'verdict': Category(pending.verdict.category).name,
        'replans': pending.replans,
        'expires': pending.expires.sec + pending.expires.nanosec * 1e-9,
    }


class Asking:
    """Asks at the terminal about each plan of a goal that waits; anybody else may answer, too.

    Args:
        client: whose node talks to the planner.
    """

    def __init__(self, client: Client) -> None:
        self._approver = Approver(client.node)

    def ask(self, pending: Any) -> None:
        """Begins to ask; a separate thread waits for the answer, which may never come."""
        threading.Thread(target=self._ask, args=(pending.digest,), daemon=True).start()

    def _ask(self, digest: str) -> None:
        try:
            approve = _yes()
        except EOFError:  # no operator here: the plan waits for an approval elsewhere
            return
        try:
            answer = _say(self._approver, digest, approve)
            if not answer.success:
                print_error(answer.message)
        except SafegenError as error:
            if error.code is not ErrorCode.SERVER_LOST:
                raise
            print_error(error.message)
