# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The profiles of the bring-up: which nodes each starts, and which arguments it takes.

Pure data, with no import of launch or rclpy; `safegen_ros.bringup` checks the arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from safegen_ros.node_parameters import ARM, CONSOLE, EVERY, NODES, SIM, USE_SIM_TIME, Parameter
from safegen_ros.paths import PACKAGE
from safegen_ros.robot.cell.settings import ARM_CELL

ParameterValue = bool | int | float | str
LOG_LEVELS = ('debug', 'info', 'warn', 'error', 'fatal')


@dataclass(frozen=True, slots=True)
class ArgSpec:
    """One argument of a profile, for the command line and for `ros2 launch`.

    Attributes:
        name: lower case with underscores.
        default: text, as launch knows no other type.
        help: its effect, with unit and range.
        choices: the only values allowed; empty for any. An empty one leaves it to the parameter
            file.
        kind: 'text', 'int', 'float', 'path', 'params' (a parameter file) or 'model'; an empty value
            is always allowed for these and leaves the matter to the parameter file.
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
        timeout_s: limit from the start of a node to its offer [s]; imports take long on a busy
            machine, above all torch.
    """

    kind: str
    name: str
    type: str
    timeout_s: float = 60.0


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One process of the stack.

    Attributes:
        executable: name under `lib/safegen_ros/`, for launch_ros.
        module: Python module that `python -m` runs.
        namespace: '/' or an absolute namespace.
        params_files: parameter files; a later one wins.
        params: overrides on top of the files, as pairs.
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
        build: makes the nodes, in the order of their start, from checked arguments.
    """

    name: str
    help: str
    args: tuple[ArgSpec, ...]
    build: Callable[[Mapping[str, str]], tuple[NodeSpec, ...]]


def _argument(parameter: Parameter) -> ArgSpec:
    """The argument that overrides a parameter of nodes; left empty, it overrides nothing."""
    kind = type(parameter.default)
    choices = ('true', 'false') if kind is bool else parameter.choices
    about = parameter.description[0].upper() + parameter.description[1:]
    low, high = parameter.low, parameter.high
    span = '' if low is None or high is None else f', {low:.10g} to {high:.10g}'
    shown = str(parameter.default).lower() if kind is bool else parameter.default
    default = '' if shown == '' else f', else {shown}'
    return ArgSpec(
        parameter.name,
        '',
        f'{about}{span}. Default: from the parameter file{default}.',
        # The cell of the real arm is started by its own profile alone.
        ('', *(each for each in choices if each != ARM_CELL)) if choices else (),
        {int: 'int', float: 'float'}.get(kind, parameter.kind),
        -math.inf if low is None else low,
        math.inf if high is None else high,
    )


def _arguments(scope: str) -> dict[str, Parameter]:
    """The parameters that are arguments of a profile, by name: `SIM` or `ARM`."""
    declared = [USE_SIM_TIME, *(p for node in NODES.values() for p in node)]
    return {p.name: p for p in declared if p.argument in (EVERY, scope)}


def profile_args(scope: str, *own: ArgSpec) -> tuple[ArgSpec, ...]:
    """The arguments of a profile: of the bring-up, its own, and parameters of its nodes."""
    return (
        ArgSpec('namespace', '', 'Namespace of all nodes, topics and actions; empty for none.'),
        ArgSpec('params_file', '', 'Parameter file of the nodes; empty for none.', kind='params'),
        *own,
        ArgSpec('log_level', 'info', 'Log level of all nodes.', choices=LOG_LEVELS),
        ArgSpec(
            'console',
            'false',
            'Serve the operator console on 127.0.0.1.',
            choices=('true', 'false'),
        ),
        ArgSpec(
            'console_port',
            '8765',
            'Port of the console, 1 to 65535.',
            kind='int',
            low=1,
            high=65535,
        ),
        *map(_argument, _arguments(scope).values()),
    )


def _overrides(
    args: Mapping[str, str], declared: Iterable[Parameter]
) -> tuple[tuple[str, ParameterValue], ...]:
    """The parameters of a node for the arguments that were given; the file has the rest."""
    given = [p for p in declared if p.argument and args.get(p.name)]
    return tuple((p.name, _typed(p, args[p.name])) for p in given)


def _typed(parameter: Parameter, value: str) -> ParameterValue:
    kind: type[ParameterValue] = type(parameter.default)
    return value == 'true' if kind is bool else kind(value)


def _nodes(args: Mapping[str, str]) -> tuple[NodeSpec, ...]:
    """Validator and executor first: the planner asks both, so it starts last and stops first."""
    real = 'arm_file' in args
    ready = {
        'validator': Ready('service', 'validate_plan', 'safegen_msgs/srv/ValidatePlan'),
        'executor': Ready('action', 'execute_plan', 'safegen_msgs/action/ExecutePlan'),
        'planner': Ready('action', 'run_task', 'safegen_msgs/action/RunTask'),
    }

    def node(name: str) -> NodeSpec:
        arm = real and name == 'executor'
        files = (args['params_file'], args['arm_file'] if arm else '')
        # At the real arm a parameter that is not in force needs more than a warning.
        forced: dict[str, ParameterValue] = {'cell': ARM_CELL} if arm else {}
        if real:
            forced['refuse_unknown_parameters'] = True
        return NodeSpec(
            name=name,
            executable=name,
            module=f'{PACKAGE}.nodes.{name}',
            namespace='/' + args['namespace'].strip('/'),
            params_files=tuple(filter(None, files)),
            params=(*_overrides(args, (*NODES[name], USE_SIM_TIME)), *forced.items()),
            log_level=args['log_level'],
            # Otherwise it waits for somebody to lead it.
            ready=None if args['autostart'] == 'false' else ready[name],
            holds_keys=name == 'planner',
        )

    page = (_console(args),) if args['console'] == 'true' else ()
    return (*map(node, ready), *page)


def _console(args: Mapping[str, str]) -> NodeSpec:
    """The operator's page: no node of the proof, so that the stack goes on without it."""
    return NodeSpec(
        name='console',
        executable='console',
        module=f'{PACKAGE}.console.node',
        namespace='/' + args['namespace'].strip('/'),
        params=(('port', int(args['console_port'])), *_overrides(args, CONSOLE)),
        log_level=args['log_level'],
        required=False,
        max_respawns=3,
        page_port=int(args['console_port']),
    )


PROFILES: dict[str, Profile] = {
    'sim': Profile(
        'sim',
        'planner, validator and executor, on this computer alone',
        profile_args(SIM),
        _nodes,
    ),
    'mycobot': Profile(
        'mycobot',
        'the same nodes, with the real arm',
        profile_args(
            ARM,
            ArgSpec(
                'arm_file',
                'config/mycobot.yaml',
                'Parameter file of the executor, on top of params_file.',
                kind='params',
            ),
        ),
        _nodes,
    ),
}
