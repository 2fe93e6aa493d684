# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The request of a goal and the record of its run, for command line and console."""
