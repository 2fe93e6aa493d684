# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the executor node."""

from __future__ import annotations

from safegen_ros.nodes.goal_journal import JOURNAL
from safegen_ros.nodes.operators import OPERATORS_FILE, SITE_FILE
from safegen_ros.nodes.real_arm import PARAMETERS as ARM_PARAMETERS
from safegen_ros.nodes.rehearsal import REHEARSE
from safegen_ros.robot.cell.view import ALL, VIEWS
from safegen_ros.ros.lifecycle import AUTOSTART, REFUSE_UNKNOWN
from safegen_ros.ros.parameters import Parameter

PARAMETERS = (
    AUTOSTART,
    REFUSE_UNKNOWN,
    SITE_FILE,
    OPERATORS_FILE,
    JOURNAL,
    Parameter(
        'cell',
        'twin',
        'what executes: twin; mycobot, the real arm; or symbolic',
        choices=('twin', 'mycobot', 'symbolic'),
    ),
    Parameter('scene_file', '', 'YAML of the robot cell; empty for config/scene.yaml'),
    Parameter(
        'view',
        ALL,
        'which blocks are in view: all; or from above, of each tower the top one until it is '
        'looked at',
        choices=VIEWS,
    ),
    Parameter(
        'start_file',
        '',
        'PDDL problem whose initial state is how the blocks of a simulated cell stand, whatever a '
        'task says; empty: as the task says',
    ),
    Parameter('step_seconds', 1.0, 'time of an action in the symbolic cell [s]', 0.0, 3600.0),
    Parameter(
        'real_time_factor',
        0.0,
        'speed of the cell against the wall clock [1]; 0 is as fast as the machine can',
        0.0,
        100.0,
    ),
    Parameter('time_budget', 300.0, 'for goals that carry no time budget [s]', 1.0, 86400.0),
    Parameter(
        'heartbeat_timeout',
        4.0,
        'longest time without a heartbeat of the sender or the validator during an execution [s]',
        1.0,
        600.0,
    ),
    REHEARSE,
    *ARM_PARAMETERS,
)
