# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The options of a goal on the command line, made from the fields of `Options`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Annotated, Any, TypeVar

import typer

from safegen_ros.goal_options import MAX_BUDGET_S, Options
from safegen_ros.planning.levels import FEEDBACK, LEVELS

TIME_BUDGET_S = 240.0
"""For a goal of the command line, where nothing is said [s]."""

_TYPES = {'bool': bool, 'int': int, 'float': float, 'str': str}

Result = TypeVar('Result')


def takes_goal_options(verb: str) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Replaces the parameter `options` of a verb by the options that `Options` has for it."""
    mine = [each for each in fields(Options) if verb in each.metadata.get('verbs', ())]
    added = [_parameter(each) for each in mine]

    def decorate(function: Callable[..., Result]) -> Callable[..., Result]:
        own = inspect.signature(function, eval_str=True)

        @wraps(function)
        def called(**values: Any) -> Result:
            goal = {
                each.name: values.pop(parameter.name)
                for each, parameter in zip(mine, added, strict=True)
            }
            return function(**values, options=Options(**goal))

        parameters: list[inspect.Parameter] = []
        for parameter in own.parameters.values():
            found = added if parameter.name == 'options' else [parameter]
            parameters += [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in found]
        vars(called)['__signature__'] = own.replace(parameters=parameters)
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        return called

    return decorate


def _parameter(each: Any) -> inspect.Parameter:
    """The parameter of a command for a field."""
    flag, most, default = each.metadata['flag'], each.metadata['most'], each.default
    told: dict[str, Any] = {
        'help': each.metadata['help'].format(levels=', '.join(LEVELS), feedback=' '.join(FEEDBACK))
    }
    if each.name == 'time_budget_s':
        told.update(min=1, max=int(MAX_BUDGET_S))
        default = TIME_BUDGET_S
    elif each.name == 'approval_timeout_s':
        told.update(min=0, max=int(MAX_BUDGET_S))
    elif most is not None:
        told.update(min=0, max=most)
    elif each.name == 'accept_reading':
        told['metavar'] = 'DIGEST'
    switches = (flag,) if flag.startswith('--') else ()
    return inspect.Parameter(
        flag.removeprefix('--').replace('-', '_'),
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[_TYPES[each.type], typer.Option(*switches, **told)],
    )
