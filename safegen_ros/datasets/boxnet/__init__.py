# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tasks of BoxNet2D in the splits and sizes of the paper."""
