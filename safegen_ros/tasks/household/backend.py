# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where a robot acts: one protocol, with our own world behind it, or a simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.tasks.household.actions import Action
from safegen_ros.tasks.household.draft import Feedback
from safegen_ros.tasks.household.observation import Observation, observe
from safegen_ros.tasks.household.scenes import load_scene
from safegen_ros.tasks.household.transitions import step
from safegen_ros.tasks.household.world import Setting, World, metadata


class Household(Protocol):
    """A household that is acted on, such as `TextHousehold`.

    Goals and constraints read nothing but `metadata`, which has AI2-THOR's names; `thor` has an
    adapter for AI2-THOR itself.
    """

    def reset(
        self, scene: str, setting: Setting, setup: Sequence[Mapping[str, Any]] = ()
    ) -> Observation:
        """Sets a scene up, and looks at it.

        Args:
            scene: its name.
            setting: what makes it hard.
            setup: calls of AI2-THOR that prepare it, each with `action` and `args`.

        Raises:
            SafegenError: there is no such scene, or it cannot be prepared so.
        """
        ...

    def step(self, action: Action) -> Observation:
        """Takes an action, and looks what came of it; a refusal is in the feedback."""
        ...

    def metadata(self) -> list[dict[str, Any]]:
        """Every object with its state, by THOR's names, hidden ones included."""
        ...


class TextHousehold:
    """Our own world.

    Attributes:
        world: the household as it is now.
    """

    def __init__(self) -> None:
        self.world: World

    def reset(
        self, scene: str, setting: Setting, setup: Sequence[Mapping[str, Any]] = ()
    ) -> Observation:
        """Sets a scene up, and looks at it; raises as `load_scene`."""
        if setup:
            raise SafegenError(
                f'{scene}: it is to be prepared by calls of AI2-THOR: run it there',
                ErrorCode.UNSUPPORTED_FEATURE,
            )
        self.world = load_scene(scene, setting)
        return observe(self.world, Feedback(True, ''))

    def step(self, action: Action) -> Observation:
        """Takes an action, and looks what came of it."""
        self.world, feedback, _ = step(self.world, action)
        return observe(self.world, feedback)

    def metadata(self) -> list[dict[str, Any]]:
        """Every object with its state, by THOR's names."""
        return metadata(self.world)
