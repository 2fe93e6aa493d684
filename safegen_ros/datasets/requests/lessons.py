# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Lessons for a language model that reads requests; about a third of them have a rule."""

from __future__ import annotations

import json
import re
from random import Random

from safegen_ros.datasets.requests.phrases import phrases
from safegen_ros.datasets.requests.rules import SpokenRules
from safegen_ros.datasets.requests.scenes import RequestScene, drawn_scene
from safegen_ros.datasets.requests.speech import Speech
from safegen_ros.datasets.requests.wishes import Wishes
from safegen_ros.pddl.model import Atom
from safegen_ros.pddl.writer import atom_text
from safegen_ros.tasks.planetarium.goal_prompt import goal_prompt

_PARTS = (1, 1, 1, 1, 2, 2, 2, 3, 4)
_RULES = (0, 0, 0, 0, 0, 0, 1, 1, 1, 2)
_TRIES = 200


def request_group(seed: int, number: int, size: int) -> list[str]:
    """The lines of a group, as `training.text_world` reads them: requests in one scene.

    There are fewer than `size` where a scene has few.
    """
    rng = Random(f'requests {seed} {number}')  # noqa: S311  # no secret
    scene = drawn_scene(rng)
    lines: dict[str, None] = {}
    for _ in range(_TRIES):
        text, goal, rules = spoken_request(rng, scene)
        if not goal:
            continue
        asked = goal_prompt(scene.signatures, scene.objects, scene.now, text)
        values = {
            'prompt': [{'role': 'user', 'content': asked}],
            'completion': '\n'.join([' '.join(map(atom_text, goal)), *rules]),
            'group': f'requests {number}',
        }
        lines[json.dumps(values, ensure_ascii=False) + '\n'] = None
        if len(lines) == size:
            break
    return list(lines)


def spoken_request(rng: Random, scene: RequestScene) -> tuple[str, list[Atom], list[str]]:
    """A request, the facts that it wants, and its rules in PDDL3."""
    speech = Speech(rng, scene)
    wishes = Wishes(speech)
    parts = [part for _ in range(rng.choice(_PARTS)) if (part := wishes.part())]
    if not parts:
        return '', [], []
    text = parts[0]
    for part in parts[1:]:
        text += rng.choice(phrases()['joints']) + part
    rules, said = SpokenRules(speech, wishes), dict[str, None]()
    for _ in range(rng.choice(_RULES)):
        told, rule = rules.rule()
        if not rule or rule in said:
            continue
        if not said and rng.random() < 0.2:
            text = told + rng.choice(phrases()['rule-first']) + text
        else:
            text += rng.choice(phrases()['rule-joints']) + told
        said[rule] = None
    anything = speech.name(rng.choice([name for names in scene.objects.values() for name in names]))
    if rng.random() < 0.15:
        text = f'{rng.choice(phrases()["lead"]).format(anything)} {text}'
    if rng.random() < 0.15:
        text += rng.choice(phrases()['trail']).format(anything)
    return _written(rng, text), wishes.goal, list(said)


def _written(rng: Random, text: str) -> str:
    """The text as people write it: with and without capitals and marks."""
    text = re.sub(r'\s+([,.;:])', r'\1', ' '.join(text.split()))
    style = rng.random()
    if style < 0.08:
        return text.replace('. ', ' ').replace(',', '')
    if style < 0.15:
        return text
    if style > 0.45:
        text = '. '.join(part[:1].upper() + part[1:] for part in text.split('. '))
        text = re.sub(r"\bi(?=$|[ '])", 'I', text)
    return text + rng.choice(('', '.', '.', '.', '!'))
