# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Datasets of problems with proved plans: a dataset is a function of its recipe.

`recipe` has the settings, `candidates` makes and proves one problem after the other, `walk` decides
which of them become rows of which split, and `build` writes the files; see docs/dataset.md.
"""
