# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The profiles of the bring-up for launch_ros; `safegen up` starts the same nodes from them.

Only the files in `launch/` import this: launch is not there where ROS comes from wheels.
"""

from __future__ import annotations

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from safegen_ros import bringup


def declare(spec: bringup.ArgSpec) -> DeclareLaunchArgument:
    """One argument of the table as launch wants it, which refuses an empty list of choices."""
    choices = {'choices': list(spec.choices)} if spec.choices else {}
    return DeclareLaunchArgument(
        spec.name, default_value=spec.default, description=spec.help, **choices
    )


def node(spec: bringup.NodeSpec) -> Node:
    """One node of the table as launch wants it."""
    death = {'on_exit': Shutdown(reason=f'{spec.name} ended')} if spec.required else {}
    if spec.max_respawns:
        death = {'respawn': True, 'respawn_max_retries': spec.max_respawns, 'respawn_delay': 1.0}
    return Node(
        package=bringup.PACKAGE,
        executable=spec.executable,
        name=spec.name,
        namespace=spec.namespace,
        parameters=[*spec.params_files, *([dict(spec.params)] if spec.params else [])],
        remappings=list(spec.remaps),
        ros_arguments=['--log-level', spec.log_level],
        additional_env=bringup.environment_defaults(),
        output='screen',
        **death,
    )


def describe(profile: str) -> LaunchDescription:
    """The launch description of a profile, which builds its nodes once launch knows the arguments.

    Args:
        profile: name in `bringup.PROFILES`.
    """
    specs = bringup.profile_of(profile).args

    def nodes(context: LaunchContext) -> list[Node]:
        values = {spec.name: LaunchConfiguration(spec.name).perform(context) for spec in specs}
        return [node(spec) for spec in bringup.node_specs(profile, values)]

    return LaunchDescription([*map(declare, specs), OpaqueFunction(function=nodes)])
