# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the planner node."""

from __future__ import annotations

from safegen_ros.llm.model_names import KEY_ENV
from safegen_ros.nodes.goal_journal import JOURNAL
from safegen_ros.nodes.operators import OPERATORS_FILE, SITE_FILE
from safegen_ros.planning.levels import DEFAULT, DIAGNOSIS, FEEDBACK, LEVELS
from safegen_ros.ros.lifecycle import AUTOSTART, REFUSE_UNKNOWN
from safegen_ros.ros.parameters import Parameter

PARAMETERS = (
    AUTOSTART,
    REFUSE_UNKNOWN,
    SITE_FILE,
    OPERATORS_FILE,
    JOURNAL,
    Parameter(
        'model',
        'models/safegen-mini',
        'folder of a transformers model; a relative one is looked up in the working directory, '
        'then in the data folder of the package. Or http://HOST:PORT/v1#MODEL for a server, or '
        'vllm:FOLDER',
    ),
    Parameter('prompts', '', 'model folder by which a server is asked; empty: by chat, in PDDL'),
    Parameter(
        'translator',
        '',
        'model that puts tasks in words into PDDL, named as model is; one that answers a chat, or '
        'models/safegen-requests. Empty: the model itself where it answers a chat, else that one, '
        'and models/safegen-words for texts that tell what there is',
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
        'how often a task in words is translated independently; what differs is asked back [1]',
        1,
        10,
    ),
    Parameter('translation_attempts', 3, 'answers of one such translation [1]', 1, 100),
    Parameter('device', 'auto', 'of a folder: cpu, cuda, or auto for a GPU when there is one'),
    Parameter('four_bit', False, 'whether the weights of a folder are loaded in 4 bits, on CUDA'),
    Parameter('api_key_env', KEY_ENV, 'name of the environment variable with the key of a server'),
    Parameter('server_tries', 5, 'how often a server that is down or busy is asked [1]', 1, 100),
    Parameter('server_silence', 60.0, 'longest silence of a server [s]', 0.1, 3600.0),
    Parameter(
        'strategy',
        DEFAULT,
        f'who is asked for a plan, in order, for goals that do not say: {", ".join(LEVELS)}',
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
        f'what a retry is told of a refused plan, for goals that do not say: {" ".join(FEEDBACK)}',
        choices=tuple(FEEDBACK),
    ),
    Parameter('temperature', 0.6, 'sampling temperature [1]; 0 is greedy', 0.0, 2.0),
    Parameter('temperature_step', 0.1, 'how much hotter each later attempt is [1]', 0.0, 2.0),
    Parameter('temperature_max', 1.0, 'where the temperature stops rising [1]', 0.0, 2.0),
    Parameter('top_p', 0.9, 'nucleus sampling: probability mass kept [1]', 0.01, 1.0),
    Parameter('max_new_tokens', 1024, 'longest answer [tokens]', 1, 32768),
    Parameter('seed', 0, 'seed of sampling, for goals that carry none [1]', 0, 2**31 - 1),
    Parameter('search_fallback', True, 'whether the search planner may answer, where it is asked'),
    Parameter('goals_at_once', 1, 'goals that are planned together, in one batch [1]', 1, 64),
    Parameter('goals_waiting', 0, 'goals that may wait beside them; more end at once [1]', 0, 1024),
    Parameter(
        'max_steps',
        200,
        'steps of a goal that is worked on step by step, for goals that do not say [1]',
        1,
        10_000,
    ),
    Parameter('time_budget', 300.0, 'for goals that carry no time budget [s]', 1.0, 86400.0),
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
