# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the nodes, each declared once.

Nodes, arguments of `safegen up` and launch, and the pages of docs/nodes are made from this table.
It imports neither ROS nor numpy, so that a command line can tell of it at once.
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
        description: what it does, with the unit in brackets.
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
            return f'{self.name}: {value[:80]!r} is none of: {", ".join(self.choices)}'
        if character := hidden(value):
            return f'{self.name}: holds the character {character}, which is not seen: remove it'
        if len(value) > MAX_TEXT:
            return f'{self.name}: {len(value):,} characters are more than the limit of {MAX_TEXT:,}'
        return ''


AUTOSTART = Parameter(
    'autostart',
    True,
    'whether the node configures and activates itself when it starts, after those that it needs',
    argument=EVERY,
)
REFUSE_UNKNOWN = Parameter(
    'refuse_unknown_parameters',
    False,
    'whether a parameter that no node has is an error, as it always is for the real arm, and not '
    'a warning',
)
SITE_FILE = Parameter(
    'site_file',
    '',
    'YAML with the rules of the site, which bind every goal; empty: none',
    fixed=True,
    kind='path',
    argument=EVERY,
)
OPERATORS_FILE = Parameter(
    'operators_file',
    '',
    'file with the public keys of operators and senders: goals and commands must then be signed; '
    'empty: no signature is required',
    fixed=True,
    kind='path',
    argument=EVERY,
)
_NODE = (AUTOSTART, REFUSE_UNKNOWN, SITE_FILE, OPERATORS_FILE)

_JOURNAL = Parameter(
    'journal',
    '',
    'folder of the records, in which the node writes down every goal; empty: that of '
    'SAFEGEN_RUNS_DIR, else runs/ in the working directory',
)
_TIME_BUDGET = Parameter(
    'time_budget', 300.0, 'time for goals that carry no budget [s]', 1.0, 86400.0
)

USE_SIM_TIME = Parameter(
    'use_sim_time',
    False,
    'whether stamps and timers follow /clock, which a simulated cell publishes',
    argument=SIM,
)
"""Declared by rclpy for each node."""

PLANNER = (
    *_NODE,
    _JOURNAL,
    Parameter(
        'model',
        'models/safegen-mini',
        'folder of a transformers model; a relative one is looked up in the working directory, '
        'then in the data folder of the package. Or http://HOST:PORT/v1#MODEL for a server, or '
        'vllm:FOLDER',
        kind='model',
        argument=EVERY,
    ),
    Parameter('prompts', '', 'model folder whose prompts a server gets; empty: chat, in PDDL'),
    Parameter(
        'translator',
        '',
        'model that puts tasks in words into PDDL, named as model is; one that answers a chat, or '
        'models/safegen-requests. Empty: the model itself where it answers a chat, else that one, '
        'and models/safegen-words for texts that tell what there is',
        kind='model',
        argument=EVERY,
    ),
    Parameter(
        'arms_model',
        '',
        'model that plans for several arms, of format boxnet, named as model is; one that answers '
        'a chat, or models/safegen-boxnet-mini. Empty: the model itself where it answers a chat, '
        'else that one',
    ),
    Parameter(
        'readings',
        2,
        'independent translations of a task in words; what differs is asked back [1]',
        1,
        10,
    ),
    Parameter('translation_attempts', 3, 'answers of one such translation [1]', 1, 100),
    Parameter('device', 'auto', 'of a folder: cpu, cuda, or auto for a GPU when there is one'),
    Parameter('four_bit', False, 'whether the weights of a folder are loaded in 4 bits, on CUDA'),
    Parameter('api_key_env', KEY_ENV, 'name of the environment variable with the key of a server'),
    Parameter('server_tries', 5, 'requests to a server that is down or busy [1]', 1, 100),
    Parameter('server_silence', 60.0, 'longest silence of a server [s]', 0.1, 3600.0),
    Parameter(
        'strategy',
        DEFAULT,
        f'planners to try, in order, for goals that do not say: {", ".join(LEVELS)}',
    ),
    Parameter(
        'simple_objects',
        0,
        'most objects of a task that is not left to the level hierarchy [1]; 0: as many as the '
        'shipped model was trained on, by domain',
        0,
        10_000,
    ),
    Parameter(
        'simple_open_goals',
        0,
        'most open goals of such a task [1]; 0: as the shipped model was trained on',
        0,
        10_000,
    ),
    Parameter(
        'simple_steps',
        0,
        'most steps of a relaxed plan for such a task, about two thirds of a real one [1]; 0: as '
        'the shipped model was trained on',
        0,
        10_000,
    ),
    Parameter('max_attempts', 5, 'attempts of the level model per goal [1]', 1, 100),
    Parameter(
        'feedback',
        DIAGNOSIS,
        f'what a retry shows of a refused plan, for goals that do not say: {" ".join(FEEDBACK)}',
        choices=tuple(FEEDBACK),
    ),
    Parameter('temperature', 0.6, 'sampling temperature [1]; 0 is greedy', 0.0, 2.0),
    Parameter('temperature_step', 0.1, 'how much hotter each later attempt is [1]', 0.0, 2.0),
    Parameter('temperature_max', 1.0, 'where the temperature stops rising [1]', 0.0, 2.0),
    Parameter('top_p', 0.9, 'nucleus sampling: probability mass kept [1]', 0.01, 1.0),
    Parameter('max_new_tokens', 1024, 'longest answer [tokens]', 1, 32768),
    Parameter(
        'seed', 0, 'seed of sampling, for goals that carry none [1]', 0, 2**31 - 1, argument=EVERY
    ),
    Parameter('search_fallback', True, 'whether the search planner may answer, where it is asked'),
    Parameter(
        'goals_at_once',
        1,
        'goals that are planned together, in one batch [1]; one at a time executes',
        1,
        64,
    ),
    Parameter('goals_waiting', 0, 'goals that may wait beside them; more end at once [1]', 0, 1024),
    Parameter(
        'max_steps', 200, 'steps of a step-by-step goal, for goals that do not say [1]', 1, 10_000
    ),
    _TIME_BUDGET,
    Parameter(
        'heartbeat_timeout',
        4.0,
        'longest time without a heartbeat of the client of a goal, where it has sent any, and of '
        'the executor, while it executes [s]',
        1.0,
        600.0,
    ),
    Parameter(
        'approval_timeout',
        300.0,
        'how long a plan waits for approval, for goals that do not say [s]',
        1.0,
        86400.0,
    ),
    Parameter('validator_timeout', 10.0, 'longest wait for a verdict [s]', 0.1, 600.0),
)

