# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Constrained decoding: a model may write only what a shield or an automaton allows."""
