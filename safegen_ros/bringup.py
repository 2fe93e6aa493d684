# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The one table of what runs: nodes, their arguments and when each of them is ready.

Pure data, with no import of launch or rclpy. Two adapters read it: `safegen up` (supervisor.py) and
`launch/*.launch.py` for launch_ros, so both start the same nodes with the same parameters.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from safegen_ros.errors import SafegenError
from safegen_ros.llm.model_names import named_model
from safegen_ros.paths import PACKAGE, DataNotFoundError, data_path, share_dir

ParameterValue = bool | int | float | str
LOG_LEVELS = ('debug', 'info', 'warn', 'error', 'fatal')
CELLS = ('twin', 'symbolic')
_NAMESPACE = re.compile(r'/?[A-Za-z_]\w*(/[A-Za-z_]\w*)*')


class BringupError(SafegenError):
    """An argument, profile or file of the bring-up that is wrong; nothing was started."""


@dataclass(frozen=True, slots=True)
class ArgSpec:
    """One argument of a profile, for the command line and for `ros2 launch`.

    Attributes:
        name: lower case with underscores.
        default: text, as launch knows no other type.
        help: what it does, with its unit and range.
        choices: the only values allowed; empty for any. An empty choice leaves the matter to the
            parameter file.
        kind: 'text', 'int', 'float', 'path' or 'model'; an empty value is always allowed for these
            and leaves the matter to the parameter file.
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
        timeout_s: how long after its start a node may take to offer it [s].
    """

    kind: str
    name: str
    type: str
    timeout_s: float = 20.0


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


SIM_ARGS = (
    ArgSpec('namespace', '', 'Namespace of all nodes, topics and actions; empty for none.'),
    ArgSpec('params_file', 'config/sim.yaml', 'Parameter file of the nodes.', kind='path'),
    ArgSpec(
        'model',
        '',
        'Folder of the language model, or http://HOST:PORT/v1#MODEL; empty: as in params_file.',
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
        'autostart',
        '',
        'Whether the nodes configure and activate themselves, in their order; empty: as in '
        'params_file.',
        choices=('', 'true', 'false'),
    ),
    ArgSpec('log_level', 'info', 'Log level of all nodes.', choices=LOG_LEVELS),
)


def _overrides(args: Mapping[str, str], *wanted: str) -> tuple[tuple[str, ParameterValue], ...]:
    """Parameters for the arguments that were given; the rest stays with the parameter file."""
    casts: dict[str, Callable[[str], ParameterValue]] = {
        'seed': int,
        'real_time_factor': float,
        'model': str,
        'cell': str,
        'autostart': lambda value: value == 'true',
    }
    return tuple((name, casts[name](args[name])) for name in wanted if args[name])


def _sim_nodes(args: Mapping[str, str]) -> tuple[NodeSpec, ...]:
    """Validator and executor first: the planner asks both, so it starts last and stops first."""

    def node(name: str, overrides: tuple[str, ...], ready: Ready) -> NodeSpec:
        return NodeSpec(
            name=name,
            executable=name,
            module=f'{PACKAGE}.nodes.{name}',
            namespace='/' + args['namespace'].strip('/'),
            params_files=(args['params_file'],) if args['params_file'] else (),
            params=_overrides(args, *overrides, 'autostart'),
            log_level=args['log_level'],
            # Otherwise it waits for somebody to lead it.
            ready=None if args['autostart'] == 'false' else ready,
        )

    return (
        node(
            'validator',
            (),
            Ready('service', 'validate_plan', 'safegen_msgs/srv/ValidatePlan'),
        ),
        node(
            'executor',
            ('real_time_factor', 'cell'),
            Ready('action', 'execute_plan', 'safegen_msgs/action/ExecutePlan', 30.0),
        ),
        # It imports torch and reads the weights before it offers its actions.
        node(
            'planner',
            ('model', 'seed'),
            Ready('action', 'run_task', 'safegen_msgs/action/RunTask', 60.0),
        ),
    )


PROFILES: dict[str, Profile] = {
    'sim': Profile(
        'sim', 'planner, validator and executor, on this computer alone', SIM_ARGS, _sim_nodes
    )
}


def _check_number(spec: ArgSpec, value: str) -> None:
    try:
        number = int(value) if spec.kind == 'int' else float(value)
    except ValueError:
        raise BringupError(
            f'argument {spec.name}: {value!r} is not a number ({spec.help})'
        ) from None
    if not spec.low <= number <= spec.high:
        raise BringupError(
            f'argument {spec.name}: {value} is outside {spec.low} to {spec.high} ({spec.help})'
        )


