# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The operator's console: one page in a browser, over the same interfaces as any other client."""
