# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Robot task plans written by a language model and proved safe before anything moves."""

__version__ = '0.2.0'
