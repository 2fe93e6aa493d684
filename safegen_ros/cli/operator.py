# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the verbs of the operator ask of the nodes, and how they print the answers."""

from __future__ import annotations

from typing import Any

from safegen_ros.cli.failures import print_answer
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.nodes.release_store import MOVING, NEW, RELEASED, ReleaseStore
from safegen_ros.nodes.stop_socket import ANSWER_S
from safegen_ros.ros.stack_state import (
    absolute_namespace,
    current_domain,
    is_held,
    nobody_listens,
    read_state,
)

DISCOVERY_S = 3.0
"""How long nodes may take to be found [s]; those that are there are found sooner."""

RESET_ANSWER_S = 60.0
"""The same for a reset, which connects to an arm that may be silent, and asks it again."""


def stop_stack(place: str, as_json: bool, silent: bool) -> int:
    """Calls the service `stop`; returns the exit status.

    Args:
        place: the namespace, absolute.
        silent: whether an executor here was asked already, and does not answer.

    Raises:
        SafegenError: no executor answers (`SERVER_LOST`), or another process in its place. The stop
            is stored, so that an executor that runs here or starts here stops.
    """
    answer, found = _stop(place, silent)
    if answer is not None:
        if not (answer.success and _may_move(place)):
            return print_answer(answer.success, answer.message, as_json)
        found = f', though another process answers in its place{found}'
    raise SafegenError(
        f'{_nobody(place)}{found}: {_store_stop(place)}; if something moves, use the emergency '
        'stop of the arm',
        ErrorCode.SERVER_LOST,
    )


def _stop(place: str, silent: bool) -> tuple[Any, str]:
    """The answer of the service `stop`, None where none comes, and the stacks elsewhere."""
    if nobody_listens(current_domain()):
        return None, ''
    from std_srvs.srv import Trigger

    from safegen_ros.client import Client
    from safegen_ros.ros.calls import answer_of
    from safegen_ros.ros.liveness import stacks_elsewhere

    with Client(place) as client:
        # Unsigned, and by anybody; the other commands may have to be signed.
        caller: Any = client.node.create_client(Trigger, 'stop')
        there = not silent and caller.wait_for_service(DISCOVERY_S)
        found, lost = stacks_elsewhere(client.node, place), ErrorCode.SERVER_LOST
        try:
            if there:
                return answer_of(caller, Trigger.Request(), ANSWER_S, 'it', lost), found
        except SafegenError as error:
            if error.code is not lost:
                raise
        return None, found


def _may_move(place: str) -> bool:
    """Whether an executor of this user is released all the same; it stores a stop, then answers."""
    return ReleaseStore(current_domain(), place).read().state in (RELEASED, MOVING)


def _store_stop(place: str) -> str:
    """Stores a stop for an executor that does not answer; returns the result in words."""
    try:
        store = ReleaseStore(current_domain(), place)
        store.add_stop('safegen stop was called, and no executor answered', store.read().count + 1)
    except (OSError, SafegenError) as error:
        return f'NOTHING WAS STOPPED, and the stop could not be stored: {error}'
    return (
        'the stop is stored: an executor of this user that runs, goes on or starts there is '
        'stopped until a reset'
    )


def reset_stack(namespace: str, as_json: bool) -> int:
    """Calls the service `reset`; returns the exit status.

    Without any executor, a simulated cell is released: the real arm is only with its stack running.
    """
    place = absolute_namespace(namespace)
    answer, found = _call(place, 'reset')
    if answer is not None:
        return print_answer(answer.success, answer.message, as_json)
    try:
        return print_answer(True, _release_stored(place, found), as_json)
    except OSError as error:
        return print_answer(False, f'it stays stopped: {error}', as_json)


def _release_stored(place: str, found: str) -> str:
    """Releases a simulated cell whose executor does not run; returns the result in words.

    Raises:
        OSError: it cannot be told that none runs, or the release could not be stored.
        SafegenError: an executor may run, or the stack does, where this process finds none.
    """
    domain = current_domain()
    where = f'namespace {place} of ROS_DOMAIN_ID {domain}'
    if is_held(domain, place):
        running = read_state(domain, place)
        process = f' (process {running.pid})' if running else ''
        raise SafegenError(
            f'a stack runs in {where}{process}, but its executor does not answer: nothing is '
            'reset. Look at `safegen status` and the log of the stack',
            ErrorCode.SERVER_LOST,
        )
    with ReleaseStore(domain, place) as store:
        if store.read().state == NEW:
            return f'no executor is there, and nothing was ever stopped in {where}{found}'
        if not store.own():
            raise SafegenError(
                f'the executor of {where} runs ({store.owner()}) and does not answer: nothing is '
                'reset. End it, or find out why it does not answer',
                ErrorCode.SERVER_LOST,
            )
        stored = store.read()
        if stored.state == RELEASED:
            return f'no executor is there, and no stop was left in {where}'
        stored = store.release(store.stops(), arm=False, count=stored.count)
    if stored.state != RELEASED:
        raise OSError(stored.reason)
    return (
        f'no executor is there: a simulated cell may move again in {where}; the real arm needs a '
        'reset while its stack runs'
    )


def command(namespace: str, name: str) -> Any:
    """The answer of the executor to a command.

    Raises:
        SafegenError: there is no executor (`SERVER_LOST`), and nothing was done.
    """
    place = absolute_namespace(namespace)
    answer, found = _call(place, name)
    if answer is None:
        raise SafegenError(f'{_nobody(place)}{found}: start the stack first', ErrorCode.SERVER_LOST)
    return answer


def _nobody(place: str) -> str:
    return f'no executor answers in namespace {place} of ROS_DOMAIN_ID {current_domain()}'


def _call(place: str, command: str) -> tuple[Any, str]:
    """The answer of the executor to a command, None without an executor, and the stacks elsewhere.

    It is sent once: repeated on its own, a reset could take back a stop that came in between.
    """
    if nobody_listens(current_domain()):
        return None, ''
    from safegen_ros.client import Client
    from safegen_ros.ros.commands import CommandClient
    from safegen_ros.ros.liveness import stacks_elsewhere

    with Client(place) as client:
        commands = CommandClient(client.node, 'executor')
        answer_s = RESET_ANSWER_S if command == 'reset' else ANSWER_S
        there = commands.wait(DISCOVERY_S)
        answer = commands.do(command, timeout_s=answer_s) if there else None
        return answer, stacks_elsewhere(client.node, place)
