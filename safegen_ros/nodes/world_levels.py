# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who is asked for a plan of a task whose world asks a model, and searches, by itself."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Backend
from safegen_ros.nodes.levels import sampling_of
from safegen_ros.nodes.own_models import OwnModels
from safegen_ros.planning.feedback import feedback_named
from safegen_ros.planning.levels import SHIELD, level_names
from safegen_ros.planning.loop import MODEL, SEARCH, Deadline, History, Level, Skipped
from safegen_ros.tasks.boxnet.goal import BoxnetGoal
from safegen_ros.tasks.boxnet.planner import held_plans
from safegen_ros.tasks.boxnet.spatial.model import SpatialTask
from safegen_ros.tasks.boxnet.styles import ChatStyle, MapStyle, Style, style_of
from safegen_ros.tasks.pddl3.prompts import styles
from safegen_ros.tasks.task import ActionTask, Asking

SHIPPED = 'models/safegen-boxnet-mini'
"""Plans for several arms where no model is named and the planner's own answers no chat."""


class ArmsModel:
    """The model that plans for several arms.

    Args:
        values: of the planner's parameters.
        style: how the planner's model is asked.
        backend: that model.

    Raises:
        SafegenError: parameter `arms_model` names a model that cannot be opened, or that neither
            answers a chat nor knows the words of such maps.
    """

    def __init__(
        self, values: Mapping[str, Any], style: styles.PromptStyle, backend: Backend
    ) -> None:
        self._values = values
        self._own: OwnModels[Style] = OwnModels(values, style_of)
        self._model: tuple[Style, Backend] | None = None
        if values['arms_model']:
            self._model = self._own.opened(values['arms_model'])
        elif isinstance(style, styles.InstructStyle):
            self._model = ChatStyle(), backend

    @property
    def source(self) -> str:
        """What its plans are labelled with: the shield, where it chooses among admissible moves."""
        chat = self._model is not None and not isinstance(self._model[0], MapStyle)
        return MODEL if chat else SHIELD

    def plans(
        self, task: BoxnetGoal, goal: Any, history: History, deadline: Deadline
    ) -> Generator[str, None, None]:
        """Whole plans; a model of words is held to those that may be said.

        Args:
            task: the map.
            goal: that it belongs to.
            history: what became of the plans before.
            deadline: of the goal.

        Raises:
            Skipped: the map is beyond a model of words.
        """
        style, backend = self._model or self._own.opened(SHIPPED)
        show = feedback_named(goal.feedback or self._values['feedback'])
        ask = Asking(backend, sampling_of(self._values, goal), show, deadline.over)
        if not isinstance(style, MapStyle):
            yield from task.proposals(ask, history)
            return
        if isinstance(task.task, SpatialTask):
            raise Skipped(
                'the model that plans for several arms knows flat maps only: name a chat model, '
                'such as arms_model:=http://HOST:PORT/v1#MODEL',
                ErrorCode.UNSUPPORTED_FEATURE,
            )
        try:
            yield from held_plans(task.task, ask, style)
        except SafegenError as error:
            if error.code is not ErrorCode.TASK_TOO_LARGE:
                raise
            raise Skipped(error.message, error.code) from error

    def close(self) -> None:
        """Lets go of a model of its own."""
        self._own.close()


def world_levels(
    task: ActionTask, goal: Any, values: Mapping[str, Any], arms: ArmsModel | None
) -> tuple[Level, ...]:
    """Who is asked, in order.

    Other levels that the node is set to ask are for PDDL tasks, and are left out; a goal must not
    name them.

    Args:
        task: of the goal.
        goal: of `plan_task` or `run_task`.
        values: of the planner's parameters, for what the goal leaves open.
        arms: the model for several arms; None while the node is not configured.

    Raises:
        SafegenError: there is no model, the task is none that is planned for as a whole
            (`UNSUPPORTED_FEATURE`), or the goal names a level that there is not here
            (`UNKNOWN_STRATEGY`).
    """
    if arms is None:
        raise SafegenError('the planner has no model open: configure it')
    if not isinstance(task, BoxnetGoal):
        raise SafegenError(
            f'a task in format {task.format} is worked on step by step: send it so',
            ErrorCode.UNSUPPORTED_FEATURE,
        )
    names = level_names(goal.strategy or values['strategy'])
    unfit = [name for name in names if name not in (MODEL, SEARCH)]
    if unfit and goal.strategy:
        raise SafegenError(
            f'level {unfit[0]} is for PDDL tasks: for one in format {task.format} name {MODEL}, '
            f'{SEARCH}, or both',
            ErrorCode.UNKNOWN_STRATEGY,
        )
    fallback = goal.search_fallback and values['search_fallback']

    def asked(history: History, deadline: Deadline) -> Generator[str, None, None]:
        yield from arms.plans(task, goal, history, deadline)

    def searched(history: History, deadline: Deadline) -> Generator[str, None, None]:
        if not fallback:
            raise Skipped('the search is turned off')
        yield task.solve(deadline.left_s, deadline.cancelled)

    attempts = goal.max_attempts or values['max_attempts']
    levels = {MODEL: Level(arms.source, attempts, asked), SEARCH: Level(SEARCH, 1, searched)}
    return tuple(levels[name] for name in names if name in levels)
