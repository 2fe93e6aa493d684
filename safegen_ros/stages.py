# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The stages of a goal and the phases of its parts: the constants of the messages, as enumerations.

They are texts, so that they compare with what a message says.
"""

from __future__ import annotations

from enum import Enum


class _Text(str, Enum):
    __str__ = str.__str__


class GoalStage(_Text):
    """Which part of a `run_task` goal a feedback is about; see RunTask."""

    PLANNING = 'planning'
    APPROVAL = 'approval'
    EXECUTION = 'execution'
    REPLANNING = 'replanning'
    OBSERVATION = 'observation'


class PlanningPhase(_Text):
    """Where the planning of a goal stands; see PlanningProgress."""

    WAITING = 'waiting'
    TRANSLATING = 'translating'
    TRANSLATED = 'translated'
    UNDERSTOOD = 'understood'
    GENERATING = 'generating'
    VERIFYING = 'verifying'
    REHEARSING = 'rehearsing'
    JUDGED = 'judged'
    SEARCHING = 'searching'


class ExecutionPhase(_Text):
    """Where the execution of a plan stands; see ExecutionProgress."""

    VERIFYING = 'verifying'
    REHEARSING = 'rehearsing'
    PREPARING = 'preparing'
    MOVING = 'moving'
    OBSERVED = 'observed'
    DONE = 'done'
