# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The real myCobot 280: its frames, the vendor's library behind one gate, what its tools are."""
