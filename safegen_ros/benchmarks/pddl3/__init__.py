# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Studies of models on PDDL3 problems that training has not seen."""
