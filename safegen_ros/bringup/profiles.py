# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The profiles of the bring-up: which nodes each starts, and which arguments it takes.

Pure data, with no import of launch or rclpy; `safegen_ros.bringup` checks the arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from safegen_ros.paths import PACKAGE
from safegen_ros.robot.agent.messages import TOOLS
from safegen_ros.robot.cell.kinds import ARM_CELL, CELLS, TRANSPORTS, WORLDS

ParameterValue = bool | int | float | str
LOG_LEVELS = ('debug', 'info', 'warn', 'error', 'fatal')


@dataclass(frozen=True, slots=True)
class ArgSpec:
    """One argument of a profile, for the command line and for `ros2 launch`.

    Attributes:
        name: lower case with underscores.
        default: text, as launch knows no other type.
        help: what it does, with its unit and range.
        choices: the only values allowed; empty for any. An empty choice leaves the matter to the
            parameter file.
        kind: 'text', 'int', 'float', 'path', 'params' (a parameter file) or 'model'; an empty value
            is always allowed for these and leaves the matter to the parameter file.
        low: smallest value of a number.
        high: largest value of a number.
    """

    name: str
    default: str
    help: str
    choices: tuple[str, ...] = ()
    kind: str = 'text'
    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True, slots=True)
class Ready:
    """The interface whose presence in the ROS graph means that a node can take work.

    Attributes:
        kind: 'action' or 'service'.
        name: name relative to the namespace of the node.
        type: interface type, such as 'safegen_msgs/action/RunTask'.
        timeout_s: how long after its start a node may take to offer it [s]; on a busy machine those
            of the stack take long to import what they need, the planner torch.
    """

    kind: str
    name: str
    type: str
    timeout_s: float = 60.0


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One process of the stack.

    Attributes:
        name: node name.
        executable: name under `lib/safegen_ros/`, for launch_ros.
        module: Python module that `python -m` runs.
        namespace: '/' or an absolute namespace.
        params_files: parameter files; a later one wins.
        params: overrides on top of the files, as pairs.
        remaps: pairs of (from, to).
        log_level: one of `LOG_LEVELS`.
        required: whether its death ends the whole stack.
        max_respawns: how often a node that is not required is started again.
        ready: when it can take work; None when running is enough.
        holds_keys: whether it gets the environment variables with the keys of model servers.
        page_port: where it serves a page on 127.0.0.1; 0 where it serves none, or on any port.
    """

    name: str
    executable: str
    module: str
    namespace: str = '/'
    params_files: tuple[str, ...] = ()
    params: tuple[tuple[str, ParameterValue], ...] = ()
    remaps: tuple[tuple[str, str], ...] = ()
    log_level: str = 'info'
    required: bool = True
    max_respawns: int = 0
    ready: Ready | None = None
    holds_keys: bool = False
    page_port: int = 0

    @property
    def full_name(self) -> str:
        """Fully qualified node name."""
        return f'{self.namespace.rstrip("/")}/{self.name}'


@dataclass(frozen=True, slots=True)
class Profile:
    """A named way to bring the stack up.

    Attributes:
        name: as in `safegen up NAME` and `launch/NAME.launch.py`.
        help: one line for `--help`.
        args: its arguments.
        build: makes the nodes, in the order of their start, from checked arguments.
    """

    name: str
    help: str
    args: tuple[ArgSpec, ...]
    build: Callable[[Mapping[str, str]], tuple[NodeSpec, ...]]


_STACK_ARGS = (
    ArgSpec('namespace', '', 'Namespace of all nodes, topics and actions; empty for none.'),
    ArgSpec('params_file', 'config/sim.yaml', 'Parameter file of the nodes.', kind='params'),
    ArgSpec(
        'model',
        '',
        'Folder of the language model, or http://HOST:PORT/v1#MODEL; empty: as in params_file.',
        kind='model',
    ),
    ArgSpec(
        'translator',
        '',
        'Chat model that puts tasks in words into PDDL, likewise; empty: as in params_file.',
        kind='model',
    ),
    ArgSpec(
        'seed',
        '',
        'Seed of the sampling, 0 to 2147483647; empty: as in params_file.',
        kind='int',
        low=0,
        high=2**31 - 1,
    ),
    ArgSpec(
        'site_file',
        '',
        'Rules of the site, which bind every goal; empty: as in params_file.',
        kind='path',
    ),
    ArgSpec(
        'operators_file',
        '',
        'Public keys of operators and senders, whose goals and commands must then be signed; '
        'empty: as in params_file.',
        kind='path',
    ),
    ArgSpec(
        'autostart',
        '',
        'Whether the nodes configure and activate themselves, in their order; empty: as in '
        'params_file.',
        choices=('', 'true', 'false'),
    ),
    ArgSpec('log_level', 'info', 'Log level of all nodes.', choices=LOG_LEVELS),
    ArgSpec(
        'scene_file',
        '',
        'Description of the table and the tool; empty: as in params_file.',
        kind='path',
    ),
    ArgSpec(
        'console',
        'false',
        'Whether the page of the operator is served, on loopback.',
        choices=('true', 'false'),
    ),
    ArgSpec(
        'console_port',
        '8765',
        'Port of that page, 1 to 65535.',
        kind='int',
        low=1,
        high=65535,
    ),
)

SIM_ARGS = (
    *_STACK_ARGS,
    ArgSpec(
        'real_time_factor',
        '',
        'Simulated seconds per second, 0 to 100, 0 for as fast as it goes; '
        'empty: as in params_file.',
        kind='float',
        low=0.0,
        high=100.0,
    ),
    ArgSpec(
        'cell',
        '',
        'What executes: the twin of the arm, or a symbolic cell, which takes any domain and moves '
        'nothing; empty: as in params_file.',
        choices=('', *CELLS),
    ),
    ArgSpec(
        'view',
        '',
        'Which blocks are in view: all, or from above of each tower the top one until it is looked '
        'at; empty: as in params_file.',
        choices=('', 'all', 'above'),
    ),
    ArgSpec(
        'start_file',
        '',
        'PDDL problem whose initial state is how the blocks stand, whatever a task says; empty: as '
        'in params_file.',
        kind='path',
    ),
    ArgSpec(
        'use_sim_time',
        '',
        'Whether the nodes take the time of stamps and timers from /clock, which a simulated cell '
        'publishes; empty: as in params_file.',
        choices=('', 'true', 'false'),
    ),
)

MYCOBOT_ARGS = (
    *_STACK_ARGS,
    ArgSpec(
        'arm_file',
        'config/mycobot.yaml',
        'Parameter file of the arm, on top of params_file.',
        kind='params',
    ),
    ArgSpec(
        'transport',
        '',
        'How the arm is reached: serial, by port and baud; tcp, by host and tcp_port; ssh, by '
        'host, ssh_port, user, key_file and known_hosts, with port and baud there; empty: as in '
        'arm_file.',
        choices=('', *TRANSPORTS),
    ),
    ArgSpec('port', '', 'Serial port, such as /dev/ttyUSB0; empty: as in arm_file.'),
    ArgSpec(
        'baud',
        '',
        'Of the serial port [1/s]: 115200 for the M5, 1000000 for the Pi; empty: as in arm_file.',
        kind='int',
        low=9600,
        high=4000000,
    ),
    ArgSpec('host', '', 'Name or address of the computer at the arm; empty: as in arm_file.'),
    ArgSpec(
        'tcp_port',
        '',
        'TCP port there, 1 to 65535; empty: as in arm_file.',
        kind='int',
        low=1,
        high=65535,
    ),
    ArgSpec('user', '', 'Who logs in by SSH; empty: as in arm_file.'),
    ArgSpec('key_file', '', 'Private key for SSH; empty: as in arm_file.'),
    ArgSpec('known_hosts', '', 'File with the host key for SSH; empty: as in arm_file.'),
    ArgSpec('agent', '', 'Path of safegen-agent there; empty: as in arm_file.'),
    ArgSpec(
        'ssh_port',
        '',
        'Port of its SSH server, 1 to 65535; empty: as in arm_file.',
        kind='int',
        low=1,
        high=65535,
    ),
    ArgSpec(
        'tool',
        '',
        'What takes hold of a block: basic-pump at an M5 base, gpio-pump at a Pi, or gripper; '
        'empty: as in arm_file.',
        choices=('', *TOOLS),
    ),
    ArgSpec(
        'speed_limit',
        '',
        'Share of its highest speed that the arm never exceeds, 0.01 to 1; empty: as in arm_file.',
        kind='float',
        low=0.01,
        high=1.0,
    ),
    ArgSpec(
        'world',
        '',
        'Where the blocks are: assumed from what the arm did, or perceived, as a perception node '
        'says; empty: as in arm_file.',
        choices=('', *WORLDS),
    ),
)


def _overrides(args: Mapping[str, str], *wanted: str) -> tuple[tuple[str, ParameterValue], ...]:
    """Parameters for the arguments that were given; the rest stays with the parameter file."""
    casts: dict[str, Callable[[str], ParameterValue]] = {
        'seed': int,
        'real_time_factor': float,
        'autostart': lambda value: value == 'true',
        'use_sim_time': lambda value: value == 'true',
        'baud': int,
        'tcp_port': int,
        'ssh_port': int,
        'speed_limit': float,
    }
    return tuple((name, casts.get(name, str)(args[name])) for name in wanted if args.get(name))


_OF_ALL = ('autostart', 'use_sim_time', 'site_file', 'operators_file')
_SIM_CELL = ('scene_file', 'real_time_factor', 'cell', 'view', 'start_file')


def _sim_nodes(args: Mapping[str, str]) -> tuple[NodeSpec, ...]:
    return _stack(args, _overrides(args, *_SIM_CELL))


def _mycobot_nodes(args: Mapping[str, str]) -> tuple[NodeSpec, ...]:
    wanted = (
        'scene_file', 'transport', 'port', 'baud', 'host', 'tcp_port', 'ssh_port', 'user',
        'key_file', 'known_hosts', 'agent', 'tool', 'speed_limit', 'world',
    )  # fmt: skip
    files = (args['arm_file'],) if args['arm_file'] else ()
    return _stack(args, (('cell', ARM_CELL), *_overrides(args, *wanted)), files)


def _stack(
    args: Mapping[str, str],
    cell: tuple[tuple[str, ParameterValue], ...],
    cell_files: tuple[str, ...] = (),
) -> tuple[NodeSpec, ...]:
    """Validator and executor first: the planner asks both, so it starts last and stops first.

    Args:
        args: checked arguments.
        cell: overrides of the executor.
        cell_files: its parameter files, beside that of all nodes.
    """

    def node(
        name: str,
        ready: Ready,
        params: tuple[tuple[str, ParameterValue], ...] = (),
        files: tuple[str, ...] = (),
    ) -> NodeSpec:
        return NodeSpec(
            name=name,
            executable=name,
            module=f'{PACKAGE}.nodes.{name}',
            namespace='/' + args['namespace'].strip('/'),
            params_files=((args['params_file'],) if args['params_file'] else ()) + files,
            params=(*params, *_overrides(args, *_OF_ALL), *every),
            log_level=args['log_level'],
            # Otherwise it waits for somebody to lead it.
            ready=None if args['autostart'] == 'false' else ready,
            holds_keys=name == 'planner',
        )

    # At the real arm a setting that is not in force is no matter of a warning.
    every = (('refuse_unknown_parameters', True),) if ('cell', ARM_CELL) in cell else ()
    page = (_console(args),) if args['console'] == 'true' else ()
    return (
        node('validator', Ready('service', 'validate_plan', 'safegen_msgs/srv/ValidatePlan')),
        node(
            'executor',
            Ready('action', 'execute_plan', 'safegen_msgs/action/ExecutePlan'),
            cell,
            cell_files,
        ),
        node(
            'planner',
            Ready('action', 'run_task', 'safegen_msgs/action/RunTask'),
            _overrides(args, 'model', 'translator', 'seed'),
        ),
        *page,
    )


def _console(args: Mapping[str, str]) -> NodeSpec:
    """The operator's page: no node of the proof, so that the stack goes on without it."""
    return NodeSpec(
        name='console',
        executable='console',
        module=f'{PACKAGE}.console.node',
        namespace='/' + args['namespace'].strip('/'),
        params=(('port', int(args['console_port'])), *_overrides(args, 'scene_file')),
        log_level=args['log_level'],
        required=False,
        max_respawns=3,
        page_port=int(args['console_port']),
    )


PROFILES: dict[str, Profile] = {
    'sim': Profile(
        'sim', 'planner, validator and executor, on this computer alone', SIM_ARGS, _sim_nodes
    ),
    'mycobot': Profile(
        'mycobot', 'the same nodes, with the real arm', MYCOBOT_ARGS, _mycobot_nodes
    ),
}
