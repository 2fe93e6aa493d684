# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a task is put to a language model, and how its answer becomes a plan."""
