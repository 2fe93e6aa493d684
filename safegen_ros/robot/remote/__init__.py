# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The arm at another computer: motion programs over SSH, and the agent that runs them there."""