VALIDATOR = (
    *_NODE,
    Parameter(
        'second_opinion',
        False,
        'whether the validator VAL must agree with every verdict; a plan is refused where not, and '
        'so is what VAL does not judge: single steps, and other worlds than PDDL',
    ),
)
"""They can make the node refuse more, and never less."""

_SCENE_FILE = Parameter(
    'scene_file',
    '',
    'YAML of the robot cell, with its tool; empty for config/scene.yaml',
    kind='path',
    argument=EVERY,
)

EXECUTOR = (
    *_NODE,
    _JOURNAL,
    Parameter(
        'cell',
        CELLS[0],
        'what executes: twin, the MuJoCo twin of the arm; mycobot, the real arm; or symbolic, '
        'which takes any domain and moves nothing',
        choices=(*CELLS, ARM_CELL),
        argument=SIM,
    ),
    _SCENE_FILE,
    Parameter(
        'view',
        ALL,
        'which blocks are in view: all; or from above, of each tower the top one until it is '
        'looked at',
        choices=VIEWS,
        argument=SIM,
    ),
    Parameter(
        'start_file',
        '',
        'PDDL problem whose initial state is how the blocks of a simulated cell stand, whatever a '
        'task says; empty: as the task says',
        kind='path',
        argument=SIM,
    ),
    Parameter('step_seconds', 1.0, 'time of an action in the symbolic cell [s]', 0.0, 3600.0),
    Parameter(
        'real_time_factor',
        0.0,
        'simulated seconds per second of the wall clock [1]; 0 is as fast as the machine can',
        0.0,
        100.0,
        argument=SIM,
    ),
    _TIME_BUDGET,
    Parameter(
        'heartbeat_timeout',
        4.0,
        'longest time without a heartbeat of the sender or the validator during an execution, and '
        'without being scheduled [s]',
        1.0,
        600.0,
    ),
    Parameter(
        'rehearse',
        'real',
        'before which motions a twin carries out the whole plan, which is refused where it '
        'collides: real arm only, or always',
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
    Parameter('host', '127.0.0.1', 'address that is served; others than loopback need a token'),
    Parameter('port', 8765, 'of that address [1]; 0 for any that is free', 0, 65535),
    Parameter('token_file', '', 'file with the token that opens the page; empty for none'),
    Parameter('read_only', False, 'whether nothing can be asked for from the page'),
    _SCENE_FILE,
)
"""Read once, at the start."""

NODES = {'validator': VALIDATOR, 'executor': EXECUTOR, 'planner': PLANNER}
"""The parameters of each node of the proof."""