def _checked(spec: ArgSpec, value: str) -> str:
    if spec.choices and value not in spec.choices:
        known = ', '.join(filter(None, spec.choices))
        raise BringupError(f'argument {spec.name}: {value!r} is none of: {known}')
    if not value:
        return value
    if spec.name == 'namespace' and value != '/' and not _NAMESPACE.fullmatch(value):
        raise BringupError(f'argument namespace: {value!r} is not a ROS name, such as lab/arm1')
    if spec.kind in ('int', 'float'):
        _check_number(spec, value)
    if spec.kind in ('path', 'model'):
        try:
            return named_model(value) if spec.kind == 'model' else str(data_path(value))
        except DataNotFoundError as error:
            raise BringupError(f'argument {spec.name}: {error.message}') from error
    return value


def profile_of(name: str) -> Profile:
    """Look a profile up.

    Raises:
        BringupError: there is no such profile.
    """
    if name not in PROFILES:
        raise BringupError(f'profile {name!r} does not exist (profiles: {", ".join(PROFILES)})')
    return PROFILES[name]


def node_specs(profile: str, values: Mapping[str, object] | None = None) -> tuple[NodeSpec, ...]:
    """The nodes of a profile, in the order of their start.

    Args:
        profile: name of the profile.
        values: arguments that differ from their defaults; a value is taken as `str(value)`.

    Raises:
        BringupError: an argument is unknown, out of range or names a file that does not exist.
    """
    chosen = profile_of(profile)
    known = {spec.name: spec for spec in chosen.args}
    given = {name: str(value) for name, value in (values or {}).items()}
    for name in given:
        if name not in known:
            raise BringupError(f'argument {name} does not exist (arguments: {", ".join(known)})')
    checked = {name: _checked(spec, given.get(name, spec.default)) for name, spec in known.items()}
    return chosen.build(checked)


def params_yaml(spec: NodeSpec) -> str:
    """The overrides of a node as the text of a ROS parameter file.

    A file keeps the type of each value: `-p model:=5` would make an integer of a string. The
    overrides stand under two keys, because rcl lets the key that was named last win over the whole
    list of files, so that `/**` alone would lose to a file with `/**` and the name of the node.
    """
    # A JSON scalar is a YAML scalar of the same type, quoted where that matters.
    values = [f'    {name}: {json.dumps(value, ensure_ascii=False)}' for name, value in spec.params]
    blocks = [[f'{key}:', '  ros__parameters:', *values] for key in ('/**', spec.full_name)]
    return '\n'.join([line for block in blocks for line in block] + [''])


def node_arguments(spec: NodeSpec, overrides_file: str | None = None) -> list[str]:
    """What follows the module on the command line of a node, as launch_ros would write it.

    Args:
        spec: the node.
        overrides_file: file with `params_yaml(spec)`, read after the other files.
    """
    words = ['--ros-args', '-r', f'__node:={spec.name}', '-r', f'__ns:={spec.namespace}']
    for old, new in spec.remaps:
        words += ['-r', f'{old}:={new}']
    for path in (*spec.params_files, *([overrides_file] if overrides_file else [])):
        words += ['--params-file', path]
    return [*words, '--log-level', spec.log_level]


def _discovery_defaults(environ: Mapping[str, str]) -> dict[str, str]:
    defaults = {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    if not environ.get('FASTRTPS_DEFAULT_PROFILES_FILE'):  # the older name of the same variable
        defaults['FASTDDS_DEFAULT_PROFILES_FILE'] = str(share_dir() / 'config' / 'fastdds.xml')
    return defaults


def environment_defaults(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables that every node gets unless the caller has set them.

    Loopback discovery, so that nothing leaves this machine unasked; a prefix for the ament index,
    which the ROS wheels leave out; and no more threads than half of the processors per library, as
    three nodes share them.

    Args:
        environ: the caller's environment; `os.environ` when None.
    """
    here = os.environ if environ is None else environ
    threads = str(max(1, (os.cpu_count() or 1) // 2))
    defaults = _discovery_defaults(here) | {
        'AMENT_PREFIX_PATH': sys.prefix,
        'PYTHONUNBUFFERED': '1',
        'RCUTILS_LOGGING_BUFFERED_STREAM': '0',
        'OMP_NUM_THREADS': threads,
        'OPENBLAS_NUM_THREADS': threads,
        'MKL_NUM_THREADS': threads,
        'TOKENIZERS_PARALLELISM': 'false',
    }
    return {name: value for name, value in defaults.items() if not here.get(name)}


def use_stack_discovery() -> None:
    """Let this process find the nodes as they find each other; call it before `rclpy.init`."""
    for name, value in _discovery_defaults(os.environ).items():
        if not os.environ.get(name):
            os.environ[name] = value
