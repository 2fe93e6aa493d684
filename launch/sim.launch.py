# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The profile `sim` of `safegen_ros.bringup` for launch_ros; `safegen up sim` starts the same."""

from __future__ import annotations

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from safegen_ros import bringup

PROFILE = bringup.profile_of('sim')


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


def nodes(context: LaunchContext) -> list[Node]:
    """The nodes for the arguments that launch has resolved by now."""
    values = {spec.name: LaunchConfiguration(spec.name).perform(context) for spec in PROFILE.args}
    return [node(spec) for spec in bringup.node_specs(PROFILE.name, values)]


def generate_launch_description() -> LaunchDescription:
    """Entry point of launch."""
    return LaunchDescription([*map(declare, PROFILE.args), OpaqueFunction(function=nodes)])
