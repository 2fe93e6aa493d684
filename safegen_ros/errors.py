# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The error codes of the stack and the exceptions that carry them.

`safegen_msgs/msg/ErrorCode.msg` mirrors every code; each part of the system has its own range, so a
client knows from the number which part refused.

    SafegenError
      BackendError
      Canceled
      RecordError
      RobotError
      TextError
        PddlError
          PddlErrors
        PlanFormatError
      UsageError
        BringupError

The rooms add their own subclasses.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from safegen_ros.untrusted import visible


class ErrorCode(IntEnum):
    """What ended a goal. 0 is success; everything else comes with a message."""

    NONE = 0
    UNKNOWN = 1

    # 100-199: the task that was sent cannot be understood.
    BAD_PDDL = 100
    UNKNOWN_DOMAIN = 101
    UNSUPPORTED_FEATURE = 102
    TASK_TOO_LARGE = 103
    EMPTY_TASK = 104
    UNKNOWN_FORMAT = 105
    UNKNOWN_STRATEGY = 106
    AMBIGUOUS_REQUEST = 107
    READING_NOT_ACCEPTED = 108

    # 200-299: no plan was found.
    BACKEND_FAILED = 200
    ATTEMPTS_EXHAUSTED = 201
    UNSOLVABLE = 202
    PLANNING_TIMEOUT = 203
    PLANNING_CANCELED = 204
    QUEUE_FULL = 205
    PLANNING_STOPPED = 206
    TRANSLATION_FAILED = 207

    # 300-399: there is no proof.
    VALIDATOR_UNAVAILABLE = 300
    PLAN_REFUSED = 301
    APPROVAL_REFUSED = 302
    APPROVAL_TIMEOUT = 303
    SITE_REFUSED = 304
    NOT_AUTHORIZED = 305

    # 400-499: the robot did not do what was proved.
    EXECUTOR_UNAVAILABLE = 400
    ROBOT_FAULT = 401
    LIMIT_VIOLATION = 402
    OUT_OF_REACH = 403
    STATE_MISMATCH = 404
    MONITOR_VIOLATION = 405
    GOAL_MISMATCH = 406
    EXECUTION_TIMEOUT = 407
    EXECUTION_CANCELED = 408
    UNSUPPORTED_SCENE = 409
    EXECUTION_STOPPED = 410
    REHEARSAL_FAILED = 411
    ARM_UNREACHABLE = 412
    JOURNAL_FAILED = 413

    # 500-599: the client's own side.
    SERVER_LOST = 500
    DEADLINE_EXCEEDED = 501
    GOAL_REJECTED = 502


ARM_FAULTS = (ErrorCode.UNKNOWN, ErrorCode.ROBOT_FAULT, ErrorCode.ARM_UNREACHABLE)
"""After these it is not known what the arm has done to the world."""


class SafegenError(Exception):
    """Base of every error that this package raises on purpose.

    Args:
        message: the place, the error there, and how to fix it.
        code: the number that a ROS client receives.
    """

    def __init__(self, message: str, code: ErrorCode = ErrorCode.UNKNOWN) -> None:
        self.message = visible(message)
        super().__init__(self.message)
        self.code = code

    def to_dict(self) -> dict[str, Any]:
        """The error for a program: its message and the name of its code."""
        return {'code': self.code.name, 'message': self.message}


class TextError(SafegenError):
    """An error at a place in a text: `source:line:col: what: how to fix it`.

    Args:
        source: file name, or a label such as `<problem>`.
        line: from 1; 0 when the text as a whole is meant.
        column: from 1, in characters; 0 when the text as a whole is meant.
        code: the number that a ROS client receives.

    Attributes:
        excerpt: the line with a caret under the place, where the text is known.
    """

    def __init__(
        self, what: str, *, source: str, line: int, column: int, cure: str, code: ErrorCode
    ) -> None:
        text = f'{source}:{line}:{column}: {what}' if line else f'{source}: {what}'
        super().__init__(f'{text}: {cure}' if cure else text, code)
        self.what = visible(what)
        self.source = visible(source)
        self.line = line
        self.column = column
        self.cure = visible(cure)
        self.excerpt = ''

    def to_dict(self) -> dict[str, Any]:
        """The error for a program, part by part."""
        return {
            'code': self.code.name,
            'source': self.source,
            'line': self.line,
            'column': self.column,
            'what': self.what,
            'cure': self.cure,
        }


class PddlError(TextError):
    """Text that is not PDDL as this stack reads it."""

    def __init__(
        self,
        what: str,
        *,
        source: str,
        line: int,
        column: int,
        cure: str = '',
        code: ErrorCode = ErrorCode.BAD_PDDL,
    ) -> None:
        super().__init__(what, source=source, line=line, column=column, cure=cure, code=code)

    @property
    def errors(self) -> tuple[PddlError, ...]:
        """Every error that was found in the text, this one first."""
        return (self,)


class PddlErrors(PddlError):
    """Several errors in one text; itself it is the first of them, its message lists all.

    Args:
        errors: at least one, in the order of the text.
    """

    def __init__(self, errors: Sequence[PddlError]) -> None:
        first = errors[0]
        super().__init__(
            first.what,
            source=first.source,
            line=first.line,
            column=first.column,
            cure=first.cure,
            code=first.code,
        )
        self.message = '\n'.join(error.message for error in errors)
        self.args = (self.message,)
        self._errors = tuple(errors)

    @property
    def errors(self) -> tuple[PddlError, ...]:
        """Every error that was found in the text, in its order."""
        return self._errors

    def to_dict(self) -> dict[str, Any]:
        """The first error for a program, with all of them as `errors`."""
        return {**super().to_dict(), 'errors': [error.to_dict() for error in self._errors]}


class PlanFormatError(TextError):
    """A plan text that is not a list of steps.

    Args:
        line: from 1; 0 when the text as a whole is meant.
        column: from 1.
        steps: how many steps stand before it.
    """

    def __init__(
        self, what: str, *, line: int = 0, column: int = 0, cure: str = '', steps: int = 0
    ) -> None:
        super().__init__(
            what,
            source='<plan>',
            line=line,
            column=column,
            cure=cure,
            code=ErrorCode.PLAN_REFUSED,
        )
        self.steps = steps

    def to_dict(self) -> dict[str, Any]:
        """The error for a program, part by part."""
        return {**super().to_dict(), 'steps': self.steps}


class BackendError(SafegenError):
    """The language model could not be loaded or could not answer."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.BACKEND_FAILED) -> None:
        super().__init__(message, code)


class Canceled(SafegenError):
    """The caller asked to stop; what was under way has stopped."""


class RobotError(SafegenError):
    """The arm, or its twin, could not execute its command."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.ROBOT_FAULT) -> None:
        super().__init__(message, code)


class RecordError(SafegenError):
    """A record that cannot be written or read back."""


class UsageError(SafegenError):
    """An argument, or a file that it names, that cannot be used; nothing was started."""


class BringupError(UsageError):
    """An argument, profile or file of the bring-up that is wrong; nothing was started."""
