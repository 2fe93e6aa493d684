# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The profiles of the bring-up for launch_ros; `safegen up` starts the same nodes from them.

Only the files in `launch/` import this: launch is not there where ROS comes from wheels.
"""

from __future__ import annotations

import logging

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from safegen_ros.bringup.profiles import ArgSpec, NodeSpec
from safegen_ros.bringup.table import node_specs, profile_of
from safegen_ros.errors import BringupError
from safegen_ros.paths import PACKAGE
from safegen_ros.pddl.diagnostics import suggestion
from safegen_ros.robot.cell.settings import ARM_CELL
from safegen_ros.ros.stack_state import environment_defaults

_LOG = logging.getLogger(
    'launch'
)  # launch shows what this logger is given, on screen and in its file


def declare(spec: ArgSpec) -> DeclareLaunchArgument:
    """One argument of the table as launch wants it, which refuses an empty list of choices."""
    choices = {'choices': list(spec.choices)} if spec.choices else {}
    return DeclareLaunchArgument(
        spec.name, default_value=spec.default, description=spec.help, **choices
    )


def node(spec: NodeSpec, namespace: str = '') -> Node:
    """One node of the table as launch wants it.

    Args:
        namespace: as it was given; absolute with a slash before it.
    """
    death = {'on_exit': Shutdown(reason=f'{spec.name} ended')} if spec.required else {}
    if spec.max_respawns:
        death = {'respawn': True, 'respawn_max_retries': spec.max_respawns, 'respawn_delay': 1.0}
    return Node(
        package=PACKAGE,
        executable=spec.executable,
        name=spec.name,
        # Without one, or with a relative one, the namespaces that PushRosNamespace has set count.
        namespace=namespace or None,
        parameters=[*spec.params_files, *([dict(spec.params)] if spec.params else [])],
        ros_arguments=['--log-level', spec.log_level],
        additional_env=environment_defaults(),
        output='screen',
        **death,
    )


def check_names(profile: str, context: LaunchContext) -> None:
    """Warn of launch arguments that a profile does not have, which launch takes in silence.

    Names that are like no argument count where they are on the command line: the others are those
    of launch files that include this one, and of launch itself.

    Args:
        profile: name in `PROFILES`.

    Raises:
        BringupError: one is nearly an argument of the profile, which moves the real arm.
    """
    known = [spec.name for spec in profile_of(profile).args]
    hints = {n: suggestion(n, known).strip() for n in context.launch_configurations}
    typed = {argument.partition(':=')[0] for argument in context.argv}
    unknown = {n: hint for n, hint in hints.items() if n not in known and (hint or n in typed)}
    if not unknown:
        return
    told = ', '.join(f'{name} ({hint})' if hint else name for name, hint in unknown.items())
    message = f'{profile} has no launch arguments with the names {told}'
    if profile == ARM_CELL and any(unknown.values()):
        raise BringupError(message)
    _LOG.warning(message)


def describe(profile: str) -> LaunchDescription:
    """The launch description of a profile, which builds its nodes once launch knows the arguments.

    Args:
        profile: name in `PROFILES`.
    """
    specs = profile_of(profile).args

    def nodes(context: LaunchContext) -> list[Node]:
        check_names(profile, context)
        values = {spec.name: LaunchConfiguration(spec.name).perform(context) for spec in specs}
        return [node(spec, values['namespace']) for spec in node_specs(profile, values)]

    return LaunchDescription([*map(declare, specs), OpaqueFunction(function=nodes)])
