# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the nodes, each declared once.

Nodes, arguments of `safegen up` and launch, and the pages of docs/nodes are made from this table.
It imports neither ROS nor numpy, so that a command line can list it at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any

from safegen_ros.llm.model_names import KEY_ENV
from safegen_ros.planning.levels import DEFAULT, DIAGNOSIS, FEEDBACK, LEVELS
from safegen_ros.robot.cell.settings import (
    ALL,
    ARM_CELL,
    CELLS,
    VIEWS,
    ArmSettings,
    PerceptionSettings,
)
from safegen_ros.untrusted import hidden

MAX_TEXT = 4096
"""Most characters of a parameter: names, paths and addresses, not texts."""

EVERY, SIM, ARM = 'every', 'sim', 'arm'
"""Profiles that take a parameter as an argument: all, those without and those with a real arm."""

_UNIT = re.compile(r'\[([^]]+)\]')


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a node, fixed while the node is configured.

    Attributes:
        name: snake_case, relative to the node.
        default: also gives the type.
        description: its effect, with the unit in brackets.
        low: smallest value allowed, for numbers.
        high: largest value allowed, for numbers.
        choices: the only values allowed, for texts; empty for any.
        fixed: whether it is set at the start of the process, and never after.
        kind: of a text: 'path' or 'model', which must exist where an argument names it.
        argument: profiles of the bring-up that take it as an argument; empty for none.
    """

    name: str
    default: Any
    description: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    fixed: bool = False
    kind: str = 'text'
    argument: str = ''

    @property
    def unit(self) -> str:
        """The unit of a number, `1` for one without; empty where the description has none."""
        found = _UNIT.search(self.description)
        return found.group(1) if found else ''

    def problem(self, value: object) -> str:
        """What is wrong with a value of the right type and range; empty where nothing is."""
        if not isinstance(value, str):
            return ''
        if self.choices and value not in self.choices:
            return f'{self.name}: {value[:80]!r} is not one of: {", ".join(self.choices)}'
        if character := hidden(value):
            return f'{self.name}: holds the character {character}, which is not seen: remove it'
        if len(value) > MAX_TEXT:
            return f'{self.name}: {len(value):,} characters are more than the limit of {MAX_TEXT:,}'
        return ''


AUTOSTART = Parameter(
    'autostart',
    True,
    'configure and activate the node at its start, after the nodes that it needs',
    argument=EVERY,
)
REFUSE_UNKNOWN = Parameter(
    'refuse_unknown_parameters',
    False,
    'refuse a parameter that no node has, as with the real arm, instead of a warning',
)
SITE_FILE = Parameter(
    'site_file',
    '',
    'YAML with the rules of the site, which bind every goal (empty: none)',
    fixed=True,
    kind='path',
    argument=EVERY,
)
OPERATORS_FILE = Parameter(
    'operators_file',
    '',
    'file with the public keys of operators and senders, whose goals and commands must then '
    'be signed (empty: no signature is required)',
    fixed=True,
    kind='path',
    argument=EVERY,
)
_NODE = (AUTOSTART, REFUSE_UNKNOWN, SITE_FILE, OPERATORS_FILE)

_JOURNAL = Parameter(
    'journal',
    '',
    'folder of the records of every goal (empty: SAFEGEN_RUNS_DIR, else runs/ in the working '
    'directory)',
)
_TIME_BUDGET = Parameter(
    'time_budget', 300.0, 'time budget of a goal without one [s]', 1.0, 86400.0
)

USE_SIM_TIME = Parameter(
    'use_sim_time',
    False,
    'take stamps and timers from /clock, which a simulated cell publishes',
    argument=SIM,
)
"""Declared by rclpy for each node."""

PLANNER = (
    *_NODE,
    _JOURNAL,
    Parameter(
        'model',
        'models/safegen-mini',
        'model: a transformers folder (relative to the working directory, else to the data '
        'folder of the package), http://HOST:PORT/v1#MODEL for a server, ollama:MODEL, or '
        'vllm:FOLDER',
        kind='model',
        argument=EVERY,
    ),
    Parameter(
        'prompts', '', 'model folder with the prompts for a server (empty: chat prompts in PDDL)'
    ),
    Parameter(
        'translator',
        '',
        'chat model that translates tasks in words into PDDL, named like model, or '
        'models/safegen-requests. Empty: the model itself if it is a chat model; otherwise '
        'models/safegen-requests, and models/safegen-descriptions for texts that list facts',
        kind='model',
        argument=EVERY,
    ),
    Parameter(
        'arms_model',
        '',
        'chat model that plans for several arms (format boxnet), named like model, or '
        'models/safegen-boxnet-mini. Empty: the model itself if it is a chat model; '
        'otherwise models/safegen-boxnet-mini',
    ),
    Parameter(
        'readings',
        2,
        'independent translations of a task in words, unless the model reports its certainty; '
        'a difference becomes a question',
        1,
        10,
    ),
    Parameter('translation_attempts', 3, 'maximum number of answers per translation', 1, 100),
    Parameter(
        'device', 'auto', 'device of a model folder: cpu, cuda, or auto (a GPU where there is one)'
    ),
    Parameter('four_bit', False, 'load the weights of a model folder in 4 bits, on CUDA'),
    Parameter('api_key_env', KEY_ENV, 'environment variable with the API key of a server'),
    Parameter(
        'server_tries', 5, 'maximum number of requests to a server that is down or busy', 1, 100
    ),
    Parameter('server_silence', 60.0, 'timeout of a silent server [s]', 0.1, 3600.0),
    Parameter(
        'strategy',
        DEFAULT,
        f'planners to try, in order, for goals without a strategy: {", ".join(LEVELS)}',
    ),
    Parameter(
        'simple_objects',
        0,
        'maximum number of objects of a simple task, which is not left to the planner '
        'hierarchy (0: as in the training of the shipped model, by domain)',
        0,
        10_000,
    ),
    Parameter(
        'simple_open_goals',
        0,
        'maximum number of open goals of a simple task (0: as in the training of the '
        'shipped model)',
        0,
        10_000,
    ),
    Parameter(
        'simple_steps',
        0,
        'maximum number of steps of a relaxed plan of a simple task, about two thirds of a '
        'real plan (0: as in the training of the shipped model)',
        0,
        10_000,
    ),
    Parameter('max_attempts', 5, 'attempts of the planner model per goal', 1, 100),
    Parameter(
        'feedback',
        DIAGNOSIS,
        f'content of a retry prompt, for goals without feedback: {" ".join(FEEDBACK)}',
        choices=tuple(FEEDBACK),
    ),
    Parameter('temperature', 0.6, 'sampling temperature (0: greedy)', 0.0, 2.0),
    Parameter('temperature_step', 0.1, 'increase of the temperature per attempt', 0.0, 2.0),
    Parameter('temperature_max', 1.0, 'maximum temperature', 0.0, 2.0),
    Parameter('top_p', 0.9, 'nucleus sampling: probability mass kept', 0.01, 1.0),
    Parameter('max_new_tokens', 1024, 'maximum length of an answer [tokens]', 1, 32768),
    Parameter('seed', 0, 'seed of sampling, for goals without one', 0, 2**31 - 1, argument=EVERY),
    Parameter('search_fallback', True, 'allow the search planner, where the strategy has it'),
    Parameter(
        'goals_at_once',
        1,
        'goals to plan together, in one batch; one at a time executes',
        1,
        64,
    ),
    Parameter('goals_waiting', 0, 'goals that may wait; further goals end at once', 0, 1024),
    Parameter(
        'max_steps',
        200,
        'maximum number of steps of a step-by-step goal without one',
        1,
        10_000,
    ),
    _TIME_BUDGET,
    Parameter(
        'heartbeat_timeout',
        4.0,
        'timeout of the heartbeat of a client that has sent one, and of the executor during '
        'an execution [s]',
        1.0,
        600.0,
    ),
    Parameter(
        'approval_timeout',
        300.0,
        'time that a plan waits for approval, for goals without one [s]',
        1.0,
        86400.0,
    ),
    Parameter('validator_timeout', 10.0, 'timeout of a verdict [s]', 0.1, 600.0),
)

VALIDATOR = (
    *_NODE,
    Parameter(
        'second_opinion',
        False,
        'require VAL to agree with every verdict; this refuses everything that VAL cannot '
        'judge: single steps, and worlds other than PDDL',
    ),
)
"""They can make the node refuse more, and never less."""

_SCENE_FILE = Parameter(
    'scene_file',
    '',
    'YAML of the robot cell, with its tool (empty: config/scene.yaml)',
    kind='path',
    argument=EVERY,
)

EXECUTOR = (
    *_NODE,
    _JOURNAL,
    Parameter(
        'cell',
        CELLS[0],
        'where to execute: twin (MuJoCo twin of the arm), mycobot (real arm) or symbolic '
        '(any domain, no motion)',
        choices=(*CELLS, ARM_CELL),
        argument=SIM,
    ),
    _SCENE_FILE,
    Parameter(
        'view',
        ALL,
        'blocks in view: all, or above (only the top of each tower, until the arm looks at it)',
        choices=VIEWS,
        argument=SIM,
    ),
    Parameter(
        'start_file',
        '',
        'PDDL problem with the true initial state of a simulated cell (empty: that of the task)',
        kind='path',
        argument=SIM,
    ),
    Parameter('step_seconds', 1.0, 'duration of an action in the symbolic cell [s]', 0.0, 3600.0),
    Parameter(
        'real_time_factor',
        0.0,
        'simulation speed relative to real time (0: unlimited)',
        0.0,
        100.0,
        argument=SIM,
    ),
    _TIME_BUDGET,
    Parameter(
        'heartbeat_timeout',
        4.0,
        'timeout of the heartbeats of sender and validator during an execution, and limit of '
        'time without being scheduled [s]',
        1.0,
        600.0,
    ),
    Parameter(
        'rehearse',
        'real',
        'when a twin rehearses the whole plan before the motion and refuses one that '
        'collides: real (real arm only) or always',
        choices=('real', 'always'),
    ),
    *(
        Parameter(each.name, each.default, **each.metadata)
        for settings in (ArmSettings, PerceptionSettings)
        for each in fields(settings)
    ),
)
"""No value of `rehearse` leaves the rehearsal out before a real arm moves."""

CONSOLE = (
    Parameter('host', '127.0.0.1', 'address to listen on; others than loopback need a token'),
    Parameter('port', 8765, 'port to listen on (0: any free one)', 0, 65535),
    Parameter('token_file', '', 'file with the token that opens the page (empty: none)'),
    Parameter('read_only', False, 'view only; no commands'),
    _SCENE_FILE,
)
"""Read once, at the start."""

NODES = {'validator': VALIDATOR, 'executor': EXECUTOR, 'planner': PLANNER}
"""The parameters of each node of the proof."""
