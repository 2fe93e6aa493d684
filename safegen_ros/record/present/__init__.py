# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A run as a person reads it: in plain words, in a terminal, as Markdown and as HTML."""
