# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is refused in a domain and a problem, and what is legal in them and looks wrong."""
