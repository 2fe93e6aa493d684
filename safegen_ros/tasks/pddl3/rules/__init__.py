# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Safety rules that a person gives, compiled to PDDL3 constraints and shown back in words.

`sentences` reads plain words, `free_text` has a model read freer ones, `attributes` reads YAML, and
`additions` puts what was read on top of what a problem demands.
"""
