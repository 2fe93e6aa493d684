# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Language models: prompts, canonical naming and the backends that write plans."""
