# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Instruction and response, as training wants them (SafeGen-LLM section IV-A)."""

from __future__ import annotations

import json

from safegen_ros.datasets.pddl3.rows import Row
from safegen_ros.pddl.writer import domain_text
from safegen_ros.tasks.pddl3.domains import builtin_domain
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.prompts.styles import instruction

PAIRS = 'pairs'
"""Name of the folder that has a folder for every format."""


def pair_line(row: Row, form: str) -> str:
    """The row as a line of JSON with chat messages: what a model is asked, and what it answers.

    The messages are those by which a model that is served in the style `instruct` is asked.

    Args:
        row: the row.
        form: name of the format that the problem is told in.
    """
    told = {'pddl': row.problem, 'json': row.json, 'english': row.english}[form]
    values = {
        'id': row.id,
        'prompt': instruction(domain_text(builtin_domain(row.domain)), told, form),
        'completion': [{'role': 'assistant', 'content': row.plan}],
        'reference_length': row.reference_length,
        'domain': row.domain,
        'bucket': row.bucket,
    }
    return json.dumps(values, ensure_ascii=False) + '\n'


def pair_files(split: str) -> dict[str, str]:
    """The file of a split's pairs in every format, relative to the folder of the dataset."""
    return {form: f'{PAIRS}/{form}/{split}.jsonl' for form in FORMATS}
