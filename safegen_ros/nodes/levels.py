# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the parameters of the planner node and a goal say about who is asked for a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from safegen_ros.errors import ErrorCode
from safegen_ros.llm.backend import Backend, Sampling
from safegen_ros.llm.model_names import named_model
from safegen_ros.llm.open_backend import open_backend
from safegen_ros.llm.openai_backend import RetryPolicy
from safegen_ros.paths import data_path
from safegen_ros.planning.loop import Level, Skipped
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.planning.hierarchy.complexity import thresholds_of
from safegen_ros.tasks.pddl3.planning.proposer import ModelProposer
from safegen_ros.tasks.pddl3.planning.retry import Temperatures
from safegen_ros.tasks.pddl3.planning.strategy import levels_of
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle, PromptStyle, style_of
from safegen_ros.tasks.pddl3.task import Pddl3Task


def open_model(values: Mapping[str, Any]) -> tuple[PromptStyle, Backend]:
    """The model that the parameters name, and how it is asked.

    Raises:
        SafegenError: it cannot be opened.
    """
    name = named_model(values['model'])
    style = style_of(str(data_path(values['prompts'])) if values['prompts'] else name)
    return style, backend_of(name, values)


def backend_of(name: str, values: Mapping[str, Any]) -> Backend:
    """A model by its name, as `named_model` has it, opened as the parameters say."""
    return open_backend(
        name,
        device=values['device'],
        four_bit=values['four_bit'],
        batch=values['goals_at_once'],
        key_env=values['api_key_env'],
        retry=RetryPolicy(silence_s=values['server_silence'], tries=values['server_tries']),
    )


def sampling_of(values: Mapping[str, Any], goal: Any) -> Sampling:
    """How the first answer for a goal is drawn."""
    return Sampling(
        temperature=values['temperature'],
        top_p=values['top_p'],
        max_new_tokens=values['max_new_tokens'],
        seed=goal.seed or values['seed'],
    )


def levels_for(
    task: Pddl3Task, goal: Any, values: Mapping[str, Any], backend: Backend, style: PromptStyle
) -> tuple[Level, ...]:
    """Who is asked for a plan of a PDDL task, in order.

    Args:
        task: of the goal.
        goal: a goal of `plan_task` or `run_task`.
        values: of the parameters, for what the goal leaves open.
        backend: the model.
        style: how it is asked.

    Raises:
        SafegenError: the goal names what there is not (`UNKNOWN_STRATEGY`).
    """
    proposer = ModelProposer(
        task,
        backend,
        style,
        sampling_of(values, goal),
        Temperatures(values['temperature'], values['temperature_step'], values['temperature_max']),
        goal.feedback or values['feedback'],
        thresholds_of(
            task.problem.domain.name,
            values['simple_objects'],
            values['simple_open_goals'],
            values['simple_steps'],
        ),
    )
    fallback = goal.search_fallback and values['search_fallback']
    return levels_of(
        goal.strategy or values['strategy'],
        proposer,
        (lambda left, stop: solve(task.problem, time_limit_s=left, cancelled=stop).plan)
        if fallback
        else None,
        goal.max_attempts or values['max_attempts'],
    )


def require_chat(name: str, style: PromptStyle) -> None:
    """Raises `Skipped` where a model cannot be asked in words that are not those of its prompts."""
    if not isinstance(style, InstructStyle):
        raise Skipped(
            f'model {name} knows the words of its own prompts and answers no chat: start the '
            'planner with a chat model, such as model:=http://HOST:PORT/v1#MODEL',
            ErrorCode.UNSUPPORTED_FEATURE,
        )
