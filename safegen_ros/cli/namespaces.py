# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The option --namespace."""

from __future__ import annotations

from rclpy.exceptions import InvalidNamespaceException
from rclpy.validate_namespace import validate_namespace

from safegen_ros.errors import SafegenError


def absolute_namespace(text: str) -> str:
    """The namespace that the option means.

    Raises:
        SafegenError: it is no ROS name.
    """
    namespace = '/' + text.strip('/')
    try:
        validate_namespace(namespace)
    except InvalidNamespaceException as error:
        raise SafegenError(
            f'--namespace {text!r} is not a ROS name: give one such as lab/arm1'
        ) from error
    return namespace
