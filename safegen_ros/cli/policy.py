# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen policy`: the SROS2 policy of the nodes."""

from __future__ import annotations

from typing import Annotated

import typer

from safegen_ros.bringup.table import node_specs


def policy(
    namespace: Annotated[str, typer.Option(help='namespace of the nodes')] = '',
) -> None:
    """Print the SROS2 policy of the nodes: what each of them may publish, call and execute.

    The policy alone protects nothing: docs/security.md says how to enforce it.
    """
    from safegen_ros.ros.interfaces import policy_xml

    print(policy_xml(node_specs('sim', {'namespace': namespace})[0].namespace), end='')
