# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a record tells about a task that came in words: the model's answers, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """What a model wrote for a task in words.

    Attributes:
        reading: which of the independent translations it belongs to, from 1.
        attempt: of that reading, from 1.
        text: as the model wrote it.
        refused: why it could not be used; empty when it could.
    """

    reading: int
    attempt: int
    text: str
    refused: str


@dataclass(frozen=True, slots=True)
class UnderstoodRecord:
    """What a task in words was understood as.

    Attributes:
        name: name of the PDDL problem.
        domain_name: name of its domain.
        domain: PDDL; empty for the built-in domain of that name.
        problem: PDDL, with all constraints.
        reading: the same in canonical words.
        question: what was asked instead; all else is empty then.
        digest: of request, problem and reading; a client accepts the reading by it.
    """

    name: str = ''
    domain_name: str = ''
    domain: str = ''
    problem: str = ''
    reading: str = ''
    question: str = ''
    digest: str = ''
