# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Training of the models that ship; nothing here is needed to run them."""
