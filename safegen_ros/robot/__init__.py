# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Arms and their twin: scene, skills, and measurements, as facts.

Here is what every arm shares. One folder each has the descriptions of the arms (`arms`), the twin
(`twin`, on the models in `description`), the real arm (`mycobot`; `emulator` stands in for it), the
remote arm (`agent`, `agent_client`), and the cells that execute plans (`cell`). Only `twin`,
`emulator` and `description.mjcf` need MuJoCo; everything else imports without it.
"""
