# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The planners of whole plans for several arms: a model, and the search."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Backend
from safegen_ros.planning.levels import SHIELD, level_names
from safegen_ros.planning.loop import MODEL, SEARCH, History, Level, Skipped
from safegen_ros.sync import PlanningDeadline
from safegen_ros.tasks.boxnet.planner import constrained_plans
from safegen_ros.tasks.boxnet.styles import ChatStyle, MapStyle, Style, style_of
from safegen_ros.tasks.context import ModelOpener, PlanningContext

if TYPE_CHECKING:
    from safegen_ros.tasks.boxnet.goal import BoxnetGoal

SHIPPED = 'models/safegen-boxnet-mini'
"""Plans for several arms where no model is named and the planner's own answers no chat."""


def open_model(values: Mapping[str, Any], models: ModelOpener) -> None:
    """Opens the model that parameter `arms_model` names.

    Raises:
        SafegenError: it cannot be opened, or neither answers a chat nor knows the words of such
            maps.
    """
    models.opened(values['arms_model'], style_of)


def levels(goal: BoxnetGoal, context: PlanningContext) -> tuple[Level, ...]:
    """The levels of the strategy that plan for several arms.

    Others that the node is set to ask are for PDDL tasks, and are left out; a goal must not name
    them.

    Raises:
        SafegenError: the goal names a level that there is not here (`UNKNOWN_STRATEGY`).
    """
    names = level_names(context.strategy)
    unfit = [name for name in names if name not in (MODEL, SEARCH)]
    if unfit and context.goal.strategy:
        raise SafegenError(
            f'planner {unfit[0]} is for PDDL tasks: for one in format {goal.format} name {MODEL}, '
            f'{SEARCH}, or both',
            ErrorCode.UNKNOWN_STRATEGY,
        )
    named = context.values['arms_model']
    # The shield labels plans whose model chooses among admissible moves.
    source = MODEL

    def model() -> tuple[Style, Backend]:
        if not named and context.chat:
            return ChatStyle(), context.backend
        return context.models.opened(named or SHIPPED, style_of)

    if named or not context.chat:
        words = not named or isinstance(model()[0], MapStyle)
        source = SHIELD if words else MODEL

    def asked(history: History, deadline: PlanningDeadline) -> Generator[str, None, None]:
        style, backend = model()
        yield from _plans(goal, context, (style, backend), history, deadline)

    def searched(history: History, deadline: PlanningDeadline) -> Generator[str, None, None]:
        if not context.may_search:
            raise Skipped('the search is turned off')
        yield goal.solve(deadline.left_s, deadline.cancelled)

    found = {
        MODEL: Level(source, context.max_attempts, asked),
        SEARCH: Level(SEARCH, 1, searched),
    }
    return tuple(found[name] for name in names if name in found)


def _plans(
    goal: BoxnetGoal,
    context: PlanningContext,
    model: tuple[Style, Backend],
    history: History,
    deadline: PlanningDeadline,
) -> Generator[str, None, None]:
    """Whole plans; a model of words is held to those that may be said."""
    style, backend = model
    ask = context.asking(deadline.over, backend)
    if not isinstance(style, MapStyle):
        yield from goal.proposals(ask, history)
        return
    if not goal.task.is_flat:
        raise Skipped(
            'the model that plans for several arms knows flat maps only: name a chat model, '
            'such as arms_model:=http://HOST:PORT/v1#MODEL',
            ErrorCode.UNSUPPORTED_FEATURE,
        )
    try:
        yield from constrained_plans(goal.task, ask, style)
    except SafegenError as error:
        if error.code is not ErrorCode.TASK_TOO_LARGE:
            raise
        raise Skipped(error.message, error.code) from error
