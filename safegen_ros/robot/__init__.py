# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The arm and its twin: limits, kinematics, scene, skills, and what was measured, as facts.

Only `twin`, `mjcf`, `render` and `bench` need MuJoCo; everything else imports without it.
"""
