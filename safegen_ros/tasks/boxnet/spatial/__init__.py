# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""BoxNet3D: arms of real shape carry boxes; one interface to rules of three depths."""
