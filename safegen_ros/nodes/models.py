# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The models of the planner node: the one that writes its plans, and others opened when needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from safegen_ros.llm.backend import Backend, Sampling
from safegen_ros.llm.model_names import named_model
from safegen_ros.llm.open_backend import open_backend
from safegen_ros.llm.openai_backend import RetryPolicy
from safegen_ros.paths import data_path
from safegen_ros.sync import Closing
from safegen_ros.tasks.context import Style
from safegen_ros.tasks.pddl3.prompts.styles import PromptStyle, style_of


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


class LazyModels(Closing):
    """Opens models once; goals may come together.

    Args:
        values: of the planner's parameters.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self._open: dict[tuple[str, object], tuple[Any, Backend]] = {}
        self._lock = threading.Lock()

    def opened(self, model: str, style_of: Callable[[str], Style]) -> tuple[Style, Backend]:
        """A model, and how it is asked, by its name as `named_model` has it.

        Raises:
            SafegenError: it cannot be opened, or is not for this.
        """
        with self._lock:
            if (model, style_of) not in self._open:
                name = named_model(model)
                self._open[model, style_of] = style_of(name), backend_of(name, self._values)
            return self._open[model, style_of]

    def close(self) -> None:
        """Lets go of them."""
        for _, backend in self._open.values():
            backend.close()
