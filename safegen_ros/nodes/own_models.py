# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Models of the planner beside the one that writes its plans, opened when they are asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from safegen_ros.closing import Closing
from safegen_ros.llm.backend import Backend
from safegen_ros.llm.model_names import named_model
from safegen_ros.nodes.levels import backend_of

Style = TypeVar('Style')


class OwnModels(Closing, Generic[Style]):
    """Opens models once; goals may come together.

    Args:
        values: of the planner's parameters.
        style_of: how a model is asked, by its name as `named_model` has it.
    """

    def __init__(self, values: Mapping[str, Any], style_of: Callable[[str], Style]) -> None:
        self._values, self._style_of = values, style_of
        self._open: dict[str, tuple[Style, Backend]] = {}
        self._lock = threading.Lock()

    def opened(self, model: str) -> tuple[Style, Backend]:
        """A model, and how it is asked.

        Raises:
            SafegenError: it cannot be opened, or is not for this.
        """
        with self._lock:
            if model not in self._open:
                name = named_model(model)
                self._open[model] = self._style_of(name), backend_of(name, self._values)
            return self._open[model]

    def close(self) -> None:
        """Lets go of them."""
        for _, backend in self._open.values():
            backend.close()
