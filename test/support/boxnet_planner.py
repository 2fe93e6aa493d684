# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Backends that plan tasks of BoxNet2D as a script says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

from safegen_ros.llm.backend import Cancelled, Message, Sampling, never
from safegen_ros.llm.decoding.guide import WordAutomaton
from safegen_ros.paths import data_path
from safegen_ros.tasks.boxnet.geometry import UNIT
from safegen_ros.tasks.boxnet.model import Move, Task, robot_name
from support.scripted_answers import Script, ScriptedAnswers


class ScriptedPlanner(ScriptedAnswers):
    """Answers with what a script says."""

    def __init__(self, script: Script) -> None:
        super().__init__(script=script)


class HeldPlanner(ScriptedPlanner):
    """Says the words of a script as far as it may, and finds them likely."""

    def writer(self) -> HeldPlanner:
        return self

    def guide(self, *_: object) -> None:
        raise NotImplementedError

    def write(
        self,
        messages: Sequence[Message],
        text: WordAutomaton,
        sampling: Sampling,
        cancelled: Cancelled = never,
    ) -> str:
        wanted = self.script(messages, sampling).split()
        said = list[str]()
        while not text.may_end() and (words := sorted(text.next_words())) and len(said) < 99:
            mine = wanted[len(said)] if len(said) < len(wanted) else ''
            said.append(mine if mine in words else words[0])
            text.take(said[-1])
        return ' '.join(said)

    def scores(
        self,
        messages: Sequence[Message],
        written: Sequence[str],
        choices: Sequence[Sequence[str]],
        cancelled: Cancelled = never,
    ) -> tuple[list[float], float]:
        wanted = self.script(messages, Sampling()).split()
        said = [[*written, *each] for each in choices]
        return [-0.1 if each == wanted[: len(each)] else -9.0 for each in said], -0.1


def observations(messages: Sequence[Message]) -> int:
    """Steps that were taken so far."""
    return sum(m['content'].startswith('<observation>') for m in messages if m['role'] == 'user')


def random_moves(task: Task, steps: int, rng: Random) -> list[dict[str, str]]:
    """Steps that often do what may not be done, in the form that is asked for."""
    tips = list(task.start.tips)
    found = []
    for _ in range(steps):
        step = {}
        for robot, base in enumerate(task.bases):
            if rng.random() < 0.6:
                places = [*task.start.objects, *task.targets, (base[0] + UNIT, base[1])]
                end = rng.choice([p for p in places if task.reaches(robot, p)] or places)
                end = rng.choice([end, rng.choice(places)])
                step[robot_name(robot)] = Move(robot, tips[robot], end, rng.random() < 0.5).text
                tips[robot] = end
        found.append(step)
    return found


def as_text(value: object) -> str:
    return f'<think> by chance </think>\n```json\n{json.dumps(value)}\n```'


def untrained_boxnet(folder: Path) -> Path:
    """The network of safegen-boxnet-mini before training, written below a folder."""
    out, model = folder / 'untrained', data_path('models/safegen-boxnet-mini')
    root = Path(__file__).parents[2]
    recipe = root / 'config/train/boxnet-mini.yaml'
    command = [sys.executable, str(root / 'scripts/ship_model.py'), '--untrained', str(model)]
    subprocess.run([*command, '--recipe', str(recipe), '--out', str(out)], check=True)
    return out
