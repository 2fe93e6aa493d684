# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Blocksworld: one arm, blocks on a table or on each other, four operators."""

NAMES = ('blocksworld', 'blocksworld-4ops')
"""The names by which problems ask for this domain; the first one is ours."""
